//! Im2colBackward.

use super::*;

/// Shares, and tiles on boxes that hold what the description of the tile says, put together what the run makes.
#[test]
fn im2col_by_shares_and_by_tiles_gives_the_bits_of_the_run() {
    let desc = im2col::Im2colDesc {
        grad_output: tensor(UBTILE_F32, &[1, 3 * 4, 8 * 8]),
        out: tensor(UBTILE_F32, &[1, 3, 9, 9]),
        input_size: [9, 9],
        kernel_size: [2, 2],
        dilation: [1, 1],
        padding: [0, 0],
        stride: [1, 1],
    };
    let (target, options) = (target(c"cortex-m4"), Options { workspace_limit: 0, local_bytes: 400 });
    let mut tiling = im2col::Im2colTiling { opaque: [0; _] };
    let grad_output = numbers(12 * 64, 4);
    let (mut whole, mut shared, mut tiled) = (vec![0f32; 243], vec![9f32; 243], vec![0f32; 243]);
    // SAFETY: all pointers are to what they say.
    unsafe {
        assert_eq!(
            im2col::ubtile_im2col_backward_plan(&desc, &target, &options, &mut tiling, null_mut()),
            UBTILE_SUCCESS
        );
        let buffers =
            im2col::Im2colBuffers { grad_output: input(&grad_output), out: output(&mut whole), workspace: NONE };
        assert_eq!(im2col::ubtile_im2col_backward_run(&tiling, null(), &buffers), UBTILE_SUCCESS);
        let buffers = im2col::Im2colBuffers { out: output(&mut shared), ..buffers };
        every_share(
            im2col::ubtile_im2col_backward_phases(&tiling),
            |phase| im2col::ubtile_im2col_backward_shares(&tiling, phase),
            |phase, share| im2col::ubtile_im2col_backward_run_share(&tiling, null(), phase, share, &buffers),
        );
        let tiles = im2col::ubtile_im2col_backward_tiles(&tiling, 0, 0);
        assert!(tiles > 3, "{tiles} tiles");
        let mut box_out = Vec::new();
        for index in 0..tiles {
            let mut tile = im2col::Im2colTile::default();
            assert_eq!(im2col::ubtile_im2col_backward_tile(&tiling, 0, 0, index, &mut tile), UBTILE_SUCCESS);
            assert!(!tile.sums_apart);
            let mut cells = vec![f32::NAN; tile.input_cells];
            let ([i0, i1], [j0, j1]) = (tile.kernel_rows, tile.kernel_columns);
            let mut at = 0;
            for (i, j) in (i0..i1).flat_map(|i| (j0..j1).map(move |j| (i, j))) {
                let mut first = [0i64; 2];
                let find = |tap: *const usize, first: *mut i64| {
                    im2col::ubtile_im2col_backward_first_window(&tiling, 0, 0, index, tap, first)
                };
                assert_eq!(find([i, j].as_ptr(), first.as_mut_ptr()), UBTILE_SUCCESS);
                assert_eq!(find(null(), first.as_mut_ptr()), UBTILE_ERROR_PARAM_NULLPTR);
                assert_eq!(find([i, j].as_ptr(), null_mut()), UBTILE_ERROR_PARAM_NULLPTR);
                assert_eq!(find([i1, j].as_ptr(), first.as_mut_ptr()), UBTILE_ERROR_PARAM_INVALID);
                // With stride 1 the window of tap (i, j) that reaches cell (y, x) is (y - i, x - j).
                assert_eq!(first, [tile.rows[0] as i64 - i as i64, tile.columns[0] as i64 - j as i64]);
                for (r, c) in (0..tile.windows[0]).flat_map(|r| (0..tile.windows[1]).map(move |c| (r, c))) {
                    let (row, column) = (first[0] + r as i64, first[1] + c as i64);
                    if (0..8).contains(&row) && (0..8).contains(&column) {
                        let window = (row * 8 + column) as usize;
                        cells[at] = grad_output[(tile.plane * 4 + i * 2 + j) * 64 + window];
                    }
                    at += 1;
                }
            }
            if !tile.accumulates {
                box_out = vec![7f32; tile.cells];
            }
            let boxes = im2col::Im2colBoxes { grad_output: input(&cells), out: output(&mut box_out), sums: NONE };
            assert_eq!(im2col::ubtile_im2col_backward_run_tile(&tiling, null(), 0, 0, index, &boxes), UBTILE_SUCCESS);
            if tile.last {
                let width = tile.columns[1] - tile.columns[0];
                for (k, &value) in box_out.iter().enumerate() {
                    tiled[tile.plane * 81 + (tile.rows[0] + k / width) * 9 + tile.columns[0] + k % width] = value;
                }
            }
        }
        let mut none = im2col::Im2colTile::default();
        assert_eq!(im2col::ubtile_im2col_backward_tile(&tiling, 0, 0, tiles, &mut none), UBTILE_ERROR_PARAM_INVALID);
    }
    assert_eq!(whole, shared);
    assert_eq!(whole, tiled);
}
