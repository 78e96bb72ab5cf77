//! ReplicationPad2dBackward from a native plan.
//!
//! Rows of the output lie in the UB as they are stored. What has one contribution is loaded into them, shifted by where it begins in
//! global memory, without arithmetic. Columns that others fold into are loaded apart, some columns of each row in a block;
//! a transposition turns them into vectors over the rows, which are added column by column, and a lane of each row takes its sum.
//! Rows that others fold into are added row by row first, both their inner columns and the blocks at their ends.
//!
//! Of small planes, and where copies take whole blocks alone and rows would have to be shifted, [`batches`] are made of all planes' rows
//! instead.

mod batches;
mod edge;
mod fold;
mod line;
mod vendor;

use ubtile_tiling::replication_pad2d_backward::Plan;
use ubtile_tiling::{Choice, Problem, Tensor};

pub(super) use vendor::vendor;

use super::builder::{Builder, int};
use super::pieces::{Limits, choice};
use super::ring::Ring;
use super::room::Room;
use super::shape::{BLOCK_BYTES, Compute, MOST_STRIDE, Run, blocks, fill, insert, largest};
use super::{LowerError, bits_of, shares, tensor};
use crate::program::{BufferId, Burst, Expr, Local, Pipe, Relation, Source, TensorId};

use batches::Batches;
use edge::Edge;
use fold::Fold;
use line::Line;

/// Most rows of a piece: repeats of an instruction are fewer than 256.
const MOST_ROWS: usize = 240;
/// Most rows that are loaded at a time to be added up.
const FOLD_ROWS: usize = 8;

/// What all parts of the program know.
struct Lowering {
    input: TensorId,
    output: TensorId,
    compute: Compute,
    rows: Line,
    columns: Line,
    /// Rows and columns of a piece, and the bytes from a row to the next one.
    most: [usize; 2],
    pitch: usize,
    /// Rows of the output in the UB.
    out: Ring,
    edge: Option<Edge>,
    fold: Option<Fold>,
    zeros: Option<BufferId>,
    /// From V to MTE2, where rows are cleared before they are loaded.
    cleared: Option<u8>,
}

/// Rows and columns of a piece, where it is.
struct Piece {
    plane: Expr,
    row: Expr,
    rows: Expr,
    column: Expr,
    columns: Expr,
}

/// What the program may use: for what shifts rows the most, or as much as leaves room for batches.
pub(super) fn room(
    plan: &Plan,
    most: Room,
    with: impl Fn(usize) -> Result<Room, LowerError>,
) -> Result<Room, LowerError> {
    let Ok(compute) = Compute::of(plan.problem().dtype) else { return Ok(most) };
    Batches::room(plan, most, compute, with)
}

/// The program.
pub(super) fn native(plan: &Plan, room: Room) -> Result<(Source, Vec<Choice>), LowerError> {
    let problem = plan.problem();
    let compute = Compute::of(problem.dtype)?;
    if let Some(batches) = Batches::of(plan, room, compute) {
        return batches.program(plan, room);
    }
    let (rows, columns) = (Line::new(plan.rows()), Line::new(plan.columns()));
    let budget = room.local_bytes;

    // As wide as strides allow, and as high as fits.
    let widest = MOST_STRIDE * BLOCK_BYTES / compute.size;
    let mut width = problem.w.min(widest).min(room.most.columns).max(1);
    let folded = rows.most_folded().min(FOLD_ROWS);
    let bytes = |height: usize, width: usize| {
        let pitch = blocks(width * compute.size);
        let zeros = if rows.zeros.is_empty() { 0 } else { pitch };
        let edge = if columns.folds.is_empty() { 0 } else { Edge::bytes(compute, height.max(folded), folded > 0) };
        let fold = if folded == 0 { 0 } else { Fold::bytes(compute, width, folded) };
        2 * height * pitch + zeros + edge + fold
    };
    while width > 1 && bytes(1, width) > budget {
        width = width.div_ceil(2);
    }
    let most = problem.h.min(MOST_ROWS).min(room.most.rows).max(1);
    let height = largest(most, budget, |height| bytes(height, width))?;
    let pitch = blocks(width * compute.size);

    let mut b = Builder::new(plan.block_dim(), room);
    let limits = Limits { all: problem.h, instructions: MOST_ROWS, bytes: budget };
    b.piece(choice("tile_rows", height, 1, limits, |height| bytes(height, width)));
    let limits = Limits { all: problem.w, instructions: widest, ..limits };
    b.piece(choice("tile_columns", width, 1, limits, |width| bytes(height, width)));
    let of = Problem::ReplicationPad2dBackward(*problem);
    let input = tensor(&mut b, &of, Tensor::GradOutput)?;
    let output = tensor(&mut b, &of, Tensor::GradInput)?;
    let pipes = [Pipe::Mte2, Pipe::V, Pipe::Mte3];
    let out = Ring::new(&mut b, ("rows", height * pitch, 2), Some("tile_rows"), &pipes);
    let zeros = (!rows.zeros.is_empty()).then(|| b.buffer("zeros", pitch, 1, Some("tile_columns")));
    let edge = (!columns.folds.is_empty()).then(|| Edge::new(&mut b, compute, height.max(folded), folded > 0));
    let fold = (folded > 0).then(|| Fold::new(&mut b, compute, width, folded));
    let cleared = (!columns.zeros.is_empty()).then(|| b.flag_id(Pipe::V, Pipe::Mte2));
    let most = [height, width];
    let lowering = Lowering { input, output, compute, rows, columns, most, pitch, out, edge, fold, zeros, cleared };

    lowering.begin(&mut b);
    lowering.share(&mut b, plan);
    lowering.end(&mut b);
    Ok(b.finish_in_pieces())
}

