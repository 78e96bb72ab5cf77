//! Planes that are larger than 64 both ways: sixteen rows at the top and at the bottom are folded and go to the workspace; then sixteen
//! columns at the left and at the right of all rows are turned, folded and turned back; everything else is copied.

use ubtile_tiling::Dtype;

use super::tile::Tile;
use super::{EDGE, Planes};
use crate::lower::LowerError;
use crate::lower::builder::{Builder, int};
use crate::lower::ring::Ring;
use crate::program::{Burst, Expr, Global, Pipe, Relation, Role, TensorId};

/// Most rows of a side that are turned together: repeats of an instruction reach no further.
const MOST_ROWS: usize = 240;

/// The program's part.
struct Lowering<'a> {
    of: &'a Planes,
    /// Sixteen rows, and some rows of sixteen columns.
    rows: Tile,
    columns: Tile,
    /// Columns of the former, rows of the latter.
    wide: usize,
    high: usize,
    copied: Ring,
    workspace: TensorId,
    /// Where a core's part begins.
    own: Expr,
    /// Bytes from a row of it to the next one.
    pitch: usize,
    /// From MTE3 to MTE2, when folded rows are in the workspace, and back, when they may be overwritten.
    staged: [u8; 2],
}

/// Lowers it; each core has so many bytes of workspace.
pub(super) fn lower(b: &mut Builder, of: &Planes, dtype: Dtype, bytes: usize) -> Result<(), LowerError> {
    let size = of.compute.size;
    let [height, width] = of.padded;
    let wide = (of.factor / EDGE * EDGE).min(width.next_multiple_of(EDGE));
    let high = of.factor.min(MOST_ROWS).min(height) / EDGE * EDGE;
    let local =
        Tile::bytes(of.compute, [EDGE, wide], 0) + Tile::bytes(of.compute, [high, EDGE], EDGE) + 2 * EDGE * wide * size;
    if local > of.budget {
        return Err(LowerError::LocalBytes { got: of.budget, want: local });
    }
    let elements = [(of.cores * bytes / size) as u64];
    let workspace = b.source().tensor("edges", dtype, &elements, Role::Workspace);
    let own = b.per_core("own", (0..of.cores).map(|core| int(core * bytes)).collect());
    let rows = Tile::new(b, of.compute, [EDGE, wide], 0);
    let columns = Tile::new(b, of.compute, [high, EDGE], EDGE);
    let pipes = [Pipe::Mte2, Pipe::Mte3];
    let copied = Ring::new(b, ("copied", EDGE * wide * size, 2), Some("ubFactorElement"), &pipes);
    let staged = [b.flag_id(Pipe::Mte3, Pipe::Mte2), b.flag_id(Pipe::Mte2, Pipe::Mte3)];
    let pitch = width.next_multiple_of(EDGE) * size;
    let lowering = Lowering { of, rows, columns, wide, high, copied, workspace, own, pitch, staged };
    lowering.rows.begin(b);
    lowering.columns.begin(b);
    lowering.copied.begin(b);
    of.each(b, "plane", |b, plane| lowering.plane(b, &plane));
    lowering.rows.end(b);
    lowering.columns.end(b);
    lowering.copied.end(b);
    Ok(())
}

