//! Runs of GridSampler2DBackward.

use ubtile_kernels::grid_sampler_2d_backward::{Inputs, Outputs, run_parallel};
use ubtile_testkit::{Coordinates, Data, Rng, problems, reference};
use ubtile_tiling::grid_sampler_2d_backward::{Problem, plan};
use ubtile_tiling::{Dtype, Tensor, TensorDesc};

use super::{Setup, Threads, is_built, judge, values, values_mut};

/// Runs a problem and judges the result.
pub fn check(problem: &Problem, setup: &Setup, coordinates: Coordinates) {
    let inputs = problems::grid_sampler_inputs(problem, setup.fill, coordinates, &mut Rng::new(setup.seed));
    let Some([input_grad, grid_grad]) = run(problem, setup, &inputs) else { return };
    let [plain_input, plain_grid] = run(problem, &setup.plain(), &inputs).expect("computed at any level");
    let expected = reference::grid_sampler_2d_backward::run(problem, &inputs);
    if let Some(expected) = expected.input_grad {
        judge(&input_grad, &plain_input, &expected);
    }
    if let Some(expected) = expected.grid_grad {
        judge(&grid_grad, &plain_grid, &expected);
    }
}

/// The gradients of image and grid; one that is not wanted is empty.
fn run(problem: &Problem, setup: &Setup, inputs: &reference::grid_sampler_2d_backward::Inputs) -> Option<[Data; 2]> {
    let plan = plan(problem, &setup.target, &setup.options).ok()?;
    let output = |tensor| match problem.slot(tensor) {
        Some(slot) => problems::output(Some(slot)),
        None => Data::filled(TensorDesc::contiguous(Dtype::F32, &[0]).expect("one dimension"), 0),
    };
    let [mut input_grad, mut grid_grad] = [Tensor::InputGrad, Tensor::GridGrad].map(output);
    let mut workspace = setup.workspace(plan.workspace_bytes());
    let inputs =
        Inputs { grad_output: values(&inputs.grad_output), input: values(&inputs.input), grid: values(&inputs.grid) };
    let outputs = Outputs { input_grad: values_mut(&mut input_grad), grid_grad: values_mut(&mut grid_grad) };
    let result = run_parallel(&plan, setup.level, &Threads(setup.threads), inputs, outputs, workspace.bytes());
    is_built(result).then_some([input_grad, grid_grad])
}
