//! How much of sixteen planes is in the UB at a time, and where it lies.

use std::num::NonZeroUsize;

use ubtile_tiling::im2col_backward::Plan;

use super::SUMS;
use crate::lower::room::Room;
use crate::lower::shape::{BLOCK_BYTES, Compute, LANES, MOST_STRIDE, PER_BLOCK};
use crate::lower::substitute::{ROWS, TURNED, period};

/// Most repeats of an instruction.
const MOST_REPEATS: usize = 255;
/// Most blocks of a piece: a repeat for each of their lanes, and for what comes before.
const MOST_BLOCKS: usize = MOST_REPEATS / ROWS - 1;

/// Cycles of an instruction without its repeats, or of a barrier.
const INSTRUCTION: usize = 22;

/// Instructions that a chunk takes as long as to come.
const FETCH: usize = 40;
/// Instructions that rows of a tap of a plane take as long as that are as far from a block, and bytes of rows that are added in a cycle.
const BY_PLANE: usize = 16;
const ADDED: usize = 20;

/// Sixteen lanes: planes, or strips of one.
#[derive(Clone, Copy, Debug)]
pub(in crate::lower::im2col_backward) struct Abreast {
    pub(super) input: Compute,
    pub(super) output: Compute,
    pub(super) kernel: [usize; 2],
    pub(super) dilation: [usize; 2],
    pub(super) padding: [usize; 2],
    pub(super) stride: [usize; 2],
    /// Window positions.
    pub(super) windows: [usize; 2],
    pub(super) height: usize,
    pub(super) width: usize,
    /// Rows of a lane, and whether there are more of them in a plane.
    pub(super) rows: usize,
    pub(super) strips: bool,
    /// Taps of a chunk, and rows of windows of a lane; whether these are whole planes of windows.
    pub(super) taps: usize,
    pub(super) step: usize,
    pub(super) whole_taps: bool,
    /// Blocks of each of the sixteen pieces of a chunk of a lane, and of its sums as they are stored.
    pub(super) blocks: usize,
    pub(super) stored: usize,
    /// Whether all lanes begin as far from a block, so that one transposition takes them, which 32-bit ones take if there is one.
    pub(super) alike: bool,
    /// Whether pieces of 32-bit sums are stored from where none are in the same bank.
    pub(super) gaps: bool,
    /// Chunks that are in the UB at the same time.
    pub(super) slots: u32,
}

impl Abreast {
    /// Where copies take whole blocks alone, and the sums of sixteen lanes fit: planes or strips, whichever take fewer transpositions.
    pub(in crate::lower::im2col_backward) fn of(plan: &Plan, room: Room) -> Option<Self> {
        let p = plan.problem();
        let [input, output] = [p.dtype, p.out_dtype].map(|dtype| Compute::of(dtype).ok());
        let [kernel, dilation, stride] = [p.kernel, p.dilation, p.stride].map(|sizes| sizes.map(NonZeroUsize::get));
        let suits = room.scratch.is_some()
            && room.transposes
            && room.most.rows >= p.h
            && room.most.columns >= p.w
            && SUMS * stride[1] <= MOST_STRIDE;
        if !suits {
            return None;
        }
        let plane = Self {
            input: input?,
            output: output?,
            kernel,
            dilation,
            padding: p.padding,
            stride,
            windows: p.columns,
            height: p.h,
            width: p.w,
            rows: p.h,
            strips: false,
            taps: 1,
            step: p.columns[0],
            whole_taps: true,
            blocks: 1,
            stored: 1,
            alike: p.dtype.size() == 2 || room.transposes_words,
            gaps: true,
            slots: 2,
        };
        let fits = |of: &Self| of.bytes() <= room.without_scratch();
        let strips = (1..=p.h.div_ceil(ROWS * stride[0])).filter_map(|n| plane.strips(n * stride[0]));
        let lanes = std::iter::once(plane).chain(strips);
        let lanes = lanes.flat_map(|of| [of, Self { gaps: false, ..of }]);
        let lanes = lanes.flat_map(|of| [of, Self { slots: 1, ..of }]).filter_map(|of| of.in_chunks(fits));
        let shares = plane.shares(plan);
        let most = |of: &dyn Fn([usize; 2]) -> usize| shares.iter().map(|share| of(*share)).max().unwrap_or(0);
        // All that is there is cleared first.
        let cycles = |of: &Self| of.bytes() / (4 * LANES) + most(&|share| of.boxes(share)) * of.cycles();
        let best = lanes.min_by_key(cycles)?;
        (cycles(&best) < most(&|share| plane.cycles_by_plane(share))).then_some(best)
    }

