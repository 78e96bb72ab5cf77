//! Contract of GridSampler2DBackward.

use core::ops::Deref;

use super::rules::{Named, Rules, values};
use super::slot::{EarlySuccess, TensorSlot};
use crate::support::{
    EditionRule, GRID_SAMPLER_BICUBIC, GRID_SAMPLER_EMPTY, GRID_SAMPLER_REFLECTION, Limit, Route, support,
};
use crate::{Attribute, ContractError, Dtype, Edition, Operator, Product, Tensor, TensorDesc};

/// What a caller asks for.
#[derive(Clone, Copy, Debug)]
pub struct Desc<'a> {
    /// `[N, C, Ho, Wo]`.
    pub grad_output: TensorDesc,
    /// `[N, C, Hi, Wi]`.
    pub input: TensorDesc,
    /// `[N, Ho, Wo, 2]`, x then y; -1..1 is the image.
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

impl Problem {
    /// The same with a `grad_output`, and an `input`, without gaps where asked for.
    pub(crate) fn without_gaps(&self, grad_output: bool, input: bool) -> Self {
        let strides = |[height, width]: [usize; 2]| {
            let plane = height.saturating_mul(width);
            [self.c.saturating_mul(plane), plane, width, 1]
        };
        let mut geometry = self.0;
        if grad_output {
            geometry.grad_output_strides = strides([self.ho, self.wo]);
        }
        if input {
            geometry.input_strides = strides([self.hi, self.wi]);
        }
        Self(geometry)
    }

    /// A tensor that this problem reads or writes; a gradient that the output mask leaves out is none of them.
    #[must_use]
    pub fn slot(&self, tensor: Tensor) -> Option<TensorSlot> {
        let image = &[self.n, self.c, self.hi, self.wi];
        let points = &[self.n, self.ho, self.wo, 2];
        let (output, shape, strides) = match tensor {
            Tensor::GradOutput => (false, &[self.n, self.c, self.ho, self.wo], &self.grad_output_strides),
            Tensor::Input => (false, image, &self.input_strides),
            Tensor::Grid => (false, points, &self.grid_strides),
            Tensor::InputGrad if self.want_input_grad => (true, image, &self.input_grad_strides),
            Tensor::GridGrad if self.want_grid_grad => (true, points, &self.grid_grad_strides),
            _ => return None,
        };
        TensorSlot::new(tensor, output, self.dtype, shape, strides)
    }

    /// All of them, inputs first.
    pub fn tensors(&self) -> impl Iterator<Item = TensorSlot> + '_ {
        [Tensor::GradOutput, Tensor::Input, Tensor::Grid, Tensor::InputGrad, Tensor::GridGrad]
            .into_iter()
            .filter_map(|tensor| self.slot(tensor))
    }

    /// Why there is nothing to compute, if so.
    #[must_use]
    pub const fn early_success(&self) -> Option<EarlySuccess> {
        let Geometry { n, c, ho, wo, want_input_grad, want_grid_grad, .. } = self.0;
        // `input` has an area, so whenever it or `grid` is empty, `grad_output` is too.
        if n == 0 || c == 0 || ho == 0 || wo == 0 {
            Some(EarlySuccess::Empty(Tensor::GradOutput))
        } else if !want_input_grad && !want_grid_grad {
            Some(EarlySuccess::NothingWanted)
        } else {
            None
        }
    }

    /// Where the vendor runs it; `None` where it does not.
    #[must_use]
    pub fn vendor_route(&self, product: Product, edition: Edition) -> Option<Route> {
        support(Operator::GridSampler2dBackward, self.dtype, Some(product), edition).route_where(|limit| match limit {
            Limit::Channels(most) => self.c <= most,
            _ => true,
        })
    }
}

