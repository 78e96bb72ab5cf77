//! Some taps of all lanes, from where they lie in `grad_output` to what is added to the sums.

use super::add::Places;
use super::sizes::Abreast;
use super::{BLOCK, Lowering, Piece, SUMS};
use crate::lower::builder::{Builder, int};
use crate::lower::shape::{BLOCK_BYTES, PER_BLOCK, cast, stride};
use crate::lower::substitute::{ROWS, transport, turn};
use crate::product::Element;
use crate::program::{Burst, Expr, Instruction, IntOp, Local, Move, Place, Relation, Rows, Transpose};

/// Taps from a first one on, and rows of windows of each.
pub(super) struct Chunk {
    pub(super) tap: Expr,
    pub(super) taps: Expr,
    pub(super) window: Expr,
    pub(super) windows: Expr,
}

impl Lowering {
    /// Where a chunk of a lane begins in `grad_output`, in bytes.
    fn begin_of(&self, piece: &Piece, chunk: &Chunk, lane: Expr) -> Expr {
        let Abreast { kernel: [kh, kw], windows: [lh, lw], input, strips, .. } = self.of;
        let taps = piece.plane.clone() * int(kh * kw) + chunk.tap.clone();
        let lane = lane * int(if strips { self.of.lane_windows() * lw } else { kh * kw * lh * lw });
        (taps * int(lh * lw) + chunk.window.clone() * int(lw) + lane) * int(input.size)
    }

    /// Adds a chunk of all lanes.
    pub(super) fn chunk(&self, b: &mut Builder, piece: &Piece, chunk: &Chunk) {
        let Abreast { windows: [lh, lw], input, whole_taps, strips, .. } = self.of;
        let elements = if whole_taps { chunk.taps.clone() * int(lh * lw) } else { chunk.windows.clone() * int(lw) };
        self.fetched.enter(b);
        b.repeat("k", (0, piece.lanes.clone(), 1), None, |b, k| {
            let begin = self.begin_of(piece, chunk, k.clone());
            if !strips {
                let end = begin.clone() + elements.clone() * int(input.size);
                return self.fetch(b, &k, &begin, [begin.clone(), end]);
            }
            // Rows of windows that are none are not there.
            let row = int(lw * input.size);
            let window = chunk.window.clone() + k.clone() * int(self.of.lane_windows());
            let from = b.max("from", 0, Expr::from(0) - window.clone());
            let to = b.min("to", chunk.windows.clone(), Expr::from(int(lh)) - window);
            b.when(from.clone(), Relation::Lt, to.clone(), |b| {
                self.fetch(b, &k, &begin, [from, to].map(|window| begin.clone() + window * row));
            });
        });
        self.fetched.pass(b, 0);
        let mut ahead = self.spread(b, piece, chunk);
        self.fetched.leave(b);
        if input.is_short() {
            let from = self.turned.at(ahead * BLOCK);
            cast(b, (self.apart.at(0), Element::F32), (from, input.element), elements * int(ROWS));
            ahead = 0.into();
        }
        b.repeat("t", (chunk.tap.clone(), chunk.tap.clone() + chunk.taps.clone(), 1), None, |b, t| {
            self.tap(b, piece, (chunk, &ahead), &t);
        });
    }

    /// The blocks that some bytes of a lane's chunk lie in, which begins there.
    fn fetch(&self, b: &mut Builder, k: &Expr, chunk: &Expr, [begin, end]: [Expr; 2]) {
        let size = self.of.input.size;
        let all = b.bytes_of(self.source);
        let whole = all / BLOCK * BLOCK;
        let low = b.div("low", begin, BLOCK_BYTES) * BLOCK;
        let mut up = b.round_up("up", end.clone(), BLOCK_BYTES);
        let start = b.div("start", chunk.clone(), BLOCK_BYTES) * BLOCK;
        // From a byte of the tensor to where it comes.
        let to = k.clone() * int(self.of.fetched_pitch()) - start;
        if whole < all {
            // What is behind the last whole block of the tensor comes element by element.
            b.when(end.clone(), Relation::Gt, whole, |b| {
                b.emit(Instruction::Barrier(None));
                b.repeat("k", (whole, end, size), None, |b, at| {
                    let to = self.fetched.at(to.clone() + at.clone());
                    transport(b, Place::Local(to), Place::Global(self.source.at(at)), size);
                });
                b.emit(Instruction::Barrier(None));
            });
            up = b.min("up", whole, up);
            return b.when(low.clone(), Relation::Lt, up.clone(), |b| {
                b.load_blocks(self.fetched.at(to + low.clone()), self.source.at(low.clone()), Burst::of(up - low));
            });
        }
        b.load_blocks(self.fetched.at(to + low.clone()), self.source.at(low.clone()), Burst::of(up - low));
    }

