//! Whole planes of short rows, one behind the other, whose edges take the same number of columns on either side.
//!
//! A short row takes few instructions, so that to look at its slices would be most of them: lengths are known up to a factor of two,
//! and looked at once, and a function of their own has registers for them. The first element and the last are made side by side, in
//! the first lanes of a vector and in the last, which is written to either end of the row. What is between them is written after.

use core::ops::Range;

use super::even::{before, fold};
use super::place::Place;
use super::sources::V;
use crate::element::Element;
use crate::level::Kernel;
use crate::simd::{Isa, Vector};

/// Scalars that the ends of a row are read from and written with.
const SHORT: usize = 4;

/// Whether rows of so many scalars, elements of `P`, are short. Of long ones memory is waited for, earlier of wide elements.
pub(super) fn is_short<T: Element, const P: usize>(len: usize) -> bool {
    let most = if T::IS_HALF { 2 * 32 } else { 2 * 16 };
    (2..=most).contains(&between::<P>(len)) && len >= SHORT
}

/// Scalars of a row that are neither its first element nor its last.
const fn between<const P: usize>(len: usize) -> usize {
    len.wrapping_sub(P.wrapping_mul(2))
}

/// Whole planes of at least two rows. `N` elements fold into the first of each row and into the last, and as many rows into the first
/// and into the last.
pub(super) struct Planes<'a, T, const P: usize, const N: usize> {
    pub(super) planes: Range<usize>,
    /// Rows that each is made from, and that it has.
    pub(super) rows: [usize; 2],
    /// Scalars of a row that is read.
    pub(super) width: usize,
    /// Scalars of a row that is made.
    pub(super) len: usize,
    pub(super) source: &'a [T],
    pub(super) from: Place,
    pub(super) dest: &'a mut [T],
    pub(super) to: Place,
}

impl<T: Element, const P: usize, const N: usize> Kernel for Planes<'_, T, P, N> {
    type Output = ();

    #[inline(always)]
    fn run<S: Isa>(self, isa: S) {
        match between::<P>(self.len) {
            ..=3 => self.make::<S, 2>(isa),
            4..=8 => self.make::<S, 4>(isa),
            9..=16 => self.make::<S, 8>(isa),
            17..=32 => self.make::<S, 16>(isa),
            _ if !T::IS_HALF => {}
            _ => self.make::<S, 32>(isa),
        }
    }
}

impl<T: Element, const P: usize, const N: usize> Planes<'_, T, P, N> {
    /// `C` scalars behind the first element and `C` in front of the last are all that is between these.
    #[inline(always)]
    fn make<S: Isa, const C: usize>(self, isa: S) {
        let Self { planes, rows, width, len, source, from, dest, to } = self;
        let row = Row::<P, N, C> { width, len };
        if !row.fits() {
            return;
        }
        let [cells, made] = [rows[0].wrapping_mul(width), rows[1].wrapping_mul(len)];
        let edge = N.wrapping_mul(width);
        for plane in planes {
            let (at, there) = (from.plane(plane), to.plane(plane));
            let Some(source) = source.get(at..at.wrapping_add(cells)) else { return };
            let Some(dest) = dest.get_mut(there..there.wrapping_add(made)) else { return };
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
                row.make::<S, T, N>(isa, rows, dest);
            }
            while let (Some((here, below)), Some((made, left))) =
                (source.split_at_checked(width), dest.split_at_mut_checked(len))
            {
                row.make::<S, T, 1>(isa, [here], made);
                (source, dest) = (below, left);
            }
        }
    }
}

/// Where the columns of a row lie that are read and written at once.
#[derive(Clone, Copy)]
struct Row<const P: usize, const N: usize, const C: usize> {
    width: usize,
    len: usize,
}

impl<const P: usize, const N: usize, const C: usize> Row<P, N, C> {
    /// Whether all do: so that the compiler looks at no row again.
    #[inline(always)]
    fn fits(self) -> bool {
        let Self { width, len } = self;
        width >= len && len >= SHORT.max(C + P + P) && width >= C + before::<P, N>() + P
    }

