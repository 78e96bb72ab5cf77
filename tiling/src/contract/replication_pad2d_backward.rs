//! Contract of ReplicationPad2dBackward.

use core::ops::Deref;

use super::rules::{Named, Rules, values};
use super::slot::{EarlySuccess, TensorSlot};
use crate::support::{Limit, Route, support};
use crate::{Attribute, ContractError, Dtype, Edition, Operator, Product, Tensor, TensorDesc};

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

impl Geometry {
    /// Whether the vendor's kernels take the padding. In BF16 no product takes any other.
    pub(crate) fn padding_fits(&self) -> bool {
        first_beyond_kernel([self.left, self.right, self.top, self.bottom].map(|padding| padding as i64)).is_none()
    }
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
    /// Whether a kernel goes from pixel to pixel, all channels of one at a time, as they lie side by side in both tensors.
    #[must_use]
    pub fn by_pixels(&self) -> bool {
        self.c > 1 && self.grad_output_strides[1] == 1 && self.grad_input_strides[1] == 1
    }

    /// The same with a `grad_output` without gaps.
    pub(crate) fn without_gaps(&self) -> Self {
        let plane = self.padded_h.saturating_mul(self.padded_w);
        Self(Geometry { grad_output_strides: [plane.saturating_mul(self.c), plane, self.padded_w, 1], ..self.0 })
    }

    /// A tensor that this problem reads or writes. `self` is none of them.
    #[must_use]
    pub fn slot(&self, tensor: Tensor) -> Option<TensorSlot> {
        let (output, shape, strides) = match tensor {
            Tensor::GradOutput => (false, &[self.n, self.c, self.padded_h, self.padded_w], &self.grad_output_strides),
            Tensor::GradInput => (true, &[self.n, self.c, self.h, self.w], &self.grad_input_strides),
            _ => return None,
        };
        TensorSlot::new(tensor, output, self.dtype, shape, strides)
    }

    /// All of them, inputs first.
    pub fn tensors(&self) -> impl Iterator<Item = TensorSlot> + '_ {
        [Tensor::GradOutput, Tensor::GradInput].into_iter().filter_map(|tensor| self.slot(tensor))
    }

    /// Why there is nothing to compute, if so: no images. All other sizes are at least 1.
    #[must_use]
    pub const fn early_success(&self) -> Option<EarlySuccess> {
        if self.0.n == 0 { Some(EarlySuccess::Empty(Tensor::SelfTensor)) } else { None }
    }

    /// Where the vendor runs it; `None` where it does not.
    #[must_use]
    pub fn vendor_route(&self, product: Product, edition: Edition) -> Option<Route> {
        let (Geometry { padded_h, padded_w, .. }, padding_fits) = (self.0, self.padding_fits());
        if self.dtype == Dtype::Bf16 && !padding_fits {
            return None;
        }
        support(Operator::ReplicationPad2dBackward, self.dtype, Some(product), edition).route_where(|limit| match limit
        {
            Limit::PaddingAndSize(h, w) => padding_fits && padded_h <= h && padded_w <= w,
            Limit::Padding => padding_fits,
            _ => true,
        })
    }
}

/// The largest padding, in either direction: positions of either tensor plus or minus it stay in `isize`.
const MAX_PADDING: isize = isize::MAX / 4;

/// Applies the vendor's rules in their order, then ours. On the host BF16 takes any padding, as every dtype does.
///
/// # Errors
/// The first broken rule.
pub fn check(desc: &Desc<'_>, product: Option<Product>, edition: Edition) -> Result<Problem, ContractError> {
    let rules = Rules { operator: Operator::ReplicationPad2dBackward, product, edition };
    let grad_output = Named::new(Tensor::GradOutput, &desc.grad_output);
    let self_tensor = Named::new(Tensor::SelfTensor, &desc.self_tensor);
    let grad_input = Named::new(Tensor::GradInput, &desc.grad_input);

    for tensor in [grad_output, self_tensor, grad_input] {
        rules.takes_dtype_of(tensor)?;
    }
    grad_output.dtype_equals(self_tensor)?;
    grad_input.dtype_equals(self_tensor)?;
    grad_input.shape_equals(self_tensor)?;
    self_tensor.rank_within(3, 4)?;
    grad_output.rank_equals(self_tensor)?;
    let padding: [i64; 4] = values(Attribute::Padding, desc.padding)?;
    let [left, right, top, bottom] = padding;
    if desc.grad_output.dtype == Dtype::Bf16
        && product.is_some()
        && let Some((index, got)) = first_beyond_kernel(padding)
    {
        return Err(ContractError::Bf16Padding { index, got });
    }
    // The plane is the last two dimensions; N and C, or C alone, come before.
    let plane = self_tensor.rank().saturating_sub(2);
    padded_size(grad_output, self_tensor, plane, top, bottom)?;
    padded_size(grad_output, self_tensor, plane + 1, left, right)?;
    // Only N may be 0, and only where there is one.
    for dim in plane.saturating_sub(1)..self_tensor.rank() {
        self_tensor.dim_not_zero(dim)?;
        grad_output.dim_not_zero(dim)?;
    }

    // Ours from here: the vendor does not compare N and C and would read past the end.
    for dim in 0..plane {
        grad_output.dim_equals(dim, self_tensor, dim)?;
    }
    for tensor in [grad_output, self_tensor, grad_input] {
        tensor.addressable()?;
    }
    grad_input.writable()?;

    let ([n, c, h, w], grad_input_strides) = grad_input.padded();
    let ([_, _, padded_h, padded_w], grad_output_strides) = grad_output.padded();
    Ok(Problem(Geometry {
        dtype: desc.self_tensor.dtype,
        n,
        c,
        h,
        w,
        padded_h,
        padded_w,
        left: bounded(0, left)?,
        right: bounded(1, right)?,
        top: bounded(2, top)?,
        bottom: bounded(3, bottom)?,
        grad_output_strides,
        grad_input_strides,
    }))
}

/// The first padding that the vendor's kernels do not take (its `padFlag`): a negative one, or one above 7 unless top and
/// bottom are 0.
fn first_beyond_kernel(padding: [i64; 4]) -> Option<(usize, i64)> {
    let [_, _, top, bottom] = padding;
    let most = if top == 0 && bottom == 0 { i64::MAX } else { 7 };
    padding.into_iter().enumerate().find(|(_, value)| !(0..=most).contains(value))
}

/// `grad_output` has `self`'s size with the padding around it.
fn padded_size(
    grad_output: Named<'_>,
    self_tensor: Named<'_>,
    dim: usize,
    before: i64,
    after: i64,
) -> Result<(), ContractError> {
    let (got, size) = (grad_output.dim(dim), self_tensor.dim(dim));
    // A sum that overflows is no size either.
    let want = before.checked_add(after).and_then(|padding| (size as u64).checked_add_signed(padding));
    if want == Some(got as u64) { Ok(()) } else { Err(ContractError::PaddedSize { dim, got, size, before, after }) }
}

fn bounded(index: usize, got: i64) -> Result<isize, ContractError> {
    match isize::try_from(got) {
        Ok(padding) if (-MAX_PADDING..=MAX_PADDING).contains(&padding) => Ok(padding),
        _ => Err(ContractError::AttributeTooLarge { attribute: Attribute::Padding, index, got }),
    }
}
