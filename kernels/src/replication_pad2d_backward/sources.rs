//! Rows of `grad_output` that fold into a row, however many rows and columns.

use crate::bits;
use crate::element::Element;
use crate::simd::{Isa, MOST_LANES, Real, Vector};

/// Vectors of sums that are made side by side, so that whole lines are read.
const UNROLL: usize = 4;

/// Vector of what sums are made in.
pub(super) type V<S, T> = <<T as Element>::Acc as Real>::V<S>;

/// The rows. All positions are in scalars, `P` of which are an element.
#[derive(Clone, Copy)]
pub(super) struct Sources<'a, T, const P: usize> {
    /// From the first row on to the end of the tensor.
    pub(super) data: &'a [T],
    /// From a row to the next.
    pub(super) pitch: usize,
    pub(super) count: usize,
    /// Length of each.
    pub(super) width: usize,
    /// How much of each folds into the first element, and into the last.
    pub(super) edges: [usize; 2],
}

impl<'a, T: Element, const P: usize> Sources<'a, T, P> {
    /// Makes a row from one row.
    #[inline(always)]
    pub(super) fn copy<S: Isa>(self, isa: S, dest: &mut [T]) {
        bits::copy(self.from(self.before()), dest);
        let [first, last] = self.edges;
        for (from, count, to) in [(0, first, 0), (self.width.wrapping_sub(last), last, dest.len().wrapping_sub(P))] {
            let (source, dest) = (self.from(from), dest.get_mut(to..).unwrap_or(&mut []));
            // One element has been copied.
            if count > P && T::IS_HALF {
                fold_short(isa.quad(), source, count, dest);
            } else if count > P {
                fold_elements::<T, P>(source.get(..count).unwrap_or(&[]), dest);
            }
        }
    }

    /// Makes rows of a length and a pitch from one row each; as many as vectors have lanes.
    #[inline(always)]
    pub(super) fn copy_each<S: Isa>(self, isa: S, dest: &mut [T], length: usize, pitch: usize) {
        for row in 0..V::<S, T>::LANES {
            let dest = dest.get_mut(row.wrapping_mul(pitch)..).and_then(|dest| dest.get_mut(..length));
            bits::copy(self.from(row.wrapping_mul(self.pitch).wrapping_add(self.before())), dest.unwrap_or_default());
        }
        let [first, last] = self.edges;
        self.fold_columns(isa, 0, first, dest, pitch);
        let dest = dest.get_mut(length.wrapping_sub(P)..).unwrap_or_default();
        self.fold_columns(isa, self.width.wrapping_sub(last), last, dest, pitch);
    }

    /// Folds `count` columns from one on to an element of each row, whose rows are `pitch` apart: a column of all rows at a time, as
    /// short elements by themselves take far longer to widen and to round.
    #[inline(always)]
    fn fold_columns<S: Isa>(self, isa: S, from: usize, count: usize, dest: &mut [T], pitch: usize) {
        // One element has been copied.
        if count < 2 {
            return;
        }
        let lanes = V::<S, T>::LANES;
        let mut total = V::<S, T>::splat(isa, T::Acc::default());
        for first in (0..count).step_by(lanes) {
            V::<S, T>::transpose(
                #[inline(always)]
                |row| load(isa, self.data, row.wrapping_mul(self.pitch).wrapping_add(from).wrapping_add(first)),
                #[inline(always)]
                |column, values| {
                    let column = column.wrapping_add(first);
                    if column == 0 {
                        total = values;
                    } else if column < count {
                        total = total + values;
                    }
                },
            );
        }
        let mut made = [T::zeroed(); MOST_LANES];
        T::store(isa, total, &mut made);
        for (row, made) in made.iter().enumerate().take(lanes) {
            if let Some(dest) = dest.get_mut(row.wrapping_mul(pitch)) {
                *dest = *made;
            }
        }
    }

    /// Makes a row from several rows.
    #[inline(always)]
    pub(super) fn fold<S: Isa>(self, isa: S, dest: &mut [T]) {
        if dest.len() < V::<S, T>::LANES {
            self.fold_body(isa.quad(), dest);
        } else {
            self.fold_body(isa, dest);
        }
        let [first, last] = self.edges;
        self.fold_box(isa, 0, first, dest);
        let to = dest.len().wrapping_sub(P);
        self.fold_box(isa, self.width.wrapping_sub(last), last, dest.get_mut(to..).unwrap_or(&mut []));
    }

    /// How much of a row is in front of the image.
    #[inline(always)]
    fn before(self) -> usize {
        self.edges[0].wrapping_sub(P)
    }

