//! The sums of a box of output cells.
//!
//! Sums are made in a buffer on the stack, as many rows of the box at a time as fit: for each tap in order, whole rows of
//! windows are added to it. So `grad_output` is read in long runs, in the order of its bytes where a plane fits the buffer:
//! many short ones, as a sum in registers would read, are several times slower. And all dtypes go the same way.

use core::num::NonZeroUsize;

use ubtile_tiling::im2col_backward::{Geometry, Tile};

use super::source::{Rows, Source, Span, Sum};
use super::target::{Run, Sums};
use crate::element::Element;
use crate::simd::{Isa, Vector};
use crate::values::ValuesMut;

/// Size of the buffer in f64: 16 KiB, half of a small level-1 cache; a plane of 56 x 56 f32 fits.
pub(super) const ROOM: usize = 2048;
/// Its size for small cores, which have no cache to use well and not much stack.
pub(super) const SMALL_ROOM: usize = 256;

/// One tile of a problem, with the tensors or boxes it works on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job<'a, T> {
    pub(super) problem: &'a Geometry,
    pub(super) tile: Tile,
    pub(super) source: Source<'a, T>,
    /// Offset in `out` of the tile's first cell.
    pub(super) out_start: usize,
    /// Distances in `out` of neighbouring rows and columns.
    pub(super) out_strides: [usize; 2],
}

/// A part of a tile whose sums fit the buffer. There, cells of a row whose columns differ by multiples of the stride, which the
/// same taps reach, lie side by side; each such run begins with a whole vector.
#[derive(Clone, Copy, Debug)]
struct Block {
    rows: [usize; 2],
    columns: [usize; 2],
    /// Distance in the buffer of neighbouring rows, and of the runs of a row.
    pitches: [usize; 2],
}

