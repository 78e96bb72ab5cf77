//! Points side by side: for images of a few channels, a vector holds a value of each of several points.
//!
//! A run of points is worked on three times. First it is found where they lie; where the image is too large for a cache, their
//! pixels are asked for. Then, a vector of points at a time, weights and gradients are computed in registers, and what the points
//! add to their pixels is kept. Last that is added, point by point, which keeps the order of the sums. So the pixels that are read
//! are far from those that were just written, and the processor need not wait to see whether they are the same. A pixel of a
//! [corner](Corner) that is not the point's own gets +0, which changes no sum, because one that starts at +0 never becomes -0.
//!
//! Of a [band](super::band) of rows, runs that are elsewhere are passed over once it is seen that they are.
//!
//! Where nearly all points of a run [follow](super::follow) the one before along a row, vectors of pixels are read and added to.

use core::ops::Range;

use super::band::{self, Band};
use super::beyond::AreBeyond;
use super::cells::{Axes, lanes, lanes_of, put};
use super::coordinates::splat;
use super::corner::{Corner, Places, locate};
use super::follow::{self, FRONT, Follow, LANES};
use super::grid_grad::{GridGrad, put_pairs};
use super::load::{load_channels, load_pairs};
use super::planes::{Packed, Planes};
use super::scatter::{Scatter, Steps};
use super::squares;
use super::zeroed::{Zeroed, zero};
use crate::element::Element;
use crate::level::Kernel;
use crate::simd::{CACHED, Isa, Real, Vector, prefetch_run};

/// Points of a run; a whole number of vectors at every level.
pub(super) const RUN: usize = 64;
/// Points from those that are worked on to those whose lines are asked for.
const AHEAD: usize = 4 * RUN;
/// Points of which one's pixels are asked for, as those beside it mostly lie in the same lines.
const ASKED: usize = 8;
/// Most channels.
pub(super) const CHANNELS: usize = 4;
/// Most points of a run that need not follow the one before for the others to be worth [vectors](super::follow), of one channel and
/// of more: behind each, pixels are read that were just stored in other pieces, which takes longer than to add one by one.
const BREAKS: u32 = 16;
const BREAKS_IN_PLANES: u32 = 4;

/// Some points of an image of a few channels, bilinear.
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
    /// The planes `added` of its gradient, of which so much is [`Zeroed`] as what is kept says; empty when it is not wanted.
    pub(crate) input_grad: [&'b mut [T::Acc]; CHANNELS],
    pub(crate) channels: usize,
    pub(crate) added: Range<usize>,
    /// The rows of them that are there, at least one.
    pub(crate) rows: Range<usize>,
    /// Where the gradients of the points go, if they are made.
    pub(crate) grid_grad: Option<&'b mut GridGrad<'a, T>>,
    /// Memory for a run of points. Given beside the image, not in it, it costs F16 a tenth: the compiler then spills more.
    pub(crate) kept: Option<&'b mut Kept<T::Acc>>,
    /// Where points of a band are picked, if `rows` are not all.
    pub(crate) band: Option<&'b mut Band<T::Acc>>,
}

/// What is kept of a run of points. What an earlier run left does not matter, so images share it: to make it takes as long as some
/// points do. No vector of it lies in two cache lines.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Kept<A> {
    /// The gradients of the points.
    pub(super) grid_grad: [[A; RUN]; 2],
    pub(super) grad_output: [[A; RUN]; CHANNELS],
    pub(super) places: [Places<A, RUN>; 2],
    /// The corner pixels.
    pub(super) at: [u32; RUN],
    /// The same as numbers, behind some of an earlier run.
    pub(super) numbers: [A; RUN + 2 * FRONT],
    /// Whether the image has all pixels of all points.
    pub(super) inside: bool,
    /// How much of `input_grad` holds sums.
    pub(super) zeroed: Zeroed,
    /// How these follow each other.
    pub(super) steps: Steps,
    /// What each channel adds to the corner, the pixel behind it, and those below the two.
    pub(super) terms: [[[A; 4]; RUN]; CHANNELS],
}

