//! From a grid point to a position in pixels, a vector of points at a time.
//!
//! All of it is computed in the compute type, in the order that `docs/numerics.md` states.

use ubtile_tiling::grid_sampler_2d_backward::{Interpolation, PaddingMode, Problem};

use super::cells::{AxisCells, Each, lanes, lanes_of, put};
use crate::simd::{Isa, MOST_LANES, Real, Vector};

/// What an axis of the image makes of grid values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Axis<A> {
    /// Pixels.
    size: A,
    /// The last pixel.
    last: A,
    align_corners: bool,
    /// `None` for bicubic, whose taps are padded, not its centre.
    padding: Option<PaddingMode>,
    nearest: bool,
}

/// Bicubic centres lie at least at minus this and below this.
fn last_cell<A: Real>() -> A {
    A::from_usize(1 << 31)
}

/// Where points lie that mix no pixel: nothing else is as far to the left.
fn nowhere<A: Real>() -> A {
    -(last_cell::<A>() + last_cell::<A>())
}

/// Whether a point with this cell mixes any pixel.
#[inline(always)]
pub(crate) fn is_somewhere<A: Real>(cell: A) -> bool {
    cell > nowhere()
}

/// Mask of the points with these cells that mix any pixel.
#[inline(always)]
pub(crate) fn somewhere<S: Isa, V: Vector<S>>(isa: S, cell: V) -> V {
    V::splat(isa, nowhere()).lt(cell)
}

impl<A: Real> Axis<A> {
    pub(crate) fn new(problem: &Problem, size: usize) -> Self {
        Self {
            size: A::from_usize(size),
            last: A::from_usize(size.saturating_sub(1)),
            align_corners: problem.align_corners,
            padding: (problem.interpolation != Interpolation::Bicubic).then_some(problem.padding_mode),
            nearest: problem.interpolation == Interpolation::Nearest,
        }
    }

    /// Finds the cells of the first `count` points of a chunk, whose grid values `at` has and loses.
    #[inline(always)]
    pub(crate) fn cells<S: Isa>(&self, isa: S, at: &mut Each<A>, count: usize, cells: &mut AxisCells<A>) {
        self.place(isa, count, at, &mut cells.multiplier);
        for k in (0..count).step_by(lanes_of::<S, A>()) {
            let at = lanes(isa, at, k);
            let cell = if self.nearest { nearest_even::<S, A>(isa, at) } else { at.floor() };
            put::<S, _, _>(cell, &mut cells.cell, k);
            put::<S, _, _>((cell + splat::<S, A>(isa, A::ONE)) - at, &mut cells.before, k);
            put::<S, _, _>(at - cell, &mut cells.after, k);
        }
    }

    /// Turns the grid values of `count` points into where they lie, in pixels, and finds what their gradients along the axis are
    /// multiplied with. One that mixes no pixel lies [`nowhere`], with multiplier 0. Each step goes over all points before the
    /// next one does, so that what depends on the problem is asked once for all.
    #[inline(always)]
    pub(crate) fn place<S: Isa, const N: usize>(&self, isa: S, count: usize, at: &mut [A; N], multiplier: &mut [A; N]) {
        let (one, half, zero) = (splat(isa, A::ONE), splat(isa, A::HALF), splat(isa, A::default()));
        let (size, last) = (splat(isa, self.size), splat(isa, self.last));
        let vectors = || (0..count).step_by(lanes_of::<S, A>());
        let scale = if self.align_corners {
            for k in vectors() {
                put::<S, _, _>(((lanes(isa, at, k) + one) * half) * last, at, k);
            }
            last * half
        } else {
            for k in vectors() {
                put::<S, _, _>(((lanes(isa, at, k) + one) * size - one) * half, at, k);
            }
            size * half
        };
        // The nearest pixel has no gradient.
        let scale = if self.nearest { zero } else { scale };
        let reflects = self.padding == Some(PaddingMode::Reflection);
        if reflects {
            for k in vectors() {
                let (there, scale) = self.reflect(isa, lanes(isa, at, k), scale);
                put::<S, _, _>(there, at, k);
                put::<S, _, _>(scale, multiplier, k);
            }
        }
        let clips = reflects || self.padding == Some(PaddingMode::Border);
        let (low, high) = if self.padding.is_some() {
            (zero - one, size)
        } else {
            // A bicubic centre has taps on both sides wherever it is, as far as 32-bit integers go.
            (splat(isa, -last_cell::<A>()), splat(isa, last_cell::<A>()))
        };
        for k in vectors() {
            let (mut there, mut scale) = (lanes(isa, at, k), if reflects { lanes(isa, multiplier, k) } else { scale });
            if clips {
                (there, scale) = self.clip(isa, there, scale);
            }
            let inside = low.le(there).and(there.lt(high));
            put::<S, _, _>(Vector::select(inside, there, splat(isa, nowhere::<A>())), at, k);
            put::<S, _, _>(inside.and(scale), multiplier, k);
        }
    }

