//! Where the windows of output cells lie, and how a row of them is added to sums.

use crate::element::Element;
use crate::simd::{Isa, Real, Vector};

/// A vector of sums that elements of type `T` are added to.
pub(super) type Sum<T, S> = <<T as Element>::Acc as Real>::V<S>;

/// `grad_output`, whole or as the local input box of a tile.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source<'a, T> {
    pub(super) data: &'a [T],
    /// Offset of tap (0, 0) of the plane; wraps, as tap (0, 0) may lie in front of a tile's box.
    pub(super) start: usize,
    /// Distances of neighbours along the kernel's rows and columns.
    pub(super) taps: [usize; 2],
    /// Distances of neighbours along the windows' rows and columns.
    pub(super) windows: [usize; 2],
    /// Whether a window lies where it is in `[Lh, Lw]`; in a tile's box it lies where the output cell is in the tile.
    pub(super) in_place: bool,
}

/// The vectors of a row of sums that one tap adds to: lanes `from..` of the first one to `..to` of the last one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span<V> {
    pub(super) vectors: usize,
    pub(super) from: usize,
    pub(super) to: usize,
    /// Masks of the lanes of the first and the last vector.
    first: V,
    last: V,
}

impl<V> Span<V> {
    /// Of cells `from..to` of a row, at least one, and the number of the first vector among them.
    #[inline(always)]
    pub(super) fn new<S: Isa>(isa: S, from: usize, to: usize) -> (usize, Self)
    where
        V: Vector<S>,
    {
        let number = from / V::LANES;
        let from = from % V::LANES;
        let to = to - number * V::LANES;
        let vectors = to.div_ceil(V::LANES);
        let to = to - (vectors - 1) * V::LANES;
        let numbers: [V::Elem; 8] = core::array::from_fn(Real::from_usize);
        let lane = V::load(isa, &numbers);
        let limit = |lane| V::splat(isa, V::Elem::from_usize(lane));
        let (mut first, last) = (limit(from).le(lane), lane.lt(limit(to)));
        if vectors == 1 {
            first = first.and(last);
        }
        (number, Self { vectors, from, to, first, last })
    }
}

/// Adds a row of elements to sums: as many of both as the span's vectors have lanes.
#[inline(always)]
fn add_row<S: Isa, T: Element>(isa: S, cells: &[T], sums: &mut [T::Acc], span: Span<Sum<T, S>>) {
    let lanes = <Sum<T, S>>::LANES;
    let mut vectors = sums.chunks_exact_mut(lanes).zip(cells.chunks_exact(lanes));
    if let Some((sums, cells)) = vectors.next() {
        add_to(isa, sums, T::load(isa, cells).and(span.first));
    }
    if let Some((sums, cells)) = vectors.next_back() {
        add_to(isa, sums, T::load(isa, cells).and(span.last));
    }
    for (sums, cells) in vectors {
        add_to(isa, sums, T::load(isa, cells));
    }
}

#[inline(always)]
fn add_to<S: Isa, V: Vector<S>>(isa: S, sums: &mut [V::Elem], v: V) {
    (V::load(isa, sums) + v).store(sums);
}

/// Rows of windows that one tap adds to rows of sums, and where both begin.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rows {
    pub(super) count: usize,
    /// Offset of the element that the first lane of the first vector gets; wraps where that is in front of the data.
    pub(super) from: usize,
    /// Offset of that vector among the sums, and the distance to the next row's.
    pub(super) to: usize,
    pub(super) pitch: usize,
}

impl<T: Element> Source<'_, T> {
    /// Adds rows of windows to rows of sums.
    #[inline(always)]
    pub(super) fn add<S: Isa>(&self, isa: S, rows: Rows, span: Span<Sum<T, S>>, sums: &mut [T::Acc]) {
        let lanes = <Sum<T, S>>::LANES;
        let length = span.vectors * lanes;
        let Rows { count, mut from, mut to, pitch } = rows;
        let line = 64 / size_of::<T>();
        let (mut ahead, mut behind) = (from.wrapping_add(self.taps[1]), 0);
        for _ in 0..count {
            let Some(sums) = sums.get_mut(to..).and_then(|s| s.get_mut(..length)) else { return };
            // The next tap's rows: taps lie far apart, and the processor's own prefetching loses the trail at each.
            behind += self.windows[0];
            while behind >= line {
                isa.prefetch(self.data, ahead);
                ahead = ahead.wrapping_add(line);
                behind -= line;
            }
            // What is read before and behind a row belongs to its neighbours.
            match self.data.get(from..).and_then(|d| d.get(..length)) {
                Some(cells) if self.windows[1] == 1 => add_row(isa, cells, sums, span),
                _ => self.add_cells(from, sums, span.from, length - lanes + span.to),
            }
            from = from.wrapping_add(self.windows[0]);
            to = to.wrapping_add(pitch);
        }
    }

    /// One row, element by element: at the ends of the data, and where elements do not lie side by side.
    #[inline(always)]
    fn add_cells(&self, at: usize, sums: &mut [T::Acc], from: usize, to: usize) {
        for (k, sum) in sums.iter_mut().enumerate().take(to).skip(from) {
            let at = at.wrapping_add(k.wrapping_mul(self.windows[1]));
            *sum = *sum + self.data.get(at).map_or(T::Acc::default(), |v| v.widen());
        }
    }
}
