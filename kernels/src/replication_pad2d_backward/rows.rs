//! What is done to many short rows alike, without vectors.
//!
//! Functions of their own, called once for a block of rows: inside a larger loop the compiler runs out of registers for all
//! these positions, which costs twice the time.

use crate::element::Element;
use crate::level::{Kernel, VECTORS};
use crate::simd::Isa;

/// Runs of rows of more bytes are copied by a call each.
const LONG: usize = 4096;

/// A part of a row that occurs in some rows, `pitch` apart, from `start` on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Runs {
    pub(super) start: usize,
    pub(super) count: usize,
    pub(super) pitch: usize,
}

impl Runs {
    /// The same in units of which each of these has `size`.
    fn times(self, size: usize) -> Self {
        let Self { start, count, pitch } = self;
        Self { start: start.wrapping_mul(size), count: count.wrapping_mul(size), pitch: pitch.wrapping_mul(size) }
    }
}

/// Copies the bits of runs to runs of the same length, in `rows` rows.
#[inline(always)]
pub(super) fn copy<S: Isa, T: Element>(isa: S, source: &[T], from: Runs, dest: &mut [T], to: Runs, rows: usize) {
    let (source, dest) = (bytemuck::try_cast_slice(source), bytemuck::try_cast_slice_mut(dest));
    if let (Ok(source), Ok(dest)) = (source, dest) {
        isa.call(Copying { source, from: from.times(size_of::<T>()), dest, to: to.times(size_of::<T>()), rows });
    }
}

/// Bytes to copy: the same for all types.
struct Copying<'a> {
    source: &'a [u8],
    from: Runs,
    dest: &'a mut [u8],
    to: Runs,
    rows: usize,
}

impl Kernel for Copying<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Isa>(self, _: S) {
        let Self { source, from, dest, to, rows } = self;
        let (mut at, mut there) = (from.start, to.start);
        for _ in 0..rows {
            let src = source.get(at..at.wrapping_add(from.count));
            let (Some(src), Some(dst)) = (src, dest.get_mut(there..there.wrapping_add(from.count))) else { return };
            if VECTORS && src.len() <= LONG {
                copy_short(src, dst);
            } else {
                dst.copy_from_slice(src);
            }
            (at, there) = (at.wrapping_add(from.pitch), there.wrapping_add(to.pitch));
        }
    }
}

/// Copies without a call.
#[inline(always)]
fn copy_short(src: &[u8], dst: &mut [u8]) {
    if !(copy_by::<64>(src, dst) || copy_by::<16>(src, dst) || copy_by::<4>(src, dst)) {
        // One or two bytes.
        for (dst, src) in dst.iter_mut().zip(src) {
            *dst = *src;
        }
    }
}

/// Copies `N` bytes at a time, the last of them again with some before; false where there are fewer.
#[inline(always)]
fn copy_by<const N: usize>(src: &[u8], dst: &mut [u8]) -> bool {
    let Some(last) = src.last_chunk::<N>() else { return false };
    for (dst, src) in dst.as_chunks_mut::<N>().0.iter_mut().zip(src.as_chunks::<N>().0) {
        *dst = *src;
    }
    if let Some(dst) = dst.last_chunk_mut::<N>() {
        *dst = *last;
    }
    true
}

/// Folds each run of elements of `P` scalars to one element, in `rows` rows: their sum, ascending, from the first on.
#[inline(always)]
pub(super) fn fold<T: Element, const P: usize>(source: &[T], from: Runs, dest: &mut [T], to: Runs, rows: usize) {
    // The usual paddings, 1 to 3, with their loops unrolled; for complex numbers, which are rare, 1.
    match from.count {
        2 if P == 1 => fold_some::<T, P, 2>(source, from, dest, to, rows),
        3 if P == 1 => fold_some::<T, P, 3>(source, from, dest, to, rows),
        4 => fold_some::<T, P, 4>(source, from, dest, to, rows),
        _ => fold_some::<T, P, 1>(source, from, dest, to, rows),
    }
}

/// The same of `N` scalars, or of any run where `N` is 1.
#[inline(never)]
fn fold_some<T: Element, const P: usize, const N: usize>(
    source: &[T],
    from: Runs,
    dest: &mut [T],
    to: Runs,
    rows: usize,
) {
    let count = if N == 1 { from.count } else { N };
    let (mut at, mut there) = (from.start, to.start);
    for _ in 0..rows {
        let src = source.get(at..at.wrapping_add(count));
        let (Some(src), Some(dst)) = (src, dest.get_mut(there..there.wrapping_add(P))) else { return };
        if let ([first, rest @ ..], [dst, ..]) = (src.as_chunks::<P>().0, dst.as_chunks_mut::<P>().0) {
            let mut sums = first.map(T::widen);
            for values in rest {
                for (sum, value) in sums.iter_mut().zip(values) {
                    *sum = *sum + value.widen();
                }
            }
            *dst = sums.map(T::narrow);
        }
        (at, there) = (at.wrapping_add(from.pitch), there.wrapping_add(to.pitch));
    }
}

/// Folds a box of `rows` rows to one element of `P` scalars: each column ascending, from the first row on, then these sums.
#[inline(always)]
pub(super) fn fold_box<T: Element, const P: usize>(source: &[T], from: Runs, rows: usize, dest: &mut [T]) {
    if P == 1 && from.count.is_multiple_of(2) {
        fold_columns::<T, P, 2>(source, from, rows, dest);
    } else {
        fold_columns::<T, P, 1>(source, from, rows, dest);
    }
}

/// The same, `N` columns at a time; their number is a multiple of it.
#[inline(never)]
fn fold_columns<T: Element, const P: usize, const N: usize>(source: &[T], from: Runs, rows: usize, dest: &mut [T]) {
    let mut total = [T::Acc::default(); P];
    let mut column = 0usize;
    while column < from.count {
        let mut sums = [[T::Acc::default(); P]; N];
        let mut at = from.start.wrapping_add(column);
        for row in 0..rows {
            let Some(values) = source.get(at..at.wrapping_add(N * P)) else { return };
            for (sum, value) in sums.as_flattened_mut().iter_mut().zip(values) {
                *sum = if row == 0 { value.widen() } else { *sum + value.widen() };
            }
            at = at.wrapping_add(from.pitch);
        }
        for (j, sum) in sums.iter().enumerate() {
            for (total, sum) in total.iter_mut().zip(sum) {
                *total = if column == 0 && j == 0 { *sum } else { *total + *sum };
            }
        }
        column = column.wrapping_add(N * P);
    }
    for (dest, sum) in dest.iter_mut().zip(total) {
        *dest = T::narrow(sum);
    }
}
