//! The inputs of any operator, and what it must give for them.

use ubtile_tiling::{Problem, Tensor, TensorSlot};

use crate::data::Data;
use crate::generate::{Coordinates, Fill, IndexFill};
use crate::problems::{grid_sampler_inputs, im2col_inputs, max_unpool_inputs, replication_pad_inputs};
use crate::reference::max_unpool2d_backward::BadIndex;
use crate::reference::{
    Expected, grid_sampler_2d_backward, im2col_backward, max_unpool2d_backward, replication_pad2d_backward,
};
use crate::rng::Rng;

/// Kinds of the inputs' elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kinds {
    /// Of values.
    pub values: Fill,
    /// Of a grid.
    pub coordinates: Coordinates,
    /// Of an unpooling's indices.
    pub indices: IndexFill,
}

/// The inputs of a problem.
#[derive(Clone, Debug)]
pub enum Inputs {
    /// Of the grid sampler.
    GridSampler2dBackward(grid_sampler_2d_backward::Inputs),
    /// Of max unpooling.
    MaxUnpool2dBackward(max_unpool2d_backward::Inputs),
    /// `grad_output` of replication padding.
    ReplicationPad2dBackward(Data),
    /// `grad_output` of im2col.
    Im2colBackward(Data),
}

impl Inputs {
    /// Random ones.
    #[must_use]
    pub fn random(problem: &Problem, kinds: Kinds, rng: &mut Rng) -> Self {
        let Kinds { values, coordinates, indices } = kinds;
        match problem {
            Problem::GridSampler2dBackward(p) => {
                Self::GridSampler2dBackward(grid_sampler_inputs(p, values, coordinates, rng))
            }
            Problem::MaxUnpool2dBackward(p) => Self::MaxUnpool2dBackward(max_unpool_inputs(p, values, indices, rng)),
            Problem::ReplicationPad2dBackward(p) => {
                Self::ReplicationPad2dBackward(replication_pad_inputs(p, values, rng))
            }
            Problem::Im2colBackward(p) => Self::Im2colBackward(im2col_inputs(p, values, rng)),
        }
    }

    /// Those that `data` gives for each tensor that the problem reads.
    ///
    /// # Errors
    /// The first of `data`.
    ///
    /// # Panics
    /// If the operator has no such input, which is a mistake in this function.
    pub fn try_new<E>(problem: &Problem, mut data: impl FnMut(TensorSlot) -> Result<Data, E>) -> Result<Self, E> {
        let mut of = |tensor| data(problem.slot(tensor).expect("an input of the operator"));
        Ok(match problem {
            Problem::GridSampler2dBackward(_) => Self::GridSampler2dBackward(grid_sampler_2d_backward::Inputs {
                grad_output: of(Tensor::GradOutput)?,
                input: of(Tensor::Input)?,
                grid: of(Tensor::Grid)?,
            }),
            Problem::MaxUnpool2dBackward(_) => Self::MaxUnpool2dBackward(max_unpool2d_backward::Inputs {
                grad_output: of(Tensor::GradOutput)?,
                indices: of(Tensor::Indices)?,
            }),
            Problem::ReplicationPad2dBackward(_) => Self::ReplicationPad2dBackward(of(Tensor::GradOutput)?),
            Problem::Im2colBackward(_) => Self::Im2colBackward(of(Tensor::GradOutput)?),
        })
    }

    /// They, by name.
    #[must_use]
    pub fn tensors(&self) -> Vec<(Tensor, &Data)> {
        match self {
            Self::GridSampler2dBackward(inputs) => vec![
                (Tensor::GradOutput, &inputs.grad_output),
                (Tensor::Input, &inputs.input),
                (Tensor::Grid, &inputs.grid),
            ],
            Self::MaxUnpool2dBackward(inputs) => {
                vec![(Tensor::GradOutput, &inputs.grad_output), (Tensor::Indices, &inputs.indices)]
            }
            Self::ReplicationPad2dBackward(grad_output) | Self::Im2colBackward(grad_output) => {
                vec![(Tensor::GradOutput, grad_output)]
            }
        }
    }

    /// They, by name, to write.
    #[must_use]
    pub fn tensors_mut(&mut self) -> Vec<(Tensor, &mut Data)> {
        match self {
            Self::GridSampler2dBackward(inputs) => vec![
                (Tensor::GradOutput, &mut inputs.grad_output),
                (Tensor::Input, &mut inputs.input),
                (Tensor::Grid, &mut inputs.grid),
            ],
            Self::MaxUnpool2dBackward(inputs) => {
                vec![(Tensor::GradOutput, &mut inputs.grad_output), (Tensor::Indices, &mut inputs.indices)]
            }
            Self::ReplicationPad2dBackward(grad_output) | Self::Im2colBackward(grad_output) => {
                vec![(Tensor::GradOutput, grad_output)]
            }
        }
    }
}

/// What the reference gives for each output that the problem writes.
///
/// # Errors
/// An index of an unpooling that is outside of the plane.
///
/// # Panics
/// If the inputs are another operator's.
pub fn expected(problem: &Problem, inputs: &Inputs) -> Result<Vec<(Tensor, Expected)>, BadIndex> {
    match (problem, inputs) {
        (Problem::GridSampler2dBackward(problem), Inputs::GridSampler2dBackward(inputs)) => {
            let outputs = grid_sampler_2d_backward::run(problem, inputs);
            let named = [(Tensor::InputGrad, outputs.input_grad), (Tensor::GridGrad, outputs.grid_grad)];
            Ok(named.into_iter().filter_map(|(tensor, expected)| Some((tensor, expected?))).collect())
        }
        (Problem::MaxUnpool2dBackward(problem), Inputs::MaxUnpool2dBackward(inputs)) => {
            Ok(vec![(Tensor::Out, max_unpool2d_backward::run(problem, inputs)?)])
        }
        (Problem::ReplicationPad2dBackward(problem), Inputs::ReplicationPad2dBackward(grad_output)) => {
            Ok(vec![(Tensor::GradInput, replication_pad2d_backward::run(problem, grad_output))])
        }
        (Problem::Im2colBackward(problem), Inputs::Im2colBackward(grad_output)) => {
            Ok(vec![(Tensor::Out, im2col_backward::run(problem, grad_output))])
        }
        _ => panic!("the inputs of {} are of another operator", problem.operator()),
    }
}
