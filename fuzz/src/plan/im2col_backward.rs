//! Plans of Im2colBackward: every tap of every cell, once and in order.

use ubtile_tiling::im2col_backward::{Problem, plan};
use ubtile_tiling::{PlanOptions, TargetSpec};

use super::{Cells, Common, MOST_TILES, disjoint, planned};

/// Checks the plan of a problem; `small` if all of its tiles can be looked at.
pub fn check(problem: &Problem, target: &TargetSpec, options: &PlanOptions, small: bool) {
    let Some(plan) = planned(|target, options| plan(problem, target, options), target, options) else { return };
    let common = Common {
        target: plan.target(),
        block_dim: plan.block_dim(),
        phases: plan.phases().collect(),
        workspace: plan.workspace(),
        workspace_bytes: plan.workspace_bytes(),
    };
    common.check(target, options);
    let (_, _) = (plan.choices().count(), plan.prices().count());
    let ([kh, kw], [sh, sw]) = (problem.kernel.map(usize::from), problem.stride.map(usize::from));
    let taps = if problem.early_success().is_some() { 0 } else { kh.saturating_mul(kw) };
    if !small {
        for share in 0..plan.block_dim() {
            for tile in plan.tiles(0, share).take(MOST_TILES) {
                assert!(tile.local_bytes() <= plan.target().local_bytes, "{tile:?}");
            }
        }
        return;
    }

    let [n, c, h, w] = [problem.n, problem.c, problem.h, problem.w];
    // How many taps each cell has added.
    let mut added = Cells::new([n * c, h, w]);
    let mut written = Cells::new([n * c, h, w]);
    disjoint((0..plan.block_dim()).map(|share| plan.share_range(0, share)));
    for share in 0..plan.block_dim() {
        let range = plan.share_range(0, share);
        for tile in plan.tiles(0, share) {
            assert!(tile.local_bytes() <= plan.target().local_bytes, "{tile:?}");
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
                let offset: usize = index.iter().zip(problem.out_strides).map(|(i, stride)| i * stride).sum();
                assert!(range.contains(&offset), "{tile:?} writes beyond its share {range:?}");
            }
        }
    }
    added.all(taps, "added taps");
    written.all(1, "was written");
    assert_eq!(plan.tiles(0, plan.block_dim()).count(), 0, "tiles of a share that is not");
}
