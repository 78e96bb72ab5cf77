//! Rows of the output, each made from all that folds into it.

use core::ops::Range;

use ubtile_tiling::replication_pad2d_backward::Axis;

use super::place::Place;
use super::rows::{self, Rows};
use crate::bits;
use crate::built::COMPLEX;
use crate::element::Element;
use crate::level::Level;
use crate::part::PlaneRuns;

/// Rows to make, with all of `grad_output` that folds into them at hand.
pub(super) struct Fold<'a, T> {
    /// The rows, plane by plane.
    pub(super) planes: PlaneRuns,
    /// The first column of each and one past the last.
    pub(super) run: [usize; 2],
    /// Scalars of type `T` to an element.
    pub(super) parts: usize,
    pub(super) rows: Axis,
    pub(super) columns: Axis,
    pub(super) source: &'a [T],
    pub(super) from: Place,
    pub(super) dest: &'a mut [T],
    pub(super) to: Place,
}

impl<T: Element> Fold<'_, T> {
    /// Makes them.
    pub(super) fn run(self, level: Level) {
        let side_by_side = self.from.step() == self.parts && self.to.step() == self.parts;
        let is_whole = self.run == [0, self.columns.size] && !is_cropped(self.rows) && !is_cropped(self.columns);
        if level.is_scalar() || !side_by_side || !is_whole || self.columns.size < 2 {
            return self.cells();
        }
        let edges = rows::outermost(self.columns);
        let even = rows::outermost(self.rows) == edges;
        let is_real = !COMPLEX || T::IS_HALF || self.parts == 1;
        match (is_real, edges) {
            (true, [2, 2]) if even => level.dispatch(Rows::<T, 1, 2>(self)),
            (true, [3, 3]) if even => level.dispatch(Rows::<T, 1, 3>(self)),
            (true, [4, 4]) if even => level.dispatch(Rows::<T, 1, 4>(self)),
            (true, _) => level.dispatch(Rows::<T, 1, 0>(self)),
            (false, [2, 2]) if even => level.dispatch(Rows::<T, 2, 2>(self)),
            (false, _) => level.dispatch(Rows::<T, 2, 0>(self)),
        }
    }

    /// Makes rows of any strides: cell by cell, but for runs of copies.
    fn cells(self) {
        let Self { planes, run, parts, rows, columns, source, from, dest, to } = self;
        let side_by_side = from.step() == parts && to.step() == parts;
        // A row may be one element over and over.
        let inner = if from.step() > 0 { copied_only(columns, run) } else { 0..0 };
        for (plane, [start, end]) in planes {
            let (from_plane, to_plane) = (from.plane(plane), to.plane(plane));
            for y in start..end {
                let [i0, i1] = rows.sources(y);
                let row = from_plane.wrapping_add(i0.wrapping_mul(from.pitch()));
                let to_row = to_plane.wrapping_add(y.wrapping_mul(to.pitch()));
                let mut x = run[0];
                while x < run[1] {
                    let [j0, j1] = columns.sources(x);
                    let source = Cells {
                        data: source,
                        start: row.wrapping_add(j0.wrapping_mul(from.step())),
                        rows: i1.wrapping_sub(i0),
                        columns: j1.wrapping_sub(j0),
                        strides: [from.pitch(), from.step()],
                    };
                    let start = to_row.wrapping_add(x.wrapping_mul(to.step()));
                    if source.rows == 1 && inner.contains(&x) {
                        let count = inner.end.wrapping_sub(x);
                        let end = start.wrapping_add(count.wrapping_mul(parts));
                        let src = source.data.get(source.start..).unwrap_or(&[]);
                        if side_by_side {
                            bits::copy(src, dest.get_mut(start..end).unwrap_or(&mut []));
                        } else {
                            let dest = dest.get_mut(start..).unwrap_or(&mut []).chunks_mut(to.step().max(1));
                            for (dest, src) in dest.zip(src.chunks(from.step().max(1))).take(count) {
                                dest.iter_mut().zip(src).take(parts).for_each(|(dest, src)| *dest = *src);
                            }
                        }
                        x = inner.end;
                        continue;
                    }
                    for part in 0..parts {
                        if let Some(dest) = dest.get_mut(start.wrapping_add(part)) {
                            *dest = source.folded(part);
                        }
                    }
                    x = x.wrapping_add(1);
                }
            }
        }
    }
}

/// The cells of `grad_output` that fold into one.
struct Cells<'a, T> {
    data: &'a [T],
    start: usize,
    rows: usize,
    columns: usize,
    /// From a row and a column to the next.
    strides: [usize; 2],
}

impl<T: Element> Cells<'_, T> {
    /// Scalar `part` of what they become.
    #[inline]
    fn folded(&self, part: usize) -> T {
        let at = |at: usize| self.data.get(at.wrapping_add(part)).copied().unwrap_or(T::zeroed());
        if self.rows == 1 && self.columns == 1 {
            return at(self.start);
        }
        let [pitch, step] = self.strides;
        let (mut total, mut top) = (T::Acc::default(), self.start);
        for column in 0..self.columns {
            let (mut sum, mut cell) = (T::Acc::default(), top);
            for row in 0..self.rows {
                let value = at(cell).widen();
                sum = if row == 0 { value } else { sum + value };
                cell = cell.wrapping_add(pitch);
            }
            total = if column == 0 { sum } else { total + sum };
            top = top.wrapping_add(step);
        }
        T::narrow(total)
    }
}

/// Whether some positions of the image have no source, or the outermost not their own.
fn is_cropped(axis: Axis) -> bool {
    axis.copied([0, axis.size]) != [0, axis.size]
}

/// The positions of a run that have one source each, one behind the other.
#[inline(always)]
pub(super) fn copied_only(axis: Axis, run: [usize; 2]) -> Range<usize> {
    let [start, end] = axis.copied(run);
    let one = |at: usize| {
        let [from, to] = axis.sources(at);
        to.wrapping_sub(from) == 1
    };
    // The outermost may have more. A range that ends before it starts is as empty as any.
    let first = if one(start) { start } else { start.saturating_add(1) };
    let last = end.saturating_sub(1);
    first..if one(last) { end } else { last }
}
