//! The tiles of a share, one after the other.

use core::iter::FusedIterator;

use super::{Plan, Tile};
use crate::plan::shares::{RunsOfPlanes, at_least_1, ceil_div};

/// Walks planes, runs of elements and slices of cells.
#[derive(Clone, Debug)]
pub(super) struct Tiles {
    plan: Plan,
    /// Next element, counted over all planes.
    element: usize,
    /// One past the last element.
    end: usize,
    /// Next cell of the plane.
    cell: usize,
}

impl Tiles {
    /// The tiles of elements, counted over all planes, from the first to one past the last.
    pub(super) fn new(plan: Plan, element: usize, end: usize) -> Self {
        Self { plan, element, end, cell: 0 }
    }
}

impl Iterator for Tiles {
    type Item = Tile;

    fn next(&mut self) -> Option<Tile> {
        let (plan, cells) = (&self.plan, self.plan.cells());
        if self.element >= self.end || cells == 0 {
            return None;
        }
        let plane_size = at_least_1(plan.plane_size());
        let (plane, first) = (self.element / plane_size, self.element % plane_size);
        let all = plane_size.get().min(first.saturating_add(self.end.saturating_sub(self.element)));
        let last = first.saturating_add(plan.size.elements.max(1)).min(all);
        let cells_end = self.cell.saturating_add(plan.size.cells.max(1)).min(cells);
        let tile = plan.tile(plane, [first, last], [self.cell, cells_end]);

        self.cell = cells_end;
        if cells_end >= cells {
            (self.cell, self.element) = (0, self.element.saturating_add(last.saturating_sub(first)));
        }
        Some(tile)
    }

    /// Without a look at those before.
    fn nth(&mut self, number: usize) -> Option<Tile> {
        let (size, plane) = (&self.plan.size, at_least_1(self.plan.plane_size()));
        let cells = at_least_1(size.cells);
        let slices = at_least_1(ceil_div(self.plan.cells(), cells));
        let number = number.saturating_add(self.cell / cells);
        self.element = RunsOfPlanes { plane, step: at_least_1(size.elements) }.begin(self.element, number / slices);
        self.cell = (number % slices).saturating_mul(cells.get());
        self.next()
    }
}

impl FusedIterator for Tiles {}
