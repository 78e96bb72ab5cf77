//! Columns that others fold into.

use super::{Lowering, Piece};
use crate::lower::bits_of;
use crate::lower::builder::{Builder, int};
use crate::lower::ring::Ring;
use crate::lower::shape::{BLOCK_BYTES, Compute, Run, add, blocks, broadcast, cast, fill, insert, stride};
use crate::product::Element;
use crate::program::{BufferId, Expr, Local, Pipe, Rows, Transpose};

/// Rows of a transposition.
const ROWS: usize = 16;
/// What sums begin with: adding it changes nothing, not even -0.
const NOTHING: f32 = -0.0;

/// Buffers for some rows of a column, in which a block of columns is added up at a time.
pub(super) struct Edge {
    compute: Compute,
    /// Rows of a buffer, a multiple of 16.
    rows: usize,
    /// A block of each row.
    loaded: Ring,
    /// The columns of those blocks, one after the other.
    turned: BufferId,
    /// The same in f32, and a column in the tensor's type; only of short types.
    wide: Option<BufferId>,
    narrow: Option<BufferId>,
    /// Their sum.
    sum: BufferId,
    /// An element of the sum in each block.
    spread: BufferId,
    /// The sums over rows of a block of columns.
    corner: Option<BufferId>,
}

impl Edge {
    /// Bytes of local memory for so many rows.
    pub(super) fn bytes(compute: Compute, rows: usize, corners: bool) -> usize {
        let rows = rows.next_multiple_of(ROWS);
        let short = if compute.is_short() { 2 * rows * BLOCK_BYTES + blocks(rows * compute.size) } else { 0 };
        let corner = if corners { 2 * BLOCK_BYTES } else { 0 };
        4 * rows * BLOCK_BYTES + blocks(rows * 4) + short + corner
    }

    pub(super) fn new(b: &mut Builder, compute: Compute, rows: usize, corners: bool) -> Self {
        let rows = rows.next_multiple_of(ROWS);
        let field = Some("tile_rows");
        let loaded = Ring::new(b, ("edge", rows * BLOCK_BYTES, 2), field, &[Pipe::Mte2, Pipe::V]);
        let turned = b.buffer("edge_columns", rows * BLOCK_BYTES, 1, field);
        let short = compute.is_short();
        let wide = short.then(|| b.buffer("edge_f32", 2 * rows * BLOCK_BYTES, 1, field));
        let narrow = short.then(|| b.buffer("edge_narrow", rows * compute.size, 1, field));
        let sum = b.buffer("edge_sum", rows * 4, 1, field);
        let spread = b.buffer("edge_blocks", rows * BLOCK_BYTES, 1, field);
        let corner = corners.then(|| b.buffer("corner_sum", 2 * BLOCK_BYTES, 1, None));
        Self { compute, rows, loaded, turned, wide, narrow, sum, spread, corner }
    }

    pub(super) fn begin(&self, b: &mut Builder) {
        // Transpositions take sixteen rows, also those that no load has filled.
        let lanes = int(self.rows * self.compute.per_block());
        for slot in 0..self.loaded.slots() {
            fill(b, self.loaded.slot_at(slot, 0), bits_of(self.compute.element), 0, lanes);
        }
        self.loaded.begin(b);
    }

    pub(super) fn end(&self, b: &mut Builder) {
        self.loaded.end(b);
    }

    /// Sums of some columns for each row of a piece; [`insert`](Self::insert) takes them.
    pub(super) fn columns(
        &self,
        b: &mut Builder,
        of: &Lowering,
        piece: &Piece,
        source: &Expr,
        [first, last]: [usize; 2],
    ) {
        let (element, per_block) = (self.compute.element, self.compute.per_block());
        fill(b, self.sum.at(0), Element::F32, NOTHING, int(self.rows));
        b.repeat("left", (int(first), int(last), per_block), None, |b, column| {
            let columns = b.min("columns", int(per_block), Expr::from(int(last)) - column.clone());
            self.loaded.enter(b);
            self.load(b, of, piece, (source, &piece.rows), (&column, &columns));
            self.loaded.pass(b, 0);
            self.turn(b);
            self.loaded.leave(b);
            let from = match self.wide {
                Some(wide) => {
                    cast(b, (wide.at(0), Element::F32), (self.turned.at(0), element), int(per_block * self.rows));
                    wide
                }
                None => self.turned,
            };
            b.repeat("k", (0, columns, 1), None, |b, k| {
                add(b, &self.sum.at(0), from.at(k * int(4 * self.rows)), int(self.rows));
            });
        });
        let bits = bits_of(element);
        let sum = match self.narrow {
            Some(narrow) => {
                cast(b, (narrow.at(0), element), (self.sum.at(0), Element::F32), int(self.rows));
                narrow
            }
            None => self.sum,
        };
        broadcast(b, bits, self.spread.at(0), sum.at(0), self.rows);
    }

