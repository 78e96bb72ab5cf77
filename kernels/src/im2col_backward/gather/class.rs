//! Cells of a row whose columns are a stride apart: neighbouring windows reach them by the same kernel columns.

use ubtile_tiling::im2col_backward::Geometry;

use super::line::Groups;
use super::{TAPS, UNROLL};
use crate::simd::{Isa, MOST_LANES, Real, Vector};

/// A kernel column as the cells of a class see it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tap {
    /// Where cell 0 finds its window, counted from the first window of the kernel row's first tap; wraps.
    pub(super) at: usize,
    /// The cells that have one.
    from: usize,
    to: usize,
}

impl Tap {
    pub(super) fn reaches(&self, cell: usize) -> bool {
        (self.from..self.to).contains(&cell)
    }
}

/// The lanes of a vector that each tap of a class reaches.
pub(super) type Masks<V> = [V; TAPS];

/// Cells of a row whose columns are a stride apart.
#[derive(Clone, Copy, Debug)]
pub(super) struct Class<V> {
    taps: [Tap; TAPS],
    count: usize,
    /// Where vectors begin to read and where they end, counted from the first window of a kernel row.
    pub(super) reads: [isize; 2],
    /// Masks of the first vectors and of the last ones.
    pub(super) ends: [[Masks<V>; 2 * UNROLL]; 2],
}

impl<V: Copy> Class<V> {
    /// The cells `first`, `first` + stride, ... of a row.
    #[inline(always)]
    pub(super) fn new<S: Isa>(isa: S, geometry: &Geometry, first: usize, groups: &Groups, woven: [bool; 2]) -> Self
    where
        V: Vector<S>,
    {
        let (stride, width) = (geometry.stride[1], geometry.w);
        // As many for each class, so that the last vectors of all begin at the same cell; one behind the row goes nowhere.
        let cells = width.div_ceil(stride.get());
        let ends = [[[V::splat(isa, V::Elem::default()); TAPS]; 2 * UNROLL]; 2];
        let mut class = Self { taps: Default::default(), count: 0, reads: [isize::MAX, isize::MIN], ends };
        for j in 0..geometry.kernel[1].get() {
            // Window of cell k: k + (first + padding - offset) / stride.
            let (place, offset) = (first.wrapping_add(geometry.padding[1]), j.wrapping_mul(geometry.dilation[1].get()));
            let (behind, distance) = (place >= offset, place.abs_diff(offset));
            if distance % stride != 0 {
                continue;
            }
            let windows = distance / stride;
            let (start, from) = if behind { (windows, 0) } else { (windows.wrapping_neg(), windows) };
            let to = geometry.columns[1].wrapping_sub(start);
            let to = if behind && geometry.columns[1] < windows { 0 } else { to.min(cells) };
            let at = j.wrapping_mul(geometry.grad_output_strides[1]).wrapping_add(start);
            let Some(tap) = class.taps.get_mut(class.count) else { break };
            *tap = Tap { at, from, to };
            class.count = class.count.wrapping_add(1);
            let end = at.wrapping_add(cells.next_multiple_of(V::LANES));
            class.reads = [class.reads[0].min(at.cast_signed()), class.reads[1].max(end.cast_signed())];
        }
        for (end, (vectors, woven)) in [&groups.first, &groups.last].into_iter().zip(woven).enumerate() {
            for (k, vector) in vectors.clone().enumerate() {
                // Of two woven vectors one has the even cells, the other the odd ones.
                let (vector, odd) = if woven { (vector.wrapping_sub(k % 2), k % 2) } else { (vector, 0) };
                let first = vector.wrapping_mul(V::LANES).wrapping_add(odd);
                let masks = class.masks(isa, first, if woven { 2 } else { 1 });
                if let Some(to) = class.ends.get_mut(end).and_then(|ends| ends.get_mut(k)) {
                    *to = masks;
                }
            }
        }
        class
    }

    /// Masks of the vector that begins at a cell, from one cell to the next a step.
    #[inline(always)]
    fn masks<S: Isa>(&self, isa: S, cell: usize, step: usize) -> Masks<V>
    where
        V: Vector<S>,
    {
        let numbers: [V::Elem; MOST_LANES] =
            core::array::from_fn(|lane| Real::from_usize(cell.wrapping_add(lane.wrapping_mul(step))));
        let (numbers, limit) = (V::load(isa, &numbers), |cell| V::splat(isa, Real::from_usize(cell)));
        let mut masks = [numbers; TAPS];
        for (mask, tap) in masks.iter_mut().zip(self.taps()) {
            *mask = limit(tap.from).le(numbers).and(numbers.lt(limit(tap.to)));
        }
        masks
    }

    pub(super) fn taps(&self) -> &[Tap] {
        self.taps.get(..self.count).unwrap_or(&[])
    }
}
