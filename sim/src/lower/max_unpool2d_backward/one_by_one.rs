//! Elements picked one by one by the scalar unit, in the place of V.

use super::{Lowering, Run, Sizes};
use crate::lower::builder::{Builder, int};
use crate::lower::substitute::{ANYTHING, transport};
use crate::program::{Expr, Pipe, Place, Relation};

/// The flags from V to the scalar unit and back.
pub(super) struct OneByOne {
    there: u8,
    back: u8,
}

impl OneByOne {
    pub(super) fn new(b: &mut Builder) -> Self {
        Self { there: b.flag_id(Pipe::V, Pipe::S), back: b.flag_id(Pipe::S, Pipe::V) }
    }

    /// Picks what the indices of a run say.
    pub(super) fn pick(&self, b: &mut Builder, of: &Lowering, run: &Run) {
        let Sizes { cells, all, .. } = of.sizes;
        let Run { plane, origin, lanes, ahead, .. } = run;
        // What is put in front of a run is not picked again.
        let put = of.carry.as_ref().is_some_and(|carry| !carry.stored);
        let first = if put { b.max("first", 0, ahead.clone()) } else { 0.into() };
        let each = |b: &mut Builder, one: &dyn Fn(&mut Builder, Expr, Expr)| {
            b.after(Pipe::V, Pipe::S, self.there);
            b.repeat("k", (first.clone(), lanes.clone(), 1), None, |b, k| {
                let index = of.loaded.at(k.clone() * int(of.sizes.index_size()));
                let cell = b.read("picked", index, of.sizes.index, ANYTHING) + (*origin).clone();
                one(b, k, cell);
            });
            b.after(Pipe::S, Pipe::V, self.back);
        };
        let pick = |b: &mut Builder, k: Expr, cell: Expr| {
            let (taken, size) = (of.sizes.path.taken(), int(of.sizes.path.in_table()));
            let from = of.table.at().further(cell * size + of.table.front());
            transport(b, Place::Local(of.picked().further(k * int(taken))), Place::Local(from), taken);
        };
        if !of.sizes.is_sliced() {
            return each(b, &pick);
        }
        let end = (*origin).clone() + int(all);
        b.repeat("cell", (0, end.clone(), cells), Some("tile_cells"), |b, slice| {
            let cells = b.min("cells", int(cells), end - slice.clone());
            of.table.load(b, (plane, origin), (&slice, &cells));
            each(b, &|b, k, cell| {
                let cell = cell - slice.clone();
                b.when(cell.clone(), Relation::Ge, 0, |b| {
                    b.when(cell.clone(), Relation::Lt, cells.clone(), |b| pick(b, k, cell));
                });
            });
            of.table.leave(b);
        });
    }
}
