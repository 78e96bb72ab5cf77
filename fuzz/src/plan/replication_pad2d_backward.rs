//! Plans of ReplicationPad2dBackward: every source read once, every cell written once.

use ubtile_tiling::replication_pad2d_backward::{Problem, plan};
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

    let planes = problem.n * problem.c;
    let mut read = Cells::new([planes, problem.padded_h, problem.padded_w]);
    let mut written = Cells::new([planes, problem.h, problem.w]);
    disjoint((0..plan.block_dim()).map(|share| plan.share_range(0, share)));
    for share in 0..plan.block_dim() {
        let range = plan.share_range(0, share);
        let mut unfinished = None;
        for tile in plan.tiles(0, share) {
            assert!(tile.local_bytes() <= plan.target().local_bytes, "{tile:?}");
            let cells = [tile.planes, tile.rows, tile.columns];
            assert_eq!(tile.accumulates.then_some(cells), unfinished, "{tile:?} is not the next part");
            unfinished = (!tile.last).then_some(cells);
            read.meet([tile.planes, tile.source_rows, tile.source_columns]);
            if !tile.last {
                continue;
            }
            for position @ [plane, row, column] in written.positions(cells) {
                *written.count(position) += 1;
                let index = [plane / problem.c, plane % problem.c, row, column];
                let offset: usize = index.iter().zip(problem.grad_input_strides).map(|(i, stride)| i * stride).sum();
                assert!(range.contains(&offset), "{tile:?} writes beyond its share {range:?}");
            }
        }
        assert_eq!(unfinished, None, "share {share} ends within a sum");
    }
    read.all(1, "was read");
    written.all(1, "was written");
    assert_eq!(plan.tiles(0, plan.block_dim()).count(), 0, "tiles of a share that is not");
}