/// Applies the vendor's rules in their order, then ours. The product decides which dtypes are taken; the edition, with or
/// without a product, whether bicubic, reflection and empty tensors are.
///
/// # Errors
/// The first broken rule.
pub fn check(desc: &Desc<'_>, product: Option<Product>, edition: Edition) -> Result<Problem, ContractError> {
    let rules = Rules { operator: Operator::GridSampler2dBackward, product, edition };
    let grad_output = Named::new(Tensor::GradOutput, &desc.grad_output);
    let input = Named::new(Tensor::Input, &desc.input);
    let grid = Named::new(Tensor::Grid, &desc.grid);
    let input_grad = Named::new(Tensor::InputGrad, &desc.input_grad);
    let grid_grad = Named::new(Tensor::GridGrad, &desc.grid_grad);

    for tensor in [grad_output, grid, input_grad, grid_grad] {
        tensor.dtype_equals(input)?;
    }
    rules.takes_dtype_of(input)?;
    let interpolation = interpolation(desc.interpolation, edition)?;
    let padding_mode = padding_mode(desc.padding_mode, edition)?;
    for tensor in [input, grid, grad_output] {
        tensor.rank_within(4, 4)?;
    }
    grid.dim_equals(0, input, 0)?;
    grad_output.dim_equals(0, input, 0)?;
    grad_output.dim_equals(1, input, 1)?;
    input.dim_not_zero(2)?;
    input.dim_not_zero(3)?;
    grid.dim_equals(1, grad_output, 2)?;
    grid.dim_equals(2, grad_output, 3)?;
    grid.dim_is(3, 2, "x and y")?;
    input_grad.shape_equals(input)?;
    grid_grad.shape_equals(grid)?;
    let [want_input_grad, want_grid_grad] = values(Attribute::OutputMask, desc.output_mask)?;
    if !GRID_SAMPLER_EMPTY.editions.contains(edition) {
        for tensor in [grad_output, input, grid] {
            tensor.not_empty(edition)?;
        }
    }

    for tensor in [grad_output, input, grid, input_grad, grid_grad] {
        tensor.addressable()?;
    }
    if want_input_grad {
        input_grad.writable()?;
    }
    if want_grid_grad {
        grid_grad.writable()?;
    }

    let ([n, c, hi, wi], input_strides) = input.padded();
    let ([_, _, ho, wo], grad_output_strides) = grad_output.padded();
    Ok(Problem(Geometry {
        dtype: desc.input.dtype,
        n,
        c,
        hi,
        wi,
        ho,
        wo,
        interpolation,
        padding_mode,
        align_corners: desc.align_corners,
        want_input_grad,
        want_grid_grad,
        grad_output_strides,
        input_strides,
        grid_strides: grid.padded().1,
        input_grad_strides: input_grad.padded().1,
        grid_grad_strides: grid_grad.padded().1,
    }))
}

fn interpolation(got: i64, edition: Edition) -> Result<Interpolation, ContractError> {
    let attribute = Attribute::Interpolation;
    match got {
        0 => Ok(Interpolation::Bilinear),
        1 => Ok(Interpolation::Nearest),
        2 if GRID_SAMPLER_BICUBIC.editions.contains(edition) => Ok(Interpolation::Bicubic),
        2 => Err(ContractError::AttributeEdition { attribute, got, edition }),
        _ => Err(out_of_range(attribute, got, &GRID_SAMPLER_BICUBIC, edition)),
    }
}

fn padding_mode(got: i64, edition: Edition) -> Result<PaddingMode, ContractError> {
    let attribute = Attribute::PaddingMode;
    match got {
        0 => Ok(PaddingMode::Zeros),
        1 => Ok(PaddingMode::Border),
        2 if GRID_SAMPLER_REFLECTION.editions.contains(edition) => Ok(PaddingMode::Reflection),
        2 => Err(ContractError::AttributeEdition { attribute, got, edition }),
        _ => Err(out_of_range(attribute, got, &GRID_SAMPLER_REFLECTION, edition)),
    }
}

/// A value beyond the last one that the edition has: 2, where a rule lets it.
fn out_of_range(attribute: Attribute, got: i64, of_2: &EditionRule, edition: Edition) -> ContractError {
    let max = if of_2.editions.contains(edition) { 2 } else { 1 };
    ContractError::AttributeRange { attribute, index: None, got, min: 0, max }
}
