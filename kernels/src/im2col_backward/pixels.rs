//! A `grad_output` whose channels and taps lie side by side, as that of patches that were multiplied from the right: vectors run
//! along the channels.
//!
//! A cell's terms are one of each window that reaches it, and for the next channel as many elements further as a kernel has taps.
//! Lanes are read one by one, which costs less than to copy the tensor to another order where windows share cells. A few cells of
//! a row are summed for as many channels as a vector has lanes, then for the next channels: the windows that these cells share are
//! in a level-1 cache, and each plane of `out` gets a line at a time.

use ubtile_tiling::im2col_backward::{Geometry, Problem};

use super::Rows;
use crate::bits;
use crate::element::Element;
use crate::level::Kernel;
use crate::part::Piece;
use crate::simd::{Isa, MOST_LANES, Real, Vector, prefetch_run};

/// Cells of a row that are summed before the next channels are.
const BLOCK: usize = 16;

type V<S, T> = <<T as Element>::Acc as Real>::V<S>;

/// Sums rows of cells.
pub(super) struct Pixels<'a, T>(pub(super) Rows<'a, T>);

/// Along one axis the taps that reach a cell, each as the distance of it and its window from the first of both in `grad_output`.
#[derive(Clone, Copy)]
struct Reaching {
    terms: [usize; Problem::MOST_TAPS],
    count: usize,
}

impl Reaching {
    const NONE: Self = Self { terms: [0; Problem::MOST_TAPS], count: 0 };

    /// Those of axis 0 or 1 that reach the cell `at`, of taps and windows so far apart.
    #[inline(always)]
    fn new(g: &Geometry, axis: usize, at: usize, tap_step: usize, window_step: usize) -> Self {
        let (mut terms, mut count) = ([0; Problem::MOST_TAPS], 0usize);
        let (stride, windows) = (g.stride[axis], g.columns[axis]);
        let place = at.wrapping_add(g.padding[axis]);
        // Without dilation only each `stride`-th tap may.
        let (first, by) = if g.dilation[axis].get() == 1 { (place % stride, stride.get()) } else { (0, 1) };
        for tap in (first..g.kernel[axis].get()).step_by(by) {
            // A place in front of the first window is a huge number.
            let place = place.wrapping_sub(tap.wrapping_mul(g.dilation[axis].get()));
            // Most strides are 1, and a division is slow.
            let window = if stride.get() == 1 { place } else { place / stride };
            if window < windows
                && window.wrapping_mul(stride.get()) == place
                && let Some(term) = terms.get_mut(count)
            {
                *term = tap.wrapping_mul(tap_step).wrapping_add(window.wrapping_mul(window_step));
                count = count.wrapping_add(1);
            }
        }
        Self { terms, count }
    }

    #[inline(always)]
    fn terms(&self) -> &[usize] {
        self.terms.get(..self.count).unwrap_or(&[])
    }
}

impl<T: Element> Kernel for Pixels<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Isa>(self, isa: S) {
        let Rows { geometry: g, part, data, out } = self.0;
        let [kh, kw] = g.kernel.map(|k| k.get());
        let [gn, _, gl] = g.grad_output_strides;
        let [on, oc, oh, ow] = g.out_strides;
        let (taps, lanes) = (kh.wrapping_mul(kw), V::<S, T>::LANES);
        let mut columns = [Reaching::NONE; BLOCK];
        for Piece { image, channels, units } in part.pieces(g.c, g.h) {
            let (from, to) = (image.wrapping_mul(gn), image.wrapping_mul(on).wrapping_sub(part.first));
            for y in units {
                let rows = Reaching::new(g, 0, y, kw, g.columns[1].wrapping_mul(gl));
                for x in (0..g.w).step_by(BLOCK) {
                    let to = to.wrapping_add(y.wrapping_mul(oh)).wrapping_add(x.wrapping_mul(ow));
                    let width = BLOCK.min(g.w.wrapping_sub(x));
                    let columns = columns.get_mut(..width).unwrap_or_default();
                    for (k, column) in columns.iter_mut().enumerate() {
                        *column = Reaching::new(g, 1, x.wrapping_add(k), 1, gl);
                    }
                    let mut ahead = Ahead::new(g, [y, x], width);
                    let asked = ahead.count / (channels.len() / lanes).max(1);
                    for channel in channels.clone().step_by(lanes) {
                        ahead.ask(isa, data.get(from..).unwrap_or(&[]), asked);
                        let from = from.wrapping_add(channel.wrapping_mul(taps));
                        let sums = Sums { data: data.get(from..).unwrap_or(&[]), taps, rows: &rows, columns };
                        let to = to.wrapping_add(channel.wrapping_mul(oc));
                        let count = lanes.min(channels.end.wrapping_sub(channel));
                        let cells = Cells { count, channel: oc, column: ow };
                        cells.write(out.get_mut(to..).unwrap_or_default(), sums.make(isa), width);
                    }
                }
            }
        }
    }
}

