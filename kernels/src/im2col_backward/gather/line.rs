//! A row of cells: groups of vectors whose sums are made side by side, to check bounds once for all and to hide the latency of
//! additions. The first group and the last one are masked as they need it.

use core::ops::Range;

use super::class::Class;
use super::sums::{sums, weaves};
use super::{STRIDE, UNROLL, V};
use crate::element::Element;
use crate::simd::{Cache, Isa, MOST_LANES, Vector, prefetch_run};

/// The vectors of a class's row: the first ones, those between, the last ones. Of few, all are the first ones.
#[derive(Clone, Debug)]
pub(super) struct Groups {
    pub(super) first: Range<usize>,
    pub(super) last: Range<usize>,
}

impl Groups {
    /// Of so many vectors of each of some classes.
    pub(super) fn new(vectors: usize, classes: usize) -> Self {
        if vectors <= most(classes) {
            return Self { first: 0..vectors, last: vectors..vectors };
        }
        let last = vectors.wrapping_sub(UNROLL);
        Self { first: 0..UNROLL.min(last), last: last..vectors }
    }
}

/// Most vectors of each class that are summed at once. No more of many classes: where functions are not optimized, their stack
/// grows with it to megabytes.
const fn most(classes: usize) -> usize {
    if classes <= 2 { 2 * UNROLL } else { UNROLL }
}

/// A row of cells.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line<'a, S: Isa, T: Element, const CLASSES: usize> {
    /// `grad_output`.
    pub(super) data: &'a [T],
    /// Where each kernel row finds its first window.
    pub(super) above: &'a [usize],
    /// Where the rows of windows are that are asked for meanwhile.
    pub(super) later: &'a [usize],
    pub(super) classes: &'a [Class<V<S, T>>; CLASSES],
}

