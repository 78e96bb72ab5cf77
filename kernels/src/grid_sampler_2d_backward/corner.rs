//! The four pixels around each point of a vector.
//!
//! They are two pairs of neighbours in two rows, at fixed distances from the point's *corner* pixel. Where a point lies on the
//! border of the image or beyond it, the corner moves to the nearest pixel that has such neighbours, and masks tell which pixels
//! are the point's. So every point reads four pixels and adds to four without a branch. Where all points of a run lie inside, all
//! pixels are theirs, and nothing of that is computed.

use super::cells::{lanes, put};
use super::coordinates::{somewhere, splat};
use crate::simd::{Isa, Real, Vector};

/// Where the points of a run lie along an axis.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Places<A, const N: usize> {
    /// In pixels.
    pub(crate) at: [A; N],
    /// The pixel at it or before it.
    cell: [A; N],
    /// What the gradient along the axis is multiplied with.
    pub(crate) multiplier: [A; N],
}

/// The first of the two neighbours on an axis of `size` pixels, and a mask of where it is not the cell.
#[inline(always)]
fn neighbour<S: Isa, A: Real>(isa: S, cell: A::V<S>, size: usize) -> (A::V<S>, A::V<S>) {
    let (zero, last) = (splat(isa, A::default()), splat(isa, A::from_usize(size.saturating_sub(1))));
    let (below, beyond) = (cell.lt(zero), last.le(cell));
    let at = Vector::select(below, zero, Vector::select(beyond, last - splat(isa, A::ONE), cell));
    (at, below.or(beyond))
}

impl<A: Real, const N: usize> Places<A, N> {
    pub(crate) fn new() -> Self {
        let zeros = [A::default(); N];
        Self { at: zeros, cell: zeros, multiplier: zeros }
    }
}

/// Finds the cells of points `k..` of a run, whose places lack them, in an image of that height and width, both at least 2. Gives the
/// numbers of their corners, and a mask of those that the image has not all four pixels of: only of the others if they are sought
/// `INSIDE`.
#[inline(always)]
pub(crate) fn locate<S: Isa, A: Real, const INSIDE: bool, const N: usize>(
    isa: S,
    [height, width]: [usize; 2],
    [x, y]: &mut [Places<A, N>; 2],
    k: usize,
) -> (A::V<S>, A::V<S>) {
    let (cell_x, cell_y) = (lanes(isa, &x.at, k).floor(), lanes(isa, &y.at, k).floor());
    put::<S, _, _>(cell_x, &mut x.cell, k);
    put::<S, _, _>(cell_y, &mut y.cell, k);
    let ((x, no_x), (y, no_y)) = (neighbour::<S, A>(isa, cell_x, width), neighbour::<S, A>(isa, cell_y, height));
    let (x, y) = if INSIDE { (cell_x, cell_y) } else { (x, y) };
    (number::<S, A>(isa, y, x, width), no_x.or(no_y))
}

/// The number of a pixel; exact, as the plan takes this route only where every one is.
#[inline(always)]
pub(crate) fn number<S: Isa, A: Real>(isa: S, y: A::V<S>, x: A::V<S>, width: usize) -> A::V<S> {
    y * splat(isa, A::from_usize(width)) + x
}

/// The distances of points along an axis, and, unless they lie `INSIDE`, which of two neighbours are their pixels.
#[derive(Clone, Copy, Debug)]
struct Along<S: Isa, A: Real, const INSIDE: bool> {
    /// From the point to the pixel behind its cell, and from its cell to the point.
    before: A::V<S>,
    after: A::V<S>,
    /// Masks: the point's cell is the first of the two; the second; the one in front of them.
    first: A::V<S>,
    second: A::V<S>,
    in_front: A::V<S>,
}

impl<S: Isa, A: Real, const INSIDE: bool> Along<S, A, INSIDE> {
    #[inline(always)]
    fn new<const N: usize>(isa: S, places: &Places<A, N>, k: usize, size: usize) -> Self {
        let (at, cell) = (lanes(isa, &places.at, k), lanes(isa, &places.cell, k));
        let (zero, one) = (splat(isa, A::default()), splat(isa, A::ONE));
        let last = splat(isa, A::from_usize(size.saturating_sub(1)));
        Self {
            before: (cell + one) - at,
            after: at - cell,
            first: zero.le(cell).and(cell.lt(last)),
            second: cell.eq(last),
            in_front: cell.eq(zero - one),
        }
    }