    /// Puts the sums into a lane of each row.
    pub(super) fn insert(&self, b: &mut Builder, to: &Local, at: usize, pitch: usize, rows: Expr) {
        insert(b, bits_of(self.compute.element), to, at, pitch, self.spread.at(0), rows);
    }

    /// A block with the sum of some rows and columns in each lane.
    pub(super) fn corner(
        &self,
        b: &mut Builder,
        of: &Lowering,
        piece: &Piece,
        [top, bottom]: [usize; 2],
        [first, last]: [usize; 2],
    ) -> Local {
        let (element, per_block) = (self.compute.element, self.compute.per_block());
        let corner = self.corner.unwrap_or(self.sum);
        fill(b, self.sum.at(0), Element::F32, NOTHING, 8);
        b.repeat("left", (int(first), int(last), per_block), None, |b, column| {
            let columns = b.min("columns", int(per_block), Expr::from(int(last)) - column.clone());
            fill(b, corner.at(0), Element::F32, NOTHING, int(per_block));
            b.repeat("top", (int(top), int(bottom), self.rows), None, |b, row| {
                let rows = b.min("rows", int(self.rows), Expr::from(int(bottom)) - row.clone());
                self.loaded.enter(b);
                self.load(b, of, piece, (&row, &rows), (&column, &columns));
                self.loaded.pass(b, 0);
                let lanes = rows.clone() * int(per_block);
                if let Some(wide) = self.wide {
                    cast(b, (wide.at(0), Element::F32), (self.loaded.at(0), element), lanes);
                }
                b.repeat("k", (0, rows, 1), None, |b, k| {
                    let at = k * int(4 * per_block);
                    let from = self.wide.map_or_else(|| self.loaded.at(at.clone()), |wide| wide.at(at.clone()));
                    add(b, &corner.at(0), from, int(per_block));
                });
                self.loaded.leave(b);
            });
            broadcast(b, Element::F32, self.spread.at(0), corner.at(0), per_block);
            b.repeat("k", (0, columns, 1), None, |b, k| {
                add(b, &self.sum.at(0), self.spread.at(k * int(BLOCK_BYTES)), 8);
            });
        });
        let Some(narrow) = self.narrow else { return self.sum.at(0) };
        cast(b, (narrow.at(0), element), (self.sum.at(0), Element::F32), 8);
        broadcast(b, bits_of(element), self.spread.at(0), narrow.at(0), 8);
        self.spread.at(0)
    }

    /// A block of each row, the first lanes of it loaded and the others zero.
    fn load(
        &self,
        b: &mut Builder,
        of: &Lowering,
        piece: &Piece,
        (row, rows): (&Expr, &Expr),
        (column, columns): (&Expr, &Expr),
    ) {
        let size = self.compute.size;
        let run = Run::new(b, 0.into(), columns.clone() * int(size));
        let from = of.input.at(of.from(piece, row, column));
        let pitch = Expr::from(int(of.columns.padded * size));
        run.load(b, self.loaded.at(0), from, rows.clone(), BLOCK_BYTES, (pitch, self.compute.element));
    }

    /// Rows become columns, sixteen rows at a time.
    fn turn(&self, b: &mut Builder) {
        let column = stride(self.rows * self.compute.size / BLOCK_BYTES);
        let at = self.turned.at(0);
        let to = if self.compute.is_short() {
            Rows { at, row: column, pair: 2 * column, repeat: 1 }
        } else {
            // Sixteen elements are two blocks.
            Rows { at, row: 1, pair: column, repeat: 2 }
        };
        b.transpose(Transpose {
            element: bits_of(self.compute.element),
            to,
            from: Rows { at: self.loaded.at(0), row: 1, pair: 2, repeat: 16 },
            repeats: int(self.rows / ROWS).into(),
            to_high: false,
            from_high: false,
        });
    }
}
