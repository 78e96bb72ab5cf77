//! The clock: closed forms, both sides of every limit, bounds that hold for every program, and what boards did.

mod accuracy;
mod banks;
mod bounds;
mod forms;
mod limits;
mod memory;
mod products;

use ubtile_sim::clock::{ClockError, Options, Timing, simulate};
use ubtile_sim::product::Soc;
use ubtile_sim::text;

/// A product with round numbers, in which only what a test is about takes time: 1 GHz, so that a nanosecond is a cycle.
fn plain() -> Soc {
    with(&Soc::builtin("Ascend910B1").unwrap(), PLAIN)
}

const PLAIN: &[(&str, &str)] = &[
    ("clock.core_mhz", "1000"),
    ("dma.issue_cycles", "20"),
    ("dma.load_latency_ns", "200"),
    ("dma.store_latency_ns", "100"),
    ("dma.load_bytes_per_cycle", "64"),
    ("dma.store_bytes_per_cycle", "64"),
    ("dma.latency_jitter", "0"),
    ("dma.block_cycles", "0"),
    ("memory.hbm_gbps", "1e6"),
    ("memory.l2_gbps", "1e6"),
    ("scalar.loop_cycles", "0"),
    ("scalar.descriptor_cycles", "0"),
    ("scalar.instruction_cycles", "0"),
    ("scalar.ub_access_cycles", "10"),
    ("sync.flag_cycles", "0"),
    ("sync.queue_depth", "16"),
    ("vector.issue_cycles", "0"),
    ("vector.dependent_cycles", "0"),
    ("vector.barrier_cycles", "0"),
    ("vector.add", "{ overhead_cycles = 20, cycles_16 = 1, cycles_32 = 1 }"),
    ("vector.abs", "{ overhead_cycles = 20, cycles_16 = 1, cycles_32 = 1 }"),
    ("launch.outside_core_us", "1"),
    ("launch.core_start_us", "2"),
    ("launch.stagger_us", "0"),
];

fn with(soc: &Soc, settings: &[(&str, &str)]) -> Soc {
    soc.with(settings.iter().copied(), "test").unwrap()
}

fn run(text: &str, soc: &Soc, options: &Options) -> Result<Timing, ClockError> {
    let (program, _) = text::parse(text, soc).unwrap_or_else(|e| panic!("{e}\n{text}"));
    simulate(&program, soc, options)
}

fn time(text: &str, soc: &Soc) -> Timing {
    run(text, soc, &Options::default()).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn cycles(text: &str, soc: &Soc) -> u64 {
    time(text, soc).cycles
}
