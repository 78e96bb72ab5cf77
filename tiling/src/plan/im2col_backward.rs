//! Native plan of Im2colBackward: a tile is a box of one output plane with every window cell that reaches it.
//!
//! Each element of `grad_output` is added exactly once, so no cut reads anything twice. The only intermediate is a copy of a
//! `grad_output` whose columns lie far apart. What must fit the local memory is the input box, as many cells for each tap (kernel
//! position) as the output box has, divided by the strides. A tile shrinks in rows, then in columns, and when the taps of a
//! single block of columns are too many, its sums are made in parts, kernel rows ascending and in a row columns ascending.

mod choices;
#[cfg(test)]
mod tests;
mod tiles;

use core::num::NonZeroUsize;
use core::ops::Range;

use self::tiles::Tiles;
use super::shares::{Units, at_least_1, buffer_bytes, ceil_div, largest, length};
use super::staging::{Copies, Staging, far_columns};
use super::{Common, Phase};
use crate::im2col_backward::Problem;
use crate::{Dtype, PlanError, PlanOptions, TargetSpec, Workspace};

/// A native plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    problem: Problem,
    common: Common,
    copies: Copies,
    /// The largest tile.
    size: Size,
}

/// Sizes of an output box and of the part of the kernel that is added to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Size {
    rows: usize,
    columns: usize,
    taps: [usize; 2],
}

/// A box of one plane of `out`, and the part of the kernel whose windows it adds up.
///
/// Its local input box is `[taps, A, B]` with [`windows`](Self::windows) = `[A, B]`, taps row-major, no gaps: cell `(r, s)` of
/// tap `(i, j)` is the window at [`Plan::first_window`] plus `(r, s)`, so the output cell `(y, x)` adds cell
/// `((y - rows.start) / sh, (x - columns.start) / sw)` of each tap that reaches it. Cells whose window lies outside
/// `[Lh, Lw]` are padding: whatever they hold is not used. The local output box is `[rows, columns]`, no gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tile {
    /// The plane, `n * C + c`.
    pub plane: usize,
    /// First row of the output box and one past the last.
    pub rows: [usize; 2],
    /// First column and one past the last.
    pub columns: [usize; 2],
    /// First and one past the last kernel row `i`, then kernel column `j`.
    pub taps: [[usize; 2]; 2],
    /// Rows and columns of each tap's input box.
    pub windows: [usize; 2],
    /// Whether the tile before this one began the same sums; else they begin at +0.0.
    pub accumulates: bool,
    /// Whether the sums are complete behind it.
    pub last: bool,
    local_bytes: usize,
}

impl Tile {
    /// Bytes of its boxes, each row of a box in whole blocks of the target; with the sums where they need a box of their own.
    #[must_use]
    pub const fn local_bytes(&self) -> usize {
        self.local_bytes
    }

    /// Cells of the output box.
    #[must_use]
    pub const fn cells(&self) -> usize {
        length(self.rows).saturating_mul(length(self.columns))
    }

    /// Cells of the input box.
    #[must_use]
    pub const fn input_cells(&self) -> usize {
        let ([i, j], [a, b]) = (self.taps, self.windows);
        length(i).saturating_mul(length(j)).saturating_mul(a.saturating_mul(b))
    }
}

