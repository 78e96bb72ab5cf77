//! Only top and bottom are padded: rows as they come, `ubFactorElement` columns at a time.

use super::Planes;
use crate::lower::builder::{Builder, int};
use crate::lower::ring::Ring;
use crate::lower::shape::{add, cast, fill};
use crate::product::Element;
use crate::program::{BufferId, Burst, Expr, Pipe};

/// Buffers.
struct Buffers {
    /// A row, and in f32.
    loaded: Ring,
    wide: Option<[BufferId; 2]>,
    /// The sum of some rows.
    stored: Ring,
    /// Rows that are only copied.
    copied: Ring,
}

/// Lowers it.
pub(super) fn lower(b: &mut Builder, of: &Planes) {
    let (size, field) = (of.compute.size, Some("ubFactorElement"));
    let step = of.factor.min(of.padded[1]).next_multiple_of(16);
    let loaded = Ring::new(b, ("row", step * size, 2), field, &[Pipe::Mte2, Pipe::V]);
    let wide = of.compute.is_short().then(|| ["row_f32", "sum_f32"].map(|name| b.buffer(name, 4 * step, 1, field)));
    let stored = Ring::new(b, ("sum", step * size, 1), field, &[Pipe::V, Pipe::Mte3]);
    let copied = Ring::new(b, ("copied", step * size, 2), field, &[Pipe::Mte2, Pipe::Mte3]);
    let buffers = Buffers { loaded, wide, stored, copied };
    let rings = [&buffers.loaded, &buffers.stored, &buffers.copied];
    rings.iter().for_each(|ring| ring.begin(b));
    let ([height, width], [h, _]) = (of.padded, of.size);
    of.each(b, "plane", |b, plane| {
        b.repeat("column", (0, int(width), of.factor), field, |b, column| {
            let columns = b.min("columns", int(of.factor), Expr::from(int(width)) - column.clone());
            let piece = (&plane, &column, &columns);
            // Rows from the top down, those at the bottom from the last one up.
            let (top, bottom) = ((0..=of.top).collect::<Vec<_>>(), (height - 1 - of.bottom..height).rev());
            if h == 1 {
                let others = bottom.take(of.bottom);
                sum(b, of, &buffers, piece, (&top.into_iter().chain(others).collect::<Vec<_>>(), 0));
                return;
            }
            let (from, to) = (usize::from(of.top > 0), h - usize::from(of.bottom > 0));
            if of.top > 0 {
                sum(b, of, &buffers, piece, (&top, 0));
            }
            b.repeat("row", (int(from), int(to), 1), Some("outHeight"), |b, row| {
                copy(b, of, &buffers.copied, piece, &row);
            });
            if of.bottom > 0 {
                sum(b, of, &buffers, piece, (&bottom.collect::<Vec<_>>(), h - 1));
            }
        });
    });
    rings.iter().for_each(|ring| ring.end(b));
}

/// Some rows of `grad_output` add up to one of `grad_input`.
fn sum(
    b: &mut Builder,
    of: &Planes,
    buffers: &Buffers,
    (plane, column, columns): (&Expr, &Expr, &Expr),
    (rows, to): (&[usize], usize),
) {
    let (element, size) = (of.compute.element, int(of.compute.size));
    b.tile("edge", |b| {
        buffers.stored.enter(b);
        let out = buffers.stored.at(0);
        let total = buffers.wide.map_or_else(|| out.clone(), |[_, sum]| sum.at(0));
        fill(b, total.clone(), Element::F32, 0.0, columns.clone());
        for row in rows {
            buffers.loaded.enter(b);
            let from = of.from(plane, int(*row), column.clone());
            b.load(buffers.loaded.at(0), from, Burst::of(columns.clone() * size), None);
            buffers.loaded.pass(b, 0);
            let from = match buffers.wide {
                None => buffers.loaded.at(0),
                Some([wide, _]) => {
                    let from = (buffers.loaded.at(0), element);
                    cast(b, (wide.at(0), Element::F32), from, columns.clone());
                    wide.at(0)
                }
            };
            add(b, &total, from, columns.clone());
            buffers.loaded.leave(b);
        }
        if buffers.wide.is_some() {
            cast(b, (out.clone(), element), (total, Element::F32), columns.clone());
        }
        buffers.stored.pass(b, 0);
        b.store(of.to(plane, int(to), column.clone()), out, Burst::of(columns.clone() * size));
        buffers.stored.leave(b);
    });
}

/// A row that nothing is added to.
fn copy(b: &mut Builder, of: &Planes, ring: &Ring, (plane, column, columns): (&Expr, &Expr, &Expr), row: &Expr) {
    let bytes = columns.clone() * int(of.compute.size);
    b.tile("row", |b| {
        ring.enter(b);
        b.load(ring.at(0), of.from(plane, row.clone() + int(of.top), column.clone()), Burst::of(bytes.clone()), None);
        ring.pass(b, 0);
        b.store(of.to(plane, row.clone(), column.clone()), ring.at(0), Burst::of(bytes));
        ring.leave(b);
    });
}