impl Lowering {
    fn begin(&self, b: &mut Builder) {
        self.out.begin(b);
        if let Some(edge) = &self.edge {
            edge.begin(b);
        }
        if let Some(fold) = &self.fold {
            fold.begin(b);
        }
        if let Some(zeros) = self.zeros {
            let flag = b.flag_id(Pipe::V, Pipe::Mte3);
            let bits = bits_of(self.compute.element);
            fill(b, zeros.at(0), bits, 0, int(self.pitch / self.compute.size));
            b.after(Pipe::V, Pipe::Mte3, flag);
        }
    }

    fn end(&self, b: &mut Builder) {
        self.out.end(b);
        if let Some(edge) = &self.edge {
            edge.end(b);
        }
        if let Some(fold) = &self.fold {
            fold.end(b);
        }
    }

    /// The planes of a share, and which of their rows it owns.
    fn share(&self, b: &mut Builder, plan: &Plan) {
        let w = self.columns.size;
        let shares = (0..plan.block_dim()).map(|share| plan.share_range(0, share));
        let rows: Vec<_> = shares.map(|range| range.start / w..range.end / w).collect();
        shares::planes(b, &rows, self.rows.size, |b, plane, from, to| self.plane(b, plane, from, to));
    }

    fn plane(&self, b: &mut Builder, plane: &Expr, from: &Expr, to: &Expr) {
        let clip = |b: &mut Builder, [first, last]: [usize; 2]| {
            (b.max("first", int(first), from.clone()), b.min("last", int(last), to.clone()))
        };
        if let Some((run, source)) = self.rows.copy {
            let (first, last) = clip(b, run);
            let step = self.most[0];
            b.repeat("row", (first, last.clone(), step), Some("tile_rows"), |b, row| {
                let rows = b.min("rows", int(step), last - row.clone());
                self.pieces(b, (plane, &row, &rows), &|b, piece| {
                    let source = row.clone() + (int(source) - int(run[0]));
                    self.copied(b, piece, &source);
                });
            });
        }
        for (at, sources) in &self.rows.folds {
            b.when(from.clone(), Relation::Le, int(*at), |b| {
                b.when(int(*at), Relation::Lt, to.clone(), |b| {
                    let (row, rows) = (int(*at).into(), 1.into());
                    self.pieces(b, (plane, &row, &rows), &|b, piece| self.folded(b, piece, *sources));
                });
            });
        }
        for run in &self.rows.zeros {
            let (first, last) = clip(b, *run);
            b.repeat("row", (first, last, 1), Some("tile_rows"), |b, row| {
                self.pieces(b, (plane, &row, &1.into()), &|b, piece| {
                    if let Some(zeros) = self.zeros {
                        self.store(b, piece, zeros.at(0));
                    }
                });
            });
        }
    }

    /// The pieces of some rows, column by column.
    fn pieces(&self, b: &mut Builder, (plane, row, rows): (&Expr, &Expr, &Expr), one: &dyn Fn(&mut Builder, &Piece)) {
        let (width, step) = (int(self.columns.size), self.most[1]);
        b.repeat("column", (0, width, step), Some("tile_columns"), |b, column| {
            let columns = b.min("columns", int(step), Expr::from(width) - column.clone());
            let (plane, row, rows) = (plane.clone(), row.clone(), rows.clone());
            b.tile("box", |b| one(b, &Piece { plane, row, rows, column, columns }));
        });
    }