    /// To the image; nothing changes with a point on its border or beyond it.
    #[inline(always)]
    fn clip<S: Isa>(&self, isa: S, at: A::V<S>, multiplier: A::V<S>) -> (A::V<S>, A::V<S>) {
        let (zero, last) = (splat(isa, A::default()), splat(isa, self.last));
        let (below, above) = (at.le(zero), last.le(at));
        let at = Vector::select(below, zero, Vector::select(above, last, at));
        (at, Vector::select(below.or(above), zero, multiplier))
    }

    /// Mirrors at the centres of the border pixels (`align_corners`) or at their outer edges.
    #[inline(always)]
    fn reflect<S: Isa>(&self, isa: S, at: A::V<S>, scale: A::V<S>) -> (A::V<S>, A::V<S>) {
        let (zero, half) = (splat(isa, A::default()), splat(isa, A::HALF));
        let (min, span) = if self.align_corners { (zero, self.last) } else { (zero - half, self.size) };
        // Not finite: the product is NaN, and so is the result.
        let defect = at * zero;
        let finite = defect.eq(zero);
        if span == A::default() {
            return (Vector::select(finite, zero, defect), zero);
        }
        let distance = at - min;
        let negative = distance.lt(zero);
        let distance = distance.abs();
        let (extra, odd) = fold::<S, A>(isa, distance, span, finite);
        let spans = splat(isa, span);
        let (from_low, from_high) = (extra + min, (spans - extra) + min);
        let there = Vector::select(odd, from_high, from_low);
        // Each flip turns the direction.
        let turned = Vector::select(
            negative,
            Vector::select(odd, scale, zero - scale),
            Vector::select(odd, zero - scale, scale),
        );
        (Vector::select(finite, there, defect), turned)
    }
}

/// `distance` modulo `span`, exactly, and a mask of where the quotient is odd.
#[inline(always)]
fn fold<S: Isa, A: Real>(isa: S, distance: A::V<S>, span: A, finite: A::V<S>) -> (A::V<S>, A::V<S>) {
    let (spans, zero) = (splat(isa, span), splat(isa, A::default()));
    let (half, even_from) = (splat(isa, A::HALF), splat(isa, A::from_usize(1 << 24)));
    let flips = (distance / spans).floor();
    let half_flips = flips * half;
    let odd = half_flips.floor().lt(half_flips).and(flips.lt(even_from));
    // Below two spans, subtracting is exact.
    let once = Vector::select(distance.lt(spans), distance, distance - spans);
    let far = (spans + spans).le(distance).and(finite);
    if !A::V::<S>::any(far) {
        return (once, odd);
    }
    let mut lanes = [A::default(); MOST_LANES];
    distance.store(&mut lanes);
    for lane in lanes.iter_mut().take(A::V::<S>::LANES) {
        if *lane * A::default() == A::default() {
            *lane = remainder(*lane, span);
        }
    }
    (Vector::select(finite, Vector::load(isa, &lanes), zero), odd)
}

/// What is left of a finite number without all whole multiples of `by`, which is above 0. Exact, as each step is: the difference
/// of two numbers of which none is more than twice the other. Libraries' own take several times the code.
#[inline(never)]
fn remainder<A: Real>(mut number: A, by: A) -> A {
    let mut multiple = by;
    while multiple + multiple < number {
        multiple = multiple + multiple;
    }
    while by <= multiple {
        while multiple <= number {
            number = number - multiple;
        }
        multiple = multiple * A::HALF;
    }
    number
}

/// `at` rounded to an integer, ties to even.
#[inline(always)]
pub(crate) fn nearest_even<S: Isa, A: Real>(isa: S, at: A::V<S>) -> A::V<S> {
    let (half, one, floor) = (splat(isa, A::HALF), splat(isa, A::ONE), at.floor());
    let next = floor + one;
    let rest = at - floor;
    let half_floor = floor * half;
    let odd = half_floor.floor().lt(half_floor);
    Vector::select(half.lt(rest).or(half.eq(rest).and(odd)), next, floor)
}

/// A value in every lane.
#[inline(always)]
pub(crate) fn splat<S: Isa, A: Real>(isa: S, value: A) -> A::V<S> {
    Vector::splat(isa, value)
}