impl<T: Element<Acc: Sums>> Job<'_, T> {
    /// Adds everything up and writes it. `room` is the buffer.
    #[inline(always)]
    pub(super) fn run<S: Isa>(&self, isa: S, room: &mut [f64], out: &mut ValuesMut<'_>) {
        let sums: &mut [T::Acc] = bytemuck::try_cast_slice_mut(room).unwrap_or_default();
        let lanes = <Sum<T, S>>::LANES;
        let Tile { rows: [y0, y1], columns: [x0, x1], .. } = self.tile;
        let stride = self.problem.stride[1];
        // As many cells of each run as fit; with a stride beyond that, runs of one cell.
        let runs = at_least_1(stride.get().min(x1.saturating_sub(x0)).min(sums.len() / lanes));
        let length = sums.len() / lanes / runs * lanes;
        let columns = if runs < stride { runs.get() } else { runs.get().saturating_mul(length) };
        let mut x = x0;
        while x < x1 {
            let end = x1.min(x.saturating_add(columns));
            let longest = (end - x - 1) / stride + 1;
            let pitch = longest.next_multiple_of(lanes);
            let row_pitch = pitch * runs.get().min(end - x);
            let rows = (sums.len() / at_least_1(row_pitch)).max(1);
            let mut y = y0;
            while y < y1 {
                let below = y1.min(y.saturating_add(rows));
                let block = Block { rows: [y, below], columns: [x, end], pitches: [row_pitch, pitch] };
                self.block(isa, block, sums, out);
                y = below;
            }
            x = end;
        }
    }

    /// Adds up a part of the tile and writes it.
    #[inline(always)]
    fn block<S: Isa>(&self, isa: S, block: Block, sums: &mut [T::Acc], out: &mut ValuesMut<'_>) {
        let Geometry { dilation, padding, stride, columns: [lh, lw], .. } = *self.problem;
        let [i, j] = self.tile.taps;
        let Source { start, taps, windows, in_place, .. } = self.source;
        self.begin(block, sums, out);
        for i in i[0]..i[1] {
            let rows = Reached::new(block.rows, padding[0], i.wrapping_mul(dilation[0].get()), stride[0], lh);
            if rows.count == 0 {
                continue;
            }
            // The row of the first window, in the tensor or in the tile's box.
            let row = if in_place { rows.window } else { (block.rows[0] + rows.cell - self.tile.rows[0]) / stride[0] };
            let at = start.wrapping_add(i.wrapping_mul(taps[0])).wrapping_add(row.wrapping_mul(windows[0]));
            for j in j[0]..j[1] {
                let columns = Reached::new(block.columns, padding[1], j.wrapping_mul(dilation[1].get()), stride[1], lw);
                if columns.count == 0 {
                    continue;
                }
                let cell = columns.cell / stride[1];
                let (number, span) = Span::new(isa, cell, cell + columns.count);
                let column = if in_place {
                    columns.window
                } else {
                    (block.columns[0] + columns.cell - self.tile.columns[0]) / stride[1]
                };
                // Of the first vector's first lane, which may lie in front of the row.
                let column = column.wrapping_sub(span.from);
                let from = at.wrapping_add(j.wrapping_mul(taps[1])).wrapping_add(column.wrapping_mul(windows[1]));
                let run = columns.cell % stride[1] * block.pitches[1] + number * <Sum<T, S>>::LANES;
                let to = rows.cell * block.pitches[0] + run;
                let rows = Rows { count: rows.count, from, to, pitch: stride[0].get().wrapping_mul(block.pitches[0]) };
                self.source.add(isa, rows, span, sums);
            }
        }
        self.each_run(block, |at, run| {
            let sums = sums.get(at..).unwrap_or(&[]);
            run.write::<S, T::Acc>(isa, sums, out);
        });
    }

    /// Where the sums begin: at +0.0, or where the tile before this one left them.
    #[inline(always)]
    fn begin(&self, block: Block, sums: &mut [T::Acc], out: &ValuesMut<'_>) {
        if !self.tile.accumulates {
            let used = (block.rows[1] - block.rows[0]) * block.pitches[0];
            sums.get_mut(..used).unwrap_or_default().fill(T::Acc::default());
            return;
        }
        self.each_run(block, |at, run| run.read(out, sums.get_mut(at..).unwrap_or_default()));
    }

    /// Calls `with` the offset in the buffer of each run of sums and its cells of `out`.
    #[inline(always)]
    fn each_run(&self, block: Block, mut with: impl FnMut(usize, Run)) {
        let Block { rows: [y0, y1], columns: [x0, x1], pitches } = block;
        let stride = self.problem.stride[1];
        for y in y0..y1 {
            for first in 0..stride.get().min(x1.saturating_sub(x0)) {
                let row = (y - self.tile.rows[0]).wrapping_mul(self.out_strides[0]);
                let column = (x0 + first - self.tile.columns[0]).wrapping_mul(self.out_strides[1]);
                let run = Run {
                    at: self.out_start.wrapping_add(row).wrapping_add(column),
                    step: self.out_strides[1].wrapping_mul(stride.get()),
                    count: (x1 - x0 - first - 1) / stride + 1,
                };
                with((y - y0) * pitches[0] + first * pitches[1], run);
            }
        }
    }
}

/// The windows whose cell of one tap lies in a range of cells along one axis.
#[derive(Clone, Copy, Debug)]
struct Reached {
    /// The first one.
    window: usize,
    /// Its cell, counted from the first of the range. The next ones are a stride apart.
    cell: usize,
    count: usize,
}

impl Reached {
    /// `offset` is that of the tap in the window, `windows` how many there are.
    #[inline(always)]
    fn new([from, to]: [usize; 2], padding: usize, offset: usize, stride: NonZeroUsize, windows: usize) -> Self {
        // Cells of the padded image, less the offset.
        let (from, to) = (from + padding, to + padding);
        let window = ceil_div(from.saturating_sub(offset), stride);
        let end = ceil_div(to.saturating_sub(offset), stride).min(windows);
        let cell = window.wrapping_mul(stride.get()).wrapping_add(offset).wrapping_sub(from);
        Self { window, cell, count: end.saturating_sub(window) }
    }
}

#[inline(always)]
fn ceil_div(n: usize, by: NonZeroUsize) -> usize {
    // Most strides are 1, and a division is slow.
    if by == NonZeroUsize::MIN { n } else { n / by + usize::from(n % by != 0) }
}

#[inline(always)]
fn at_least_1(n: usize) -> NonZeroUsize {
    NonZeroUsize::new(n).unwrap_or(NonZeroUsize::MIN)
}
