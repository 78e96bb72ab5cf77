//! Planes of `input_grad` become zeros just before points add to them: if they did so before all points, those of a large image
//! would have left the caches again.

use super::coordinates::splat;
use super::point_lanes::Packed;
use crate::simd::{Isa, MOST_LANES, Real, Vector};

/// Pixels that become zeros together, at least.
const STEP: usize = 1 << 14;

/// How many pixels of each plane are zeros or sums. Behind them anything may be.
#[derive(Debug, Default)]
pub(crate) struct Zeroed(usize);

impl Zeroed {
    /// Sees to `reach` pixels from each of these numbers on, one a lane, in `count` planes of so many `pixels`. Numbers below 0 are
    /// as good as 0, and those beyond all pixels as the last.
    #[inline(always)]
    pub(crate) fn reach<S: Isa, A: Real>(
        &mut self,
        isa: S,
        planes: &mut Packed<&mut [A]>,
        [count, pixels]: [usize; 2],
        numbers: A::V<S>,
        reach: usize,
    ) {
        let zero = splat::<S, A>(isa, A::default());
        let numbers = Vector::select(numbers.lt(zero), zero, numbers);
        // The first number that is too large.
        let ready = self.0.wrapping_add(1).saturating_sub(reach);
        if self.0 < pixels && Vector::any(splat::<S, A>(isa, A::from_usize(ready)).le(numbers)) {
            let mut lanes = [A::default(); MOST_LANES];
            numbers.store(&mut lanes);
            let last = lanes.iter().fold(0, |last: isize, &at| last.max(at.to_isize()));
            self.go_on(planes, [count, pixels], (last as usize).wrapping_add(reach));
        }
    }

    /// Sees to all pixels.
    pub(crate) fn finish<A: Real>(&mut self, planes: &mut Packed<&mut [A]>, [count, pixels]: [usize; 2]) {
        if self.0 < pixels {
            self.go_on(planes, [count, pixels], pixels);
        }
    }

    #[inline(never)]
    fn go_on<A: Real>(&mut self, planes: &mut Packed<&mut [A]>, [count, pixels]: [usize; 2], end: usize) {
        let end = end.max(self.0.wrapping_add(STEP)).min(pixels);
        for plane in 0..count {
            let first = plane.wrapping_mul(planes.channel);
            let run = first.wrapping_add(self.0)..first.wrapping_add(end);
            planes.data.get_mut(run).unwrap_or(&mut []).fill(A::default());
        }
        self.0 = end;
    }
}
