//! Sums in the order of the output's columns, in the type that is stored.
//!
//! A gather takes a row, or all rows of a box, by a table of offsets. Where there is none, transpositions work on sixteen rows: what
//! was a lane of a row becomes a block, and blocks of a kind of columns are written as far apart as there are kinds.

use super::layout::Layout;
use crate::lower::builder::{Builder, int};
use crate::lower::ring::Ring;
use crate::lower::shape::{BLOCK_BYTES, PER_BLOCK, cast, scalar, stride};
use crate::lower::substitute::{ROWS, turn};
use crate::product::Element;
use crate::program::{BufferId, Expr, Local, Pipe, Rows, ScalarOp, Transpose, Vector, VectorOp};

/// What puts sums in order.
pub(super) enum Order {
    /// Offsets of what is gathered at once.
    Gathered {
        offsets: BufferId,
        /// That in f32 where another type is stored.
        wide: Option<BufferId>,
    },
    /// Blocks of what were lanes of sixteen rows.
    Turned {
        blocks: BufferId,
        /// Those rows in f32 where another type is stored.
        wide: Option<BufferId>,
    },
}

impl Order {
    /// `None` where sums are in order.
    pub(super) fn new(b: &mut Builder, layout: &Layout) -> Option<Self> {
        let short = layout.output.is_short();
        if layout.is_turned() {
            let blocks = b.buffer("turned_sums", layout.turned_bytes(), 1, Some("tile_columns"));
            let wide = short.then(|| b.buffer("rows", layout.turned_rows_bytes(), 1, Some("tile_columns")));
            return Some(Self::Turned { blocks, wide });
        }
        layout.needs_order().then(|| {
            let offsets = b.buffer("order", layout.order_bytes(), 1, Some("tile_columns"));
            let wide = short.then(|| b.buffer("row", layout.gathered_bytes(), 1, Some("tile_columns")));
            Self::Gathered { offsets, wide }
        })
    }

    /// Makes the offsets, of a row or of all rows of a box: some one by one, then twice as many each time.
    pub(super) fn begin(&self, b: &mut Builder, layout: &Layout) {
        let Self::Gathered { offsets, .. } = *self else { return };
        let (phases, pitch) = (layout.phases, layout.lanes() * 4);
        let write = |b: &mut Builder, entry: Expr, offset: Expr| {
            b.write(offsets.at(entry * 4), Element::U32, offset);
        };
        let first = int(PER_BLOCK);
        // How many entries there are from one to another whose sum is so many bytes further.
        let (each, step) = if layout.packed {
            let row = phases * pitch;
            b.repeat("row", (0, first, 1), None, |b, r| {
                for x in 0..layout.width {
                    let offset = r.clone() * int(row) + int(x % phases * pitch + x / phases * 4);
                    write(b, r.clone() * int(layout.width) + int(x), offset);
                }
            });
            (layout.width, row)
        } else {
            b.repeat("q", (0, first, 1), None, |b, q| {
                b.repeat("phase", (0, int(phases), 1), None, |b, phase| {
                    write(b, q.clone() * int(phases) + phase.clone(), phase * int(pitch) + q.clone() * 4);
                });
            });
            (phases, 4)
        };
        let flag = b.flag_id(Pipe::S, Pipe::V);
        b.after(Pipe::S, Pipe::V, flag);
        let (mut done, all) = (PER_BLOCK * each, layout.gathered_rows() * layout.out_columns());
        while done < all {
            let more = done.min(all - done);
            let operands = [offsets.at(int(4 * done)), offsets.at(0)];
            scalar(b, ScalarOp::Adds, Element::I32, operands, int(done / each * step), int(more));
            done += more;
        }
    }