impl Lowering<'_> {
    fn plane(&self, b: &mut Builder, plane: &Expr) {
        let Planes { padded: [height, _], size: [h, _], top, bottom, .. } = *self.of;
        // The edge's row among the sixteen, and the rows that are added to it.
        self.fold(b, plane, 0, (top, (0, top)));
        self.fold(b, plane, height - EDGE, (EDGE - 1 - bottom, (EDGE - bottom, bottom)));
        b.after(Pipe::Mte3, Pipe::Mte2, self.staged[0]);
        let [from_pitch, _] = self.of.pitches();
        for left in [true, false] {
            let column = if left { 0 } else { self.of.padded[1] - EDGE };
            let bytes = int(column * self.of.compute.size);
            let upper = |row: Expr| self.workspace.at(self.own.clone() + row * int(self.pitch) + bytes);
            let lower = |row: Expr| upper(row + int(EDGE));
            let body = |row: Expr| self.of.from(plane, row + int(EDGE), int(column));
            self.side(b, plane, left, (&upper, self.pitch), (EDGE - top, 0));
            self.side(b, plane, left, (&lower, self.pitch), (EDGE - bottom, h - (EDGE - bottom)));
            self.side(b, plane, left, (&body, from_pitch), (height - 2 * EDGE, EDGE - top));
        }
        b.after(Pipe::Mte2, Pipe::Mte3, self.staged[1]);
        self.copy(b, plane);
    }

    /// Folds sixteen rows; what remains of them goes to the workspace, and its inner columns where they belong.
    fn fold(&self, b: &mut Builder, plane: &Expr, first: usize, (edge, (others, count)): (usize, (usize, usize))) {
        let Planes { padded: [_, width], size: [h, _], left, compute, .. } = *self.of;
        let [from_pitch, to_pitch] = self.of.pitches();
        // Rows that remain: in the sixteen, in the workspace, and in the plane.
        let (kept, staged, to) = if first == 0 { (edge, 0, 0) } else { (0, EDGE, h - (EDGE - count)) };
        let remain: Expr = int(EDGE - count).into();
        b.repeat("column", (0, int(width), self.wide), Some("ubFactorElement"), |b, column| {
            let columns = b.min("columns", int(self.wide), Expr::from(int(width)) - column.clone());
            b.tile("rows", |b| {
                let from = self.of.from(plane, int(first), column.clone());
                self.rows.load(b, from, [&int(EDGE).into(), &columns], from_pitch);
                self.rows.fold_rows(b, int(edge), (int(others), count), &columns);
                self.rows.ready(b, &int(EDGE).into());
                let size = int(compute.size);
                let at = self.own.clone() + int(staged * self.pitch) + column.clone() * size;
                let shape = [remain.clone(), columns.clone()];
                self.rows.store(b, self.workspace.at(at), (int(kept).into(), 0.into()), shape, self.pitch);
                let from = b.max("from", int(EDGE), column.clone());
                let end = b.min("to", int(width - EDGE), column.clone() + columns);
                b.when(from.clone(), Relation::Lt, end.clone(), |b| {
                    let to = self.of.to(plane, int(to), from.clone() - int(left));
                    let shape = [remain, end - from.clone()];
                    self.rows.store(b, to, (int(kept).into(), from - column), shape, to_pitch);
                });
                self.rows.leave(b);
            });
        });
    }

    /// Folds sixteen columns of some rows, which belong from a row of the plane on.
    fn side(
        &self,
        b: &mut Builder,
        plane: &Expr,
        left: bool,
        (from, pitch): (&dyn Fn(Expr) -> Global, usize),
        (rows, to): (usize, usize),
    ) {
        let [_, to_pitch] = self.of.pitches();
        let (pad, w) = (if left { self.of.left } else { self.of.right }, self.of.size[1]);
        b.repeat("row", (0, int(rows), self.high), Some("ubFactorElement"), |b, row| {
            let high = b.min("rows", int(self.high), Expr::from(int(rows)) - row.clone());
            b.tile("columns", |b| {
                self.columns.load(b, from(row.clone()), [&high, &int(EDGE).into()], pitch);
                self.columns.turn(b, 0, EDGE, &high);
                let (edge, others, first) = if left { (pad, 0, pad) } else { (EDGE - 1 - pad, EDGE - pad, 0) };
                self.columns.fold_columns(b, int(edge), (int(others), pad));
                self.columns.turn_back(b, first, 0, EDGE);
                self.columns.ready(b, &high);
                let column = if left { 0 } else { w - (EDGE - pad) };
                let to = self.of.to(plane, row + int(to), int(column));
                let shape = [high, int(EDGE - pad).into()];
                self.columns.store(b, to, (0.into(), 0.into()), shape, to_pitch);
                self.columns.leave(b);
            });
        });
    }

    /// Copies what has one contribution and is in no block of sixteen.
    fn copy(&self, b: &mut Builder, plane: &Expr) {
        let Planes { padded: [height, width], top, left, compute, .. } = *self.of;
        let [from_pitch, to_pitch] = self.of.pitches();
        let size = int(compute.size);
        b.repeat("row", (int(EDGE), int(height - EDGE), EDGE), None, |b, row| {
            let rows = b.min("rows", int(EDGE), Expr::from(int(height - EDGE)) - row.clone());
            b.repeat("column", (int(EDGE), int(width - EDGE), self.wide), Some("ubFactorElement"), |b, column| {
                let columns = b.min("columns", int(self.wide), Expr::from(int(width - EDGE)) - column.clone());
                let bytes = columns * size;
                let whole = b.round_up("blocks", bytes.clone(), 32);
                let gap = Expr::from(int(self.wide) * size) - whole;
                b.tile("copy", |b| {
                    self.copied.enter(b);
                    let from = self.of.from(plane, row.clone(), column.clone());
                    let from_gap = Expr::from(int(from_pitch)) - bytes.clone();
                    let (blocks, to_gap) = (rows.clone(), gap.clone());
                    let burst = Burst { blocks, bytes: bytes.clone(), from_gap, to_gap };
                    b.load(self.copied.at(0), from, burst, None);
                    self.copied.pass(b, 0);
                    let to = self.of.to(plane, row - int(top), column - int(left));
                    let to_gap = Expr::from(int(to_pitch)) - bytes.clone();
                    b.store(to, self.copied.at(0), Burst { blocks: rows, bytes, from_gap: gap, to_gap });
                    self.copied.leave(b);
                });
            });
        });
    }
}
