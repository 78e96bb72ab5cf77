//! Cells of a row whose columns are a stride apart: neighbouring windows reach them by the same kernel columns.

use ubtile_tiling::im2col_backward::Geometry;

use super::TAPS;
use crate::simd::{Isa, Real, Vector};

/// Lanes of the widest vector.
pub(super) const MOST_LANES: usize = 8;

/// A kernel column as the cells of a class see it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tap {
    /// Where cell 0 finds its window, counted from the first window of the kernel row's first tap; wraps.
    pub(super) at: usize,
    /// The cells that have one.
    from: usize,
    to: usize,
}

/// Cells of a row whose columns are a stride apart.
#[derive(Clone, Copy, Debug)]
pub(super) struct Class<V> {
    taps: [Tap; TAPS],
    count: usize,
    pub(super) cells: usize,
    /// The cells that all taps reach.
    pub(super) inner: [usize; 2],
    /// The lanes that each tap reaches, of the first vector and of the last one.
    pub(super) ends: [[V; TAPS]; 2],
}

impl<V: Copy> Class<V> {
    /// The cells `first`, `first` + stride, ... of a row.
    #[inline(always)]
    pub(super) fn new<S: Isa>(isa: S, geometry: &Geometry, first: usize) -> Self
    where
        V: Vector<S>,
    {
        let (stride, width) = (geometry.stride[1], geometry.w);
        // As many for each class, so that the last vectors of all begin at the same cell; one behind the row goes nowhere.
        let cells = width.div_ceil(stride.get());
        let none = V::splat(isa, V::Elem::default());
        let mut class = Self { taps: Default::default(), count: 0, cells, inner: [0, cells], ends: [[none; TAPS]; 2] };
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
            class.inner = [class.inner[0].max(from), class.inner[1].min(to)];
        }
        class.ends = [0, cells.saturating_sub(V::LANES)].map(|cell| class.masks(isa, cell));
        class
    }

    /// The lanes that each tap reaches, of the vector that begins at a cell.
    #[inline(always)]
    pub(super) fn masks<S: Isa>(&self, isa: S, cell: usize) -> [V; TAPS]
    where
        V: Vector<S>,
    {
        let numbers: [V::Elem; MOST_LANES] = core::array::from_fn(|lane| Real::from_usize(cell.wrapping_add(lane)));
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
