//! Tile programs: what they compute, how they print, and what is wrong with them.

use std::fs;
use std::path::Path;

use bytemuck::cast_slice;
use half::f16;
use ubtile_testkit::Data;
use ubtile_tiling::{Dtype, TensorDesc};

use super::{files, json, ok, output, refuses};
use serde_json::Value;

fn example(folder: &Path, name: &str) {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sim/examples").join(name);
    fs::copy(from, folder.join(name)).unwrap();
}

fn tensor(dtype: Dtype, shape: &[usize], value: impl Fn(usize) -> f32) -> Data {
    let mut data = Data::filled(TensorDesc::contiguous(dtype, shape).unwrap(), 0);
    let size = dtype.size();
    for (i, bytes) in data.bytes_mut().chunks_exact_mut(size).enumerate() {
        match dtype {
            Dtype::F16 => bytes.copy_from_slice(&f16::from_f32(value(i)).to_le_bytes()),
            _ => bytes.copy_from_slice(&value(i).to_le_bytes()),
        }
    }
    data
}

#[test]
fn every_document_has_the_model() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    example(folder, "add.tile");
    let hash = |line: &str| json(folder, line)["model_hash"].as_str().unwrap().to_owned();
    for soc in ["Ascend910B1", "Ascend310P3"] {
        let timed = hash(&format!("sim --program add.tile --soc {soc}"));
        for command in ["sanitize", "disasm"] {
            assert_eq!(hash(&format!("{command} --program add.tile --soc {soc}")), timed, "{command} {soc}");
        }
    }
    let [usual, other] =
        ["Ascend910B1", "Ascend310P3"].map(|soc| hash(&format!("fuzz --program add.tile --cases 1 --soc {soc}")));
    assert_eq!(usual, hash("sim --program add.tile --soc Ascend910B1"));
    assert_ne!(usual, other);
}

#[test]
fn runs_on_tensors() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    example(folder, "strided_copy.tile");
    let x = tensor(Dtype::F16, &[64, 128], |i| i as f32);
    files::write(&folder.join("in.npz"), &[("x", &x), ("other", &x)]);
    let report = json(folder, "sim --program strided_copy.tile --in in.npz --out out.npz");
    let window = 48 * 96 * 2;
    assert_eq!((report["gm_read_bytes"].as_u64(), report["gm_write_bytes"].as_u64()), (Some(window), Some(window)));
    assert_eq!((&report["soc"], &report["cores"]), (&"Ascend910B1".into(), &2.into()));
    assert_eq!(report["outputs"][0]["shape"], serde_json::json!([48, 96]));
    assert_eq!(files::list(&folder.join("out.npz")), ["z"]);
    let z = files::read(&folder.join("out.npz"), "z");
    let (x, z) = (cast_slice::<u8, u16>(x.bytes()), cast_slice::<u8, u16>(z.bytes()));
    for (row, line) in z.chunks_exact(96).enumerate() {
        assert_eq!(line, &x[(row + 8) * 128 + 16..][..96], "{row}");
    }
    let text = ok(folder, "sim --program strided_copy.tile --in in.npz --out out.safetensors --soc Ascend310P3");
    assert!(text.contains("strided_copy.tile on 2 cores of Ascend310P3: 3072 bytes of UB"), "{text}");
    // What matters to times alone is said, unless the program has a constant of that name.
    fs::write(folder.join("l2.tile"), "cores 1\nconst l2 = 32\ntensor z: i8[l2] out\nub u: l2\n").unwrap();
    let set = "--set l2=64 --set clock=1000 --set start=cold --set ub.bytes=8192 --out out.npz";
    let told = String::from_utf8(output(folder, &format!("sim --program l2.tile {set}")).stderr).unwrap();
    assert_eq!(told, ["clock", "start"].map(|n| format!("warning: {n}: values do not depend on it\n")).concat());
    for command in ["sanitize", "disasm"] {
        let told = output(folder, &format!("{command} --program l2.tile --set start=cold --set l2=64")).stderr;
        let told = String::from_utf8(told).unwrap();
        assert_eq!(told.lines().next(), Some("warning: start: values do not depend on it"), "{command}");
        assert_eq!(told.matches("warning").count(), 1 + told.matches("0 warnings").count(), "{command}");
    }
    // Nor is the constant the number of the product.
    ok(folder, "sim --program l2.tile --set l2=64 --vary memory.l2_bytes=1048576..1048576");
}

