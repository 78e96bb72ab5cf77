//! Some rows and columns in the UB, in f32, whose ends are folded.

use crate::lower::builder::{Builder, int};
use crate::lower::replication_pad2d_backward::vendor::EDGE;
use crate::lower::ring::Ring;
use crate::lower::shape::{BLOCK_BYTES, Compute, PER_BLOCK, Run, add, cast, fill, stride};
use crate::product::Element;
use crate::program::{BufferId, Burst, Expr, Global, Local, Pipe, Rows, Transpose};

/// Its buffers.
pub(super) struct Tile {
    compute: Compute,
    /// Of the tile, multiples of 16.
    rows: usize,
    columns: usize,
    /// The tile as it is loaded; of f32 also what is computed on and stored.
    loaded: Ring,
    /// Of short types: what is computed on, and what is stored.
    wide: Option<(BufferId, Ring)>,
    /// Columns one behind the other, and how many.
    turned: Option<(BufferId, usize)>,
    /// From V to MTE2, once the tile is cleared; of f32, as its slot comes free from MTE3.
    cleared: Option<u8>,
}

impl Tile {
    /// Bytes of local memory.
    pub(super) fn bytes(compute: Compute, [rows, columns]: [usize; 2], turned: usize) -> usize {
        let short = if compute.is_short() { 4 + compute.size } else { 0 };
        rows * columns * (compute.size + short) + if turned > 0 { (turned + EDGE) * rows * 4 } else { 0 }
    }

    /// Room for so many rows and columns, of which so many are turned at a time.
    pub(super) fn new(b: &mut Builder, compute: Compute, [rows, columns]: [usize; 2], turned: usize) -> Self {
        let (field, elements) = (Some("ubFactorElement"), rows * columns);
        let short = compute.is_short();
        let pipes: &[Pipe] = if short { &[Pipe::Mte2, Pipe::V] } else { &[Pipe::Mte2, Pipe::V, Pipe::Mte3] };
        let loaded = Ring::new(b, ("tile", elements * compute.size, 1), field, pipes);
        let wide = short.then(|| {
            let wide = b.buffer("tile_f32", 4 * elements, 1, field);
            (wide, Ring::new(b, ("rounded", elements * compute.size, 1), field, &[Pipe::V, Pipe::Mte3]))
        });
        let turned = (turned > 0).then(|| (b.buffer("columns", (turned + EDGE) * rows * 4, 1, field), turned + EDGE));
        let cleared = (!short).then(|| b.flag_id(Pipe::V, Pipe::Mte2));
        Self { compute, rows, columns, loaded, wide, turned, cleared }
    }

    pub(super) fn begin(&self, b: &mut Builder) {
        // Transpositions take sixteen rows and columns, also those that no load has filled.
        fill(b, self.loaded.slot_at(0, 0), Element::U16, 0, int(self.rows * self.columns * self.compute.size / 2));
        if let Some((turned, columns)) = self.turned {
            fill(b, turned.at(0), Element::F32, 0.0, int(columns * self.rows));
        }
        if let Some(cleared) = self.cleared {
            b.after(Pipe::V, Pipe::Mte2, cleared);
        }
        self.loaded.begin(b);
        if let Some((wide, stored)) = &self.wide {
            fill(b, wide.at(0), Element::F32, 0.0, int(self.rows * self.columns));
            stored.begin(b);
        }
    }

    pub(super) fn end(&self, b: &mut Builder) {
        self.loaded.end(b);
        if let Some((_, stored)) = &self.wide {
            stored.end(b);
        }
    }

    /// Loads so many rows and columns, `pitch` bytes apart.
    pub(super) fn load(&self, b: &mut Builder, from: Global, [rows, columns]: [&Expr; 2], pitch: usize) {
        let Compute { element, size } = self.compute;
        self.loaded.enter(b);
        let run = Run::new(b, 0.into(), columns.clone() * int(size));
        run.load(b, self.loaded.at(0), from, rows.clone(), self.columns * size, (int(pitch).into(), element));
        self.loaded.pass(b, 0);
        if let Some((wide, _)) = &self.wide {
            cast(b, (wide.at(0), Element::F32), (self.loaded.at(0), element), rows.clone() * int(self.columns));
            self.loaded.leave(b);
        }
    }

