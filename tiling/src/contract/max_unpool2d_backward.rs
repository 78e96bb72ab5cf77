//! Contract of MaxUnpool2dBackward.

use core::ops::Deref;

use super::rules::{Named, Rules, values};
use super::slot::{EarlySuccess, TensorSlot};
use crate::support::{Limit, Measure, Route, support};
use crate::{Attribute, ContractError, Dtype, Edition, Operator, Product, Tensor, TensorDesc, can_cast};

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

impl Problem {
    /// Whether a kernel goes from pixel to pixel, all channels of one at a time, as the channels of both inputs lie side by side.
    /// Pixels are one long row in all tensors, and no element is converted.
    #[must_use]
    pub fn by_pixels(&self) -> bool {
        let one_row = |[_, _, row, pixel]: [usize; 4], width: usize| row == pixel.saturating_mul(width);
        let beside = |strides: [usize; 4], width| strides[1] == 1 && one_row(strides, width);
        let inputs = beside(self.grad_output_strides, self.out_w) && beside(self.indices_strides, self.w);
        self.c > 1 && self.dtype == self.out_dtype && inputs && one_row(self.out_strides, self.w)
    }

    /// The same problem with a `grad_output` and `indices` without gaps, where they are to have none.
    pub(crate) fn without_gaps(&self, grad_output: bool, indices: bool) -> Self {
        let strides = |[height, width]: [usize; 2]| {
            let plane = height.saturating_mul(width);
            [self.c.saturating_mul(plane), plane, width, 1]
        };
        let mut geometry = self.0;
        if grad_output {
            geometry.grad_output_strides = strides([self.out_h, self.out_w]);
        }
        if indices {
            geometry.indices_strides = strides([self.h, self.w]);
        }
        Self(geometry)
    }

    /// A tensor that this problem reads or writes. `self` is none of them.
    #[must_use]
    pub fn slot(&self, tensor: Tensor) -> Option<TensorSlot> {
        let pooled = &[self.n, self.c, self.h, self.w];
        let unpooled = &[self.n, self.c, self.out_h, self.out_w];
        let (output, dtype, shape, strides) = match tensor {
            Tensor::GradOutput => (false, self.dtype, unpooled, &self.grad_output_strides),
            Tensor::Indices => (false, self.index_dtype, pooled, &self.indices_strides),
            Tensor::Out => (true, self.out_dtype, pooled, &self.out_strides),
            _ => return None,
        };
        TensorSlot::new(tensor, output, dtype, shape, strides)
    }

    /// All of them, inputs first.
    pub fn tensors(&self) -> impl Iterator<Item = TensorSlot> + '_ {
        [Tensor::GradOutput, Tensor::Indices, Tensor::Out].into_iter().filter_map(|tensor| self.slot(tensor))
    }

    /// Why there is nothing to compute, if so. Otherwise `grad_output` has elements too.
    #[must_use]
    pub const fn early_success(&self) -> Option<EarlySuccess> {
        let Geometry { n, c, h, w, .. } = self.0;
        if n == 0 || c == 0 || h == 0 || w == 0 { Some(EarlySuccess::Empty(Tensor::SelfTensor)) } else { None }
    }

    /// Where the vendor runs it; `None` where it does not.
    #[must_use]
    pub fn vendor_route(&self, product: Product, edition: Edition) -> Option<Route> {
        let on = |dtype| support(Operator::MaxUnpool2dBackward, dtype, Some(product), edition);
        on(self.out_dtype).route?;
        on(self.dtype).route_where(|limit| match limit {
            Limit::GatherRow(bytes) => self.gathers_on_ai_core(bytes, product),
            _ => true,
        })
    }

    /// The vendor's rule for its gather before 950, without a case for sliced rows whose bounds are not published.
    fn gathers_on_ai_core(&self, local_bytes: usize, product: Product) -> bool {
        let [source, plane, any @ ..] = self.gather_measures(local_bytes, product);
        let keeps = |m: &Measure| m.used <= m.limit;
        keeps(&source) && keeps(&plane) && any.iter().any(keeps)
    }

    /// What decides whether the vendor's gather before 950 runs on the AI Core: the first two limits must be kept, and one of
    /// the others.
    #[must_use]
    pub fn gather_measures(&self, local_bytes: usize, product: Product) -> [Measure; 5] {
        let element = self.dtype.size();
        let (plane, pooled) = (self.out_h.saturating_mul(self.out_w), self.h.saturating_mul(self.w));
        let planes = self.n.saturating_mul(self.c);
        let bytes = planes.saturating_mul(plane).saturating_mul(element);
        // A2 and A3 gather F16 with vectors of byte offsets, which take the indices' room once more.
        let vector_gather = self.dtype == Dtype::F16 && product != Product::AtlasTraining;
        let index = self.index_dtype.size() * if vector_gather { 2 } else { 1 };
        let (row, out_row) = (plane.saturating_mul(element), pooled.saturating_mul(element));
        // As many rows at once as end on a block of 32 bytes.
        let rows = 32usize >> (row | out_row).trailing_zeros().min(5);
        let tile = row.saturating_add(out_row).saturating_add(pooled.saturating_mul(index)).saturating_mul(rows);
        [
            Measure { name: "bytes of grad_output", used: bytes, limit: 0x7fff_ffff },
            Measure { name: "elements of a plane", used: plane, limit: 1 << 30 },
            Measure { name: "bytes of a gather's rows", used: tile, limit: local_bytes.saturating_sub(2049) },
            Measure { name: "bytes of a small grad_output", used: bytes, limit: 3000 * 1024 },
            Measure { name: "number of few indices", used: planes.saturating_mul(pooled), limit: 2000 },
        ]
    }
}

