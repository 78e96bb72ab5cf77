//! A few points at a time: the cells they lie in, and the pixels around them.

use core::ops::{Mul, Range};

use ubtile_tiling::grid_sampler_2d_backward::{self, Interpolation, Problem};

use super::coordinates::{Axis, somewhere, splat};
use super::dispatch_points;
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

/// Reads x and y of `count` points, NaN for those behind them.
#[inline(always)]
pub(crate) fn load_pairs<S: Isa, T: Element, const N: usize>(
    isa: S,
    grid: &Planes<&[T]>,
    first: usize,
    count: usize,
    [x, y]: [&mut [T::Acc; N]; 2],
) {
    if VECTORS && let Some(pairs) = grid.pairs(first, count) {
        // Of a whole run the compiler sees the length.
        match pairs.first_chunk::<N>() {
            Some(pairs) => load_apart(isa, pairs, [&mut *x, &mut *y]),
            None => load_apart(isa, pairs, [&mut *x, &mut *y]),
        }
    } else {
        for (k, (x, y)) in x.iter_mut().zip(y.iter_mut()).enumerate().take(count) {
            let offset = grid.offset(first.wrapping_add(k));
            (*x, *y) = (grid.widen(offset), grid.widen(offset.wrapping_add(grid.channel)));
        }
    }
    for values in [x, y] {
        values.get_mut(count..).unwrap_or(&mut []).fill(T::Acc::NAN);
    }
}

/// Reads x and y of pairs, at most `N`.
#[inline(always)]
fn load_apart<S: Isa, T: Element, const N: usize>(isa: S, pairs: &[[T; 2]], [x, y]: [&mut [T::Acc; N]; 2]) {
    let width = lanes_of::<S, T::Acc>();
    for k in (0..pairs.len()).step_by(width) {
        let pairs = pairs.get(k..).unwrap_or(&[]).as_flattened();
        // Where nothing is left, the end of the pairs, not `&[]`: a masked load at an address without memory is slow.
        let back = pairs.get(width.min(pairs.len())..).unwrap_or(&[]);
        let [xs, ys] = Vector::deinterleave(isa, [T::load(isa, pairs), T::load(isa, back)]);
        put::<S, _, _>(xs, x, k);
        put::<S, _, _>(ys, y, k);
    }
}

/// Reads channels of `points`, at most `N`, from `first` on. Gives 0, or NaN where a value is not finite.
#[inline(always)]
pub(crate) fn load_channels<S: Isa, T: Element, const N: usize>(
    isa: S,
    planes: &Planes<&[T]>,
    first: usize,
    points: Range<usize>,
    to: &mut [[T::Acc; N]],
) -> <T::Acc as Real>::V<S> {
    let zero = splat(isa, T::Acc::default());
    let (mut defect, (at, run)) = (zero, planes.run(&points, N));
    let at = at.wrapping_add(first.wrapping_mul(planes.channel));
    if planes.column == 1 && run == points.len() {
        for (c, to) in to.iter_mut().enumerate() {
            let at = at.wrapping_add(c.wrapping_mul(planes.channel));
            let from = planes.data.get(at..at.wrapping_add(run)).unwrap_or(&[]);
            // Of a whole run the compiler sees the length.
            defect = defect
                + match from.first_chunk::<N>() {
                    Some(from) => load_row(isa, from, to),
                    None => load_row(isa, from, to),
                };
        }
        return defect;
    }
    if planes.channel == 1 && run == points.len() {
        let pixels = planes.data.get(at..).unwrap_or(&[]);
        if (2..=4).contains(&planes.column) && planes.column == to.len() {
            load_whole_pixels(isa, pixels, run, to);
        } else {
            load_pixels(isa.quad(), pixels, planes.column, run, to);
        }
    } else {
        for (c, to) in (first..).zip(&mut *to) {
            for (point, to) in points.clone().zip(to) {
                *to = planes.widen(planes.offset(point).wrapping_add(c.wrapping_mul(planes.channel)));
            }
        }
    }
    for to in to {
        for k in (0..points.len()).step_by(lanes_of::<S, T::Acc>()) {
            defect = defect + lanes(isa, to, k) * zero;
        }
    }
    defect
}

/// Reads `count` pixels, at most `N`, of two to four channels that lie side by side, without gaps.
#[inline(always)]
fn load_whole_pixels<S: Isa, T: Element, const N: usize>(isa: S, pixels: &[T], count: usize, to: &mut [[T::Acc; N]]) {
    let width = lanes_of::<S, T::Acc>();
    for k in (0..count).step_by(width) {
        let pixels = pixels.get(k.wrapping_mul(to.len())..).unwrap_or(&[]);
        match to {
            [a, b] => put_each::<S, _, _, _>(Vector::deinterleave(isa, load_each(isa, pixels)), [a, b], k),
            [a, b, c] => {
                put_each::<S, _, _, _>(Vector::deinterleave_three(isa, load_each(isa, pixels)), [a, b, c], k);
            }
            [a, b, c, d] => {
                put_each::<S, _, _, _>(Vector::deinterleave_four(isa, load_each(isa, pixels)), [a, b, c, d], k);
            }
            _ => {}
        }
    }
}

/// Vectors of values one behind the other.
#[inline(always)]
fn load_each<S: Isa, T: Element, const C: usize>(isa: S, from: &[T]) -> [<T::Acc as Real>::V<S>; C] {
    let mut each = [splat(isa, T::Acc::default()); C];
    for (k, vector) in each.iter_mut().enumerate() {
        *vector = T::load(isa, from.get(k.wrapping_mul(lanes_of::<S, T::Acc>())..).unwrap_or(&[]));
    }
    each
}

/// Sets a vector of the values of points from `k` on in each of some channels.
#[inline(always)]
fn put_each<S: Isa, A: Real, const C: usize, const N: usize>(each: [A::V<S>; C], to: [&mut [A; N]; C], k: usize) {
    for (values, to) in each.into_iter().zip(to) {
        put::<S, _, _>(values, to, k);
    }
}

/// Reads channels of `count` pixels, at most `N`, which lie `step` apart and whose channels lie side by side.
#[inline(always)]
fn load_pixels<S: Isa, T: Element, const N: usize>(
    isa: S,
    pixels: &[T],
    step: usize,
    count: usize,
    to: &mut [[T::Acc; N]],
) {
    let width = lanes_of::<S, T::Acc>();
    for first in (0..to.len()).step_by(width) {
        let (mut pixels, to) = (pixels.get(first..).unwrap_or(&[]), to.get_mut(first..).unwrap_or_default());
        for k in (0..count).step_by(width) {
            Vector::transpose(
                #[inline(always)]
                |_| {
                    let channels = T::load(isa, pixels);
                    pixels = pixels.get(step..).unwrap_or(&[]);
                    channels
                },
                #[inline(always)]
                |c, values| {
                    if let Some(to) = to.get_mut(c) {
                        put::<S, _, _>(values, to, k);
                    }
                },
            );
        }
    }
}

/// Reads values that lie side by side, at most `N`. Gives 0, or NaN where one is not finite.
#[inline(always)]
fn load_row<S: Isa, T: Element, const N: usize>(isa: S, from: &[T], to: &mut [T::Acc; N]) -> <T::Acc as Real>::V<S> {
    let zero = splat(isa, T::Acc::default());
    let mut defect = zero;
    for k in (0..from.len()).step_by(lanes_of::<S, T::Acc>()) {
        let values = T::load(isa, from.get(k..).unwrap_or(&[]));
        defect = defect + values * zero;
        put::<S, _, _>(values, to, k);
    }
    defect
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
