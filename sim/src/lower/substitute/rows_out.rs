//! Rows of the UB that go anywhere in global memory, shifted on their way.
//!
//! Rows without gaps between them are one piece of memory. It is cut into sixteen pieces of as many whole blocks each. The rows of the
//! pieces are transposed to where they lie in one, one behind the other, as many at a time as there is room for; whole blocks of what is
//! transposed back are stored, and the lanes behind them go on with the rows that follow. A piece begins at the first block that begins
//! in it; what it has in front of that ends the piece before. MTE3 writes the blocks, and the scalar unit the elements before the first
//! whole one and behind the last.
//!
//! A row alone is sixteen such rows, whose ends do not matter.

use std::iter::successors;

use super::Substitute;
use super::scalar_unit::{further, transport};
use super::shift::{ROWS, Shifting, TURNED, block_behind, block_of, hand_over, of_class, period, rows_bytes, turn};
use crate::lower::builder::{Builder, int};
use crate::lower::shape::BLOCK_BYTES;
use crate::program::{Burst, Content, Expr, Granularity, Instruction, Local, Move, Pipe, Place, Reg, Relation, Store};

const BLOCK: i64 = BLOCK_BYTES as i64;
/// Blocks of a sixteenth of a row whose length is not known when the program is written.
const ANY: usize = 8;

/// What is known of rows when the program is written: how a sixteenth of what is shifted at a time is made of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    /// Rows of a piece, or a part of a row; and how many of them are transposed before whole blocks are stored.
    rows: usize,
    at_once: usize,
    /// Bytes of a row, and the blocks that these are.
    bytes: usize,
    blocks: usize,
    /// Blocks from one to the next one while they are shifted: an odd number if there is room, as sixteen pieces then meet in few banks.
    pitch: usize,
    /// Blocks from a piece to the next one where they are as they are stored.
    image: usize,
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
            && let Some(dense) = Self::dense(row, size, bytes)
        {
            return Some(dense);
        }
        let longest = row.or(if single { None } else { constant(from_pitch) });
        let blocks = longest.map_or(ANY, |row| row.div_ceil(TURNED)).clamp(1, bytes / TURNED);
        let (bytes, pitch, image) = (blocks * BLOCK_BYTES, blocks, blocks);
        Some(Self { rows: 1, at_once: 1, bytes, blocks, pitch, image, size, dense: false })
    }

    /// Of rows without gaps, as many at once as there is room for.
    fn dense(row: usize, size: usize, bytes: usize) -> Option<Self> {
        let (rows, blocks) = (period(row), row.div_ceil(BLOCK_BYTES));
        let some = successors(Some(rows), |at_once| (*at_once > 1).then(|| at_once / 2));
        let shape = |at_once: usize, odd: usize| {
            // All rows of a piece are its blocks; some of them, with what was left of others, may be as many as fit.
            let whole = at_once * row / BLOCK_BYTES;
            let image = if at_once == rows { whole } else { (whole + 1) | odd };
            Self { rows, at_once, bytes: row, blocks, pitch: blocks | odd, image, size, dense: true }
        };
        // Rows that meet in no bank are worth more than more of them.
        let mut shapes = some.clone().map(|at_once| shape(at_once, 1)).chain(some.map(|at_once| shape(at_once, 0)));
        shapes.find(|of| of.at_once * of.pitch * TURNED <= rows_bytes(bytes) && of.image * TURNED <= bytes)
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

/// What is stored, and where.
struct Out<'a> {
    store: &'a Store,
    shifting: Shifting,
    shape: Shape,
    /// Bytes of the UB from a row to the next one.
    pitch: i64,
    /// The whole blocks of global memory, and what comes before them.
    up: Expr,
    down: Expr,
    before: Expr,
}

