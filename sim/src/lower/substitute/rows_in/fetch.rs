//! How many rows come at a time to where they are shifted, and which.

use crate::lower::shape::BLOCK_BYTES;
use crate::lower::substitute::shift::{ROWS, TURNED, period};
use crate::program::Load;

const BLOCK: i64 = BLOCK_BYTES as i64;
/// Parts of what is fetched that take turns: one is shifted, another is there, and another on its way.
pub(in crate::lower) const SLOTS: usize = 3;
/// Most blocks of a row for which one transposition takes a block of all rows, instead of all blocks of sixteen rows.
pub(in crate::lower) const NARROW: usize = 4;

/// How rows come to where they are shifted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fetch {
    /// Most blocks of a row that are shifted at a time.
    pub(super) blocks: usize,
    /// Rows of a batch, as many of each distance from a block; and the blocks from one to the next of a distance.
    pub(super) most: usize,
    pub(super) apart: usize,
    /// Distances from a block whose rows are fetched at a time.
    pub(super) classes: usize,
    /// Whether they are fetched together with what lies between them.
    pub(super) together: bool,
    /// Parts of the buffer: with several, rows of other distances are fetched while these are shifted.
    pub(super) slots: usize,
}

impl Fetch {
    /// Of rows that are so far apart in global memory and in the UB.
    pub(super) fn of(load: &Load, [pitch, to_pitch]: [usize; 2], bytes: usize) -> Option<Self> {
        let (period, all) = (period(pitch), to_pitch / BLOCK_BYTES);
        // Sixteens of whole rows that there is room for: an odd number of blocks apart, they meet in no bank, and else in some or in one.
        let room = |apart: usize| bytes / (TURNED * apart);
        let [odd, even] = [(all + 1) | 1, all + 1];
        let fewer = room(odd).min(SLOTS) < room(even).min(SLOTS);
        let apart = if room(odd) == 0 || fewer && !even.is_multiple_of(4) { even } else { odd };
        let room = room(apart);
        let of_all = Self { blocks: all, most: 0, apart, classes: period, together: false, slots: 1 };
        let in_turns = pitch >= 2 * BLOCK_BYTES && period > 1;
        let early = || {
            let slots = room.clamp(1, SLOTS);
            let classes = period.min(1 << (room / slots).checked_ilog2()?);
            let alike = if classes == period { room / slots / classes } else { 1 };
            (in_turns && all > NARROW && slots > 1).then_some(Self {
                most: alike * ROWS * period,
                classes,
                slots,
                ..of_all
            })
        };
        let together = || {
            let most = (bytes - 2 * BLOCK_BYTES) / pitch;
            let most = most.min(period * bytes / ((all | 1) * BLOCK_BYTES)) / (ROWS * period) * ROWS * period;
            (most > 0 && pitch <= 2 * (to_pitch + BLOCK_BYTES) && (all | 1) <= bytes / TURNED).then_some(Self {
                most,
                apart: period * pitch / BLOCK_BYTES,
                together: true,
                ..of_all
            })
        };
        // Sixteen whole rows of as many distances as there is room for.
        let in_turn = || {
            let classes = room.min(period);
            let alike = if classes == period { room / period } else { 1 };
            (in_turns && classes > 0).then_some(Self { most: alike * ROWS * period, classes, ..of_all })
        };
        let in_parts = || {
            let widest = (bytes / (TURNED * period)).checked_sub(1)?;
            // Blocks of a row and the next one's are not the same.
            let widest = if period == 1 { widest.min(pitch / BLOCK_BYTES - 2) } else { widest };
            let blocks = all.min(widest);
            let most = bytes / ((blocks + 1) * BLOCK_BYTES) / (ROWS * period) * ROWS * period;
            (blocks > 0).then_some(Self { blocks, most, apart: blocks + 1, ..of_all })
        };
        // Rows that are known not to share a block are fetched one by one, to where no two of sixteen meet in a bank.
        let known = |touched: usize| {
            let apart = touched | 1;
            let most = bytes / (apart * BLOCK_BYTES) / ROWS * ROWS;
            (most > 0 && (all | 1) <= bytes / TURNED && touched * BLOCK_BYTES <= pitch).then_some(Self {
                most,
                apart,
                ..of_all
            })
        };
        let known = touched(load).filter(|_| period == 1).and_then(known);
        let in_parts = || (pitch >= 2 * BLOCK_BYTES).then(in_parts)?;
        known.or_else(together).or_else(early).or_else(in_turn).or_else(in_parts)
    }
}

/// Blocks that each row of a load touches, where the program's writer knows.
fn touched(load: &Load) -> Option<usize> {
    let from = &load.from.offset;
    let bytes = usize::try_from(load.burst.bytes.as_constant()?).ok()?;
    let ahead = usize::try_from(from.constant().rem_euclid(BLOCK)).ok()?;
    let alike = from.terms().iter().all(|(_, factor)| factor % BLOCK == 0);
    alike.then(|| (ahead + bytes).div_ceil(BLOCK_BYTES))
}
