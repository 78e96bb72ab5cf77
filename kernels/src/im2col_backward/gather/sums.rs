//! The sums of vectors of cells of a class: taps in order, one load and one addition a term.

use super::V;
use super::class::{Class, Masks, Tap};
use crate::element::Element;
use crate::simd::{Isa, Vector};

/// The sums of `N` vectors of cells side by side, made together to check bounds once for all and to hide the latency of
/// additions; where there are masks, of the terms that these let.
#[inline(always)]
pub(super) fn sums<S: Isa, T: Element, const N: usize>(
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
            for (k, (sum, windows)) in sums.iter_mut().zip(windows.chunks_exact(lanes)).enumerate() {
                let mut term = T::load(isa, windows);
                if let Some(mask) = masks.and_then(|masks| masks.get(k)?.get(j)) {
                    term = term.and(*mask);
                }
                *sum = *sum + term;
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
