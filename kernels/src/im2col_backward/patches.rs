//! Windows that share no cell, as the patches of an image: each cell has one term or none.
//!
//! Neighbouring cells are the taps of one window, which lie far apart in `grad_output`; side by side lie the windows of a tap. So
//! squares of as many taps and windows as a vector has lanes are transposed. Small strides are left to the usual case, which
//! interleaves so few rows without squares.

use ubtile_tiling::im2col_backward::Geometry;
use wide::{i16x8, u16x8};

use super::Rows;
use crate::element::Element;
use crate::level::Kernel;
use crate::part::Piece;
use crate::simd::{Isa, Real, Vector, lanes, put};

/// Halves of a square's rows.
const HALVES: usize = 8;

type V<S, T> = <<T as Element>::Acc as Real>::V<S>;

/// Makes rows of cells.
pub(super) struct Patches<'a, T>(pub(super) Rows<'a, T>);

/// Whether a problem is such a case.
pub(super) fn fits(geometry: &Geometry) -> bool {
    let apart = [0, 1].iter().all(|&axis| {
        let [kernel, stride, dilation] =
            [geometry.kernel, geometry.stride, geometry.dilation].map(|sizes| sizes[axis].get());
        kernel <= stride && (dilation == 1 || kernel == 1) && geometry.padding[axis] == 0
    });
    let side_by_side = geometry.grad_output_strides[2] == 1 && geometry.out_strides[3] == 1;
    apart && side_by_side && geometry.dtype == geometry.out_dtype
}

impl<T: Element> Kernel for Patches<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Isa>(self, isa: S) {
        let Rows { geometry: g, part, data, out } = self.0;
        let ([kh, kw], [sh, sw]) = (g.kernel.map(|k| k.get()), g.stride);
        let ([gn, gr, _], [on, oc, oh, _], [lh, lw]) = (g.grad_output_strides, g.out_strides, g.columns);
        let has_gaps = kw < sw.get() || lw.wrapping_mul(kw) < g.w;
        for Piece { image, channels, units } in part.pieces(g.c, g.h) {
            for channel in channels {
                let taps = channel.wrapping_mul(kh);
                let from = image.wrapping_mul(gn);
                let to = image.wrapping_mul(on).wrapping_add(channel.wrapping_mul(oc)).wrapping_sub(part.first);
                // Rows of cells that the same taps reach, whose windows lie one behind the other.
                for first in 0..sh.get().min(units.len()) {
                    for y in units.clone().skip(first).step_by(sh.get()) {
                        let start = to.wrapping_add(y.wrapping_mul(oh));
                        let Some(cells) = out.get_mut(start..start.wrapping_add(g.w)) else { return };
                        let (row, window) = (y % sh, y / sh);
                        let is_reached = row < kh && window < lh;
                        if has_gaps || !is_reached {
                            cells.fill(T::zeroed());
                        }
                        if is_reached {
                            let tap = taps.wrapping_add(row).wrapping_mul(kw).wrapping_mul(gr);
                            let start = from.wrapping_add(tap).wrapping_add(window.wrapping_mul(lw));
                            let data = data.get(start..).unwrap_or(&[]);
                            Row { data, pitch: gr, taps: kw, windows: lw, stride: sw.get() }.make(isa, cells);
                        }
                    }
                }
            }
        }
    }
}

/// What a row of cells is made from.
struct Row<'a, T> {
    /// The windows of the first tap, and what lies behind them.
    data: &'a [T],
    /// From a tap to the next.
    pitch: usize,
    taps: usize,
    windows: usize,
    /// Cells from a window to the next.
    stride: usize,
}

