//! The rows of windows that a row of cells is the sum of, and those to ask for meanwhile.

use ubtile_tiling::im2col_backward::Geometry;

use super::{PLANE, TAPS};
use crate::simd::Isa;

/// Bytes of windows that are asked for ahead, at least.
const AHEAD: usize = 1024;

/// The kernel rows that reach a row of cells: where each finds its first window.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Above {
    rows: [usize; TAPS],
    /// Where the rows are that will be needed a while later.
    later: [usize; TAPS],
    count: usize,
}

/// What to ask for ahead of its use: a part of the next plane with each row where a plane fits the level-2 cache, else the rows
/// of windows that will be needed a while later.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ahead {
    /// Elements to the next plane, and those of it that are asked for with each row; 0 where a plane is too large.
    plane: usize,
    part: usize,
    /// Rows of windows.
    rows: usize,
    /// From a row of windows behind the last one to the row of the next plane.
    wrap: usize,
}

impl Ahead {
    pub(super) fn new(geometry: &Geometry, size: usize) -> Self {
        let [lh, lw] = geometry.columns;
        let [_, gr, _] = geometry.grad_output_strides;
        let plane = geometry.kernel[0].get().wrapping_mul(geometry.kernel[1].get()).wrapping_mul(gr);
        let rows = AHEAD.checked_div(lw.wrapping_mul(size)).unwrap_or(0).wrapping_add(1).min(lh);
        let fits = plane.saturating_mul(size) <= PLANE;
        let part = if fits { plane.checked_div(geometry.h).unwrap_or(0).wrapping_add(1) } else { 0 };
        Self { plane, part, rows, wrap: plane.wrapping_sub(lh.wrapping_mul(lw)) }
    }
}

impl Above {
    /// Finds those of row `y` of a plane whose `grad_output` begins at `start`. In place: moved, it would wait for its stores.
    #[inline(always)]
    pub(super) fn find(&mut self, geometry: &Geometry, ahead: Ahead, start: usize, y: usize) {
        let [lh, lw] = geometry.columns;
        let (stride, row) =
            (geometry.stride[0], geometry.grad_output_strides[1].wrapping_mul(geometry.kernel[1].get()));
        self.count = 0;
        for i in 0..geometry.kernel[0].get() {
            let place = y.wrapping_add(geometry.padding[0]).wrapping_sub(i.wrapping_mul(geometry.dilation[0].get()));
            // A place in front of the first window is a huge number.
            let (window, rest) = if stride.get() == 1 { (place, 0) } else { (place / stride, place % stride) };
            if rest != 0 || window >= lh {
                continue;
            }
            let (Some(at), Some(later)) = (self.rows.get_mut(self.count), self.later.get_mut(self.count)) else {
                break;
            };
            *at = start.wrapping_add(i.wrapping_mul(row)).wrapping_add(window.wrapping_mul(lw));
            let wrap = if window.wrapping_add(ahead.rows) < lh { 0 } else { ahead.wrap };
            *later = at.wrapping_add(ahead.rows.wrapping_mul(lw)).wrapping_add(wrap);
            self.count = self.count.wrapping_add(1);
        }
    }

    pub(super) fn rows(&self) -> &[usize] {
        self.rows.get(..self.count).unwrap_or(&[])
    }

    /// Asks for what will be needed, after row `y` of a plane that begins at `start`.
    #[inline(always)]
    pub(super) fn ask<S: Isa, T>(&self, isa: S, geometry: &Geometry, ahead: Ahead, data: &[T], start: usize, y: usize) {
        if ahead.part > 0 {
            let next = start.wrapping_add(ahead.plane).wrapping_add(y.wrapping_mul(ahead.part));
            return run(isa, data, next, ahead.part);
        }
        for row in self.later.get(..self.count).unwrap_or(&[]) {
            let mut row = *row;
            for _ in 0..geometry.kernel[1].get() {
                run(isa, data, row, geometry.columns[1]);
                row = row.wrapping_add(geometry.grad_output_strides[1]);
            }
        }
    }
}

/// Asks for a run of elements.
#[inline(always)]
fn run<S: Isa, T>(isa: S, data: &[T], from: usize, count: usize) {
    let mut at = 0usize;
    while at < count {
        isa.prefetch(data, from.wrapping_add(at));
        at = at.wrapping_add(64 / size_of::<T>());
    }
}