    /// Makes a block of each element of all lanes, of 32-bit ones two; says how many are in front of a chunk.
    fn spread(&self, b: &mut Builder, piece: &Piece, chunk: &Chunk) -> Expr {
        let Abreast { blocks, input, .. } = self.of;
        let (pitch, element) = (self.of.turned_pitch(blocks, input.is_short()), Element::U16);
        let ahead = |b: &mut Builder, lane: usize| {
            let begin = self.begin_of(piece, chunk, int(lane).into());
            b.op("ahead", IntOp::Mod, begin, BLOCK)
        };
        if self.of.alike {
            let (row, repeats) = (self.of.fetched_pitch() / BLOCK_BYTES, int(ROWS * blocks + 1).into());
            let element = if input.is_short() { element } else { Element::F32 };
            let [to, from] = [(self.turned.at(0), 1, ROWS), (self.fetched.at(0), row, 1)].map(rows);
            b.transpose(Transpose { element, to, from, repeats, to_high: false, from_high: false });
            let ahead = ahead(b, 0);
            return b.div("ahead", ahead, input.size);
        }
        for k in 0..ROWS {
            // Two bytes are a block.
            let to = self.turned.at(Expr::from(int((k * pitch + ROWS) * BLOCK_BYTES)) - ahead(b, k) * (BLOCK / 2));
            let from = self.fetched.at(int(k * self.of.fetched_pitch()));
            let [to, from] = [(to, 1, ROWS), (from, blocks, 1)].map(rows);
            let repeats = int(blocks + 1).into();
            b.transpose_apart(Transpose { element, to, from, repeats, to_high: false, from_high: false });
        }
        // A block between pieces, or all of them would be in a bank.
        let row = ROWS * blocks + 1;
        if self.of.input.is_short() {
            let from = (self.turned.at(int(ROWS * BLOCK_BYTES)), pitch, 1);
            turn(b, (self.apart.at(0), row, 1), from, int(ROWS * blocks));
        } else {
            for half in 0..SUMS {
                // Both halves of an element of eight lanes.
                let at = self.turned.at(int((ROWS + half * PER_BLOCK * pitch) * BLOCK_BYTES));
                let from = Rows { at, row: 1, pair: stride(pitch), repeat: 2 };
                let at = self.apart.at(int(half) * BLOCK);
                let to = Rows { at, row: stride(row), pair: stride(2 * row), repeat: 2 };
                let repeats = int(PER_BLOCK * blocks).into();
                b.transpose_apart(Transpose { element, to, from, repeats, to_high: false, from_high: false });
            }
        }
        let bytes = int(ROWS * blocks * BLOCK_BYTES).into();
        let burst = Burst { blocks: int(ROWS).into(), bytes, from_gap: BLOCK.into(), to_gap: 0.into() };
        b.copy(Move { to: self.turned.at(0), from: self.apart.at(0), burst });
        0.into()
    }

    /// Adds what a tap of a chunk brings.
    fn tap(&self, b: &mut Builder, piece: &Piece, (chunk, ahead): (&Chunk, &Expr), t: &Expr) {
        let Abreast { kernel: [_, kw], dilation, padding, stride: [sh, sw], windows: [lh, lw], width, .. } = self.of;
        let i = b.div("i", t.clone(), kw);
        let j = t.clone() - i.clone() * int(kw);
        let [first, last] = if self.of.whole_taps {
            self.reached(b, piece, &i)
        } else {
            [chunk.window.clone(), chunk.window.clone() + chunk.windows.clone()]
        };
        // The column of the plane that the first one of windows has, and those of windows that have one.
        let left = j * int(dilation[1]) - int(padding[1]);
        let from = b.div("column", Expr::from(int(sw) - 1) - left.clone(), sw);
        let from = b.max("column", 0, from);
        let end = b.div("columns", Expr::from(int(width + sw) - 1) - left.clone(), sw);
        let end = b.min("columns", int(lw), end);
        b.when(first.clone(), Relation::Lt, last.clone(), |b| {
            b.when(from.clone(), Relation::Lt, end.clone(), |b| {
                let tap = (t.clone() - chunk.tap.clone()) * int(lh * lw);
                let source = ahead.clone() + tap + (first.clone() - chunk.window.clone()) * int(lw) + from.clone();
                let row = first.clone() * int(sh) + i * int(dilation[0]) - int(padding[0]) - piece.row.clone();
                let target = row * int(width) + from.clone() * int(sw) + left;
                let windows = last - first.clone();
                let places = Places { of: self, target, source, columns: end - from };
                if self.of.strips {
                    places.add_strips(b, [&first, &windows], &piece.lanes);
                } else {
                    places.add(b, &windows);
                }
            });
        });
    }
}

/// Sixteen blocks for each repeat.
fn rows((at, row, repeat): (Local, usize, usize)) -> Rows {
    Rows { at, row: stride(row), pair: stride(2 * row), repeat: stride(repeat) }
}
