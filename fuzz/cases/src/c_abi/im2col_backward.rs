//! Im2colBackward in C.

use ubtile_capi::im2col_backward::{
    Im2colBoxes, Im2colBuffers, Im2colDesc, Im2colTile, Im2colTiling, UBTILE_IM2COL_BACKWARD_STORED_BYTES,
    ubtile_im2col_backward_first_window, ubtile_im2col_backward_load, ubtile_im2col_backward_phases,
    ubtile_im2col_backward_plan, ubtile_im2col_backward_run, ubtile_im2col_backward_run_share,
    ubtile_im2col_backward_run_tile, ubtile_im2col_backward_shares, ubtile_im2col_backward_store,
    ubtile_im2col_backward_tile, ubtile_im2col_backward_tiles,
};
use ubtile_capi::{Input, Level, Output, UBTILE_SUCCESS};
use ubtile_testkit::{Description, Inputs, problems};
use ubtile_tiling::im2col_backward::{Plan, Tile};
use ubtile_tiling::{Tensor, TilingPlan};

use super::tiles::TileApi;
use super::{Api, Outputs, tensor};
use crate::run::At;
use crate::run::im2col_backward as run;

/// Its functions.
pub const API: Api<Im2colDesc, Im2colTiling, Im2colBuffers> = Api {
    plan: ubtile_im2col_backward_plan,
    store: ubtile_im2col_backward_store,
    load: ubtile_im2col_backward_load,
    phases: ubtile_im2col_backward_phases,
    shares: ubtile_im2col_backward_shares,
    tiles: ubtile_im2col_backward_tiles,
    by_tiles,
    run: ubtile_im2col_backward_run,
    run_share: ubtile_im2col_backward_run_share,
    stored_bytes: UBTILE_IM2COL_BACKWARD_STORED_BYTES,
    desc,
    no_desc: Im2colDesc::default,
    no_plan: || Im2colTiling { opaque: [0; _] },
    tensors: &[Tensor::GradOutput, Tensor::Out],
    buffers,
};

/// Its functions for tiles.
const TILES: TileApi<Im2colTiling, Im2colTile, Im2colBoxes> = TileApi {
    tile: ubtile_im2col_backward_tile,
    run_tile: ubtile_im2col_backward_run_tile,
    boxes: |inputs, outputs| Im2colBoxes { grad_output: inputs[0], out: outputs[0], sums: outputs[1] },
};

fn desc(description: &Description) -> Option<Im2colDesc> {
    let pair = |i: usize| description.attributes[i].as_slice().try_into().ok();
    Some(Im2colDesc {
        grad_output: tensor(description.tensor(Tensor::GradOutput)),
        out: tensor(description.tensor(Tensor::Out)),
        input_size: pair(0)?,
        kernel_size: pair(1)?,
        dilation: pair(2)?,
        padding: pair(3)?,
        stride: pair(4)?,
    })
}

fn buffers(inputs: &[Input], outputs: &[Output], workspace: Output) -> Im2colBuffers {
    Im2colBuffers { grad_output: inputs[0], out: outputs[0], workspace }
}

fn by_tiles(tiling: &Im2colTiling, plan: &TilingPlan, inputs: &Inputs, level: Option<&Level>) -> Result<Outputs, i32> {
    let (TilingPlan::Im2colBackward(plan), Inputs::Im2colBackward(grad_output)) = (plan, inputs) else {
        panic!("another operator's")
    };
    let mut out = problems::output(plan.problem().slot(Tensor::Out));
    run::by_tiles(plan, grad_output, &mut out, |at, tile, boxes| {
        TILES.says(tiling, at, &info(plan, tile));
        first_windows(tiling, plan, at, tile);
        TILES.run(tiling, level, at, boxes)
    })?;
    Ok(vec![(Tensor::Out, out)])
}

fn info(plan: &Plan, tile: &Tile) -> Im2colTile {
    let [kernel_rows, kernel_columns] = tile.taps;
    let Tile { plane, rows, columns, windows, accumulates, last, .. } = *tile;
    let (sums_apart, input_cells, cells) = (plan.sums().1, tile.input_cells(), tile.cells());
    #[rustfmt::skip]
    let info = Im2colTile {
        plane, rows, columns, kernel_rows, kernel_columns, windows, accumulates, last, sums_apart, input_cells, cells,
    };
    info
}

/// Each tap's first window is that of Rust, a tap of another tile has none.
fn first_windows(tiling: &Im2colTiling, plan: &Plan, at: At, tile: &Tile) {
    let find = |tap: [usize; 2]| {
        let mut first = [0; 2];
        let [phase, share, number] = at;
        // SAFETY: references are to what they say.
        let status = unsafe {
            ubtile_im2col_backward_first_window(tiling, phase, share, number, tap.as_ptr(), first.as_mut_ptr())
        };
        (status == UBTILE_SUCCESS).then_some(first)
    };
    let [[i0, i1], [j0, j1]] = tile.taps;
    for tap in (i0..i1).flat_map(|i| (j0..j1).map(move |j| [i, j])) {
        assert_eq!(find(tap), Some(plan.first_window(tile, tap).map(|window| window as i64)));
    }
    assert_eq!(find([i1, j0]), None);
}