impl Substitute<'_> {
    /// Rows without gaps in global memory, or a single one.
    pub(super) fn rows_out(&mut self, b: &mut Builder, store: &Store, shape: Shape, bytes: usize) {
        let shifting = self.shifting(b, bytes);
        self.delivered.insert(store.from.buffer);
        let Store { to, from, burst: Burst { blocks: rows, bytes, from_gap, .. }, .. } = store;
        let all = if shape.dense { rows.clone() * int(shape.bytes) } else { bytes.clone() };
        let up = block_behind(b, &to.offset);
        let end = to.offset.clone() + all.clone();
        let down = block_of(b, &end);
        // Bytes of the UB from a row to the next one, and from the first one to the last.
        let pitch = if shape.dense { block_behind(b, bytes) + from_gap.clone() } else { int(shape.bytes).into() };
        let pitch = pitch.as_constant().unwrap_or(0);
        let apart = if shape.dense { (rows.clone() - 1) * pitch } else { 0.into() };
        let (before, behind) = (up.clone() - to.offset.clone(), end.clone() - down.clone());
        b.when(before.clone() + behind.clone(), Relation::Gt, 0, |b| {
            self.by_scalar(b, Pipe::Mte3, |_, b| {
                let element = |b: &mut Builder, at: Expr, place: Expr| {
                    transport(b, Place::Global(to.tensor.at(at)), further(from, place), shape.size);
                };
                let first = (0, before.clone(), shape.size);
                b.repeat("k", first, None, |b, k| element(b, to.offset.clone() + k.clone(), k));
                b.repeat("k", (0, behind.clone(), shape.size), None, |b, k| {
                    let place = apart + bytes.clone() - behind + k.clone();
                    element(b, down.clone() + k, place);
                });
            });
        });

        b.interrupt();
        let out = Out { store, shifting, shape, pitch, up, down, before };
        if shape.dense {
            b.repeat("batch", (0, rows.clone(), ROWS * shape.rows), None, |b, first| out.batch(b, &first, rows));
        } else {
            b.repeat("batch", (0, all.clone(), ROWS * shape.bytes), None, |b, at| out.part(b, &at, &all));
        }
        b.settle();
    }
}

