//! The sums of vectors of cells of a class: taps in order, one load and one addition a term.

use super::class::{Class, Tap};
use super::{M, MOST, V};
use crate::bits;
use crate::element::Element;
use crate::simd::{Cache, Isa, MOST_LANES, Mask, Vector, prefetch_run};

/// Whether vectors of cells, so many side by side, are woven in pairs: a lane of each in turn. A last one without another is not.
pub(super) const fn weaves<S: Isa, T: Element>(classes: usize, vectors: usize) -> bool {
    T::IS_BF16 && S::WEAVES_BF16 && classes == 1 && vectors > 1
}

/// The sums of `N` vectors of cells side by side, made together to check bounds once for all and to hide the latency of
/// additions. Of the first `FIRST` and the last `LAST`, and of those that are woven with these, only the terms that their masks at
/// an `end` let.
#[inline(always)]
pub(super) fn sums<S: Isa, T: Element, const N: usize, const FIRST: usize, const LAST: usize, const CLASSES: usize>(
    isa: S,
    data: &[T],
    [above, later]: [&[usize]; 2],
    taps: &[Tap<M<S, T>>],
    from: usize,
    end: usize,
) -> [V<S, T>; N] {
    let lanes = V::<S, T>::LANES;
    let mut sums = [V::<S, T>::splat(isa, T::Acc::default()); N];
    // Halves take longer to widen than to wait for, so level 2 is near enough on any processor.
    let cache = if T::IS_HALF { Cache::Level2 } else { isa.later() };
    for (number, row) in above.iter().enumerate() {
        let (row, later) = (row.wrapping_add(from), later.get(number).map(|later| later.wrapping_add(from)));
        for tap in taps {
            if let Some(later) = later {
                prefetch_run(isa, cache, data, later.wrapping_add(tap.at), lanes.wrapping_mul(N));
            }
            // All of them are there, as `Above::reads_within` has found. Two ways out, as the compiler makes more of two checks with one.
            let Some(windows) = data.get(row.wrapping_add(tap.at)..) else { break };
            let Some(windows) = windows.get(..lanes.wrapping_mul(N)) else { continue };
            let [begin, behind] = &tap.masks;
            let masks = if end == 0 { begin } else { behind };
            let plus = |sum: V<S, T>, term: V<S, T>, k: usize| match masks.get(k) {
                Some(mask) if k < FIRST || k >= const { masked_from::<S, T>(CLASSES, N, LAST) } => {
                    mask.add_to(sum, term)
                }
                _ => sum + term,
            };
            if const { weaves::<S, T>(CLASSES, N) } {
                let (pairs, single) = sums.as_chunks_mut::<2>();
                let windows = windows.chunks_exact(lanes.wrapping_mul(2));
                if let ([sum], rest) = (single, windows.remainder()) {
                    *sum = plus(*sum, T::load(isa, rest), N.wrapping_sub(1));
                }
                for (([even, odd], windows), k) in pairs.iter_mut().zip(windows).zip((0usize..).step_by(2)) {
                    let [to_even, to_odd] = T::load_woven(isa, windows);
                    (*even, *odd) = (plus(*even, to_even, k), plus(*odd, to_odd, k.wrapping_add(1)));
                }
            } else {
                for (k, (sum, windows)) in sums.iter_mut().zip(windows.chunks_exact(lanes)).enumerate() {
                    *sum = plus(*sum, T::load(isa, windows), k);
                }
            }
        }
    }
    sums
}

/// The first of the vectors with masks at the end of `vectors`.
const fn masked_from<S: Isa, T: Element>(classes: usize, vectors: usize, masked: usize) -> usize {
    let first = vectors.saturating_sub(masked);
    if weaves::<S, T>(classes, vectors) && masked > 0 { first & !1 } else { first }
}

/// The sums of a row, cell by cell: where vectors would reach beyond the data.
#[cold]
#[inline(never)]
pub(super) fn one_by_one<T: Element, M: Copy, const CLASSES: usize>(
    data: &[T],
    from: usize,
    above: &[usize],
    classes: &[Class<M>; CLASSES],
    out: &mut [T],
) {
    for (group, k) in out.chunks_mut(CLASSES).zip(0usize..) {
        for (cell, class) in group.iter_mut().zip(classes) {
            let mut sum = T::Acc::default();
            for row in above {
                for tap in class.taps().iter().filter(|tap| tap.reaches(k)) {
                    let window = data.get(from.wrapping_add(*row).wrapping_add(k).wrapping_add(tap.at));
                    sum = sum + window.map_or(T::Acc::default(), |v| v.widen());
                }
            }
            *cell = T::narrow(sum);
        }
    }
}

/// Elements from `data[at]` on, which wraps in front of the data; zeros where there are none. Vectors reach beyond the data at their
/// ends, and windows may begin in front of them and have cells in them: with a padding, where taps lie closer together in memory than a
/// row of windows is long, as those of an expanded tensor do.
#[cold]
#[inline(never)]
pub(super) fn what_is_there<T: Element>(data: &[T], at: usize, count: usize) -> [T; MOST_LANES * MOST] {
    let mut found = [T::zeroed(); MOST_LANES * MOST];
    let in_front = if at.cast_signed() < 0 { at.wrapping_neg() } else { 0 };
    let there = data.get(at.wrapping_add(in_front)..).unwrap_or(&[]);
    let to = found.get_mut(in_front..count).unwrap_or_default();
    let length = to.len().min(there.len());
    bits::copy(there, to.get_mut(..length).unwrap_or_default());
    found
}
