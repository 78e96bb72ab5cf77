//! Native plan of ReplicationPad2dBackward: a tile is a box of the output with the box of `grad_output` that folds into it.
//!
//! Neighbouring output boxes read disjoint boxes of `grad_output`, so no cut reads anything twice, and there are no intermediates
//! but a copy of a `grad_output` whose columns do not lie side by side. A tile is as many whole planes as fit the local memory,
//! else rows, else columns of a row. Where the padding folded into a row is itself too much, its sums are made in parts: rows
//! ascending, and for a single cell that is still too much, columns ascending.

mod axis;
mod tiles;

use core::ops::Range;

use super::shares::{Units, at_least_1, buffer_bytes, largest, length};
use super::staging::{Copies, Staging, any_step};
use super::{Choice, Common, Phase, Price};
use crate::replication_pad2d_backward::Problem;
use crate::{Dtype, Operator, PlanError, PlanOptions, TargetSpec, Workspace};

pub use axis::Axis;

/// Columns are cut before sums are made in parts as long as this many blocks of a row stay together.
const LEAST_BLOCKS: usize = 8;

/// A native plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    problem: Problem,
    common: Common,
    copies: Copies,
    /// Whole planes of a tile; 0 where not even one fits.
    planes: usize,
    /// The most rows and columns of a tile of less than a plane.
    most: [usize; 2],
}

/// A box of planes of `grad_input`, and the box of `grad_output` that folds into it: all that does, or a part of it.
///
/// The local boxes are `[planes, rows, columns]` without gaps. A part leaves its sums behind for the next one, in the type
/// [`Plan::sums_dtype`]: first that of the cell, over the columns so far, then those of the columns of its source box, over the
/// rows so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tile {
    /// First plane, `n * C + c`, and one past the last. Several planes are whole ones.
    pub planes: [usize; 2],
    /// Rows of the output box.
    pub rows: [usize; 2],
    /// Columns of the output box.
    pub columns: [usize; 2],
    /// Rows of `grad_output`; none where all were cropped.
    pub source_rows: [usize; 2],
    /// Columns of `grad_output`.
    pub source_columns: [usize; 2],
    /// Whether the tile before this one began the same sums.
    pub accumulates: bool,
    /// Whether the output box is complete behind it, and written.
    pub last: bool,
    local_bytes: usize,
}

impl Tile {
    /// Bytes of its boxes and sums, each row of a box in whole blocks of the target.
    #[must_use]
    pub const fn local_bytes(&self) -> usize {
        self.local_bytes
    }

    /// Cells of the output box.
    #[must_use]
    pub const fn cells(&self) -> usize {
        length(self.planes).saturating_mul(length(self.rows).saturating_mul(length(self.columns)))
    }

    /// Cells of the source box.
    #[must_use]
    pub const fn input_cells(&self) -> usize {
        length(self.planes).saturating_mul(length(self.source_rows).saturating_mul(length(self.source_columns)))
    }

    /// Whether its sums are made in parts.
    #[must_use]
    pub const fn is_part(&self) -> bool {
        self.accumulates || !self.last
    }

    /// Cells that its sums take, in the compute type: none unless it is a part.
    #[must_use]
    pub const fn sums(&self) -> usize {
        if self.is_part() { length(self.source_columns).saturating_add(1) } else { 0 }
    }
}

