//! Why a run is refused or failed.

use core::fmt;

use ubtile_tiling::{Dtype, Operator, Status, Tensor};

use crate::Feature;

/// What is wrong with the buffers of a run, or with the data in them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunError {
    /// A buffer of another dtype than the plan's.
    Dtype {
        /// The tensor.
        tensor: Tensor,
        /// The buffer's dtype.
        got: Dtype,
        /// The plan's dtype.
        want: Dtype,
    },
    /// A buffer that is not as long as the tensor's strides reach.
    Length {
        /// The tensor.
        tensor: Tensor,
        /// Elements of the buffer.
        got: usize,
        /// Elements the plan needs.
        want: usize,
    },
    /// A workspace smaller than the plan says.
    Workspace {
        /// Bytes of the buffer.
        got: usize,
        /// Bytes the plan needs.
        want: usize,
    },
    /// A share's part of the workspace that begins at a wrong address.
    Alignment {
        /// Bytes from the last address before it that would do.
        got: usize,
        /// Bytes that its address must be a multiple of.
        want: usize,
    },
    /// A share that the plan does not have.
    NoShare {
        /// The phase.
        phase: usize,
        /// The share.
        share: usize,
        /// How many shares the phase has; 0 where the plan has no such phase.
        shares: usize,
    },
    /// A problem or plan that needs a part of the kernels that this build left out.
    NotBuilt {
        /// The operator.
        operator: Operator,
        /// The part.
        feature: Feature,
    },
    /// A phase that copies an input, which `stage_share` computes, was to be computed by `run_share`.
    Copy {
        /// The phase.
        phase: usize,
        /// How many such phases the plan has, before all others.
        copies: usize,
    },
    /// A phase that copies no input, which `run_share` computes, was to be computed by `stage_share`.
    NoCopy {
        /// The phase.
        phase: usize,
        /// How many phases the plan has that copy an input, before all others.
        copies: usize,
    },
    /// An index outside the unpooled plane. The output has 0 there.
    Index {
        /// Lowest flat position in `indices`, counted over `[N, C, H, W]`, that holds a bad index.
        position: usize,
        /// The index.
        index: i64,
        /// Cells of the plane: an index is at least 0 and below this.
        cells: usize,
    },
}

impl RunError {
    /// What aclnn returns for it.
    #[must_use]
    pub const fn status(&self) -> Status {
        match self {
            Self::Index { .. } => Status::RuntimeError,
            _ => Status::ParamInvalid,
        }
    }
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dtype { tensor, got, want } => write!(f, "{tensor} holds {got}: the plan is for {want}"),
            Self::Length { tensor, got, want } => write!(f, "{tensor} holds {got} elements: the plan needs {want}"),
            Self::Workspace { got, want } => write!(f, "the workspace has {got} bytes: the plan needs {want}"),
            Self::Alignment { got, want } => {
                write!(f, "memory of a share begins {got} bytes behind a multiple of {want}: it must begin at one")
            }
            Self::NoShare { phase, share, shares } => {
                write!(f, "share {share} of phase {phase}: the plan has {shares} shares of it")
            }
            Self::NotBuilt { operator, feature } => write!(f, "{operator} was built without the feature {feature}"),
            Self::Copy { phase, copies } => {
                write!(f, "phase {phase} is one of {copies} that copy an input: stage_share makes the copies")
            }
            Self::NoCopy { phase, copies } => {
                write!(f, "phase {phase} is none of {copies} that copy an input: run_share computes it")
            }
            Self::Index { position, index, cells } => {
                write!(f, "indices[{position}] is {index}: an index into this plane is at least 0 and below {cells}")
            }
        }
    }
}

impl core::error::Error for RunError {}
