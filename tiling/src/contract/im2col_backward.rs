//! Contract of Im2colBackward (col2im, fold).

use core::num::NonZeroUsize;
use core::ops::Deref;

use super::rules::{Named, Rules, at_least, values};
use super::slot::{EarlySuccess, TensorSlot};
use crate::support::{Route, support};
use crate::{Attribute, ContractError, Dtype, Edition, Operator, Product, Tensor, TensorDesc};

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

impl Problem {
    /// Most taps along an axis of a kernel that goes [by pixels](Self::by_pixels).
    pub const MOST_TAPS: usize = 16;
    /// Least bytes of the channels of a cell.
    const LEAST_BYTES: usize = 32;
    /// Least windows that reach a cell where channels lie apart in `out`: of fewer a copy is as fast.
    const LEAST_WINDOWS: usize = 4;

    /// Whether a kernel goes from pixel to pixel, many channels of one at a time, as the channels and taps of a window lie side by
    /// side in `grad_output`. No element is converted.
    #[must_use]
    pub fn by_pixels(&self) -> bool {
        let [_, row, window] = self.grad_output_strides;
        let ([kh, kw], [sh, sw]) = (self.kernel, self.stride);
        let [rows, columns] = [kh.get() / sh, kw.get() / sw];
        let beside = row == 1 && window > 1 && self.dtype == self.out_dtype;
        let many_channels = self.c.saturating_mul(self.dtype.size()) >= Self::LEAST_BYTES;
        let pays = self.out_strides[1] == 1 || rows.saturating_mul(columns) >= Self::LEAST_WINDOWS;
        beside && many_channels && pays && self.kernel.iter().all(|taps| taps.get() <= Self::MOST_TAPS)
    }

    /// The same with a `grad_output` without gaps.
    pub(crate) fn without_gaps(&self) -> Self {
        let [lh, lw] = self.columns;
        let positions = lh.saturating_mul(lw);
        let rows = self.kernel.iter().fold(self.c, |rows, k| rows.saturating_mul(k.get()));
        Self(Geometry { grad_output_strides: [rows.saturating_mul(positions), positions, 1], ..self.0 })
    }

    /// A tensor that this problem reads or writes.
    #[must_use]
    pub fn slot(&self, tensor: Tensor) -> Option<TensorSlot> {
        let [[kh, kw], [lh, lw]] = [self.kernel.map(NonZeroUsize::get), self.columns];
        // Saturation never happens: the check has compared the products with `grad_output`'s sizes.
        let rows = self.c.saturating_mul(kh).saturating_mul(kw);
        match tensor {
            Tensor::GradOutput => {
                let shape = [self.n, rows, lh.saturating_mul(lw)];
                TensorSlot::new(tensor, false, self.dtype, &shape, &self.grad_output_strides)
            }
            Tensor::Out => {
                TensorSlot::new(tensor, true, self.out_dtype, &[self.n, self.c, self.h, self.w], &self.out_strides)
            }
            _ => None,
        }
    }

    /// All of them, inputs first.
    pub fn tensors(&self) -> impl Iterator<Item = TensorSlot> + '_ {
        [Tensor::GradOutput, Tensor::Out].into_iter().filter_map(|tensor| self.slot(tensor))
    }

    /// Why there is nothing to compute, if so.
    #[must_use]
    pub const fn early_success(&self) -> Option<EarlySuccess> {
        let Geometry { n, c, h, w, columns: [lh, lw], .. } = self.0;
        if n == 0 || c == 0 || lh == 0 || lw == 0 {
            Some(EarlySuccess::Empty(Tensor::GradOutput))
        } else if h == 0 || w == 0 {
            // All columns lie in the padding.
            Some(EarlySuccess::Empty(Tensor::Out))
        } else {
            None
        }
    }

    /// Where the vendor runs it; `None` where it does not.
    #[must_use]
    pub fn vendor_route(&self, product: Product, edition: Edition) -> Option<Route> {
        let on = |dtype| support(Operator::Im2colBackward, dtype, Some(product), edition);
        on(self.out_dtype).route.and(on(self.dtype).route)
    }
}

