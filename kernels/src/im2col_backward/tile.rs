//! A tile on the tensors or boxes it works on, and the blocks in which its sums are made.
//!
//! Sums are made in a buffer on the stack, as many rows of the tile at a time as fit: for each tap in order, whole rows of
//! windows are added to it. So `grad_output` is read in long runs, in the order of its bytes where a plane fits the buffer:
//! many short ones, as a sum in registers would read, are several times slower. And all dtypes go the same way, but that sums of
//! more rows than fit which need no rounding, in rows without gaps, are made where they are written: so many more at a time.
//!
//! What is here is the same for all dtypes and levels; only [`Add`] and [`Write`] are compiled for each.

use bytemuck::try_cast_slice_mut;
use ubtile_tiling::Dtype;
use ubtile_tiling::im2col_backward::Geometry;

use super::add::Add;
use super::write::{End, Run, Write};
use crate::built::{BF16, F16, F32, F64};
use crate::element::Element;
use crate::level::Level;
use crate::part::at_least_1;
use crate::values::{Values, ValuesMut};

/// Runs of sums begin at multiples of this, the lanes of the widest vector.
const LANES: usize = 8;

/// Bytes of sums that are made where they are written: half of a small level-2 cache, less what is read.
const IN_PLACE_BYTES: usize = 128 << 10;

/// Where the windows of a plane are: in the tensor, or in the local input box of a tile.
#[derive(Clone, Copy, Debug)]
pub(super) struct Windows {
    /// Offset of tap (0, 0); wraps, as that may lie in front of a tile's box.
    pub(super) start: usize,
    /// Distances of neighbours along the kernel's rows and columns.
    pub(super) taps: [usize; 2],
    /// Distances of neighbours along the windows' rows and columns.
    pub(super) steps: [usize; 2],
    /// Whether a window lies where it is in `[Lh, Lw]`; in a tile's box it lies where its output cell is in the tile.
    pub(super) in_place: bool,
}

/// A box of cells of one plane, and what is added to them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job<'a> {
    pub(super) problem: &'a Geometry,
    /// Rows and columns of its cells.
    pub(super) rows: [usize; 2],
    pub(super) columns: [usize; 2],
    /// Rows and columns of the kernel.
    pub(super) taps: [[usize; 2]; 2],
    /// Whether the output holds sums to go on with.
    pub(super) accumulates: bool,
    pub(super) windows: Windows,
    /// Offset in `out` of the tile's first cell.
    pub(super) out_start: usize,
    /// Distances in `out` of neighbouring rows and columns.
    pub(super) out_strides: [usize; 2],
}

/// A part of a tile whose sums fit the buffer. There, cells of a row whose columns differ by multiples of the stride, which the
/// same taps reach, lie side by side.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    pub(super) rows: [usize; 2],
    pub(super) columns: [usize; 2],
    /// Distance in the buffer of neighbouring rows, and of the runs of a row.
    pub(super) pitches: [usize; 2],
}

