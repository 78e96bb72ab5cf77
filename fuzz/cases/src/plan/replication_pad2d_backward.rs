//! Plans of ReplicationPad2dBackward: every source read once, every cell written once.

use ubtile_tiling::replication_pad2d_backward::Plan;

use super::{Cells, offset};

/// Checks every tile.
pub(super) fn check(plan: &Plan) {
    let problem = plan.problem();
    let planes = problem.n * problem.c;
    let mut read = Cells::new([planes, problem.padded_h, problem.padded_w]);
    let mut written = Cells::new([planes, problem.h, problem.w]);
    // Behind the copy, where there is one.
    let phase = plan.phases().count() - 1;
    for share in 0..plan.block_dim() {
        let range = plan.share_range(phase, share);
        let mut unfinished = None;
        for tile in plan.tiles(phase, share) {
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
                assert!(
                    range.contains(&offset(index, problem.grad_input_strides)),
                    "{tile:?} writes beyond its share {range:?}"
                );
            }
        }
        assert_eq!(unfinished, None, "share {share} ends within a sum");
    }
    read.all(1, "was read");
    written.all(1, "was written");
}
