//! Whole planes of short rows, one behind the other, whose edges take the same number of columns on either side.
//!
//! A short row takes few instructions, so that to look at its slices would be most of them: lengths are known up to a factor of two,
//! and looked at once a plane. The first element and the last are made side by side, in the first lanes of a vector and in the last,
//! which is written to either end of the row. What is between them is written after.

use core::ops::Range;

use super::even::{before, fold};
use super::sources::V;
use crate::element::Element;
use crate::simd::{Isa, Vector};

/// Scalars that the ends of a row are read from and written with.
const SHORT: usize = 4;

/// Whether rows of so many scalars, elements of `P`, are short. Of long ones memory is waited for, earlier of wide elements.
pub(super) fn is_short<T: Element, const P: usize>(len: usize) -> bool {
    let most = if T::IS_HALF { 2 * 16 } else { 2 * 4 };
    (SHORT..=most).contains(&between::<P>(len))
}

/// Scalars of a row that are neither its first element nor its last.
const fn between<const P: usize>(len: usize) -> usize {
    len.wrapping_sub(P.wrapping_mul(2))
}

/// Makes a plane of at least two rows of `len` scalars from all its rows of `width`. `N` elements fold into the first of each row and
/// into the last, and as many rows into the first and into the last.
#[inline(always)]
pub(super) fn plane<S: Isa, T: Element, const P: usize, const N: usize>(
    isa: S,
    source: &[T],
    dest: &mut [T],
    [width, len]: [usize; 2],
) {
    match between::<P>(len) {
        ..=8 => rows::<S, T, P, N, 4>(isa, source, dest, [width, len]),
        _ if !T::IS_HALF => {}
        9..=16 => rows::<S, T, P, N, 8>(isa, source, dest, [width, len]),
        _ => rows::<S, T, P, N, 16>(isa, source, dest, [width, len]),
    }
}

/// The rows, of which `C` scalars behind the first element and `C` in front of the last are all that is between these.
#[inline(always)]
fn rows<S: Isa, T: Element, const P: usize, const N: usize, const C: usize>(
    isa: S,
    source: &[T],
    dest: &mut [T],
    [width, len]: [usize; 2],
) {
    let between = between::<P>(len);
    let (from, to) = (before::<P, N>().wrapping_add(P), P..P.wrapping_add(between));
    let from = from..from.wrapping_add(between);
    // Here, so that the compiler looks at no row again.
    if len < SHORT || width < SHORT || between < C || from.end > width || to.end > len {
        return;
    }
    let edge = N.wrapping_mul(width);
    let Some((top, rest)) = source.split_at_checked(edge) else { return };
    let Some((mut source, bottom)) = rest.split_at_checked(rest.len().wrapping_sub(edge)) else { return };
    let Some((first, rest)) = dest.split_at_mut_checked(len) else { return };
    let Some((mut dest, last)) = rest.split_at_mut_checked(rest.len().wrapping_sub(len)) else { return };
    for (mut source, dest) in [(top, first), (bottom, last)] {
        let mut rows = [&[][..]; N];
        for row in &mut rows {
            let Some((here, below)) = source.split_at_checked(width) else { return };
            (*row, source) = (here, below);
        }
        if row::<S, T, P, N, C, N>(isa, rows, from.clone(), dest, to.clone()).is_none() {
            return;
        }
    }
    while let (Some((here, below)), Some((made, left))) =
        (source.split_at_checked(width), dest.split_at_mut_checked(len))
    {
        // Never so; that it would end the loop spares the compiler checks behind it.
        if row::<S, T, P, N, C, 1>(isa, [here], from.clone(), made, to.clone()).is_none() {
            return;
        }
        (source, dest) = (below, left);
    }
}

/// A row from `R` rows.
#[inline(always)]
fn row<S: Isa, T: Element, const P: usize, const N: usize, const C: usize, const R: usize>(
    isa: S,
    rows: [&[T]; R],
    from: Range<usize>,
    dest: &mut [T],
    to: Range<usize>,
) -> Option<()> {
    if const { V::<S::Quad, T>::LANES == SHORT } {
        ends::<_, T, P, N, R>(isa.quad(), rows, dest)?;
    } else if const { V::<S, T>::LANES == SHORT } {
        ends::<_, T, P, N, R>(isa, rows, dest)?;
    } else {
        ends_apart::<T, P, N, R>(rows, dest)?;
    }
    let inner = rows.map(|row| row.get(from.clone()).unwrap_or(&[]));
    let dest = dest.get_mut(to)?;
    *dest.first_chunk_mut::<C>()? = columns(isa, inner.map(<[T]>::first_chunk))?;
    *back_mut::<_, C>(dest)? = columns(isa, inner.map(<[T]>::last_chunk))?;
    Some(())
}

