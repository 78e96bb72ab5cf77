//! The sums of vectors of cells of a class: taps in order, one load and one addition a term.

use super::V;
use super::class::{Class, MOST_LANES, Tap};
use crate::element::Element;
use crate::simd::{Isa, Vector};

/// The sums of a vector of cells.
#[inline(always)]
pub(super) fn one<S: Isa, T: Element>(
    isa: S,
    data: &[T],
    above: &[usize],
    class: &Class<V<S, T>>,
    cell: usize,
) -> V<S, T> {
    let [from, to] = class.inner;
    if cell >= from && cell.wrapping_add(V::<S, T>::LANES) <= to {
        let [sum] = inner::<S, T, 1>(isa, data, above, class.taps(), cell);
        sum
    } else {
        outer(isa, data, above, class, cell)
    }
}

/// The sums of `N` vectors of cells that all taps reach.
#[inline(always)]
pub(super) fn inner<S: Isa, T: Element, const N: usize>(
    isa: S,
    data: &[T],
    above: &[usize],
    taps: &[Tap],
    cell: usize,
) -> [V<S, T>; N] {
    let lanes = V::<S, T>::LANES;
    let mut sums = [V::<S, T>::splat(isa, T::Acc::default()); N];
    for row in above {
        let row = row.wrapping_add(cell);
        for tap in taps {
            let windows = data.get(row.wrapping_add(tap.at)..).and_then(|d| d.get(..lanes.wrapping_mul(N)));
            let Some(windows) = windows else { continue };
            for (sum, windows) in sums.iter_mut().zip(windows.chunks_exact(lanes)) {
                *sum = *sum + T::load(isa, windows);
            }
        }
    }
    sums
}

/// The sums of a vector of cells that some taps do not reach.
#[inline(always)]
fn outer<S: Isa, T: Element>(isa: S, data: &[T], above: &[usize], class: &Class<V<S, T>>, cell: usize) -> V<S, T> {
    let lanes = V::<S, T>::LANES;
    let [first, last] = &class.ends;
    // Beyond the ends only a padding as wide as a vector leaves something out.
    let between;
    let masks = if cell == 0 {
        first
    } else if cell.wrapping_add(lanes) == class.cells {
        last
    } else {
        between = class.masks(isa, cell);
        &between
    };
    let mut sum = V::<S, T>::splat(isa, T::Acc::default());
    for row in above {
        let row = row.wrapping_add(cell);
        for (tap, mask) in class.taps().iter().zip(masks) {
            let at = row.wrapping_add(tap.at);
            let term = match data.get(at..).and_then(|d| d.get(..lanes)) {
                Some(windows) => T::load(isa, windows),
                None => T::load(isa, &at_the_end(data, at)),
            };
            sum = sum + term.and(*mask);
        }
    }
    sum
}

/// Elements for a vector of which some lie in front of the data or behind it.
#[cold]
#[inline(never)]
fn at_the_end<T: Element>(data: &[T], at: usize) -> [T; MOST_LANES] {
    core::array::from_fn(|lane| data.get(at.wrapping_add(lane)).copied().unwrap_or(T::zeroed()))
}
