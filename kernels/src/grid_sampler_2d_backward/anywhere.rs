//! Whether points lie anywhere in an image. In a large one each then waits for lines of its own, from the image and from its gradient, of
//! which a cache holds one, but not both: to go through the points twice takes less long. And a pixel's channels
//! had better be one piece.

use super::cells::CHUNK;
use super::sources::Sources;
use super::stored::Stored;
use crate::simd::Real;

/// Runs of points that are looked at.
const RUNS: usize = 8;
/// Points of an image that take much longer than to look at those.
const MANY: usize = 16 * RUNS * CHUNK;
/// Columns and rows from a point to the next that are far.
const FAR: [usize; 2] = [16, 4];

/// Whether so many planes of an image are large, and most of its points are [far apart](are_far_apart).
pub(super) fn lie_anywhere<T: Stored>(sources: &Sources<'_, T>, n: usize, planes: usize) -> bool {
    let most = sources.level.habits().goes_once / size_of::<T::Acc>();
    sources.plan.pixels().saturating_mul(planes) > most && are_far_apart(sources, n)
}

/// Whether an image has many points, most of which lie near the one before.
pub(super) fn lie_as_pixels<T: Stored>(sources: &Sources<'_, T>, n: usize) -> bool {
    sources.plan.points() >= MANY && !are_far_apart(sources, n)
}

/// Whether most points of an image lie far from the one before. A sample is enough, as no answer depends on it.
fn are_far_apart<T: Stored>(sources: &Sources<'_, T>, n: usize) -> bool {
    let (grid, points) = (sources.grid(n), sources.plan.points());
    let (mut far, mut pairs) = (0_usize, 0_usize);
    for first in (0..RUNS).map(|run| (points / RUNS).wrapping_mul(run)) {
        let count = points.wrapping_sub(first).min(CHUNK);
        let cells = sources.axes().cells(sources.level, &grid, first, count);
        let steps = |cell: [T::Acc; 2]| cell[0].to_isize().abs_diff(cell[1].to_isize());
        for (&x, &y) in cells.x.cell.as_chunks().0.iter().zip(cells.y.cell.as_chunks().0).take(count / 2) {
            far = far.wrapping_add(usize::from(steps(x) > FAR[0] || steps(y) > FAR[1]));
            pairs = pairs.wrapping_add(1);
        }
    }
    far > pairs / 2
}
