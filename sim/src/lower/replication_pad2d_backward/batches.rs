//! ReplicationPad2dBackward of small planes, and where copies take whole blocks alone.
//!
//! The rows of the output follow each other in memory, from plane to plane. A batch of them is sixteen pieces of as many rows each, so
//! many that a piece is whole blocks. Each row of `grad_output` that a row of the batch lies in is loaded as it is; the others are
//! added to it ([`rows`]), and so are columns ([`columns`]). Transposed, one row of each piece at a time, each lane of 16 bits of a row
//! is a block; a copy leaves out the lanes of the padding, and what is transposed back is the batch as it is stored.

mod columns;
mod rows;

use std::ops::Range;

use ubtile_tiling::replication_pad2d_backward::{Axis, Plan};
use ubtile_tiling::{Choice, Problem, Tensor};

use crate::lower::builder::{Builder, int};
use crate::lower::pieces::{Limits, choice};
use crate::lower::ring::Ring;
use crate::lower::room::Room;
use crate::lower::shape::{BLOCK_BYTES, Compute, MOST_STRIDE, blocks, fill};
use crate::lower::substitute::{FEWEST, ROWS, TURNED, period, transport, turn};
use crate::lower::{LowerError, bits_of, tensor};
use crate::product::Element;
use crate::program::{Burst, Expr, Local, Move, Pad, Pipe, Place, Relation, Source, TensorId};

use columns::{Columns, ENDS};
use rows::Rows;

/// Most rows of a batch: sixteen pieces of an odd number of 16-bit elements are whole blocks.
const MOST_ROWS: usize = 256;
/// Most of them that an instruction works on, a row each repeat.
const MOST_REPEATS: usize = 240;
/// Planes that the UB would hold, where copies begin and end anywhere: larger ones are as fast row by row.
const PLANES: usize = 2;
/// Most rows of padding on a side.
const MOST_FOLDED: usize = 32;

/// How the rows of a problem are cut, and where they lie.
#[derive(Clone, Copy, Debug)]
pub(super) struct Batches {
    compute: Compute,
    rows: Axis,
    columns: Axis,
    /// Rows of a piece.
    each: usize,
    /// Bytes from a row of `grad_output` to the next one in the UB, and of a row of the output.
    pitch: usize,
    row: usize,
    /// Batches that are loaded, and that are stored, at a time.
    slots: [u32; 2],
    /// Whether columns of one end are added before those of the other, in the same buffers.
    in_turn: bool,
    /// Whether stores begin and end anywhere.
    anywhere: bool,
}

/// What the parts of a program use.
struct Lowering {
    of: Batches,
    input: TensorId,
    output: TensorId,
    /// Rows of `grad_output`.
    loaded: Ring,
    /// Their lanes as blocks, and at last the batch as it is stored.
    turned: Ring,
    columns: Columns,
    rows: Option<Rows>,
    /// From V to the scalar unit and back, where the output does not end with a block.
    tail: Option<[u8; 2]>,
}

/// Rows of the output, of all planes one behind the other: the first and one past the last, and the planes that they are of.
struct Batch {
    first: Expr,
    last: Expr,
    planes: [Expr; 2],
}

impl Batches {
    /// Of a plan whose planes are small, or whose rows a product would have to shift, where a batch fits and whole rows may be in it.
    pub(super) fn of(plan: &Plan, room: Room, compute: Compute) -> Option<Self> {
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
        let pitch = blocks(from);
        // Pieces with all rows are not kept small.
        let asked = if room.most.rows >= all_rows(plan) { usize::MAX } else { room.most.rows };
        let (unit, many) = (period(row), period(row).max(period(from)));
        let most = shares.iter().map(|share| share.len().div_ceil(ROWS)).max()?;
        let fits = |(slots, unit, in_turn): ([u32; 2], usize, bool)| {
            let most = most.next_multiple_of(unit).min(MOST_ROWS.min(asked) / ROWS);
            let most = most.min(MOST_STRIDE * BLOCK_BYTES / pitch) / unit;
            let mut sizes = (1..=most).rev().map(|n| Self {
                compute,
                rows,
                columns,
                each: n * unit,
                pitch,
                row,
                slots,
                in_turn,
                anywhere,
            });
            sizes.find(|of| of.bytes().is_some_and(|bytes| bytes <= of.budget(room)))
        };
        let ways = [
            ([2, 2], many, false),
            ([2, 1], many, false),
            ([1, 1], many, false),
            ([1, 1], unit, false),
            ([1, 1], unit, true),
        ];
        ways.into_iter().find_map(fits)
    }

    /// Bytes of sixteen rows of `grad_output` of one distance from a block, whose blocks are apart, and of sixteen of each distance with
    /// what lies between them.
    pub(super) fn shifted(plan: &Plan, compute: Compute) -> [usize; 2] {
        let from = plan.columns().padded * compute.size;
        let apart = blocks(from) / BLOCK_BYTES + 1;
        [apart * TURNED, ROWS * period(from) * from + 2 * BLOCK_BYTES]
            .map(|bytes| bytes.next_multiple_of(1 << 10).max(FEWEST))
    }

