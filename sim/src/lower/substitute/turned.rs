//! Instructions that move elements to other lanes, by transpositions of 16-bit ones.
//!
//! Operands are copied to and from buffers of whole transpositions, so that these touch nothing else.

use super::Substitute;
use super::shift::{OF_WORDS, ROWS, turn};
use crate::lower::builder::{Builder, int};
use crate::lower::shape::{BLOCK_BYTES, stride};
use crate::product::Element;
use crate::program::{BufferId, Burst, Expr, Local, Move, Rows, Transpose};

const BLOCK: i64 = BLOCK_BYTES as i64;
/// Blocks of sixteen transpositions.
const ALL: usize = ROWS * ROWS;
/// Elements of 32 bits that fill a block each at a time: those of sixteen blocks.
const WORDS: usize = ROWS * BLOCK_BYTES / 4;

impl Substitute<'_> {
    /// The buffers for both sides, and for what is between, where there is room for them.
    fn aside(&mut self, b: &mut Builder) -> Option<[BufferId; 2]> {
        let bytes = self.room.shifted().filter(|bytes| *bytes >= OF_WORDS)?;
        let shifting = self.shifting(b, bytes);
        Some([shifting.rows, shifting.turned])
    }

    /// Each of so many elements fills a block; false where that is left to others.
    pub(super) fn broadcast_turned(
        &mut self,
        b: &mut Builder,
        (to, from): (&Local, &Local),
        size: usize,
        count: &Expr,
    ) -> bool {
        let whole = from.offset.as_constant().is_some_and(|at| at % BLOCK == 0);
        let Some(count) = count.as_constant().and_then(|count| usize::try_from(count).ok()) else { return false };
        if !whole || !matches!(size, 2 | 4) {
            return false;
        }
        let Some([rows, turned]) = self.aside(b) else { return false };
        self.delivered.insert(from.buffer);
        b.interrupt();
        for first in (0..count).step_by(WORDS) {
            let count = WORDS.min(count - first);
            let blocks = (count * size).div_ceil(BLOCK_BYTES);
            move_blocks(b, (rows.at(0), 0), (from.further(int(first * size)), 0), [1, blocks]);
            let filled = rows.at(int(ALL) * BLOCK);
            if size == 2 {
                // Sixteen times the same block.
                turn(b, (filled.clone(), 1, ROWS), (rows.at(0), 0, 1), int(blocks));
            } else {
                // Halves of the elements of sixteen blocks, and then pairs of both.
                turn(b, (turned.at(0), 1, ROWS), (rows.at(0), 1, ROWS), 1);
                let pairs = Rows { at: turned.at(0), row: 1, pair: 0, repeat: 2 };
                let to = Rows { at: filled.clone(), row: 8, pair: 16, repeat: 1 };
                transpose(b, to, pairs, 8);
            }
            move_blocks(b, (to.further(int(first * BLOCK_BYTES)), 0), (filled, 0), [1, count]);
        }
        b.settle();
        true
    }

    /// A transposition of 32-bit elements; false where that is left to others.
    pub(super) fn transpose_turned(
        &mut self,
        b: &mut Builder,
        Transpose { to, from, repeats, .. }: &Transpose,
    ) -> bool {
        let Some(repeats) = repeats.as_constant().and_then(|repeats| usize::try_from(repeats).ok()) else {
            return false;
        };
        let all = repeats.min(ROWS);
        let [row, next, pitch, behind] = [from.row, from.repeat, to.pair, to.repeat].map(usize::from);
        // Rows of all repeats are as far apart, or those of a repeat are beside those of the one before; so are columns.
        let [apart, beside] = [next == ROWS * row && row > 0, next == 1 && row >= all];
        let [side_by_side, in_turn] = [behind == 2 && pitch >= 2 * repeats, behind == 8 * pitch && pitch >= 2];
        let even = usize::from(from.pair) == 2 * row && to.row == 1;
        if !even || !(apart || beside) || !(side_by_side || in_turn) {
            return false;
        }
        let Some([rows, turned]) = self.aside(b) else { return false };
        self.delivered.insert(from.at.buffer);
        b.interrupt();
        for first in (0..repeats).step_by(ROWS) {
            let count = ROWS.min(repeats - first);
            let gap = |pitch: usize, blocks: usize| (pitch - blocks) * BLOCK_BYTES;
            let source = from.at.further(int(first * next) * BLOCK);
            let halves = if apart {
                move_blocks(b, (rows.at(0), 0), (source, gap(row, 1)), [ROWS * count, 1]);
                Rows { at: rows.at(0), row: 16, pair: 32, repeat: 1 }
            } else {
                move_blocks(b, (rows.at(0), 0), (source, gap(row, count)), [ROWS, count]);
                Rows { at: rows.at(0), row: 1, pair: 2, repeat: stride(count) }
            };
            // Of a row of each repeat at a time: a block has a half of an element of each. Element, row, and half.
            transpose(b, Rows { at: turned.at(0), row: 1, pair: 32, repeat: 2 }, halves, 16);
            // Both halves of eight rows: element, repeat, and which eight.
            for eight in 0..2 {
                let from = Rows { at: turned.at(eight * 16 * BLOCK), row: 1, pair: 2, repeat: 32 };
                let to = Rows { at: rows.at((int(ALL) + eight) * BLOCK), row: 2, pair: 4, repeat: 32 };
                transpose(b, to, from, 8);
            }
            let target = to.at.further(int(first * behind) * BLOCK);
            let made = rows.at(int(ALL) * BLOCK);
            if side_by_side {
                let gaps = [gap(pitch, 2 * count), gap(2 * ROWS, 2 * count)];
                move_blocks(b, (target, gaps[0]), (made, gaps[1]), [8, 2 * count]);
                continue;
            }
            for repeat in 0..count {
                let [to, from] = [target.further(int(repeat * behind) * BLOCK), made.further(int(2 * repeat) * BLOCK)];
                move_blocks(b, (to, gap(pitch, 2)), (from, gap(2 * ROWS, 2)), [8, 2]);
            }
        }
        b.settle();
        true
    }
}

fn transpose(b: &mut Builder, to: Rows, from: Rows, repeats: i64) {
    let repeats = repeats.into();
    b.transpose(Transpose { element: Element::U16, to, from, repeats, to_high: false, from_high: false });
}

/// So many times so many blocks, with gaps of so many bytes.
fn move_blocks(
    b: &mut Builder,
    (to, to_gap): (Local, usize),
    (from, from_gap): (Local, usize),
    [times, blocks]: [usize; 2],
) {
    let [from_gap, to_gap] = [from_gap, to_gap].map(|gap| int(gap).into());
    let burst = Burst { blocks: int(times).into(), bytes: (int(blocks) * BLOCK).into(), from_gap, to_gap };
    b.copy(Move { to, from, burst });
}
