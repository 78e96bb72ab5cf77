//! Some lanes of a vector, written side by side.

use super::everywhere;
use crate::level::Kernel;
use crate::simd::{Isa, Real, Vector};

/// What stands where nothing is written.
const UNTOUCHED: usize = 99;

/// Writes some lanes of a vector of 1, 2, 3... to so many elements; gives these, and how many lanes the vector has.
struct Compress<T>(u32, Vec<T>);

impl<T: Real> Kernel for Compress<T> {
    type Output = (Vec<T>, usize);

    #[inline(always)]
    fn run<S: Isa>(self, isa: S) -> Self::Output {
        let Self(lanes, mut to) = self;
        let numbers: Vec<T> = (1..=T::V::<S>::LANES).map(T::from_usize).collect();
        T::V::<S>::load(isa, &numbers).compress(lanes, &mut to);
        (to, numbers.len())
    }
}

fn check<T: Real>() {
    // Every set of eight lanes, as the first ones and as the last of sixteen.
    for lanes in (0..256).flat_map(|set| [set, set << 8 | 0xa5]) {
        for len in [0, 1, 3, 4, 7, 8, 15, 16, 20] {
            for (level, (got, all)) in everywhere(|| Compress(lanes, vec![T::from_usize(UNTOUCHED); len])) {
                let lanes = lanes & ((1_u32 << all) - 1);
                let want: Vec<_> = (0..all).filter(|k| lanes >> k & 1 == 1).map(|k| T::from_usize(k + 1)).collect();
                let count = want.len().min(len);
                assert_eq!(got[..count], want[..count], "{level}: {lanes:b} to {len}");
                // No more than a vector is written.
                let behind = got.iter().skip(all).all(|&element| element == T::from_usize(UNTOUCHED));
                assert!(behind, "{level}: {lanes:b} to {len}: {got:?}");
            }
        }
    }
}

#[test]
fn lanes_side_by_side() {
    check::<f32>();
    check::<f64>();
}
