//! What a caller describes MaxUnpool2dBackward with, and what describes its plans.

use ubtile_tiling::max_unpool2d_backward::{Desc, Plan, Tile, check, plan};
use ubtile_tiling::{Edition, Phase, PlanOptions, Status, TargetSpec};

use crate::held::{self, Held};
use crate::operator::Operator;
use crate::stored::{Described, Digest, TENSOR_WORDS, Words, stored_bytes};
use crate::types::{Input, Output, Tensor, descs, of_contract, of_plan};

/// Bytes of a stored plan.
pub const UBTILE_MAX_UNPOOL2D_BACKWARD_STORED_BYTES: usize = 672;
const _: () = assert!(UBTILE_MAX_UNPOOL2D_BACKWARD_STORED_BYTES == stored_bytes(4 * TENSOR_WORDS + 2));

/// A plan. Opaque: filled by `ubtile_max_unpool2d_backward_plan` or `..._load`, may be copied.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct MaxUnpoolTiling {
    /// Not to be touched.
    pub opaque: [usize; 128],
}

impl Held for MaxUnpoolTiling {
    type Value = Plan;
}
const _: () = held::fits::<MaxUnpoolTiling>();

impl Operator for MaxUnpoolTiling {
    type Desc = MaxUnpoolDesc;

    const STORED_BYTES: usize = UBTILE_MAX_UNPOOL2D_BACKWARD_STORED_BYTES;

    fn make(desc: &MaxUnpoolDesc, target: &TargetSpec, options: &PlanOptions) -> Result<Plan, Status> {
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

/// A problem: `out[n, c, i] = grad_output[n, c, indices[n, c, i]]`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct MaxUnpoolDesc {
    /// `[N, C, oH, oW]` or without N: any dtype but the complex ones.
    pub grad_output: Tensor,
    /// The forward pass' input, `[N, C, H, W]` or without N. Only described, there is no buffer.
    pub self_tensor: Tensor,
    /// Of `self`'s shape: flat positions in the plane `[oH, oW]`, i32 or i64.
    pub indices: Tensor,
    /// Of `self`'s shape; its dtype may differ where the contract casts.
    pub out: Tensor,
    /// `[oH, oW]`.
    pub output_size: [i64; 2],
}

impl MaxUnpoolDesc {
    fn desc(&self) -> Result<Desc<'_>, Status> {
        let [grad_output, self_tensor, indices, out] =
            descs([&self.grad_output, &self.self_tensor, &self.indices, &self.out])?;
        Ok(Desc { grad_output, self_tensor, indices, out, output_size: &self.output_size })
    }
}

impl Described for MaxUnpoolDesc {
    const OPERATOR: u64 = 1;

    fn visit(&mut self, words: &mut impl Words) -> Result<(), Status> {
        words.tensor(&mut self.grad_output)?;
        words.tensor(&mut self.self_tensor)?;
        words.tensor(&mut self.indices)?;
        words.tensor(&mut self.out)?;
        self.output_size.iter_mut().try_for_each(|value| words.signed(value))
    }
}

/// The memory of a run: whole tensors.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct MaxUnpoolBuffers {
    /// As described.
    pub grad_output: Input,
    /// As described.
    pub indices: Input,
    /// As described.
    pub out: Output,
    /// As many bytes as the plan says, from any address: none unless inputs have far strides and the target caches. Not looked
    /// at of a tile.
    pub workspace: Output,
}

/// A tile: a run of one plane's elements and a slice of the cells that they may point to. Pairs are the first and one past the
/// last.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct MaxUnpoolTile {
    /// The plane, `n * C + c`.
    pub plane: usize,
    /// Elements of `indices` and `out`, in the plane's `H * W`.
    pub elements: [usize; 2],
    /// Cells of `grad_output`, in the plane's `oH * oW`.
    pub cells: [usize; 2],
    /// Whether the tile before made the same elements from an earlier slice.
    pub accumulates: bool,
    /// Whether the elements are complete behind it.
    pub last: bool,
}

impl MaxUnpoolTile {
    pub(super) fn of(_: &Plan, tile: &Tile) -> Self {
        let Tile { plane, elements, cells, accumulates, last, .. } = *tile;
        Self { plane, elements, cells, accumulates, last }
    }
}
