//! The kernel rows that reach some rows of cells.

use ubtile_tiling::im2col_backward::Geometry;

use super::super::TAPS;
use super::super::kernel_rows::{KernelRow, KernelRows};

/// Some rows of a plane of one rest, and the kernel rows that reach them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Block {
    /// As they are, but for their places, which are in the data, and their rows, which are counted from the first of the block.
    reaching: [KernelRow; TAPS],
    count: usize,
    /// Whether one of these does not reach all rows.
    pub(super) mixed: bool,
    /// The first and the last place among them.
    pub(super) ends: [usize; 2],
    /// Windows of the next plane that are asked for meanwhile: the first one, and how many with each kernel row.
    pub(super) later: [usize; 2],
}

impl Block {
    /// Finds the kernel rows that reach `count` rows from `first` on of a plane whose windows begin at `start`.
    #[inline(always)]
    pub(super) fn find(&mut self, kernel_rows: &KernelRows, g: &Geometry, start: usize, [first, count]: [usize; 2]) {
        let (start, end) = (start.wrapping_add(first.wrapping_mul(g.columns[1])), first.wrapping_add(count));
        (self.count, self.mixed, self.ends) = (0, false, [usize::MAX, 0]);
        for row in kernel_rows.rows() {
            let (from, to) = (row.from.max(first), row.to.min(end));
            let Some(reaching) = self.reaching.get_mut(self.count).filter(|_| from < to) else { continue };
            let at = start.wrapping_add(row.at);
            *reaching = KernelRow { at, from: from.wrapping_sub(first), to: to.wrapping_sub(first) };
            self.mixed |= to.wrapping_sub(from) < count;
            self.ends = [self.ends[0].min(at), self.ends[1].max(at)];
            self.count = self.count.wrapping_add(1);
        }
    }

    /// Sees to it that so many windows from `at` on are asked for meanwhile; by each class again, as to tell
    /// them apart takes longer.
    #[inline(always)]
    pub(super) fn ask(&mut self, at: usize, count: usize) {
        self.later = [at, count.checked_div(self.count).unwrap_or(0)];
    }

    pub(super) fn reaching(&self) -> &[KernelRow] {
        self.reaching.get(..self.count).unwrap_or(&[])
    }
}
