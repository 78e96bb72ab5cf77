//! ReplicationPad2dBackward of small planes, and where copies take whole blocks alone.
//!
//! The rows of the output follow each other in memory, from plane to plane. A batch of them is sixteen pieces of as many rows each, so
//! many that a piece is whole blocks. Each row of `grad_output` that a row of the batch lies in is loaded as it is; the others are
//! added to it ([`rows`]), and so are columns ([`columns`]). Transposed, one row of each piece at a time, each lane of 16 bits of a row
//! is a block; a copy leaves out the lanes of the padding, and what is transposed back is the batch as it is stored. Where too few rows fit
//! for that, they are loaded so far behind a block that the image begins with one, and stored from there.

mod columns;
mod rows;
mod sizes;

use ubtile_tiling::replication_pad2d_backward::Plan;
use ubtile_tiling::{Choice, Problem, Tensor};

use crate::lower::builder::{Builder, int};
use crate::lower::pieces::{Limits, choice};
use crate::lower::ring::Ring;
use crate::lower::room::Room;
use crate::lower::shape::{BLOCK_BYTES, blocks, fill};
use crate::lower::substitute::{ROWS, transport, turn};
use crate::lower::{LowerError, bits_of, tensor};
use crate::product::Element;
use crate::program::{Burst, Expr, Local, Move, Pad, Pipe, Place, Relation, Source, TensorId};

use columns::Columns;
use rows::Rows;
pub(super) use sizes::Batches;
use sizes::{Kind, MOST_ROWS, all_rows, shares};

/// What the parts of a program use.
struct Lowering {
    of: Batches,
    input: TensorId,
    output: TensorId,
    /// Rows of `grad_output`.
    loaded: Ring,
    /// Their lanes as blocks, and at last the batch as it is stored, where it is not stored from where it is loaded.
    turned: Option<Ring>,
    columns: Columns,
    rows: Option<Rows>,
    /// From V to the scalar unit and back, where the output does not end with a block.
    tail: Option<[u8; 2]>,
}

/// Rows of the output, of all planes one behind the other: that which the batch in hand begins with, the first and one past the last of a
/// part of it, and the planes that they are of.
struct Batch {
    begin: Expr,
    first: Expr,
    last: Expr,
    planes: [Expr; 2],
}

impl Batches {
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
        let [loaded, turned] = self.kind.slots();
        let pipes = if turned == 0 { &[Pipe::Mte2, Pipe::V, Pipe::Mte3][..] } else { &[Pipe::Mte2, Pipe::V] };
        let loaded = Ring::new(&mut b, ("rows", bytes, loaded), field, pipes);
        let turned = (turned > 0).then(|| Ring::new(&mut b, ("turned", bytes, turned), field, &[Pipe::V, Pipe::Mte3]));
        let columns = Columns::new(&mut b, &self);
        let rows = Rows::new(&mut b, &self);
        let shares = shares(plan);
        let whole = self.anywhere
            || self.kind == Kind::Direct
            || shares.iter().all(|share| (share.end * self.row).is_multiple_of(BLOCK_BYTES));
        let tail = (!whole).then(|| [b.flag_id(Pipe::V, Pipe::S), b.flag_id(Pipe::S, Pipe::V)]);
        let lowering = Lowering { of: self, input, output, loaded, turned, columns, rows, tail };

        lowering.begin(&mut b);
        let [first, last] = [("first_row", 0), ("last_row", 1)].map(|(name, end)| {
            b.per_core(name, shares.iter().map(|share| int([share.start, share.end][end])).collect())
        });
        b.repeat("batch", (first, last.clone(), self.most()), Some("tile_rows"), |b, first| {
            let last = b.min("last", last, first.clone() + int(self.most()));
            b.tile("box", |b| {
                let batch = Batch::new(b, &self, first.clone(), [first, last]);
                lowering.batch(b, &batch);
            });
        });
        lowering.end(&mut b);
        Ok(b.finish_in_pieces())
    }
}

impl Batch {
    fn new(b: &mut Builder, of: &Batches, begin: Expr, [first, last]: [Expr; 2]) -> Self {
        let h = of.rows.size;
        let planes = [b.div("plane_of", first.clone(), h), b.div("plane_of", last.clone() + int(h - 1), h)];
        Self { begin, first, last, planes }
    }
}

impl Lowering {
    fn begin(&self, b: &mut Builder) {
        // Transpositions take whole batches, also where there are fewer rows.
        for slot in 0..self.loaded.slots() {
            fill(b, self.loaded.slot_at(slot, 0), Element::U16, 0, int(self.of.batch_bytes() / 2));
        }
        self.columns.begin(b);
        if self.turned.is_none() {
            // Rows are free when they are stored, here when they are filled.
            self.loaded.pass(b, 1);
        }
        self.loaded.begin(b);
        if let Some(turned) = &self.turned {
            turned.begin(b);
        }
        if let Some(rows) = &self.rows {
            rows.begin(b, &self.of);
        }
    }

