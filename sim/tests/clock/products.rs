//! Every product: what the examples take, or what they lack there.

use ubtile_sim::clock::{Options, simulate};
use ubtile_sim::product::{Grade, Soc};
use ubtile_sim::text;

const EXAMPLES: [(&str, &str); 4] = [
    ("add_serial", include_str!("../../examples/add_serial.tile")),
    ("add_double_buffer", include_str!("../../examples/add_double_buffer.tile")),
    ("strided_copy", include_str!("../../examples/strided_copy.tile")),
    ("gather_rows", include_str!("../../examples/gather_rows.tile")),
];

#[test]
fn every_product_has_a_time_for_what_it_can_run() {
    for name in Soc::names() {
        let soc = Soc::builtin(name).unwrap();
        for (example, text) in EXAMPLES {
            let Ok((program, _)) = text::parse(text, &soc) else { continue };
            let timing = simulate(&program, &soc, &Options::default());
            let timing = timing.unwrap_or_else(|e| panic!("{name} {example}: {}", e.describe(&program)));
            assert!(timing.cycles > 0 && timing.grade == Grade::Guess, "{name} {example}");
            // Weak numbers are named.
            assert!(
                timing.evidence.iter().any(|e| e.grade == Grade::Guess && !e.source.is_empty()),
                "{name} {example}"
            );
            assert!(timing.evidence.iter().any(|e| e.key == "dma.load_latency_ns"), "{name} {example}");
        }
    }
}

#[test]
fn what_is_assumed_is_said() {
    let soc = Soc::builtin("Ascend910_95").unwrap();
    let (program, _) = text::parse(EXAMPLES[0].1, &soc).unwrap();
    let timing = simulate(&program, &soc, &Options::default()).unwrap();
    assert!(timing.assumptions.iter().any(|a| a == "vector.dependent_cycles is unknown: taken as 0"), "{timing:?}");
    assert!(timing.assumptions.iter().any(|a| a == "conflicts.read_write is unknown: taken as 1"), "{timing:?}");
    let a2 = Soc::builtin("Ascend910B1").unwrap();
    let (program, _) = text::parse(EXAMPLES[0].1, &a2).unwrap();
    let assumed = |key, value| {
        let soc = a2.with([(key, value)], "test").unwrap();
        simulate(&program, &soc, &Options::default()).unwrap().assumptions
    };
    assert!(assumed("ub.bank_groups", "16").is_empty());
    let unknown = "no bank conflicts: ub.bank_groups is unknown; a product file can state it";
    assert_eq!(assumed("ub.bank_groups", "unknown"), [unknown]);
    assert_eq!(assumed("ub.bank_groups", "32"), ["16 bank groups instead of 32, as the model tells no more apart"]);
    let timing = simulate(&program, &a2, &Options::default()).unwrap();
    for key in ["ub.bank_groups", "ub.bank_bytes", "ub.group_read_ports", "conflicts.read_read", "conflicts.read_write"]
    {
        assert!(timing.evidence.iter().any(|e| e.key == key), "{key}");
    }
}

#[test]
fn no_program_has_more_cores_than_the_product() {
    let soc = Soc::builtin("Ascend910B1").unwrap();
    let with = |cores: u32| text::parse(&format!("cores {cores}\n"), &soc).map(|_| ()).map_err(|e| e.to_string());
    assert_eq!(with(48), Ok(()));
    assert!(with(49).unwrap_err().contains("cores 49 is 1 more than the 48 of the product"), "{:?}", with(49));
}
