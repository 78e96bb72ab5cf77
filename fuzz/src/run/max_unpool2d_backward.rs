//! Runs of MaxUnpool2dBackward.

use ubtile_kernels::RunError;
use ubtile_kernels::max_unpool2d_backward::{Inputs, Outputs, run_parallel};
use ubtile_testkit::{Data, IndexFill, Rng, problems, reference};
use ubtile_tiling::Tensor;
use ubtile_tiling::max_unpool2d_backward::{Problem, plan};

use super::{Setup, Threads, judge, values, values_mut};

/// Runs a problem and judges the result.
pub fn check(problem: &Problem, setup: &Setup, indices: IndexFill) {
    let inputs = problems::max_unpool_inputs(problem, setup.fill, indices, &mut Rng::new(setup.seed));
    let Some((result, got)) = run(problem, setup, &inputs) else { return };
    let (plain_result, plain) = run(problem, &setup.plain(), &inputs).expect("planned for any machine");
    assert_eq!(result, plain_result, "another way to run it gives another error");
    match (reference::max_unpool2d_backward::run(problem, &inputs), result) {
        (Ok(expected), Ok(())) => judge(&got, &plain, &expected),
        (Err(bad), Err(RunError::Index { position, index, cells })) => {
            assert_eq!((position, index), (bad.position, bad.index));
            assert_eq!(cells, problem.out_h * problem.out_w);
        }
        (_, Err(RunError::NotBuilt { .. })) => (),
        (expected, result) => panic!("{result:?}, expected {expected:?}"),
    }
}

fn run(
    problem: &Problem,
    setup: &Setup,
    inputs: &reference::max_unpool2d_backward::Inputs,
) -> Option<(std::result::Result<(), RunError>, Data)> {
    let plan = plan(problem, &setup.target, &setup.options).ok()?;
    let mut out = problems::output(problem.slot(Tensor::Out));
    let mut workspace = setup.workspace(plan.workspace_bytes());
    let inputs = Inputs { grad_output: values(&inputs.grad_output), indices: values(&inputs.indices) };
    let outputs = Outputs { out: values_mut(&mut out) };
    let result = run_parallel(&plan, setup.level, &Threads(setup.threads), inputs, outputs, workspace.bytes());
    Some((result, out))
}
