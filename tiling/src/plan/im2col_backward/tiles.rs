//! The tiles of a share, one after the other.

use core::iter::FusedIterator;

use super::{Plan, Tile};
use crate::plan::shares::at_least_1;

/// Walks planes, rows, columns and parts of the kernel. The chain of adaptors that says the same takes twice the code and stack.
#[derive(Clone, Debug)]
pub(super) struct Tiles {
    plan: Plan,
    /// Next row, counted over all planes.
    row: usize,
    /// One past the last row.
    end: usize,
    /// Next column of the row.
    column: usize,
    /// Next kernel row and column of the box.
    tap: [usize; 2],
}

impl Tiles {
    /// The tiles of rows, counted over all planes, from the first to one past the last.
    pub(super) fn new(plan: Plan, row: usize, end: usize) -> Self {
        Self { plan, row, end, column: 0, tap: [0, 0] }
    }
}

impl Iterator for Tiles {
    type Item = Tile;

    fn next(&mut self) -> Option<Tile> {
        if self.row >= self.end {
            return None;
        }
        let (plan, size) = (&self.plan, &self.plan.size);
        let (height, width, [kh, kw]) = (at_least_1(plan.problem.h), plan.problem.w, plan.cut_taps());
        let (plane, y) = (self.row / height, self.row % height);
        let step = |from: usize, by: usize, end: usize| from.saturating_add(by.max(1)).min(end);
        let below = step(y, size.rows, height.get().min(y.saturating_add(self.end.saturating_sub(self.row))));
        let right = step(self.column, size.columns, width);
        let [i, j] = self.tap;
        let [i_end, j_end] = [step(i, size.taps[0], kh), step(j, size.taps[1], kw)];
        let tile = plan.tile(plane, [y, below], [self.column, right], [[i, i_end], [j, j_end]]);

        // The next part of the kernel's row, its next rows, the next columns, the next rows.
        self.tap = [if j_end < kw { i } else { i_end }, if j_end < kw { j_end } else { 0 }];
        if self.tap[0] >= kh {
            (self.tap, self.column) = ([0, 0], right);
            if right >= width {
                (self.column, self.row) = (0, self.row.saturating_add(below.saturating_sub(y)));
            }
        }
        Some(tile)
    }
}

impl FusedIterator for Tiles {}
