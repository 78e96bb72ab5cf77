//! Plans of MaxUnpool2dBackward: every element meets every slice of its plane, once and in order.

use ubtile_tiling::max_unpool2d_backward::{Problem, plan};
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
    if !small {
        for share in 0..plan.block_dim() {
            for tile in plan.tiles(0, share).take(MOST_TILES) {
                assert!(tile.local_bytes() <= plan.target().local_bytes, "{tile:?}");
            }
        }
        return;
    }

    let cells = problem.out_h * problem.out_w;
    // How many cells of its plane each element has met.
    let mut met = Cells::new([1, problem.n * problem.c, problem.h * problem.w]);
    let mut written = Cells::new([1, problem.n * problem.c, problem.h * problem.w]);
    disjoint((0..plan.block_dim()).map(|share| plan.share_range(0, share)));
    for share in 0..plan.block_dim() {
        let range = plan.share_range(0, share);
        for tile in plan.tiles(0, share) {
            assert!(tile.local_bytes() <= plan.target().local_bytes, "{tile:?}");
            let [first, end] = tile.cells;
            assert!(first < end && end <= cells, "{tile:?} of {cells} cells");
            assert_eq!((tile.accumulates, tile.last), (first > 0, end == cells), "{tile:?}");
            for position @ [_, plane, element] in met.positions([[0, 1], [tile.plane, tile.plane + 1], tile.elements]) {
                let done = met.count(position);
                assert_eq!(*done, first, "{tile:?} meets {position:?} out of order");
                *done = end;
                *written.count(position) += usize::from(tile.last);
                let index = [plane / problem.c, plane % problem.c, element / problem.w, element % problem.w];
                let offset: usize = index.iter().zip(problem.out_strides).map(|(i, stride)| i * stride).sum();
                assert!(range.contains(&offset), "{tile:?} writes beyond its share {range:?}");
            }
        }
    }
    met.all(cells, "met cells");
    written.all(1, "was written");
    assert_eq!(plan.tiles(0, plan.block_dim()).count(), 0, "tiles of a share that is not");
}
