//! The sums of vectors of cells of a class: taps in order, one load and one addition a term.

use super::V;
use super::class::{Class, Masks, Tap};
use crate::element::Element;
use crate::simd::{Isa, Vector};

/// Whether vectors of cells, so many of each class, are woven in pairs: a lane of each in turn.
pub(super) const fn weaves<S: Isa, T: Element>(classes: usize, vectors: usize) -> bool {
    T::IS_BF16 && S::WEAVES_BF16 && classes == 1 && vectors.is_multiple_of(2)
}

/// The sums of `N` vectors of cells side by side, made together to check bounds once for all and to hide the latency of
/// additions. Of the first `FIRST` and the last `LAST` only the terms that their masks let.
#[inline(always)]
pub(super) fn sums<S: Isa, T: Element, const N: usize, const FIRST: usize, const LAST: usize, const CLASSES: usize>(
    isa: S,
    data: &[T],
    above: &[usize],
    taps: &[Tap],
    cell: usize,
    masks: Option<&[Masks<V<S, T>>; N]>,
) -> [V<S, T>; N] {
    let lanes = V::<S, T>::LANES;
    let mut sums = [V::<S, T>::splat(isa, T::Acc::default()); N];
    for row in above {
        let row = row.wrapping_add(cell);
        for (j, tap) in taps.iter().enumerate() {
            let windows = data.get(row.wrapping_add(tap.at)..).and_then(|d| d.get(..lanes.wrapping_mul(N)));
            // All of them are there, as `Above::within` has found.
            let Some(windows) = windows else { continue };
            let mask = |k: usize| {
                let masked = k < FIRST || k >= N.saturating_sub(LAST);
                masks.filter(|_| masked).and_then(|masks| masks.get(k)?.get(j))
            };
            if const { weaves::<S, T>(CLASSES, N) } {
                let pairs = sums.as_chunks_mut::<2>().0.iter_mut().zip(windows.chunks_exact(lanes.wrapping_mul(2)));
                for (k, ([even, odd], windows)) in pairs.enumerate() {
                    let [mut to_even, mut to_odd] = T::load_woven(isa, windows);
                    if let (Some(of_even), Some(of_odd)) =
                        (mask(k.wrapping_mul(2)), mask(k.wrapping_mul(2).wrapping_add(1)))
                    {
                        (to_even, to_odd) = (to_even.and(*of_even), to_odd.and(*of_odd));
                    }
                    (*even, *odd) = (*even + to_even, *odd + to_odd);
                }
            } else {
                for (k, (sum, windows)) in sums.iter_mut().zip(windows.chunks_exact(lanes)).enumerate() {
                    let mut term = T::load(isa, windows);
                    if let Some(mask) = mask(k) {
                        term = term.and(*mask);
                    }
                    *sum = *sum + term;
                }
            }
        }
    }
    sums
}

/// The sums of a row, cell by cell: where vectors would reach beyond the data.
#[cold]
#[inline(never)]
pub(super) fn one_by_one<T: Element, V: Copy, const CLASSES: usize>(
    data: &[T],
    above: &[usize],
    classes: &[Class<V>; CLASSES],
    out: &mut [T],
) {
    for (group, k) in out.chunks_mut(CLASSES).zip(0usize..) {
        for (cell, class) in group.iter_mut().zip(classes) {
            let mut sum = T::Acc::default();
            for row in above {
                for tap in class.taps().iter().filter(|tap| tap.reaches(k)) {
                    let window = data.get(row.wrapping_add(k).wrapping_add(tap.at));
                    sum = sum + window.map_or(T::Acc::default(), |v| v.widen());
                }
            }
            *cell = T::narrow(sum);
        }
    }
}