    /// Rows with one contribution each.
    fn copied(&self, b: &mut Builder, piece: &Piece, source: &Expr) {
        self.enter(b, piece);
        self.inner(b, piece, &mut |b, run, column| {
            let from = self.input.at(self.from(piece, source, column));
            let pitch = Expr::from(int(self.columns.padded * self.compute.size));
            let to = self.out.at(run.start.clone());
            run.load(b, to, from, piece.rows.clone(), self.pitch, (pitch, self.compute.element));
        });
        self.out.pass(b, 0);
        if let Some(edge) = &self.edge {
            self.ends(b, piece, &mut |b, at, sources| {
                edge.columns(b, self, piece, source, sources);
                edge.insert(b, &self.out.at(0), at * self.compute.size, self.pitch, piece.rows.clone());
            });
        }
        self.leave(b, piece);
    }

    /// A row that others fold into.
    fn folded(&self, b: &mut Builder, piece: &Piece, sources: [usize; 2]) {
        self.enter(b, piece);
        self.out.pass(b, 0);
        let Some(fold) = &self.fold else { return };
        self.inner(b, piece, &mut |b, run, column| fold.rows(b, self, piece, sources, (run, column)));
        if let Some(edge) = &self.edge {
            self.ends(b, piece, &mut |b, at, columns| {
                let block = edge.corner(b, self, piece, sources, columns);
                let (bits, lane) = (bits_of(self.compute.element), at * self.compute.size);
                insert(b, bits, &self.out.at(0), lane, self.pitch, block, 1.into());
            });
        }
        self.leave(b, piece);
    }

    /// A free slot of the output, zero where columns were cropped.
    fn enter(&self, b: &mut Builder, piece: &Piece) {
        self.out.enter(b);
        if let Some(cleared) = self.cleared {
            self.out.pass(b, 0);
            let lanes = piece.rows.clone() * int(self.pitch / self.compute.size);
            fill(b, self.out.at(0), bits_of(self.compute.element), 0, lanes);
            b.after(Pipe::V, Pipe::Mte2, cleared);
        }
    }

    fn leave(&self, b: &mut Builder, piece: &Piece) {
        self.out.pass(b, 1);
        self.store(b, piece, self.out.at(0));
        self.out.leave(b);
    }

    fn store(&self, b: &mut Builder, piece: &Piece, from: Local) {
        let (w, size) = (self.columns.size, self.compute.size);
        let row = piece.plane.clone() * int(self.rows.size) + piece.row.clone();
        let to = self.output.at(row * int(w * size) + piece.column.clone() * int(size));
        let bytes = piece.columns.clone() * int(size);
        let whole = b.round_up("blocks", bytes.clone(), BLOCK_BYTES);
        let from_gap = Expr::from(int(self.pitch)) - whole;
        let to_gap = Expr::from(int(w * size)) - bytes.clone();
        b.store(to, from, Burst { blocks: piece.rows.clone(), bytes, from_gap, to_gap });
    }

    /// The columns of a piece that have one source column each: their bytes in a row, and the first source column.
    fn inner(&self, b: &mut Builder, piece: &Piece, one: &mut dyn FnMut(&mut Builder, &Run, &Expr)) {
        let Some(([first, last], source)) = self.columns.copy else { return };
        let size = int(self.compute.size);
        let end = piece.column.clone() + piece.columns.clone();
        // What is known to hold needs no instruction: a piece begins at 0 or behind, and ends at the last column or before.
        let from = if first == 0 { piece.column.clone() } else { b.max("first", int(first), piece.column.clone()) };
        let to = if last == self.columns.size { end } else { b.min("last", int(last), end) };
        b.when(from.clone(), Relation::Lt, to.clone(), |b| {
            let run = Run::new(b, (from.clone() - piece.column.clone()) * size, (to - from.clone()) * size);
            one(b, &run, &(from + (int(source) - int(first))));
        });
    }

    /// The columns of a piece that others fold into: where in it, and their sources.
    fn ends(&self, b: &mut Builder, piece: &Piece, one: &mut dyn FnMut(&mut Builder, usize, [usize; 2])) {
        for (at, sources) in &self.columns.folds {
            let first = at / self.most[1] * self.most[1];
            b.when(piece.column.clone(), Relation::Eq, int(first), |b| one(b, at - first, *sources));
        }
    }

    /// Bytes from the start of `grad_output` to a row and column of a piece's plane.
    fn from(&self, piece: &Piece, row: &Expr, column: &Expr) -> Expr {
        let row = piece.plane.clone() * int(self.rows.padded) + row.clone();
        (row * int(self.columns.padded) + column.clone()) * int(self.compute.size)
    }
}

const _: () = assert!(MOST_ROWS.is_multiple_of(16));