/// The windows that the cells below a block need beside those that it does: they lie in as many places as there are channels.
struct Ahead {
    at: usize,
    count: usize,
}

impl Ahead {
    #[inline(always)]
    fn new(g: &Geometry, [y, x]: [usize; 2], width: usize) -> Self {
        let [_, _, gl] = g.grad_output_strides;
        let [row, column] = [y.wrapping_add(g.padding[0]), x.wrapping_add(g.padding[1])];
        let below = (row / g.stride[0]).wrapping_add(1);
        let first = below.wrapping_mul(g.columns[1]).wrapping_add(column / g.stride[1]);
        let is_new = row % g.stride[0] == 0 && below < g.columns[0];
        let windows = if is_new { width / g.stride[1] } else { 0 };
        Self { at: first.wrapping_mul(gl), count: windows.wrapping_mul(gl) }
    }

    /// Asks for some of them.
    #[inline(always)]
    fn ask<S: Isa, T>(&mut self, isa: S, data: &[T], count: usize) {
        prefetch_run(isa, isa.later(), data, self.at, count);
        self.at = self.at.wrapping_add(count);
    }
}

/// The sums of a block of cells for a vector of channels.
struct Sums<'a, T> {
    /// `grad_output`, from the first of these channels on.
    data: &'a [T],
    /// From a channel to the next.
    taps: usize,
    rows: &'a Reaching,
    columns: &'a [Reaching],
}

impl<T: Element> Sums<'_, T> {
    /// The channels of each cell.
    #[inline(always)]
    fn make<S: Isa>(&self, isa: S) -> [[T; MOST_LANES]; BLOCK] {
        let mut made = [[T::zeroed(); MOST_LANES]; BLOCK];
        for (made, column) in made.iter_mut().zip(self.columns) {
            let mut sum = V::<S, T>::splat(isa, T::Acc::default());
            for row in self.rows.terms() {
                for column in column.terms() {
                    let terms = self.data.get(row.wrapping_add(*column)..).unwrap_or(&[]);
                    sum = sum + T::load_apart(isa, terms, self.taps);
                }
            }
            T::store(isa, sum, made.get_mut(..V::<S, T>::LANES).unwrap_or_default());
        }
        made
    }
}

/// Where a block of cells lies.
#[derive(Clone, Copy)]
struct Cells {
    /// Channels.
    count: usize,
    /// From a channel and from a column to the next.
    channel: usize,
    column: usize,
}

impl Cells {
    #[inline(always)]
    fn write<T: Element>(self, out: &mut [T], made: [[T; MOST_LANES]; BLOCK], width: usize) {
        if self.channel == 1 {
            for (k, made) in made.iter().enumerate().take(width) {
                let start = k.wrapping_mul(self.column);
                let cells = out.get_mut(start..start.wrapping_add(self.count)).unwrap_or_default();
                bits::copy(made, cells);
            }
            return;
        }
        for lane in 0..self.count {
            let row = made.map(
                #[inline(always)]
                |channels| channels.get(lane).copied().unwrap_or(T::zeroed()),
            );
            let cells = out.get_mut(lane.wrapping_mul(self.channel)..).unwrap_or_default();
            if self.column == 1 {
                bits::copy(&row, cells.get_mut(..width).unwrap_or_default());
                continue;
            }
            for (cell, made) in cells.iter_mut().step_by(self.column.max(1)).zip(row).take(width) {
                *cell = made;
            }
        }
    }
}
