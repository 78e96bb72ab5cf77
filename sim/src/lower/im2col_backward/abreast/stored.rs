//! Sums of sixteen planes as they are stored.

use ubtile_tiling::im2col_backward::Plan;

use super::sizes::Abreast;
use super::{BLOCK, Lowering, Piece, SUMS};
use crate::lower::builder::{Builder, int};
use crate::lower::ring::Ring;
use crate::lower::shape::{BLOCK_BYTES, PER_BLOCK, cast, fill, stride};
use crate::lower::substitute::{ROWS, TURNED, transport, turn};
use crate::product::Element;
use crate::program::{BufferId, Burst, Expr, IntOp, Move, Pipe, Place, Relation, Rows, Transpose};

/// Buffers for it.
pub(super) struct Stored {
    /// All planes, one behind the other.
    dense: Ring,
    /// What planes end with, one behind the other.
    ends: BufferId,
    /// From V to the scalar unit and back, where not all that is stored is whole blocks.
    parts: Option<[u8; 2]>,
}

/// Bytes of the ends.
pub(super) const fn ends_bytes() -> usize {
    SUMS * TURNED
}

impl Stored {
    pub(super) fn new(b: &mut Builder, of: &Abreast, plan: &Plan) -> Self {
        let dense = Ring::new(b, ("box", of.stored_bytes(), 1), Some("tile_rows"), &[Pipe::V, Pipe::Mte3]);
        let ends = b.buffer("ends", ends_bytes(), 1, None);
        let all = plan.problem().n * plan.problem().c * of.plane_bytes();
        let whole = if of.strips { of.plane_bytes() } else { all }.is_multiple_of(BLOCK_BYTES);
        let parts = (!whole).then(|| [b.flag_id(Pipe::V, Pipe::S), b.flag_id(Pipe::S, Pipe::V)]);
        Self { dense, ends, parts }
    }

    pub(super) fn begin(&self, b: &mut Builder) {
        fill(b, self.ends.at(0), Element::U16, 0, int(ends_bytes() / 2));
        self.dense.begin(b);
    }

    pub(super) fn end(&self, b: &mut Builder) {
        self.dense.end(b);
    }

    /// Stores the sums of some rows.
    pub(super) fn put(&self, b: &mut Builder, of: &Lowering, piece: &Piece) {
        let Abreast { output, stored, gaps, .. } = of.of;
        let (pitch, row) = (of.of.turned_pitch(stored, output.is_short()), of.of.stored_row());
        // The first lane begins within a block, and each of the others within the last block of the one before.
        let begin = piece.plane.clone() * int(of.of.plane_bytes()) + piece.row.clone() * int(of.of.row_bytes());
        let ahead = b.op("ahead", IntOp::Mod, begin.clone(), BLOCK);
        let put = |b: &mut Builder, first: usize, lanes: usize| {
            for k in 0..lanes {
                let at = ahead.clone() + int((first + k) * of.of.lane_bytes());
                let low = b.div("low", at.clone(), BLOCK_BYTES) * BLOCK;
                // Two bytes are a block.
                let from = Expr::from(int((k * pitch + ROWS) * BLOCK_BYTES)) - (at - low.clone()) * (BLOCK / 2);
                turn(b, (self.dense.at(low), stored, 1), (of.turned.at(from), 1, ROWS), int(stored));
            }
        };
        self.dense.enter(b);
        if output.is_short() {
            let to = of.apart.at(int(Abreast::front_bytes()));
            cast(b, (to, output.element), (of.sums_at(0), Element::F32), int(of.of.cells() * ROWS));
            self.ends(b, of);
            self.pieces(b, of, (of.sums, of.apart));
            turn(b, (of.turned.at(0), pitch, 1), (of.sums.at(0), row, 1), int(ROWS * (stored + 1)));
            put(b, 0, ROWS);
        } else {
            self.long_ends(b, of);
            if gaps {
                self.pieces(b, of, (of.apart, of.sums));
            }
            let (sums, row) = if gaps { (of.apart, row) } else { (of.sums, ROWS * stored) };
            for half in 0..SUMS {
                let at = sums.at(int(half) * BLOCK);
                let from = Rows { at, row: stride(row), pair: stride(2 * row), repeat: 2 };
                let to = Rows { at: of.turned.at(0), row: 1, pair: stride(pitch), repeat: 2 };
                let (element, repeats) = (Element::U16, int(PER_BLOCK * (stored + 1)).into());
                b.transpose(Transpose { element, to, from, repeats, to_high: false, from_high: false });
                put(b, half * PER_BLOCK, PER_BLOCK);
            }
        }
        self.store(b, of, piece, &(begin - ahead));
    }

