//! How large runs and slices are.

use ubtile_tiling::max_unpool2d_backward::Plan;

use super::carry::Carry;
use super::gather::Gather;
use super::path::{Path, Way};
use super::table::Table;
use crate::lower::room::Room;
use crate::lower::shape::{BLOCK_BYTES, blocks, largest};
use crate::lower::{LowerError, element};
use crate::product::Element;
use crate::program::size_of;

/// Most elements of a run: behind some thousands, more of them save nothing, and several planes pass through the UB side by side.
pub(super) const MOST_ELEMENTS: usize = 4096;

/// Sizes, and what follows from them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub(super) path: Path,
    /// Of an index.
    pub(super) index: Element,
    /// Elements of a plane, of a run with those in front of the plane, and of a slice.
    pub(super) plane: usize,
    pub(super) elements: usize,
    pub(super) cells: usize,
    /// Cells of a plane.
    pub(super) all: usize,
    /// Slots of the table.
    pub(super) tables: u32,
    /// Whether copies take whole blocks alone.
    pub(super) in_blocks: bool,
    /// Whether an instruction gathers.
    pub(super) gathers: bool,
}

impl Sizes {
    /// The largest that fit.
    pub(super) fn new(plan: &Plan, room: Room) -> Result<Self, LowerError> {
        let problem = plan.problem();
        let (plane, all) = (problem.h * problem.w, problem.out_h * problem.out_w);
        let path = Path::new(problem.dtype, problem.out_dtype)?;
        let index = element(problem.index_dtype)?;
        let (in_blocks, gathers) = (room.scratch.is_some(), room.gathers);
        let cells = all.min(room.most.cells);
        let sizes = Self { path, index, plane, elements: plane, cells, all, tables: 2, in_blocks, gathers };
        let unit = sizes.unit();
        // A run that has all of a plane is not kept small, whatever is in front of the plane.
        let asked = if room.most.elements >= plane { usize::MAX } else { room.most.elements };
        let most = (plane + if sizes.carries() { unit - 1 } else { 0 }).div_ceil(unit);
        let elements = most.min(asked.min(MOST_ELEMENTS) / unit).max(1) * unit;
        fit(Self { elements, ..sizes }, room.local_bytes)
    }

    pub(super) fn is_sliced(&self) -> bool {
        self.cells < self.all
    }

    /// Elements whose indices and whose results are whole blocks, where copies take these alone.
    pub(super) fn unit(&self) -> usize {
        if self.in_blocks { BLOCK_BYTES / self.path.stored.min(self.index_size()) } else { 1 }
    }

    /// Whether planes of indices and results begin within such a unit.
    pub(super) fn carries(&self) -> bool {
        !self.plane.is_multiple_of(self.unit())
    }

    /// Whether planes of `grad_output` begin within blocks, where copies do not.
    pub(super) fn between_blocks(&self) -> bool {
        self.in_blocks && !(self.all * self.path.loaded).is_multiple_of(BLOCK_BYTES)
    }

    pub(super) fn index_size(&self) -> usize {
        size_of(self.index) as usize
    }

    pub(super) fn index_bytes(&self) -> usize {
        blocks(self.elements * self.index_size())
    }

    /// Bytes of a run's elements as they are picked.
    pub(super) fn taken_bytes(&self) -> usize {
        blocks(self.elements * self.path.taken())
    }

    pub(super) fn out_bytes(&self) -> usize {
        blocks(self.elements * self.path.stored)
    }

    pub(super) fn bytes(&self) -> usize {
        let gather = if self.gathers { Gather::bytes(self) } else { 0 };
        let parts = gather + Way::bytes(&self.path, self.elements) + Carry::bytes(self);
        2 * self.index_bytes() + parts + 2 * self.out_bytes() + Table::bytes(self)
    }
}

/// The largest sizes that fit: a whole plane twice, once, or slices of it.
fn fit(sizes: Sizes, budget: usize) -> Result<Sizes, LowerError> {
    let unit = sizes.unit();
    let longest = |sizes: Sizes, budget: usize| {
        let bytes = |units| Sizes { elements: units * unit, ..sizes }.bytes();
        largest(sizes.elements / unit, budget, bytes).map(|units| units * unit)
    };
    for tables in [2, 1] {
        let whole = Sizes { tables, ..sizes };
        let least = Sizes { elements: sizes.elements.min(256), ..whole };
        if !sizes.is_sliced() && least.bytes() <= budget {
            return Ok(Sizes { elements: longest(whole, budget)?, ..whole });
        }
    }
    // A slice ends where a block does, so that the zero behind it is in a block of its own.
    let block = BLOCK_BYTES / sizes.path.loaded;
    let slices = (sizes.all.min(sizes.cells) / block).max(1).min((sizes.all - 1) / block);
    if slices == 0 {
        // A plane of a block at most is not cut.
        let smallest = Sizes { tables: 1, cells: sizes.all, ..sizes };
        return Ok(Sizes { elements: longest(smallest, budget)?, ..smallest });
    }
    let with = |elements: usize, blocks: usize| Sizes { elements, cells: blocks * block, tables: 2, ..sizes };
    let least = with(sizes.elements, 1);
    let elements = longest(least, budget / 2).or_else(|_| longest(least, budget))?;
    let cells = largest(slices, budget, |blocks| with(elements, blocks).bytes())?;
    Ok(with(elements, cells))
}
