//! Files of users: what they inherit, what they override, and what is wrong with them.

use std::fs;
use std::path::PathBuf;

use ubtile_sim::product::{Entry, Grade, Soc};

fn parse(text: &str) -> Result<Soc, String> {
    Soc::parse("mine", "mine.toml", text).map_err(|error| error.to_string())
}

fn fact<'a>(soc: &'a Soc, key: &str) -> &'a Entry {
    soc.facts().iter().find(|fact| &*fact.key == key).unwrap_or_else(|| panic!("{key}"))
}

fn evidence(soc: &Soc, key: &str) -> (String, Grade, String) {
    let fact = fact(soc, key);
    (fact.text.clone(), fact.grade.unwrap(), fact.source.as_deref().unwrap().to_owned())
}

#[test]
fn a_file_that_only_inherits_is_its_parent() {
    for name in Soc::names() {
        let parent = Soc::builtin(name).unwrap();
        let child = parse(&format!("inherits = '{name}'")).unwrap();
        assert_eq!(child.facts(), parent.facts());
        assert_eq!((child.name(), child.warning()), ("mine", parent.warning()));
    }
}

#[test]
fn an_overridden_value_has_its_own_evidence_and_what_follows_from_it_follows() {
    let text = "
inherits = 'Ascend910B1'
grade = 'derived'
source = 'my board'
[clock]
core_mhz = 1000
[cores]
vector = { value = 40, grade = 'cited', source = 'fuses' }
[ub]
plan_bytes = '100 KiB'
source = 'my kernel'
";
    let soc = parse(text).unwrap();
    assert_eq!(evidence(&soc, "clock.core_mhz"), ("1000".into(), Grade::Derived, "my board".into()));
    assert_eq!(evidence(&soc, "cores.vector"), ("40".into(), Grade::Cited, "fuses".into()));
    assert_eq!(evidence(&soc, "ub.plan_bytes"), ("100 KiB".into(), Grade::Derived, "my kernel".into()));
    assert_eq!(evidence(&soc, "ub.bytes"), ("192 KiB".into(), Grade::Cited, "ini".into()));
    assert_eq!(soc.cores.vector_units.get().unwrap().get(), 40);
    let nominal = soc.memory.nominal_ddr_gbps.get().unwrap().get();
    assert!((nominal - 32.0 * 24.0).abs() < 1e-9, "{nominal}");
    let target = soc.target_spec().unwrap();
    assert_eq!((target.cores, target.local_bytes), (40, 100 << 10));
}

#[test]
fn what_follows_from_a_guess_is_a_guess() {
    let soc = parse("inherits = 'Ascend910B1'\n[cores]\nvector = 40").unwrap();
    assert_eq!(evidence(&soc, "cores.vector"), ("40".into(), Grade::Guess, "mine.toml".into()));
    assert_eq!(fact(&soc, "cores.vector_units").grade, Some(Grade::Guess));
    let soc = parse("inherits = 'Ascend910B1'\n[cores]\nvector_units = 3").unwrap();
    assert_eq!(evidence(&soc, "cores.vector_units"), ("3".into(), Grade::Guess, "mine.toml".into()));
}

/// What a kernel may use is the size of the whole, unless a file says that, too.
#[test]
fn a_ub_is_as_large_as_stated() {
    let ub = |keys: &str| {
        let soc = parse(&format!("inherits = 'Ascend910B1'\n[ub]\n{keys}")).unwrap();
        [&soc.ub.bytes, &soc.ub.physical_bytes].map(|bytes| bytes.get().unwrap().0 >> 10)
    };
    assert_eq!(ub("banks = 3"), [192, 192]);
    assert_eq!(ub("bytes = '32 KiB'"), [32, 32]);
    assert_eq!(ub("bytes = '512 KiB'"), [512, 512]);
    assert_eq!(ub("bytes = '32 KiB'\nphysical_bytes = '40 KiB'"), [32, 40]);
    let a5 = Soc::builtin("Ascend910_95").unwrap();
    assert_eq!(a5.ub.physical_bytes.get().unwrap().0, 256 << 10);
    let set = a5.with([("ub.bytes", "65536")], "--set").unwrap();
    assert_eq!(set.ub.physical_bytes.get().unwrap().0, 64 << 10);
}

