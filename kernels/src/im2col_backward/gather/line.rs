//! A row of cells: groups of vectors whose sums are made side by side, to check bounds once for all and to hide the latency of
//! additions. The first group and the last one are masked as they need it.

use core::ops::Range;

use ubtile_tiling::im2col_backward::Geometry;

use super::class::Class;
use super::sums::{sums, weaves};
use super::{M, MASKED, MOST, UNROLL, V};
use crate::element::{Element, store_each};
use crate::simd::{Isa, Vector};

/// The vectors of a class's row: the first ones, those between, the last ones. Of few, all are the first ones.
#[derive(Clone, Debug)]
pub(super) struct Groups {
    pub(super) first: Range<usize>,
    pub(super) last: Range<usize>,
}

impl Groups {
    /// Of each of some classes, in vectors of so many cells.
    pub(super) fn new(geometry: &Geometry, classes: usize, lanes: usize) -> Self {
        let vectors = geometry.w.div_ceil(classes).div_ceil(lanes);
        // The cells in front of this one are reached by all taps, but for as few at the begin as there are behind it at most.
        let reached = geometry.columns[1].saturating_sub(geometry.padding[1].div_ceil(classes));
        let many_masked = reached < vectors.saturating_sub(MASKED).saturating_mul(lanes);
        if vectors <= if many_masked { UNROLL } else { most(classes) } {
            return Self { first: 0..vectors, last: vectors..vectors };
        }
        let last = vectors.wrapping_sub(UNROLL);
        Self { first: 0..UNROLL.min(last), last: last..vectors }
    }
}

/// Most vectors of each class that are summed at once. No more of many classes: where functions are not optimized, their stack
/// grows with it to megabytes.
const fn most(classes: usize) -> usize {
    if classes <= 2 { MOST } else { UNROLL }
}

/// A row of cells.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line<'a, S: Isa, T: Element, const CLASSES: usize> {
    /// `grad_output`.
    pub(super) data: &'a [T],
    /// Where the places of rows are counted from.
    pub(super) from: usize,
    /// Where each kernel row finds its first window.
    pub(super) above: &'a [usize],
    /// Where the rows of windows are that are asked for meanwhile.
    pub(super) later: &'a [usize],
    pub(super) classes: &'a [Class<M<S, T>>; CLASSES],
}

impl<S: Isa, T: Element, const CLASSES: usize> Line<'_, S, T, CLASSES> {
    const LANES: usize = V::<S, T>::LANES;
    /// Whether a vector has 64 bytes.
    const WIDE: bool = size_of::<V<S, T>>() > 32;
    /// Of `out`, to a vector of each class.
    const ELEMENTS: usize = Self::LANES * CLASSES;

    /// Writes all its sums, and behind the row up to a vector of anything, as far as `out` goes; as [`write_what_fits`].
    #[inline(always)]
    pub(super) fn run(&self, isa: S, groups: &Groups, out: &mut [T], aside: &mut [T]) {
        match groups.first.end {
            0 | 1 => self.end::<1, 1, 0>(isa, 0, 0, out, aside),
            2 => self.end::<2, 2, 0>(isa, 0, 0, out, aside),
            3 => self.end::<3, 3, 0>(isa, 0, 0, out, aside),
            UNROLL => self.end::<UNROLL, UNROLL, 0>(isa, 0, 0, out, aside),
            more => {
                if const { most(CLASSES) > UNROLL } {
                    match more {
                        5 => self.end::<5, MASKED, MASKED>(isa, 0, 0, out, aside),
                        6 => self.end::<6, MASKED, MASKED>(isa, 0, 0, out, aside),
                        7 => self.end::<7, MASKED, MASKED>(isa, 0, 0, out, aside),
                        _ => self.end::<MOST, MASKED, MASKED>(isa, 0, 0, out, aside),
                    }
                }
            }
        }
        let mut vector = groups.first.end;
        // A term of these takes more than a load and an addition, unless it is one of many lanes.
        if const { most(CLASSES) > UNROLL && T::IS_HALF && !Self::WIDE } {
            while vector.wrapping_add(MOST) <= groups.last.start {
                self.inner::<MOST>(isa, vector, out);
                vector = vector.wrapping_add(MOST);
            }
        }
        // Others that wait for memory like no more than 128 bytes at a time.
        if T::IS_HALF || !Self::WIDE || self.later.is_empty() {
            while vector.wrapping_add(UNROLL) <= groups.last.start {
                self.inner::<UNROLL>(isa, vector, out);
                vector = vector.wrapping_add(UNROLL);
            }
        }
        while vector.wrapping_add(2) <= groups.last.start {
            self.inner::<2>(isa, vector, out);
            vector = vector.wrapping_add(2);
        }
        if vector < groups.last.start {
            self.inner::<1>(isa, vector, out);
        }
        if !groups.last.is_empty() {
            // All masked, though often only some need it: another function for those is more to compile than it gains.
            self.end::<UNROLL, UNROLL, 0>(isa, 1, groups.last.start, out, aside);
        }
    }

    /// The first vectors of a row, end 0, or the last ones, end 1; of them the first `FIRST` and the last `LAST` are masked.
    #[inline(always)]
    fn end<const N: usize, const FIRST: usize, const LAST: usize>(
        &self,
        isa: S,
        end: usize,
        vector: usize,
        out: &mut [T],
        aside: &mut [T],
    ) {
        let found = self.sums::<N, FIRST, LAST>(isa, vector, end);
        let out = out.get_mut(vector.wrapping_mul(Self::ELEMENTS)..).unwrap_or_default();
        write_what_fits(isa, &found, out, aside);
    }

    /// Vectors in between, which all taps reach.
    #[inline(always)]
    fn inner<const N: usize>(&self, isa: S, vector: usize, out: &mut [T]) {
        let found = self.sums::<N, 0, 0>(isa, vector, 0);
        let out = out.get_mut(vector.wrapping_mul(Self::ELEMENTS)..);
        write(isa, &found, out.and_then(|out| out.get_mut(..N.wrapping_mul(Self::ELEMENTS))).unwrap_or_default());
    }

    /// The sums of some vectors of each class, the outermost with the masks of an end.
    #[inline(always)]
    fn sums<const N: usize, const FIRST: usize, const LAST: usize>(
        &self,
        isa: S,
        vector: usize,
        end: usize,
    ) -> [[V<S, T>; N]; CLASSES] {
        let mut found = [[Vector::splat(isa, T::Acc::default()); N]; CLASSES];
        let from = self.from.wrapping_add(vector.wrapping_mul(Self::LANES));
        for (found, class) in found.iter_mut().zip(self.classes) {
            *found = sums::<S, T, N, FIRST, LAST, CLASSES>(
                isa,
                self.data,
                [self.above, self.later],
                class.taps(),
                from,
                end,
            );
        }
        found
    }
}

