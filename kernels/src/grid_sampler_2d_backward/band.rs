//! The points that add to a band of rows, picked from runs of points that need not be in it, and put together as whole runs again.
//!
//! Of points that lie anywhere nobody foresees which ones lie in a band. So they are picked without branches.

use core::ops::Range;

use super::beyond::Beyond;
use super::cells::{lanes, lanes_of};
use super::coordinates::splat;
use super::point_lanes::{CHANNELS, Kept, RUN};
use crate::simd::{Isa, Real, Vector, first_lanes};

/// Points that wait until there is a run of them: less than a run, and those of one run more.
const ROOM: usize = 2 * RUN;

/// Points that were picked, in their order.
#[derive(Debug)]
pub(crate) struct Band<A> {
    x: [A; ROOM],
    /// Placed already.
    y: [A; ROOM],
    grad_output: [[A; ROOM]; CHANNELS],
    count: usize,
    /// What points need not be looked at.
    pub(super) beyond: Option<Beyond<A>>,
}

impl<A: Real> Band<A> {
    pub(crate) fn new(beyond: Option<Beyond<A>>) -> Self {
        let zeros = [A::default(); ROOM];
        Self { x: zeros, y: zeros, grad_output: [zeros; CHANNELS], count: 0, beyond }
    }

    /// Picks those of `count` points that lie in a pixel of these rows, or in one in front of them. Their y is placed.
    #[inline(always)]
    pub(super) fn pick<S: Isa>(&mut self, isa: S, kept: &Kept<A>, rows: &Range<usize>, channels: usize, count: usize) {
        let [x, y] = &kept.places;
        let (first, end) = (splat(isa, A::from_usize(rows.start) - A::ONE), splat(isa, A::from_usize(rows.end)));
        for k in (0..count).step_by(lanes_of::<S, A>()) {
            let at = lanes(isa, &y.at, k);
            // Behind the last point lies anything.
            let picked = Vector::bits(first.le(at).and(at.lt(end))) & first_lanes(count.wrapping_sub(k));
            let to = self.count;
            put(isa, &x.at, k, picked, &mut self.x, to);
            put(isa, &y.at, k, picked, &mut self.y, to);
            for (from, all) in kept.grad_output.iter().zip(&mut self.grad_output).take(channels) {
                put(isa, from, k, picked, all, to);
            }
            self.count = to.wrapping_add(picked.count_ones() as usize);
        }
    }

    /// Moves a run to where points are kept, if there is a whole one, or else as many as there are at the `end`. Gives how many.
    #[inline(always)]
    pub(super) fn take(&mut self, kept: &mut Kept<A>, channels: usize, end: bool) -> Option<usize> {
        let count = self.count.min(RUN);
        if count < RUN && !end || count == 0 {
            return None;
        }
        let [x, y] = &mut kept.places;
        move_run(&mut self.x, &mut x.at);
        move_run(&mut self.y, &mut y.at);
        for (all, to) in self.grad_output.iter_mut().zip(&mut kept.grad_output).take(channels) {
            move_run(all, to);
        }
        // Behind them lies nothing.
        x.at.get_mut(count..).unwrap_or(&mut []).fill(A::NAN);
        y.at.get_mut(count..).unwrap_or(&mut []).fill(A::default());
        self.count = self.count.wrapping_sub(count);
        Some(count)
    }
}

/// Puts those of a run's values from `k` on that are `picked` where others end.
#[inline(always)]
fn put<S: Isa, A: Real>(isa: S, run: &[A; RUN], k: usize, picked: u32, all: &mut [A; ROOM], end: usize) {
    lanes(isa, run, k).compress(picked, all.get_mut(end..).unwrap_or(&mut []));
}

/// Moves the first run of values; what is behind it becomes the first.
#[inline(always)]
fn move_run<A: Copy>(all: &mut [A; ROOM], to: &mut [A; RUN]) {
    let (first, behind) = all.split_at_mut(RUN);
    to.copy_from_slice(first);
    first.copy_from_slice(behind);
}

/// Whether any of `count` points whose y is placed lies in a pixel of these rows, or in one in front of them.
#[inline(always)]
pub(super) fn meets<S: Isa, A: Real>(isa: S, y: &[A; RUN], rows: &Range<usize>, count: usize) -> bool {
    let (first, end) = (splat(isa, A::from_usize(rows.start) - A::ONE), splat(isa, A::from_usize(rows.end)));
    let mut any = splat(isa, A::default());
    for k in (0..count).step_by(lanes_of::<S, A>()) {
        let y = lanes(isa, y, k);
        any = any.or(first.le(y).and(y.lt(end)));
    }
    Vector::any(any)
}

/// Whether all pixels of `count` points whose y is placed lie in these rows. Not of all for which that holds, on the borders of the image.
#[inline(always)]
pub(super) fn has<S: Isa, A: Real>(isa: S, y: &[A; RUN], rows: &Range<usize>, count: usize) -> bool {
    let (first, end) = (splat(isa, A::from_usize(rows.start)), splat(isa, A::from_usize(rows.end) - A::ONE));
    let mut no = splat(isa, A::default());
    for k in (0..count).step_by(lanes_of::<S, A>()) {
        let y = lanes(isa, y, k);
        no = no.or(y.lt(first)).or(end.le(y));
    }
    !Vector::any(no)
}
