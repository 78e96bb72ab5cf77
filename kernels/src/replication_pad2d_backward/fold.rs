//! Boxes of the output, each made from all that folds into it.

use ubtile_tiling::replication_pad2d_backward::{Axis, Tile};

use super::line::{Line, Source};
use super::place::Place;
use crate::element::Element;
use crate::level::{Kernel, Level};
use crate::simd::{Isa, Real};

/// Boxes to make, with all of `grad_output` that folds into them at hand.
pub(super) struct Fold<'a, T, I> {
    pub(super) tiles: I,
    /// Scalars of type `T` to an element.
    pub(super) parts: usize,
    pub(super) rows: Axis,
    pub(super) columns: Axis,
    pub(super) source: &'a [T],
    pub(super) from: Place,
    pub(super) dest: &'a mut [T],
    pub(super) to: Place,
}

impl<T: Element, I: Iterator<Item = Tile>> Fold<'_, T, I> {
    /// Makes them.
    pub(super) fn run(self, level: Level) {
        if self.from.step() == self.parts && self.to.step() == self.parts {
            level.dispatch(Lines(self));
        } else {
            self.cells();
        }
    }

    /// Makes boxes of any strides, cell by cell.
    fn cells(self) {
        let Self { tiles, parts, rows, columns, source, from, dest, to } = self;
        for tile in tiles.filter(|tile| tile.last) {
            let ([p0, p1], [y0, y1], [x0, x1]) = (tile.planes, tile.rows, tile.columns);
            for (plane, y) in (p0..p1).flat_map(|plane| (y0..y1).map(move |y| (plane, y))) {
                let [i0, i1] = rows.sources(y);
                let to_row = to.plane(plane).wrapping_add(y.wrapping_mul(to.pitch()));
                for (x, part) in (x0..x1).flat_map(|x| (0..parts).map(move |part| (x, part))) {
                    let [j0, j1] = columns.sources(x);
                    let at = |i: usize, j: usize| {
                        let row = from.plane(plane).wrapping_add(i.wrapping_mul(from.pitch()));
                        let cell = row.wrapping_add(j.wrapping_mul(from.step())).wrapping_add(part);
                        source.get(cell).copied().unwrap_or(T::zeroed())
                    };
                    let column = |j| sum((i0..i1).map(|i| at(i, j).widen()));
                    let value = match i1.wrapping_sub(i0).saturating_mul(j1.wrapping_sub(j0)) {
                        0 => T::zeroed(),
                        1 => at(i0, j0),
                        _ => T::narrow(sum((j0..j1).map(column))),
                    };
                    if let Some(dest) = dest.get_mut(to_row.wrapping_add(x.wrapping_mul(to.step())).wrapping_add(part))
                    {
                        *dest = value;
                    }
                }
            }
        }
    }
}

/// The sum of values in their order, from the first on.
fn sum<A: Real>(mut values: impl Iterator<Item = A>) -> A {
    let first = values.next().unwrap_or_default();
    values.fold(first, |sum, value| sum + value)
}

/// Boxes whose columns lie side by side.
struct Lines<'a, T, I>(Fold<'a, T, I>);

impl<T: Element, I: Iterator<Item = Tile>> Kernel for Lines<'_, T, I> {
    type Output = ();

    #[inline(always)]
    fn run<S: Isa>(self, isa: S) {
        let Fold { tiles, parts, rows, columns, source, from, dest, to } = self.0;
        for tile in tiles {
            // Sums in parts are made at once, with the last part: here all of the source can be reached.
            if !tile.last {
                continue;
            }
            let line = Line::new(columns, tile.columns, parts);
            let [start, end] = tile.rows;
            let inner = copied_only(rows, tile.rows);
            let at_once = line.rows_at_once(size_of::<T>(), from.pitch(), to.pitch());
            let [first, last] = tile.planes;
            for plane in first..last {
                let (from_plane, to_plane) = (from.plane(plane), to.plane(plane).wrapping_add(line.start));
                let mut row = start;
                while row < end {
                    let [i0, i1] = rows.sources(row);
                    let start = from_plane.wrapping_add(i0.wrapping_mul(from.pitch()));
                    let source = Source { data: source, start, pitch: from.pitch() };
                    let dest = dest.get_mut(to_plane.wrapping_add(row.wrapping_mul(to.pitch()))..).unwrap_or(&mut []);
                    let mut made = 1;
                    match i1.wrapping_sub(i0) {
                        0 => line.zero(dest),
                        1 => {
                            if inner.contains(&row) {
                                made = inner.end.wrapping_sub(row).min(at_once);
                            }
                            line.copy(isa, source, dest, to.pitch(), made);
                        }
                        count => line.fold(isa, source, count, dest),
                    }
                    row = row.wrapping_add(made);
                }
            }
        }
    }
}

/// The rows of a run that have one source each, one behind the other.
#[inline(always)]
fn copied_only(axis: Axis, run: [usize; 2]) -> core::ops::Range<usize> {
    let [first, last] = axis.copied(run);
    let one = |at: usize| {
        let [from, to] = axis.sources(at);
        to.wrapping_sub(from) == 1
    };
    let first = if first < last && !one(first) { first.wrapping_add(1) } else { first };
    let last = if first < last && !one(last.wrapping_sub(1)) { last.wrapping_sub(1) } else { last };
    first..last
}