    /// Puts so many rows of sums, each of so many columns, where they are stored from.
    pub(super) fn put(
        &self,
        b: &mut Builder,
        layout: &Layout,
        (rows, columns): (&Expr, &Expr),
        (sums, stored): (BufferId, &Ring),
    ) {
        let pitches = [layout.phases * layout.lanes() * 4, layout.out_pitch()].map(int);
        // Some rows of sums from one on, to that row and to others so many behind each other.
        let some = |b: &mut Builder, from: Expr, (to, apart): (Expr, usize), left: Expr| {
            let (from, to) = (sums.at(from * pitches[0]), stored.at(to * pitches[1]));
            match *self {
                Self::Gathered { offsets, wide } => {
                    let count = if layout.packed { left * int(layout.width) } else { columns.clone() };
                    gather(b, layout, (to, from), (offsets, wide), &count);
                }
                Self::Turned { blocks, wide } => exchange(b, layout, (to, apart), from, (blocks, wide), &left),
            }
        };
        if layout.packed {
            return some(b, 0.into(), (0.into(), 1), rows.clone());
        }
        let step = if layout.is_turned() { ROWS } else { 1 };
        let (kinds, sh) = (layout.kinds(), layout.stride[0]);
        if !layout.apart {
            return b.repeat("k", (0, rows.clone(), step), None, |b, k| {
                some(b, k.clone(), (k.clone(), 1), rows.clone() - k);
            });
        }
        b.repeat("kind", (0, int(kinds), 1), None, |b, kind| {
            let of_kind = b.div("rows_of_kind", rows.clone() + (int(sh) - 1) - kind.clone(), sh);
            b.repeat("k", (0, of_kind.clone(), step), None, |b, k| {
                let from = kind.clone() * int(layout.window_rows()) + k.clone();
                some(b, from, (k.clone() * int(sh) + kind, sh), of_kind - k);
            });
        });
    }
}

/// So many sums of a row, or of all rows of a box.
fn gather(
    b: &mut Builder,
    layout: &Layout,
    (to, from): (Local, Local),
    (offsets, wide): (BufferId, Option<BufferId>),
    count: &Expr,
) {
    let gathered = wide.map_or_else(|| to.clone(), |wide| wide.at(0));
    let operands = [gathered.clone(), from, offsets.at(0)];
    b.vector(Vector::new(VectorOp::Gather(Element::F32), operands).count(count.clone()));
    if wide.is_some() {
        cast(b, (to, layout.output.element), (gathered, Element::F32), count.clone());
    }
}

/// Sixteen rows of sums, of which so many are there, to rows of the box that are so many apart.
fn exchange(
    b: &mut Builder,
    layout: &Layout,
    (to, apart): (Local, usize),
    from: Local,
    (blocks, wide): (BufferId, Option<BufferId>),
    left: &Expr,
) {
    let (phases, lanes) = (layout.phases, layout.lanes());
    let row = phases * lanes / PER_BLOCK;
    for phase in 0..phases {
        // Halves of an element are lanes side by side.
        let to = Rows {
            at: blocks.at(int(phase * 2 * BLOCK_BYTES)),
            row: 1,
            pair: stride(2 * phases),
            repeat: stride(2 * PER_BLOCK * phases),
        };
        let at = from.further(int(phase * lanes * 4));
        let from = Rows { at, row: stride(row), pair: stride(2 * row), repeat: 1 };
        let repeats = int(lanes / PER_BLOCK).into();
        b.transpose(Transpose { element: Element::U16, to, from, repeats, to_high: false, from_high: false });
    }
    let (turned, out) = ((blocks.at(0), 1, ROWS), layout.out_pitch());
    let Some(wide) = wide else {
        let out = out / BLOCK_BYTES;
        return turn(b, (to, apart * out, 1), turned, int(out));
    };
    let pitch = out / layout.output.size * 4;
    turn(b, (wide.at(0), pitch / BLOCK_BYTES, 1), turned, int(pitch / BLOCK_BYTES));
    let left = b.min("some", int(ROWS), left.clone());
    let (step, each) = if apart > 1 { (1, 1.into()) } else { (ROWS, left.clone()) };
    b.repeat("row", (0, left, step), None, |b, row| {
        let (to, from) = (to.further(row.clone() * int(apart * out)), wide.at(row * int(pitch)));
        cast(b, (to, layout.output.element), (from, Element::F32), each * int(pitch / 4));
    });
}