#[test]
fn unknown_stays_unknown() {
    let empty = parse("").unwrap();
    assert!(empty.facts().iter().all(|fact| fact.value.is_none() && fact.text == "unknown"));
    assert_eq!(empty.facts().len(), Soc::builtin("Ascend910B1").unwrap().facts().len());
    let missing = empty.target_spec().unwrap_err();
    assert_eq!(missing.to_string(), "capabilities.atomic_add is unknown; a product file can state it");
    let soc = parse("inherits = 'Ascend910B1'\n[cores]\nvector = 'unknown'").unwrap();
    assert_eq!(
        soc.target_spec().unwrap_err().to_string(),
        "cores.vector_units is unknown; a product file can state it"
    );
}

#[test]
fn errors_name_file_line_and_key_and_what_was_expected() {
    let wrong = |text: &str, expected: &str| assert_eq!(parse(text).unwrap_err(), expected, "{text}");
    wrong(
        "[ub]\n\nbytes = 'big'",
        "mine.toml:3: ub.bytes: expected a number of bytes, or a text such as \"192 KiB\", found \"big\"",
    );
    wrong(
        "[ub]\nbytes = -1",
        "mine.toml:2: ub.bytes: expected a number of bytes, or a text such as \"192 KiB\", found -1",
    );
    wrong("[cores]\nai = 0", "mine.toml:2: cores.ai: expected a whole number from 1, found 0");
    wrong("[cores]\nai = 2.5", "mine.toml:2: cores.ai: expected a whole number from 1, found 2.5");
    wrong("[rates]\nddr_read = 0", "mine.toml:2: rates.ddr_read: expected a number from 0.001 to 1000000000, found 0");
    wrong(
        "[rates]\nddr_read = inf",
        "mine.toml:2: rates.ddr_read: expected a number from 0.001 to 1000000000, found inf",
    );
    wrong("[dma]\nissue_cycles = nan", "mine.toml:2: dma.issue_cycles: expected a number from 0 to 1000000, found nan");
    wrong(
        "[dma]\nissue_cycles = 1e7",
        "mine.toml:2: dma.issue_cycles: expected a number from 0 to 1000000, found 10000000.0",
    );
    wrong("[sync]\nevent_ids = 17", "mine.toml:2: sync.event_ids: expected at most 16, found 17");
    wrong("[dma]\nlatency_jitter = 1.5", "mine.toml:2: dma.latency_jitter: expected a share from 0 to 1, found 1.5");
    wrong("[memory]\nl2_line_bytes = 31", "mine.toml:2: memory.l2_line_bytes: expected 32 bytes to 64 KiB, found 31");
    wrong(
        "[memory]\nrequest_bytes = 65537",
        "mine.toml:2: memory.request_bytes: expected 32 bytes to 64 KiB, found 65537",
    );
    wrong("[clock]\ncore_mhz = 100001", "mine.toml:2: clock.core_mhz: expected at most 100000 MHz, found 100001");
    wrong("[sync]\nqueue_depth = 65537", "mine.toml:2: sync.queue_depth: expected 1 to 65536, found 65537");
    wrong(
        "[scalar]\ndcache_bytes = '17 MiB'",
        "mine.toml:2: scalar.dcache_bytes: expected at most 16 MiB, found 17 MiB",
    );
    wrong("[cores]\nseparate = 1", "mine.toml:2: cores.separate: expected true or false, found 1");
    wrong("grade = 'sure'", "mine.toml:1: grade: expected cited, derived or guess");
    wrong(
        "[ub]\nbytes = { value = 1, grade = 2 }",
        "mine.toml:2: ub.bytes.grade: expected a text, found a whole number",
    );
    wrong(
        "[ub]\nbytes = { value = 1, note = 2 }",
        "mine.toml:2: ub.bytes: expected value, grade and source, found note",
    );
    wrong(
        "[clock]\ncore_mhz = 1\ncores_mhz = 1",
        "mine.toml:3: clock.cores_mhz: no such key; [clock] has core_mhz, vector_core_mhz, board_mhz, counter_mhz",
    );
    wrong(
        "inherits = 'Ascend910B1'\n[cores]\nvector = 0",
        "mine.toml:3: cores.vector: expected a whole number from 1, as vector cores are separate, found 0",
    );
    wrong("inherits = 3", "mine.toml:1: inherits: expected a text, found a whole number");
    wrong(
        "core_mhz = 3",
        "mine.toml:1: core_mhz: expected a table; outside of tables stand inherits, grade, source and warning, found a whole number",
    );
    for (text, start) in [
        ("[cloc]\ncore_mhz = 1", "mine.toml:2: cloc.core_mhz: no such table; there are version, cores, clock, "),
        ("inherits = 'Ascend910C'", "mine.toml:1: inherits: expected one of ascend, "),
        ("[dma]\nlike = 'A2'", "mine.toml:2: dma.like: expected one of ascend, "),
        ("[vector]\nadd = { cycles_16 = 1 }", "mine.toml:2: vector.add: expected overhead_cycles with "),
        (
            "[vector]\nadd = { overhead_cycles = 1, cycles_64 = 1 }",
            "mine.toml:2: vector.add: expected overhead_cycles with ",
        ),
        ("[instructions]\nvadd = ['f16', 'f8']", "mine.toml:2: instructions.vadd: expected a list of f16, "),
        ("[conversions]\nf32 = { f16 = 'x' }", "mine.toml:2: conversions.f32: expected a table of types, "),
        ("[version]\nproducts = ['atlas']", "mine.toml:2: version.products: expected a list of product lines "),
        ("[ub]\nbytes = 1\nbytes = 2", "mine.toml:3: duplicate key"),
        ("[ub\nbytes = 1", "mine.toml:1: "),
    ] {
        let error = parse(text).unwrap_err();
        assert!(error.starts_with(start), "{text}: {error}");
    }
}