    /// About how many cycles a share takes plane by plane: rows of a tap that are as far from a block as each other wait for what they are
    /// and for what they are added to, and a row whose columns are of several kinds is put in order.
    fn cycles_by_plane(&self, [begin, end]: [usize; 2]) -> usize {
        let planes = end.div_ceil(self.plane_bytes()) - begin / self.plane_bytes();
        let (taps, rows) = (self.kernel[0] * self.kernel[1], (end - begin) / self.row_bytes());
        let row = self.windows[1] * self.input.size;
        let order = if self.stride[1] > 1 { rows * (2 * INSTRUCTION + self.width / 4) } else { 0 };
        taps * (planes * period(row) * BY_PLANE * INSTRUCTION + rows / self.stride[0] * row / ADDED) + order
    }

    /// Strips of so many rows, where only the first one begins in front of windows.
    fn strips(self, rows: usize) -> Option<Self> {
        let [sh, windows] = [self.stride[0], rows / self.stride[0]];
        let before = ((self.kernel[0] - 1) * self.dilation[0]).saturating_sub(self.padding[0]).div_ceil(sh);
        let suits = before <= windows && self.windows[0] > PER_BLOCK * windows;
        suits.then_some(Self { rows, strips: true, step: windows, whole_taps: false, ..self })
    }

    /// In as large chunks as fit.
    fn in_chunks(self, fits: impl Fn(&Self) -> bool) -> Option<Self> {
        let cells = self.cells();
        let stored = (cells * self.output.size / 2 + ROWS - 1).div_ceil(ROWS * ROWS);
        // What ends the lane before lies in the lane.
        let suits = cells * self.output.size >= BLOCK_BYTES && stored <= MOST_BLOCKS && self.step <= MOST_REPEATS;
        if !suits || self.adds().is_none() {
            return None;
        }
        let (all, windows, lw) = (self.kernel[0] * self.kernel[1], self.step, self.windows[1]);
        let whole = windows * lw;
        let of_blocks = |blocks: usize| {
            let elements = TURNED * blocks / self.input.size;
            let taps = if self.strips { 1 } else { elements / whole };
            // As much in each chunk.
            let even = |all: usize, most: usize| all.div_ceil(all.div_ceil(most));
            let of = Self { stored, alike: self.alike && self.lane_pitch().is_multiple_of(BLOCK_BYTES), ..self };
            let of = if taps > 0 && whole <= elements {
                Self { taps: even(all, taps), ..of }
            } else {
                let rows = Some(elements / lw).filter(|rows| *rows > 0)?;
                Self { step: even(windows, rows), whole_taps: false, ..of }
            };
            let blocks = (of.taps * of.step * lw * self.input.size).div_ceil(TURNED);
            Some(Self { blocks, ..of })
        };
        (1..=MOST_BLOCKS).rev().filter_map(of_blocks).find(fits)
    }

    /// Bytes of `grad_output` from a lane to the next one.
    fn lane_pitch(&self) -> usize {
        let [kh, kw] = self.kernel;
        let windows = if self.strips { self.lane_windows() } else { kh * kw * self.windows[0] };
        windows * self.windows[1] * self.input.size
    }

    /// Chunks of a piece.
    fn chunks(&self) -> usize {
        let windows = if self.strips { self.lane_windows() } else { self.windows[0] };
        (self.kernel[0] * self.kernel[1]).div_ceil(self.taps) * windows.div_ceil(self.step)
    }

    /// About how many cycles a piece takes: those of vector instructions and of barriers between them, two for a transposition or sixteen
    /// where all its blocks are in a bank; and until chunks are there that do not come while others are added.
    fn cycles(&self) -> usize {
        let all = |instructions: usize, repeats: usize| INSTRUCTION * instructions + repeats;
        let lanes = |elements: usize| elements * ROWS / LANES;
        let (blocks, stored) = (self.blocks, self.stored + 1);
        let cast = |of: Compute, elements: usize| if of.is_short() { all(2, lanes(elements)) } else { 0 };
        let turns = if self.alike { 0 } else { all(ROWS + 4, 2 * ROWS * (blocks + 1)) };
        let chunk = turns + all(2, 2 * ROWS * blocks) + cast(self.input, TURNED * blocks / self.input.size);
        let eights = self.windows[1].div_ceil(PER_BLOCK);
        let rows = if self.strips { self.lane_windows() } else { self.windows[0] };
        let add = if self.adds_along() { all(8 * rows, 4 * rows * eights) } else { all(4 * eights, 4 * eights * rows) };
        let apart = if self.output.is_short() || self.gaps { all(4, 4 * ROWS * stored) } else { ROWS * ROWS * stored };
        let out = all(2 * ROWS + 10, 2 * ROWS * stored) + apart + cast(self.output, self.cells());
        let taps = self.kernel[0] * self.kernel[1];
        let waits = if self.slots == 1 { self.chunks() } else { 1 };
        all(FETCH * waits, lanes(self.cells())) + self.chunks() * chunk + taps * add + out
    }

    /// The bytes of the output that each core makes: the first and one past the last.
    pub(super) fn shares(&self, plan: &Plan) -> Vec<[usize; 2]> {
        let shares = (0..plan.block_dim()).map(|share| plan.share_range(0, share));
        shares.map(|range| [range.start, range.end].map(|at| at * self.output.size)).collect()
    }