/// Columns of one row as they are, or their sums over several.
#[inline(always)]
fn columns<S: Isa, T: Element, const C: usize, const R: usize>(isa: S, rows: [Option<&[T; C]>; R]) -> Option<[T; C]> {
    match rows.as_slice() {
        [row] => row.copied(),
        _ if const { V::<S, T>::LANES > C } => Some(sums::<S::Quad, T, C, R>(isa.quad(), rows)),
        _ => Some(sums::<S, T, C, R>(isa, rows)),
    }
}

#[inline(always)]
fn sums<S: Isa, T: Element, const C: usize, const R: usize>(isa: S, rows: [Option<&[T; C]>; R]) -> [T; C] {
    let mut made = [T::zeroed(); C];
    for (k, made) in (0..).step_by(V::<S, T>::LANES).zip(made.chunks_mut(V::<S, T>::LANES)) {
        T::store(isa, sum(isa, rows.map(|row| row.and_then(|row| row.get(k..)).unwrap_or(&[]))), made);
    }
    made
}

/// A vector of sums over rows.
#[inline(always)]
fn sum<S: Isa, T: Element, const R: usize>(isa: S, rows: [&[T]; R]) -> V<S, T> {
    let mut sum = V::<S, T>::splat(isa, T::Acc::default());
    for (i, row) in rows.iter().enumerate() {
        let values = T::load(isa, row);
        sum = if i == 0 { values } else { sum + values };
    }
    sum
}

/// The first element of a row and the last, and anything beside them.
#[inline(always)]
fn ends<S: Isa, T: Element, const P: usize, const N: usize, const R: usize>(
    isa: S,
    rows: [&[T]; R],
    dest: &mut [T],
) -> Option<()> {
    let (mut first, mut last) = ([T::Acc::default(); SHORT], [T::Acc::default(); SHORT]);
    sum(isa, rows).store(&mut first);
    sum(isa, rows.map(|row| row.last_chunk::<SHORT>().map_or(&[][..], |row| row))).store(&mut last);
    let mut total = V::<S, T>::splat(isa, T::Acc::default());
    for i in 0..N {
        // The lanes between take neighbours of the same elements: a column is one instruction.
        let at = |side: &[T::Acc; SHORT], at: usize| side.get(at).copied().unwrap_or_default();
        let last_at = SHORT.wrapping_sub(N).wrapping_add(i);
        let column = match P {
            1 => [at(&first, i), at(&first, i + 1), at(&last, last_at.wrapping_sub(1)), at(&last, last_at)],
            _ => [at(&first, 2 * i), at(&first, 2 * i + 1), at(&last, 2 * i), at(&last, 2 * i + 1)],
        };
        let column = V::<S, T>::load(isa, &column);
        total = if i == 0 { column } else { total + column };
    }
    let mut made = [T::zeroed(); SHORT];
    T::store(isa, total, &mut made);
    *dest.first_chunk_mut()? = made;
    *back_mut(dest)? = made;
    Some(())
}

/// The same, where no vector has four lanes.
#[inline(always)]
fn ends_apart<T: Element, const P: usize, const N: usize, const R: usize>(
    rows: [&[T]; R],
    dest: &mut [T],
) -> Option<()> {
    let count = N.wrapping_mul(P);
    *dest.first_chunk_mut()? = fold::<T, P, N, R>(rows.map(|row| row.get(..count).unwrap_or(&[])));
    *back_mut(dest)? = fold::<T, P, N, R>(rows.map(|row| row.get(row.len().wrapping_sub(count)..).unwrap_or(&[])));
    Some(())
}

/// The last scalars of a row: `last_chunk_mut` checks what the compiler does not see here.
#[inline(always)]
fn back_mut<T, const C: usize>(row: &mut [T]) -> Option<&mut [T; C]> {
    let front = row.len().checked_sub(C)?;
    row.split_at_mut_checked(front)?.1.first_chunk_mut()
}
