//! What a caller describes ReplicationPad2dBackward with, and what describes its plans.

use ubtile_tiling::replication_pad2d_backward::{Desc, Plan, Tile, check, plan};
use ubtile_tiling::{Edition, Phase, PlanOptions, Status, TargetSpec};

use crate::held::{self, Held};
use crate::operator::Operator;
use crate::stored::{Described, Digest, TENSOR_WORDS, Words, stored_bytes};
use crate::types::{Input, Output, Tensor, descs, of_contract, of_plan};

/// Bytes of a stored plan.
pub const UBTILE_REPLICATION_PAD2D_BACKWARD_STORED_BYTES: usize = 544;
const _: () = assert!(UBTILE_REPLICATION_PAD2D_BACKWARD_STORED_BYTES == stored_bytes(3 * TENSOR_WORDS + 4));

/// A plan. Opaque: filled by `ubtile_replication_pad2d_backward_plan` or `..._load`, may be copied.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ReplicationPadTiling {
    /// Not to be touched.
    pub opaque: [usize; 128],
}

impl Held for ReplicationPadTiling {
    type Value = Plan;
}
const _: () = held::fits::<ReplicationPadTiling>();

impl Operator for ReplicationPadTiling {
    type Desc = ReplicationPadDesc;

    const STORED_BYTES: usize = UBTILE_REPLICATION_PAD2D_BACKWARD_STORED_BYTES;

    fn make(desc: &ReplicationPadDesc, target: &TargetSpec, options: &PlanOptions) -> Result<Plan, Status> {
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

/// A problem: `grad_input[n, c, h, w]` is the sum of `grad_output[n, c, i, j]` over all `(i, j)` that replication padding copied
/// from `(h, w)`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct ReplicationPadDesc {
    /// `[N, C, H + top + bottom, W + left + right]` or without N: f16, bf16, f32, f64, c64 or c128.
    pub grad_output: Tensor,
    /// The forward pass' input, `[N, C, H, W]` or without N. Only described, there is no buffer.
    pub self_tensor: Tensor,
    /// Of `self`'s shape and dtype.
    pub grad_input: Tensor,
    /// `[left, right, top, bottom]`, negative where the forward pass cropped.
    pub padding: [i64; 4],
}

impl ReplicationPadDesc {
    fn desc(&self) -> Result<Desc<'_>, Status> {
        let [grad_output, self_tensor, grad_input] = descs([&self.grad_output, &self.self_tensor, &self.grad_input])?;
        Ok(Desc { grad_output, self_tensor, grad_input, padding: &self.padding })
    }
}

impl Described for ReplicationPadDesc {
    const OPERATOR: u64 = 2;

    fn visit(&mut self, words: &mut impl Words) -> Result<(), Status> {
        words.tensor(&mut self.grad_output)?;
        words.tensor(&mut self.self_tensor)?;
        words.tensor(&mut self.grad_input)?;
        self.padding.iter_mut().try_for_each(|value| words.signed(value))
    }
}

/// The memory of a run: whole tensors.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ReplicationPadBuffers {
    /// As described.
    pub grad_output: Input,
    /// As described.
    pub grad_input: Output,
    /// As many bytes as the plan says, from any address: none unless `grad_output` has far strides and the target caches.
    pub workspace: Output,
}

/// A tile: a box of `grad_input` and what folds into it. Pairs are the first and one past the last.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct ReplicationPadTile {
    /// Planes, `n * C + c`; several planes are whole ones.
    pub planes: [usize; 2],
    /// Rows of the box.
    pub rows: [usize; 2],
    /// Columns of the box.
    pub columns: [usize; 2],
    /// Rows of `grad_output`.
    pub source_rows: [usize; 2],
    /// Columns of `grad_output`.
    pub source_columns: [usize; 2],
    /// Whether the sums go on from the tile before.
    pub accumulates: bool,
    /// Whether the box is complete behind it, and written.
    pub last: bool,
    /// Elements of the box of `grad_output`: `[planes, source rows, source columns]`.
    pub input_cells: usize,
    /// Elements of the box of `grad_input`: `[planes, rows, columns]`.
    pub cells: usize,
    /// Elements that the sums take: f32, for f64 f64, for complex ones the dtype itself.
    pub sums: usize,
}

impl ReplicationPadTile {
    pub(super) fn of(_: &Plan, tile: &Tile) -> Self {
        Self {
            planes: tile.planes,
            rows: tile.rows,
            columns: tile.columns,
            source_rows: tile.source_rows,
            source_columns: tile.source_columns,
            accumulates: tile.accumulates,
            last: tile.last,
            input_cells: tile.input_cells(),
            cells: tile.cells(),
            sums: tile.sums(),
        }
    }
}

/// The boxes of a tile, without gaps.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ReplicationPadBoxes {
    /// `[planes, source rows, source columns]`.
    pub grad_output: Input,
    /// `[planes, rows, columns]`, written where `last` is set.
    pub grad_input: Output,
    /// The tile's `sums` elements, stay from a tile to the next; empty where that is 0.
    pub sums: Output,
}