impl<T: Element> Row<'_, T> {
    #[inline(always)]
    fn make<S: Isa>(&self, isa: S, cells: &mut [T]) {
        let lanes = if T::IS_HALF { HALVES } else { V::<S, T>::LANES };
        let halves = Halves::new::<T>();
        let mut window = 0usize;
        while window < self.windows {
            // The last windows again with some that are made, where there are enough.
            window = window.min(self.windows.saturating_sub(lanes));
            let count = lanes.min(self.windows.wrapping_sub(window));
            // The last taps first: what is written behind them belongs to the next window, of which it is no longer missing then.
            let last = self.taps.wrapping_sub(1) / lanes;
            for block in (0..=last).rev() {
                let tap = block.wrapping_mul(lanes);
                let cells = cells.get_mut(window.wrapping_mul(self.stride).wrapping_add(tap)..).unwrap_or_default();
                if T::IS_HALF {
                    self.square_of_halves(halves, window, count, tap, cells);
                } else {
                    self.square(isa, window, count, tap, cells);
                }
            }
            window = window.wrapping_add(count);
        }
    }

    /// Makes cells of `count` windows and of as many taps as a vector has lanes; zeros behind the last one.
    #[inline(always)]
    fn square<S: Isa>(&self, isa: S, window: usize, count: usize, tap: usize, mut cells: &mut [T]) {
        let zero = V::<S, T>::splat(isa, T::Acc::default());
        let taps = self.taps.wrapping_sub(tap);
        let mut windows = self.windows_of(tap, window);
        V::<S, T>::transpose(
            #[inline(always)]
            |k| {
                if k >= taps {
                    return zero;
                }
                // The sum of one term: +0.0 where that is -0.0. Windows of the next row may be among them.
                let sums = zero + T::load(isa, windows);
                windows = windows.get(self.pitch..).unwrap_or(&[]);
                sums
            },
            #[inline(always)]
            |k, sums| {
                let here = core::mem::take(&mut cells);
                if k < count {
                    T::store(isa, sums, here);
                    cells = here.get_mut(self.stride..).unwrap_or_default();
                }
            },
        );
    }

    /// The same without widening: the sum of one term has its bits but for a NaN and -0.0.
    #[inline(always)]
    fn square_of_halves(&self, halves: Halves, window: usize, count: usize, tap: usize, mut cells: &mut [T]) {
        let taps = self.taps.wrapping_sub(tap);
        let mut windows = self.windows_of(tap, window);
        let mut rows = [u16x8::ZERO; HALVES];
        for row in rows.iter_mut().take(taps) {
            *row = bytemuck::try_cast(lanes::<T, HALVES>(windows)).unwrap_or(u16x8::ZERO);
            windows = windows.get(self.pitch..).unwrap_or(&[]);
        }
        for sums in u16x8::transpose(rows).into_iter().take(count) {
            let here = core::mem::take(&mut cells);
            put(bytemuck::try_cast(halves.sum(sums)).unwrap_or([T::zeroed(); HALVES]), here);
            cells = here.get_mut(self.stride..).unwrap_or_default();
        }
    }

    /// The windows of a tap from one on, and what lies behind them.
    #[inline(always)]
    fn windows_of(&self, tap: usize, window: usize) -> &[T] {
        self.data.get(tap.wrapping_mul(self.pitch).wrapping_add(window)..).unwrap_or(&[])
    }
}

/// The bits of what sums of one F16 or BF16 may not be: a vector of its infinity, and of its canonical NaN.
#[derive(Clone, Copy)]
struct Halves {
    infinity: i16x8,
    nan: i16x8,
}

impl Halves {
    #[inline(always)]
    fn new<T: Element>() -> Self {
        let vector = |value: T::Acc| bytemuck::try_cast([T::narrow(value); HALVES]).unwrap_or(i16x8::ZERO);
        Self { infinity: vector(T::Acc::ONE / T::Acc::default()), nan: vector(T::Acc::NAN) }
    }

    /// +0.0 and a term.
    #[inline(always)]
    fn sum(self, terms: u16x8) -> u16x8 {
        let terms: i16x8 = bytemuck::cast(terms);
        let is_nan = (terms & i16x8::splat(i16::MAX)).simd_gt(self.infinity);
        let is_zero = terms.simd_eq(i16x8::splat(i16::MIN));
        bytemuck::cast(is_nan.bitselect(self.nan, terms) & !is_zero)
    }
}