/// Applies the vendor's rules in their order, then ours. Behind it, where a window has positions, every coordinate in the
/// padded image fits `isize`; the strides of the window alone may be any positive `isize`.
///
/// # Errors
/// The first broken rule.
pub fn check(desc: &Desc<'_>, product: Option<Product>, edition: Edition) -> Result<Problem, ContractError> {
    let rules = Rules { operator: Operator::Im2colBackward, product, edition };
    let grad_output = Named::new(Tensor::GradOutput, &desc.grad_output);
    let out = Named::new(Tensor::Out, &desc.out);

    rules.takes_dtype_of(grad_output)?;
    rules.takes_dtype_of(out)?;
    grad_output.rank_within(2, 3)?;
    let out_rank = grad_output.rank().saturating_add(1);
    out.rank_within(out_rank, out_rank)?;
    let input_size: [i64; 2] = values(Attribute::InputSize, desc.input_size)?;
    let kernel: [i64; 2] = values(Attribute::KernelSize, desc.kernel_size)?;
    let dilation: [i64; 2] = values(Attribute::Dilation, desc.dilation)?;
    let padding: [i64; 2] = values(Attribute::Padding, desc.padding)?;
    let stride: [i64; 2] = values(Attribute::Stride, desc.stride)?;
    at_least(Attribute::KernelSize, &kernel, 1)?;
    at_least(Attribute::Stride, &stride, 1)?;
    at_least(Attribute::Dilation, &dilation, 1)?;
    at_least(Attribute::Padding, &padding, 0)?;

    // `grad_output` is [rows, columns] or [N, rows, columns]; `out` [C, H, W] or [N, C, H, W].
    let batch = grad_output.rank().saturating_sub(2);
    let (rows, columns) = (grad_output.dim(batch), grad_output.dim(batch + 1));
    let taps = positive(Attribute::KernelSize, kernel)?;
    let [kh, kw] = taps;
    // The larger of the two is to blame.
    let (index, [got_h, got_w]) = (usize::from(kw > kh), kernel);
    let too_large = ContractError::AttributeTooLarge { attribute: Attribute::KernelSize, index, got: got_h.max(got_w) };
    let window = kh.checked_mul(kw).ok_or(too_large)?;
    if rows % window != 0 {
        return Err(ContractError::Rows { dim: batch, got: rows, kernel: taps.map(NonZeroUsize::get) });
    }
    let ([h, w], [kh, kw], [dh, dw], [ph, pw], [sh, sw]) = (input_size, kernel, dilation, padding, stride);
    let lh = Axis { size: h, kernel: kh, dilation: dh, padding: ph, stride: sh }.windows(0)?;
    let lw = Axis { size: w, kernel: kw, dilation: dw, padding: pw, stride: sw }.windows(1)?;
    if lh.checked_mul(lw) != Some(columns) {
        return Err(ContractError::Columns { dim: batch + 1, got: columns, windows: [lh, lw] });
    }
    if batch == 1 {
        out.dim_equals(0, grad_output, 0)?;
    }
    out.dim_is(batch, rows / window, "rows of grad_output by taps of the kernel")?;
    for (index, size) in input_size.into_iter().enumerate() {
        out.dim_equals_value(batch + 1 + index, Attribute::InputSize, index, size)?;
    }

    for tensor in [grad_output, out] {
        tensor.addressable()?;
    }
    out.writable()?;

    let ([n, c, h, w], out_strides) = out.padded();
    let (_, [_, grad_output_strides @ ..]) = grad_output.padded();
    Ok(Problem(Geometry {
        dtype: desc.grad_output.dtype,
        out_dtype: desc.out.dtype,
        n,
        c,
        h,
        w,
        kernel: taps,
        dilation: positive(Attribute::Dilation, dilation)?,
        padding: each(Attribute::Padding, padding, |value| isize::try_from(value).ok().map(isize::unsigned_abs))?,
        stride: positive(Attribute::Stride, stride)?,
        columns: [lh, lw],
        grad_output_strides,
        out_strides,
    }))
}

/// Both values as another type; `convert` gives `None` for one that does not fit.
fn each<T>(
    attribute: Attribute,
    [height, width]: [i64; 2],
    convert: impl Fn(i64) -> Option<T>,
) -> Result<[T; 2], ContractError> {
    let one = |index, got| convert(got).ok_or(ContractError::AttributeTooLarge { attribute, index, got });
    Ok([one(0, height)?, one(1, width)?])
}

/// Values that are known to be positive.
fn positive(attribute: Attribute, values: [i64; 2]) -> Result<[NonZeroUsize; 2], ContractError> {
    each(attribute, values, |value| NonZeroUsize::new(isize::try_from(value).ok()?.unsigned_abs()))
}

/// The attributes along one axis: kernel, dilation and stride above 0, padding not below it.
struct Axis {
    size: i64,
    kernel: i64,
    dilation: i64,
    padding: i64,
    stride: i64,
}

impl Axis {
    /// Positions of the window along the axis: with E = size + 2 padding - dilation (kernel - 1) - 1 the quotient
    /// (E + stride) / stride, truncated toward 0 as in C. 0 is fine, also for a window that is a little too large;
    /// a negative number is not.
    fn windows(&self, axis: usize) -> Result<usize, ContractError> {
        let too_large = |attribute, got| ContractError::AttributeTooLarge { attribute, index: axis, got };
        let Self { size, kernel, dilation, padding, stride } = *self;
        let padded = padding.checked_mul(2).and_then(|both| both.checked_add(size));
        let Some(padded) = padded.filter(|&padded| isize::try_from(padded).is_ok()) else {
            let larger = if size > padding { (Attribute::InputSize, size) } else { (Attribute::Padding, padding) };
            return Err(too_large(larger.0, larger.1));
        };
        let reach = kernel.saturating_sub(1).checked_mul(dilation);
        let room = reach.and_then(|reach| padded.checked_sub(reach)?.checked_sub(1));
        let room = room.and_then(|room| isize::try_from(room).ok()).ok_or(too_large(Attribute::Dilation, dilation))?;
        // The same quotient in two forms, of which each cannot overflow where it is used. A stride beyond `isize` is larger than
        // all there is.
        let windows = match isize::try_from(stride) {
            Ok(stride) if room < 0 => room.saturating_add(stride).checked_div(stride).unwrap_or(0),
            Ok(stride) => room.checked_div(stride).unwrap_or(0).saturating_add(1),
            Err(_) => isize::from(room >= 0),
        };
        usize::try_from(windows).map_err(|_| ContractError::Windows { axis, got: windows as i64 })
    }
}
