//! Plans of MaxUnpool2dBackward: every element meets every slice of its plane, once and in order.

use ubtile_tiling::max_unpool2d_backward::Plan;

use super::{Cells, offset};

/// Checks every tile.
pub(super) fn check(plan: &Plan) {
    let problem = plan.problem();
    let cells = problem.out_h * problem.out_w;
    // How many cells of its plane each element has met.
    let mut met = Cells::new([1, problem.n * problem.c, problem.h * problem.w]);
    let mut written = Cells::new([1, problem.n * problem.c, problem.h * problem.w]);
    // Behind the copies, where there are some.
    let phase = plan.phases().count() - 1;
    for share in 0..plan.block_dim() {
        let range = plan.share_range(phase, share);
        for tile in plan.tiles(phase, share) {
            let [first, end] = tile.cells;
            assert!(first < end && end <= cells, "{tile:?} of {cells} cells");
            assert_eq!((tile.accumulates, tile.last), (first > 0, end == cells), "{tile:?}");
            for position @ [_, plane, element] in met.positions([[0, 1], [tile.plane, tile.plane + 1], tile.elements]) {
                let done = met.count(position);
                assert_eq!(*done, first, "{tile:?} meets {position:?} out of order");
                *done = end;
                *written.count(position) += usize::from(tile.last);
                let index = [plane / problem.c, plane % problem.c, element / problem.w, element % problem.w];
                assert!(
                    range.contains(&offset(index, problem.out_strides)),
                    "{tile:?} writes beyond its share {range:?}"
                );
            }
        }
    }
    met.all(cells, "met cells");
    written.all(1, "was written");
}
