//! Tensors as the kernels see them: data and strides.

use crate::element::Element;
use crate::simd::{Isa, Real, Vector};

/// Elements of a tensor along its last dimension.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row<'a, T> {
    data: &'a [T],
    stride: usize,
}

impl<'a, T: Copy> Row<'a, T> {
    /// A row whose element `i` is `data[i * stride]`.
    #[inline(always)]
    pub(crate) fn new(data: &'a [T], stride: usize) -> Self {
        Self { data, stride }
    }

    /// The elements as a slice where they lie side by side.
    #[inline(always)]
    pub(crate) fn contiguous(&self) -> Option<&'a [T]> {
        (self.stride == 1).then_some(self.data)
    }

    /// Element `i`.
    #[inline(always)]
    pub(crate) fn get(&self, i: usize) -> Option<T> {
        self.data.get(i.wrapping_mul(self.stride)).copied()
    }
}

impl<T: Element> Row<'_, T> {
    /// Widens elements `i..i + count`, at most a vector of them; zeros in the other lanes.
    #[inline(always)]
    pub(crate) fn load<S: Isa>(&self, isa: S, i: usize, count: usize) -> <T::Acc as Real>::V<S> {
        if self.stride == 1 {
            let from = self.data.get(i..).unwrap_or(&[]);
            return T::load(isa, from.get(..count).unwrap_or(from));
        }
        let mut buffer = [T::Acc::default(); 8];
        let lanes = count.min(<T::Acc as Real>::V::<S>::LANES);
        for (k, slot) in buffer.iter_mut().enumerate().take(lanes) {
            *slot = self.get(i.wrapping_add(k)).map_or(T::Acc::default(), T::widen);
        }
        Vector::load(isa, &buffer)
    }
}

/// A tensor of four dimensions to read. Fewer dimensions have size 1 in front.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'a, T> {
    data: &'a [T],
    strides: [usize; 4],
}

impl<'a, T: Copy> View<'a, T> {
    /// Element `[a, b, c, d]` is `data[a * strides[0] + ..]`.
    #[inline(always)]
    pub(crate) fn new(data: &'a [T], strides: [usize; 4]) -> Self {
        Self { data, strides }
    }

    /// The elements `[a, b, c, ..]`.
    #[inline(always)]
    pub(crate) fn row(&self, a: usize, b: usize, c: usize) -> Row<'a, T> {
        let [sa, sb, sc, sd] = self.strides;
        let start = a.wrapping_mul(sa).wrapping_add(b.wrapping_mul(sb)).wrapping_add(c.wrapping_mul(sc));
        Row::new(self.data.get(start..).unwrap_or(&[]), sd)
    }
}
