//! What copies of single bytes have in common where vector instructions stand in for them.
//!
//! Copies of blocks leave elements in other lanes than they belong to, and vector instructions work on lanes as they are. But a
//! transposition turns the lanes of sixteen rows into blocks, one for each lane of 16 bits, and blocks lie where they are put: what
//! is brought back from `n` blocks further on has moved by `n` lanes.

use super::Substitute;
use crate::lower::builder::{Builder, int};
use crate::lower::shape::{BLOCK_BYTES, fill, stride};
use crate::product::Element;
use crate::program::{BufferId, Expr, Instruction, IntOp, Local, Pipe, Rows, Transpose, Vector, VectorOp};

/// Rows of a transposition, and lanes of a block.
pub(in crate::lower) const ROWS: usize = 16;
/// Bytes of a transposed block, and of what lies in front of transposed ones.
pub(in crate::lower) const TURNED: usize = ROWS * BLOCK_BYTES;
/// Most bytes that are shifted at a time of rows: enough for sixteen of each distance from a block, of 130 columns.
pub(in crate::lower) const OF_ROWS: usize = 33 << 10;
/// The same where elements of 32 bits are transposed: those of sixteen transpositions twice.
pub(in crate::lower) const OF_WORDS: usize = 2 * ROWS * TURNED;
/// The same of pixels and points, which take the room of what they are gathered from.
pub(in crate::lower) const OF_PIXELS: usize = 8 << 10;
/// Fewest bytes that are worth it.
pub(in crate::lower) const FEWEST: usize = 4 << 10;

/// Where rows are shifted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shifting {
    /// Blocks as they come from global memory.
    pub(super) fetched: BufferId,
    /// Rows between two transpositions: each lane a block.
    pub(super) turned: BufferId,
    /// Rows that begin at a block.
    pub(super) rows: BufferId,
    /// Blocks as they go to global memory.
    pub(super) image: BufferId,
}

/// Bytes that are shifted at a time in a local memory of that size, at most so many, if it is worth it.
pub(super) const fn shifted_bytes(local: usize, most: usize) -> Option<usize> {
    let share = local * 2 / 15 / 1024 * 1024;
    let bytes = if share < most { share } else { most };
    if bytes < FEWEST { None } else { Some(bytes) }
}

/// Bytes of all buffers.
pub(super) const fn scratch_bytes(shifted: usize) -> usize {
    fetched_bytes(shifted) + turned_bytes(shifted) + rows_bytes(shifted) + image_bytes(shifted)
}

const fn fetched_bytes(shifted: usize) -> usize {
    shifted + 2 * BLOCK_BYTES
}

/// A block of lanes in front, and three behind.
const fn turned_bytes(shifted: usize) -> usize {
    shifted + 4 * TURNED
}

/// A block more for each sixteen of a row.
pub(super) const fn rows_bytes(shifted: usize) -> usize {
    shifted + shifted / ROWS
}

const fn image_bytes(shifted: usize) -> usize {
    shifted + BLOCK_BYTES
}

impl Substitute<'_> {
    /// The buffers, once they are needed.
    pub(super) fn shifting(&mut self, b: &mut Builder, bytes: usize) -> Shifting {
        *self.shifting.get_or_insert_with(|| Shifting {
            fetched: b.buffer_behind("fetched", fetched_bytes(bytes)),
            turned: b.buffer_behind("turned", turned_bytes(bytes)),
            rows: b.buffer_behind("shifted", rows_bytes(bytes)),
            image: b.buffer_behind("image", image_bytes(bytes)),
        })
    }

    /// What comes before all: transpositions take whole blocks of sixteen rows, also where there is nothing.
    pub(super) fn prepare(&self, b: &mut Builder) {
        let Some(Shifting { fetched, turned, rows, image }) = self.shifting else { return };
        for buffer in [fetched, turned, rows, image].into_iter().chain(self.delivered.iter().copied()) {
            let made = b.source().buffers.get(usize::from(buffer.0));
            let (bytes, slots) = made.map_or((0, 0), |made| (i64::from(made.bytes), i64::from(made.slots)));
            // Buffers of other parts of a program lie where these do.
            b.emit(Instruction::Barrier(Some(Pipe::V)));
            (0..slots).for_each(|slot| fill(b, buffer.slot(slot, 0), Element::U16, 0, bytes / 2));
        }
        b.emit(Instruction::Barrier(None));
    }
}

/// Sixteen blocks for each repeat: where, from one to the next one and from a repeat to the next one, in blocks.
pub(in crate::lower) type Blocks = (Local, usize, usize);

/// Lanes of 16 bits become blocks, or the other way round.
pub(in crate::lower) fn turn(b: &mut Builder, to: Blocks, from: Blocks, repeats: impl Into<Expr>) {
    let rows = |(at, row, repeat): Blocks| Rows { at, row: stride(row), pair: stride(2 * row), repeat: stride(repeat) };
    let (to, from, repeats) = (rows(to), rows(from), repeats.into());
    b.transpose(Transpose { element: Element::U16, to, from, repeats, to_high: false, from_high: false });
}

/// Zeros in so many lanes of two places that do not meet.
pub(super) fn clear(b: &mut Builder, places: [(Local, Expr); 2]) {
    let some = places.into_iter().filter(|(_, lanes)| lanes.as_constant() != Some(0));
    for (i, (to, lanes)) in some.enumerate() {
        let vector = Vector::new(VectorOp::Duplicate(Element::U16), [to]).scalar(0).count(lanes);
        if i == 0 { b.vector(vector) } else { b.vector_apart(vector) }
    }
}

/// Of places that are `pitch` bytes apart: after how many of them one is again as far from the start of a block.
pub(in crate::lower) const fn period(pitch: usize) -> usize {
    BLOCK_BYTES >> (pitch | BLOCK_BYTES).trailing_zeros()
}

/// How many of some rows are as far from a block as one of the first.
pub(super) fn of_class(b: &mut Builder, rows: &Expr, class: &Expr, period: usize) -> Expr {
    b.op("alike", IntOp::Div, rows.clone() - class.clone() + (int(period) - 1), int(period))
}

/// A quotient, without a computation where all that varies is a multiple.
pub(super) fn quotient(b: &mut Builder, name: &str, of: &Expr, by: usize) -> Expr {
    let by_number = int(by);
    if of.terms().iter().any(|(_, factor)| factor % by_number != 0) {
        return b.div(name, of.clone(), by);
    }
    let sum = Expr::from(of.constant().div_euclid(by_number));
    of.terms().iter().fold(sum, |sum, (reg, factor)| sum + *reg * (factor / by_number))
}

/// Where the block begins that holds a byte.
pub(super) fn block_of(b: &mut Builder, at: &Expr) -> Expr {
    quotient(b, "low", at, BLOCK_BYTES) * int(BLOCK_BYTES)
}

/// Where the first block begins that does not begin before a byte.
pub(super) fn block_behind(b: &mut Builder, at: &Expr) -> Expr {
    quotient(b, "up", &(at.clone() + (int(BLOCK_BYTES) - 1)), BLOCK_BYTES) * int(BLOCK_BYTES)
}

/// What one pipe has done until now comes before what the other does next, by the flag that is kept for it.
pub(super) fn hand_over(b: &mut Builder, from: Pipe, to: Pipe) {
    let flag = b.room().stand_in_flag();
    b.after(from, to, flag);
}
