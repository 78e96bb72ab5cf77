//! How fast the clock is: `cargo run --release -p ubtile-sim --example speed`, or of the points those with a word in their name.
//!
//! Instructions a second of one core that walks through every one of them, lines of L2 a second, the time of a point of each operator, of
//! points of the grid, and the memory of 48 cores with a million instructions each. Each number is the best of three.

use std::error::Error;
use std::fs;
use std::time::Instant;

use ubtile_sim::clock::{Options, Start, Timing, simulate};
use ubtile_sim::lower::native;
use ubtile_sim::product::Soc;
use ubtile_sim::program::Program;
use ubtile_sim::text;
use ubtile_testkit::problems::{GridSampler, Im2col, MaxUnpool, ReplicationPad};
use ubtile_tiling::{PlanOptions, Problem, plan};

/// The result of the last of three runs, and the seconds of the fastest.
fn best(program: &Program, soc: &Soc, options: &Options) -> Result<(Timing, f64), Box<dyn Error>> {
    let mut fastest = f64::INFINITY;
    let mut last = None;
    for _ in 0..3 {
        let start = Instant::now();
        last = Some(simulate(program, soc, options).map_err(|e| e.describe(program))?);
        fastest = fastest.min(start.elapsed().as_secs_f64());
    }
    Ok((last.ok_or("no run")?, fastest))
}

fn of_text(text: &str, soc: &Soc, options: &Options) -> Result<(Timing, f64), Box<dyn Error>> {
    best(&text::parse(text, soc)?.0, soc, options)
}

fn instructions(soc: &Soc) -> Result<(), Box<dyn Error>> {
    let text = "cores 1\nub a: 16384\nub b: 16384\nfor i in 0..2000000 {\nadd.f32 a[0], a[0], b[0] repeat 8\nset_flag v s 0\nwait_flag v s 0\n}\n";
    let all = Options { walk_all: true, ..Options::default() };
    let (timing, seconds) = of_text(text, soc, &all)?;
    println!(
        "| vector instructions and flags | {:.1} million instructions/s |",
        timing.instructions as f64 / seconds / 1e6
    );
    Ok(())
}

fn lines(soc: &Soc) -> Result<(), Box<dyn Error>> {
    // Twice what L2 holds, so that each line drives out another one.
    for (name, bytes) in [("512 bytes", 512u64), ("32 KiB", 32768)] {
        let copies = (384 << 20) / bytes;
        let text = format!(
            "cores 1\ntensor x: f32[{}] in\nub a: {bytes}\nfor i in 0..{copies} {{\nload a[0], x[{bytes}*i] bytes {bytes}\n}}\n",
            copies * bytes / 4
        );
        let (_, seconds) = of_text(&text, soc, &Options { start: Start::Cold, walk_all: true, ..Options::default() })?;
        println!("| copies of {name} beyond L2 | {:.1} million lines/s |", (384 << 20) as f64 / 512.0 / seconds / 1e6);
    }
    Ok(())
}

fn points(soc: &Soc, word: &str) -> Result<(), Box<dyn Error>> {
    let problems = [
        (
            "replication pad, 16 M elements",
            Problem::ReplicationPad2dBackward(
                ReplicationPad { n: 16, c: 64, h: 126, w: 126, padding: [1; 4], ..ReplicationPad::default() }.problem(),
            ),
        ),
        (
            "im2col, 16 M elements",
            Problem::Im2colBackward(
                Im2col { n: 8, c: 56, h: 64, w: 64, kernel: [3; 2], padding: [1; 2], ..Im2col::default() }.problem(),
            ),
        ),
        (
            "max unpool, 16 M elements",
            Problem::MaxUnpool2dBackward(
                MaxUnpool { n: 16, c: 64, h: 64, w: 64, out_h: 128, out_w: 128, ..MaxUnpool::default() }.problem(),
            ),
        ),
        (
            "grid sampler, 100 000 points",
            Problem::GridSampler2dBackward(
                GridSampler { n: 1, c: 32, hi: 100, wi: 100, ho: 250, wo: 400, ..GridSampler::default() }.problem(),
            ),
        ),
    ];
    for (name, problem) in problems.into_iter().filter(|(name, _)| name.contains(word)) {
        let start = Instant::now();
        let made = plan(&problem, &soc.target_spec()?, &PlanOptions::default())?;
        let program = native(&made, soc)?;
        let lowered = start.elapsed().as_secs_f64();
        let (timing, seconds) = best(&program, soc, &Options::default())?;
        println!(
            "| {name} on {} | {:.1} ms, {:.1} of it lowering; {} instructions, {:.1} % skipped; {:.1} us |",
            soc.name(),
            1e3 * (seconds + lowered),
            1e3 * lowered,
            timing.instructions,
            100.0 * timing.skipped_ratio,
            timing.task_us
        );
    }
    Ok(())
}

fn memory(soc: &Soc) -> Result<(), Box<dyn Error>> {
    let text = "cores 48\ntensor x: f32[48, 1000, 1024] in\nub a: 4096\nfor i in 0..1000 {\nload a[0], x[4096000*core + 4096*i] bytes 4096\nset_flag mte2 v 0\nwait_flag mte2 v 0\nfor j in 0..332 {\nadd.f32 a[0], a[0], a[0] repeat 2\nset_flag v s 0\nwait_flag v s 0\n}\n}\n";
    let all = Options { walk_all: true, ..Options::default() };
    let program = text::parse(text, soc)?.0;
    let start = Instant::now();
    let timing = simulate(&program, soc, &all).map_err(|e| e.describe(&program))?;
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("unknown").trim();
    println!(
        "| 48 cores of {} instructions each | {:.1} s, at most {peak} so far |",
        timing.instructions / 48,
        start.elapsed().as_secs_f64()
    );
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let soc = Soc::builtin("Ascend910B1")?;
    println!("| what | |");
    println!("|---|---|");
    let word = std::env::args().nth(1).unwrap_or_default();
    if word.is_empty() {
        instructions(&soc)?;
        lines(&soc)?;
        memory(&soc)?;
    }
    points(&soc, &word)?;
    // 96 MiB of L2, less than the data.
    let smaller = Soc::builtin("Ascend910B4")?;
    points(&smaller, if word.is_empty() { "replication" } else { &word })
}