    /// Pieces of a share from a byte of the output to another one, as the program goes from one to the next.
    pub(super) fn boxes(&self, [mut begin, end]: [usize; 2]) -> usize {
        let mut count = 0;
        while begin < end {
            let plane = begin / self.plane_bytes() * self.plane_bytes();
            let row = if self.strips { (begin - plane) / self.row_bytes() * self.row_bytes() } else { 0 };
            let last = (plane + row + ROWS * self.lane_bytes()) / BLOCK_BYTES * BLOCK_BYTES;
            let last = if self.strips { last.min(plane + self.plane_bytes()) } else { last };
            begin = last.min(end);
            count += 1;
        }
        count
    }

    /// Elements of a lane's output.
    pub(super) const fn cells(&self) -> usize {
        self.rows * self.width
    }

    /// Bytes of the output of a row, of a lane and of a plane.
    pub(super) const fn row_bytes(&self) -> usize {
        self.width * self.output.size
    }

    pub(super) const fn lane_bytes(&self) -> usize {
        self.rows * self.row_bytes()
    }

    pub(super) const fn plane_bytes(&self) -> usize {
        self.height * self.row_bytes()
    }

    /// Rows of windows from a strip to the next one.
    pub(super) const fn lane_windows(&self) -> usize {
        self.rows / self.stride[0]
    }

    /// Whether rows of windows are added one by one, eight columns a repeat, instead of eight columns of all rows, a row each; `None` where
    /// an instruction does neither.
    fn adds(&self) -> Option<bool> {
        let [sh, sw] = self.stride;
        let reaches = |next: usize| SUMS * next <= MOST_STRIDE;
        let down = reaches((sh * self.width).max(self.windows[1]));
        let along = reaches(sw * PER_BLOCK) && self.width <= PER_BLOCK * MOST_REPEATS;
        (along || down).then(|| along && (!down || 2 * self.step < self.windows[1].div_ceil(PER_BLOCK)))
    }

    pub(super) fn adds_along(&self) -> bool {
        self.adds() == Some(true)
    }

    /// Blocks from a lane to the next one where each block is one of all its pieces: transpositions of sixteen lanes, or of halves of
    /// eight, meet in no bank.
    pub(super) const fn turned_pitch(&self, blocks: usize, short: bool) -> usize {
        ROWS * (blocks + 2) + if short { 1 } else { SUMS }
    }

    /// Bytes of a chunk of a plane as it is fetched: the blocks of the pieces, and one more.
    pub(super) const fn fetched_pitch(&self) -> usize {
        (ROWS * self.blocks + 1) * BLOCK_BYTES
    }

    pub(super) const fn fetched_bytes(&self) -> usize {
        ROWS * self.fetched_pitch()
    }

    pub(super) fn turned_bytes(&self) -> usize {
        let pitch = |blocks: usize, of: Compute| self.turned_pitch(blocks, of.is_short()) * BLOCK_BYTES;
        let stored = if self.output.is_short() { ROWS } else { PER_BLOCK };
        (ROWS * pitch(self.blocks, self.input)).max(stored * pitch(self.stored, self.output))
    }

    /// Bytes of sixteen pieces of so many blocks of all lanes.
    const fn spread_bytes(blocks: usize) -> usize {
        ROWS * blocks * TURNED
    }

    /// Bytes of what the lane before ends with, in front of what is stored.
    pub(super) const fn front_bytes() -> usize {
        TURNED
    }

    /// Blocks from a piece of what is stored to the next one, with what is in front of it: none are in the same bank.
    pub(super) const fn stored_row(&self) -> usize {
        ROWS * (self.stored + 1) + 1
    }

    pub(super) fn apart_bytes(&self) -> usize {
        let wide = if self.input.is_short() { SUMS * Self::spread_bytes(self.blocks) } else { 0 };
        let stored = if self.output.is_short() {
            Self::front_bytes() + Self::spread_bytes(self.stored)
        } else if self.gaps {
            self.stored_row() * TURNED
        } else {
            0
        };
        (Self::spread_bytes(self.blocks) + TURNED).max(wide).max(stored)
    }

    pub(super) fn sums_bytes(&self) -> usize {
        let stored = if self.output.is_short() {
            self.stored_row() * TURNED
        } else {
            Self::front_bytes() + Self::spread_bytes(self.stored)
        };
        stored.max(Self::front_bytes() + self.cells() * SUMS * BLOCK_BYTES)
    }

    /// Bytes of what is stored of all lanes, with what the last one has behind it.
    pub(super) const fn stored_bytes(&self) -> usize {
        BLOCK_BYTES + (ROWS - 1) * self.lane_bytes() + ROWS * self.stored * BLOCK_BYTES
    }

    pub(super) fn bytes(&self) -> usize {
        self.slots as usize * self.fetched_bytes()
            + self.turned_bytes()
            + self.apart_bytes()
            + self.sums_bytes()
            + self.stored_bytes()
            + super::stored::ends_bytes()
    }
}
