//! Plans of Im2colBackward: every tap of every cell, once and in order.

use ubtile_tiling::im2col_backward::Plan;

use super::{Cells, offset};

/// Checks every tile.
pub(super) fn check(plan: &Plan) {
    let problem = plan.problem();
    let ([kh, kw], [sh, sw]) = (problem.kernel.map(usize::from), problem.stride.map(usize::from));
    let taps = if problem.early_success().is_some() { 0 } else { kh * kw };
    let [n, c, h, w] = [problem.n, problem.c, problem.h, problem.w];
    // How many taps each cell has added.
    let mut added = Cells::new([n * c, h, w]);
    let mut written = Cells::new([n * c, h, w]);
    // Behind the copy, where there is one.
    let phase = plan.phases().count() - 1;
    for share in 0..plan.block_dim() {
        let range = plan.share_range(phase, share);
        for tile in plan.tiles(phase, share) {
            let ([i0, i1], [j0, j1]) = (tile.taps[0], tile.taps[1]);
            let whole_rows = j0 == 0 && j1 == kw;
            assert!(whole_rows || i1 - i0 == 1 || taps == 0, "{tile:?} adds its taps out of order");
            if taps > 0 {
                let windows = [(tile.rows, sh), (tile.columns, sw)].map(|([start, end], s)| (end - start).div_ceil(s));
                assert_eq!(tile.windows, windows, "{tile:?}");
            }
            let first = i0 * kw + j0;
            assert_eq!(tile.accumulates, first > 0, "{tile:?}");
            let count = (i1 - i0) * (j1 - j0);
            assert!(count > 0 || taps == 0, "{tile:?} adds nothing");
            assert_eq!(tile.last, first + count == taps, "{tile:?}");
            let cells = [[tile.plane, tile.plane + 1], tile.rows, tile.columns];
            for position @ [plane, row, column] in added.positions(cells) {
                let done = added.count(position);
                assert_eq!(*done, first, "{tile:?} adds to {position:?} out of order");
                *done += count;
                *written.count(position) += usize::from(tile.last);
                let index = [plane / c, plane % c, row, column];
                assert!(
                    range.contains(&offset(index, problem.out_strides)),
                    "{tile:?} writes beyond its share {range:?}"
                );
            }
        }
    }
    added.all(taps, "added taps");
    written.all(1, "was written");
}
