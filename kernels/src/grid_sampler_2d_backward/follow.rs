//! Points that follow each other along a row of the image, as most of a smooth grid do: the corner of one is the pixel behind the
//! corner of the one before it.
//!
//! A vector of them reads vectors of pixels, and adds to vectors of pixels: to each first what the point before gives it, then what
//! its own point does, which keeps the order of the points. Where points do not follow, a vector falls into stretches that do. A
//! pixel of another stretch gets +0, which changes no sum, because one that starts at +0 never becomes -0.

use core::ops::Range;

use super::cells::{lanes, lanes_of, put};
use super::coordinates::splat;
use super::corner::Corner;
use super::planes::Packed;
use super::point_lanes::{CHANNELS, Kept};
use crate::level::Kernel;
use crate::simd::{Isa, MOST_LANES, Real, Vector};

/// Fewest lanes of a vector.
pub(super) const LANES: usize = 8;
/// Numbers of corners in front of a run's.
pub(super) const FRONT: usize = MOST_LANES;

/// A run of points that are found, of which few do not follow the one before, for vectors of [`LANES`] and more: of four lanes it is no
/// faster.
#[derive(Debug)]
pub(crate) struct Follow<'a, 'b, 'c, A> {
    pub(crate) size: [usize; 2],
    /// The planes of the image; empty when it is not read.
    pub(crate) input: Packed<&'a [A]>,
    /// The planes `added` of its gradient, to be added to.
    pub(crate) input_grad: &'b mut [&'c mut [A]; CHANNELS],
    pub(crate) channels: usize,
    pub(crate) added: Range<usize>,
    /// The rows of those planes that are there. Pixels of others are beyond them.
    pub(crate) rows: Range<usize>,
    pub(crate) kept: &'b mut Kept<A>,
    pub(crate) count: usize,
}

impl<A: Real> Kernel for Follow<'_, '_, '_, A> {
    type Output = ();

    #[inline(always)]
    fn run<S: Isa>(self, isa: S) {
        if self.kept.inside { self.add::<S, true>(isa) } else { self.add::<S, false>(isa) }
    }
}

impl<A: Real> Follow<'_, '_, '_, A> {
    /// Computes gradients of the points, and adds to the pixels.
    #[inline(always)]
    fn add<S: Isa, const INSIDE: bool>(self, isa: S) {
        let Self { size, input, input_grad, channels, added, rows, kept, count } = self;
        let below = size[1];
        let origin = rows.start.wrapping_mul(below);
        let zero = splat(isa, A::default());
        // Of each plane what the last point gives the pixels behind its corner and below that.
        let mut left = [[zero; 2]; CHANNELS];
        for k in (0..count).step_by(lanes_of::<S, A>()) {
            let corner = Corner::<S, A, INSIDE>::new(isa, &kept.places, k, size);
            let points = Points { at: &kept.at, first: k, broken: broken(isa, &kept.numbers, k), origin };
            // Channels 0 and 2, and 1 and 3, are added first, as everywhere.
            let (mut these_x, mut these_y, mut others_x, mut others_y) = (zero, zero, zero, zero);
            for (c, (grad_output, left)) in kept.grad_output.iter().zip(&mut left).enumerate().take(channels) {
                let grad_output = lanes(isa, grad_output, k);
                if let Some(plane) = input.data.get(c.wrapping_mul(input.channel)..)
                    && !plane.is_empty()
                {
                    let [x, y] = corner.gradients(grad_output, points.pixels(isa, plane, below));
                    (these_x, others_x) = (others_x, these_x + x);
                    (these_y, others_y) = (others_y, these_y + y);
                }
                if let Some(plane) = plane_of(input_grad, &added, c) {
                    points.add(isa, plane, below, corner.terms(grad_output), left);
                }
            }
            let [x, y] = &mut kept.grid_grad;
            put::<S, _, _>(corner.multipliers[0] * (these_x + others_x), x, k);
            put::<S, _, _>(corner.multipliers[1] * (these_y + others_y), y, k);
        }
        let last = count.wrapping_sub(1) | lanes_of::<S, A>().wrapping_sub(1);
        let behind = kept.at.get(last).map_or(0, |&at| at as usize).wrapping_add(1).wrapping_sub(origin);
        for (c, left) in (0..channels).zip(left) {
            if let Some(plane) = plane_of(input_grad, &added, c) {
                add_one(plane, behind, lane::<S, A>(left[0], lanes_of::<S, A>().wrapping_sub(1)));
                add_one(plane, behind.wrapping_add(below), lane::<S, A>(left[1], lanes_of::<S, A>().wrapping_sub(1)));
            }
        }
    }
}

/// The plane of a channel, if it is `added` to.
#[inline(always)]
fn plane_of<'p, A>(planes: &'p mut [&mut [A]; CHANNELS], added: &Range<usize>, c: usize) -> Option<&'p mut [A]> {
    if added.contains(&c) { planes.get_mut(c.wrapping_sub(added.start)).map(|plane| &mut **plane) } else { None }
}

/// A vector of points of a run of `N`.
#[derive(Clone, Copy, Debug)]
struct Points<'a, const N: usize> {
    /// The corners of the run.
    at: &'a [u32; N],
    first: usize,
    /// Bits of those that do not follow the one before.
    broken: u32,
    /// The pixel where planes that are added to begin.
    origin: usize,
}