    /// Stores what begins with a block of the output, in whole blocks but for the ends.
    fn store(&self, b: &mut Builder, of: &Lowering, piece: &Piece, start: &Expr) {
        let Piece { begin, end, .. } = piece;
        let from = |at: &Expr| self.dense.at(at.clone() - start.clone());
        let (mut up, mut down) = (begin.clone(), end.clone());
        if let Some([there, back]) = self.parts {
            let up_to = b.round_up("up", begin.clone(), BLOCK_BYTES);
            up = b.min("up", end.clone(), up_to);
            let down_to = b.div("down", end.clone(), BLOCK_BYTES) * BLOCK;
            down = b.max("down", up.clone(), down_to);
            let parts = up.clone() - begin.clone() + end.clone() - down.clone();
            b.when(parts, Relation::Gt, 0, |b| {
                b.after(Pipe::V, Pipe::S, there);
                for [first, last] in [[begin, &up], [&down, end]] {
                    b.repeat("at", (first.clone(), last.clone(), of.of.output.size), None, |b, at| {
                        let place = Place::Local(from(&at));
                        transport(b, Place::Global(of.target.at(at)), place, of.of.output.size);
                    });
                }
                b.after(Pipe::S, Pipe::V, back);
            });
        }
        self.dense.pass(b, 0);
        b.when(up.clone(), Relation::Lt, down.clone(), |b| {
            b.store_blocks(of.target.at(up.clone()), from(&up), Burst::of(down - up.clone()));
        });
        self.dense.leave(b);
    }

    /// Sixteen pieces of all lanes, each with what is in front of it, which the one before ends with.
    fn pieces(&self, b: &mut Builder, of: &Lowering, (to, from): (BufferId, BufferId)) {
        let (piece, row) = (ROWS * of.of.stored, of.of.stored_row());
        for (at, some) in [(0, piece), (piece, ROWS)] {
            let gap = |pitch: usize| int((pitch - some) * BLOCK_BYTES).into();
            let (bytes, from_gap, to_gap) = (int(some * BLOCK_BYTES).into(), gap(piece), gap(row));
            let burst = Burst { blocks: int(ROWS).into(), bytes, from_gap, to_gap };
            b.copy(Move { to: to.at(int(at) * BLOCK), from: from.at(int(at) * BLOCK), burst });
        }
    }

    /// In front of each lane, what the one before ends with.
    fn ends(&self, b: &mut Builder, of: &Lowering) {
        let last = of.apart.at(int(of.of.cells()) * BLOCK);
        turn(b, (self.ends.at(BLOCK), 1, 1), (last, 1, 1), 1);
        turn(b, (of.apart.at(0), 1, 1), (self.ends.at(0), 1, 1), 1);
    }

    /// The same of 32-bit elements: halves of eight planes are rows, in which both eights have every second lane. The eighth plane is in
    /// front of the second eight, as if it lay a lane further.
    fn long_ends(&self, b: &mut Builder, of: &Lowering) {
        let last = int(of.of.cells() * SUMS) * BLOCK;
        turn(b, (self.ends.at(0), 1, 1), (of.sums.at(last - BLOCK), 1, 1), 1);
        turn(b, (self.ends.at(int(TURNED)), 1, 1), (of.sums.at(last), 1, 1), 1);
        let from = self.ends.at(int((ROWS - SUMS) * BLOCK_BYTES));
        turn(b, (of.sums.at(0), 1, 1), (from, 1, 1), 1);
    }
}