#[test]
fn an_unknown_soc_is_named_with_those_that_exist() {
    let error = Soc::builtin("Ascend910C").unwrap_err().to_string();
    assert!(error.starts_with("Ascend910C: no such SoC; there are Ascend310P1, "), "{error}");
    assert!(Soc::builtin("atlas-a2").is_err(), "a family is no SoC");
}

/// All facts of a SoC as a file that inherits nothing.
fn written_out(soc: &Soc) -> String {
    let mut text = String::new();
    let mut table = "";
    for fact in soc.facts() {
        let Some(value) = &fact.value else { continue };
        let (name, key) = fact.key.split_once('.').unwrap();
        if name != table {
            text += &format!("[{name}]\n");
            table = name;
        }
        let (grade, source) = (fact.grade.unwrap(), toml::Value::from(fact.source.as_deref().unwrap()));
        // A record is its own value.
        text += &match value.as_table() {
            Some(record) if key != "value" => {
                let fields = record.iter().map(|(key, value)| format!("{key} = {value}, ")).collect::<String>();
                format!("{key} = {{ {fields}grade = '{grade}', source = {source} }}\n")
            }
            _ => format!("{key} = {{ value = {value}, grade = '{grade}', source = {source} }}\n"),
        };
    }
    text
}

#[test]
fn a_file_on_disk_keeps_every_fact() {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    for name in Soc::names() {
        let soc = Soc::builtin(name).unwrap();
        let path = directory.join(format!("copy-of-{name}.toml"));
        fs::write(&path, written_out(&soc)).unwrap();
        let copy = Soc::load(&path).unwrap();
        assert_eq!(copy.name(), format!("copy-of-{name}"));
        assert_eq!(copy.facts(), soc.facts());
        assert_eq!(copy.target_spec(), soc.target_spec());
    }
    let error = Soc::load(&directory.join("absent.toml")).unwrap_err();
    assert!(error.file.ends_with("absent.toml") && error.line.is_none(), "{error}");
}
