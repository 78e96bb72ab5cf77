//! GridSampler2DBackward in C.

use ubtile_capi::grid_sampler_2d_backward::{
    GridSamplerBoxes, GridSamplerBuffers, GridSamplerDesc, GridSamplerTile, GridSamplerTiling,
    UBTILE_GRID_SAMPLER_2D_BACKWARD_STORED_BYTES, ubtile_grid_sampler_2d_backward_load,
    ubtile_grid_sampler_2d_backward_phases, ubtile_grid_sampler_2d_backward_plan, ubtile_grid_sampler_2d_backward_run,
    ubtile_grid_sampler_2d_backward_run_share, ubtile_grid_sampler_2d_backward_run_tile,
    ubtile_grid_sampler_2d_backward_shares, ubtile_grid_sampler_2d_backward_store,
    ubtile_grid_sampler_2d_backward_tile, ubtile_grid_sampler_2d_backward_tiles,
};
use ubtile_capi::{Input, Level, Output};
use ubtile_testkit::{Description, Inputs};
use ubtile_tiling::grid_sampler_2d_backward::{Plan, Tile};
use ubtile_tiling::{Tensor, TilingPlan};

use super::tiles::TileApi;
use super::{Api, Outputs, tensor};
use crate::run::grid_sampler_2d_backward as run;

/// Its functions.
pub const API: Api<GridSamplerDesc, GridSamplerTiling, GridSamplerBuffers> = Api {
    plan: ubtile_grid_sampler_2d_backward_plan,
    store: ubtile_grid_sampler_2d_backward_store,
    load: ubtile_grid_sampler_2d_backward_load,
    phases: ubtile_grid_sampler_2d_backward_phases,
    shares: ubtile_grid_sampler_2d_backward_shares,
    tiles: ubtile_grid_sampler_2d_backward_tiles,
    by_tiles,
    run: ubtile_grid_sampler_2d_backward_run,
    run_share: ubtile_grid_sampler_2d_backward_run_share,
    stored_bytes: UBTILE_GRID_SAMPLER_2D_BACKWARD_STORED_BYTES,
    desc,
    no_desc: GridSamplerDesc::default,
    no_plan: || GridSamplerTiling { opaque: [0; _] },
    tensors: &[Tensor::GradOutput, Tensor::Input, Tensor::Grid, Tensor::InputGrad, Tensor::GridGrad],
    buffers,
};

/// Its functions for tiles.
const TILES: TileApi<GridSamplerTiling, GridSamplerTile, GridSamplerBoxes> = TileApi {
    tile: ubtile_grid_sampler_2d_backward_tile,
    run_tile: ubtile_grid_sampler_2d_backward_run_tile,
    boxes: |inputs, outputs| GridSamplerBoxes {
        grad_output: inputs[0],
        input: inputs[1],
        grid: inputs[2],
        input_grad: outputs[0],
        input_grad_sums: outputs[1],
        grid_grad: outputs[2],
        totals: outputs[3],
    },
};

fn desc(description: &Description) -> Option<GridSamplerDesc> {
    let mask: [bool; 2] = description.output_mask.as_slice().try_into().ok()?;
    Some(GridSamplerDesc {
        grad_output: tensor(description.tensor(Tensor::GradOutput)),
        input: tensor(description.tensor(Tensor::Input)),
        grid: tensor(description.tensor(Tensor::Grid)),
        input_grad: tensor(description.tensor(Tensor::InputGrad)),
        grid_grad: tensor(description.tensor(Tensor::GridGrad)),
        interpolation: *description.attributes[0].first()?,
        padding_mode: *description.attributes[1].first()?,
        align_corners: description.align_corners,
        output_mask: mask,
    })
}

fn buffers(inputs: &[Input], outputs: &[Output], workspace: Output) -> GridSamplerBuffers {
    GridSamplerBuffers {
        grad_output: inputs[0],
        input: inputs[1],
        grid: inputs[2],
        input_grad: outputs[0],
        grid_grad: outputs[1],
        workspace,
    }
}

fn by_tiles(
    tiling: &GridSamplerTiling,
    plan: &TilingPlan,
    inputs: &Inputs,
    level: Option<&Level>,
) -> Result<Outputs, i32> {
    let (TilingPlan::GridSampler2dBackward(plan), Inputs::GridSampler2dBackward(tensors)) = (plan, inputs) else {
        panic!("another operator's")
    };
    let names = [Tensor::InputGrad, Tensor::GridGrad];
    let mut outputs = names.map(|tensor| run::gradient(plan.problem(), tensor));
    run::by_tiles(plan, tensors, &mut outputs, |at, tile, boxes| {
        TILES.says(tiling, at, &info(plan, tile));
        TILES.run(tiling, level, at, boxes)
    })?;
    Ok(names.into_iter().zip(outputs).collect())
}

fn info(plan: &Plan, tile: &Tile) -> GridSamplerTile {
    let Tile { image, channels, points, rows, makes_grid_grad, first_points, last_points, .. } = *tile;
    let sums_apart = plan.sums_apart();
    GridSamplerTile { image, channels, points, rows, makes_grid_grad, first_points, last_points, sums_apart }
}
