//! Points side by side: for images of a few channels, a vector holds a value of each of several points.
//!
//! Coordinates, weights and gradients are computed for a vector of points at once. A point's four pixels are two pairs of
//! neighbours, in two rows, at fixed distances from its *corner* pixel. Where a point lies on the border of the image or beyond
//! it, the corner moves to the nearest pixel that has such neighbours, and masks tell which pixels are the point's. So every
//! point reads four pixels and adds to four without a branch; one that is not its own gets +0, which changes no sum, because a
//! sum that starts at +0 never becomes -0. Terms are added point by point, which keeps the order of the sums.

use core::ops::Range;

use super::cells::{Axes, AxisCells, CHUNK, Cells, Each, Find, lanes, lanes_of, put, within};
use super::coordinates::splat;
use super::grid_grad::{GridGrad, Put};
use super::planes::Planes;
use crate::element::Element;
use crate::level::Kernel;
use crate::simd::{Isa, Real, Vector};

/// Some points of an image of a few channels, bilinear or nearest.
#[derive(Debug)]
pub(crate) struct PointLanes<'a, 'b, T: Element> {
    pub(crate) axes: Axes<T::Acc>,
    /// Rows and columns of the image, at least 2 each.
    pub(crate) size: [usize; 2],
    pub(crate) points: Range<usize>,
    pub(crate) grid: Planes<&'a [T]>,
    pub(crate) grad_output: Planes<&'a [T]>,
    /// The planes of the image; empty when it is not read.
    pub(crate) input: Packed<&'a [T::Acc]>,
    /// The planes `added` of its gradient, to be added to; empty when it is not wanted.
    pub(crate) input_grad: Packed<&'b mut [T::Acc]>,
    pub(crate) channels: usize,
    pub(crate) added: Range<usize>,
    /// Where the gradients of the points go, if they are made.
    pub(crate) grid_grad: Option<&'b mut GridGrad<'a, T>>,
}

/// Planes without gaps between rows and columns. `D` is a slice of numbers, to read or to write.
#[derive(Debug)]
pub(crate) struct Packed<D> {
    /// From the first plane on.
    pub(crate) data: D,
    /// From one plane to the next.
    pub(crate) channel: usize,
}

/// What a chunk of points is to an axis.
#[derive(Clone, Copy, Debug)]
struct Neighbours<A> {
    /// The first of two neighbours.
    at: Each<A>,
    /// Masks: the cell is the first of the two; the second; the one before them.
    first: Each<A>,
    second: Each<A>,
    before: Each<A>,
}

/// The pixels of a chunk of points, and their weights.
#[derive(Clone, Copy, Debug)]
struct Corners<A> {
    /// The corner pixels.
    at: Each<u32>,
    x: Neighbours<A>,
    y: Neighbours<A>,
    /// Weights of the corner, the pixel behind it, and those below the two.
    weights: [Each<A>; 4],
    /// Masks of where they are the point's.
    own: [Each<A>; 4],
    /// Masks of the points that have any pixel.
    any: Each<A>,
}

impl<T: Element> Kernel for PointLanes<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Isa>(mut self, isa: S) {
        let zeros = [T::Acc::default(); CHUNK];
        let none = Neighbours { at: zeros, first: zeros, second: zeros, before: zeros };
        let mut corners =
            Corners { at: [0; CHUNK], x: none, y: none, weights: [zeros; 4], own: [zeros; 4], any: zeros };
        let mut cells = self.axes.no_cells();
        for first in self.points.clone().step_by(CHUNK) {
            let count = self.points.end.wrapping_sub(first).min(CHUNK);
            Find { axes: &self.axes, grid: &self.grid, first, count, cells: &mut cells }.run(isa);
            corners.find(isa, &cells, self.size);
            // Channels 0 and 2, and 1 and 3, are added first: that is how eight lanes of sums are halved.
            let (mut even, mut odd) = ([zeros; 2], [zeros; 2]);
            for c in 0..self.channels {
                let adds = self.added.contains(&c) && !self.input_grad.data.is_empty();
                if !adds && self.input.data.is_empty() {
                    continue;
                }
                let grad_output = self.grad_output(isa, c, first..first.wrapping_add(count));
                let sums = if c & 1 == 0 { &mut even } else { &mut odd };
                self.gradients(isa, &cells, &corners, c, &grad_output, sums);
                if adds {
                    self.scatter(isa, &cells, &corners, c, &grad_output);
                }
            }
            let Some(grid_grad) = self.grid_grad.as_mut() else { continue };
            for (even, odd) in even.iter_mut().zip(&odd) {
                for k in (0..CHUNK).step_by(lanes_of::<S, T::Acc>()) {
                    put::<S, _>(lanes(isa, even, k) + lanes(isa, odd, k), even, k);
                }
            }
            Put { grid_grad, cells: &cells, at: first, sums: &mut even }.run(isa);
        }
    }
}

