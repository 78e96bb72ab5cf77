//! ReplicationPad2dBackward in C.

use ubtile_capi::replication_pad2d_backward::{
    ReplicationPadBoxes, ReplicationPadBuffers, ReplicationPadDesc, ReplicationPadTile, ReplicationPadTiling,
    UBTILE_REPLICATION_PAD2D_BACKWARD_STORED_BYTES, ubtile_replication_pad2d_backward_load,
    ubtile_replication_pad2d_backward_phases, ubtile_replication_pad2d_backward_plan,
    ubtile_replication_pad2d_backward_run, ubtile_replication_pad2d_backward_run_share,
    ubtile_replication_pad2d_backward_run_tile, ubtile_replication_pad2d_backward_shares,
    ubtile_replication_pad2d_backward_store, ubtile_replication_pad2d_backward_tile,
    ubtile_replication_pad2d_backward_tiles,
};
use ubtile_capi::{Input, Level, Output};
use ubtile_testkit::{Description, Inputs, problems};
use ubtile_tiling::replication_pad2d_backward::Tile;
use ubtile_tiling::{Tensor, TilingPlan};

use super::tiles::TileApi;
use super::{Api, Outputs, tensor};
use crate::run::replication_pad2d_backward as run;

/// Its functions.
pub const API: Api<ReplicationPadDesc, ReplicationPadTiling, ReplicationPadBuffers> = Api {
    plan: ubtile_replication_pad2d_backward_plan,
    store: ubtile_replication_pad2d_backward_store,
    load: ubtile_replication_pad2d_backward_load,
    phases: ubtile_replication_pad2d_backward_phases,
    shares: ubtile_replication_pad2d_backward_shares,
    tiles: ubtile_replication_pad2d_backward_tiles,
    by_tiles,
    run: ubtile_replication_pad2d_backward_run,
    run_share: ubtile_replication_pad2d_backward_run_share,
    stored_bytes: UBTILE_REPLICATION_PAD2D_BACKWARD_STORED_BYTES,
    desc,
    no_desc: ReplicationPadDesc::default,
    no_plan: || ReplicationPadTiling { opaque: [0; _] },
    tensors: &[Tensor::GradOutput, Tensor::GradInput],
    buffers,
};

/// Its functions for tiles.
const TILES: TileApi<ReplicationPadTiling, ReplicationPadTile, ReplicationPadBoxes> = TileApi {
    tile: ubtile_replication_pad2d_backward_tile,
    run_tile: ubtile_replication_pad2d_backward_run_tile,
    boxes: |inputs, outputs| ReplicationPadBoxes { grad_output: inputs[0], grad_input: outputs[0], sums: outputs[1] },
};

fn desc(description: &Description) -> Option<ReplicationPadDesc> {
    Some(ReplicationPadDesc {
        grad_output: tensor(description.tensor(Tensor::GradOutput)),
        self_tensor: tensor(description.tensor(Tensor::SelfTensor)),
        grad_input: tensor(description.tensor(Tensor::GradInput)),
        padding: description.attributes[0].as_slice().try_into().ok()?,
    })
}

fn buffers(inputs: &[Input], outputs: &[Output], workspace: Output) -> ReplicationPadBuffers {
    ReplicationPadBuffers { grad_output: inputs[0], grad_input: outputs[0], workspace }
}

fn by_tiles(
    tiling: &ReplicationPadTiling,
    plan: &TilingPlan,
    inputs: &Inputs,
    level: Option<&Level>,
) -> Result<Outputs, i32> {
    let (TilingPlan::ReplicationPad2dBackward(plan), Inputs::ReplicationPad2dBackward(grad_output)) = (plan, inputs)
    else {
        panic!("another operator's")
    };
    let mut grad_input = problems::output(plan.problem().slot(Tensor::GradInput));
    run::by_tiles(plan, grad_output, &mut grad_input, |at, tile, boxes| {
        TILES.says(tiling, at, &info(tile));
        TILES.run(tiling, level, at, boxes)
    })?;
    Ok(vec![(Tensor::GradInput, grad_input)])
}

fn info(tile: &Tile) -> ReplicationPadTile {
    let Tile { planes, rows, columns, source_rows, source_columns, accumulates, last, .. } = *tile;
    let (input_cells, cells, sums) = (tile.input_cells(), tile.cells(), tile.sums());
    #[rustfmt::skip]
    let info = ReplicationPadTile {
        planes, rows, columns, source_rows, source_columns, accumulates, last, input_cells, cells, sums,
    };
    info
}