impl<A: Real> Kept<A> {
    pub(crate) fn new() -> Self {
        let zeros = [A::default(); RUN];
        Self {
            grid_grad: [zeros; 2],
            grad_output: [zeros; CHANNELS],
            places: [Places::new(), Places::new()],
            at: [0; RUN],
            numbers: [A::default(); RUN + 2 * FRONT],
            inside: true,
            zeroed: Zeroed::default(),
            steps: Steps::Any,
            terms: [[[A::default(); 4]; RUN]; CHANNELS],
        }
    }
}

impl<A: Real> Kept<A> {
    /// Keeps the corners of points `k..`.
    #[inline(always)]
    fn put_corners<S: Isa>(&mut self, at: A::V<S>, k: usize) {
        let k = k & (RUN - lanes_of::<S, A>());
        if lanes_of::<S, A>() >= LANES {
            at.store(self.numbers.get_mut(k.wrapping_add(FRONT)..).unwrap_or(&mut []));
        }
        at.store_indices(self.at.get_mut(k..).unwrap_or(&mut []));
    }
}

impl<T: Element> Kernel for PointLanes<'_, '_, T> {
    /// Whether all that was added is finite: no sum of such terms is a NaN.
    type Output = bool;

    #[inline(always)]
    fn run<S: Isa>(mut self, isa: S) -> bool {
        let Some(kept) = self.kept.take() else { return true };
        let mut band = self.band.take();
        let zeros = splat(isa, T::Acc::default());
        let mut defect = zeros;
        // Half, as what is written takes as much room.
        let read = size_of_val(self.grid.data).saturating_add(size_of_val(self.grad_output.data));
        let far = read > CACHED / 2;
        // What waits in the end is added behind all runs.
        let picks = band.is_some() && self.grid_grad.is_none();
        for first in self.points.clone().step_by(RUN).chain(picks.then_some(self.points.end)) {
            let mut count = self.points.end.wrapping_sub(first).min(RUN);
            let ends = count == 0;
            let mut adds = !self.input_grad[0].is_empty();
            if !ends {
                let points = first..first.wrapping_add(count);
                if picks
                    && let Some(beyond) = band.as_ref().and_then(|band| band.beyond)
                    && (AreBeyond { beyond, grid: &self.grid, points: points.clone() }).run(isa)
                {
                    continue;
                }
                let [x, y] = &mut kept.places;
                load_pairs(isa, &self.grid, first, count, [&mut x.at, &mut y.at]);
                self.axes.y.place(isa, count, &mut y.at, &mut y.multiplier);
                adds = adds && (band.is_none() || band::meets(isa, &y.at, &self.rows, count));
                if picks && !adds {
                    continue;
                }
                if far {
                    self.ask_ahead(isa, first.wrapping_add(AHEAD));
                }
                let to = kept.grad_output.get_mut(..self.channels).unwrap_or_default();
                defect = defect + load_channels(isa, &self.grad_output, 0, points, to);
            }
            if picks && let Some(band) = &mut band {
                band.pick(isa, kept, &self.rows, self.channels, count);
                let Some(taken) = band.take(kept, self.channels, ends) else { continue };
                count = taken;
            }
            self.add(isa, count, kept, adds);
            if let Some(grid_grad) = self.grid_grad.as_mut() {
                put_pairs(isa, &mut grid_grad.out, first, count, &kept.grid_grad);
            }
        }
        !Vector::any(Vector::select(defect.eq(zeros), zeros, zeros.eq(zeros)))
    }
}