impl<A: Real> Neighbours<A> {
    /// Those of the points that lie in `cells` of `size` pixels. The cell is one of them or the pixel before or behind.
    #[inline(always)]
    fn find<S: Isa>(&mut self, isa: S, cells: &AxisCells<A>, k: usize, size: usize) -> [A::V<S>; 4] {
        let (zero, one) = (splat(isa, A::default()), splat(isa, A::ONE));
        let last = splat(isa, A::from_usize(size.saturating_sub(1)));
        let cell = lanes(isa, &cells.cell, k);
        let (from, to) = (lanes(isa, &cells.before, k), lanes(isa, &cells.after, k));
        let at = Vector::select(cell.lt(zero), zero, Vector::select(cell.lt(last), cell, last - one));
        let (first, second, before) = (cell.eq(at), cell.eq(last), cell.eq(zero - one));
        put::<S, _>(at, &mut self.at, k);
        put::<S, _>(first, &mut self.first, k);
        put::<S, _>(second, &mut self.second, k);
        put::<S, _>(before, &mut self.before, k);
        [Vector::select(first, from, to), Vector::select(first, to, from), first.or(before), first.or(second)]
    }

    /// The pixels at the cell and behind it, +0 where there is none, of the two neighbours.
    #[inline(always)]
    fn around<S: Isa>(&self, isa: S, k: usize, [a, b]: [A::V<S>; 2]) -> [A::V<S>; 2] {
        let (first, second) = (lanes(isa, &self.first, k), lanes(isa, &self.second, k));
        let before = lanes(isa, &self.before, k);
        [Vector::select(first, a, second.and(b)), Vector::select(first, b, before.and(a))]
    }
}

impl<A: Real> Corners<A> {
    #[inline(always)]
    fn find<S: Isa>(&mut self, isa: S, cells: &Cells<A>, [height, width]: [usize; 2]) {
        for k in (0..cells.count).step_by(lanes_of::<S, A>()) {
            if cells.nearest {
                let (x, in_width) = pixels(isa, &cells.x, k, width);
                let (y, in_height) = pixels(isa, &cells.y, k, height);
                put::<S, _>(in_width.and(in_height), &mut self.any, k);
                self.put_index(isa, y, x, width, k);
                continue;
            }
            let [left, right, in_left, in_right] = self.x.find(isa, &cells.x, k, width);
            let [top, bottom, in_top, in_bottom] = self.y.find(isa, &cells.y, k, height);
            let (x, y) = (lanes(isa, &self.x.at, k), lanes(isa, &self.y.at, k));
            self.put_index(isa, y, x, width, k);
            put::<S, _>(in_left.or(in_right).and(in_top.or(in_bottom)), &mut self.any, k);
            let [a, b, c, d] = &mut self.weights;
            put::<S, _>(left * top, a, k);
            put::<S, _>(right * top, b, k);
            put::<S, _>(left * bottom, c, k);
            put::<S, _>(right * bottom, d, k);
            let [a, b, c, d] = &mut self.own;
            put::<S, _>(in_left.and(in_top), a, k);
            put::<S, _>(in_right.and(in_top), b, k);
            put::<S, _>(in_left.and(in_bottom), c, k);
            put::<S, _>(in_right.and(in_bottom), d, k);
        }
    }

    /// Exact: the plan takes this route only where every index is.
    #[inline(always)]
    fn put_index<S: Isa>(&mut self, isa: S, y: A::V<S>, x: A::V<S>, width: usize, k: usize) {
        let index = y * splat(isa, A::from_usize(width)) + x;
        index.store_indices(self.at.get_mut(within::<S, A>(k)..).unwrap_or(&mut []));
    }
}

/// The pixels that points have along an axis of `size`, +0 elsewhere, and a mask of where they have one.
#[inline(always)]
fn pixels<S: Isa, A: Real>(isa: S, cells: &AxisCells<A>, k: usize, size: usize) -> (A::V<S>, A::V<S>) {
    let cell = lanes(isa, &cells.cell, k);
    let there = splat(isa, A::default()).le(cell).and(cell.lt(splat(isa, A::from_usize(size))));
    (there.and(cell), there)
}

