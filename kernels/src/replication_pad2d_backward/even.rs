//! Rows whose edges take the same number of columns on either side, and the first and the last of a plane as many rows.
//!
//! This is how images are padded but for rare cases. With the number known to the compiler the edges take no loops: rows of small
//! planes are made in half of the time or less.

use super::sources::V;
use crate::bits;
use crate::element::Element;
use crate::simd::{Isa, MOST_LANES, Vector};

/// Elements that short edges are read from at once.
const SHORT: usize = 4;

/// Makes a row of elements of `P` scalars from one row, of which `N` elements fold into the first and `N` into the last.
#[inline(always)]
pub(super) fn copied<S: Isa, T: Element, const P: usize, const N: usize>(isa: S, source: &[T], dest: &mut [T]) {
    bits::copy(source.get(before::<P, N>()..).unwrap_or(&[]), dest);
    edges::<S, T, P, N, 1>(isa, [source], dest);
}

/// Makes a row from `N` rows.
#[inline(always)]
pub(super) fn folded<S: Isa, T: Element, const P: usize, const N: usize>(isa: S, rows: [&[T]; N], dest: &mut [T]) {
    if dest.len() < V::<S, T>::LANES {
        body::<S::Quad, T, P, N>(isa.quad(), rows, dest);
    } else {
        body::<S, T, P, N>(isa, rows, dest);
    }
    edges::<S, T, P, N, N>(isa, rows, dest);
}

/// Scalars of a row of `grad_output` in front of the image.
pub(super) const fn before<const P: usize, const N: usize>() -> usize {
    N.saturating_sub(1).wrapping_mul(P)
}

/// Sums of columns over rows.
#[inline(always)]
fn body<S: Isa, T: Element, const P: usize, const N: usize>(isa: S, rows: [&[T]; N], dest: &mut [T]) {
    let mut at = 0usize;
    while at < dest.len() {
        // The last vector again with some sums that are made, where there are enough.
        at = at.min(dest.len().saturating_sub(V::<S, T>::LANES));
        let end = at.wrapping_add(V::<S, T>::LANES).min(dest.len());
        let Some(dest) = dest.get_mut(at..end) else { return };
        let mut sum = V::<S, T>::splat(isa, T::Acc::default());
        for (i, row) in rows.iter().enumerate() {
            let columns = at.wrapping_add(before::<P, N>())..end.wrapping_add(before::<P, N>());
            let Some(values) = row.get(columns) else { return };
            let values = T::load(isa, values);
            sum = if i == 0 { values } else { sum + values };
        }
        T::store(isa, sum, dest);
        at = end;
    }
}

/// The first element of a row and the last, from `R` rows.
#[inline(always)]
fn edges<S: Isa, T: Element, const P: usize, const N: usize, const R: usize>(isa: S, rows: [&[T]; R], dest: &mut [T]) {
    if T::IS_HALF {
        return short_edges::<_, _, N, R>(isa.quad(), rows, dest);
    }
    let count = N.wrapping_mul(P);
    let mut sides = [[&[][..]; R]; 2];
    let [firsts, lasts] = &mut sides;
    for ((first, last), row) in firsts.iter_mut().zip(lasts).zip(rows) {
        let (Some(front), Some(back)) = (row.get(..count), row.get(row.len().wrapping_sub(count)..)) else { return };
        (*first, *last) = (front, back);
    }
    let [first, last] = sides;
    if let Some(dest) = dest.first_chunk_mut() {
        *dest = fold::<T, P, N, R>(first);
    }
    if let Some(dest) = dest.last_chunk_mut() {
        *dest = fold::<T, P, N, R>(last);
    }
}

/// Folds `N` elements of each row to one.
#[inline(always)]
pub(super) fn fold<T: Element, const P: usize, const N: usize, const R: usize>(rows: [&[T]; R]) -> [T; P] {
    let mut total = [T::Acc::default(); P];
    for column in 0..N {
        let mut sums = total;
        for (i, row) in rows.iter().enumerate() {
            let Some(element) = row.as_chunks::<P>().0.get(column) else { continue };
            for (sum, value) in sums.iter_mut().zip(element) {
                *sum = if i == 0 { value.widen() } else { *sum + value.widen() };
            }
        }
        for (total, sum) in total.iter_mut().zip(sums) {
            *total = if column == 0 { sum } else { *total + sum };
        }
    }
    total.map(T::narrow)
}

/// The same for short elements, which take far longer to widen and to round one by one than several at once.
#[inline(always)]
fn short_edges<S: Isa, T: Element, const N: usize, const R: usize>(isa: S, rows: [&[T]; R], dest: &mut [T]) {
    let zero = V::<S, T>::splat(isa, T::Acc::default());
    let (mut firsts, mut lasts) = (zero, zero);
    for (i, row) in rows.iter().enumerate() {
        // A row has at least two elements and those that were added to it.
        let (Some(first), Some(last)) = (row.first_chunk::<SHORT>(), row.last_chunk::<SHORT>()) else { return };
        let (first, last) = (T::load(isa, first), T::load(isa, last));
        (firsts, lasts) = if i == 0 { (first, last) } else { (firsts + first, lasts + last) };
    }
    let mut sums = [T::Acc::default(); MOST_LANES];
    let mut totals = [T::Acc::default(); MOST_LANES];
    for (total, (vector, from)) in totals.iter_mut().zip([(firsts, 0), (lasts, SHORT.saturating_sub(N))]) {
        vector.store(&mut sums);
        let columns = sums.get(from..from.wrapping_add(N)).unwrap_or(&[]);
        for (i, sum) in columns.iter().enumerate() {
            *total = if i == 0 { *sum } else { *total + *sum };
        }
    }
    let mut made = [T::zeroed(); SHORT];
    T::store(isa, V::<S, T>::load(isa, &totals), &mut made);
    let [first, last, ..] = made;
    if let Some(dest) = dest.first_mut() {
        *dest = first;
    }
    if let Some(dest) = dest.last_mut() {
        *dest = last;
    }
}
