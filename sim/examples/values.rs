//! How fast programs run on tensors, and what sanitizing them costs: `cargo run --release -p ubtile-sim --example values`.
//!
//! Programs of native plans on an Ascend910B1, and the double-buffered sum of `examples/`, on one thread. Bytes are those that a program
//! moves between global memory and the UBs, per second of running it on tensors; beside it how many times as long `sanitize` takes on
//! the same tensors. Each is the best of five.

use std::error::Error;
use std::time::{Duration, Instant};

use ubtile_sim::exec::{Global, Run};
use ubtile_sim::lower::native;
use ubtile_sim::product::Soc;
use ubtile_sim::program::Program;
use ubtile_sim::sanitize::sanitize;
use ubtile_sim::text;
use ubtile_testkit::problems::{GridSampler, Im2col, MaxUnpool, ReplicationPad};
use ubtile_testkit::{Coordinates, Fill, IndexFill, Inputs, Kinds, Rng};
use ubtile_tiling::{Dtype, PlanOptions, Problem, plan};

/// The shortest of five times.
fn best(inputs: &Global, mut run: impl FnMut(Global)) -> Duration {
    let time = |_| {
        let global = inputs.clone();
        let start = Instant::now();
        run(global);
        start.elapsed()
    };
    (0..5).map(time).min().unwrap_or_default()
}

#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
fn measure(name: &str, program: &Program, inputs: &Global) {
    let mut moved = (0, 0);
    let values = best(inputs, |global| {
        let mut run = Run::new(program, global);
        run.finish().expect("the program runs");
        moved = run.moved();
    });
    let sanitized = best(inputs, |global| {
        let findings = sanitize(program, Some(global)).expect("the program runs");
        assert!(findings.iter().all(|finding| finding.kind.is_warning()), "{name} is not clean: {findings:?}");
    });
    let megabytes = (moved.0 + moved.1) as f64 / 1e6;
    println!(
        "| {name} | {megabytes:.1} | {:.0} | {:.1} |",
        megabytes / values.as_secs_f64(),
        sanitized.as_secs_f64() / values.as_secs_f64()
    );
}

fn problems() -> [(&'static str, Problem); 8] {
    let pad = ReplicationPad { n: 2, c: 32, h: 112, w: 112, padding: [1; 4], ..ReplicationPad::default() };
    let im2col = Im2col { n: 1, c: 32, h: 56, w: 56, kernel: [3; 2], padding: [1; 2], ..Im2col::default() };
    let unpool = MaxUnpool { n: 2, c: 32, h: 56, w: 56, out_h: 112, out_w: 112, ..MaxUnpool::default() };
    let grid = GridSampler { n: 1, c: 64, hi: 64, wi: 64, ho: 64, wo: 64, ..GridSampler::default() };
    let half = Dtype::F16;
    [
        ("replication pad, F32", Problem::ReplicationPad2dBackward(pad.problem())),
        ("replication pad, F16", Problem::ReplicationPad2dBackward(ReplicationPad { dtype: half, ..pad }.problem())),
        ("im2col, F32", Problem::Im2colBackward(im2col.problem())),
        ("im2col, F16", Problem::Im2colBackward(Im2col { dtype: half, out_dtype: half, ..im2col }.problem())),
        ("max unpool, F32", Problem::MaxUnpool2dBackward(unpool.problem())),
        ("max unpool, I64 to F16", {
            Problem::MaxUnpool2dBackward(MaxUnpool { dtype: Dtype::I64, out_dtype: half, ..unpool }.problem())
        }),
        ("grid sampler, F32", Problem::GridSampler2dBackward(grid.problem())),
        ("grid sampler, F16", Problem::GridSampler2dBackward(GridSampler { dtype: half, ..grid }.problem())),
    ]
}

fn main() -> Result<(), Box<dyn Error>> {
    let soc = Soc::builtin("Ascend910B1")?;
    println!("| program | MB moved | MB/s | sanitizing / values |\n|---|---|---|---|");
    let sum = text::parse(include_str!("add_double_buffer.tile"), &soc)?.0;
    measure("sum of two tensors, F16", &sum, &Global::new(&sum).ok_or("no memory")?);
    let kinds = Kinds { values: Fill::Integers, coordinates: Coordinates::Smooth, indices: IndexFill::Permutation };
    for (name, problem) in problems() {
        let program = native(&plan(&problem, &soc.target_spec()?, &PlanOptions::default())?, &soc)?;
        let mut inputs = Global::new(&program).ok_or("no memory")?;
        for (tensor, data) in Inputs::random(&problem, kinds, &mut Rng::new(1)).tensors() {
            if let Some(bytes) = inputs.named_mut(&program, tensor.name()) {
                bytes.copy_from_slice(data.bytes());
            }
        }
        measure(name, &program, &inputs);
    }
    Ok(())
}