impl<T: Element> PointLanes<'_, '_, T> {
    /// Reads `grad_output` of at most a chunk of points.
    #[inline(always)]
    fn grad_output<S: Isa>(&self, isa: S, c: usize, points: Range<usize>) -> Each<T::Acc> {
        let (planes, channel) = (&self.grad_output, c.wrapping_mul(self.grad_output.channel));
        let mut to = [T::Acc::default(); CHUNK];
        let (at, run) = planes.run(&points, CHUNK);
        if planes.column != 1 || run != points.len() {
            for (point, to) in points.zip(&mut to) {
                *to = planes.widen(planes.offset(point).wrapping_add(channel));
            }
            return to;
        }
        let at = at.wrapping_add(channel);
        let from = planes.data.get(at..at.wrapping_add(run)).unwrap_or(&[]);
        for k in (0..run).step_by(lanes_of::<S, T::Acc>()) {
            put::<S, _>(T::load(isa, from.get(k..).unwrap_or(&[])), &mut to, k);
        }
        to
    }

    /// Adds what a channel gives the gradients of points to their sums along x and y.
    #[inline(always)]
    fn gradients<S: Isa>(
        &self,
        isa: S,
        cells: &Cells<T::Acc>,
        corners: &Corners<T::Acc>,
        c: usize,
        grad_output: &Each<T::Acc>,
        [sums_x, sums_y]: &mut [Each<T::Acc>; 2],
    ) {
        let Some(plane) = self.input.data.get(c.wrapping_mul(self.input.channel)..) else { return };
        let Some(below) = plane.get(self.size[1]..) else { return };
        let (x, y) = (&cells.x, &cells.y);
        for k in (0..cells.count).step_by(lanes_of::<S, T::Acc>()) {
            let at = corners.at.get(within::<S, T::Acc>(k)..).unwrap_or(&[]);
            let (above, below) = (Vector::pairs(isa, plane, at), Vector::pairs(isa, below, at));
            let ([nw, ne], [sw, se]) = (corners.x.around(isa, k, above), corners.x.around(isa, k, below));
            let ([nw, sw], [ne, se]) = (corners.y.around(isa, k, [nw, sw]), corners.y.around(isa, k, [ne, se]));
            let (by, ay) = (lanes(isa, &y.before, k), lanes(isa, &y.after, k));
            let (bx, ax) = (lanes(isa, &x.before, k), lanes(isa, &x.after, k));
            let (any, go) = (lanes(isa, &corners.any, k), lanes(isa, grad_output, k));
            let slope_x = (ne - nw) * by + (se - sw) * ay;
            let slope_y = (sw - nw) * bx + (se - ne) * ax;
            put::<S, _>(lanes(isa, sums_x, k) + any.and(go * slope_x), sums_x, k);
            put::<S, _>(lanes(isa, sums_y, k) + any.and(go * slope_y), sums_y, k);
        }
    }

    /// Adds what points give their pixels in a channel.
    #[inline(always)]
    fn scatter<S: Isa>(
        &mut self,
        isa: S,
        cells: &Cells<T::Acc>,
        corners: &Corners<T::Acc>,
        c: usize,
        grad_output: &Each<T::Acc>,
    ) {
        let first = c.wrapping_sub(self.added.start).wrapping_mul(self.input_grad.channel);
        let plane = self.input_grad.data.get_mut(first..).unwrap_or(&mut []);
        let mut terms = [[T::Acc::default(); CHUNK]; 4];
        if cells.nearest {
            let [terms, ..] = &mut terms;
            for k in (0..cells.count).step_by(lanes_of::<S, T::Acc>()) {
                put::<S, _>(lanes(isa, &corners.any, k).and(lanes(isa, grad_output, k)), terms, k);
            }
            for (&at, &term) in corners.at.iter().zip(&*terms).take(cells.count) {
                add(plane, at as usize, term);
            }
            return;
        }
        for ((terms, weights), own) in terms.iter_mut().zip(&corners.weights).zip(&corners.own) {
            for k in (0..cells.count).step_by(lanes_of::<S, T::Acc>()) {
                put::<S, _>(lanes(isa, own, k).and(lanes(isa, weights, k) * lanes(isa, grad_output, k)), terms, k);
            }
        }
        let [a, b, c, d] = &terms;
        for k in 0..cells.count.min(CHUNK) {
            let at = corners.at[k] as usize;
            let below = at.wrapping_add(self.size[1]);
            // One by one: a vector waits long for a part of it that was just written by another vector.
            add(plane, at, a[k]);
            add(plane, at.wrapping_add(1), b[k]);
            add(plane, below, c[k]);
            add(plane, below.wrapping_add(1), d[k]);
        }
    }
}

/// Adds a term to a sum.
#[inline(always)]
fn add<A: Real>(sums: &mut [A], at: usize, term: A) {
    if let Some(sum) = sums.get_mut(at) {
        *sum = *sum + term;
    }
}