#[test]
fn what_is_printed_is_the_same_program() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for name in ["add_double_buffer.tile", "gather_rows.tile"] {
        example(folder, name);
        let text = ok(folder, &format!("disasm --program {name}"));
        fs::write(folder.join("again.tile"), &text).unwrap();
        assert_eq!(ok(folder, "disasm --program again.tile"), text);
        let report = json(folder, &format!("disasm --program {name}"));
        assert_eq!(report["text"], text);
    }
}

#[test]
fn unusable_programs_and_tensors_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    example(folder, "add_tail.tile");
    let x = tensor(Dtype::F32, &[10001], |i| i as f32);
    files::write(&folder.join("x.npz"), &[("x", &x)]);
    files::write(&folder.join("short.npz"), &[("x", &x), ("y", &tensor(Dtype::F32, &[10000], |_| 0.0))]);
    files::write(&folder.join("f16.npz"), &[("x", &x), ("y", &tensor(Dtype::F16, &[10001], |_| 0.0))]);
    let sim = |rest: &str| format!("sim --program add_tail.tile --out out.npz {rest}");
    for (args, code, line) in [
        (sim(""), 2, "--in FILE is needed: the program reads x"),
        (sim("--in x.npz"), 3, "x.npz: y is missing"),
        (sim("--in short.npz"), 3, "short.npz: y is f32 [10000], and the program reads f32 [10001]"),
        (sim("--in f16.npz"), 3, "f16.npz: y is f16 [10001], and the program reads f32 [10001]"),
        (
            sim("--in x.npz --soc Ascend910A"),
            3,
            "add_tail.tile: line 21, column 5: Ascend910A has no copy of single bytes",
        ),
        ("disasm --program none.tile".into(), 3, "none.tile: No such file or directory (os error 2)"),
    ] {
        refuses(folder, &args, code, line);
        assert!(!folder.join("out.npz").exists());
    }
    for (text, line) in [
        ("cores 1\nlod\n", "p.tile: line 2, column 1: expected a declaration or an instruction, found `lod`"),
        (
            "cores 1\nwait_flag v mte2 0\n",
            "p.tile: nothing can go on: core 0, mte2 at line 2, column 1: wait_flag v mte2 0",
        ),
        (
            "cores 1\ntensor z: f32[8] out\nub a: 32\nstore z[32], a[0] bytes 32\n",
            "p.tile: core 0, line 4, column 1: reaches bytes 32 to 64 of z, which has 32",
        ),
        ("cores 1\ntensor z: u8[1000000000000000000] out\n", "p.tile: needs more memory than there is"),
    ] {
        fs::write(folder.join("p.tile"), text).unwrap();
        refuses(folder, "sim --program p.tile --out out.npz", 3, line);
    }
    // Timing needs no tensors, but lines of L2.
    refuses(
        folder,
        "sim --program p.tile",
        3,
        "p.tile: the tensors have more lines of L2 than the model can tell apart",
    );
    refuses(
        folder,
        "sanitize --program p.tile",
        3,
        "p.tile: its tensors are larger than what can be kept of each byte",
    );
    // Lines that would do, and too many places that adds are told apart by.
    let adds = "cores 1\ntensor z: f32[60000000000] inout\nub a: 256\ndup.f32 a[0], 0.0 repeat 1\nset_flag v mte3 0\n\
                wait_flag v mte3 0\nstore z[0], a[0] bytes 256 add.f32\n";
    fs::write(folder.join("p.tile"), adds).unwrap();
    refuses(
        folder,
        "sim --program p.tile --set atomics.granule_bytes=32",
        3,
        "p.tile: the tensors have more lines of L2 than the model can tell apart",
    );
}

