//! Rows that others fold into.

use super::{Lowering, Piece};
use crate::lower::builder::{Builder, int};
use crate::lower::ring::Ring;
use crate::lower::shape::{Compute, Run, add, blocks, cast, fill};
use crate::product::Element;
use crate::program::{BufferId, Expr, Pipe};

/// What sums begin with: adding it changes nothing, not even -0.
const NOTHING: f32 = -0.0;

/// Buffers in which rows are added up.
pub(super) struct Fold {
    compute: Compute,
    /// Rows that are loaded at a time.
    rows: usize,
    pitch: usize,
    loaded: Ring,
    /// A row in f32, and the sum; only of short types.
    wide: Option<[BufferId; 2]>,
}

impl Fold {
    /// Bytes of local memory for rows of so many columns.
    pub(super) fn bytes(compute: Compute, columns: usize, rows: usize) -> usize {
        let wide = if compute.is_short() { 2 * Self::wide_bytes(compute, columns) } else { 0 };
        2 * rows * blocks(columns * compute.size) + wide
    }

    pub(super) fn new(b: &mut Builder, compute: Compute, columns: usize, rows: usize) -> Self {
        let pitch = blocks(columns * compute.size);
        let field = Some("tile_columns");
        let loaded = Ring::new(b, ("folded", rows * pitch, 2), field, &[Pipe::Mte2, Pipe::V]);
        let bytes = Self::wide_bytes(compute, columns);
        let wide = compute.is_short().then(|| ["folded_f32", "row_sum"].map(|name| b.buffer(name, bytes, 1, field)));
        Self { compute, rows, pitch, loaded, wide }
    }

    pub(super) fn begin(&self, b: &mut Builder) {
        self.loaded.begin(b);
    }

    pub(super) fn end(&self, b: &mut Builder) {
        self.loaded.end(b);
    }

    fn wide_bytes(compute: Compute, columns: usize) -> usize {
        blocks(columns * compute.size) / compute.size * 4
    }

    /// The sum of some rows of a run of columns, in the row of the output in hand.
    pub(super) fn rows(
        &self,
        b: &mut Builder,
        of: &Lowering,
        piece: &Piece,
        [first, last]: [usize; 2],
        (run, column): (&Run, &Expr),
    ) {
        let (element, size) = (self.compute.element, self.compute.size);
        let lanes = b.div("lanes", run.whole.clone(), size);
        let out = of.out.at(run.start.clone());
        let sum = self.wide.map_or_else(|| out.clone(), |[_, sum]| sum.at(0));
        fill(b, sum.clone(), Element::F32, NOTHING, lanes.clone());
        b.repeat("top", (int(first), int(last), self.rows), None, |b, row| {
            let rows = b.min("rows", int(self.rows), Expr::from(int(last)) - row.clone());
            self.loaded.enter(b);
            let from = of.input.at(of.from(piece, &row, column));
            let pitch = Expr::from(int(of.columns.padded * size));
            run.load(b, self.loaded.at(0), from, rows.clone(), self.pitch, (pitch, element));
            self.loaded.pass(b, 0);
            b.repeat("k", (0, rows, 1), None, |b, k| {
                let from = self.loaded.at(k * int(self.pitch));
                match self.wide {
                    Some([wide, _]) => {
                        cast(b, (wide.at(0), Element::F32), (from, element), lanes.clone());
                        add(b, &sum, wide.at(0), lanes.clone());
                    }
                    None => add(b, &sum, from, lanes.clone()),
                }
            });
            self.loaded.leave(b);
        });
        if self.wide.is_some() {
            cast(b, (out, element), (sum, Element::F32), lanes);
        }
    }
}
