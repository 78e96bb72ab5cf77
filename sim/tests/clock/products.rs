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
    let a2 = Soc::builtin("Ascend910B1").unwrap();
    let (program, _) = text::parse(EXAMPLES[0].1, &a2).unwrap();
    assert!(simulate(&program, &a2, &Options::default()).unwrap().assumptions.is_empty());
}