impl Out<'_> {
    /// Sixteen pieces of rows, or what there is of them.
    fn batch(&self, b: &mut Builder, first: &Expr, rows: &Expr) {
        let Shape { rows: each, at_once, bytes, blocks, pitch, .. } = self.shape;
        let left = rows.clone() - first.clone();
        let source = first.clone() * self.pitch;
        let at = self.up.clone() + first.clone() * int(bytes);
        let whole = int(blocks) * BLOCK;
        if at_once == each {
            let blocks = b.min("rows", int(ROWS * each), left.clone());
            let [from_gap, to_gap] = [self.pitch, int(pitch) * BLOCK].map(|pitch| Expr::from(pitch - whole));
            self.bring(b, source.clone(), Burst { blocks, bytes: whole.into(), from_gap, to_gap });
            return self.pieces(b, &at, &source, &left);
        }
        // How far the next row begins behind the blocks that are stored, and how far these go.
        let [held, done] = ["held", "done"].map(|name| b.register(name, Content::Int));
        b.assign(held, Expr::from(0) - self.before.clone());
        b.assign(done, 0);
        b.repeat("row", (0, int(each), at_once), None, |b, row| {
            b.when(row.clone(), Relation::Lt, left.clone(), |b| {
                hand_over(b, Pipe::Mte3, Pipe::V);
                for k in 0..at_once {
                    self.bring_each(b, &source, (row.clone() + int(k), &left), whole, (k * pitch, at_once * pitch));
                }
                self.turn(b, &held.into());
                self.flush(b, &at, [held, done], &int(at_once * bytes).into());
            });
        });
        b.when(self.before.clone(), Relation::Gt, 0, |b| {
            hand_over(b, Pipe::Mte3, Pipe::V);
            self.next(b, &source, &left, &held.into());
            self.flush(b, &at, [held, done], &self.before);
        });
    }

    /// Sixteen parts of a row, or what there is of them.
    fn part(&self, b: &mut Builder, at: &Expr, all: &Expr) {
        let left = all.clone() - at.clone();
        let bytes = b.min("bytes", int(ROWS * self.shape.bytes), left.clone());
        let whole = block_behind(b, &bytes);
        self.bring(b, at.clone(), Burst::of(whole));
        let parts = b.div("parts", left + (int(self.shape.bytes) - 1), self.shape.bytes);
        self.pieces(b, &(self.up.clone() + at.clone()), at, &parts);
    }

    /// All rows of sixteen pieces that were brought, to where the first block of the first one goes.
    fn pieces(&self, b: &mut Builder, at: &Expr, source: &Expr, left: &Expr) {
        let begin = Expr::from(0) - self.before.clone();
        self.turn(b, &begin);
        b.when(self.before.clone(), Relation::Gt, 0, |b| {
            self.next(b, source, left, &(begin + int(self.shape.piece())));
        });
        self.turn_back(b, int(self.shape.image).into());
        hand_over(b, Pipe::V, Pipe::Mte3);
        let last = b.min("last", self.down.clone(), at.clone() + int(ROWS * self.shape.piece()));
        b.when(at.clone(), Relation::Lt, last.clone(), |b| {
            self.put(b, (0.into(), at.clone()), Burst::of(last - at.clone()));
        });
    }

    /// Rows of the UB to where they are shifted, once what was shifted before is stored.
    fn bring(&self, b: &mut Builder, from: Expr, burst: Burst) {
        hand_over(b, Pipe::Mte3, Pipe::V);
        let from = self.stored(from);
        b.copy(Move { to: self.shifting.rows.at(0), from, burst });
    }

    /// So many bytes of a row of each piece, where there are so many rows, to a first block and from one to the next one.
    fn bring_each(
        &self,
        b: &mut Builder,
        source: &Expr,
        (row, rows): (Expr, &Expr),
        bytes: i64,
        (to, apart): (usize, usize),
    ) {
        let each = self.shape.rows;
        let pieces = of_class(b, rows, &row, each);
        let pieces = b.min("pieces", int(ROWS), pieces);
        b.when(pieces.clone(), Relation::Gt, 0, |b| {
            let from = self.stored(source.clone() + row * self.pitch);
            let (from_gap, to_gap) = ((int(each) * self.pitch - bytes).into(), (int(apart) * BLOCK - bytes).into());
            let burst = Burst { blocks: pieces.clone(), bytes: bytes.into(), from_gap, to_gap };
            b.copy(Move { to: self.shifting.rows.at(int(to) * BLOCK), from, burst });
        });
    }

    /// The rows that were brought, to lanes behind some bytes that are held.
    fn turn(&self, b: &mut Builder, held: &Expr) {
        let Shape { at_once, bytes, blocks, pitch, .. } = self.shape;
        for row in 0..at_once {
            let from = self.shifting.rows.at(int(row * pitch) * BLOCK);
            let to = self.turned(held.clone() + int(row * bytes));
            turn(b, (to, 1, ROWS), (from, at_once * pitch, 1), int(blocks));
        }
    }

    /// The first block of the row behind each piece, of which its end is the beginning.
    fn next(&self, b: &mut Builder, source: &Expr, left: &Expr, held: &Expr) {
        self.bring_each(b, source, (int(self.shape.rows).into(), left), BLOCK, (0, 1));
        turn(b, (self.turned(held.clone()), 1, ROWS), (self.shifting.rows.at(0), 1, 1), 1);
    }

    fn turn_back(&self, b: &mut Builder, blocks: Expr) {
        turn(b, (self.shifting.image.at(0), self.shape.image, 1), (self.turned(0.into()), 1, ROWS), blocks);
    }

    /// What is stored, from so many bytes on.
    fn stored(&self, bytes: Expr) -> Local {
        self.store.from.further(bytes)
    }

    /// The lanes from so many bytes on.
    fn turned(&self, bytes: Expr) -> Local {
        self.shifting.turned.at(bytes * (BLOCK / 2) + int(TURNED))
    }

    /// Stores the blocks that are whole once so many bytes have come; what is behind them is held.
    fn flush(&self, b: &mut Builder, at: &Expr, [held, done]: [Reg; 2], more: &Expr) {
        let all = Expr::from(held) + more.clone();
        let blocks = b.div("whole", all.clone(), BLOCK_BYTES);
        let bytes = blocks.clone() * BLOCK;
        b.when(blocks.clone(), Relation::Gt, 0, |b| {
            self.turn_back(b, blocks);
            let (to, from) = (self.turned(0.into()), self.turned(bytes.clone()));
            b.copy(Move { to, from, burst: Burst::of(int(TURNED)) });
        });
        hand_over(b, Pipe::V, Pipe::Mte3);
        b.when(bytes.clone(), Relation::Gt, 0, |b| self.some(b, at.clone() + done, &bytes));
        b.assign(held, all - bytes.clone());
        b.assign(done, bytes + done);
    }

    /// So many bytes of each piece, of which the first one's begin there.
    fn some(&self, b: &mut Builder, at: Expr, bytes: &Expr) {
        let (piece, image) = (int(self.shape.piece()), int(self.shape.image) * BLOCK);
        let left = self.down.clone() - at.clone();
        let pieces = b.div("pieces", left.clone() - bytes.clone() + piece, self.shape.piece());
        let pieces = b.max("pieces", 0, pieces);
        let blocks = b.min("pieces", int(ROWS), pieces.clone());
        b.when(blocks.clone(), Relation::Gt, 0, |b| {
            let gap = |pitch: i64| Expr::from(pitch) - bytes.clone();
            let (from_gap, to_gap) = (gap(image), gap(piece));
            self.put(b, (0.into(), at.clone()), Burst { blocks, bytes: bytes.clone(), from_gap, to_gap });
        });
        // Of a piece that is the last one, all that is there.
        b.when(pieces.clone(), Relation::Lt, int(ROWS), |b| {
            let rest = left - pieces.clone() * piece;
            b.when(rest.clone(), Relation::Gt, 0, |b| {
                self.put(b, (pieces.clone() * image, at + pieces * piece), Burst::of(rest));
            });
        });
    }

    fn put(&self, b: &mut Builder, (from, to): (Expr, Expr), burst: Burst) {
        b.emit(Instruction::Store(Store {
            to: self.store.to.tensor.at(to),
            from: self.shifting.image.at(from),
            burst,
            granularity: Granularity::Blocks,
            ..self.store.clone()
        }));
    }
}
