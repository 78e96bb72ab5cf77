//! The rows of windows that a row of cells is the sum of, and those to ask for meanwhile.

use ubtile_tiling::im2col_backward::Geometry;

use super::kernel_rows::KernelRows;
use super::{NEAR, PLANE, TAPS, windows_of_plane};

/// Bytes of windows that are asked for ahead, at least.
const AHEAD: usize = 2048;
/// Taps that need no asking.
const FEW: usize = 4;
/// Bytes of all that is read and written up to which a last cache has most of it, so that to ask for rows takes longer than to wait.
/// Halves, which take longer to widen than to ask for, are asked for beyond [`NEAR`].
const FAR: usize = 2 * NEAR;

/// The kernel rows that reach some rows of cells whose numbers leave one rest when they are divided by the stride. Places are counted
/// from the first window of the row of windows that has the number of a row of cells among these.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Above {
    /// The rows of cells, counted by themselves.
    from: usize,
    to: usize,
    /// Where each kernel row finds its first window.
    rows: [usize; TAPS],
    /// Where the rows of windows are that will be needed a while later, if they are to be asked for.
    later: [usize; TAPS],
    count: usize,
    /// The first and the last place in `rows`.
    ends: [isize; 2],
}

/// What to ask for ahead of its use, as windows come from as many places as there are taps: with each term the one that will be needed
/// in its stead a plane later, where a plane fits the level-2 cache, else some rows later. Few long streams the processor finds by
/// itself, and what its last cache holds in any order.
#[derive(Clone, Copy, Debug)]
pub(super) enum Ahead {
    Nothing,
    Plane { distance: usize },
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
            return Self::Plane { distance: plane };
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
    /// Finds those of row `m` of the rest, and of its neighbours that the same kernel rows reach; nothing where it has found them before.
    #[inline(always)]
    pub(super) fn find(&mut self, kernel_rows: &KernelRows, ahead: Ahead, m: usize) {
        if !(self.from..self.to).contains(&m) {
            self.find_others(kernel_rows, ahead, m);
        }
    }

    /// By itself, as it is for all types and levels.
    #[inline(never)]
    fn find_others(&mut self, kernel_rows: &KernelRows, ahead: Ahead, m: usize) {
        (self.from, self.to) = (0, usize::MAX);
        (self.count, self.ends) = (0, [isize::MAX, isize::MIN]);
        for row in kernel_rows.rows() {
            if !self.is_beyond(row.from, m) || self.is_beyond(row.to, m) {
                continue;
            }
            let distance = match ahead {
                Ahead::Rows { rows, distance, wrap } if self.is_beyond(row.to.saturating_sub(rows), m) => {
                    distance.wrapping_add(wrap)
                }
                Ahead::Plane { distance } | Ahead::Rows { distance, .. } => distance,
                Ahead::Nothing => 0,
            };
            let (Some(at), Some(later)) = (self.rows.get_mut(self.count), self.later.get_mut(self.count)) else {
                break;
            };
            (*at, *later) = (row.at, row.at.wrapping_add(distance));
            self.ends = [self.ends[0].min(row.at.cast_signed()), self.ends[1].max(row.at.cast_signed())];
            self.count = self.count.wrapping_add(1);
        }
    }

    /// Whether row `m` is `first` or behind it; the rows that this is not so of are none of these.
    fn is_beyond(&mut self, first: usize, m: usize) -> bool {
        let is_beyond = m >= first;
        if is_beyond {
            self.from = self.from.max(first);
        } else {
            self.to = self.to.min(first);
        }
        is_beyond
    }

    pub(super) fn rows(&self) -> &[usize] {
        self.rows.get(..self.count).unwrap_or(&[])
    }

    /// Where the windows are that are asked for with each vector of cells.
    pub(super) fn later(&self, ahead: Ahead) -> &[usize] {
        let count = if matches!(ahead, Ahead::Nothing) { 0 } else { self.count };
        self.later.get(..count).unwrap_or(&[])
    }

    /// Whether data of a length have all that vectors read of these rows, from `from` to `to` counted from a place, where places are
    /// counted from `start`.
    #[inline(always)]
    pub(super) fn reads_within(&self, start: usize, [from, to]: [isize; 2], length: usize) -> bool {
        let place = |end: isize, beyond: isize| start.checked_add_signed(end.wrapping_add(beyond));
        let [first, last] = self.ends;
        place(first, from).is_some() && place(last, to).is_some_and(|end| end <= length)
    }
}
