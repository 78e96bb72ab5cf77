//! Windows that share no cell, as the patches of an image: each cell has one term or none.
//!
//! Neighbouring cells are the taps of one window, which lie far apart in `grad_output`; side by side lie the windows of a tap. So
//! squares of as many taps and windows as a vector has lanes are transposed, of halves two squares at once. Small strides are left
//! to the usual case, which interleaves so few rows without squares.

use core::mem;
use core::ops::Range;

use ubtile_tiling::im2col_backward::Geometry;
use wide::{i16x16, u16x16};

use super::Rows;
use crate::element::Element;
use crate::level::Kernel;
use crate::part::Piece;
use crate::simd::{CACHED, Isa, MOST_LANES, Real, Vector, prefetch_run};

/// Bytes of a tensor that a level-2 cache holds beside another.
const NEAR: usize = 1 << 20;
/// Rows of the kernel and of cells that are asked for ahead beyond the caches. Of 300 bytes each the next ones are too near: two make it
/// 1.6 times as fast.
const AHEAD: usize = 2;
/// Taps of a square at most, as vectors have no more lanes here, and of squares of halves.
const TAPS: usize = 8;
/// Windows of two squares of halves.
const WINDOWS: usize = 16;

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
        // Levels of one lane take another way.
        if const { V::<S, T>::LANES == 1 } {
            return;
        }
        let Rows { geometry: g, part, data, out } = self.0;
        let ([kh, kw], [sh, sw]) = (g.kernel.map(|k| k.get()), g.stride);
        let ([gn, gr, _], [on, oc, oh, _], [lh, lw]) = (g.grad_output_strides, g.out_strides, g.columns);
        let (far, beyond) = (size_of_val(data) > NEAR, size_of_val(data) > CACHED);
        let ahead = if beyond { AHEAD } else { usize::from(far) };
        let infinity = T::narrow(T::Acc::ONE / T::Acc::default());
        let infinity = bytemuck::try_cast([infinity; WINDOWS]).unwrap_or(i16x16::ZERO);
        let has_gaps = kw < sw.get() || lw.wrapping_mul(kw) < g.w;
        for Piece { image, channels, units } in part.pieces(g.c, g.h) {
            for channel in channels {
                let taps = channel.wrapping_mul(kh);
                let from = image.wrapping_mul(gn);
                let to = image.wrapping_mul(on).wrapping_add(channel.wrapping_mul(oc)).wrapping_sub(part.first);
                // Rows of cells that the same taps reach, whose windows lie one behind the other.
                for first in 0..sh.get().min(units.len()) {
                    let start = units.start.wrapping_add(first);
                    let (row, window) = (start % sh, start / sh);
                    let rows = (start..units.end).step_by(sh.get());
                    let reached = if row < kh { lh.saturating_sub(window).min(rows.len()) } else { 0 };
                    for (index, y) in rows.clone().enumerate() {
                        if has_gaps || index >= reached {
                            let at = to.wrapping_add(y.wrapping_mul(oh));
                            let Some(cells) = out.get_mut(at..at.wrapping_add(g.w)) else { return };
                            cells.fill(T::zeroed());
                        }
                    }
                    // Vectors may go beyond a row where the next one lies behind it, which is written later.
                    let flows = oh == g.w && first.wrapping_add(1) < sh.get();
                    let below = oh.wrapping_mul(AHEAD);
                    // Behind the last row of the same windows comes the first one of the next plane's.
                    let next_plane = oc.wrapping_sub(oh.wrapping_mul(sh.get()));
                    let wrap = if first.wrapping_add(AHEAD) < sh.get() { 0 } else { next_plane };
                    let tap = taps.wrapping_add(row).wrapping_mul(kw).wrapping_mul(gr);
                    let start = from.wrapping_add(tap).wrapping_add(window.wrapping_mul(lw));
                    let windows = Windows {
                        data: data.get(start..).unwrap_or(&[]),
                        pitch: gr,
                        taps: kw,
                        each: lw,
                        count: reached.wrapping_mul(lw),
                        stride: sw.get(),
                        ahead,
                        below: beyond.then_some(below.wrapping_add(wrap)),
                    };
                    let cells = rows.take(reached).map(|y| {
                        let at = to.wrapping_add(y.wrapping_mul(oh));
                        let below = if flows && y.wrapping_add(1) < units.end { g.w.min(MOST_LANES) } else { 0 };
                        at..at.wrapping_add(g.w).wrapping_add(below)
                    });
                    windows.make(isa, infinity, cells, out);
                }
            }
        }
    }
}

