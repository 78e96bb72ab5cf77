//! How the rows of a problem are cut into batches, and of which kind they are.

use std::ops::Range;

use ubtile_tiling::replication_pad2d_backward::{Axis, Plan};

use super::columns::Columns;
use super::rows::Rows;
use crate::lower::LowerError;
use crate::lower::room::Room;
use crate::lower::shape::{BLOCK_BYTES, Compute, MOST_STRIDE, blocks};
use crate::lower::substitute::{FEWEST, NARROW, OF_ROWS, ROWS, SLOTS, TURNED, period};

/// Most rows of a batch: sixteen pieces of an odd number of 16-bit elements are whole blocks.
pub(super) const MOST_ROWS: usize = 256;
/// Most of them that an instruction works on, a row each repeat.
const MOST_REPEATS: usize = 240;
/// Planes that the UB would hold, where copies begin and end anywhere: larger ones are as fast row by row.
const PLANES: usize = 2;
/// Most rows of padding on a side.
const MOST_FOLDED: usize = 32;
/// Parts of a batch's rows that may take turns.
const PARTS: [usize; 3] = [1, 2, 4];
/// Bytes of rows that are to come at a time: fewer wait for the latency of copies.
const UNDER_WAY: usize = 4 << 10;
/// Bytes of a row of the output that is long.
const LONG: usize = 384;

/// How a batch becomes what is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Transposed, a copy leaves out the lanes of the padding.
    Cut {
        /// Batches that are loaded, and that are stored, at a time.
        slots: [u32; 2],
        /// Whether there are as many rows of each distance from a block in `grad_output`.
        whole: bool,
        /// Parts of the rows to which columns are added one after the other, in the same buffers.
        parts: usize,
    },
    /// Rows are stored from where they are loaded, so far behind a block that the image begins with one.
    Direct,
}

/// The kinds from the best one on. Rows of whole blocks that are long need no transposition to be stored, which only two batches at a
/// time beside as many rows as are shifted at most make up for.
fn kinds(plan: &Plan, compute: Compute, most: bool) -> [Kind; 9] {
    let cut = |slots, whole, parts| Kind::Cut { slots, whole, parts };
    let mut kinds = [
        cut([2, 2], true, 1),
        cut([2, 1], true, 1),
        cut([1, 1], true, 1),
        cut([1, 1], false, 1),
        cut([1, 1], true, 2),
        cut([1, 1], false, 2),
        cut([1, 1], true, 4),
        cut([1, 1], false, 4),
        Kind::Direct,
    ];
    let row = plan.columns().size * compute.size;
    if row.is_multiple_of(BLOCK_BYTES) && row >= LONG {
        kinds[if most { 2 } else { 0 }..].rotate_right(1);
    }
    kinds
}

impl Kind {
    /// Batches that are loaded, and that are stored, at a time.
    pub(super) const fn slots(self) -> [u32; 2] {
        match self {
            Self::Cut { slots, .. } => slots,
            Self::Direct => [1, 0],
        }
    }

    /// Bytes in front of a row, where so many of the padding come before the image.
    const fn lead(self, left: usize) -> usize {
        match self {
            Self::Cut { .. } => 0,
            Self::Direct => left.next_multiple_of(BLOCK_BYTES) - left,
        }
    }

    /// Bytes that are to be shifted at a time.
    fn shifted(self, plan: &Plan, compute: Compute) -> Shifted {
        let from = plan.columns().padded * compute.size;
        let left = usize::try_from(plan.columns().before).unwrap_or(0) * compute.size;
        let row = blocks(self.lead(left) + from) / BLOCK_BYTES;
        let together = ROWS * period(from) * from + 2 * BLOCK_BYTES;
        let narrow = row <= NARROW;
        let at_once = narrow || together <= OF_ROWS && period(from) <= 2;
        let best = |apart: usize| {
            let some = UNDER_WAY.div_ceil(apart * TURNED).next_power_of_two() * apart * TURNED;
            if at_once { together } else { (OF_ROWS / some).clamp(1, SLOTS) * some }
        };
        let odd = (row + 1) | 1;
        let tight = if (row + 1).is_multiple_of(4) { odd } else { row + 1 };
        let whole = |bytes: usize| bytes.next_multiple_of(1 << 10).max(FEWEST);
        Shifted { narrow, best: [odd, tight].map(|apart| whole(best(apart))), least: whole((row + 1) * TURNED) }
    }
}