/// Applies the vendor's rules in their order, then ours. The values of `indices` are checked where they are read.
///
/// # Errors
/// The first broken rule.
pub fn check(desc: &Desc<'_>, product: Option<Product>, edition: Edition) -> Result<Problem, ContractError> {
    let rules = Rules { operator: Operator::MaxUnpool2dBackward, product, edition };
    let grad_output = Named::new(Tensor::GradOutput, &desc.grad_output);
    let self_tensor = Named::new(Tensor::SelfTensor, &desc.self_tensor);
    let indices = Named::new(Tensor::Indices, &desc.indices);
    let out = Named::new(Tensor::Out, &desc.out);

    for tensor in [grad_output, self_tensor, out] {
        rules.takes_dtype_of(tensor)?;
    }
    // BOOL came with the edition that F64 went with.
    rules.takes_dtypes_together(grad_output, out)?;
    let (from, to) = (desc.grad_output.dtype, desc.out.dtype);
    if !can_cast(from, to) {
        return Err(ContractError::Cast { from, to });
    }
    grad_output.dtype_equals(self_tensor)?;
    if !matches!(desc.indices.dtype, Dtype::I32 | Dtype::I64) {
        return Err(ContractError::IndexDtype { got: desc.indices.dtype });
    }
    self_tensor.rank_within(3, 4)?;
    grad_output.rank_equals(self_tensor)?;
    // The plane is the last two dimensions; N and C, or C alone, come before.
    let plane = self_tensor.rank().saturating_sub(2);
    for dim in 0..plane {
        grad_output.dim_equals(dim, self_tensor, dim)?;
    }
    indices.shape_equals(self_tensor)?;
    out.shape_equals(self_tensor)?;
    let output_size: [i64; 2] = values(Attribute::OutputSize, desc.output_size)?;
    for (index, size) in output_size.into_iter().enumerate() {
        grad_output.dim_equals_value(plane + index, Attribute::OutputSize, index, size)?;
    }
    if !desc.self_tensor.is_empty() {
        grad_output.dim_not_zero(plane)?;
        grad_output.dim_not_zero(plane + 1)?;
    }

    for tensor in [grad_output, self_tensor, indices, out] {
        tensor.addressable()?;
    }
    out.writable()?;

    let ([n, c, h, w], out_strides) = out.padded();
    let ([_, _, out_h, out_w], grad_output_strides) = grad_output.padded();
    Ok(Problem(Geometry {
        dtype: desc.grad_output.dtype,
        out_dtype: desc.out.dtype,
        index_dtype: desc.indices.dtype,
        n,
        c,
        h,
        w,
        out_h,
        out_w,
        grad_output_strides,
        indices_strides: indices.padded().1,
        out_strides,
    }))
}
