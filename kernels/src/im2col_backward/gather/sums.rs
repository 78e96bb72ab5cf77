//! The sums of vectors of cells of a class: taps in order, one load and one addition a term.

use super::V;
use super::class::{Class, Tap};
use crate::element::Element;
use crate::simd::{Isa, Vector};

/// Whether vectors of cells, so many of each class, are woven in pairs: a lane of each in turn.
pub(super) const fn weaves<S: Isa, T: Element>(classes: usize, vectors: usize) -> bool {
    T::IS_BF16 && S::WEAVES_BF16 && classes == 1 && vectors.is_multiple_of(2)
}

/// The sums of `N` vectors of cells side by side, made together to check bounds once for all and to hide the latency of
/// additions. Of the first `FIRST` and the last `LAST` only the terms that their masks at an `end` let.
#[inline(always)]
pub(super) fn sums<S: Isa, T: Element, const N: usize, const FIRST: usize, const LAST: usize, const CLASSES: usize>(
    isa: S,
    data: &[T],
    above: &[usize],
    taps: &[Tap<V<S, T>>],
    cell: usize,
    end: usize,
) -> [V<S, T>; N] {
    let lanes = V::<S, T>::LANES;
    let mut sums = [V::<S, T>::splat(isa, T::Acc::default()); N];
    for row in above {
        let row = row.wrapping_add(cell);
        for tap in taps {
            // All of them are there, as `Above::within` has found. Two ways out, as the compiler makes more of two checks with one.
            let Some(windows) = data.get(row.wrapping_add(tap.at)..) else { break };
            let Some(windows) = windows.get(..lanes.wrapping_mul(N)) else { continue };
            let [begin, behind] = &tap.masks;
            let masks = if end == 0 { begin } else { behind };
            let masked = |term: V<S, T>, k: usize| match masks.get(k) {
                Some(mask) if k < FIRST || k >= N.saturating_sub(LAST) => term.and(*mask),
                _ => term,
            };
            if const { weaves::<S, T>(CLASSES, N) } {
                let pairs = sums.as_chunks_mut::<2>().0.iter_mut().zip(windows.chunks_exact(lanes.wrapping_mul(2)));
                for (([even, odd], windows), k) in pairs.zip((0usize..).step_by(2)) {
                    let [to_even, to_odd] = T::load_woven(isa, windows);
                    (*even, *odd) = (*even + masked(to_even, k), *odd + masked(to_odd, k.wrapping_add(1)));
                }
            } else {
                for (k, (sum, windows)) in sums.iter_mut().zip(windows.chunks_exact(lanes)).enumerate() {
                    *sum = *sum + masked(T::load(isa, windows), k);
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