    /// Adds some rows to another one, in so many columns.
    pub(super) fn fold_rows(
        &self,
        b: &mut Builder,
        to: impl Into<Expr>,
        (first, count): (impl Into<Expr>, usize),
        columns: &Expr,
    ) {
        let (to, first) = (self.at(to.into(), 0.into()), first.into());
        for k in 0..count {
            add(b, &to, self.at(first.clone() + int(k), 0.into()), columns.clone());
        }
    }

    /// Turns so many columns from one on, multiples of 16 and of 8, in so many rows.
    pub(super) fn turn(&self, b: &mut Builder, first: impl Into<Expr>, columns: usize, rows: &Expr) {
        let Some((turned, _)) = self.turned else { return };
        let (row, column, first) = (stride(self.columns / PER_BLOCK), stride(self.rows / PER_BLOCK), first.into());
        b.repeat("group", (0, rows.clone(), EDGE), None, |b, group| {
            b.transpose(Transpose {
                element: Element::F32,
                to: Rows { at: turned.at(group.clone() * 4), row: 1, pair: column, repeat: column * 8 },
                from: Rows { at: self.at(group, first), row, pair: 2 * row, repeat: 1 },
                repeats: int(columns / PER_BLOCK).into(),
                to_high: false,
                from_high: false,
            });
        });
    }

    /// Adds some turned columns to another one.
    pub(super) fn fold_columns(&self, b: &mut Builder, to: impl Into<Expr>, (first, count): (impl Into<Expr>, usize)) {
        let Some((turned, _)) = self.turned else { return };
        let column = |at: Expr| turned.at(at * int(self.rows * 4));
        let (to, first) = (column(to.into()), first.into());
        for k in 0..count {
            add(b, &to, column(first.clone() + int(k)), int(self.rows));
        }
    }

    /// Turns so many columns back, a multiple of 16: the turned ones from `from` on to those from `to` on.
    pub(super) fn turn_back(&self, b: &mut Builder, from: usize, to: impl Into<Expr>, columns: usize) {
        let Some((turned, _)) = self.turned else { return };
        let (row, column, to) = (stride(self.columns / PER_BLOCK), stride(self.rows / PER_BLOCK), to.into());
        for group in (0..columns).step_by(EDGE) {
            b.transpose(Transpose {
                element: Element::F32,
                to: Rows { at: self.at(0.into(), to.clone() + int(group)), row: 1, pair: row, repeat: row * 8 },
                from: Rows {
                    at: turned.at(int((from + group) * self.rows * 4)),
                    row: column,
                    pair: 2 * column,
                    repeat: 1,
                },
                repeats: int(self.rows / PER_BLOCK).into(),
                to_high: false,
                from_high: false,
            });
        }
    }

    /// Everything is folded: rounds so many rows to the tensor's type, and hands them over to be stored.
    pub(super) fn ready(&self, b: &mut Builder, rows: &Expr) {
        match &self.wide {
            None => self.loaded.pass(b, 1),
            Some((wide, stored)) => {
                stored.enter(b);
                let lanes = rows.clone() * int(self.columns);
                cast(b, (stored.at(0), self.compute.element), (wide.at(0), Element::F32), lanes);
                stored.pass(b, 0);
            }
        }
    }

    /// Stores some rows and columns from a place on that begins with a block, `pitch` bytes apart.
    pub(super) fn store(
        &self,
        b: &mut Builder,
        to: Global,
        (row, column): (Expr, Expr),
        [rows, columns]: [Expr; 2],
        pitch: usize,
    ) {
        let size = self.compute.size;
        let bytes = columns * int(size);
        let whole = b.round_up("blocks", bytes.clone(), BLOCK_BYTES);
        let from = self.wide.as_ref().map_or_else(|| self.loaded.at(0), |(_, stored)| stored.at(0));
        let from = from.further((row * int(self.columns) + column) * int(size));
        let from_gap = Expr::from(int(self.columns * size)) - whole;
        let to_gap = Expr::from(int(pitch)) - bytes.clone();
        b.store(to, from, Burst { blocks: rows, bytes, from_gap, to_gap });
    }

    /// All is stored.
    pub(super) fn leave(&self, b: &mut Builder) {
        self.wide.as_ref().map_or(&self.loaded, |(_, stored)| stored).leave(b);
    }

    /// An element that is computed on.
    fn at(&self, row: Expr, column: Expr) -> Local {
        let from = self.wide.as_ref().map_or_else(|| self.loaded.at(0), |(wide, _)| wide.at(0));
        from.further((row * int(self.columns) + column) * 4)
    }
}
