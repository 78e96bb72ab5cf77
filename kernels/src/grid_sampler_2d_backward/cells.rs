//! A few points at a time: the cells they lie in, and the pixels around them.

use ubtile_tiling::grid_sampler_2d_backward::{Interpolation, Problem};

use super::coordinates::Axis;
use super::planes::Planes;
use crate::element::Element;
use crate::simd::{Isa, Real, Vector};

/// Points that are worked on together; a whole number of vectors at every level.
pub(crate) const CHUNK: usize = 16;

/// The offset of a row or column that is not there. Two of them and a channel's offset are beyond every slice and do not wrap.
pub(crate) const ABSENT: usize = usize::MAX >> 2;

/// A value for each point of a chunk.
pub(crate) type Each<A> = [A; CHUNK];

/// Both axes of the image.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Axes<A> {
    x: Axis<A>,
    y: Axis<A>,
    nearest: bool,
}

/// A sum along x and along y for each point of a chunk.
pub(crate) type Sums<A> = Each<[A; 2]>;

/// Cells of the points of a chunk along an axis.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AxisCells<A> {
    /// The pixel at the point or before it.
    pub(crate) cell: Each<A>,
    /// From the point to the next pixel.
    pub(crate) before: Each<A>,
    /// From the pixel to the point.
    pub(crate) after: Each<A>,
    /// What the gradient along the axis is multiplied with.
    pub(crate) multiplier: Each<A>,
}

/// Cells of the points of a chunk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cells<A> {
    pub(crate) x: AxisCells<A>,
    pub(crate) y: AxisCells<A>,
    nearest: bool,
}

/// The pixels of an image, or of a rectangle of it, in a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    /// First row and column.
    pub(crate) first: [usize; 2],
    /// Rows and columns.
    pub(crate) size: [usize; 2],
    /// Elements from one row, and from one column, to the next.
    pub(crate) strides: [usize; 2],
}

impl Window {
    /// Offset of a row; at least [`ABSENT`] outside.
    #[inline(always)]
    pub(crate) fn row(&self, y: isize) -> usize {
        // A negative index wraps to a huge one.
        let y = (y as usize).wrapping_sub(self.first[0]);
        if y < self.size[0] { y.wrapping_mul(self.strides[0]) } else { ABSENT }
    }

    /// Offset of a column in its row; at least [`ABSENT`] outside.
    #[inline(always)]
    pub(crate) fn column(&self, x: isize) -> usize {
        let x = (x as usize).wrapping_sub(self.first[1]);
        if x < self.size[1] { x.wrapping_mul(self.strides[1]) } else { ABSENT }
    }
}

impl<A: Real> Axes<A> {
    pub(crate) fn new(problem: &Problem) -> Self {
        Self {
            x: Axis::new(problem, problem.wi),
            y: Axis::new(problem, problem.hi),
            nearest: problem.interpolation == Interpolation::Nearest,
        }
    }

    /// The cells of `count` points from `first` on, at most a chunk.
    #[inline(always)]
    pub(crate) fn cells<S: Isa, T: Element<Acc = A>>(
        &self,
        isa: S,
        grid: &Planes<&[T]>,
        first: usize,
        count: usize,
    ) -> Cells<A> {
        let mut at = [[A::default(); CHUNK]; 2];
        load_pairs(grid, first, count, &mut at);
        let [x, y] = at;
        Cells { x: axis_cells(isa, &self.x, &x), y: axis_cells(isa, &self.y, &y), nearest: self.nearest }
    }
}

#[inline(always)]
fn axis_cells<S: Isa, A: Real>(isa: S, axis: &Axis<A>, at: &Each<A>) -> AxisCells<A> {
    let mut cells = AxisCells {
        cell: [A::default(); CHUNK],
        before: [A::default(); CHUNK],
        after: [A::default(); CHUNK],
        multiplier: [A::default(); CHUNK],
    };
    let lanes = A::V::<S>::LANES;
    let out = cells.cell.chunks_exact_mut(lanes).zip(cells.before.chunks_exact_mut(lanes));
    let out = out.zip(cells.after.chunks_exact_mut(lanes).zip(cells.multiplier.chunks_exact_mut(lanes)));
    for (at, ((cell, before), (after, multiplier))) in at.chunks_exact(lanes).zip(out) {
        let p = axis.positions(isa, Vector::load(isa, at));
        p.cell.store(cell);
        ((p.cell + Vector::splat(isa, A::ONE)) - p.at).store(before);
        (p.at - p.cell).store(after);
        p.multiplier.store(multiplier);
    }
    cells
}

/// Reads x and y of `count` points.
#[inline(always)]
fn load_pairs<T: Element>(grid: &Planes<&[T]>, first: usize, count: usize, [x, y]: &mut [Each<T::Acc>; 2]) {
    let (offset, run) = grid.run(&(first..first.wrapping_add(count)), CHUNK);
    let pairs = grid.data.get(offset..offset.wrapping_add(count.wrapping_mul(2)));
    if let (true, 2, 1, Some(pairs)) = (run == count, grid.column, grid.channel, pairs) {
        for ((x, y), [gx, gy]) in x.iter_mut().zip(y).zip(pairs.as_chunks::<2>().0) {
            (*x, *y) = (gx.widen(), gy.widen());
        }
        return;
    }
    for (k, (x, y)) in x.iter_mut().zip(y).enumerate().take(count) {
        let offset = grid.offset(first.wrapping_add(k));
        (*x, *y) = (grid.widen(offset), grid.widen(offset.wrapping_add(grid.channel)));
    }
}

impl<A: Real> Cells<A> {
    /// Offsets of the pixels north-west, north-east, south-west and south-east of each point; the nearest one alone for nearest.
    #[inline(always)]
    pub(crate) fn corners(&self, window: &Window, count: usize) -> Each<[usize; 4]> {
        let mut corners = [[ABSENT; 4]; CHUNK];
        for ((corners, x), y) in corners.iter_mut().zip(&self.x.cell).zip(&self.y.cell).take(count) {
            let (x, y) = (x.to_isize(), y.to_isize());
            let (west, north) = (window.column(x), window.row(y));
            *corners = if self.nearest {
                [north.wrapping_add(west), ABSENT, ABSENT, ABSENT]
            } else {
                let (east, south) = (window.column(x.wrapping_add(1)), window.row(y.wrapping_add(1)));
                [
                    north.wrapping_add(west),
                    north.wrapping_add(east),
                    south.wrapping_add(west),
                    south.wrapping_add(east),
                ]
            };
        }
        corners
    }

    /// Weights of those pixels.
    #[inline(always)]
    pub(crate) fn weights(&self) -> Each<[A; 4]> {
        let mut weights = [[A::ONE; 4]; CHUNK];
        if self.nearest {
            return weights;
        }
        let x = self.x.before.iter().zip(&self.x.after);
        let y = self.y.before.iter().zip(&self.y.after);
        for (weights, ((&bx, &ax), (&by, &ay))) in weights.iter_mut().zip(x.zip(y)) {
            *weights = [bx * by, ax * by, bx * ay, ax * ay];
        }
        weights
    }
}
