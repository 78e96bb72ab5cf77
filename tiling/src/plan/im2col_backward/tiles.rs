//! The tiles of a share, one after the other.

use core::iter::FusedIterator;

use super::{Plan, Tile};
use crate::plan::shares::{RunsOfPlanes, at_least_1, ceil_div};

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

    /// Without a look at those before.
    fn nth(&mut self, number: usize) -> Option<Tile> {
        let (plan, size) = (&self.plan, &self.plan.size);
        let (columns, [i, j], [kh, kw]) = (at_least_1(size.columns), size.taps.map(at_least_1), plan.cut_taps());
        let boxes = at_least_1(ceil_div(plan.problem.w, columns));
        let [down, across] = [at_least_1(ceil_div(kh, i)), at_least_1(ceil_div(kw, j))];
        // Counted from the first box of these rows.
        let parts = (self.column / columns).saturating_mul(down.get()).saturating_add(self.tap[0] / i);
        let number = number.saturating_add(parts.saturating_mul(across.get())).saturating_add(self.tap[1] / j);
        let (parts, part) = (number / across, number % across);
        let (box_of_rows, row_of_taps) = (parts / down, parts % down);
        let rows = RunsOfPlanes { plane: at_least_1(plan.problem.h), step: at_least_1(size.rows) };
        self.row = rows.begin(self.row, box_of_rows / boxes);
        self.column = (box_of_rows % boxes).saturating_mul(columns.get());
        self.tap = [row_of_taps.saturating_mul(i.get()), part.saturating_mul(j.get())];
        self.next()
    }
}

impl FusedIterator for Tiles {}
