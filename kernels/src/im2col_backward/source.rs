//! Where the windows of a box of output cells lie, and how a vector of them is read.

use core::num::NonZeroUsize;

use crate::element::Element;
use crate::simd::{Isa, Real, Vector};

/// The vector of sums that elements of type `T` are added to.
pub(super) type Sum<T, S> = <<T as Element>::Acc as Real>::V<S>;

/// `grad_output`, whole or as the local input box of a tile.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source<'a, T> {
    pub(super) data: &'a [T],
    /// Offset of tap (0, 0) of the plane; wraps, as tap (0, 0) of a tile's box may lie in front of it.
    pub(super) start: usize,
    /// Distances of neighbours along the kernel's rows and columns.
    pub(super) taps: [usize; 2],
    /// Distances of neighbours along the windows' rows and columns.
    pub(super) windows: [usize; 2],
    /// Whether a cell lies at the window that it is a part of, or, in a tile's box, where the output cell lies.
    pub(super) in_place: bool,
}

impl<T: Element> Source<'_, T> {
    /// Adds the windows `b..` of one row, `lw` windows long, to the sums of neighbouring cells; lanes outside add nothing.
    /// The first lies at `data[at]`, which wraps where it would lie in front of the row.
    #[inline(always)]
    pub(super) fn add_row<S: Isa, const U: usize>(&self, isa: S, at: usize, b: isize, lw: isize, sums: &mut [Sum<T, S>; U]) {
        let lanes = <Sum<T, S>>::LANES;
        let step = self.windows[1];
        if b >= 0 && b.wrapping_add((U * lanes) as isize) <= lw && step == 1 {
            let row = self.data.get(at..).and_then(|d| d.get(..U * lanes)).unwrap_or(&[]);
            for (sum, cells) in sums.iter_mut().zip(row.chunks_exact(lanes)) {
                *sum = *sum + T::load(isa, cells);
            }
            return;
        }
        for (u, sum) in sums.iter_mut().enumerate() {
            let b = b.wrapping_add((u * lanes) as isize);
            // Lanes `from..to` are inside.
            let from = b.wrapping_neg().max(0);
            let to = lw.wrapping_sub(b).min(lanes as isize);
            if from < to {
                let at = at.wrapping_add((u * lanes).wrapping_mul(step));
                *sum = *sum + self.edge(isa, at, from as usize, to as usize);
            }
        }
    }

    /// Lanes `from..to` of a vector at `data[at]`, zeros around them.
    #[inline(always)]
    fn edge<S: Isa>(&self, isa: S, at: usize, from: usize, to: usize) -> Sum<T, S> {
        let lanes = <Sum<T, S>>::LANES;
        let step = self.windows[1];
        if step == 1
            && let Some(cells) = self.data.get(at..).and_then(|d| d.get(..lanes))
        {
            // What is read too much belongs to the neighbouring rows.
            let all = T::load(isa, cells);
            if to - from == lanes {
                return all;
            }
            let lane = Vector::load(isa, &T::Acc::LANE_NUMBERS);
            let behind = Vector::splat(isa, T::Acc::from_usize(from)).le(lane);
            return all.and(behind.and(lane.lt(Vector::splat(isa, T::Acc::from_usize(to)))));
        }
        let mut cells = [T::Acc::default(); 8];
        for (k, cell) in cells.iter_mut().enumerate().take(to).skip(from) {
            let at = at.wrapping_add(k.wrapping_mul(step));
            *cell = self.data.get(at).map_or(T::Acc::default(), |v| v.widen());
        }
        Vector::load(isa, &cells)
    }
}

/// Which taps reach an output cell along one axis. With stride s and dilation d every (s / g)-th does, g = gcd(s, d), and
/// the window moves back by d / g from one to the next.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    dilation: usize,
    stride: NonZeroUsize,
    step: usize,
    back: usize,
}

impl Axis {
    #[inline(always)]
    pub(super) fn new(dilation: NonZeroUsize, stride: NonZeroUsize) -> Self {
        let (mut g, mut rest) = (stride, dilation.get());
        while let Some(divisor) = NonZeroUsize::new(rest) {
            (rest, g) = (g.get() % divisor, divisor);
        }
        Self { dilation: dilation.get(), stride, step: stride.get() / g, back: dilation.get() / g }
    }

    /// The taps of `from..to` whose windows have the padded position `at` as their cell, ascending, each with its window,
    /// which may lie outside the windows there are.
    #[inline(always)]
    pub(super) fn taps(&self, at: usize, [from, to]: [usize; 2]) -> Taps {
        let rest = at % self.stride;
        let last = to.min(from.wrapping_add(self.step));
        let mut tap = from;
        while tap < last && tap.wrapping_mul(self.dilation) % self.stride != rest {
            tap = tap.wrapping_add(1);
        }
        let to = if tap < last { to } else { tap };
        let offset = tap.wrapping_mul(self.dilation);
        let window = if at >= offset {
            ((at - offset) / self.stride) as isize
        } else {
            (((offset - at) / self.stride) as isize).wrapping_neg()
        };
        Taps { tap, to, window, step: self.step, back: self.back as isize }
    }
}

/// Pairs of a tap and its window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taps {
    tap: usize,
    to: usize,
    window: isize,
    step: usize,
    back: isize,
}

impl Iterator for Taps {
    type Item = (usize, isize);

    #[inline(always)]
    fn next(&mut self) -> Option<(usize, isize)> {
        if self.tap >= self.to {
            return None;
        }
        let pair = (self.tap, self.window);
        self.tap = self.tap.saturating_add(self.step);
        self.window = self.window.wrapping_sub(self.back);
        Some(pair)
    }
}