impl<T: Element> PointLanes<'_, '_, T> {
    /// Computes the gradients of a run of points, whose y is placed, and `adds` them.
    #[inline(always)]
    fn add<S: Isa>(&mut self, isa: S, count: usize, kept: &mut Kept<T::Acc>, adds: bool) {
        let [x, _] = &mut kept.places;
        self.axes.x.place(isa, count, &mut x.at, &mut x.multiplier);
        let corners = self.locate(isa, count, kept);
        let below = self.size[1];
        let (origin, pixels) = (self.rows.start.wrapping_mul(below), self.rows.len().wrapping_mul(below));
        if adds {
            let corners = corners - splat(isa, T::Acc::from_usize(origin));
            let new = kept.zeroed.reach::<S, T::Acc>(isa, pixels, corners, below.wrapping_add(2));
            if !new.is_empty() {
                zero(&mut self.input_grad, new);
            }
        }
        if Self::follow(isa, self.channels, count, kept) {
            return isa.call(Follow {
                size: self.size,
                input: Packed { data: self.input.data, channel: self.input.channel },
                input_grad: &mut self.input_grad,
                channels: self.channels,
                added: if adds { self.added.clone() } else { 0..0 },
                rows: self.rows.clone(),
                kept,
                count,
            });
        }
        if kept.inside {
            self.compute::<S, true>(isa, count, kept, adds);
        } else {
            self.compute::<S, false>(isa, count, kept, adds);
        }
        if adds {
            let whole = self.rows.len() == self.size[0];
            if !whole {
                for at in &mut kept.at {
                    *at = at.wrapping_sub(origin as u32);
                }
            }
            let run = Scatter {
                planes: &mut self.input_grad,
                added: self.added.clone(),
                below,
                points: self.points.len(),
                kept: &*kept,
                count,
                within: whole || band::has(isa, &kept.places[1].at, &self.rows, count),
            };
            run.add(isa);
        }
    }

    /// Asks for grid values and `grad_output` of a later run, and for where its gradients go, if they lie side by side: processors
    /// that foresee streams stop at the end of each page. By sums alone, as [`Planes::run`] divides, which takes 4 % of the time.
    #[inline(always)]
    fn ask_ahead<S: Isa>(&self, isa: S, first: usize) {
        let cache = isa.later();
        let pairs = first.wrapping_mul(2);
        prefetch_run(isa, cache, self.grid.data, self.grid.base.wrapping_add(pairs), 2 * RUN);
        if let Some(GridGrad { out, .. }) = &self.grid_grad {
            prefetch_run(isa, cache, out.data, out.base.wrapping_add(pairs), 2 * RUN);
        }
        let Planes { data, base, channel, column, .. } = self.grad_output;
        if channel == 1 {
            // Whole pixels, of few channels in all.
            let (at, count) = (base.wrapping_add(first.wrapping_mul(column)), column.wrapping_mul(RUN));
            return prefetch_run(isa, cache, data, at, if column <= CHANNELS { count } else { 0 });
        }
        for c in 0..self.channels {
            prefetch_run(isa, cache, data, base.wrapping_add(first).wrapping_add(c.wrapping_mul(channel)), RUN);
        }
    }

    /// Finds the corners of a run of points that are placed, and whether the image has all of their pixels. Gives the largest corner
    /// of each lane.
    #[inline(always)]
    fn locate<S: Isa>(&self, isa: S, count: usize, kept: &mut Kept<T::Acc>) -> <T::Acc as Real>::V<S> {
        // Points mostly lie where those of the run before did.
        let mut corners = splat(isa, T::Acc::default());
        kept.inside = kept.inside && self.find::<S, true>(isa, count, kept, &mut corners)
            || self.find::<S, false>(isa, count, kept, &mut corners);
        kept.steps = Steps::new(&kept.at);
        if self.is_far() && kept.steps != Steps::Any {
            // The next run mostly goes on as this one does, and of its two rows the upper one has been read.
            let [first, .., last] = kept.at;
            let ahead = last.wrapping_sub(first).wrapping_add(self.size[1] as u32);
            for &at in kept.at.iter().step_by(ASKED) {
                self.ask(isa, at.wrapping_add(ahead) as usize);
            }
        }
        corners
    }

