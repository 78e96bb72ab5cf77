//! Planes of `input_grad` become zeros just before points add to them: if they did so before all points, those of a large image
//! would have left the caches again.

use core::ops::Range;

use super::coordinates::splat;
use crate::simd::{Isa, MOST_LANES, Real, Vector};

/// Pixels that become zeros together, at least.
const STEP: usize = 1 << 14;

/// How many pixels of each plane are zeros or sums. Behind them anything may be.
#[derive(Debug, Default)]
pub(crate) struct Zeroed(usize);

impl Zeroed {
    /// What is to become zeros for `reach` pixels from each of these numbers on, one a lane, in planes of so many `pixels`; mostly
    /// nothing. Numbers below 0 are as good as 0, and those beyond all pixels as the last.
    #[inline(always)]
    pub(crate) fn reach<S: Isa, A: Real>(
        &mut self,
        isa: S,
        pixels: usize,
        numbers: A::V<S>,
        reach: usize,
    ) -> Range<usize> {
        let zero = splat::<S, A>(isa, A::default());
        let numbers = Vector::select(numbers.lt(zero), zero, numbers);
        // The first number that is too large.
        let ready = self.0.wrapping_add(1).saturating_sub(reach);
        if self.0 < pixels && Vector::any(splat::<S, A>(isa, A::from_usize(ready)).le(numbers)) {
            let mut lanes = [A::default(); MOST_LANES];
            numbers.store(&mut lanes);
            let last = lanes.iter().fold(0, |last: isize, &at| last.max(at.to_isize()));
            let end = (last as usize).wrapping_add(reach).max(self.0.wrapping_add(STEP)).min(pixels);
            return core::mem::replace(&mut self.0, end)..end;
        }
        0..0
    }

    /// What is left of so many pixels.
    pub(crate) fn rest(&mut self, pixels: usize) -> Range<usize> {
        core::mem::replace(&mut self.0, pixels)..pixels
    }
}

/// Makes a run of pixels zeros, in all planes that are there.
#[inline(never)]
pub(super) fn zero<A: Real>(planes: &mut [&mut [A]], run: Range<usize>) {
    for plane in planes {
        plane.get_mut(run.clone()).unwrap_or(&mut []).fill(A::default());
    }
}
