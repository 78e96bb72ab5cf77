//! The problems of the tour.

use ubtile_testkit::problems::{self, GridSampler, Im2col, MaxUnpool, ReplicationPad};
use ubtile_testkit::reference::{self, Expected};
use ubtile_testkit::{Coordinates, Data, Fill, IndexFill, Rng};
use ubtile_tiling::{Operator, Problem, Tensor};

use crate::error::Error;

/// A problem with its inputs and what must come out.
pub(super) struct Case {
    pub(super) problem: Problem,
    pub(super) inputs: Vec<(Tensor, Data)>,
    pub(super) expected: Vec<(Tensor, Expected)>,
}

/// An embedded problem: random, but always the same.
pub(super) fn case(operator: Operator) -> Result<Case, Error> {
    let rng = &mut Rng::new(1);
    Ok(match operator {
        Operator::GridSampler2dBackward => {
            let problem = GridSampler { n: 2, c: 32, hi: 96, wi: 96, ho: 64, wo: 64, ..Default::default() }.problem();
            let inputs = problems::grid_sampler_inputs(&problem, Fill::Uniform, Coordinates::Smooth, rng);
            let expected = reference::grid_sampler_2d_backward::run(&problem, &inputs);
            let expected = [(Tensor::InputGrad, expected.input_grad), (Tensor::GridGrad, expected.grid_grad)];
            Case {
                problem: Problem::GridSampler2dBackward(problem),
                inputs: vec![
                    (Tensor::GradOutput, inputs.grad_output),
                    (Tensor::Input, inputs.input),
                    (Tensor::Grid, inputs.grid),
                ],
                expected: expected.into_iter().filter_map(|(tensor, want)| Some((tensor, want?))).collect(),
            }
        }
        Operator::MaxUnpool2dBackward => {
            let problem =
                MaxUnpool { n: 4, c: 32, h: 56, w: 56, out_h: 112, out_w: 112, ..Default::default() }.problem();
            let inputs = problems::max_unpool_inputs(&problem, Fill::Uniform, IndexFill::Permutation, rng);
            let expected = reference::max_unpool2d_backward::run(&problem, &inputs)
                .map_err(|bad| Error::Check(format!("the embedded indices are wrong: {bad:?}")))?;
            Case {
                problem: Problem::MaxUnpool2dBackward(problem),
                inputs: vec![(Tensor::GradOutput, inputs.grad_output), (Tensor::Indices, inputs.indices)],
                expected: vec![(Tensor::Out, expected)],
            }
        }
        Operator::ReplicationPad2dBackward => {
            let problem =
                ReplicationPad { n: 4, c: 32, h: 56, w: 56, padding: [2, 2, 2, 2], ..Default::default() }.problem();
            let grad_output = problems::replication_pad_inputs(&problem, Fill::Uniform, rng);
            let expected = reference::replication_pad2d_backward::run(&problem, &grad_output);
            Case {
                problem: Problem::ReplicationPad2dBackward(problem),
                inputs: vec![(Tensor::GradOutput, grad_output)],
                expected: vec![(Tensor::GradInput, expected)],
            }
        }
        Operator::Im2colBackward => {
            let shape = Im2col { n: 2, c: 32, h: 56, w: 56, kernel: [3, 3], padding: [1, 1], ..Default::default() };
            let problem = shape.problem();
            let grad_output = problems::im2col_inputs(&problem, Fill::Uniform, rng);
            let expected = reference::im2col_backward::run(&problem, &grad_output);
            Case {
                problem: Problem::Im2colBackward(problem),
                inputs: vec![(Tensor::GradOutput, grad_output)],
                expected: vec![(Tensor::Out, expected)],
            }
        }
    })
}
