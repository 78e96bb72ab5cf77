use super::*;
use crate::im2col_backward::{Desc, check};
use crate::{Edition, TensorDesc};

/// 8 x 20 cells, a kernel of 3 x 5 with padding 1 and 2, stride 1; blocks of 32 bytes.
fn planned(local_bytes: usize) -> Result<Plan, PlanError> {
    let desc = Desc {
        grad_output: TensorDesc::contiguous(Dtype::F16, &[2 * 15, 160]).unwrap(),
        input_size: &[8, 20],
        kernel_size: &[3, 5],
        dilation: &[1, 1],
        padding: &[1, 2],
        stride: &[1, 1],
        out: TensorDesc::contiguous(Dtype::F16, &[2, 8, 20]).unwrap(),
    };
    let problem = check(&desc, None, Edition::Any).unwrap();
    let target = TargetSpec { block_bytes: 32, ..TargetSpec::host(1) };
    plan(&problem, &target, &PlanOptions { local_bytes: Some(local_bytes), ..Default::default() })
}

#[test]
fn tiles_shrink_in_rows_then_columns_then_taps() {
    // A row of 20 f16 takes 2 blocks of 32 bytes: 15 taps and the output row 16 * 64.
    let expected = [
        (8 * 1024, [8, 20, 3, 5]),
        (8 * 1024 - 1, [7, 20, 3, 5]),
        (1024, [1, 20, 3, 5]),
        (1023, [1, 16, 3, 5]),
        (512, [1, 16, 3, 5]),
        // Cut kernels keep sums in f32: 8 of them take a block.
        (511, [1, 16, 2, 5]),
        (447, [1, 16, 2, 5]),
        (383, [1, 16, 1, 5]),
        (223, [1, 8, 1, 4]),
        (127, [1, 8, 1, 1]),
        (96, [1, 8, 1, 1]),
    ];
    for (local_bytes, [rows, columns, ti, tj]) in expected {
        let size = planned(local_bytes).unwrap().size;
        assert_eq!(size, Size { rows, columns, taps: [ti, tj] }, "{local_bytes}");
    }
    assert_eq!(planned(95), Err(PlanError::LocalBytes { got: 95, want: 96 }));
}

#[test]
fn parts_of_a_kernel_follow_one_another_in_the_order_of_the_sums() {
    let plan = planned(128).unwrap();
    let mut added = None;
    for tile in plan.tiles(0, 0) {
        let [[i, i_end], [j, j_end]] = tile.taps;
        assert!(i_end == i + 1 && tile.local_bytes() <= 128);
        assert_eq!((tile.accumulates, tile.last), ((i, j) > (0, 0), (i_end, j_end) == (3, 5)));
        if tile.accumulates {
            // Onto the same cells, right behind the part before.
            let next = |(plane, rows, columns, i, j): (usize, _, _, usize, usize)| {
                (plane, rows, columns, i + usize::from(j == 5), j % 5)
            };
            assert_eq!(added.map(next), Some((tile.plane, tile.rows, tile.columns, i, j)));
        }
        added = Some((tile.plane, tile.rows, tile.columns, i, j_end));
    }
    assert_eq!(added, Some((1, [7, 8], [16, 20], 2, 5)));
}

#[test]
fn first_windows_are_ceilings() {
    let stride = NonZeroUsize::new(3).unwrap();
    let one = NonZeroUsize::MIN;
    for (at, tap, window) in [(0, 0, 1), (2, 0, 1), (3, 0, 2), (0, 1, 0), (0, 2, 0), (0, 3, 0), (0, 4, -1), (5, 9, -1)]
    {
        assert_eq!(first_at_or_behind(at, 1, tap, one, stride), window, "{at} {tap}");
    }
}
