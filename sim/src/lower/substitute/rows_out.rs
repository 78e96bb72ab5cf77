//! Rows of the UB that go anywhere in global memory, shifted on their way.
//!
//! Rows without gaps between them are one piece of memory. It is cut into sixteen pieces of whole blocks, whose rows are transposed to
//! where they lie in a piece, one behind the other; transposed back, each is an image of its blocks. What of a piece belongs to the
//! first block of the one behind comes apart and is added as bits. MTE3 writes the blocks, and the scalar unit the elements before the
//! first whole one and behind the last.
//!
//! A row alone is sixteen such rows, whose ends do not matter.

use super::Substitute;
use super::scalar_unit::transport;
use super::shift::{ROWS, Shifting, TURNED, block_behind, block_of, clear, hand_over, period, rows_bytes, turn};
use crate::lower::builder::{Builder, int};
use crate::lower::shape::{BLOCK_BYTES, fill, stride};
use crate::product::Element;
use crate::program::{
    BinaryOp, Burst, Expr, Global, Granularity, Instruction, Local, Move, Pipe, Place, Relation, Store, Vector,
    VectorOp,
};

const BLOCK: i64 = BLOCK_BYTES as i64;
/// Blocks of a sixteenth of a row whose length is not known when the program is written.
const ANY: usize = 8;

/// What is known of rows when the program is written: how a sixteenth of what is shifted at a time is made of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    /// Rows of a piece, or a part of a row.
    rows: usize,
    /// Their bytes, and the blocks that these are.
    bytes: usize,
    blocks: usize,
    /// Blocks from one to the next one while they are shifted: an odd number if there is room, as sixteen pieces then meet in few banks.
    pitch: usize,
    /// Bytes of an element.
    size: usize,
    dense: bool,
}

impl Shape {
    /// Of rows that can be shifted; the bytes that are there for it.
    pub(super) fn of(store: &Store, from_pitch: &Expr, size: usize, bytes: usize) -> Option<Self> {
        let constant = |expr: &Expr| usize::try_from(expr.as_constant()?).ok();
        if !size.is_multiple_of(2) {
            return None;
        }
        let Burst { blocks, bytes: row, to_gap, .. } = &store.burst;
        let (row, single) = (constant(row), blocks.as_constant() == Some(1));
        if let (Some(row), Some(_), Some(0), false) = (row, constant(from_pitch), to_gap.as_constant(), single)
            && row >= BLOCK_BYTES
        {
            let (rows, blocks) = (period(row), row.div_ceil(BLOCK_BYTES));
            let fits = |pitch: &usize| rows * pitch * TURNED <= rows_bytes(bytes) && rows * row * ROWS <= bytes;
            if let Some(pitch) = [blocks | 1, blocks].into_iter().find(fits) {
                return Some(Self { rows, bytes: row, blocks, pitch, size, dense: true });
            }
        }
        let longest = row.or(if single { None } else { constant(from_pitch) });
        let blocks = longest.map_or(ANY, |row| row.div_ceil(TURNED)).clamp(1, bytes / TURNED);
        Some(Self { rows: 1, bytes: blocks * BLOCK_BYTES, blocks, pitch: blocks, size, dense: false })
    }

    /// Whether rows without gaps are shifted together; else one row is at a time.
    pub(super) const fn is_dense(&self) -> bool {
        self.dense
    }

    /// Bytes of a piece.
    const fn piece(&self) -> usize {
        self.rows * self.bytes
    }
}