    #[inline(always)]
    fn from(self, at: usize) -> &'a [T] {
        self.data.get(at..).unwrap_or(&[])
    }

    /// Sums of columns over rows.
    #[inline(always)]
    fn fold_body<S: Isa>(self, isa: S, dest: &mut [T]) {
        let lanes = V::<S, T>::LANES;
        let mut at = 0usize;
        while let Some(dest) = dest.get_mut(at..at.wrapping_add(lanes.wrapping_mul(UNROLL))) {
            let sums: [_; UNROLL] = self.sums(isa, self.before().wrapping_add(at));
            for (dest, sum) in dest.chunks_exact_mut(lanes).zip(sums) {
                T::store(isa, sum, dest);
            }
            at = at.wrapping_add(lanes.wrapping_mul(UNROLL));
        }
        while at < dest.len() {
            // The last vector again with some sums that are made, where there are enough.
            at = at.min(dest.len().saturating_sub(lanes));
            let end = at.wrapping_add(lanes).min(dest.len());
            let [sum] = self.sums(isa, self.before().wrapping_add(at));
            T::store(isa, sum, dest.get_mut(at..end).unwrap_or(&mut []));
            at = end;
        }
    }

    /// Sums of columns over rows, ascending, from the first row on: `M` vectors of them.
    #[inline(always)]
    fn sums<S: Isa, const M: usize>(self, isa: S, at: usize) -> [V<S, T>; M] {
        let mut sums = [V::<S, T>::splat(isa, T::Acc::default()); M];
        let mut start = at;
        for row in 0..self.count {
            for (i, sum) in sums.iter_mut().enumerate() {
                let values = load(isa, self.data, start.wrapping_add(i.wrapping_mul(V::<S, T>::LANES)));
                *sum = if row == 0 { values } else { *sum + values };
            }
            start = start.wrapping_add(self.pitch);
        }
        sums
    }

    /// Folds `count` columns of all rows to an element; two vectors side by side hide the latency of additions.
    #[inline(always)]
    fn fold_box<S: Isa>(self, isa: S, from: usize, count: usize, dest: &mut [T]) {
        let lanes = V::<S, T>::LANES;
        let (mut total, mut at) = ([T::Acc::default(); P], 0usize);
        while at < count {
            let mut sums = [T::Acc::default(); MOST_LANES * 2];
            let left = count.wrapping_sub(at);
            let columns = if left > lanes {
                let vectors: [_; 2] = self.sums(isa, from.wrapping_add(at));
                for (sums, vector) in sums.chunks_mut(lanes).zip(vectors) {
                    vector.store(sums);
                }
                left.min(lanes.wrapping_mul(2))
            } else {
                let [vector] = self.sums(isa, from.wrapping_add(at));
                vector.store(&mut sums);
                left
            };
            for (i, element) in sums.get(..columns).unwrap_or(&[]).as_chunks::<P>().0.iter().enumerate() {
                for (total, value) in total.iter_mut().zip(element) {
                    *total = if at == 0 && i == 0 { *value } else { *total + *value };
                }
            }
            at = at.wrapping_add(columns);
        }
        let mut lanes = [T::Acc::default(); MOST_LANES];
        for (lane, total) in lanes.iter_mut().zip(total) {
            *lane = total;
        }
        T::store(isa, V::<S, T>::load(isa, &lanes), dest.get_mut(..P).unwrap_or(&mut []));
    }
}

/// A vector of a slice, without a look at each of its elements where there are enough.
#[inline(always)]
fn load<S: Isa, T: Element>(isa: S, data: &[T], at: usize) -> V<S, T> {
    match data.get(at..at.wrapping_add(V::<S, T>::LANES)) {
        Some(full) => T::load(isa, full),
        None => T::load(isa, data.get(at..).unwrap_or(&[])),
    }
}

/// Folds the first `count` short elements to one. They are widened a vector at a time, as one by one takes far longer.
#[inline(always)]
fn fold_short<S: Isa, T: Element>(isa: S, source: &[T], count: usize, dest: &mut [T]) {
    let mut total = [T::Acc::default(); MOST_LANES];
    let [sum, ..] = &mut total;
    for start in (0..count).step_by(V::<S, T>::LANES) {
        let mut lanes = [T::Acc::default(); MOST_LANES];
        load(isa, source, start).store(&mut lanes);
        for (at, lane) in (start..).zip(lanes).take(V::<S, T>::LANES) {
            if at < count {
                *sum = if at == 0 { lane } else { *sum + lane };
            }
        }
    }
    let mut made = [T::zeroed(); MOST_LANES];
    T::store(isa, V::<S, T>::load(isa, &total), &mut made);
    let [made, ..] = made;
    if let Some(dest) = dest.first_mut() {
        *dest = made;
    }
}

/// Folds elements to one.
#[inline(always)]
fn fold_elements<T: Element, const P: usize>(source: &[T], dest: &mut [T]) {
    if let ([first, rest @ ..], Some(dest)) = (source.as_chunks::<P>().0, dest.first_chunk_mut()) {
        let mut total = first.map(T::widen);
        for element in rest {
            for (total, value) in total.iter_mut().zip(element) {
                *total = *total + value.widen();
            }
        }
        *dest = total.map(T::narrow);
    }
}
