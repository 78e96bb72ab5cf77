//! Elements that lie some distance apart, read as a vector.

use half::{bf16, f16};

use super::everywhere;
use crate::element::Element;
use crate::level::Kernel;
use crate::simd::{Isa, Real, Vector};

/// Reads a vector of elements so far apart; gives its lanes.
struct LoadApart<'a, T>(&'a [T], usize);

impl<T: Element> Kernel for LoadApart<'_, T> {
    type Output = Vec<T::Acc>;

    #[inline(always)]
    fn run<S: Isa>(self, isa: S) -> Self::Output {
        let mut lanes = vec![T::Acc::default(); <T::Acc as Real>::V::<S>::LANES];
        T::load_apart(isa, self.0, self.1).store(&mut lanes);
        lanes
    }
}

fn check<T: Element>(number: impl Fn(f32) -> T) {
    let all: Vec<T> = (1..=64).map(|n| number(n as f32)).collect();
    for step in [0, 1, 2, 3, 7, 9, 60, usize::MAX / 7, usize::MAX] {
        // Around the lengths that all of four, eight and sixteen lanes need.
        for len in (0..=64).filter(|len| step > 9 || [0, 3, 7, 15].iter().any(|n| (n * step).abs_diff(*len) < 2)) {
            let data = &all[..len];
            for (level, got) in everywhere(|| LoadApart(data, step)) {
                for (lane, got) in got.into_iter().enumerate() {
                    let at = lane.checked_mul(step);
                    let want = at.and_then(|at| data.get(at)).map_or(T::Acc::default(), |value| value.widen());
                    assert_eq!(got, want, "{level}: {len} elements, {step} apart, lane {lane}");
                }
            }
        }
    }
}

#[test]
fn elements_apart() {
    check(|n| n);
    check(f64::from);
    check(f16::from_f32);
    check(bf16::from_f32);
}