impl<const N: usize> Points<'_, N> {
    /// The corner of one.
    #[inline(always)]
    fn at(&self, lane: usize) -> usize {
        self.at.get(self.first.wrapping_add(lane)).map_or(0, |&at| at as usize)
    }

    /// The pixels of the points: corners, those behind, those below.
    #[inline(always)]
    fn pixels<S: Isa, A: Real>(&self, isa: S, plane: &[A], below: usize) -> [[A::V<S>; 2]; 2] {
        if self.broken > 1 {
            return Vector::squares(isa, plane, self.at.get(self.first..).unwrap_or(&[]), below);
        }
        let at = self.at(0);
        [load_both(isa, plane, at), load_both(isa, plane, at.wrapping_add(below))]
    }

    /// Adds terms. `left` is what the points before left, and becomes what these leave.
    #[inline(always)]
    fn add<S: Isa, A: Real>(
        &self,
        isa: S,
        plane: &mut [A],
        below: usize,
        [nw, ne, sw, se]: [A::V<S>; 4],
        left: &mut [A::V<S>; 2],
    ) {
        let behind = [Vector::behind(isa, [left[0], ne]), Vector::behind(isa, [left[1], se])];
        *left = [ne, se];
        if self.broken == 0 {
            let at = self.at(0).wrapping_sub(self.origin);
            add_row(isa, plane, at, behind[0], nw);
            add_row(isa, plane, at.wrapping_add(below), behind[1], sw);
        } else {
            self.add_stretches(isa, plane, below, [nw, sw], behind);
        }
    }

    /// The same, stretch by stretch.
    #[inline(always)]
    fn add_stretches<S: Isa, A: Real>(
        &self,
        isa: S,
        plane: &mut [A],
        below: usize,
        [west, south_west]: [A::V<S>; 2],
        [behind, south_behind]: [A::V<S>; 2],
    ) {
        let mut numbers = [A::default(); MOST_LANES];
        for (k, number) in numbers.iter_mut().enumerate() {
            *number = A::from_usize(k);
        }
        let numbers: A::V<S> = Vector::load(isa, &numbers);
        let (mut first, mut after) = (0, self.at(1_usize.wrapping_neg()).wrapping_add(1).wrapping_sub(self.origin));
        while first < lanes_of::<S, A>() {
            let breaks = self.broken >> first & 1 == 1;
            let next = (self.broken >> first >> 1).trailing_zeros() as usize;
            let end = first.wrapping_add(1).wrapping_add(next).min(lanes_of::<S, A>());
            if breaks {
                add_one(plane, after, lane::<S, A>(behind, first));
                add_one(plane, after.wrapping_add(below), lane::<S, A>(south_behind, first));
            }
            let from = splat(isa, A::from_usize(first));
            let own = from.le(numbers).and(numbers.lt(splat(isa, A::from_usize(end))));
            let others = if breaks { from.lt(numbers).and(own) } else { own };
            let at = self.at(first).wrapping_sub(first).wrapping_sub(self.origin);
            add_lanes(isa, plane, at, first..end, others.and(behind), own.and(west));
            add_lanes(isa, plane, at.wrapping_add(below), first..end, others.and(south_behind), own.and(south_west));
            (first, after) = (end, at.wrapping_add(end));
        }
    }
}

/// Bits of the points `first..` that do not follow the one before, from their corners' numbers, which have [`FRONT`] others in front.
/// None is before the first, and leaves nothing.
#[inline(always)]
pub(crate) fn broken<S: Isa, A: Real>(isa: S, numbers: &[A], first: usize) -> u32 {
    let all = (1_u32 << lanes_of::<S, A>()).wrapping_sub(1);
    let at = first.wrapping_add(FRONT);
    let here: A::V<S> = Vector::load(isa, numbers.get(at..).unwrap_or(&[]));
    let before: A::V<S> = Vector::load(isa, numbers.get(at.wrapping_sub(1)..).unwrap_or(&[]));
    let broken = !Vector::bits((before + splat(isa, A::ONE)).eq(here)) & all;
    if first == 0 { broken & !1 } else { broken }
}

/// Pixels from one on, and those behind them.
#[inline(always)]
fn load_both<S: Isa, A: Real>(isa: S, plane: &[A], at: usize) -> [A::V<S>; 2] {
    let here = plane.get(at..).unwrap_or(&[]);
    [Vector::load(isa, here), Vector::load(isa, here.get(1..).unwrap_or(&[]))]
}

/// Adds to pixels from one on what is behind points, then what is at their corners.
#[inline(always)]
fn add_row<S: Isa, A: Real>(isa: S, plane: &mut [A], at: usize, behind: A::V<S>, corners: A::V<S>) {
    let to = plane.get_mut(at..).unwrap_or(&mut []);
    ((A::V::<S>::load(isa, to) + behind) + corners).store(to);
}

/// The same, of some of the lanes. The others' pixels may not be there.
#[inline(always)]
fn add_lanes<S: Isa, A: Real>(
    isa: S,
    plane: &mut [A],
    at: usize,
    lanes: Range<usize>,
    behind: A::V<S>,
    corners: A::V<S>,
) {
    if let Some(to) = plane.get_mut(at..at.wrapping_add(lanes_of::<S, A>())) {
        return ((A::V::<S>::load(isa, to) + behind) + corners).store(to);
    }
    for k in lanes {
        add_one(plane, at.wrapping_add(k), lane::<S, A>(behind, k));
        add_one(plane, at.wrapping_add(k), lane::<S, A>(corners, k));
    }
}

#[inline(always)]
fn add_one<A: Real>(plane: &mut [A], at: usize, term: A) {
    if let Some(to) = plane.get_mut(at) {
        *to = *to + term;
    }
}

/// A lane of a vector.
#[inline(always)]
fn lane<S: Isa, A: Real>(v: A::V<S>, lane: usize) -> A {
    let mut lanes = [A::default(); MOST_LANES];
    v.store(&mut lanes);
    lanes.get(lane).copied().unwrap_or_default()
}
