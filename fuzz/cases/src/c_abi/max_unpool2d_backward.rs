//! MaxUnpool2dBackward in C.

use std::ptr::null_mut;

use ubtile_capi::max_unpool2d_backward::{
    MaxUnpoolBuffers, MaxUnpoolDesc, MaxUnpoolTile, MaxUnpoolTiling, UBTILE_MAX_UNPOOL2D_BACKWARD_STORED_BYTES,
    ubtile_max_unpool2d_backward_load, ubtile_max_unpool2d_backward_phases, ubtile_max_unpool2d_backward_plan,
    ubtile_max_unpool2d_backward_run, ubtile_max_unpool2d_backward_run_share, ubtile_max_unpool2d_backward_run_tile,
    ubtile_max_unpool2d_backward_shares, ubtile_max_unpool2d_backward_store, ubtile_max_unpool2d_backward_tile,
    ubtile_max_unpool2d_backward_tiles,
};
use ubtile_capi::{Input, Level, Output};
use ubtile_testkit::{Description, Inputs, problems};
use ubtile_tiling::max_unpool2d_backward::Tile;
use ubtile_tiling::{Tensor, TilingPlan};

use super::tiles::TileApi;
use super::{Api, Outputs, output, tensor};
use crate::run::max_unpool2d_backward as run;

/// Its functions.
pub const API: Api<MaxUnpoolDesc, MaxUnpoolTiling, MaxUnpoolBuffers> = Api {
    plan: ubtile_max_unpool2d_backward_plan,
    store: ubtile_max_unpool2d_backward_store,
    load: ubtile_max_unpool2d_backward_load,
    phases: ubtile_max_unpool2d_backward_phases,
    shares: ubtile_max_unpool2d_backward_shares,
    tiles: ubtile_max_unpool2d_backward_tiles,
    by_tiles,
    run: ubtile_max_unpool2d_backward_run,
    run_share: ubtile_max_unpool2d_backward_run_share,
    stored_bytes: UBTILE_MAX_UNPOOL2D_BACKWARD_STORED_BYTES,
    desc,
    no_desc: MaxUnpoolDesc::default,
    no_plan: || MaxUnpoolTiling { opaque: [0; _] },
    tensors: &[Tensor::GradOutput, Tensor::Indices, Tensor::Out],
    buffers,
};

/// Its functions for tiles.
const TILES: TileApi<MaxUnpoolTiling, MaxUnpoolTile, MaxUnpoolBuffers> = TileApi {
    tile: ubtile_max_unpool2d_backward_tile,
    run_tile: ubtile_max_unpool2d_backward_run_tile,
    boxes: |inputs, outputs| buffers(inputs, outputs, output(null_mut(), 0)),
};

fn desc(description: &Description) -> Option<MaxUnpoolDesc> {
    Some(MaxUnpoolDesc {
        grad_output: tensor(description.tensor(Tensor::GradOutput)),
        self_tensor: tensor(description.tensor(Tensor::SelfTensor)),
        indices: tensor(description.tensor(Tensor::Indices)),
        out: tensor(description.tensor(Tensor::Out)),
        output_size: description.attributes[0].as_slice().try_into().ok()?,
    })
}

fn buffers(inputs: &[Input], outputs: &[Output], workspace: Output) -> MaxUnpoolBuffers {
    MaxUnpoolBuffers { grad_output: inputs[0], indices: inputs[1], out: outputs[0], workspace }
}

fn by_tiles(
    tiling: &MaxUnpoolTiling,
    plan: &TilingPlan,
    inputs: &Inputs,
    level: Option<&Level>,
) -> Result<Outputs, i32> {
    let (TilingPlan::MaxUnpool2dBackward(plan), Inputs::MaxUnpool2dBackward(tensors)) = (plan, inputs) else {
        panic!("another operator's")
    };
    let mut out = problems::output(plan.problem().slot(Tensor::Out));
    run::by_tiles(plan, tensors, &mut out, |at, tile, boxes| {
        let Tile { plane, elements, cells, accumulates, last, .. } = *tile;
        TILES.says(tiling, at, &MaxUnpoolTile { plane, elements, cells, accumulates, last });
        TILES.run(tiling, level, at, boxes)
    })?;
    Ok(vec![(Tensor::Out, out)])
}
