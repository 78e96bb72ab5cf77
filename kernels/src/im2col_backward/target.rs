//! Where sums go: cells of `out`, of any dtype.

use half::{bf16, f16};

use crate::cast::Round;
use crate::simd::{Isa, Real, Vector};
use crate::values::ValuesMut;

/// A run of output cells: `count` of them from `at`, `step` apart.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub(super) at: usize,
    pub(super) step: usize,
    pub(super) count: usize,
}

/// A type of sums that goes to every dtype `out` can have, rounded once.
pub(super) trait Sums: Real + Round<f16> + Round<bf16> + Round<f32> + Round<f64> {
    /// The sums that another tile left in a box of this type.
    fn left_in<'a>(out: &'a ValuesMut<'_>) -> &'a [Self];
}

impl Sums for f32 {
    #[inline(always)]
    fn left_in<'a>(out: &'a ValuesMut<'_>) -> &'a [Self] {
        if let ValuesMut::F32(sums) = out { sums } else { &[] }
    }
}

impl Sums for f64 {
    #[inline(always)]
    fn left_in<'a>(out: &'a ValuesMut<'_>) -> &'a [Self] {
        if let ValuesMut::F64(sums) = out { sums } else { &[] }
    }
}

impl Run {
    /// Rounds the sums and writes as many as there are cells.
    #[inline(always)]
    pub(super) fn write<S: Isa, A: Sums>(self, isa: S, sums: &[A], out: &mut ValuesMut<'_>) {
        match out {
            ValuesMut::F16(out) => self.round(isa, sums, out),
            ValuesMut::Bf16(out) => self.round(isa, sums, out),
            ValuesMut::F32(out) => self.round(isa, sums, out),
            ValuesMut::F64(out) => self.round(isa, sums, out),
            // The contract has no other.
            _ => {}
        }
    }

    #[inline(always)]
    fn round<S: Isa, A: Round<O>, O: bytemuck::Pod>(self, isa: S, sums: &[A], out: &mut [O]) {
        let lanes = A::V::<S>::LANES;
        let from = out.get_mut(self.at..).unwrap_or_default();
        let sums = sums.get(..self.count).unwrap_or(sums);
        if self.step == 1 {
            let cells = from.get_mut(..sums.len()).unwrap_or_default();
            for (sums, cells) in sums.chunks(lanes).zip(cells.chunks_mut(lanes)) {
                A::round(isa, Vector::load(isa, sums), cells);
            }
            return;
        }
        let mut at = 0usize;
        for sums in sums.chunks(lanes) {
            let mut cells = [O::zeroed(); 8];
            A::round(isa, Vector::load(isa, sums), cells.get_mut(..lanes).unwrap_or_default());
            for (cell, _) in cells.into_iter().zip(sums) {
                if let Some(to) = from.get_mut(at) {
                    *to = cell;
                }
                at = at.wrapping_add(self.step);
            }
        }
    }

    /// Reads the sums that an earlier tile left in these cells.
    #[inline(always)]
    pub(super) fn read<A: Sums>(self, out: &ValuesMut<'_>, sums: &mut [A]) {
        let from = A::left_in(out).get(self.at..).unwrap_or(&[]);
        for (k, sum) in sums.iter_mut().enumerate().take(self.count) {
            *sum = from.get(k.wrapping_mul(self.step)).copied().unwrap_or_default();
        }
    }
}