    /// The pixels at the cell and behind it, +0 where there is none, of the two neighbours.
    #[inline(always)]
    fn around(&self, [a, b]: [A::V<S>; 2]) -> [A::V<S>; 2] {
        if INSIDE {
            return [a, b];
        }
        [Vector::select(self.first, a, self.second.and(b)), Vector::select(self.first, b, self.in_front.and(a))]
    }

    /// What the two neighbours weigh.
    #[inline(always)]
    fn weights(&self) -> [A::V<S>; 2] {
        if INSIDE {
            return [self.before, self.after];
        }
        [Vector::select(self.first, self.before, self.after), Vector::select(self.first, self.after, self.before)]
    }

    /// Masks of where they are the point's.
    #[inline(always)]
    fn own(&self) -> [A::V<S>; 2] {
        [self.first.or(self.in_front), self.first.or(self.second)]
    }
}

/// The pixels of points.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Corner<S: Isa, A: Real, const INSIDE: bool> {
    x: Along<S, A, INSIDE>,
    y: Along<S, A, INSIDE>,
    /// What the gradients along x and y are multiplied with.
    pub(crate) multipliers: [A::V<S>; 2],
    /// Mask of the points that have any pixel.
    any: A::V<S>,
}

impl<S: Isa, A: Real, const INSIDE: bool> Corner<S, A, INSIDE> {
    /// Those of points `k..` of a run.
    #[inline(always)]
    pub(crate) fn new<const N: usize>(
        isa: S,
        [x, y]: &[Places<A, N>; 2],
        k: usize,
        [height, width]: [usize; 2],
    ) -> Self {
        let mut multipliers = [lanes(isa, &x.multiplier, k), lanes(isa, &y.multiplier, k)];
        if !INSIDE {
            // A point that lies nowhere along one axis has no gradient along the other, not even -0.
            let there = somewhere(isa, lanes(isa, &x.cell, k)).and(somewhere(isa, lanes(isa, &y.cell, k)));
            multipliers = multipliers.map(|multiplier| there.and(multiplier));
        }
        let (x, y) = (Along::<S, A, INSIDE>::new(isa, x, k, width), Along::<S, A, INSIDE>::new(isa, y, k, height));
        let ([west, east], [north, south]) = (x.own(), y.own());
        Self { x, y, multipliers, any: west.or(east).and(north.or(south)) }
    }

    /// What a channel adds to the corner, the pixel behind it, and the two below, from its `grad_output`.
    #[inline(always)]
    pub(crate) fn terms(&self, grad_output: A::V<S>) -> [A::V<S>; 4] {
        let ([left, right], [top, bottom]) = (self.x.weights(), self.y.weights());
        let ([west, east], [north, south]) = (self.x.own(), self.y.own());
        let term = |weight: A::V<S>, own: A::V<S>| {
            let term = weight * grad_output;
            if INSIDE { term } else { own.and(term) }
        };
        [
            term(left * top, west.and(north)),
            term(right * top, east.and(north)),
            term(left * bottom, west.and(south)),
            term(right * bottom, east.and(south)),
        ]
    }

    /// What it adds to the gradients along x and y, from the pixels: two and the two below.
    #[inline(always)]
    pub(crate) fn gradients(&self, grad_output: A::V<S>, [above, below]: [[A::V<S>; 2]; 2]) -> [A::V<S>; 2] {
        let ([nw, ne], [sw, se]) = (self.x.around(above), self.x.around(below));
        let ([nw, sw], [ne, se]) = (self.y.around([nw, sw]), self.y.around([ne, se]));
        let along_x = (ne - nw) * self.y.before + (se - sw) * self.y.after;
        let along_y = (sw - nw) * self.x.before + (se - ne) * self.x.after;
        let gradients = [grad_output * along_x, grad_output * along_y];
        if INSIDE { gradients } else { gradients.map(|gradient| self.any.and(gradient)) }
    }
}
