//! The kernel rows that reach some rows of cells.

use ubtile_tiling::im2col_backward::Geometry;

use super::super::TAPS;
use super::super::kernel_rows::KernelRows;

/// Some rows of a plane of one rest, and the kernel rows that reach them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Block {
    /// The first of the rows and how many.
    rows: [usize; 2],
    reaching: [Reaching; TAPS],
    count: usize,
    /// Whether one of these does not reach all rows.
    pub(super) mixed: bool,
    /// The first and the last place among them.
    ends: [isize; 2],
    /// Windows of the next plane that are asked for meanwhile: the first one, and how many with each kernel row.
    pub(super) later: [usize; 2],
}

/// A kernel row that reaches some of the rows. There are many blocks, so it is small.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reaching {
    /// Where cell 0 of the first row would find its window of the first tap, counted from the first window of the plane; wraps.
    pub(super) at: usize,
    /// The rows that have one, counted from the first.
    pub(super) from: u32,
    pub(super) to: u32,
}

impl Block {
    /// Finds the kernel rows that reach `count` rows of the rest of row `y`, from that on; nothing where it has found them before.
    #[inline(always)]
    pub(super) fn find(&mut self, kernel_rows: &KernelRows, g: &Geometry, [y, count]: [usize; 2]) {
        if self.rows == [y, count] {
            return;
        }
        (self.rows, self.count, self.mixed, self.ends) = ([y, count], 0, false, [isize::MAX, isize::MIN]);
        let first = y / g.stride[0];
        let end = first.wrapping_add(count);
        for row in kernel_rows.rows() {
            let (from, to) = (row.from.max(first), row.to.min(end));
            let Some(reaching) = self.reaching.get_mut(self.count).filter(|_| from < to) else { continue };
            let at = first.wrapping_mul(g.columns[1]).wrapping_add(row.at);
            // As few as cells fit the vectors.
            *reaching = Reaching { at, from: from.wrapping_sub(first) as u32, to: to.wrapping_sub(first) as u32 };
            self.mixed |= to.wrapping_sub(from) < count;
            self.ends = [self.ends[0].min(at.cast_signed()), self.ends[1].max(at.cast_signed())];
            self.count = self.count.wrapping_add(1);
        }
    }

    /// Whether all is in data of a length that vectors read of a plane whose windows begin at `start`: from the first to the last place
    /// of a kernel row what these two enclose; nothing where the first is behind the second.
    #[inline(always)]
    pub(super) fn reads_within(&self, start: usize, [from, to]: [isize; 2], length: usize) -> bool {
        let place = |end: isize, beyond: isize| start.checked_add_signed(end.wrapping_add(beyond));
        let [first, last] = self.ends;
        let is_within = || place(first, from).is_some() && place(last, to).is_some_and(|end| end <= length);
        self.count == 0 || from > to || is_within()
    }

    /// Sees to it that so many windows from `at` on are asked for meanwhile; by each class again, as to tell
    /// them apart takes longer.
    #[inline(always)]
    pub(super) fn ask(&mut self, at: usize, count: usize) {
        self.later = [at, count.checked_div(self.count).unwrap_or(0)];
    }

    pub(super) fn reaching(&self) -> &[Reaching] {
        self.reaching.get(..self.count).unwrap_or(&[])
    }
}
