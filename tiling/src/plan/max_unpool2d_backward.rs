//! Native plan of MaxUnpool2dBackward: a tile is a run of one output plane, with its indices and the plane they point into.
//!
//! An index may point anywhere in its plane, so a tile's local memory holds the whole plane of `grad_output` where that fits.
//! Where it does not, half of the memory is for the run and its indices and the other half for a slice of the plane: the run
//! meets each slice in turn and picks what lies there. The only intermediates are copies of inputs whose columns lie far apart.

mod tiles;

use core::ops::Range;

use self::tiles::Tiles;
use super::shares::{Units, at_least_1, ceil_div, largest, length};
use super::staging::{Copies, Staging, far_columns};
use super::{Choice, Common, Phase, Price};
use crate::max_unpool2d_backward::Problem;
use crate::{Operator, PlanError, PlanOptions, TargetSpec, Tensor, TensorSlot, Workspace};

/// Copies take as long as they save where there are more cells of `grad_output` for each that is picked.
const CELLS_A_PICK: usize = 8;

/// Copies of so many bytes are still in the caches when they are read; of larger ones each byte is moved three times instead of once.
const CACHED: usize = 12 << 20;

/// A plane of so many cells is more than its rows find in the caches one after the other, so that any copy pays.
const LARGE_PLANE: usize = 1 << 19;

/// Of larger numbers a cache line has so few that to pick from lines one by one is as fast.
const LARGEST: usize = 4;

/// A native plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    problem: Problem,
    common: Common,
    copies: Copies,
    /// The largest tile.
    size: Size,
}

/// Sizes of a run of the output and of the slice that its tile picks from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Size {
    elements: usize,
    cells: usize,
}

/// A run of one output plane, and the slice of the plane of `grad_output` that it picks from.
///
/// Its local boxes have no gaps: the slice, the indices of the run, and the run. An index outside of the slice belongs to
/// another tile of the same run; the first of them, which does not [accumulate](Self::accumulates), writes 0 there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tile {
    /// The plane, `n * C + c`.
    pub plane: usize,
    /// First element of the run and one past the last, in the plane's `H * W`.
    pub elements: [usize; 2],
    /// First cell of the slice and one past the last, in the plane's `oH * oW`.
    pub cells: [usize; 2],
    /// Whether the tile before this one made the same run from an earlier slice.
    pub accumulates: bool,
    /// Whether the run is complete behind it.
    pub last: bool,
    local_bytes: usize,
}

impl Tile {
    /// Bytes of its boxes, each in whole blocks of the target.
    #[must_use]
    pub const fn local_bytes(&self) -> usize {
        self.local_bytes
    }
}

/// Plans a problem.
///
/// # Errors
/// [`PlanError::LocalBytes`] when the local memory does not hold a block of each box, [`PlanError::NotBuilt`]
/// where it needs a feature that the build left out, [`PlanError::TooLarge`] where sizes overflow.
pub fn plan(problem: &Problem, target: &TargetSpec, options: &PlanOptions) -> Result<Plan, PlanError> {
    let common = Common::new(target, options)?;
    let mut plan = Plan { problem: *problem, common, copies: Copies::NONE, size: Size { elements: 1, cells: 1 } };
    plan.size = plan.largest_size()?;
    if plan.problem.early_success().is_none() {
        plan.common.block_dim = plan.units().shares(common.target.cores).get();
        let pay = !problem.by_pixels() && plan.copies_pay();
        let pays = |slot: &TensorSlot| pay && far_columns(slot);
        plan.copies = plan.common.choose_copies(|tensor| problem.slot(tensor), pays);
    }
    Ok(plan)
}

impl Plan {
    /// What it solves.
    #[must_use]
    pub const fn problem(&self) -> &Problem {
        &self.problem
    }

    /// What it is for, options applied.
    #[must_use]
    pub const fn target(&self) -> &TargetSpec {
        &self.common.target
    }

    /// Cores that it uses.
    #[must_use]
    pub const fn block_dim(&self) -> usize {
        self.common.block_dim
    }