/// Plans a problem.
///
/// # Errors
/// [`PlanError::LocalBytes`] when the local memory does not hold one block of an output row with one tap, [`PlanError::NotBuilt`]
/// where it needs a feature that the build left out, [`PlanError::TooLarge`] where sizes overflow.
pub fn plan(problem: &Problem, target: &TargetSpec, options: &PlanOptions) -> Result<Plan, PlanError> {
    let (common, size) = (Common::new(target, options)?, Size { rows: 1, columns: 1, taps: [0; 2] });
    let mut plan = Plan { problem: *problem, common, copies: Copies::NONE, size };
    plan.size = plan.largest_size()?;
    if plan.problem.early_success().is_none() {
        plan.copies =
            plan.common.choose_copies(|tensor| problem.slot(tensor), |slot| !problem.by_pixels() && far_columns(slot));
        plan.common.block_dim = plan.units().shares(plan.common.target.cores).get();
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

    /// `stage_grad_output` where there is something to copy first, and `compute`; or `zero` where no window has a position.
    pub fn phases(&self) -> impl Iterator<Item = Phase> + Clone + use<> {
        let (problem, shares) = (self.problem, self.common.block_dim);
        let compute = Phase { name: "compute", shares };
        let last = if problem.early_success().is_some() { Phase::ZERO } else { compute };
        self.copies.phases(move |tensor| problem.slot(tensor), shares).chain(core::iter::once(last))
    }

    /// The elements of `out` from the first to one past the last that a share writes; nothing for a share that is not.
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

    /// The tiles of a share, in order: planes, rows, columns, parts of the kernel.
    pub fn tiles(&self, phase: usize, share: usize) -> impl Iterator<Item = Tile> + Clone + use<> {
        let rows = self.share_rows(phase, share);
        Tiles::new(*self, rows.start, rows.end)
    }

    /// The window `(a, b)` of which the first cell of a tap's input box is a part; negative or beyond `[Lh, Lw]` in the padding.
    #[must_use]
    pub fn first_window(&self, tile: &Tile, tap: [usize; 2]) -> [isize; 2] {
        let ([ph, pw], [dh, dw], [sh, sw]) = (self.problem.padding, self.problem.dilation, self.problem.stride);
        let ([y, _], [x, _], [i, j]) = (tile.rows, tile.columns, tap);
        [first_at_or_behind(y, ph, i, dh, sh), first_at_or_behind(x, pw, j, dw, sw)]
    }

    /// All taps that are added, as [`Tile::taps`]: the whole kernel, or nothing where no window has a position.
    #[must_use]
    pub fn taps(&self) -> [[usize; 2]; 2] {
        if self.problem.early_success().is_some() { [[0, 0]; 2] } else { self.problem.kernel.map(|k| [0, k.get()]) }
    }

    /// The type of sums, and whether a tile of a cut kernel keeps them in a box of their own because `out` is of another type.
    #[must_use]
    pub fn sums(&self) -> (Dtype, bool) {
        self.sums_of(self.size.taps)
    }

    fn units(&self) -> Units {
        let shape = [self.problem.n, self.problem.c, self.problem.h, self.problem.w];
        let block = self.common.copy_elements(self.problem.out_dtype.size());
        Units::new(shape, self.problem.out_strides, 3).in_blocks(block)
    }

    /// Rows of `out`, counted over all planes, that a share makes; nothing for a share that is not.
    #[must_use]
    pub fn share_rows(&self, phase: usize, share: usize) -> Range<usize> {
        let shares = at_least_1(self.common.block_dim);
        // Rows without cells are none, however many there are.
        if phase != self.copies.count() || share >= shares.get() || self.problem.w == 0 {
            return 0..0;
        }
        self.units().share(shares, share)
    }

    /// What is cut into parts: the kernel, or one part with nothing in it.
    fn cut_taps(&self) -> [usize; 2] {
        self.taps().map(|taps| length(taps).max(1))
    }

    /// [`sums`](Self::sums) of tiles with so many taps.
    fn sums_of(&self, [ti, tj]: [usize; 2]) -> (Dtype, bool) {
        let sums = if self.problem.dtype == Dtype::F64 { Dtype::F64 } else { Dtype::F32 };
        let [kh, kw] = self.cut_taps();
        (sums, (ti < kh || tj < kw) && self.problem.out_dtype != sums)
    }

    /// Rows and columns of a tap's input box.
    fn windows(&self, rows: usize, columns: usize) -> [usize; 2] {
        if self.problem.early_success().is_some() {
            return [0, 0];
        }
        let [sh, sw] = self.problem.stride;
        [ceil_div(rows, sh), ceil_div(columns, sw)]
    }

    /// Bytes of the boxes of a tile.
    fn bytes(&self, Size { rows, columns, taps }: Size) -> Option<usize> {
        let block = self.common.target.block_bytes;
        let [a, b] = self.windows(rows, columns);
        let [ti, tj] = taps;
        let input =
            ti.checked_mul(tj)?.checked_mul(a)?.checked_mul(self.common.row_bytes(b, self.problem.dtype.size())?)?;
        let out = rows.checked_mul(self.common.row_bytes(columns, self.problem.out_dtype.size())?)?;
        let (sums, apart) = self.sums_of(taps);
        let sums = if apart { rows.checked_mul(buffer_bytes(columns, sums.size(), block)?)? } else { 0 };
        input.checked_add(out)?.checked_add(sums)
    }

    /// The largest tile that fits the local memory.
    fn largest_size(&self) -> Result<Size, PlanError> {
        let (budget, [kh, kw]) = (self.common.target.local_bytes, self.cut_taps());
        let (height, width) = (self.problem.h.max(1), self.problem.w.max(1));
        let whole = Size { rows: 1, columns: width, taps: [kh, kw] };
        if let Some(rows) = largest(height, budget, |rows| self.bytes(Size { rows, ..whole })) {
            return Ok(Size { rows, ..whole });
        }
        if let Some(columns) = largest(width, budget, |columns| self.bytes(Size { columns, ..whole })) {
            return Ok(Size { columns, ..whole });
        }
        // Not even one column with all taps: as many kernel rows as fit, else a part of one, then again columns.
        let one = Size { columns: 1, ..whole };
        let taps = if let Some(ti) = largest(kh, budget, |ti| self.bytes(Size { taps: [ti, kw], ..one })) {
            [ti, kw]
        } else if let Some(tj) = largest(kw, budget, |tj| self.bytes(Size { taps: [1, tj], ..one })) {
            [1, tj]
        } else {
            // A cut kernel may need its sums apart, so two taps together can take less than one by itself.
            let least = [self.bytes(Size { taps: [1, 1], ..one }), self.bytes(one)];
            let want = least.into_iter().flatten().min().ok_or(PlanError::TooLarge)?;
            return Err(PlanError::LocalBytes { got: budget, want });
        };
        let columns = largest(width, budget, |columns| self.bytes(Size { columns, taps, ..one })).unwrap_or(1);
        Ok(Size { columns, taps, ..one })
    }

    fn tile(&self, plane: usize, rows: [usize; 2], columns: [usize; 2], taps: [[usize; 2]; 2]) -> Tile {
        let [[i0, i1], [j0, j1]] = taps;
        let size = Size { rows: length(rows), columns: length(columns), taps: taps.map(length) };
        let [i_all, j_all] = self.taps();
        Tile {
            plane,
            rows,
            columns,
            taps: [[i0, i1.min(i_all[1])], [j0, j1.min(j_all[1])]],
            windows: self.windows(size.rows, size.columns),
            accumulates: i0 > 0 || j0 > 0,
            last: i1 >= i_all[1] && j1 >= j_all[1],
            local_bytes: self.bytes(size).unwrap_or(usize::MAX),
        }
    }
}

/// The first position along an axis whose tap lies at the output cell `at` or behind it: the ceiling of
/// (`at` + `padding` - `tap` * `dilation`) / `stride`.
fn first_at_or_behind(at: usize, padding: usize, tap: usize, dilation: NonZeroUsize, stride: NonZeroUsize) -> isize {
    // The check keeps both below `isize::MAX` where a window has positions.
    let (at, tap) = (at.saturating_add(padding), tap.saturating_mul(dilation.get()));
    if at >= tap {
        isize::try_from(ceil_div(at - tap, stride)).unwrap_or(isize::MAX)
    } else {
        isize::try_from((tap - at) / stride).map_or(isize::MIN, isize::wrapping_neg)
    }
}