/// The windows of some rows that the same taps reach.
struct Windows<'a, T> {
    /// Those of the first tap, and what lies behind them.
    data: &'a [T],
    /// From a tap to the next.
    pitch: usize,
    taps: usize,
    /// Windows of a row.
    each: usize,
    /// Those of all rows.
    count: usize,
    /// Cells from a window to the next.
    stride: usize,
    /// How many rows of the kernel are asked for ahead, as the processor foresees no jump to them.
    ahead: usize,
    /// From a row to the one that is to be asked for as well, if there is one.
    below: Option<usize>,
}

impl<T: Element> Windows<'_, T> {
    /// Makes the rows that lie in these ranges of `out`.
    #[inline(always)]
    fn make<S: Isa>(&self, isa: S, infinity: i16x16, rows: impl Iterator<Item = Range<usize>> + Clone, out: &mut [T]) {
        if T::IS_HALF {
            self.make_squares(isa, [TAPS, WINDOWS], rows, out, |square| square.of_halves(isa, infinity));
        } else {
            self.make_squares(isa, [V::<S, T>::LANES; 2], rows, out, |square| square.of_floats(isa));
        }
    }

    /// The same by squares of so many taps and windows.
    #[inline(always)]
    fn make_squares<S: Isa>(
        &self,
        isa: S,
        [most, lanes]: [usize; 2],
        rows: impl Iterator<Item = Range<usize>> + Clone,
        out: &mut [T],
        square: impl Fn(Square<'_, '_, T>),
    ) {
        // The last taps first: what is written behind them belongs to the next window, of which it is no longer missing then.
        for tap in (0..self.taps).step_by(most.max(1)).rev() {
            let taps = self.taps.wrapping_sub(tap).min(most);
            let Some(windows) = self.of_taps(tap, taps, lanes) else { return };
            for (row, cells) in rows.clone().enumerate() {
                let (before, stride) = (row.wrapping_mul(self.each), self.stride);
                if self.ahead > 0 {
                    // Part by part.
                    let part = self.each.wrapping_mul(taps);
                    let next = self.taps.wrapping_mul(self.ahead).wrapping_add(tap).wrapping_mul(self.pitch);
                    prefetch_run(isa, isa.later(), self.data, next.wrapping_add(row.wrapping_mul(part)), part);
                }
                if self.below.is_some() && tap.wrapping_add(taps) == self.taps {
                    self.ask_below(isa, out, cells.start);
                }
                let Some(cells) = out.get_mut(cells).and_then(|cells| cells.get_mut(tap..)) else { return };
                if before.wrapping_add(self.each.div_ceil(lanes).wrapping_mul(lanes)) > windows[0].len() {
                    // The data end before a vector does.
                    Square { windows: &windows, taps, from: before, count: self.each, cells, stride }.one_by_one();
                    continue;
                }
                for first in (0..self.each).step_by(lanes) {
                    let (from, to) = (before.wrapping_add(first), first.wrapping_mul(stride));
                    let cells = cells.get_mut(to..).unwrap_or_default();
                    let count = self.each.wrapping_sub(first).min(lanes);
                    square(Square { windows: &windows, taps, from, count, cells, stride });
                }
            }
        }
    }

    /// Asks for a row of cells. Apart from squares, which need all registers.
    #[cold]
    #[inline(never)]
    fn ask_below<S: Isa>(&self, isa: S, out: &[T], row: usize) {
        if let Some(below) = self.below {
            prefetch_run(isa, isa.later(), out, row.wrapping_add(below), self.each.wrapping_mul(self.stride));
        }
    }

    /// All windows of some taps from one on and as many behind them as a vector reads, if there are. All are as long as each other.
    #[inline(always)]
    fn of_taps(&self, tap: usize, taps: usize, lanes: usize) -> Option<[&[T]; TAPS]> {
        let start = tap.wrapping_mul(self.pitch);
        let last = start.wrapping_add(taps.wrapping_sub(1).wrapping_mul(self.pitch));
        let count = self.data.len().checked_sub(last)?.min(self.count.wrapping_add(lanes));
        let mut windows = [self.data.get(start..start.wrapping_add(count))?; TAPS];
        let mut start = start;
        for windows in windows.iter_mut().take(taps) {
            *windows = self.data.get(start..start.wrapping_add(count))?;
            start = start.wrapping_add(self.pitch);
        }
        Some(windows)
    }
}