/// Plans a problem.
///
/// # Errors
/// [`PlanError::LocalBytes`] when the local memory does not hold one cell and a part of its sum, [`PlanError::NotBuilt`]
/// where it needs a feature that the build left out, [`PlanError::TooLarge`] where sizes overflow.
pub fn plan(problem: &Problem, target: &TargetSpec, options: &PlanOptions) -> Result<Plan, PlanError> {
    let mut common = Common::new(target, options)?;
    let copies = common.choose_copies(|tensor| problem.slot(tensor), |slot| !problem.by_pixels() && any_step(slot));
    let mut plan = Plan { problem: *problem, common, copies, planes: 0, most: [usize::MAX; 2] };
    let budget = plan.common.target.local_bytes;
    let (whole, part) =
        (plan.whole([plan.rows(), plan.columns()].map(|a| a.most_sources()), [1, 1]), plan.part([1, 1], 1));
    let want = whole.into_iter().chain(part).min().ok_or(PlanError::TooLarge)?;
    if want > budget {
        return Err(PlanError::LocalBytes { got: budget, want });
    }
    if problem.early_success().is_none() {
        plan.common.block_dim = plan.units().shares(plan.common.target.cores).get();
        plan.planes = largest(problem.n.saturating_mul(problem.c), budget, |n| plan.planes_bytes(n)).unwrap_or(0);
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

    /// Its intermediates: a copy of `grad_output` where [that](Self::stagings) pays.
    #[must_use]
    pub const fn workspace(&self) -> &Workspace {
        &self.common.workspace
    }

    /// Bytes of workspace, with the slack to align it.
    #[must_use]
    pub fn workspace_bytes(&self) -> usize {
        self.common.workspace.bytes()
    }

    /// `stage_grad_output` where there is something to copy first, and `compute`; or `zero` where there are no images.
    pub fn phases(&self) -> impl Iterator<Item = Phase> + Clone + use<> {
        let (problem, shares) = (self.problem, self.common.block_dim);
        let compute = Phase { name: "compute", shares };
        let last = if problem.early_success().is_some() { Phase::ZERO } else { compute };
        self.copies.phases(move |tensor| problem.slot(tensor), shares).chain(core::iter::once(last))
    }

    /// The elements of `grad_input` from the first to one past the last that a share writes; nothing for a share that is not.
    #[must_use]
    pub fn share_range(&self, phase: usize, share: usize) -> Range<usize> {
        self.units().elements(&self.share_rows(phase, share))
    }

    /// The copy of `grad_output` that the first phase makes, if it does.
    pub fn stagings(&self) -> impl Iterator<Item = Staging> + '_ {
        self.copies.stagings(|tensor| self.problem.slot(tensor), &self.common.workspace, self.common.block_dim)
    }

    /// The same plan without a copy, for a `grad_output` that has no gaps: how the copy is computed on.
    #[must_use]
    pub fn on_copies(&self) -> Self {
        let contiguous = self.problem.without_gaps();
        let common = Common { workspace: Workspace::EMPTY, ..self.common };
        Self { problem: contiguous, common, copies: Copies::NONE, ..*self }
    }

    /// The tiles of a share, in order: planes, rows, columns, parts of the sums.
    pub fn tiles(&self, phase: usize, share: usize) -> impl Iterator<Item = Tile> + Clone + use<> {
        let Range { start, end } = self.share_rows(phase, share);
        tiles::Tiles::new(*self, start, end)
    }

    /// How rows of `grad_output` fold into rows of `grad_input`.
    #[must_use]
    pub fn rows(&self) -> Axis {
        Axis { size: self.problem.h, padded: self.problem.padded_h, before: self.problem.top }
    }

    /// How columns of `grad_output` fold into columns of `grad_input`.
    #[must_use]
    pub fn columns(&self) -> Axis {
        Axis { size: self.problem.w, padded: self.problem.padded_w, before: self.problem.left }
    }

    /// The type of the sums of a tile that is a part: F32 or F64, or C64 or C128 for complex tensors.
    #[must_use]
    pub fn sums_dtype(&self) -> Dtype {
        match self.problem.dtype {
            complex @ (Dtype::C64 | Dtype::C128) => complex,
            Dtype::F64 => Dtype::F64,
            _ => Dtype::F32,
        }
    }

    /// The same plan with a tile of another size, of those that [`choices`](Self::choices) name: whole planes, whole rows of a
    /// plane, or columns of a row, each at most as large.
    ///
    /// # Errors
    /// [`PlanError::Tile`] if it does not fit, [`PlanError::NoTile`] for another name.
    pub fn with_tile(mut self, name: &str, value: usize) -> Result<Self, PlanError> {
        const NAMES: [&str; 3] = [Plan::PLANES, Plan::ROWS, Plan::COLUMNS];
        let (height, width) = (self.problem.h, self.problem.w);
        match name {
            Self::PLANES => {
                let all = self.problem.n.saturating_mul(self.problem.c);
                self.planes = self.common.wanted_tile(Self::PLANES, value, all, |n| self.planes_bytes(n))?;
            }
            Self::ROWS => {
                let rows = self.common.wanted_tile(Self::ROWS, value, height, |n| self.inside([n, width]))?;
                (self.most, self.planes) = ([rows, usize::MAX], 0);
            }
            Self::COLUMNS => {
                let columns = self.common.wanted_tile(Self::COLUMNS, value, width, |n| self.inside([1, n]))?;
                (self.most, self.planes) = ([1, columns], 0);
            }
            _ => return Err(PlanError::NoTile { operator: Operator::ReplicationPad2dBackward, names: &NAMES }),
        }
        Ok(self)
    }

    /// Names of the sizes of tiles.
    const PLANES: &str = "tile_planes";
    const ROWS: &str = "tile_rows";
    const COLUMNS: &str = "tile_columns";

    /// Bytes of a tile of so many rows and columns inside the image, where nothing is folded.
    fn inside(&self, size: [usize; 2]) -> Option<usize> {
        self.whole(size, size)
    }

    /// The size of its largest tile inside the image, where nothing is folded, by name: whole planes, whole rows of a plane, or
    /// columns of a row.
    #[must_use]
    pub fn tile_sizes(&self) -> [(&'static str, usize); 1] {
        let (local, [height, width]) = (self.common.target.local_bytes, [self.problem.h, self.problem.w]);
        let [most_rows, most_columns] = self.most;
        let uncut = if most_columns < usize::MAX { 0 } else { height.min(most_rows) };
        [if self.planes > 0 {
            (Self::PLANES, self.planes)
        } else if let Some(rows) = largest(uncut, local, |rows| self.inside([rows, width])) {
            (Self::ROWS, rows)
        } else {
            let columns = largest(width.min(most_columns), local, |columns| self.inside([1, columns]));
            (Self::COLUMNS, columns.unwrap_or(1))
        }]
    }

    /// Why it is what it is.
    pub fn choices(&self) -> impl Iterator<Item = Choice> + use<> {
        let (problem, common) = (&self.problem, &self.common);
        let [size] = self.tile_sizes();
        let tile = match size.0 {
            Self::PLANES => common.tile_choice(size, problem.n.saturating_mul(problem.c), |n| self.planes_bytes(n)),
            Self::ROWS => common.tile_choice(size, problem.h, |rows| self.inside([rows, problem.w])),
            _ => common.tile_choice(size, problem.w, |columns| self.inside([1, columns])),
        };
        [common.block_dim_choice(&self.units(), problem.early_success().is_some()), tile].into_iter()
    }

    /// What a workspace limit costs: a `grad_output` whose columns lie far apart is read as it is.
    pub fn prices(&self) -> impl Iterator<Item = Price> + use<> {
        self.copies.price().into_iter()
    }

    fn units(&self) -> Units {
        let shape = [self.problem.n, self.problem.c, self.problem.h, self.problem.w];
        let block = self.common.copy_elements(self.problem.dtype.size());
        Units::new(shape, self.problem.grad_input_strides, 3).in_blocks(block)
    }

    /// Rows of `grad_input`, counted over all planes, that a share makes; nothing for a share that is not.
    #[must_use]
    pub fn share_rows(&self, phase: usize, share: usize) -> Range<usize> {
        let shares = at_least_1(self.common.block_dim);
        if phase != self.copies.count() || share >= shares.get() {
            return 0..0;
        }
        self.units().share(shares, share)
    }

    /// Bytes of a box of so many rows and columns.
    fn box_bytes(&self, [rows, columns]: [usize; 2]) -> Option<usize> {
        rows.checked_mul(self.common.row_bytes(columns, self.problem.dtype.size())?)
    }

    /// Bytes of a tile of a plane that reads all that folds into it.
    fn whole(&self, source: [usize; 2], out: [usize; 2]) -> Option<usize> {
        self.box_bytes(source)?.checked_add(self.box_bytes(out)?)
    }

    /// Bytes of a tile of whole planes.
    fn planes_bytes(&self, planes: usize) -> Option<usize> {
        let (rows, columns) = (self.rows(), self.columns());
        self.whole([rows.padded, columns.padded], [rows.size, columns.size])?.checked_mul(planes)
    }

    /// Bytes of a tile of a row that leaves sums behind.
    fn part(&self, source: [usize; 2], columns: usize) -> Option<usize> {
        let [_, sums] = source;
        let block = self.common.target.block_bytes;
        let sums = buffer_bytes(sums.checked_add(1)?, self.sums_dtype().size(), block)?;
        self.whole(source, [1, columns])?.checked_add(sums)
    }

    /// The largest box whose first cell is (`row`, `column`), and how much of its sources one tile reads.
    fn group(&self, row: usize, column: usize, rows_left: usize) -> Group {
        let budget = self.common.target.local_bytes;
        let sources = |rows: usize, columns: usize| {
            [
                length(self.rows().sources_of([row, row.saturating_add(rows)])),
                length(self.columns().sources_of([column, column.saturating_add(columns)])),
            ]
        };
        let whole = |rows, columns| self.whole(sources(rows, columns), [rows, columns]);
        let [most_rows, most_columns] = self.most;
        let rows_left = rows_left.min(most_rows);
        let columns_left = self.problem.w.saturating_sub(column).min(most_columns);

        if columns_left == self.problem.w
            && let Some(rows) = largest(rows_left, budget, |rows| whole(rows, columns_left))
        {
            return Group { rows, columns: columns_left, part: sources(rows, columns_left) };
        }
        let in_parts = |columns| {
            self.part([1, length(self.columns().sources_of([column, column.saturating_add(columns)]))], columns)
        };
        let uncut = largest(columns_left, budget, |columns| whole(1, columns));
        let cut = largest(columns_left, budget, in_parts);
        let least = self.common.target.block_bytes.saturating_mul(LEAST_BLOCKS) / self.problem.dtype.size().max(1);
        match (uncut, cut) {
            (Some(columns), cut) if columns >= cut.unwrap_or(0).min(least) => {
                Group { rows: 1, columns, part: sources(1, columns) }
            }
            (_, Some(columns)) => {
                let [most, width] = sources(1, columns);
                let rows = largest(most, budget, |rows| self.part([rows, width], columns)).unwrap_or(1);
                Group { rows: 1, columns, part: [rows, width] }
            }
            _ => {
                let [_, width] = sources(1, 1);
                let columns = largest(width, budget, |columns| self.part([1, columns], 1)).unwrap_or(1);
                Group { rows: 1, columns: 1, part: [1, columns] }
            }
        }
    }
}

/// A box of a plane and the rows and columns of its sources that one tile reads.
struct Group {
    rows: usize,
    columns: usize,
    part: [usize; 2],
}
