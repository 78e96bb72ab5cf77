//! How fast the clock is: `cargo run --release -p ubtile-sim --example speed`, or of the points those with a word in their name.
//!
//! Instructions a second of one core that walks through every one of them, lines of L2 a second, the memory of 48 cores with a million
//! instructions each, and the time of a point of each operator in each dtype on each family of products, beside what it should stay
//! below. Each number is the best of three.

use std::error::Error;
use std::fs;
use std::time::Instant;

use ubtile_sim::clock::{Options, Start, Timing, simulate};
use ubtile_sim::lower::{LowerError, native};
use ubtile_sim::product::Soc;
use ubtile_sim::program::Program;
use ubtile_sim::text;
use ubtile_testkit::problems::{GridSampler, Im2col, MaxUnpool, ReplicationPad};
use ubtile_tiling::{Dtype, Operator, PlanOptions, Problem, plan};

/// One of each family; two of A2, as L2 of the second one does not hold the data.
const SOCS: [&str; 7] =
    ["Ascend910B1", "Ascend910B4", "Ascend910_9391", "Ascend310P3", "Ascend910A", "Ascend310B1", "Ascend910_95"];

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

/// A problem of each operator with 16 M elements of `grad_output`, or 100 000 points of a grid, and what its time should be below.
fn problem(operator: Operator, dtype: Dtype) -> (Problem, &'static str, f64) {
    match operator {
        Operator::ReplicationPad2dBackward => {
            let of =
                ReplicationPad { dtype, n: 16, c: 64, h: 126, w: 126, padding: [1; 4], ..ReplicationPad::default() };
            (Problem::ReplicationPad2dBackward(of.problem()), "16 M elements", 0.010)
        }
        Operator::Im2colBackward => {
            let (kernel, padding) = ([3; 2], [1; 2]);
            let of =
                Im2col { dtype, out_dtype: dtype, n: 8, c: 56, h: 64, w: 64, kernel, padding, ..Im2col::default() };
            (Problem::Im2colBackward(of.problem()), "16 M elements", 0.010)
        }
        Operator::MaxUnpool2dBackward => {
            let (out_h, out_w) = (128, 128);
            let of =
                MaxUnpool { dtype, out_dtype: dtype, n: 16, c: 64, h: 64, w: 64, out_h, out_w, ..MaxUnpool::default() };
            (Problem::MaxUnpool2dBackward(of.problem()), "16 M elements", 0.010)
        }
        Operator::GridSampler2dBackward => {
            let of = GridSampler { dtype, n: 1, c: 32, hi: 100, wi: 100, ho: 250, wo: 400, ..GridSampler::default() };
            (Problem::GridSampler2dBackward(of.problem()), "100 000 points", 1.0)
        }
    }
}

/// Of each operator, product and dtype that has a native program: how long the model takes, its plan and its lowering included.
fn points(word: &str) -> Result<(), Box<dyn Error>> {
    println!("\n| point | goal | model | of it lowering | instructions | left out | on the product |");
    println!("|---|---:|---:|---:|---:|---:|---:|");
    let mut over = 0;
    for soc in SOCS {
        let soc = Soc::builtin(soc)?;
        for operator in Operator::ALL {
            for dtype in [Dtype::F32, Dtype::F16, Dtype::Bf16] {
                let (problem, size, goal) = problem(operator, dtype);
                let name = format!("{}, {size}, {dtype}, {}", operator.name(), soc.name());
                if !name.contains(word) {
                    continue;
                }
                let start = Instant::now();
                let made = plan(&problem, &soc.target_spec()?, &PlanOptions::default())?;
                let program = match native(&made, &soc) {
                    Ok(program) => program,
                    Err(LowerError::NotOnCore(_)) => continue,
                    Err(error) => return Err(error.into()),
                };
                let lowered = start.elapsed().as_secs_f64();
                let (timing, seconds) = best(&program, &soc, &Options::default())?;
                let late = seconds + lowered > goal;
                over += u32::from(late);
                println!(
                    "| {name} | {} ms | {:.1} ms{} | {:.1} ms | {} | {:.0} % | {:.1} us |",
                    1e3 * goal,
                    1e3 * (seconds + lowered),
                    if late { ", over" } else { "" },
                    1e3 * lowered,
                    timing.instructions,
                    100.0 * timing.skipped_ratio,
                    timing.task_us
                );
            }
        }
    }
    println!("\n{over} over the goal.");
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
    let word = std::env::args().nth(1).unwrap_or_default();
    if word.is_empty() {
        println!("| what | |");
        println!("|---|---|");
        instructions(&soc)?;
        lines(&soc)?;
        memory(&soc)?;
    }
    points(&word)
}
