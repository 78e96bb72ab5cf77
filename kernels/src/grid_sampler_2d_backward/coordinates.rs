//! From a grid point to a position in pixels, a vector of points at a time.
//!
//! All of it is computed in the compute type, in the order that `docs/numerics.md` states.

use ubtile_tiling::grid_sampler_2d_backward::{Interpolation, PaddingMode, Problem};

use super::cells::{AxisCells, Each, lanes, lanes_of, put};
use crate::simd::{Isa, Real, Vector};

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

/// Where a vector of points lies along an axis.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Position<V> {
    /// In pixels.
    pub(crate) at: V,
    /// The pixel at it or before it; for nearest the nearest one.
    pub(crate) cell: V,
    /// What the gradient along the axis is multiplied with.
    pub(crate) multiplier: V,
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

    /// Finds the cells of the first `count` points of a chunk from their grid values.
    #[inline(always)]
    pub(crate) fn positions<S: Isa>(&self, isa: S, grid: &Each<A>, count: usize, cells: &mut AxisCells<A>) {
        // Not `chunks`: a zip of them divides by a length that the compiler must first see is not 0.
        for first in (0..count).step_by(lanes_of::<S, A>()) {
            let p = self.position(isa, lanes(isa, grid, first));
            put::<S, _, _>(p.cell, &mut cells.cell, first);
            put::<S, _, _>((p.cell + splat::<S, A>(isa, A::ONE)) - p.at, &mut cells.before, first);
            put::<S, _, _>(p.at - p.cell, &mut cells.after, first);
            put::<S, _, _>(p.multiplier, &mut cells.multiplier, first);
        }
    }

    /// Where the points with these grid values lie. One that mixes no pixel lies [`nowhere`],
    /// with multiplier 0.
    #[inline(always)]
    pub(crate) fn position<S: Isa>(&self, isa: S, grid: A::V<S>) -> Position<A::V<S>> {
        let (one, half, zero) = (splat(isa, A::ONE), splat(isa, A::HALF), splat(isa, A::default()));
        let (size, last) = (splat(isa, self.size), splat(isa, self.last));
        let (at, scale) = if self.align_corners {
            (((grid + one) * half) * last, last * half)
        } else {
            (((grid + one) * size - one) * half, size * half)
        };
        let (at, multiplier) = match self.padding {
            None | Some(PaddingMode::Zeros) => (at, scale),
            Some(PaddingMode::Border) => self.clip(isa, at, scale),
            Some(PaddingMode::Reflection) => {
                let (at, multiplier) = self.reflect(isa, at, scale);
                self.clip(isa, at, multiplier)
            }
        };
        let (low, high) = if self.padding.is_some() {
            (zero - one, size)
        } else {
            // A bicubic centre has taps on both sides wherever it is, as far as 32-bit integers go.
            (splat(isa, -last_cell::<A>()), splat(isa, last_cell::<A>()))
        };
        let inside = low.le(at).and(at.lt(high));
        let at = Vector::select(inside, at, splat(isa, nowhere::<A>()));
        let floor = at.floor();
        if self.nearest {
            return Position { at, cell: nearest_even::<S, A>(isa, at, floor), multiplier: zero };
        }
        Position { at, cell: floor, multiplier: Vector::select(inside, multiplier, zero) }
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
    let mut lanes = [A::default(); 8];
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

/// `at` rounded to an integer, ties to even, where `floor` is the one below it.
#[inline(always)]
fn nearest_even<S: Isa, A: Real>(isa: S, at: A::V<S>, floor: A::V<S>) -> A::V<S> {
    let (half, one) = (splat(isa, A::HALF), splat(isa, A::ONE));
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