    fn end(&self, b: &mut Builder) {
        self.loaded.end(b);
        if let Some(turned) = &self.turned {
            turned.end(b);
        }
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
        self.fold(b, batch);
        let Some(turned) = &self.turned else {
            self.loaded.pass(b, 1);
            self.store_direct(b, batch);
            return self.loaded.leave(b);
        };
        turned.enter(b);
        self.cut(b, turned);
        self.loaded.leave(b);
        turned.pass(b, 0);
        self.store(b, batch, turned);
        turned.leave(b);
    }

    /// Adds what the padding folds into the rows of a batch, a part of them at a time.
    fn fold(&self, b: &mut Builder, batch: &Batch) {
        if self.of.parts == 1 {
            return self.fold_part(b, batch);
        }
        let part = self.of.part();
        b.repeat("part", (batch.first.clone(), batch.last.clone(), part), None, |b, first| {
            let last = b.min("part_last", batch.last.clone(), first.clone() + int(part));
            let part = Batch::new(b, &self.of, batch.begin.clone(), [first, last]);
            self.fold_part(b, &part);
        });
    }

    fn fold_part(&self, b: &mut Builder, part: &Batch) {
        let rows = self.row(part, &part.first);
        self.columns.widen(b, &self.of, &rows);
        if let Some(rows) = &self.rows {
            rows.add(b, self, part);
        }
        self.columns.add(b, &self.of, &rows);
    }

    /// Where a row of the output lies among those of a batch.
    fn row(&self, batch: &Batch, row: &Expr) -> Local {
        self.loaded.at((row.clone() - batch.begin.clone()) * int(self.of.pitch))
    }

    /// So many rows of a plane of `grad_output`.
    fn load(&self, b: &mut Builder, to: Local, (plane, row): (&Expr, Expr), rows: Expr) {
        let bytes = self.of.columns.padded * self.of.compute.size;
        let from = self.input.at((plane.clone() * int(self.of.rows.padded) + row) * int(bytes));
        let burst = Burst { blocks: rows, bytes: int(bytes).into(), from_gap: 0.into(), to_gap: 0.into() };
        if bytes == self.of.pitch {
            b.load_blocks(to, from, burst);
        } else {
            let Batches { lead, pitch, anywhere, .. } = self.of;
            // What is behind a row in its last block moves along.
            let right = if anywhere { pitch - lead - bytes } else { 0 };
            let (left, right, element) = (int(lead).into(), int(right).into(), bits_of(self.of.compute.element));
            let pad = (anywhere || lead > 0).then(|| Pad { left, right, element, value: 0.into() });
            b.load(to, from, burst, pad);
        }
    }

    /// Leaves out the padding.
    fn cut(&self, b: &mut Builder, turned: &Ring) {
        let Batches { each, pitch, row, .. } = self.of;
        let loaded = self.loaded.at(0);
        let all = each * self.of.row_blocks();
        turn(b, (turned.at(0), 1, ROWS), (loaded.clone(), all, 1), int(all));
        // Two bytes are a lane of sixteen pieces.
        let lanes = |bytes: usize| int(bytes / 2 * BLOCK_BYTES);
        let burst = Burst {
            blocks: int(each).into(),
            bytes: lanes(row).into(),
            from_gap: lanes(pitch - row).into(),
            to_gap: 0.into(),
        };
        b.copy(Move { to: loaded.clone(), from: turned.at(lanes(self.of.image())), burst });
        let piece = each * row / BLOCK_BYTES;
        turn(b, (turned.at(0), piece, 1), (loaded, 1, ROWS), int(piece));
    }

    /// Rows from where they were loaded.
    fn store_direct(&self, b: &mut Builder, batch: &Batch) {
        let Batches { pitch, row, .. } = self.of;
        let to = self.output.at(batch.first.clone() * int(row));
        let rows = batch.last.clone() - batch.first.clone();
        let from_gap = int(pitch - blocks(row)).into();
        let burst = Burst { blocks: rows, bytes: int(row).into(), from_gap, to_gap: 0.into() };
        b.store(to, self.loaded.at(int(self.of.image())), burst);
    }

    fn store(&self, b: &mut Builder, batch: &Batch, turned: &Ring) {
        let (row, size) = (int(self.of.row), self.of.compute.size);
        let bytes = (batch.last.clone() - batch.first.clone()) * row;
        if self.of.anywhere {
            return b.store(self.output.at(batch.first.clone() * row), turned.at(0), Burst::of(bytes));
        }
        let copy = |b: &mut Builder, bytes: Expr| {
            b.store_blocks(self.output.at(batch.first.clone() * row), turned.at(0), Burst::of(bytes));
        };
        let Some([there, back]) = self.tail else { return copy(b, bytes) };
        let whole = b.div("whole", bytes.clone(), BLOCK_BYTES) * int(BLOCK_BYTES);
        b.when(whole.clone(), Relation::Gt, 0, |b| copy(b, whole.clone()));
        b.when(whole.clone(), Relation::Lt, bytes.clone(), |b| {
            // What is behind the last whole block of the output.
            b.after(Pipe::V, Pipe::S, there);
            b.repeat("k", (whole, bytes, size), None, |b, k| {
                let (to, from) = (self.output.at(batch.first.clone() * row + k.clone()), turned.at(k));
                transport(b, Place::Global(to), Place::Local(from), size);
            });
            b.after(Pipe::S, Pipe::V, back);
        });
    }
}
