//! The operators: what phase 1 of each checks, and how its kernel is called.

pub(crate) mod grid_sampler_2d_backward;
pub(crate) mod im2col_backward;
pub(crate) mod max_unpool2d_backward;
pub(crate) mod reflection_pad2d_backward;
pub(crate) mod replication_pad1d_backward;
pub(crate) mod replication_pad2d_backward;

use ubtile_kernels::{Level, RunError, Values, ValuesMut};
use ubtile_tiling::{Problem, Tensor, TensorSlot, TilingPlan, replication_pad2d_backward as pad};

use crate::failure::{Failure, Outcome, code};
use crate::threads::Threads;

/// What an executor does.
pub(crate) enum Work {
    /// The outputs stay as they are: a tensor is empty, or nothing is wanted.
    Nothing,
    /// One of the kernels.
    Plan {
        /// For this machine, and small enough for the workspace.
        plan: Box<TilingPlan>,
        /// Bytes that phase 1 reports.
        workspace: usize,
    },
    /// ReflectionPad2dBackward, of which a problem has the same sizes as replication padding's.
    Reflection {
        /// The sizes.
        problem: pad::Problem,
        /// Bytes that phase 1 reports.
        workspace: usize,
    },
}

impl Work {
    /// Bytes that phase 1 reports.
    pub(crate) const fn workspace(&self) -> usize {
        match self {
            Self::Nothing => 0,
            Self::Plan { workspace, .. } | Self::Reflection { workspace, .. } => *workspace,
        }
    }

    /// A tensor that it reads or writes.
    pub(crate) fn slot(&self, tensor: Tensor) -> Option<TensorSlot> {
        match self {
            Self::Nothing => None,
            Self::Plan { plan, .. } => plan.problem().slot(tensor),
            Self::Reflection { problem, .. } => Problem::ReplicationPad2dBackward(*problem).slot(tensor),
        }
    }

    /// Does it.
    pub(crate) fn run(&self, level: Level, elements: Elements<'_>, workspace: &mut [u8]) -> Outcome {
        let plan = match self {
            Self::Nothing => return Ok(()),
            Self::Reflection { problem, .. } => return reflection_pad2d_backward::run(problem, elements),
            Self::Plan { plan, .. } => &**plan,
        };
        let threads = Threads::of(plan);
        match plan {
            TilingPlan::GridSampler2dBackward(plan) => {
                grid_sampler_2d_backward::run(plan, level, threads, elements, workspace)
            }
            TilingPlan::MaxUnpool2dBackward(plan) => {
                max_unpool2d_backward::run(plan, level, threads, elements, workspace)
            }
            TilingPlan::ReplicationPad2dBackward(plan) => {
                replication_pad2d_backward::run(plan, level, threads, elements, workspace)
            }
            TilingPlan::Im2colBackward(plan) => im2col_backward::run(plan, level, threads, elements, workspace),
        }
    }
}

/// The bytes of a call's tensors, as many as their strides reach.
pub(crate) struct Elements<'a> {
    pub(crate) inputs: Vec<(TensorSlot, &'a [u8])>,
    pub(crate) outputs: Vec<(TensorSlot, &'a mut [u8])>,
}

impl<'a> Elements<'a> {
    /// An input.
    pub(crate) fn read(&self, tensor: Tensor) -> Outcome<Values<'a>> {
        let found = self.inputs.iter().find(|(slot, _)| slot.tensor == tensor);
        found.and_then(|(slot, bytes)| Values::from_bytes(slot.dtype, bytes)).ok_or_else(|| misplaced(tensor))
    }

    /// An output, if it is wanted.
    pub(crate) fn wanted(&mut self, tensor: Tensor) -> Outcome<Option<ValuesMut<'a>>> {
        let Some(at) = self.outputs.iter().position(|(slot, _)| slot.tensor == tensor) else { return Ok(None) };
        let (slot, bytes) = self.outputs.swap_remove(at);
        ValuesMut::from_bytes(slot.dtype, bytes).ok_or_else(|| misplaced(tensor)).map(Some)
    }

    /// An output.
    pub(crate) fn write(&mut self, tensor: Tensor) -> Outcome<ValuesMut<'a>> {
        self.wanted(tensor)?.ok_or_else(|| misplaced(tensor))
    }
}

fn misplaced(tensor: Tensor) -> Failure {
    Failure::new(code::INTERNAL_ERROR, format!("{tensor} is not bound, or not aligned for its type"))
}

/// A failed run. It is found when the kernel runs, so it comes with the next synchronisation.
fn failed(error: RunError) -> Failure {
    Failure::new(error.status().code(), error.to_string())
}