impl Job<'_> {
    /// Adds everything up and writes it. `room` is the buffer.
    pub(super) fn run(&self, level: Level, grad: Values<'_>, room: &mut [f64], out: &mut ValuesMut<'_>) {
        let ([_, y1], [x0, x1]) = (self.rows, self.columns);
        let stride = self.problem.stride[1];
        let size = if self.problem.dtype == Dtype::F64 { size_of::<f64>() } else { size_of::<f32>() };
        let fits = y1.saturating_sub(self.rows[0]).saturating_mul(x1.saturating_sub(x0)) <= size_of_val(room) / size;
        let y0 = match (grad, &mut *out) {
            (Values::F32(data), ValuesMut::F32(out)) if F32 && !fits => self.in_place(level, data, out),
            (Values::F64(data), ValuesMut::F64(out)) if F64 && !fits => self.in_place(level, data, out),
            _ => self.rows[0],
        };
        let vectors = size_of_val(room) / LANES / size;
        // As many cells of each run as fit; with a stride beyond that, runs of one cell.
        let runs = at_least_1(stride.get().min(x1.saturating_sub(x0)).min(vectors));
        let columns = if runs == stride { runs.get().saturating_mul(vectors / runs * LANES) } else { runs.get() };
        let mut x = x0;
        while x < x1 {
            let end = x1.min(x.saturating_add(columns));
            let longest = (end - x - 1) / stride + 1;
            let pitch = longest.div_ceil(LANES);
            let row_pitch = at_least_1(pitch * runs.get());
            let pitches = [row_pitch.get() * LANES, pitch * LANES];
            let mut y = y0;
            while y < y1 {
                let below = y1.min(y.saturating_add((vectors / row_pitch).max(1)));
                self.block(level, Block { rows: [y, below], columns: [x, end], pitches }, grad, room, out);
                y = below;
            }
            x = end;
        }
    }

    /// Adds up rows where they are written. Gives the first row that is left.
    fn in_place<T: Element<Acc = T>>(&self, level: Level, data: &[T], out: &mut [T]) -> usize {
        let ([y0, y1], [x0, x1]) = (self.rows, self.columns);
        let Geometry { c, h, w, stride, out_strides, .. } = *self.problem;
        let plane = h.wrapping_mul(w);
        if !self.windows.in_place || stride[1].get() > 1 || out_strides != [c.wrapping_mul(plane), plane, w, 1] {
            return y0;
        }
        // The last vector of a row may go beyond it, where +0.0 is added to what comes next: sums, or what is none yet.
        let room = out.len().saturating_sub(self.out_start.saturating_add(LANES));
        let end = y1.min(y0.saturating_add(room / at_least_1(w)));
        let most = (IN_PLACE_BYTES / size_of::<T>().max(1) / at_least_1(w)).max(1);
        for y in (y0..end).step_by(most) {
            let block = Block { rows: [y, end.min(y.saturating_add(most))], columns: [x0, x1], pitches: [w, w] };
            let sums = out.get_mut(self.out_start.wrapping_add((y - y0).wrapping_mul(w))..).unwrap_or_default();
            let made = (block.rows[1] - y).wrapping_mul(w);
            sums.get_mut(..made).unwrap_or_default().fill(T::zeroed());
            level.dispatch(Add { job: self, block, data, sums: &mut *sums });
            level.dispatch(End(sums.get_mut(..made).unwrap_or_default()));
        }
        end
    }

    /// Adds up a part of the tile and writes it.
    fn block(&self, level: Level, block: Block, grad: Values<'_>, room: &mut [f64], out: &mut ValuesMut<'_>) {
        self.begin(block, room, out);
        match grad {
            Values::F16(data) if F16 => level.dispatch(Add { job: self, block, data, sums: cast(room) }),
            Values::Bf16(data) if BF16 => level.dispatch(Add { job: self, block, data, sums: cast(room) }),
            Values::F32(data) if F32 => level.dispatch(Add { job: self, block, data, sums: cast(room) }),
            Values::F64(data) if F64 => level.dispatch(Add { job: self, block, data, sums: room }),
            // The contract has no other, and what is not built has been refused.
            _ => {}
        }
        if F64 && self.problem.dtype == Dtype::F64 {
            let sums: &[f64] = room;
            level.dispatch(Write { runs: self.runs(block), sums, out });
        } else {
            let sums: &[f32] = cast(room);
            level.dispatch(Write { runs: self.runs(block), sums, out });
        }
    }

    /// Where the sums begin: at +0.0, or where the tile before this one left them.
    fn begin(&self, block: Block, room: &mut [f64], out: &ValuesMut<'_>) {
        if !self.accumulates {
            let sums = (block.rows[1] - block.rows[0]).saturating_mul(block.pitches[0]);
            let used = if self.problem.dtype == Dtype::F64 { sums } else { sums.div_ceil(2) };
            // The bits of two f32 of +0.0 are those of one f64.
            return room.get_mut(..used).unwrap_or_default().fill(0.0);
        }
        for (at, run) in self.runs(block) {
            match out {
                ValuesMut::F32(left) => run.read(left, at, cast(room)),
                ValuesMut::F64(left) if F64 => run.read(left, at, room),
                _ => {}
            }
        }
    }

    /// The runs of sums of a block: where in the buffer they begin, and their cells of `out`.
    fn runs(&self, block: Block) -> impl Iterator<Item = (usize, Run)> {
        let job = *self;
        let Block { rows: [y0, y1], columns: [x0, x1], pitches } = block;
        let stride = self.problem.stride[1];
        (y0..y1).flat_map(move |y| {
            (0..stride.get().min(x1 - x0)).map(move |first| {
                let row = (y - job.rows[0]).wrapping_mul(job.out_strides[0]);
                let column = (x0 + first - job.columns[0]).wrapping_mul(job.out_strides[1]);
                let run = Run {
                    at: job.out_start.wrapping_add(row).wrapping_add(column),
                    step: job.out_strides[1].wrapping_mul(stride.get()),
                    count: (x1 - x0 - first - 1) / stride + 1,
                };
                ((y - y0) * pitches[0] + first * pitches[1], run)
            })
        })
    }
}

/// The buffer as f32.
fn cast(room: &mut [f64]) -> &mut [f32] {
    try_cast_slice_mut(room).unwrap_or_default()
}