    /// Makes it from `R` rows.
    #[inline(always)]
    fn make<S: Isa, T: Element, const R: usize>(self, isa: S, rows: [&[T]; R], dest: &mut [T]) {
        if const { V::<S::Quad, T>::LANES == SHORT } {
            ends::<_, T, P, N, R>(isa.quad(), rows, dest);
        } else if const { V::<S, T>::LANES == SHORT } {
            ends::<_, T, P, N, R>(isa, rows, dest);
        } else {
            ends_apart::<T, P, N, R>(rows, dest);
        }
        let inner = before::<P, N>() + P;
        put::<T, C>(dest, P, columns(isa, rows.map(|row| get(row, inner))));
        let back = self.width.wrapping_sub(inner + C);
        put::<T, C>(dest, self.len.wrapping_sub(P + C), columns(isa, rows.map(|row| get(row, back))));
    }
}

/// Scalars of a row, all zeros if it has fewer. Not a reference to them, which the compiler would look at once more.
#[inline(always)]
fn get<T: Element, const C: usize>(row: &[T], from: usize) -> [T; C] {
    match row.get(from..from.wrapping_add(C)).map(<[T]>::as_chunks) {
        Some(([chunk, ..], _)) => *chunk,
        _ => [T::zeroed(); C],
    }
}

/// Writes scalars of a row, nothing if it has fewer.
#[inline(always)]
fn put<T: Element, const C: usize>(row: &mut [T], from: usize, scalars: [T; C]) {
    if let Some(row) = row.get_mut(from..from.wrapping_add(C)) {
        row.copy_from_slice(&scalars);
    }
}

/// Columns of one row as they are, or their sums over several.
#[inline(always)]
fn columns<S: Isa, T: Element, const C: usize, const R: usize>(isa: S, rows: [[T; C]; R]) -> [T; C] {
    match rows.as_slice() {
        [row] => *row,
        _ if const { V::<S, T>::LANES > C } => sums::<S::Quad, T, C, R>(isa.quad(), rows),
        _ => sums::<S, T, C, R>(isa, rows),
    }
}

#[inline(always)]
fn sums<S: Isa, T: Element, const C: usize, const R: usize>(isa: S, rows: [[T; C]; R]) -> [T; C] {
    let mut made = [T::zeroed(); C];
    for (k, made) in (0..).step_by(V::<S, T>::LANES).zip(made.chunks_mut(V::<S, T>::LANES)) {
        T::store(isa, sum(isa, rows.each_ref().map(|row| row.get(k..).unwrap_or(&[]))), made);
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
fn ends<S: Isa, T: Element, const P: usize, const N: usize, const R: usize>(isa: S, rows: [&[T]; R], dest: &mut [T]) {
    let (mut first, mut last) = ([T::Acc::default(); SHORT], [T::Acc::default(); SHORT]);
    let fronts = rows.map(|row| get::<T, SHORT>(row, 0));
    let backs = rows.map(|row| get::<T, SHORT>(row, row.len().wrapping_sub(SHORT)));
    sum(isa, fronts.each_ref().map(<[T; SHORT]>::as_slice)).store(&mut first);
    sum(isa, backs.each_ref().map(<[T; SHORT]>::as_slice)).store(&mut last);
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
    put(dest, 0, made);
    put(dest, dest.len().wrapping_sub(SHORT), made);
}

/// The same, where no vector has four lanes.
#[inline(always)]
fn ends_apart<T: Element, const P: usize, const N: usize, const R: usize>(rows: [&[T]; R], dest: &mut [T]) {
    let count = N.wrapping_mul(P);
    put(dest, 0, fold::<T, P, N, R>(rows.map(|row| row.get(..count).unwrap_or(&[]))));
    let last = fold::<T, P, N, R>(rows.map(|row| row.get(row.len().wrapping_sub(count)..).unwrap_or(&[])));
    put(dest, dest.len().wrapping_sub(P), last);
}
