//! Runs of ReplicationPad2dBackward.

use ubtile_kernels::replication_pad2d_backward::{Inputs, Outputs, run_parallel};
use ubtile_testkit::{Data, Rng, problems, reference};
use ubtile_tiling::Tensor;
use ubtile_tiling::replication_pad2d_backward::{Problem, plan};

use super::{Setup, Threads, is_built, judge, values, values_mut};

/// Runs a problem and judges the result.
pub fn check(problem: &Problem, setup: &Setup) {
    let grad_output = problems::replication_pad_inputs(problem, setup.fill, &mut Rng::new(setup.seed));
    let Some(got) = run(problem, setup, &grad_output) else { return };
    let plain = run(problem, &setup.plain(), &grad_output).expect("computed at any level");
    judge(&got, &plain, &reference::replication_pad2d_backward::run(problem, &grad_output));
}

fn run(problem: &Problem, setup: &Setup, grad_output: &Data) -> Option<Data> {
    let plan = plan(problem, &setup.target, &setup.options).ok()?;
    let mut grad_input = problems::output(problem.slot(Tensor::GradInput));
    let mut workspace = setup.workspace(plan.workspace_bytes());
    let inputs = Inputs { grad_output: values(grad_output) };
    let outputs = Outputs { grad_input: values_mut(&mut grad_input) };
    let result = run_parallel(&plan, setup.level, &Threads(setup.threads), inputs, outputs, workspace.bytes());
    is_built(result).then_some(grad_input)
}