    /// Its intermediates: copies of inputs where [they](Self::stagings) pay.
    #[must_use]
    pub const fn workspace(&self) -> &Workspace {
        &self.common.workspace
    }

    /// Bytes of workspace, with the slack to align it.
    #[must_use]
    pub fn workspace_bytes(&self) -> usize {
        self.common.workspace.bytes()
    }

    /// `stage_grad_output` and `stage_indices` where there is something to copy first, and `compute`; or `zero` where there is
    /// nothing to write.
    pub fn phases(&self) -> impl Iterator<Item = Phase> + Clone + use<> {
        let (problem, shares) = (self.problem, self.common.block_dim);
        let compute = Phase { name: "compute", shares };
        let last = if problem.early_success().is_some() { Phase::ZERO } else { compute };
        self.copies.phases(move |tensor| problem.slot(tensor), shares).chain(core::iter::once(last))
    }

    /// The copies of inputs that the first phases make, in their order, one a phase.
    pub fn stagings(&self) -> impl Iterator<Item = Staging> + '_ {
        self.copies.stagings(|tensor| self.problem.slot(tensor), &self.common.workspace, self.common.block_dim)
    }

    /// The same plan without copies, for inputs that are the copies: how they are computed on.
    #[must_use]
    pub fn on_copies(&self) -> Self {
        let [grad_output, indices] = [Tensor::GradOutput, Tensor::Indices].map(|tensor| self.copies.has(tensor));
        let problem = self.problem.without_gaps(grad_output, indices);
        let common = Common { workspace: Workspace::EMPTY, ..self.common };
        Self { problem, common, copies: Copies::NONE, ..*self }
    }

    /// The elements of `out` from the first to one past the last that a share writes; nothing for a share that is not.
    #[must_use]
    pub fn share_range(&self, phase: usize, share: usize) -> Range<usize> {
        self.units().elements(&self.share_elements(phase, share))
    }

    /// The tiles of a share, in order: planes, runs, slices.
    pub fn tiles(&self, phase: usize, share: usize) -> impl Iterator<Item = Tile> + Clone + use<> {
        let elements = self.share_elements(phase, share);
        Tiles::new(*self, elements.start, elements.end)
    }

    /// The same plan with a tile of another size, of those that [`choices`](Self::choices) name; the other one shrinks if it
    /// must.
    ///
    /// # Errors
    /// [`PlanError::Tile`] if it does not fit, [`PlanError::NoTile`] for another name.
    pub fn with_tile(mut self, name: &str, value: usize) -> Result<Self, PlanError> {
        const NAMES: [&str; 2] = ["tile_elements", "tile_cells"];
        let [of_elements, of_cells] = NAMES;
        let Size { elements, cells } = self.size;
        let (budget, bytes) = (self.common.target.local_bytes, |elements, cells| self.bytes(Size { elements, cells }));
        self.size = if name == of_elements {
            let elements = self.common.wanted_tile(of_elements, value, self.plane_size(), |n| bytes(n, 1))?;
            Size { elements, cells: largest(cells, budget, |n| bytes(elements, n)).unwrap_or(1) }
        } else if name == of_cells {
            let cells = self.common.wanted_tile(of_cells, value, self.cells(), |n| bytes(1, n))?;
            Size { elements: largest(elements, budget, |n| bytes(n, cells)).unwrap_or(1), cells }
        } else {
            return Err(PlanError::NoTile { operator: Operator::MaxUnpool2dBackward, names: &NAMES });
        };
        Ok(self)
    }

    /// Sizes of its largest tile, by name.
    #[must_use]
    pub const fn tile_sizes(&self) -> [(&'static str, usize); 2] {
        [("tile_elements", self.size.elements), ("tile_cells", self.size.cells)]
    }

    /// Why it is what it is.
    pub fn choices(&self) -> impl Iterator<Item = Choice> + use<> {
        let (size, common) = (self.size, &self.common);
        let [elements, cells] = self.tile_sizes();
        [
            common.block_dim_choice(&self.units(), self.problem.early_success().is_some()),
            common.tile_choice(elements, self.plane_size(), |elements| self.bytes(Size { elements, ..size })),
            common.tile_choice(cells, self.cells(), |cells| self.bytes(Size { cells, ..size })),
        ]
        .into_iter()
    }

    /// What a workspace limit costs: inputs whose columns lie far apart are read as they are.
    pub fn prices(&self) -> impl Iterator<Item = Price> + use<> {
        self.copies.price().into_iter()
    }

    fn units(&self) -> Units {
        let shape = [self.problem.n, self.problem.c, self.problem.h, self.problem.w];
        let smallest = self.problem.out_dtype.size().min(self.problem.index_dtype.size());
        let block = self.common.copy_elements(smallest);
        Units::new(shape, self.problem.out_strides, 4).in_blocks(block)
    }

    /// Elements of `out`, counted over `[N, C, H, W]`, that a share makes; nothing for a share that is not.
    #[must_use]
    pub fn share_elements(&self, phase: usize, share: usize) -> Range<usize> {
        let shares = at_least_1(self.common.block_dim);
        if phase != self.copies.count() || share >= shares.get() {
            return 0..0;
        }
        self.units().share(shares, share)
    }

    /// Whether copies save time where columns are far.
    fn copies_pay(&self) -> bool {
        let (size, cells, picks) = (self.problem.dtype.size(), self.cells(), self.plane_size());
        let of_indices = picks.saturating_mul(self.problem.index_dtype.size());
        let plane = cells.saturating_mul(size).saturating_add(of_indices);
        let bytes = plane.saturating_mul(self.problem.n.saturating_mul(self.problem.c));
        let near = bytes <= CACHED || cells >= LARGE_PLANE;
        size <= LARGEST && near && cells <= picks.saturating_mul(CELLS_A_PICK)
    }

    /// Elements of an output plane.
    fn plane_size(&self) -> usize {
        self.problem.h.saturating_mul(self.problem.w)
    }

    /// Cells of a plane of `grad_output`.
    fn cells(&self) -> usize {
        self.problem.out_h.saturating_mul(self.problem.out_w)
    }

    /// Bytes of the boxes of a tile.
    fn bytes(&self, Size { elements, cells }: Size) -> Option<usize> {
        let buffer = |n, size| self.common.row_bytes(n, size);
        let run = buffer(elements, self.problem.index_dtype.size())?
            .checked_add(buffer(elements, self.problem.out_dtype.size())?)?;
        run.checked_add(buffer(cells, self.problem.dtype.size())?)
    }

    /// The tile that fits the local memory and cuts a plane into the fewest: runs beside all cells, or as many bytes of either.
    fn largest_size(&self) -> Result<Size, PlanError> {
        let budget = self.common.target.local_bytes;
        let (plane_size, cells) = (self.plane_size().max(1), self.cells().max(1));
        let beside_all = largest(plane_size, budget, |elements| self.bytes(Size { elements, cells }))
            .map(|elements| Size { elements, cells });
        if let Some(size) = beside_all.filter(|size| size.elements == plane_size) {
            return Ok(size);
        }
        let elements = largest(plane_size, budget / 2, |elements| self.bytes(Size { elements, cells: 0 })).unwrap_or(1);
        let halves =
            largest(cells, budget, |cells| self.bytes(Size { elements, cells })).map(|cells| Size { elements, cells });
        let tiles = |size: &Size| {
            let runs = ceil_div(plane_size, at_least_1(size.elements));
            runs.saturating_mul(ceil_div(cells, at_least_1(size.cells)))
        };
        let Some(size) = beside_all.into_iter().chain(halves).min_by_key(tiles) else {
            let want = self.bytes(Size { elements: 1, cells: 1 }).ok_or(PlanError::TooLarge)?;
            return Err(PlanError::LocalBytes { got: budget, want });
        };
        Ok(size)
    }

    fn tile(&self, plane: usize, elements: [usize; 2], cells: [usize; 2]) -> Tile {
        let size = Size { elements: length(elements), cells: length(cells) };
        Tile {
            plane,
            elements,
            cells,
            accumulates: cells[0] > 0,
            last: cells[1] >= self.cells(),
            local_bytes: self.bytes(size).unwrap_or(usize::MAX),
        }
    }
}