    /// Bytes of local memory; none where columns cannot be added so.
    fn bytes(&self) -> Option<usize> {
        Some(self.slots.iter().sum::<u32>() as usize * self.batch_bytes() + Columns::bytes(self)? + Rows::bytes(self))
    }

    /// Bytes of local memory that there are. Rows of `grad_output` that are whole blocks come as such; else vector instructions shift them,
    /// sixteen of each distance from a block at a time, and need their room.
    fn budget(&self, room: Room) -> usize {
        let from = self.columns.padded * self.compute.size;
        if from.is_multiple_of(BLOCK_BYTES) { room.without_scratch() } else { room.local_bytes }
    }

    /// Ends whose columns come one after the other.
    const fn sharing(&self) -> usize {
        if self.in_turn { ENDS } else { 1 }
    }

    /// Rows of a batch.
    const fn most(&self) -> usize {
        ROWS * self.each
    }

    /// Rows of a batch as instructions take them: the first ones, and how many.
    fn repeats(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let most = self.most();
        (0..most).step_by(MOST_REPEATS).map(move |first| (first, MOST_REPEATS.min(most - first)))
    }

    /// Bytes of a batch's rows of `grad_output` in the UB.
    const fn batch_bytes(&self) -> usize {
        self.most() * self.pitch
    }

    /// Blocks of such a row.
    const fn row_blocks(&self) -> usize {
        self.pitch / BLOCK_BYTES
    }

    /// The program.
    pub(super) fn program(self, plan: &Plan, room: Room) -> Result<(Source, Vec<Choice>), LowerError> {
        let mut b = Builder::new(plan.block_dim(), room);
        let limits = Limits { all: all_rows(plan), instructions: MOST_ROWS, bytes: self.budget(room) };
        let bytes = |rows| Self { each: rows / ROWS, ..self }.bytes().unwrap_or(usize::MAX);
        b.piece(choice("tile_rows", self.most(), ROWS, limits, bytes));
        let columns = self.columns.size;
        b.piece(choice("tile_columns", columns, 1, Limits { all: columns, ..limits }, |_| usize::MAX));
        let problem = Problem::ReplicationPad2dBackward(*plan.problem());
        let input = tensor(&mut b, &problem, Tensor::GradOutput)?;
        let output = tensor(&mut b, &problem, Tensor::GradInput)?;
        let (bytes, field) = (self.batch_bytes(), Some("tile_rows"));
        let [loaded, turned] = self.slots;
        let loaded = Ring::new(&mut b, ("rows", bytes, loaded), field, &[Pipe::Mte2, Pipe::V]);
        let turned = Ring::new(&mut b, ("turned", bytes, turned), field, &[Pipe::V, Pipe::Mte3]);
        let columns = Columns::new(&mut b, &self);
        let rows = Rows::new(&mut b, &self);
        let shares = shares(plan);
        let whole = self.anywhere || shares.iter().all(|share| (share.end * self.row).is_multiple_of(BLOCK_BYTES));
        let tail = (!whole).then(|| [b.flag_id(Pipe::V, Pipe::S), b.flag_id(Pipe::S, Pipe::V)]);
        let lowering = Lowering { of: self, input, output, loaded, turned, columns, rows, tail };

        lowering.begin(&mut b);
        let [first, last] = [("first_row", 0), ("last_row", 1)].map(|(name, end)| {
            b.per_core(name, shares.iter().map(|share| int([share.start, share.end][end])).collect())
        });
        b.repeat("batch", (first, last.clone(), self.most()), Some("tile_rows"), |b, first| {
            let last = b.min("last", last, first.clone() + int(self.most()));
            let h = self.rows.size;
            let planes = [b.div("plane_of", first.clone(), h), b.div("plane_of", last.clone() + int(h - 1), h)];
            b.tile("box", |b| lowering.batch(b, &Batch { first, last, planes }));
        });
        lowering.end(&mut b);
        Ok(b.finish_in_pieces())
    }
}

/// Rows of all planes, which follow each other.
fn all_rows(plan: &Plan) -> usize {
    let problem = plan.problem();
    problem.n * problem.c * problem.h
}

impl Lowering {
    fn begin(&self, b: &mut Builder) {
        // Transpositions take whole batches, also where there are fewer rows.
        for slot in 0..self.loaded.slots() {
            fill(b, self.loaded.slot_at(slot, 0), Element::U16, 0, int(self.of.batch_bytes() / 2));
        }
        self.columns.begin(b);
        self.loaded.begin(b);
        self.turned.begin(b);
        if let Some(rows) = &self.rows {
            rows.begin(b, &self.of);
        }
    }

    fn end(&self, b: &mut Builder) {
        self.loaded.end(b);
        self.turned.end(b);
        if let Some(rows) = &self.rows {
            rows.end(b);
        }
    }

