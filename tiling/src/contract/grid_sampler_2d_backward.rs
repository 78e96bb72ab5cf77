//! Contract of GridSampler2DBackward.

use core::ops::Deref;

use crate::{ContractError, Dtype, Edition, Product, TensorDesc};

/// What a caller asks for.
#[derive(Clone, Copy, Debug)]
pub struct Desc<'a> {
    /// `[N, C, Ho, Wo]`.
    pub grad_output: TensorDesc,
    /// `[N, C, Hi, Wi]`.
    pub input: TensorDesc,
    /// `[N, Ho, Wo, 2]`, x then y in -1..1.
    pub grid: TensorDesc,
    /// Gradient of `input`, of its shape.
    pub input_grad: TensorDesc,
    /// Gradient of `grid`, of its shape.
    pub grid_grad: TensorDesc,
    /// 0 bilinear, 1 nearest, 2 bicubic.
    pub interpolation: i64,
    /// 0 zeros, 1 border, 2 reflection.
    pub padding_mode: i64,
    /// Whether -1 and 1 mean the centres of the corner pixels.
    pub align_corners: bool,
    /// Which of `input_grad` and `grid_grad` are wanted; a slice because a caller may get its length wrong.
    pub output_mask: &'a [bool],
}

/// How the pixels around a position are mixed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interpolation {
    /// The four pixels around it.
    Bilinear,
    /// The closest one, ties to even.
    Nearest,
    /// Sixteen pixels, Keys' kernel with A = -0.75.
    Bicubic,
}

/// What lies outside the image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PaddingMode {
    /// Nothing.
    Zeros,
    /// The border pixel, repeated.
    Border,
    /// The image, mirrored.
    Reflection,
}

/// The sizes of a sensible problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Element type of all tensors.
    pub dtype: Dtype,
    /// Images.
    pub n: usize,
    /// Channels.
    pub c: usize,
    /// Height of `input`.
    pub hi: usize,
    /// Width of `input`.
    pub wi: usize,
    /// Height of `grid` and `grad_output`.
    pub ho: usize,
    /// Width of `grid` and `grad_output`.
    pub wo: usize,
    /// How pixels are mixed.
    pub interpolation: Interpolation,
    /// What lies outside.
    pub padding_mode: PaddingMode,
    /// Whether -1 and 1 mean the centres of the corner pixels.
    pub align_corners: bool,
    /// Whether `input_grad` is wanted.
    pub want_input_grad: bool,
    /// Whether `grid_grad` is wanted.
    pub want_grid_grad: bool,
    /// Strides of `grad_output` as `[N, C, Ho, Wo]`, in elements.
    pub grad_output_strides: [usize; 4],
    /// Strides of `input` as `[N, C, Hi, Wi]`, in elements.
    pub input_strides: [usize; 4],
    /// Strides of `grid` as `[N, Ho, Wo, 2]`, in elements.
    pub grid_strides: [usize; 4],
    /// Strides of `input_grad` as `[N, C, Hi, Wi]`, in elements.
    pub input_grad_strides: [usize; 4],
    /// Strides of `grid_grad` as `[N, Ho, Wo, 2]`, in elements.
    pub grid_grad_strides: [usize; 4],
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
