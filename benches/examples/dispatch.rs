//! Times what a call costs that has next to nothing to compute: check, plan and run of the smallest case of each operator, the
//! level already detected. Prints one JSON object an operator, in nanoseconds: the fastest of many rounds of many calls.

use std::hint::black_box;
use std::time::Instant;

use ubtile_benches::{values, values_mut};
use ubtile_kernels::{
    Level, grid_sampler_2d_backward, im2col_backward, max_unpool2d_backward, replication_pad2d_backward,
};
use ubtile_testkit::problems::{self, GridSampler, Im2col, MaxUnpool, ReplicationPad};
use ubtile_testkit::{Coordinates, Fill, IndexFill, Rng};
use ubtile_tiling::{Edition, PlanOptions, TargetSpec, Tensor};

const ROUNDS: usize = 200;
const CALLS: u32 = 500;

/// Prints the times of a call's first two steps, and of the whole call.
fn print<A, B>(name: &str, check: impl FnMut() -> A, plan: impl FnMut() -> B, whole: impl FnMut()) {
    let (check, plan, whole) = (fastest(check), fastest(plan), fastest(whole));
    println!("{{\"operator\":\"{name}\",\"check_ns\":{check:.0},\"plan_ns\":{plan:.0},\"whole_ns\":{whole:.0}}}");
}

fn fastest<R>(mut call: impl FnMut() -> R) -> f64 {
    let round = |_| {
        let start = Instant::now();
        for _ in 0..CALLS {
            black_box(call());
        }
        start.elapsed().as_nanos() as f64 / f64::from(CALLS)
    };
    (0..ROUNDS).map(round).fold(f64::INFINITY, f64::min)
}

fn main() {
    let (target, options) = (TargetSpec::host(1), PlanOptions::default());
    let (level, rng) = (Level::detect(), &mut Rng::new(5));

    let sizes = GridSampler { n: 1, c: 1, hi: 1, wi: 1, ho: 1, wo: 1, ..Default::default() };
    let (desc, problem) = (sizes.desc(), sizes.problem());
    let data = problems::grid_sampler_inputs(&problem, Fill::Uniform, Coordinates::Smooth, rng);
    let [mut input_grad, mut grid_grad] =
        [Tensor::InputGrad, Tensor::GridGrad].map(|t| problems::output(problem.slot(t)));
    let check = || black_box(&desc).check(None, Edition::Any).expect("a legal problem");
    let plan = |problem| {
        ubtile_tiling::grid_sampler_2d_backward::plan(&black_box(problem), &target, &options).expect("a plan")
    };
    let mut workspace = vec![0; plan(problem).workspace_bytes()];
    let whole = || {
        let inputs = grid_sampler_2d_backward::Inputs {
            grad_output: values(&data.grad_output),
            input: values(&data.input),
            grid: values(&data.grid),
        };
        let outputs = grid_sampler_2d_backward::Outputs {
            input_grad: values_mut(&mut input_grad),
            grid_grad: values_mut(&mut grid_grad),
        };
        grid_sampler_2d_backward::run(&plan(check()), level, inputs, outputs, &mut workspace)
            .expect("buffers that fit");
    };
    print("grid-sampler-2d-backward", &check, || plan(problem), whole);

    let sizes = MaxUnpool { n: 1, c: 1, h: 1, w: 1, out_h: 1, out_w: 1, ..Default::default() };
    let (desc, problem) = (sizes.desc(), sizes.problem());
    let data = problems::max_unpool_inputs(&problem, Fill::Uniform, IndexFill::Duplicates, rng);
    let mut out = problems::output(problem.slot(Tensor::Out));
    let check = || black_box(&desc).check(None, Edition::Any).expect("a legal problem");
    let plan =
        |problem| ubtile_tiling::max_unpool2d_backward::plan(&black_box(problem), &target, &options).expect("a plan");
    let whole = || {
        let inputs =
            max_unpool2d_backward::Inputs { grad_output: values(&data.grad_output), indices: values(&data.indices) };
        let outputs = max_unpool2d_backward::Outputs { out: values_mut(&mut out) };
        max_unpool2d_backward::run(&plan(check()), level, inputs, outputs, &mut []).expect("buffers that fit");
    };
    print("max-unpool2d-backward", &check, || plan(problem), whole);

    let sizes = ReplicationPad { n: 1, c: 1, h: 1, w: 1, padding: [1, 1, 1, 1], ..Default::default() };
    let (desc, problem) = (sizes.desc(), sizes.problem());
    let data = problems::replication_pad_inputs(&problem, Fill::Uniform, rng);
    let mut grad_input = problems::output(problem.slot(Tensor::GradInput));
    let check = || black_box(&desc).check(None, Edition::Any).expect("a legal problem");
    let plan = |problem| {
        ubtile_tiling::replication_pad2d_backward::plan(&black_box(problem), &target, &options).expect("a plan")
    };
    let whole = || {
        let inputs = replication_pad2d_backward::Inputs { grad_output: values(&data) };
        let outputs = replication_pad2d_backward::Outputs { grad_input: values_mut(&mut grad_input) };
        replication_pad2d_backward::run(&plan(check()), level, inputs, outputs, &mut []).expect("buffers that fit");
    };
    print("replication-pad2d-backward", &check, || plan(problem), whole);

    let sizes =
        Im2col { n: 1, c: 1, h: 1, w: 1, kernel: [1, 1], padding: [0, 0], stride: [1, 1], ..Default::default() };
    let (desc, problem) = (sizes.desc(), sizes.problem());
    let data = problems::im2col_inputs(&problem, Fill::Uniform, rng);
    let mut out = problems::output(problem.slot(Tensor::Out));
    let check = || black_box(&desc).check(None, Edition::Any).expect("a legal problem");
    let plan = |problem| ubtile_tiling::im2col_backward::plan(&black_box(problem), &target, &options).expect("a plan");
    let whole = || {
        let inputs = im2col_backward::Inputs { grad_output: values(&data) };
        let outputs = im2col_backward::Outputs { out: values_mut(&mut out) };
        im2col_backward::run(&plan(check()), level, inputs, outputs, &mut []).expect("buffers that fit");
    };
    print("im2col-backward", &check, || plan(problem), whole);
}
