//! Contract of Im2colBackward (col2im, fold).

use core::num::NonZeroUsize;
use core::ops::Deref;

use crate::{ContractError, Dtype, Edition, Product, TensorDesc};

/// What a caller asks for. Pairs are (height, width); slices because a caller may get their length wrong.
#[derive(Clone, Copy, Debug)]
pub struct Desc<'a> {
    /// `[N, C*kh*kw, L]` or `[C*kh*kw, L]`.
    pub grad_output: TensorDesc,
    /// Size of the image, `[H, W]`.
    pub input_size: &'a [i64],
    /// `[kh, kw]`, above 0.
    pub kernel_size: &'a [i64],
    /// `[dh, dw]`, above 0.
    pub dilation: &'a [i64],
    /// `[ph, pw]`, 0 or more.
    pub padding: &'a [i64],
    /// `[sh, sw]`, above 0.
    pub stride: &'a [i64],
    /// `[N, C, H, W]` or `[C, H, W]`; its dtype may differ from `grad_output`'s.
    pub out: TensorDesc,
}

/// The sizes of a sensible problem, 3-D tensors read as N = 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Element type of `grad_output`.
    pub dtype: Dtype,
    /// Element type of `out`.
    pub out_dtype: Dtype,
    /// Images.
    pub n: usize,
    /// Channels of an image.
    pub c: usize,
    /// Height of an image.
    pub h: usize,
    /// Width of an image.
    pub w: usize,
    /// `[kh, kw]`.
    pub kernel: [NonZeroUsize; 2],
    /// `[dh, dw]`.
    pub dilation: [NonZeroUsize; 2],
    /// `[ph, pw]`.
    pub padding: [usize; 2],
    /// `[sh, sw]`.
    pub stride: [NonZeroUsize; 2],
    /// `[Lh, Lw]`, the window positions along each axis; L is their product.
    pub columns: [usize; 2],
    /// Strides of `grad_output` as `[N, C*kh*kw, L]`, in elements.
    pub grad_output_strides: [usize; 3],
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
