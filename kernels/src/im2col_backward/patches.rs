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
use crate::simd::{Isa, MOST_LANES, Real, Vector, lanes, prefetch_run, put};

/// Bytes of a tensor that a level-2 cache holds beside another.
const NEAR: usize = 1 << 20;
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
        let far = size_of_val(data) > NEAR;
        let halves = Halves::new::<T>();
        let has_gaps = kw < sw.get() || lw.wrapping_mul(kw) < g.w;
        for Piece { image, channels, units } in part.pieces(g.c, g.h) {
            for channel in channels {
                let taps = channel.wrapping_mul(kh);
                let from = image.wrapping_mul(gn);
                let to = image.wrapping_mul(on).wrapping_add(channel.wrapping_mul(oc)).wrapping_sub(part.first);
                // Rows of cells that the same taps reach, whose windows lie one behind the other.
                for first in 0..sh.get().min(units.len()) {
                    // Vectors may go beyond a row where the next one lies behind it, which is written later.
                    let flows = oh == g.w && first.wrapping_add(1) < sh.get();
                    for y in units.clone().skip(first).step_by(sh.get()) {
                        let start = to.wrapping_add(y.wrapping_mul(oh));
                        let below = if flows && y.wrapping_add(1) < units.end { g.w.min(MOST_LANES) } else { 0 };
                        let end = start.wrapping_add(g.w).wrapping_add(below);
                        let Some(cells) = out.get_mut(start..end) else { return };
                        let (row, window) = (y % sh, y / sh);
                        let is_reached = row < kh && window < lh;
                        if has_gaps || !is_reached {
                            cells.get_mut(..g.w).unwrap_or_default().fill(T::zeroed());
                        }
                        if !is_reached {
                            continue;
                        }
                        if far {
                            // Part by part the next taps' windows, as the processor foresees no jump to them.
                            let part = lw.wrapping_mul(kw);
                            let next = taps.wrapping_add(row).wrapping_add(1).wrapping_mul(kw).wrapping_mul(gr);
                            let from = from.wrapping_add(next).wrapping_add(window.wrapping_mul(part));
                            prefetch_run(isa, isa.level2(), data, from, part);
                        }
                        let tap = taps.wrapping_add(row).wrapping_mul(kw).wrapping_mul(gr);
                        let start = from.wrapping_add(tap).wrapping_add(window.wrapping_mul(lw));
                        let data = data.get(start..).unwrap_or(&[]);
                        Row { data, pitch: gr, taps: kw, windows: lw, stride: sw.get() }.make(isa, halves, cells);
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
    fn make<S: Isa>(&self, isa: S, halves: Halves, cells: &mut [T]) {
        if T::IS_HALF {
            self.make_squares(HALVES, cells, |square| square.of_halves(halves));
        } else {
            self.make_squares(V::<S, T>::LANES, cells, |square| square.of_floats(isa));
        }
    }

    /// The same by squares of so many lanes.
    #[inline(always)]
    fn make_squares(&self, lanes: usize, cells: &mut [T], square: impl Fn(Square<'_, '_, T>)) {
        // The last taps first: what is written behind them belongs to the next window, of which it is no longer missing then.
        for block in (0..=self.taps.wrapping_sub(1) / lanes).rev() {
            let tap = block.wrapping_mul(lanes);
            let taps = self.taps.wrapping_sub(tap).min(lanes);
            let windows = self.windows(tap, taps, lanes);
            if let Some(windows) = &windows {
                let (count, last) = (lanes.min(self.windows), self.windows.saturating_sub(lanes));
                let mut first = 0usize;
                loop {
                    let at = first.wrapping_mul(self.stride).wrapping_add(tap);
                    square(Square { windows, taps, first, count, cells: &mut *cells, at, stride: self.stride });
                    if first == last {
                        break;
                    }
                    // The last windows again with some that are made.
                    first = first.wrapping_add(lanes).min(last);
                }
            }
            // Those that a vector does not fit behind, or all.
            for window in (0..self.windows).rev() {
                let at = window.wrapping_mul(self.stride).wrapping_add(tap);
                if windows.is_some() && at.wrapping_add(lanes) <= cells.len() {
                    break;
                }
                for (k, cell) in cells.get_mut(at..).unwrap_or_default().iter_mut().take(taps).enumerate() {
                    let term = self.data.get(tap.wrapping_add(k).wrapping_mul(self.pitch).wrapping_add(window));
                    *cell = T::narrow(T::Acc::default() + term.map_or(T::Acc::default(), |term| term.widen()));
                }
            }
        }
    }

    /// The windows of some taps from one on, a vector of `lanes` at least, with those of the next row if so. All are as long as each
    /// other, so that one look at a length does for all. `None` where the data end before.
    #[inline(always)]
    fn windows(&self, tap: usize, taps: usize, lanes: usize) -> Option<[&[T]; MOST_LANES]> {
        let (mut start, count) = (tap.wrapping_mul(self.pitch), self.windows.max(lanes));
        let mut windows = [self.data.get(start..start.wrapping_add(count))?; MOST_LANES];
        for (k, windows) in windows.iter_mut().enumerate().take(lanes) {
            if k < taps {
                *windows = self.data.get(start..start.wrapping_add(count))?;
                start = start.wrapping_add(self.pitch);
            }
        }
        Some(windows)
    }
}

/// Some windows of a row and some of their taps, as many of both as there are lanes at most.
struct Square<'a, 'c, T> {
    /// Of each tap all windows of the row.
    windows: &'a [&'a [T]; MOST_LANES],
    taps: usize,
    first: usize,
    count: usize,
    /// The row, of which the cells from `at` on are those of the first window.
    cells: &'c mut [T],
    at: usize,
    /// Cells from a window to the next.
    stride: usize,
}

impl<T: Element> Square<'_, '_, T> {
    /// Makes as many cells of each window as there are lanes, zeros behind those of the last tap; none where the row has not so many.
    /// Of F32 and F64.
    #[inline(always)]
    fn of_floats<S: Isa>(mut self, isa: S) {
        let (lanes, zero) = (V::<S, T>::LANES, V::<S, T>::splat(isa, T::Acc::default()));
        let (mut sums, mut all) = ([zero; MOST_LANES], zero);
        for (k, sums) in sums.iter_mut().enumerate().take(lanes) {
            if let Some(terms) = self.terms(k, lanes) {
                // The sum of one term: +0.0 where that is -0.0.
                *sums = zero + T::load(isa, terms);
                all = all + *sums;
            }
        }
        // A NaN among them, or infinities of both signs.
        if Vector::any(Vector::select(all.eq(all), zero, zero.eq(zero))) {
            for sums in sums.iter_mut().take(lanes) {
                *sums = sums.canonical(isa);
            }
        }
        V::<S, T>::transpose(
            #[inline(always)]
            |k| sums.get(k).copied().unwrap_or(zero),
            #[inline(always)]
            |k, sums| {
                // They are of the type that sums are made in.
                if let Some(Ok(cells)) = self.next(k, lanes).map(bytemuck::try_cast_slice_mut) {
                    sums.store(cells);
                }
            },
        );
    }

    /// The same of F16 and BF16, without widening: the sum of one term has its bits but for a NaN and -0.0.
    #[inline(always)]
    fn of_halves(mut self, halves: Halves) {
        let mut rows = [u16x8::ZERO; HALVES];
        for (k, row) in rows.iter_mut().enumerate() {
            if let Some(terms) = self.terms(k, HALVES) {
                *row = bytemuck::try_cast(lanes::<T, HALVES>(terms)).unwrap_or(u16x8::ZERO);
            }
        }
        if halves.have_others(&rows) {
            for row in &mut rows {
                *row = halves.sum(*row);
            }
        }
        for (k, sums) in u16x8::transpose(rows).into_iter().enumerate() {
            if let Some(cells) = self.next(k, HALVES) {
                put(bytemuck::try_cast(sums).unwrap_or([T::zeroed(); HALVES]), cells);
            }
        }
    }

    /// The windows of a tap, if there is one.
    #[inline(always)]
    fn terms(&self, tap: usize, lanes: usize) -> Option<&[T]> {
        let windows = self.windows.get(tap).filter(|_| tap < self.taps)?;
        windows.get(self.first..self.first.wrapping_add(lanes))
    }

    /// So many cells of a window, each the next one, if there are.
    #[inline(always)]
    fn next(&mut self, window: usize, lanes: usize) -> Option<&mut [T]> {
        let at = self.at;
        self.at = at.wrapping_add(self.stride);
        if window < self.count { self.cells.get_mut(at..at.wrapping_add(lanes)) } else { None }
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

    /// Whether there are any of those among terms.
    #[inline(always)]
    fn have_others(self, terms: &[u16x8; HALVES]) -> bool {
        let (mut largest, mut least) = (i16x8::ZERO, i16x8::ZERO);
        for &terms in terms {
            let terms: i16x8 = bytemuck::cast(terms);
            largest = largest.max(terms & i16x8::splat(i16::MAX));
            least = least.min(terms);
        }
        (largest.simd_gt(self.infinity) | least.simd_eq(i16x8::splat(i16::MIN))).any()
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
