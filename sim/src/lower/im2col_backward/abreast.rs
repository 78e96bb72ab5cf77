//! Im2colBackward of sixteen lanes at once, where copies take whole blocks alone.
//!
//! Lanes are planes, or strips of a plane. An element of all lanes is a vector, so rows begin with blocks wherever they lie. A chunk of
//! each lane's taps comes as the blocks that it lies in ([`chunk`]). Cut into sixteen pieces, it is transposed, which makes a block of
//! each element of a piece, and what is in front of the lane in its first block is so many blocks; a second transposition then takes an
//! element of all lanes at a time. Sums of a lane go the same way back, to where they follow those of the lane before ([`stored`]): one
//! store.

mod add;
mod chunk;
mod sizes;
mod stored;

use ubtile_tiling::im2col_backward::Plan;
use ubtile_tiling::{Choice, Problem, Tensor};

use crate::lower::builder::{Builder, int};
use crate::lower::pieces::{Limits, choice};
use crate::lower::ring::Ring;
use crate::lower::room::Room;
use crate::lower::shape::{BLOCK_BYTES, PER_BLOCK, fill};
use crate::lower::substitute::ROWS;
use crate::lower::{LowerError, tensor};
use crate::product::Element;
use crate::program::{BufferId, Content, Expr, Local, Pipe, Relation, Source, TensorId};

use chunk::Chunk;
pub(super) use sizes::Abreast;
use stored::Stored;

const BLOCK: i64 = BLOCK_BYTES as i64;
/// Blocks of an element's sums: sixteen lanes of f32.
const SUMS: usize = ROWS / PER_BLOCK;

/// What the parts of a program use.
struct Lowering {
    of: Abreast,
    source: TensorId,
    target: TensorId,
    /// The blocks that a chunk of each lane lies in.
    fetched: Ring,
    /// Lanes of pieces as blocks, lane by lane; and then elements of all lanes as blocks.
    turned: BufferId,
    /// The same with blocks between pieces; and of short types in f32.
    apart: BufferId,
    sums: BufferId,
    stored: Stored,
}

/// What is stored at a time: the bytes of the output from a first one to before a last one; the plane and the row that they begin in,
/// which the first lane begins with; how many lanes they are in, and the rows of these that they have, if these are not all.
struct Piece {
    begin: Expr,
    end: Expr,
    plane: Expr,
    row: Expr,
    lanes: Expr,
    rows: [Expr; 2],
}

impl Abreast {
    /// The program.
    pub(super) fn program(self, plan: &Plan, room: Room) -> Result<(Source, Vec<Choice>), LowerError> {
        let problem = plan.problem();
        let mut b = Builder::new(plan.block_dim(), room);
        for (name, all) in [("tile_rows", self.height), ("tile_columns", self.width)] {
            let limits = Limits { all, instructions: all, bytes: room.without_scratch() };
            b.piece(choice(name, all, 1, limits, |_| self.bytes()));
        }
        let of = Problem::Im2colBackward(*problem);
        let source = tensor(&mut b, &of, Tensor::GradOutput)?;
        let target = tensor(&mut b, &of, Tensor::Out)?;
        let pipes = [Pipe::Mte2, Pipe::V];
        let fetched =
            Ring::alone(&mut b, ("fetched_taps", self.fetched_bytes(), self.slots), Some("tile_taps"), &pipes);
        let turned = b.buffer("turned", self.turned_bytes(), 1, None);
        let apart = b.buffer("apart", self.apart_bytes(), 1, None);
        let sums = b.buffer("sums", self.sums_bytes(), 1, Some("tile_rows"));
        let stored = Stored::new(&mut b, &self, plan);
        let lowering = Lowering { of: self, source, target, fetched, turned, apart, sums, stored };
        lowering.begin(&mut b);
        lowering.shares(&mut b, plan);
        lowering.fetched.end(&mut b);
        lowering.stored.end(&mut b);
        Ok(b.finish_in_pieces())
    }
}

impl Lowering {
    /// Transpositions take whole blocks of sixteen lanes, also where there is nothing.
    fn begin(&self, b: &mut Builder) {
        let clear = |b: &mut Builder, at, bytes: usize| fill(b, at, Element::U16, 0, int(bytes / 2));
        for slot in 0..self.fetched.slots() {
            clear(b, self.fetched.slot_at(slot, 0), self.of.fetched_bytes());
        }
        clear(b, self.turned.at(0), self.of.turned_bytes());
        clear(b, self.apart.at(0), self.of.apart_bytes());
        clear(b, self.sums.at(0), self.of.sums_bytes());
        self.fetched.begin(b);
        self.stored.begin(b);
    }