impl Substitute<'_> {
    /// Rows without gaps in global memory, or a single one.
    pub(super) fn rows_out(&mut self, b: &mut Builder, store: &Store, shape: Shape, bytes: usize) {
        let shifting = self.shifting(b, bytes);
        self.delivered.insert(store.from.buffer);
        let Store { to, from, burst: Burst { blocks: rows, bytes, from_gap, .. }, .. } = store;
        let all = if shape.dense { rows.clone() * int(shape.bytes) } else { bytes.clone() };
        let (low, up) = (block_of(b, &to.offset), block_behind(b, &to.offset));
        let end = to.offset.clone() + all.clone();
        let down = block_of(b, &end);
        // Bytes of the UB from a row to the next one, and from the first one to the last.
        let pitch = block_behind(b, bytes) + from_gap.clone();
        let apart = if shape.dense { (rows.clone() - 1) * pitch.as_constant().unwrap_or(0) } else { 0.into() };
        let (before, behind) = (up.clone() - to.offset.clone(), end.clone() - down.clone());
        b.when(before.clone() + behind.clone(), Relation::Gt, 0, |b| {
            self.by_scalar(b, Pipe::Mte3, |_, b| {
                let element = |b: &mut Builder, at: Expr, place: Expr| {
                    let from = Place::Local(Local { offset: from.offset.clone() + place, ..from.clone() });
                    transport(b, Place::Global(Global { offset: at, ..to.clone() }), from, shape.size);
                };
                b.repeat("k", (0, before, shape.size), None, |b, k| element(b, to.offset.clone() + k.clone(), k));
                b.repeat("k", (0, behind.clone(), shape.size), None, |b, k| {
                    let place = apart + bytes.clone() - behind + k.clone();
                    element(b, down.clone() + k, place);
                });
            });
        });

        b.interrupt();
        fill(b, shifting.spill.at(0), Element::U16, 0, BLOCK / 2);
        let ahead = to.offset.clone() - low.clone();
        // What is shifted at a time: how far it is in the UB and in global memory, and what it is there.
        let one = |b: &mut Builder, [place, at]: [Expr; 2], burst: Burst| {
            hand_over(b, Pipe::Mte3, Pipe::V);
            let source = Local { offset: from.offset.clone() + place, ..from.clone() };
            b.copy(Move { to: shifting.rows.at(0), from: source, burst });
            image(b, shifting, shape, &ahead);
            hand_over(b, Pipe::V, Pipe::Mte3);
            let at = low.clone() + at;
            let first = b.max("first", up.clone(), at.clone());
            let last = b.min("last", down.clone(), at.clone() + int(ROWS * shape.piece()));
            b.when(first.clone(), Relation::Lt, last.clone(), |b| {
                b.emit(Instruction::Store(Store {
                    to: to.tensor.at(first.clone()),
                    from: shifting.image.at(first.clone() - at),
                    burst: Burst::of(last - first),
                    granularity: Granularity::Blocks,
                    ..store.clone()
                }));
            });
        };
        if shape.dense {
            let step = ROWS * shape.rows;
            let whole = int(shape.blocks) * BLOCK;
            let odd = int(shape.pitch) * BLOCK;
            b.repeat("batch", (0, rows.clone(), step), None, |b, row| {
                let blocks = b.min("rows", int(step), rows.clone() - row.clone());
                let place = row.clone() * pitch.as_constant().unwrap_or(0);
                let burst = Burst {
                    blocks,
                    bytes: whole.into(),
                    from_gap: pitch.clone() - whole,
                    to_gap: (odd - whole).into(),
                };
                one(b, [place, row * int(shape.bytes)], burst);
            });
        } else {
            let step = ROWS * shape.piece();
            b.repeat("batch", (0, all.clone(), step), None, |b, at| {
                let bytes = b.min("bytes", int(step), all.clone() - at.clone());
                let whole = block_behind(b, &bytes);
                one(b, [at.clone(), at], Burst::of(whole));
            });
        }
        b.settle();
    }
}

/// Blocks of global memory whose first byte is so many bytes in front of sixteen pieces, from their rows.
fn image(b: &mut Builder, shifting: Shifting, shape: Shape, ahead: &Expr) {
    let Shape { rows, bytes, blocks, pitch, .. } = shape;
    let lane = int(BLOCK_BYTES / 2);
    let turned = |bytes: Expr| shifting.turned.at(bytes * lane + int(TURNED));
    let piece = shape.piece() / BLOCK_BYTES;
    for row in 0..rows {
        let to = turned(ahead.clone() + int(row * bytes));
        let from = shifting.rows.at(int(row * pitch) * BLOCK);
        turn(b, (to, 1, ROWS), (from, rows * pitch, 1), int(blocks));
    }
    let behind = turned(ahead.clone() + int(shape.piece()));
    let rest = (Expr::from(BLOCK) - ahead.clone()) * (lane / 2);
    clear(b, [(turned(0.into()), ahead.clone() * (lane / 2)), (behind, rest)]);
    let [image, spill] = [shifting.image, shifting.spill];
    turn(b, (image.at(0), piece, 1), (turned(0.into()), 1, ROWS), int(piece));
    turn(b, (spill.at(BLOCK), 1, ROWS), (turned(int(shape.piece()).into()), 1, ROWS), 1);
    // A repeat is eight blocks.
    for half in 0..2usize {
        let to = image.at(int(half * ROWS / 2 * shape.piece()));
        let from = spill.at(int(half * ROWS / 2) * BLOCK);
        let or = Vector::new(VectorOp::Binary(BinaryOp::Or, Element::U16), [to.clone(), to, from]).repeats(1);
        let or = or.strides(0, stride(piece), 0).strides(1, stride(piece), 0);
        b.vector(or);
    }
    b.copy(Move { to: spill.at(0), from: spill.at(int(ROWS) * BLOCK), burst: Burst::of(BLOCK) });
}
