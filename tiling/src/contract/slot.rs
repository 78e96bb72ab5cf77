//! What code that serves all four operators asks a problem: its tensors, and whether there is anything to compute.

use core::fmt;

use crate::{Dims, Dtype, Tensor, TensorDesc};

/// A tensor that a problem reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorSlot {
    /// Which one.
    pub tensor: Tensor,
    /// Element type.
    pub dtype: Dtype,
    /// Logical shape; a tensor without a batch dimension has N = 1 in front.
    pub shape: Dims,
    /// Strides in elements, as many as there are sizes.
    pub strides: Dims,
    /// Length in elements of the shortest slice that holds the tensor with these strides; 0 when it is empty.
    pub span: usize,
    /// Whether it is written, not read.
    pub output: bool,
}

impl TensorSlot {
    #[inline]
    pub(crate) fn new(tensor: Tensor, output: bool, dtype: Dtype, shape: &[usize], strides: &[usize]) -> Option<Self> {
        let desc = TensorDesc::strided(dtype, shape, strides).ok()?;
        // The check has bounded every span; were there a larger one, no buffer would be long enough.
        let span = desc.span().unwrap_or(usize::MAX);
        Some(Self { tensor, dtype, shape: desc.shape, strides: desc.strides, span, output })
    }
}

/// Why a problem is already solved: aclnn leaves the outputs untouched then, everyone else fills them with zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EarlySuccess {
    /// This tensor is empty.
    Empty(Tensor),
    /// The output mask wants no gradient.
    NothingWanted,
}

impl fmt::Display for EarlySuccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty(tensor) => write!(f, "{tensor} is empty"),
            Self::NothingWanted => f.write_str("output-mask wants no gradient"),
        }
    }
}