/// Bytes that are shifted at a time.
struct Shifted {
    /// Whether rows are so narrow that more than sixteen of each distance from a block take longer.
    narrow: bool,
    /// Sixteen rows of each distance from a block with what lies between them, or those of some distances as often as they take turns:
    /// where none meet in a bank, and where some do.
    best: [usize; 2],
    /// Sixteen rows of one distance.
    least: usize,
}

/// How the rows of a problem are cut, and where they lie.
#[derive(Clone, Copy, Debug)]
pub(in crate::lower::replication_pad2d_backward) struct Batches {
    pub(super) compute: Compute,
    pub(super) rows: Axis,
    pub(super) columns: Axis,
    pub(super) kind: Kind,
    /// Rows of a piece.
    pub(super) each: usize,
    /// Bytes in front of a row of `grad_output` in the UB, from it to the next one, and of a row of the output.
    pub(super) lead: usize,
    pub(super) pitch: usize,
    pub(super) row: usize,
    /// Parts of the rows to which columns are added one after the other, in the same buffers.
    pub(super) parts: usize,
    /// Whether stores begin and end anywhere.
    pub(super) anywhere: bool,
}

impl Batches {
    /// Of a plan whose planes are small, or whose rows a product would have to shift: the first kind of which a batch fits, and whole
    /// rows may be in it.
    pub(in crate::lower::replication_pad2d_backward) fn of(plan: &Plan, room: Room, compute: Compute) -> Option<Self> {
        let kinds = kinds(plan, compute, room.shifted().is_some_and(|bytes| bytes >= OF_ROWS));
        kinds.into_iter().find_map(|kind| Self::of_kind(kind, plan, room, compute))
    }

    /// What the program may use: for what shifts rows as much as the best kind is best with, or as leaves room for one.
    pub(in crate::lower::replication_pad2d_backward) fn room(
        plan: &Plan,
        most: Room,
        compute: Compute,
        with: impl Fn(usize) -> Result<Room, LowerError>,
    ) -> Result<Room, LowerError> {
        if most.scratch.is_none() {
            return Ok(most);
        }
        let shifted = |kind: Kind| kind.shifted(plan, compute);
        // Two batches at a time are worth all that is shifted at most, unless rows are narrow.
        let two = kinds(plan, compute, true).into_iter().take(2).filter(|kind| !shifted(*kind).narrow);
        let two = two.map(|kind| (kind, OF_ROWS));
        let kinds = kinds(plan, compute, false);
        let best = kinds.into_iter().flat_map(|kind| shifted(kind).best.map(|bytes| (kind, bytes)));
        let least = kinds.into_iter().map(|kind| (kind, shifted(kind).least));
        for (kind, bytes) in two.chain(best).chain(least) {
            let room = with(bytes)?;
            if Self::of_kind(kind, plan, room, compute).is_some() {
                return Ok(room);
            }
        }
        Ok(most)
    }

