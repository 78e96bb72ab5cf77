//! The tiles of a share, one after the other.

use core::num::NonZeroUsize;

use super::{Plan, Tile};
use crate::plan::shares::{at_least_1, length};

/// Walks the rows of a share.
#[derive(Clone, Debug)]
pub(super) struct Tiles {
    plan: Plan,
    /// Next row, counted over all planes.
    row: usize,
    /// One past the last row.
    end: usize,
    /// Next column of the row.
    column: usize,
    /// Rows and columns of the box's sources that are done.
    done: [usize; 2],
}

impl Tiles {
    /// The tiles of rows, counted over all planes, from the first to one past the last.
    pub(super) fn new(plan: Plan, row: usize, end: usize) -> Self {
        Self { plan, row, end, column: 0, done: [0, 0] }
    }
}

impl Iterator for Tiles {
    type Item = Tile;

    fn next(&mut self) -> Option<Tile> {
        if self.row >= self.end {
            return None;
        }
        let plan = &self.plan;
        let height = at_least_1(plan.problem.h);
        let (plane, row) = (self.row / height, self.row % height);
        let left = self.end.saturating_sub(self.row);

        let planes = if row == 0 { plan.planes.min(left / height) } else { 0 };
        if planes > 0 {
            self.row = self.row.saturating_add(planes.saturating_mul(height.get()));
            let (rows, columns) = (plan.rows(), plan.columns());
            return Some(Tile {
                planes: [plane, plane.saturating_add(planes)],
                rows: [0, rows.size],
                columns: [0, columns.size],
                source_rows: [0, rows.padded],
                source_columns: [0, columns.padded],
                accumulates: false,
                last: true,
                local_bytes: plan.planes_bytes(planes).unwrap_or(usize::MAX),
            });
        }

        let group = plan.group(row, self.column, left.min(height.get().saturating_sub(row)));
        let rows = [row, row.saturating_add(group.rows)];
        let columns = [self.column, self.column.saturating_add(group.columns)];
        let all = [plan.rows().sources_of(rows), plan.columns().sources_of(columns)];
        let ([[top, bottom], [left, right]], [done_rows, done_columns], [part_rows, part_columns]) =
            (all, self.done, group.part);
        let from = [top.saturating_add(done_rows), left.saturating_add(done_columns)];
        let to = [from[0].saturating_add(part_rows).min(bottom), from[1].saturating_add(part_columns).min(right)];
        let (rows_end, columns_end) = (to[0] >= bottom, to[1] >= right);

        // Rows of a part of the columns, the next columns, the next box.
        self.done = match (rows_end, columns_end) {
            (false, _) => [done_rows.saturating_add(part_rows), done_columns],
            (true, false) => [0, done_columns.saturating_add(part_columns)],
            (true, true) => [0, 0],
        };
        if rows_end && columns_end {
            self.column = columns[1];
            if self.column >= plan.problem.w {
                (self.row, self.column) = (self.row.saturating_add(group.rows), 0);
            }
        }
        let mut tile = Tile {
            planes: [plane, plane.saturating_add(1)],
            rows,
            columns,
            source_rows: [from[0], to[0]],
            source_columns: [from[1], to[1]],
            accumulates: done_rows > 0 || done_columns > 0,
            last: rows_end && columns_end,
            local_bytes: 0,
        };
        let source = [length(tile.source_rows), length(tile.source_columns)];
        let bytes = if tile.is_part() {
            plan.part(source, group.columns)
        } else {
            plan.whole(source, [group.rows, group.columns])
        };
        tile.local_bytes = bytes.unwrap_or(usize::MAX);
        Some(tile)
    }

    /// With a look at those of two planes at most.
    fn nth(&mut self, number: usize) -> Option<Tile> {
        let height = at_least_1(self.plan.problem.h);
        let mut number = number;
        // The rest of a plane has no more rows than are left of it.
        while number > 0 && self.row < self.end && !self.is_first_of_plane() {
            self.next()?;
            number = number.saturating_sub(1);
        }
        let planes = self.end.saturating_sub(self.row) / height;
        if number > 0 && self.is_first_of_plane() && planes > 0 {
            // All whole planes have the same tiles, or a tile has several.
            let (tiles, of) = match at_least_1(self.plan.planes) {
                of if self.plan.planes > 0 => (NonZeroUsize::MIN, of),
                of => (at_least_1(Self { end: self.row.saturating_add(height.get()), ..self.clone() }.count()), of),
            };
            let skipped = (number / tiles).min(planes / of);
            self.row = self.row.saturating_add(skipped.saturating_mul(of.get()).saturating_mul(height.get()));
            number = number.saturating_sub(skipped.saturating_mul(tiles.get()));
        }
        while number > 0 {
            self.next()?;
            number = number.saturating_sub(1);
        }
        self.next()
    }
}

impl Tiles {
    /// Whether the next tile begins a plane.
    fn is_first_of_plane(&self) -> bool {
        self.row % at_least_1(self.plan.problem.h) == 0 && self.column == 0 && self.done == [0, 0]
    }
}

impl core::iter::FusedIterator for Tiles {}
