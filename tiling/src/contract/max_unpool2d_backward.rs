//! Contract of MaxUnpool2dBackward.

use core::ops::Deref;

use crate::{ContractError, Dtype, Edition, Product, TensorDesc};

/// What a caller asks for.
#[derive(Clone, Copy, Debug)]
pub struct Desc<'a> {
    /// `[N, C, oH, oW]` or `[C, oH, oW]`.
    pub grad_output: TensorDesc,
    /// The forward pass' input, `[N, C, H, W]` or `[C, H, W]`; only described, never read.
    pub self_tensor: TensorDesc,
    /// Flat positions in the unpooled plane, of `self`'s shape; I32 or I64.
    pub indices: TensorDesc,
    /// `[oH, oW]`; a slice because a caller may get its length wrong.
    pub output_size: &'a [i64],
    /// The result, of `self`'s shape; its dtype may differ where the contract can cast.
    pub out: TensorDesc,
}

/// The sizes of a sensible problem, 3-D tensors read as N = 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Element type of `grad_output`.
    pub dtype: Dtype,
    /// Element type of `out`.
    pub out_dtype: Dtype,
    /// Element type of `indices`: I32 or I64.
    pub index_dtype: Dtype,
    /// Images.
    pub n: usize,
    /// Channels of an image.
    pub c: usize,
    /// Height of the pooled image.
    pub h: usize,
    /// Width of the pooled image.
    pub w: usize,
    /// Height of the unpooled image.
    pub out_h: usize,
    /// Width of the unpooled image.
    pub out_w: usize,
    /// Strides of `grad_output` as `[N, C, oH, oW]`, in elements.
    pub grad_output_strides: [usize; 4],
    /// Strides of `indices` as `[N, C, H, W]`, in elements.
    pub indices_strides: [usize; 4],
    /// Strides of `out` as `[N, C, H, W]`, in elements.
    pub out_strides: [usize; 4],
}

/// A problem that passed the check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Problem(Geometry);

impl Deref for Problem {
    type Target = Geometry;
    fn deref(&self) -> &Geometry {
        &self.0
    }
}

/// Applies the contract.
///
/// # Errors
/// The first broken rule.
pub fn check(desc: &Desc<'_>, product: Option<Product>, edition: Edition) -> Result<Problem, ContractError> {
    let _ = (desc, product, edition);
    Err(ContractError::TooLarge { tensor: crate::Tensor::GradOutput })
}
