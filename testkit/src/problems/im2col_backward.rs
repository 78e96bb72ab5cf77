//! Problems of Im2colBackward.

use ubtile_tiling::im2col_backward::{Desc, Plan, Problem, Tile, check};
use ubtile_tiling::{ContractError, Dtype, Edition, Product, Tensor, TensorDesc};

use super::Layout;
use crate::data::Data;
use crate::generate::{Fill, desc_of, fill};
use crate::number::encode;
use crate::rng::Rng;

/// A problem; pairs are (height, width).
#[derive(Clone, Copy, Debug)]
pub struct Im2col {
    /// Element type of `grad_output`.
    pub dtype: Dtype,
    /// Element type of `out`.
    pub out_dtype: Dtype,
    /// Images.
    pub n: usize,
    /// Channels.
    pub c: usize,
    /// Height of an image.
    pub h: usize,
    /// Width of an image.
    pub w: usize,
    /// Size of the window.
    pub kernel: [usize; 2],
    /// Distance between its taps.
    pub dilation: [usize; 2],
    /// Zeros around the image.
    pub padding: [usize; 2],
    /// Distance between its positions.
    pub stride: [usize; 2],
    /// Layout of `grad_output`.
    pub inputs: Layout,
    /// Layout of `out`.
    pub outputs: Layout,
}

impl Default for Im2col {
    fn default() -> Self {
        Self {
            dtype: Dtype::F32,
            out_dtype: Dtype::F32,
            n: 2,
            c: 3,
            h: 5,
            w: 6,
            kernel: [2, 2],
            dilation: [1, 1],
            padding: [0, 0],
            stride: [1, 1],
            inputs: Layout::Contiguous,
            outputs: Layout::Contiguous,
        }
    }
}

/// What a caller says, see [`Desc`].
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the fields are those of `Desc`")]
pub struct Im2colDesc {
    pub grad_output: TensorDesc,
    pub input_size: Vec<i64>,
    pub kernel_size: Vec<i64>,
    pub dilation: Vec<i64>,
    pub padding: Vec<i64>,
    pub stride: Vec<i64>,
    pub out: TensorDesc,
}

impl Im2col {
    /// Positions of the window along an axis; 0 where it does not fit.
    #[must_use]
    pub fn columns(&self, axis: usize) -> usize {
        let padded = [self.h, self.w][axis] + 2 * self.padding[axis];
        let reach = self.dilation[axis] * (self.kernel[axis] - 1) + 1;
        if padded < reach { 0 } else { (padded - reach) / self.stride[axis] + 1 }
    }

    /// What a caller would say.
    #[must_use]
    pub fn desc(&self) -> Im2colDesc {
        let list = |pair: [usize; 2]| pair.map(|v| v as i64).to_vec();
        let rows = self.c * self.kernel[0] * self.kernel[1];
        Im2colDesc {
            grad_output: self.inputs.desc(self.dtype, &[self.n, rows, self.columns(0) * self.columns(1)]),
            input_size: list([self.h, self.w]),
            kernel_size: list(self.kernel),
            dilation: list(self.dilation),
            padding: list(self.padding),
            stride: list(self.stride),
            out: self.outputs.desc(self.out_dtype, &[self.n, self.c, self.h, self.w]),
        }
    }

    /// The problem for the host.
    ///
    /// # Panics
    /// If the contract refuses it.
    #[must_use]
    pub fn problem(&self) -> Problem {
        self.desc().check(None, Edition::Any).unwrap_or_else(|error| panic!("{self:?}: {error}"))
    }
}

impl Im2colDesc {
    /// Applies the contract.
    ///
    /// # Errors
    /// The first broken rule.
    pub fn check(&self, product: Option<Product>, edition: Edition) -> Result<Problem, ContractError> {
        let desc = Desc {
            grad_output: self.grad_output,
            input_size: &self.input_size,
            kernel_size: &self.kernel_size,
            dilation: &self.dilation,
            padding: &self.padding,
            stride: &self.stride,
            out: self.out,
        };
        check(&desc, product, edition)
    }
}

/// A random `grad_output`.
#[must_use]
pub fn im2col_inputs(problem: &Problem, values: Fill, rng: &mut Rng) -> Data {
    fill(desc_of(problem.slot(Tensor::GradOutput)), values, rng)
}

/// What a device copies for a tile: the windows of each of its taps, one after the other. NaN where a window lies in the padding,
/// which nothing may read.
///
/// # Panics
/// If the tile is of another plan, or `grad_output` of another problem.
#[must_use]
pub fn im2col_tile_input(plan: &Plan, tile: &Tile, grad_output: &Data) -> Data {
    let p = plan.problem();
    let ([[i0, i1], [j0, j1]], [rows, columns]) = (tile.taps, tile.windows);
    let [kh, kw] = p.kernel.map(usize::from);
    let [lh, lw] = p.columns.map(|l| l as isize);
    let mut cells = Vec::new();
    for (i, j) in (i0..i1).flat_map(|i| (j0..j1).map(move |j| (i, j))) {
        let [a0, b0] = plan.first_window(tile, [i, j]);
        for (r, s) in (0..rows as isize).flat_map(|r| (0..columns as isize).map(move |s| (r, s))) {
            let (a, b) = (a0 + r, b0 + s);
            let row = (tile.plane % p.c * kh + i) * kw + j;
            let index = [tile.plane / p.c, row, (a * lw + b) as usize];
            let at = || index.iter().zip(p.grad_output_strides).map(|(i, stride)| i * stride).sum();
            let inside = (0..lh).contains(&a) && (0..lw).contains(&b);
            cells.push(if inside { grad_output.bits(at()) } else { encode(p.dtype, f64::NAN) });
        }
    }
    assert_eq!(cells.len(), tile.input_cells(), "the plan's box of a tile is another");
    Data::from_bits_fn(Layout::Contiguous.desc(p.dtype, &[cells.len()]), |i| cells[i])
}
