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

impl<T: Element> Source<'_, T> {
    /// Adds a row of elements to sums that begin with a whole vector. The first lane's element is `data[at]`; `at` wraps where
    /// that is in front of the data.
    #[inline(always)]
    pub(super) fn add_row<S: Isa>(&self, isa: S, at: usize, sums: &mut [T::Acc], span: Span<Sum<T, S>>) {
        let lanes = <Sum<T, S>>::LANES;
        let Span { vectors, from, to, first, last } = span;
        if self.windows[1] != 1 {
            return self.add_spread(at, sums, from, (vectors - 1) * lanes + to);
        }
        let only = vectors == 1;
        let Some((head, rest)) = sums.split_at_mut_checked(lanes) else { return };
        add_to(isa, head, self.load(isa, at, first, from, if only { to } else { lanes }));
        if only {
            return;
        }
        let at = at.wrapping_add(lanes);
        let inner = (vectors - 2) * lanes;
        let Some((inner_sums, tail)) = rest.split_at_mut_checked(inner) else { return };
        let cells = self.data.get(at..).and_then(|d| d.get(..inner)).unwrap_or(&[]);
        for (sums, cells) in inner_sums.chunks_exact_mut(lanes).zip(cells.chunks_exact(lanes)) {
            add_to(isa, sums, T::load(isa, cells));
        }
        if let Some(tail) = tail.get_mut(..lanes) {
            add_to(isa, tail, self.load(isa, at.wrapping_add(inner), last, 0, to));
        }
    }

    /// A vector at `data[at]` with zeros outside of lanes `from..to`, which `mask` is of.
    #[inline(always)]
    fn load<S: Isa>(&self, isa: S, at: usize, mask: Sum<T, S>, from: usize, to: usize) -> Sum<T, S> {
        let lanes = <Sum<T, S>>::LANES;
        if let Some(cells) = self.data.get(at..).and_then(|d| d.get(..lanes)) {
            // What is read beyond belongs to the neighbouring rows.
            return T::load(isa, cells).and(mask);
        }
        let mut cells = [T::Acc::default(); 8];
        for (k, cell) in cells.iter_mut().enumerate().take(to).skip(from) {
            *cell = self.data.get(at.wrapping_add(k)).map_or(T::Acc::default(), |v| v.widen());
        }
        Vector::load(isa, &cells)
    }

    /// [`add_row`](Self::add_row) of elements that do not lie side by side, cells `from..to`.
    #[inline(always)]
    fn add_spread(&self, at: usize, sums: &mut [T::Acc], from: usize, to: usize) {
        for (k, sum) in sums.iter_mut().enumerate().take(to).skip(from) {
            let at = at.wrapping_add(k.wrapping_mul(self.windows[1]));
            *sum = *sum + self.data.get(at).map_or(T::Acc::default(), |v| v.widen());
        }
    }
}

#[inline(always)]
fn add_to<S: Isa, V: Vector<S>>(isa: S, sums: &mut [V::Elem], v: V) {
    (V::load(isa, sums) + v).store(sums);
}
