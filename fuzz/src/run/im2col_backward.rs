//! Runs of Im2colBackward.

use ubtile_kernels::im2col_backward::{Inputs, Outputs, run_parallel};
use ubtile_testkit::{Data, Rng, problems, reference};
use ubtile_tiling::Tensor;
use ubtile_tiling::im2col_backward::{Problem, plan};

use super::{Setup, Threads, is_built, judge, values, values_mut};

/// Runs a problem and judges the result.
pub fn check(problem: &Problem, setup: &Setup) {
    let grad_output = problems::im2col_inputs(problem, setup.fill, &mut Rng::new(setup.seed));
    let Some(got) = run(problem, setup, &grad_output) else { return };
    let plain = run(problem, &setup.plain(), &grad_output).expect("computed at any level");
    judge(&got, &plain, &reference::im2col_backward::run(problem, &grad_output));
}

fn run(problem: &Problem, setup: &Setup, grad_output: &Data) -> Option<Data> {
    let plan = plan(problem, &setup.target, &setup.options).ok()?;
    let mut out = problems::output(problem.slot(Tensor::Out));
    let mut workspace = setup.workspace(plan.workspace_bytes());
    let inputs = Inputs { grad_output: values(grad_output) };
    let outputs = Outputs { out: values_mut(&mut out) };
    let result = run_parallel(&plan, setup.level, &Threads(setup.threads), inputs, outputs, workspace.bytes());
    is_built(result).then_some(out)
}
