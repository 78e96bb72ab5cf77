//! A few points at a time: the cells they lie in, and the pixels around them.

use core::ops::Mul;

use ubtile_tiling::grid_sampler_2d_backward::{self, Interpolation, Problem};

use super::coordinates::{Axis, somewhere};
use super::dispatch_points;
use super::load::load_pairs;
use super::planes::Planes;
use super::windows::{ABSENT, Window};
use crate::element::Element;
use crate::level::{Kernel, Level, VECTORS};
use crate::simd::{Isa, Real, Vector};

/// Points that are worked on together; a whole number of vectors at every level.
/// Fewer on small cores, which have little stack.
pub(crate) const CHUNK: usize = if VECTORS { grid_sampler_2d_backward::CHUNK } else { 1 };

/// A value for each point of a chunk.
pub(crate) type Each<T> = [T; CHUNK];

/// Sums along x and along y for each point of a chunk.
pub(crate) type Sums<A> = [Each<A>; 2];

/// Both axes of the image.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Axes<A> {
    pub(crate) x: Axis<A>,
    pub(crate) y: Axis<A>,
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
    pub(crate) nearest: bool,
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
        let mut cells = self.no_cells();
        dispatch_points(level, Find { axes: self, grid, first, count, cells: &mut cells });
        cells
    }

    /// As [`Axis::place`], along x and along y.
    #[inline(always)]
    pub(crate) fn place<S: Isa, const N: usize>(
        &self,
        isa: S,
        count: usize,
        [x, y]: [&mut [A; N]; 2],
        [multiplier_x, multiplier_y]: [&mut [A; N]; 2],
    ) {
        self.x.place(isa, count, x, multiplier_x);
        self.y.place(isa, count, y, multiplier_y);
    }

    /// A chunk without points.
    pub(crate) fn no_cells(&self) -> Cells<A> {
        Cells::none(self.nearest)
    }
}

/// Finds the cells of `count` points from `first` on, at least one and at most a chunk.
#[derive(Debug)]
pub(crate) struct Find<'a, 'b, T: Element> {
    pub(crate) axes: &'a Axes<T::Acc>,
    pub(crate) grid: &'a Planes<&'b [T]>,
    pub(crate) first: usize,
    pub(crate) count: usize,
    pub(crate) cells: &'a mut Cells<T::Acc>,
}

impl<T: Element> Kernel for Find<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Isa>(self, isa: S) {
        let Self { axes, grid, first, count, cells } = self;
        // Where one point is all that a chunk holds, the compiler sees that there is one.
        let count = if CHUNK == 1 { 1 } else { count.min(CHUNK) };
        cells.count = count;
        let mut at = [[T::Acc::default(); CHUNK]; 2];
        let [x, y] = &mut at;
        load_pairs(isa, grid, first, count, [&mut *x, &mut *y]);
        for (axis, at, cells) in [(&axes.x, x, &mut cells.x), (&axes.y, y, &mut cells.y)] {
            axis.cells(isa, at, count, cells);
        }
        // A point that lies nowhere along one axis has no gradient along the other, not even -0.
        let (x, y) = (&mut cells.x, &mut cells.y);
        for k in (0..count).step_by(lanes_of::<S, T::Acc>()) {
            let there = somewhere(isa, lanes(isa, &x.cell, k)).and(somewhere(isa, lanes(isa, &y.cell, k)));
            for multiplier in [&mut x.multiplier, &mut y.multiplier] {
                put::<S, _, _>(there.and(lanes(isa, multiplier, k)), multiplier, k);
            }
        }
    }
}

/// Lanes of a vector.
pub(crate) const fn lanes_of<S: Isa, A: Real>() -> usize {
    A::V::<S>::LANES
}

/// A vector of the values of points from `k` on, a multiple of its lanes. `N` is a power of two.
#[inline(always)]
pub(crate) fn lanes<S: Isa, A: Real, const N: usize>(isa: S, each: &[A; N], k: usize) -> A::V<S> {
    // The compiler sees that a whole vector follows.
    Vector::load(isa, each.get(k & (N - lanes_of::<S, A>())..).unwrap_or(&[]))
}

/// Sets a vector of the values of points from `k` on, a multiple of its lanes.
#[inline(always)]
pub(crate) fn put<S: Isa, A: Real, const N: usize>(values: A::V<S>, each: &mut [A; N], k: usize) {
    values.store(each.get_mut(k & (N - lanes_of::<S, A>())..).unwrap_or(&mut []));
}

impl<A: Real> Cells<A> {
    /// Those of a chunk without points.
    pub(crate) fn none(nearest: bool) -> Self {
        let zeros = [A::default(); CHUNK];
        let none = AxisCells { cell: zeros, before: zeros, after: zeros, multiplier: zeros };
        Self { count: 0, x: none, y: none, nearest }
    }

    /// Offsets of the pixels north-west, north-east, south-west and south-east of each point; the nearest one alone for nearest.
    pub(crate) fn corners(&self, window: &Window, to: &mut Each<[usize; 4]>) {
        for ((corners, &x), &y) in to.iter_mut().zip(&self.x.cell).zip(&self.y.cell).take(self.count) {
            *corners = self.around([x, y], window);
        }
        to.get_mut(self.count..).unwrap_or(&mut []).fill([ABSENT; 4]);
    }

    /// The same of point `k` alone.
    #[inline(never)]
    pub(crate) fn corners_of(&self, k: usize, window: &Window) -> [usize; 4] {
        let (Some(&x), Some(&y)) = (self.x.cell.get(k), self.y.cell.get(k)) else { return [ABSENT; 4] };
        self.around([x, y], window)
    }

    #[inline(always)]
    fn around(&self, [x, y]: [A; 2], window: &Window) -> [usize; 4] {
        let (x, y) = (x.to_isize(), y.to_isize());
        let (west, north) = (window.column(x), window.row(y));
        if self.nearest {
            return [north.wrapping_add(west), ABSENT, ABSENT, ABSENT];
        }
        let (east, south) = (window.column(x.wrapping_add(1)), window.row(y.wrapping_add(1)));
        [north.wrapping_add(west), north.wrapping_add(east), south.wrapping_add(west), south.wrapping_add(east)]
    }

    /// The distances of point `k`.
    #[inline(always)]
    pub(crate) fn distances(&self, k: usize) -> Option<Distances<A>> {
        let (x, y) = (&self.x, &self.y);
        Some(Distances { before: [*x.before.get(k)?, *y.before.get(k)?], after: [*x.after.get(k)?, *y.after.get(k)?] })
    }

    /// Weights of the pixels north-west, north-east, south-west and south-east of a point with these distances.
    #[inline(always)]
    pub(crate) fn weights(&self, distances: Distances<A>) -> [A; 4] {
        if self.nearest { [A::ONE; 4] } else { distances.weights() }
    }
}

impl<V: Copy + Mul<Output = V>> Distances<V> {
    /// As [`Cells::weights`], if not nearest.
    #[inline(always)]
    pub(crate) fn weights(self) -> [V; 4] {
        let Self { before: [bx, by], after: [ax, ay] } = self;
        [bx * by, ax * by, bx * ay, ax * ay]
    }
}

/// Whether any of the pixels is there.
pub(crate) fn any_present(corners: &Each<[usize; 4]>) -> bool {
    corners.as_flattened().iter().any(|&at| at < ABSENT)
}