/// Some windows of a row and some of their taps.
struct Square<'a, 'c, T> {
    /// Of each tap all windows.
    windows: &'a [&'a [T]; TAPS],
    taps: usize,
    /// The first of the windows.
    from: usize,
    count: usize,
    /// The row from the cells of the first window on.
    cells: &'c mut [T],
    /// Cells from a window to the next.
    stride: usize,
}

impl<T: Element> Square<'_, '_, T> {
    /// Makes as many cells of each window as there are lanes, zeros behind those of the last tap; those of the taps alone where the row
    /// has no more. Of F32 and F64.
    #[inline(always)]
    fn of_floats<S: Isa>(mut self, isa: S) {
        let (lanes, zero) = (V::<S, T>::LANES, V::<S, T>::splat(isa, T::Acc::default()));
        let (mut sums, mut all) = ([zero; TAPS], zero);
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
                if k >= self.count {
                    return;
                }
                // They are of the type that sums are made in.
                match self.cells.get_mut(..lanes).map(bytemuck::try_cast_slice_mut) {
                    Some(Ok(cells)) => sums.store(cells),
                    _ => {
                        if let Some(Ok(cells)) = self.cells.get_mut(..self.taps).map(bytemuck::try_cast_slice_mut) {
                            sums.store(cells);
                        }
                    }
                }
                self.go_on();
            },
        );
    }

    /// The same of F16 and BF16, without widening: the sum of one term has its bits but for a NaN, of which there are few, and -0.0.
    #[inline(always)]
    fn of_halves<S: Isa>(mut self, isa: S, infinity: i16x16) {
        let mut rows = [u16x16::ZERO; TAPS];
        for (k, row) in rows.iter_mut().enumerate() {
            if let Some(terms) = self.terms(k, WINDOWS).and_then(|terms| terms.first_chunk::<WINDOWS>()) {
                *row = bytemuck::try_cast(*terms).unwrap_or(u16x16::ZERO);
            }
        }
        let (rows, largest) = isa.sums_of_halves(rows);
        if largest.simd_gt(infinity).any() {
            return self.one_by_one();
        }
        let sums = isa.transpose_halves(rows);
        // Of each half of the windows.
        for half in 0..2usize {
            for (k, &window) in sums.iter().enumerate() {
                if half.wrapping_mul(TAPS).wrapping_add(k) >= self.count {
                    return;
                }
                let cells = self.cells.first_chunk_mut::<TAPS>().map(|cells| bytemuck::try_cast_mut(cells));
                match cells {
                    Some(Ok(cells)) => isa.put_half(window, half == 1, cells),
                    _ => {
                        // In registers: the compiler would store every vector, for none but the last.
                        let halves: [u128; 2] = bytemuck::cast(window);
                        put_first(halves.get(half).copied().unwrap_or(0), self.taps, self.cells);
                    }
                }
                if !self.go_on() {
                    return;
                }
            }
        }
    }

    /// Makes the cells of the taps one after the other.
    #[cold]
    #[inline(never)]
    fn one_by_one(mut self) {
        for window in (self.from..).take(self.count) {
            for (cell, windows) in self.cells.iter_mut().zip(self.windows).take(self.taps) {
                let term = windows.get(window).map_or(T::Acc::default(), |term| term.widen());
                *cell = T::narrow(T::Acc::default() + term);
            }
            if !self.go_on() {
                return;
            }
        }
    }

    /// The windows of a tap, if there is one.
    #[inline(always)]
    fn terms(&self, tap: usize, lanes: usize) -> Option<&[T]> {
        let windows = self.windows.get(tap).filter(|_| tap < self.taps)?;
        windows.get(self.from..self.from.wrapping_add(lanes))
    }

    /// Leaves the first window's cells out; false where there are no others.
    #[inline(always)]
    fn go_on(&mut self) -> bool {
        let Some(cells) = mem::take(&mut self.cells).get_mut(self.stride..) else { return false };
        self.cells = cells;
        true
    }
}

/// Writes the first of so many halves, where a row ends before a vector does.
#[cold]
#[inline(never)]
fn put_first<T: Element>(halves: u128, count: usize, cells: &mut [T]) {
    let halves = bytemuck::try_cast(halves).unwrap_or([T::zeroed(); TAPS]);
    cells.iter_mut().zip(halves).take(count).for_each(|(cell, half)| *cell = half);
}