#[test]
fn sanitizing_finds_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    example(folder, "add_serial.tile");
    let clean = json(folder, "sanitize --program add_serial.tile");
    assert_eq!((&clean["errors"], &clean["warnings"], &clean["with_data"]), (&0.into(), &0.into(), &false.into()));
    let text = fs::read_to_string(folder.join("add_serial.tile")).unwrap();
    let text: Vec<&str> = text.lines().filter(|line| !line.contains("v mte3 0")).collect();
    fs::write(folder.join("race.tile"), text.join("\n")).unwrap();

    let found = output(folder, "sanitize --program race.tile --format json");
    assert_eq!(found.status.code(), Some(4));
    let stderr = String::from_utf8(found.stderr).unwrap();
    assert!(stderr.ends_with("error: race.tile on 8 cores of Ascend910B1: 5 errors, 1 warning\n"), "{stderr}");
    let report: Value = serde_json::from_slice(&found.stdout).unwrap();
    assert_eq!((&report["schema"], &report["errors"]), (&"ubtile.sanitize.v1".into(), &5.into()));
    let store = &report["findings"][0];
    // The store and the loads of the next tile race with the addition; without waiting in a circle two flags may be set twice.
    assert_eq!(store["kind"], "pipe_race");
    assert_eq!((&store["core"], &store["tile"], &store["field"]), (&0.into(), &"add".into(), &"tiles".into()));

    let table = output(folder, "sanitize --program race.tile");
    assert_eq!(table.status.code(), Some(4));
    let table = String::from_utf8(table.stdout).unwrap();
    assert!(table.contains("\npipe_race\n  line 2"), "{table}");
    assert!(table.contains("core 0, tile add, i = 0, the first of 3"), "{table}");

    fs::write(folder.join("p.tile"), "cores 1\ntensor x: i32[8] in\nlet n = read.i32 x[0]\n").unwrap();
    let line =
        "p.tile: core 0, line 3, column 1: a run without data needs to know what this reads: state `assume`, or --in";
    refuses(folder, "sanitize --program p.tile", 3, line);
    files::write(&folder.join("x.npz"), &[("x", &tensor(Dtype::I32, &[8], |_| 0.0))]);
    assert_eq!(json(folder, "sanitize --program p.tile --in x.npz")["with_data"], true);
    assert_eq!(output(folder, "sanitize --program p.tile --in none.npz").status.code(), Some(3));
}

/// A text ends with how many findings it leaves out; JSON has all of them.
#[test]
fn a_hundred_findings_are_shown() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    // The first line has nothing before it that it could overtake.
    let text = |findings: usize| format!("cores 1\nub a: 256\n{}", "dup.f32 a[0], 1.0\n".repeat(findings + 1));
    let shown = |findings: usize| {
        fs::write(folder.join("many.tile"), text(findings)).unwrap();
        ok(folder, "sanitize --program many.tile")
    };
    let (all, some) = (shown(100), shown(101));
    assert!(all.matches("\nwarning: no_barrier\n").count() == 100 && !all.contains("more"), "{all}");
    assert!(some.matches("\nwarning: no_barrier\n").count() == 100 && some.ends_with("\nand 1 more\n"), "{some}");
    assert_eq!(json(folder, "sanitize --program many.tile")["findings"].as_array().unwrap().len(), 101);
}

/// A mark in front of a text is no part of it; what is no text is told where it stops being one.
#[test]
fn programs_are_texts() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("mark.tile"), "\u{feff}cores 1\nbarrier v\n").unwrap();
    assert_eq!(json(folder, "sim --program mark.tile --set cores=2")["cores_used"], 2);
    fs::write(folder.join("latin.tile"), b"cores 1\n# \xc3\xa9\xe9\nbarrier v\n").unwrap();
    for command in ["sim", "sanitize", "disasm", "fuzz"] {
        let line = "latin.tile: line 2, column 4: expected a text in UTF-8";
        refuses(folder, &format!("{command} --program latin.tile"), 3, line);
    }
}
