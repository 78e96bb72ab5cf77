//! Boxes of the output, each made from all that folds into it.

use ubtile_tiling::replication_pad2d_backward::{Axis, Tile};

use super::line::Line;
use super::place::Place;
use crate::element::Element;
use crate::level::Kernel;
use crate::simd::{Isa, Real};

/// Makes the boxes of `tiles`. An element is `P` scalars of type `T`.
pub(super) struct Fold<'a, T, I, const P: usize> {
    pub(super) tiles: I,
    pub(super) rows: Axis,
    pub(super) columns: Axis,
    pub(super) source: &'a [T],
    pub(super) from: Place<P>,
    pub(super) dest: &'a mut [T],
    pub(super) to: Place<P>,
}

impl<T: Element, I: Iterator<Item = Tile>, const P: usize> Kernel for Fold<'_, T, I, P> {
    type Output = ();

    #[inline(always)]
    fn run<S: Isa>(mut self, isa: S) {
        let dense = self.from.is_dense() && self.to.is_dense();
        while let Some(tile) = self.tiles.next() {
            // Sums in parts are made at once, with the last part: here all of the source can be reached.
            if !tile.last {
                continue;
            }
            let line = Line::new(self.columns, tile.columns);
            let [first, end] = tile.planes;
            for plane in first..end {
                if dense {
                    self.plane(isa, plane, tile.rows, &line);
                } else {
                    self.cells(plane, tile.rows, tile.columns);
                }
            }
        }
    }
}

impl<T: Element, I, const P: usize> Fold<'_, T, I, P> {
    /// Makes a box of a plane whose columns lie side by side.
    #[inline(always)]
    fn plane<S: Isa>(&mut self, isa: S, plane: usize, [start, end]: [usize; 2], line: &Line<P>) {
        // Between the outermost rows of the image each row has one source at most; those cropped have none.
        let [first, last] = self.rows.copied([start.max(1), end.min(self.rows.size.wrapping_sub(1))]);
        let inner = if first < last { first..last } else { end..end };
        for row in start..inner.start {
            self.row(isa, plane, row, line);
        }
        let mut from = self.from.offset(plane, inner.start.wrapping_add_signed(self.rows.before), 0);
        let mut to = self.to.offset(plane, inner.start, line.start);
        for _ in inner.clone() {
            if let Some(dest) = self.dest.get_mut(to..to.wrapping_add(line.scalars)) {
                line.copy(isa, self.source, from, dest);
            }
            from = from.wrapping_add(self.from.pitch());
            to = to.wrapping_add(self.to.pitch());
        }
        for row in inner.end..end {
            self.row(isa, plane, row, line);
        }
    }

    /// Makes a row of any number of sources.
    #[inline(always)]
    fn row<S: Isa>(&mut self, isa: S, plane: usize, row: usize, line: &Line<P>) {
        let [first, end] = self.rows.sources(row);
        let from = self.from.offset(plane, first, 0);
        let to = self.to.offset(plane, row, line.start);
        let Some(dest) = self.dest.get_mut(to..to.wrapping_add(line.scalars)) else { return };
        match end.wrapping_sub(first) {
            0 => dest.fill(T::zeroed()),
            1 => line.copy(isa, self.source, from, dest),
            rows => line.fold(isa, self.source, from, self.from.pitch(), rows, dest),
        }
    }

    /// Makes a box of a plane of any strides, cell by cell.
    #[inline(always)]
    fn cells(&mut self, plane: usize, [top, bottom]: [usize; 2], [left, right]: [usize; 2]) {
        for row in top..bottom {
            let [i0, i1] = self.rows.sources(row);
            for column in left..right {
                let [j0, j1] = self.columns.sources(column);
                let to = self.to.offset(plane, row, column);
                for part in 0..P {
                    let at = |i, j| {
                        let from = self.from.offset(plane, i, j).wrapping_add(part);
                        self.source.get(from).copied().unwrap_or(T::zeroed())
                    };
                    let value = match i1.wrapping_sub(i0).saturating_mul(j1.wrapping_sub(j0)) {
                        0 => T::zeroed(),
                        1 => at(i0, j0),
                        _ => T::narrow(sum((j0..j1).map(|j| sum((i0..i1).map(|i| at(i, j).widen()))))),
                    };
                    if let Some(dest) = self.dest.get_mut(to.wrapping_add(part)) {
                        *dest = value;
                    }
                }
            }
        }
    }
}

/// The sum of values in their order, from the first on.
#[inline(always)]
fn sum<A: Real>(mut values: impl Iterator<Item = A>) -> A {
    let first = values.next().unwrap_or_default();
    values.fold(
        first,
        #[inline(always)]
        |sum, value| sum + value,
    )
}