    /// Finds the corners of a run of points that are placed. Gives whether the image has all of their pixels; those sought `INSIDE` are
    /// right only then. `corners` becomes the largest of each lane.
    #[inline(always)]
    fn find<S: Isa, const INSIDE: bool>(
        &self,
        isa: S,
        count: usize,
        kept: &mut Kept<T::Acc>,
        corners: &mut <T::Acc as Real>::V<S>,
    ) -> bool {
        let mut last = splat(isa, T::Acc::default());
        let mut outside = splat(isa, T::Acc::default());
        for k in (0..count).step_by(lanes_of::<S, T::Acc>()) {
            let (at, beyond) = locate::<S, _, INSIDE, _>(isa, self.size, &mut kept.places, k);
            kept.put_corners::<S>(at, k);
            outside = outside.or(beyond);
            last = Vector::select(last.lt(at), at, last);
        }
        *corners = last;
        !Vector::any(outside)
    }

    /// Whether few points of a run do not follow the one before.
    #[inline(always)]
    fn follow<S: Isa>(isa: S, channels: usize, count: usize, kept: &Kept<T::Acc>) -> bool {
        if lanes_of::<S, T::Acc>() < LANES || kept.steps != Steps::Next {
            return false;
        }
        let mut breaks = 0_u32;
        for k in (0..count).step_by(lanes_of::<S, T::Acc>()) {
            breaks = breaks.wrapping_add(follow::broken(isa, &kept.numbers, k).count_ones());
        }
        breaks <= if channels == 1 { BREAKS } else { BREAKS_IN_PLANES }
    }

    /// Whether the planes are larger than a cache, in which two more tensors are at work.
    #[inline(always)]
    fn is_far(&self) -> bool {
        let sums = self.input_grad.iter().fold(0_usize, |sums, plane| sums.saturating_add(plane.len()));
        self.input.data.len().saturating_add(sums) > CACHED / 2 / size_of::<T::Acc>()
    }

    /// Asks for a pixel. Those of the gradient have just become zeros.
    #[inline(always)]
    fn ask<S: Isa>(&self, isa: S, at: usize) {
        for c in 0..self.channels {
            isa.prefetch(isa.later(), self.input.data, at.wrapping_add(c.wrapping_mul(self.input.channel)));
        }
    }

    /// Computes the terms and gradients of a run of points, which may lie all `INSIDE`.
    #[inline(always)]
    fn compute<S: Isa, const INSIDE: bool>(&self, isa: S, count: usize, kept: &mut Kept<T::Acc>, adds: bool) {
        let zero = splat(isa, T::Acc::default());
        for k in (0..count).step_by(lanes_of::<S, T::Acc>()) {
            let corner = Corner::<S, T::Acc, INSIDE>::new(isa, &kept.places, k, self.size);
            let at = kept.at.get(k & (RUN - lanes_of::<S, T::Acc>())..).unwrap_or(&[]);
            // Channels 0 and 2, and 1 and 3, are added first: that is how eight lanes of sums are halved. The sums take turns, which
            // keeps them in registers.
            let (mut these_x, mut these_y, mut others_x, mut others_y) = (zero, zero, zero, zero);
            let channels = kept.grad_output.iter().zip(&mut kept.terms).enumerate();
            for (c, (grad_output, terms)) in channels.take(self.channels) {
                let grad_output = lanes(isa, grad_output, k);
                if let Some(plane) = self.input.data.get(c.wrapping_mul(self.input.channel)..)
                    && !plane.is_empty()
                {
                    let pixels = Vector::squares(isa, plane, at, self.size[1]);
                    let [x, y] = corner.gradients(grad_output, pixels);
                    (these_x, others_x) = (others_x, these_x + x);
                    (these_y, others_y) = (others_y, these_y + y);
                }
                if adds && self.added.contains(&c) {
                    let to = terms.get_mut(k & (RUN - lanes_of::<S, T::Acc>())..).unwrap_or(&mut []);
                    squares::put_terms(isa, corner.terms(grad_output), to);
                }
            }
            let [x, y] = &mut kept.grid_grad;
            put::<S, _, _>(corner.multipliers[0] * (these_x + others_x), x, k);
            put::<S, _, _>(corner.multipliers[1] * (these_y + others_y), y, k);
        }
    }
}
