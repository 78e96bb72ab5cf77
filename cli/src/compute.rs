//! Runs a plan on bytes.

use ubtile_kernels::{
    Level, Parallel, RunError, Values, ValuesMut, grid_sampler_2d_backward, im2col_backward, max_unpool2d_backward,
    replication_pad2d_backward,
};
use ubtile_tiling::{Tensor, TensorSlot, TilingPlan};

use crate::error::Error;

/// Why nothing was computed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A tensor is not there, or not aligned for its dtype.
    Misplaced(Tensor),
    /// The kernel has refused the buffers or the data in them.
    Run(RunError),
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        Self::Unusable(match failure {
            Failure::Misplaced(tensor) => format!("{tensor} is not there or not aligned for its dtype"),
            Failure::Run(error) => {
                let status = error.status();
                format!("{error} (aclnn status {} {})", status.code(), status.name())
            }
        })
    }
}

/// Computes once. Inputs and outputs are those of the plan's problem, as long as their spans.
pub(crate) fn compute(
    plan: &TilingPlan,
    level: Level,
    threads: &impl Parallel,
    inputs: &[(TensorSlot, &[u8])],
    outputs: &mut [(TensorSlot, &mut [u8])],
    workspace: &mut [u8],
) -> Result<(), Failure> {
    let read = |tensor: Tensor| {
        let found = inputs.iter().find(|(slot, _)| slot.tensor == tensor);
        found.and_then(|(slot, bytes)| Values::from_bytes(slot.dtype, bytes)).ok_or(Failure::Misplaced(tensor))
    };
    let mut outputs: Vec<_> = outputs
        .iter_mut()
        .map(|(slot, bytes)| {
            let values = ValuesMut::from_bytes(slot.dtype, bytes).ok_or(Failure::Misplaced(slot.tensor))?;
            Ok((slot.tensor, values))
        })
        .collect::<Result<_, Failure>>()?;
    let mut wanted = |tensor: Tensor| {
        let found = outputs.iter().position(|(t, _)| *t == tensor);
        found.map(|i| outputs.swap_remove(i).1)
    };
    match plan {
        TilingPlan::GridSampler2dBackward(plan) => {
            let inputs = grid_sampler_2d_backward::Inputs {
                grad_output: read(Tensor::GradOutput)?,
                input: read(Tensor::Input)?,
                grid: read(Tensor::Grid)?,
            };
            let outputs = grid_sampler_2d_backward::Outputs {
                input_grad: wanted(Tensor::InputGrad).unwrap_or(ValuesMut::F32(&mut [])),
                grid_grad: wanted(Tensor::GridGrad).unwrap_or(ValuesMut::F32(&mut [])),
            };
            grid_sampler_2d_backward::run_parallel(plan, level, threads, inputs, outputs, workspace)
        }
        TilingPlan::MaxUnpool2dBackward(plan) => {
            let (grad_output, indices) = (read(Tensor::GradOutput)?, read(Tensor::Indices)?);
            let inputs = max_unpool2d_backward::Inputs { grad_output, indices };
            let outputs =
                max_unpool2d_backward::Outputs { out: wanted(Tensor::Out).ok_or(Failure::Misplaced(Tensor::Out))? };
            max_unpool2d_backward::run_parallel(plan, level, threads, inputs, outputs, workspace)
        }
        TilingPlan::ReplicationPad2dBackward(plan) => {
            let inputs = replication_pad2d_backward::Inputs { grad_output: read(Tensor::GradOutput)? };
            let outputs = replication_pad2d_backward::Outputs {
                grad_input: wanted(Tensor::GradInput).ok_or(Failure::Misplaced(Tensor::GradInput))?,
            };
            replication_pad2d_backward::run_parallel(plan, level, threads, inputs, outputs, workspace)
        }
        TilingPlan::Im2colBackward(plan) => {
            let inputs = im2col_backward::Inputs { grad_output: read(Tensor::GradOutput)? };
            let outputs = im2col_backward::Outputs { out: wanted(Tensor::Out).ok_or(Failure::Misplaced(Tensor::Out))? };
            im2col_backward::run_parallel(plan, level, threads, inputs, outputs, workspace)
        }
    }
    .map_err(Failure::Run)
}
