//! The rows of windows that a row of cells is the sum of, and those to ask for meanwhile.

use ubtile_tiling::im2col_backward::Geometry;

use super::kernel_rows::KernelRows;
use super::{NEAR, PLANE, TAPS, windows_of_plane};

/// Bytes of windows that are asked for ahead, at least.
const AHEAD: usize = 1024;
/// Taps that need no asking.
const FEW: usize = 4;
/// Bytes of all that is read and written up to which a last cache has most of it, so that to ask for it row by row takes longer
/// than to wait. Halves, which are asked for in passing, are asked for beyond [`NEAR`].
const FAR: usize = 2 * NEAR;

/// The kernel rows that reach a row of cells.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Above {
    /// Where each finds its first window.
    rows: [usize; TAPS],
    /// Where the rows of windows are that will be needed a while later, if they are to be asked for.
    later: [usize; TAPS],
    count: usize,
    /// The first and the last place in `rows`.
    ends: [usize; 2],
}

/// What to ask for ahead of its use, as windows come from as many places as there are taps. Where a plane fits the level-2 cache it
/// is a part of the next plane with each row, else the windows that will be needed some rows later. Few long streams the processor
/// finds by itself, and what its last cache holds in any order.
#[derive(Clone, Copy, Debug)]
pub(super) enum Ahead {
    Nothing,
    Plane { distance: usize, part: usize },
    Rows { rows: usize, distance: usize, wrap: usize },
}

impl Ahead {
    /// For elements of that size; all that is read and written takes so many bytes.
    pub(super) fn new(geometry: &Geometry, size: usize, bytes: usize) -> Self {
        if bytes <= NEAR {
            return Self::Nothing;
        }
        let [lh, lw] = geometry.columns;
        let taps = geometry.kernel[0].get().wrapping_mul(geometry.kernel[1].get());
        let plane = windows_of_plane(geometry);
        if plane.saturating_mul(size) <= PLANE {
            return Self::Plane { distance: plane, part: plane.checked_div(geometry.h).unwrap_or(0).wrapping_add(1) };
        }
        if taps <= FEW || size > 2 && bytes <= FAR {
            return Self::Nothing;
        }
        let rows = AHEAD.checked_div(lw.wrapping_mul(size)).unwrap_or(0).wrapping_add(1).min(lh);
        let distance = rows.wrapping_mul(lw);
        // From a row of windows behind the last one to the row of the next plane.
        Self::Rows { rows, distance, wrap: plane.wrapping_sub(lh.wrapping_mul(lw)) }
    }
}

impl Above {
    /// Finds those of row `m` of its rest, in a plane whose windows begin at `start`. In place: moved, it would wait for its stores.
    #[inline(always)]
    pub(super) fn find(&mut self, kernel_rows: &KernelRows, g: &Geometry, ahead: Ahead, start: usize, m: usize) {
        (self.count, self.ends) = (0, [usize::MAX / 2, 0]);
        let start = start.wrapping_add(m.wrapping_mul(g.columns[1]));
        for row in kernel_rows.rows() {
            if !(row.from..row.to).contains(&m) {
                continue;
            }
            let (Some(at), Some(later)) = (self.rows.get_mut(self.count), self.later.get_mut(self.count)) else {
                break;
            };
            *at = start.wrapping_add(row.at);
            if let Ahead::Rows { rows, distance, wrap } = ahead {
                let wrap = if m.wrapping_add(rows) < row.to { 0 } else { wrap };
                *later = at.wrapping_add(distance).wrapping_add(wrap);
            }
            self.ends = [self.ends[0].min(*at), self.ends[1].max(*at)];
            self.count = self.count.wrapping_add(1);
        }
    }

    pub(super) fn rows(&self) -> &[usize] {
        self.rows.get(..self.count).unwrap_or(&[])
    }

    /// Where the windows are that are asked for with each vector of cells.
    pub(super) fn later(&self, ahead: Ahead) -> &[usize] {
        let count = if matches!(ahead, Ahead::Rows { .. }) { self.count } else { 0 };
        self.later.get(..count).unwrap_or(&[])
    }

    /// Whether all that vectors read of these rows is in data of a length.
    #[inline(always)]
    pub(super) fn within(&self, [from, to]: [isize; 2], length: usize) -> bool {
        let [first, last] = self.ends;
        first.checked_add_signed(from).is_some() && last.checked_add_signed(to).is_some_and(|end| end <= length)
    }
}