/// As [`write`], as far as `out` goes; by way of `aside`, which has room for all, where that is not far enough. So vectors are written
/// in one place, as to interleave them is much to compile.
#[inline(always)]
pub(super) fn write_what_fits<S: Isa, T: Element, const CLASSES: usize, const N: usize>(
    isa: S,
    sums: &[[V<S, T>; N]; CLASSES],
    out: &mut [T],
    aside: &mut [T],
) {
    let written = V::<S, T>::LANES.wrapping_mul(CLASSES).wrapping_mul(N);
    let fits = written <= out.len();
    let Some(to) = (if fits { &mut *out } else { &mut *aside }).get_mut(..written) else { return };
    write(isa, sums, to);
    if !fits {
        for (cell, aside) in out.iter_mut().zip(aside) {
            *cell = *aside;
        }
    }
}

/// Writes vectors of each class, one cell of each class in turn.
#[inline(always)]
fn write<S: Isa, T: Element, const CLASSES: usize, const N: usize>(
    isa: S,
    sums: &[[V<S, T>; N]; CLASSES],
    out: &mut [T],
) {
    let lanes = V::<S, T>::LANES;
    // The number first, which the compiler knows: it compiles only that arm.
    match CLASSES {
        1 => {
            let [sums] = sums.as_slice() else { return };
            if const { weaves::<S, T>(CLASSES, N) } {
                let (pairs, single) = sums.as_chunks();
                let mut out = out.chunks_exact_mut(lanes.wrapping_mul(2));
                for (pair, out) in pairs.iter().zip(&mut out) {
                    T::store_woven(isa, *pair, out);
                }
                if let [single] = single {
                    T::store(isa, *single, out.into_remainder());
                }
            } else {
                for (sum, out) in sums.iter().zip(out.chunks_exact_mut(lanes)) {
                    T::store(isa, *sum, out);
                }
            }
        }
        2 => {
            let [evens, odds] = sums.as_slice() else { return };
            for ((even, odd), out) in evens.iter().zip(odds).zip(out.chunks_exact_mut(lanes.wrapping_mul(2))) {
                T::store_woven(isa, [*even, *odd], out);
            }
        }
        3 => {
            let [first, second, third] = sums.as_slice() else { return };
            let each = first.iter().zip(second).zip(third).zip(out.chunks_exact_mut(lanes.wrapping_mul(3)));
            for (((first, second), third), out) in each {
                store_each(isa, Vector::interleave_three(isa, [*first, *second, *third]), out);
            }
        }
        _ => {
            let [first, second, third, fourth] = sums.as_slice() else { return };
            let each = first.iter().zip(second).zip(third.iter().zip(fourth));
            for (((first, second), (third, fourth)), out) in each.zip(out.chunks_exact_mut(lanes.wrapping_mul(4))) {
                store_each(isa, Vector::interleave_four(isa, [*first, *second, *third, *fourth]), out);
            }
        }
    }
}