    fn batch(&self, b: &mut Builder, batch: &Batch) {
        let h = self.of.rows.size;
        let [from, to] = batch.planes.clone();
        self.loaded.enter(b);
        b.repeat("plane", (from, to, 1), None, |b, plane| {
            let begin = plane.clone() * int(h);
            let first = b.max("from", batch.first.clone(), begin.clone());
            let last = b.min("to", batch.last.clone(), begin.clone() + int(h));
            let source = first.clone() - begin + int(self.of.rows.sources(0)[1] - 1);
            self.load(b, self.row(batch, &first), (&plane, source), last - first);
        });
        self.loaded.pass(b, 0);
        self.columns.widen(b, &self.of, &self.loaded.at(0));
        if let Some(rows) = &self.rows {
            rows.add(b, self, batch);
        }
        self.columns.add(b, &self.of, &self.loaded.at(0));
        self.turned.enter(b);
        self.cut(b);
        self.loaded.leave(b);
        self.turned.pass(b, 0);
        self.store(b, batch);
        self.turned.leave(b);
    }

    /// Where a row of the output lies among those of a batch.
    fn row(&self, batch: &Batch, row: &Expr) -> Local {
        self.loaded.at((row.clone() - batch.first.clone()) * int(self.of.pitch))
    }

    /// So many rows of a plane of `grad_output`.
    fn load(&self, b: &mut Builder, to: Local, (plane, row): (&Expr, Expr), rows: Expr) {
        let bytes = self.of.columns.padded * self.of.compute.size;
        let from = self.input.at((plane.clone() * int(self.of.rows.padded) + row) * int(bytes));
        let burst = Burst { blocks: rows, bytes: int(bytes).into(), from_gap: 0.into(), to_gap: 0.into() };
        if bytes == self.of.pitch {
            b.load_blocks(to, from, burst);
        } else {
            // What is behind a row in its last block moves along.
            let right = int(self.of.pitch - bytes).into();
            let element = bits_of(self.of.compute.element);
            let pad = self.of.anywhere.then(|| Pad { left: 0.into(), right, element, value: 0.into() });
            b.load(to, from, burst, pad);
        }
    }

    /// Leaves out the padding.
    fn cut(&self, b: &mut Builder) {
        let Batches { compute, columns, each, pitch, row, .. } = self.of;
        let (loaded, turned) = (self.loaded.at(0), self.turned.at(0));
        let all = each * self.of.row_blocks();
        turn(b, (turned, 1, ROWS), (loaded.clone(), all, 1), int(all));
        // Two bytes are a lane of sixteen pieces.
        let lanes = |bytes: usize| int(bytes / 2 * BLOCK_BYTES);
        let left = (columns.sources(0)[1] - 1) * compute.size;
        let burst = Burst {
            blocks: int(each).into(),
            bytes: lanes(row).into(),
            from_gap: lanes(pitch - row).into(),
            to_gap: 0.into(),
        };
        b.copy(Move { to: loaded.clone(), from: self.turned.at(lanes(left)), burst });
        let piece = each * row / BLOCK_BYTES;
        turn(b, (self.turned.at(0), piece, 1), (loaded, 1, ROWS), int(piece));
    }

    fn store(&self, b: &mut Builder, batch: &Batch) {
        let (row, size) = (int(self.of.row), self.of.compute.size);
        let bytes = (batch.last.clone() - batch.first.clone()) * row;
        if self.of.anywhere {
            return b.store(self.output.at(batch.first.clone() * row), self.turned.at(0), Burst::of(bytes));
        }
        let copy = |b: &mut Builder, bytes: Expr| {
            b.store_blocks(self.output.at(batch.first.clone() * row), self.turned.at(0), Burst::of(bytes));
        };
        let Some([there, back]) = self.tail else { return copy(b, bytes) };
        let whole = b.div("whole", bytes.clone(), BLOCK_BYTES) * int(BLOCK_BYTES);
        b.when(whole.clone(), Relation::Gt, 0, |b| copy(b, whole.clone()));
        b.when(whole.clone(), Relation::Lt, bytes.clone(), |b| {
            // What is behind the last whole block of the output.
            b.after(Pipe::V, Pipe::S, there);
            b.repeat("k", (whole, bytes, size), None, |b, k| {
                let (to, from) = (self.output.at(batch.first.clone() * row + k.clone()), self.turned.at(k));
                transport(b, Place::Global(to), Place::Local(from), size);
            });
            b.after(Pipe::S, Pipe::V, back);
        });
    }
}

/// What is in front of an axis and behind it, where nothing is cropped and either end has positions of its own.
fn paddings(axis: Axis) -> Option<[usize; 2]> {
    let before = usize::try_from(axis.before).ok()?;
    let behind = axis.padded.checked_sub(axis.size)?.checked_sub(before)?;
    (axis.size > 1).then_some([before, behind])
}

/// The rows of the output that each core makes, of all planes one behind the other.
fn shares(plan: &Plan) -> Vec<Range<usize>> {
    let w = plan.columns().size;
    let shares = (0..plan.block_dim()).map(|share| plan.share_range(0, share));
    shares.map(|range| range.start / w..range.end / w).collect()
}

const _: () = assert!(MOST_ROWS.is_multiple_of(ROWS) && MOST_REPEATS < 256);
