//! What a caller describes Im2colBackward with, and what describes its plans.

use ubtile_tiling::im2col_backward::{Desc, Plan, Tile, check, plan};
use ubtile_tiling::{Edition, Phase, PlanOptions, Status, TargetSpec};

use crate::held::{self, Held};
use crate::operator::Operator;
use crate::stored::{Described, Digest, TENSOR_WORDS, Words, stored_bytes};
use crate::types::{Input, Output, Tensor, descs, of_contract, of_plan};

/// Bytes of a stored plan.
pub const UBTILE_IM2COL_BACKWARD_STORED_BYTES: usize = 448;
const _: () = assert!(UBTILE_IM2COL_BACKWARD_STORED_BYTES == stored_bytes(2 * TENSOR_WORDS + 10));

/// A plan. Opaque: filled by `ubtile_im2col_backward_plan` or `..._load`, may be copied.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Im2colTiling {
    /// Not to be touched.
    pub opaque: [usize; 128],
}

impl Held for Im2colTiling {
    type Value = Plan;
}
const _: () = held::fits::<Im2colTiling>();

impl Operator for Im2colTiling {
    type Desc = Im2colDesc;

    const STORED_BYTES: usize = UBTILE_IM2COL_BACKWARD_STORED_BYTES;

    fn make(desc: &Im2colDesc, target: &TargetSpec, options: &PlanOptions) -> Result<Plan, Status> {
        let problem = check(&desc.desc()?, None, Edition::Any).map_err(of_contract)?;
        plan(&problem, target, options).map_err(of_plan)
    }

    fn workspace_bytes(plan: &Plan) -> usize {
        plan.workspace_bytes()
    }

    fn phases(plan: &Plan) -> impl Iterator<Item = Phase> {
        plan.phases()
    }

    fn digest(plan: &Plan, digest: &mut Digest) {
        digest.plan(plan.phases(), plan.workspace(), plan.block_dim(), plan.tile_sizes());
    }
}

/// A problem: `out[n, c, y, x]` is the sum of `grad_output[n, (c * kh + i) * kw + j, a * Lw + b]` over all taps `(i, j)` and
/// windows `(a, b)` that lie there. Pairs are (height, width).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Im2colDesc {
    /// `[N, C * kh * kw, L]` or without N: f16, bf16, f32 or f64.
    pub grad_output: Tensor,
    /// `[N, C, H, W]` or without N: f16, bf16, f32 or f64.
    pub out: Tensor,
    /// `[H, W]`.
    pub input_size: [i64; 2],
    /// `[kh, kw]`.
    pub kernel_size: [i64; 2],
    /// `[dh, dw]`.
    pub dilation: [i64; 2],
    /// `[ph, pw]`.
    pub padding: [i64; 2],
    /// `[sh, sw]`.
    pub stride: [i64; 2],
}

impl Im2colDesc {
    fn desc(&self) -> Result<Desc<'_>, Status> {
        let [grad_output, out] = descs([&self.grad_output, &self.out])?;
        Ok(Desc {
            grad_output,
            out,
            input_size: &self.input_size,
            kernel_size: &self.kernel_size,
            dilation: &self.dilation,
            padding: &self.padding,
            stride: &self.stride,
        })
    }
}

impl Described for Im2colDesc {
    const OPERATOR: u64 = 3;

    fn visit(&mut self, words: &mut impl Words) -> Result<(), Status> {
        words.tensor(&mut self.grad_output)?;
        words.tensor(&mut self.out)?;
        let Self { input_size, kernel_size, dilation, padding, stride, .. } = self;
        for pair in [input_size, kernel_size, dilation, padding, stride] {
            pair.iter_mut().try_for_each(|value| words.signed(value))?;
        }
        Ok(())
    }
}

/// The memory of a run: whole tensors.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Im2colBuffers {
    /// As described.
    pub grad_output: Input,
    /// As described.
    pub out: Output,
    /// As many bytes as the plan says, from any address: none unless `grad_output` has far strides and the target caches.
    pub workspace: Output,
}

/// A tile: a box of one plane of `out` and the windows that reach it. Pairs are the first and one past the last.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Im2colTile {
    /// The plane, `n * C + c`.
    pub plane: usize,
    /// Rows of the box.
    pub rows: [usize; 2],
    /// Columns of the box.
    pub columns: [usize; 2],
    /// Kernel rows.
    pub kernel_rows: [usize; 2],
    /// Kernel columns.
    pub kernel_columns: [usize; 2],
    /// Rows and columns of windows in the box of each tap.
    pub windows: [usize; 2],
    /// Whether the box of sums goes on from the tile before.
    pub accumulates: bool,
    /// Whether `out` is complete behind it.
    pub last: bool,
    /// Whether sums need a box of their own, of dtype f64 where `grad_output` is f64 and of f32 else; otherwise they are made in `out`.
    pub sums_apart: bool,
    /// Elements of the box of `grad_output`: `[kernel rows, kernel columns, window rows, window columns]`.
    pub input_cells: usize,
    /// Elements of the box of `out`, and of that of the sums: `[rows, columns]`.
    pub cells: usize,
}

impl Im2colTile {
    pub(super) fn of(plan: &Plan, tile: &Tile) -> Self {
        let [kernel_rows, kernel_columns] = tile.taps;
        Self {
            plane: tile.plane,
            rows: tile.rows,
            columns: tile.columns,
            kernel_rows,
            kernel_columns,
            windows: tile.windows,
            accumulates: tile.accumulates,
            last: tile.last,
            sums_apart: plan.sums().1,
            input_cells: tile.input_cells(),
            cells: tile.cells(),
        }
    }
}

/// The boxes of a tile, without gaps.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Im2colBoxes {
    /// `[kernel rows, kernel columns, window rows, window columns]`; windows that do not exist hold anything finite or not: they
    /// are not read.
    pub grad_output: Input,
    /// `[rows, columns]`, complete where `last` is set. Without a box of sums it holds them and stays while tiles accumulate.
    pub out: Output,
    /// `[rows, columns]`, stays while tiles accumulate; empty where `sums_apart` is not set.
    pub sums: Output,
}