impl<S: Isa, T: Element, const CLASSES: usize> Line<'_, S, T, CLASSES> {
    const LANES: usize = V::<S, T>::LANES;
    /// Of `out`, to a vector of each class.
    const ELEMENTS: usize = Self::LANES * CLASSES;

    /// Writes all its sums, and behind the row up to a vector of anything, as far as `out` goes.
    #[inline(always)]
    pub(super) fn run(&self, isa: S, groups: &Groups, out: &mut [T]) {
        match groups.first.end {
            0 | 1 => self.end::<1, 0>(isa, 0, out),
            2 => self.end::<2, 0>(isa, 0, out),
            3 => self.end::<3, 0>(isa, 0, out),
            4 => self.end::<UNROLL, 0>(isa, 0, out),
            more => {
                if const { most(CLASSES) > UNROLL } {
                    match more {
                        5 => self.end::<5, 0>(isa, 0, out),
                        6 => self.end::<6, 0>(isa, 0, out),
                        7 => self.end::<7, 0>(isa, 0, out),
                        _ => self.end::<{ 2 * UNROLL }, 0>(isa, 0, out),
                    }
                }
            }
        }
        let mut vector = groups.first.end;
        while vector.wrapping_add(UNROLL) <= groups.last.start {
            self.inner::<UNROLL>(isa, vector, out);
            vector = vector.wrapping_add(UNROLL);
        }
        if vector.wrapping_add(2) <= groups.last.start {
            self.inner::<2>(isa, vector, out);
            vector = vector.wrapping_add(2);
        }
        if vector < groups.last.start {
            self.inner::<1>(isa, vector, out);
        }
        if !groups.last.is_empty() {
            self.end::<UNROLL, 1>(isa, groups.last.start, out);
        }
    }

    /// The first vectors of a row, or the last ones.
    #[inline(always)]
    fn end<const N: usize, const END: usize>(&self, isa: S, vector: usize, out: &mut [T]) {
        let found = self.sums::<N>(isa, vector, Some(END));
        let out = out.get_mut(vector.wrapping_mul(Self::ELEMENTS)..).unwrap_or_default();
        if let Some(out) = out.get_mut(..N.wrapping_mul(Self::ELEMENTS)) {
            return write(isa, &found, out);
        }
        let mut aside = [T::zeroed(); MOST_LANES * STRIDE * UNROLL * 2];
        write(isa, &found, aside.get_mut(..N.wrapping_mul(Self::ELEMENTS)).unwrap_or_default());
        for (cell, aside) in out.iter_mut().zip(aside) {
            *cell = aside;
        }
    }

    /// Vectors in between, which all taps reach.
    #[inline(always)]
    fn inner<const N: usize>(&self, isa: S, vector: usize, out: &mut [T]) {
        let found = self.sums::<N>(isa, vector, None);
        let out = out.get_mut(vector.wrapping_mul(Self::ELEMENTS)..);
        write(isa, &found, out.and_then(|out| out.get_mut(..N.wrapping_mul(Self::ELEMENTS))).unwrap_or_default());
    }

    /// The sums of some vectors of each class, with the masks of an end.
    #[inline(always)]
    fn sums<const N: usize>(&self, isa: S, vector: usize, end: Option<usize>) -> [[V<S, T>; N]; CLASSES] {
        let mut found = [[Vector::splat(isa, T::Acc::default()); N]; CLASSES];
        let cell = vector.wrapping_mul(Self::LANES);
        self.ask(isa, cell, N);
        for (found, class) in found.iter_mut().zip(self.classes) {
            let masks = end.and_then(|end| class.ends.get(end)?.first_chunk());
            *found = sums::<S, T, N, CLASSES>(isa, self.data, self.above, class.taps(), cell, masks);
        }
        found
    }

    /// Asks for what these vectors read of later rows.
    #[inline(always)]
    fn ask(&self, isa: S, cell: usize, vectors: usize) {
        for row in self.later {
            let row = row.wrapping_add(cell);
            for tap in self.classes.iter().flat_map(Class::taps) {
                let cells = vectors.wrapping_mul(Self::LANES);
                prefetch_run(isa, Cache::Level2, self.data, row.wrapping_add(tap.at), cells);
            }
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
    match sums.as_slice() {
        [sums] => {
            if const { weaves::<S, T>(CLASSES, N) } {
                for (pair, out) in sums.as_chunks().0.iter().zip(out.chunks_exact_mut(lanes.wrapping_mul(2))) {
                    T::store_woven(isa, *pair, out);
                }
            } else {
                for (sum, out) in sums.iter().zip(out.chunks_exact_mut(lanes)) {
                    T::store(isa, *sum, out);
                }
            }
        }
        [evens, odds] => {
            for ((even, odd), out) in evens.iter().zip(odds).zip(out.chunks_exact_mut(lanes.wrapping_mul(2))) {
                T::store_woven(isa, [*even, *odd], out);
            }
        }
        [first, second, others @ ..] => {
            let each = first.iter().zip(second).zip(out.chunks_exact_mut(lanes.wrapping_mul(CLASSES)));
            for (k, ((first, second), out)) in each.enumerate() {
                // The first two of each group of cells, and the one or two behind them.
                let (mut front, mut back) = ([[T::zeroed(); 2]; MOST_LANES], [T::zeroed(); 2 * MOST_LANES]);
                T::store_woven(isa, [*first, *second], front.as_flattened_mut());
                let other = |class: usize| others.get(class).and_then(|sums| sums.get(k));
                match (other(0), other(1)) {
                    (Some(third), Some(fourth)) => T::store_woven(isa, [*third, *fourth], &mut back),
                    (Some(third), None) => T::store(isa, *third, &mut back),
                    _ => {}
                }
                let back = back.chunks_exact(others.len());
                for ((cells, front), back) in out.as_chunks_mut::<CLASSES>().0.iter_mut().zip(front).zip(back) {
                    for (to, from) in cells.iter_mut().zip(front.iter().chain(back)) {
                        *to = *from;
                    }
                }
            }
        }
        [] => {}
    }
}