    /// A share, from one piece to the next one: that ends with a block, unless the share or the plane of strips does before, and what is
    /// behind is the next one's first lane.
    fn shares(&self, b: &mut Builder, plan: &Plan) {
        let of = self.of;
        let shares = of.shares(plan);
        let count = b.per_core("boxes", shares.iter().map(|share| int(of.boxes(*share))).collect());
        let [first, last] = [("first_byte", 0), ("last_byte", 1)]
            .map(|(name, end)| b.per_core(name, shares.iter().map(|share| int(share[end])).collect()));
        let whole = shares.as_flattened().iter().all(|at| at.is_multiple_of(of.plane_bytes()));
        let end = b.register("end", Content::Int);
        b.assign(end, first);
        b.repeat("box", (0, count, 1), Some("block_dim"), |b, _| {
            let begin = b.register("begin", Content::Int);
            b.assign(begin, end);
            let piece = self.piece_at(b, begin.into(), &last, whole);
            b.assign(end, piece.end.clone());
            b.tile("box", |b| self.piece(b, &piece));
        });
    }

    /// The piece that begins there.
    fn piece_at(&self, b: &mut Builder, begin: Expr, last: &Expr, whole: bool) -> Piece {
        let of = self.of;
        let (all, of_row, lane) = (of.plane_bytes(), of.row_bytes(), of.lane_bytes());
        let plane = b.div("plane", begin.clone(), all);
        let start = plane.clone() * int(all);
        if of.strips {
            let row = b.div("row", begin.clone() - start.clone(), of_row);
            let first = start.clone() + row.clone() * int(of_row);
            // Where the plane ends, its last block is another one's, too.
            let end = b.div("end", first.clone() + int(ROWS * lane), BLOCK_BYTES) * BLOCK;
            let end = b.min("end", start + int(all), end);
            let end = b.min("end", last.clone(), end);
            let lanes = b.div("lanes", end.clone() - first + int(lane - 1), lane);
            return Piece { begin, end, plane, row, lanes, rows: [0.into(), int(of.rows).into()] };
        }
        let end = b.div("end", start.clone() + int(ROWS * lane), BLOCK_BYTES) * BLOCK;
        let end = b.min("end", last.clone(), end);
        let lanes = b.div("lanes", end.clone() - start.clone() + int(lane - 1), lane);
        let mut rows = [0, int(of.rows)].map(Expr::from);
        if !whole {
            let some = ["from", "to"].map(|name| b.register(name, Content::Int));
            (0..2).for_each(|k| b.assign(some[k], rows[k].clone()));
            b.when(lanes.clone(), Relation::Eq, 1, |b| {
                let from = b.div("from", begin.clone() - start.clone(), of_row);
                let to = b.div("to", end.clone() - start.clone() + int(of_row - 1), of_row);
                b.assign(some[0], from);
                b.assign(some[1], to);
            });
            rows = some.map(Expr::from);
        }
        Piece { begin, end, plane, row: 0.into(), lanes, rows }
    }

    fn piece(&self, b: &mut Builder, piece: &Piece) {
        let Abreast { kernel: [kh, kw], windows: [lh, _], taps, step, whole_taps, .. } = self.of;
        fill(b, self.sums_at(0), Element::F32, 0.0, int(self.of.cells() * ROWS));
        b.repeat("tap", (0, int(kh * kw), taps), Some("tile_taps"), |b, tap| {
            if whole_taps {
                let taps = b.min("taps", int(taps), Expr::from(int(kh * kw)) - tap.clone());
                return self.chunk(b, piece, &Chunk { tap, taps, window: 0.into(), windows: int(lh).into() });
            }
            let i = b.div("i", tap.clone(), kw);
            let [first, last] = self.reached(b, piece, &i);
            b.repeat("window", (first, last.clone(), step), Some("tile_taps"), |b, window| {
                let windows = b.min("windows", int(step), last - window.clone());
                self.chunk(b, piece, &Chunk { tap, taps: 1.into(), window, windows });
            });
        });
        self.stored.put(b, self, piece);
    }

    /// Where the sums of an element are.
    fn sums_at(&self, element: impl Into<Expr>) -> Local {
        self.sums.at(element.into() * (int(SUMS) * BLOCK) + int(Abreast::front_bytes()))
    }

    /// The first row of windows of a row of taps that reaches the rows of the first lane, and one past the last. Of strips, they may be
    /// none's.
    fn reached(&self, b: &mut Builder, piece: &Piece, i: &Expr) -> [Expr; 2] {
        let Abreast { dilation: [dh, _], padding: [ph, _], stride: [sh, _], windows: [lh, _], strips, .. } = self.of;
        let top = piece.row.clone() + int(ph) - i.clone() * int(dh);
        let [first, last] = piece.rows.clone().map(|row| b.div("reached", top.clone() + row + (int(sh) - 1), sh));
        if strips { [first, last] } else { [b.max("first", 0, first), b.min("last", int(lh), last)] }
    }
}
