//! A few points at a time: the cells they lie in, and the pixels around them.

use ubtile_tiling::grid_sampler_2d_backward::{Interpolation, Problem};

use super::coordinates::{Axis, Positions, is_somewhere};
use super::dispatch;
use super::planes::Planes;
use crate::element::Element;
use crate::level::Level;
use crate::simd::Real;

/// Points that are worked on together; a whole number of vectors at every level.
pub(crate) const CHUNK: usize = 32;

/// The offset of a row or column that is not there. Two of them and a channel's offset are beyond every slice and do not wrap.
pub(crate) const ABSENT: usize = usize::MAX >> 2;

/// A value for each point of a chunk.
pub(crate) type Each<T> = [T; CHUNK];

/// A sum along x and along y for each point of a chunk.
pub(crate) type Sums<A> = Each<[A; 2]>;

/// Both axes of the image.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Axes<A> {
    x: Axis<A>,
    y: Axis<A>,
    nearest: bool,
}

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

/// A point's distances to the next pixel and from the last one, along x and y.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Distances<A> {
    pub(crate) before: [A; 2],
    pub(crate) after: [A; 2],
}

/// Cells of the points of a chunk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cells<A> {
    pub(crate) count: usize,
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
    pub(crate) fn cells<T: Element<Acc = A>>(
        &self,
        level: Level,
        grid: &Planes<&[T]>,
        first: usize,
        count: usize,
    ) -> Cells<A> {
        let zeros = [A::default(); CHUNK];
        let none = AxisCells { cell: zeros, before: zeros, after: zeros, multiplier: zeros };
        let mut cells = Cells { count: count.min(CHUNK), x: none, y: none, nearest: self.nearest };
        let mut at = [zeros; 2];
        load_pairs(grid, first, cells.count, &mut at);
        let [x, y] = &at;
        dispatch(level, Positions { axis: &self.x, grid: x, cells: &mut cells.x });
        dispatch(level, Positions { axis: &self.y, grid: y, cells: &mut cells.y });
        let multipliers = cells.x.multiplier.iter_mut().zip(&mut cells.y.multiplier);
        for ((mx, my), (&x, &y)) in multipliers.zip(cells.x.cell.iter().zip(&cells.y.cell)) {
            if !is_somewhere(x) || !is_somewhere(y) {
                // Not even -0.
                (*mx, *my) = (A::default(), A::default());
            }
        }
        cells
    }
}

/// Reads x and y of `count` points.
fn load_pairs<T: Element>(grid: &Planes<&[T]>, first: usize, count: usize, [x, y]: &mut [Each<T::Acc>; 2]) {
    if let Some(pairs) = grid.pairs(first, count) {
        for ((x, y), [gx, gy]) in x.iter_mut().zip(y).zip(pairs) {
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
    pub(crate) fn corners(&self, window: &Window) -> Each<[usize; 4]> {
        let mut corners = [[ABSENT; 4]; CHUNK];
        for ((corners, x), y) in corners.iter_mut().zip(&self.x.cell).zip(&self.y.cell).take(self.count) {
            let (x, y) = (x.to_isize(), y.to_isize());
            let (west, north) = (window.column(x), window.row(y));
            *corners = if self.nearest {
                [north.wrapping_add(west), ABSENT, ABSENT, ABSENT]
            } else {
                let (east, south) = (window.column(x.wrapping_add(1)), window.row(y.wrapping_add(1)));
                [north.wrapping_add(west), north.wrapping_add(east), south.wrapping_add(west), south.wrapping_add(east)]
            };
        }
        corners
    }

    /// The distances of point `k`.
    #[inline(always)]
    pub(crate) fn distances(&self, k: usize) -> Option<Distances<A>> {
        let (x, y) = (&self.x, &self.y);
        Some(Distances { before: [*x.before.get(k)?, *y.before.get(k)?], after: [*x.after.get(k)?, *y.after.get(k)?] })
    }

    /// Weights of those pixels.
    pub(crate) fn weights(&self) -> Each<[A; 4]> {
        let mut weights = [[A::ONE; 4]; CHUNK];
        if self.nearest {
            return weights;
        }
        let x = self.x.before.iter().zip(&self.x.after);
        let y = self.y.before.iter().zip(&self.y.after);
        for (weights, ((&bx, &ax), (&by, &ay))) in weights.iter_mut().zip(x.zip(y)).take(self.count) {
            *weights = [bx * by, ax * by, bx * ay, ax * ay];
        }
        weights
    }
}

/// Whether any of the pixels is there.
pub(crate) fn any_present(corners: &Each<[usize; 4]>) -> bool {
    corners.as_flattened().iter().any(|&at| at < ABSENT)
}
