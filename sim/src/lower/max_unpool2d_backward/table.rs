//! A plane of `grad_output`, or a slice of it, as elements are picked from it.
//!
//! Where copies take whole blocks alone, cells count from the first block that the plane lies in.

use super::{Sizes, load_within};
use crate::lower::builder::{Builder, int};
use crate::lower::ring::Ring;
use crate::lower::shape::{BLOCK_BYTES, blocks, cast, fill};
use crate::product::Element;
use crate::program::{BufferId, Burst, Expr, IntOp, Local, Pipe, TensorId};

/// The cells, between blocks of zeros where they are a slice.
pub(super) struct Table {
    sizes: Sizes,
    source: TensorId,
    loaded: Ring,
    /// 8-bit cells in F16.
    wide: Option<BufferId>,
}

impl Table {
    /// Bytes of local memory.
    pub(super) fn bytes(sizes: &Sizes) -> usize {
        let wide = if sizes.path.widened.is_some() { Self::wide_bytes(sizes) } else { 0 };
        sizes.tables as usize * Self::loaded_bytes(sizes) + wide
    }

    pub(super) fn new(b: &mut Builder, sizes: &Sizes, source: TensorId) -> Self {
        let pipes = [Pipe::Mte2, Pipe::V];
        let loaded = Ring::new(b, ("table", Self::loaded_bytes(sizes), sizes.tables), Some("tile_cells"), &pipes);
        let wide = sizes.path.widened.map(|_| b.buffer("table_f16", Self::wide_bytes(sizes), 1, Some("tile_cells")));
        Self { sizes: *sizes, source, loaded, wide }
    }

    pub(super) fn begin(&self, b: &mut Builder) {
        if self.sizes.is_sliced() {
            let mut guard = |local: &dyn Fn(usize) -> Local, bytes: usize| {
                for at in [0, bytes - BLOCK_BYTES] {
                    fill(b, local(at), Element::U16, 0, int(BLOCK_BYTES / 2));
                }
            };
            match self.wide {
                Some(wide) => guard(&|at| wide.at(int(at)), Self::wide_bytes(&self.sizes)),
                None => (0..self.loaded.slots())
                    .for_each(|slot| guard(&|at| self.loaded.slot_at(slot, at), Self::loaded_bytes(&self.sizes))),
            }
        }
        self.loaded.begin(b);
    }

    pub(super) fn end(&self, b: &mut Builder) {
        self.loaded.end(b);
    }

    /// Cells from the start of a block to a plane.
    pub(super) fn origin(&self, b: &mut Builder, plane: &Expr) -> Expr {
        if !self.sizes.between_blocks() {
            return 0.into();
        }
        b.op("origin", IntOp::Mod, plane.clone() * int(self.sizes.all), int(BLOCK_BYTES / self.sizes.path.loaded))
    }

    /// Loads some cells, counted from what comes so many in front of a plane.
    pub(super) fn load(&self, b: &mut Builder, (plane, origin): (&Expr, &Expr), (cell, cells): (&Expr, &Expr)) {
        let Sizes { path, all, in_blocks, .. } = self.sizes;
        let size = int(path.loaded);
        self.loaded.enter(b);
        let from = (plane.clone() * int(all) - origin.clone() + cell.clone()) * size;
        let to = self.loaded.at(if self.wide.is_none() { self.front() } else { 0 });
        if in_blocks {
            let end = from.clone() + cells.clone() * size;
            let high = if self.sizes.between_blocks() { b.round_up("up", end, BLOCK_BYTES) } else { end };
            load_within(b, to, self.source, [&from, &high]);
        } else {
            b.load(to, self.source.at(from), Burst::of(cells.clone() * size), None);
        }
        self.loaded.pass(b, 0);
        if let (Some(wide), Some(element)) = (self.wide, path.widened) {
            cast(b, (wide.at(self.front()), Element::F16), (self.loaded.at(0), element), cells.clone());
        }
    }

    /// Gives the slot back.
    pub(super) fn leave(&self, b: &mut Builder) {
        self.loaded.leave(b);
    }

    /// Where the table begins.
    pub(super) fn at(&self) -> Local {
        self.wide.map_or_else(|| self.loaded.at(0), |wide| wide.at(0))
    }

    /// Bytes in front of the cells.
    pub(super) fn front(&self) -> i64 {
        if self.sizes.is_sliced() { int(BLOCK_BYTES) } else { 0 }
    }

    fn guards(sizes: &Sizes) -> usize {
        if sizes.is_sliced() { 2 * BLOCK_BYTES } else { 0 }
    }

    fn loaded_bytes(sizes: &Sizes) -> usize {
        let guards = if sizes.path.widened.is_some() { 0 } else { Self::guards(sizes) };
        blocks(Self::held(sizes) * sizes.path.loaded) + guards
    }

    fn wide_bytes(sizes: &Sizes) -> usize {
        blocks(Self::held(sizes) * sizes.path.in_table()) + Self::guards(sizes)
    }

    /// Cells of a slice, or of a plane and of what is in front of it in its first block.
    fn held(sizes: &Sizes) -> usize {
        let whole = sizes.between_blocks() && !sizes.is_sliced();
        sizes.cells + if whole { BLOCK_BYTES / sizes.path.loaded - 1 } else { 0 }
    }
}