    fn of_kind(kind: Kind, plan: &Plan, room: Room, compute: Compute) -> Option<Self> {
        let anywhere = room.scratch.is_none();
        let (rows, columns, size) = (plan.rows(), plan.columns(), compute.size);
        let [[top, bottom], [left, _]] = [paddings(rows)?, paddings(columns)?];
        let (from, row) = (columns.padded * size, columns.size * size);
        let shifted = !row.is_multiple_of(BLOCK_BYTES) || !(left * size).is_multiple_of(BLOCK_BYTES);
        let shares = shares(plan);
        let begin = shares.iter().all(|share| (share.start * row).is_multiple_of(BLOCK_BYTES));
        let suits = if anywhere { PLANES * rows.padded * from <= room.local_bytes } else { shifted && begin };
        if !suits || top.max(bottom) > MOST_FOLDED || room.most.columns < columns.size {
            return None;
        }
        // Pieces with all rows are not kept small.
        let asked = if room.most.rows >= all_rows(plan) { usize::MAX } else { room.most.rows };
        let lead = kind.lead(left * size);
        let pitch = blocks(lead + from);
        let unit = match kind {
            Kind::Cut { whole: true, .. } => period(row).max(period(from)),
            Kind::Cut { .. } => period(row),
            Kind::Direct if anywhere => return None,
            Kind::Direct => 1,
        };
        let most = shares.iter().map(|share| share.len().div_ceil(ROWS)).max()?;
        let fits = |parts: usize| {
            let unit = unit.max(parts);
            let most = most.next_multiple_of(unit).min(MOST_ROWS.min(asked) / ROWS);
            let most = most.min(MOST_STRIDE * BLOCK_BYTES / pitch) / unit;
            let of = |n| Self { compute, rows, columns, kind, each: n * unit, lead, pitch, row, parts, anywhere };
            let mut sizes = (1..=most).rev().map(of);
            sizes.find(|of| of.bytes().is_some_and(|bytes| bytes <= of.budget(room)))
        };
        match kind {
            Kind::Cut { parts, .. } => fits(parts),
            Kind::Direct => PARTS.into_iter().find_map(fits),
        }
    }

    /// Bytes of local memory; none where columns cannot be added so.
    pub(super) fn bytes(&self) -> Option<usize> {
        Some(
            self.kind.slots().iter().sum::<u32>() as usize * self.batch_bytes()
                + Columns::bytes(self)?
                + Rows::bytes(self),
        )
    }

    /// Bytes of local memory that there are. Rows of `grad_output` that are whole blocks come as such; else vector instructions shift them,
    /// sixteen of each distance from a block at a time, and need their room.
    pub(super) fn budget(&self, room: Room) -> usize {
        let from = self.columns.padded * self.compute.size;
        let whole = self.kind != Kind::Direct && from.is_multiple_of(BLOCK_BYTES);
        if whole { room.without_scratch() } else { room.local_bytes }
    }

    /// Rows of a batch.
    pub(super) const fn most(&self) -> usize {
        ROWS * self.each
    }

    /// Rows of a part, and of a sixteenth of it.
    pub(super) const fn part(&self) -> usize {
        ROWS * self.part_each()
    }

    pub(super) const fn part_each(&self) -> usize {
        self.each / self.parts
    }

    /// Rows of a part as instructions take them: the first ones, and how many.
    pub(super) fn repeats(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let most = self.part();
        (0..most).step_by(MOST_REPEATS).map(move |first| (first, MOST_REPEATS.min(most - first)))
    }

    /// Bytes of a batch's rows of `grad_output` in the UB.
    pub(super) const fn batch_bytes(&self) -> usize {
        self.most() * self.pitch
    }

    /// Blocks of such a row.
    pub(super) const fn row_blocks(&self) -> usize {
        self.pitch / BLOCK_BYTES
    }

    /// Bytes in front of the image in a row in the UB.
    pub(super) fn image(&self) -> usize {
        self.lead + (self.columns.sources(0)[1] - 1) * self.compute.size
    }
}

/// What is in front of an axis and behind it, where nothing is cropped and either end has positions of its own.
fn paddings(axis: Axis) -> Option<[usize; 2]> {
    let before = usize::try_from(axis.before).ok()?;
    let behind = axis.padded.checked_sub(axis.size)?.checked_sub(before)?;
    (axis.size > 1).then_some([before, behind])
}

/// Rows of all planes, which follow each other.
pub(super) fn all_rows(plan: &Plan) -> usize {
    let problem = plan.problem();
    problem.n * problem.c * problem.h
}

/// The rows of the output that each core makes, of all planes one behind the other.
pub(super) fn shares(plan: &Plan) -> Vec<Range<usize>> {
    let w = plan.columns().size;
    let shares = (0..plan.block_dim()).map(|share| plan.share_range(0, share));
    shares.map(|range| range.start / w..range.end / w).collect()
}

const _: () = assert!(MOST_ROWS.is_multiple_of(ROWS) && MOST_REPEATS < 256);
