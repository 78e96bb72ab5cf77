//! A plane of `grad_output`, or a slice of it, as the gather instruction reads it.
//!
//! Where copies take whole blocks alone, a plane comes as the blocks that it lies in, and offsets count from the first of them.

use super::Sizes;
use crate::lower::builder::{Builder, int};
use crate::lower::ring::Ring;
use crate::lower::shape::{BLOCK_BYTES, blocks, cast, fill};
use crate::product::Element;
use crate::program::{BufferId, Burst, Expr, Granularity, Instruction, IntOp, Load, Local, Pipe, Relation, TensorId};

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

    /// Loads some cells of a plane. Gives how far offsets are from where they count.
    pub(super) fn load(&self, b: &mut Builder, plane: &Expr, (cell, cells): (&Expr, &Expr)) -> Expr {
        let Sizes { path, all, .. } = self.sizes;
        let size = int(path.loaded);
        self.loaded.enter(b);
        let from = (plane.clone() * int(all) + cell.clone()) * size;
        if self.sizes.comes_in_blocks() {
            let within = self.load_blocks(b, &from, &(from.clone() + cells.clone() * size));
            self.loaded.pass(b, 0);
            return within;
        }
        let front = if self.wide.is_none() { self.front() } else { 0 };
        b.load(self.loaded.at(front), self.source.at(from), Burst::of(cells.clone() * size), None);
        self.loaded.pass(b, 0);
        if let (Some(wide), Some(element)) = (self.wide, path.widened) {
            cast(b, (wide.at(self.front()), Element::F16), (self.loaded.at(0), element), cells.clone());
        }
        self.front().into()
    }

    /// Loads the blocks from one byte to before another. Gives where the first byte is in them.
    fn load_blocks(&self, b: &mut Builder, first: &Expr, end: &Expr) -> Expr {
        let block = int(BLOCK_BYTES);
        let within = b.op("within", IntOp::Mod, first.clone(), block);
        let low = first.clone() - within.clone();
        let high = b.round_up("up", end.clone(), BLOCK_BYTES);
        let load = |b: &mut Builder, high: &Expr| {
            b.emit(Instruction::Load(Load {
                to: self.loaded.at(0),
                from: self.source.at(low.clone()),
                burst: Burst::of(high.clone() - low.clone()),
                granularity: Granularity::Blocks,
                pad: None,
                bypass: false,
            }));
        };
        let bytes = b.source().tensors.get(usize::from(self.source.0)).map_or(0, |tensor| tensor.bytes());
        let whole = i64::try_from(bytes).unwrap_or(i64::MAX) / block * block;
        if bytes % BLOCK_BYTES as u64 == 0 {
            load(b, &high);
            return within;
        }
        // No block ends behind the tensor.
        let high = b.min("high", whole, high);
        b.when(low.clone(), Relation::Lt, high.clone(), |b| load(b, &high));
        b.when(end.clone(), Relation::Gt, whole, |b| {
            let to = self.loaded.at(Expr::from(whole) - low);
            b.load(to, self.source.at(whole), Burst::of(end.clone() - whole), None);
        });
        within
    }

    /// Gives the slot back.
    pub(super) fn leave(&self, b: &mut Builder) {
        self.loaded.leave(b);
    }

    /// What offsets count from.
    pub(super) fn at(&self) -> Local {
        self.wide.map_or_else(|| self.loaded.at(0), |wide| wide.at(0))
    }

    /// Bytes in front of the first cell.
    fn front(&self) -> i64 {
        if self.sizes.is_sliced() { int(BLOCK_BYTES) } else { 0 }
    }

    fn guards(sizes: &Sizes) -> usize {
        if sizes.is_sliced() { 2 * BLOCK_BYTES } else { 0 }
    }

    fn loaded_bytes(sizes: &Sizes) -> usize {
        let guards = if sizes.path.widened.is_some() { 0 } else { Self::guards(sizes) };
        let around = if sizes.comes_in_blocks() { BLOCK_BYTES } else { 0 };
        blocks(sizes.cells * sizes.path.loaded) + guards + around
    }

    fn wide_bytes(sizes: &Sizes) -> usize {
        blocks(sizes.cells * sizes.path.in_table()) + Self::guards(sizes)
    }
}
