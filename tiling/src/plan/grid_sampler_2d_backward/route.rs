//! Which route a problem takes, and how many shares.

use core::num::NonZeroUsize;

use super::{CHANNEL_BLOCK, CHUNK, Copies, Plan, Runs, ceil_div};
use crate::grid_sampler_2d_backward::Interpolation;
use crate::plan::shares::{buffer_bytes, largest};
use crate::plan::{Bound, Choice, Larger, cores};
use crate::{Dtype, PlanError, Tensor};

/// Whether this build has the routes that only machines with vectors take: all but [`Route::Direct`].
pub(super) const VECTOR_ROUTES: bool = cfg!(feature = "channels-last");

/// Whether this build plans for dtypes whose sums are of another one.
pub(super) const HALVES: bool = cfg!(feature = "halves");

/// Whether sums of that dtype are of another one.
pub(super) const fn is_half(dtype: Dtype) -> bool {
    matches!(dtype, Dtype::F16 | Dtype::Bf16)
}

/// How a plan computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// Nothing to compute: the outputs become zeros.
    Zero,
    /// In place, images to shares. `input_grad` is made in passes over the grid, each for a window of it.
    Direct(Window),
    /// Points side by side, images to shares, or some channels of an image: for few channels, and for more of the nearest
    /// interpolation.
    PointLanes,
    /// Points side by side, bands of rows to shares, whole images before.
    PointBands,
    /// Channels last, images to shares; where that is [faster](Plan::suits_smooth_lanes) the kernels take points side by side for images
    /// whose points lie as the pixels do.
    Images,
    /// Channels last, blocks of 64 channels to shares.
    Blocks,
    /// Channels last, some channels of an image to shares, whole images before; at most one block of channels.
    Channels,
    /// Channels last, bands of rows to shares, whole images before.
    Bands,
}

/// What a pass of the direct route adds up of `input_grad`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Channels; more than one only with all rows and columns.
    pub channels: usize,
    /// Rows; more than one only with all columns.
    pub rows: usize,
    /// Columns.
    pub columns: usize,
}

/// Sums that the kernels keep on the stack when there is no room for more.
const STACK_SUMS: usize = 64;

impl Window {
    /// Sums in it.
    #[must_use]
    pub const fn sums(&self) -> usize {
        self.channels.saturating_mul(self.rows).saturating_mul(self.columns)
    }
}

impl Plan {
    /// Chooses the route and its shares.
    pub(super) fn choose(&mut self) {
        let images = self.image_shares();
        // Without vectors, staging would only cost.
        if VECTOR_ROUTES && self.common.target.vector_bytes >= 16 {
            let (lanes, if_smooth) = (self.suits_point_lanes(), self.suits_smooth_lanes());
            // A share of an image that is cut finds the points of its rows sooner with points side by side.
            if self.cut_images(images, lanes || if_smooth && images < self.common.target.cores) {
                return;
            }
            if !lanes && self.fits_limit(Route::Images, images, 0) {
                return;
            }
            let route = if lanes || if_smooth { Route::PointLanes } else { Route::Images };
            if (1..=images).rev().any(|n| self.fits_limit(route, n, 0)) {
                return;
            }
        }
        let window = self.window(images);
        (self.route, self.common.block_dim, self.cut) = (Route::Direct(window), images, 0);
    }

    /// Whether points side by side are possible and faster than channels side by side.
    fn suits_point_lanes(&self) -> bool {
        /// Bytes of planes that the caches next to a core hold. Beyond, a pixel of four channels had better be one piece.
        const NEAR: usize = 1 << 20;
        /// Bytes beyond which that holds for three channels of F64, too.
        const FAR: usize = 16 << 20;
        /// The same of three channels that are widened, and staged either way.
        const WIDENED: usize = 4 << 20;
        let p = &self.problem;
        let planes = self.plane_bytes().saturating_mul(p.c.saturating_mul(2));
        // Four channels of F64 are a vector, whose pixels are computed with as they are loaded.
        let doubles = p.dtype == Dtype::F64 && p.interpolation == Interpolation::Bilinear;
        // Each point adds to one pixel of a plane, and no image is read: many planes one after the other are as fast.
        let nearest = p.interpolation == Interpolation::Nearest;
        let many = match p.dtype {
            Dtype::F64 => 64,
            Dtype::F32 => 16,
            _ => 8,
        };
        let packed = p.grad_output_strides[3] == 1 && p.input_grad_strides[3] == 1;
        let few = match p.c {
            ..=2 => true,
            3 if doubles => planes <= FAR,
            3 if self.sums_apart() => nearest || planes <= WIDENED,
            3 => true,
            4 if !nearest => !doubles && planes <= NEAR,
            c => nearest && c <= many && packed && self.plane_bytes() <= NEAR,
        };
        few && self.allows_point_lanes()
    }

    /// Whether points side by side are possible.
    fn allows_point_lanes(&self) -> bool {
        /// Pixels that f32 counts exactly.
        const COUNTABLE: usize = 1 << 24;
        let p = &self.problem;
        p.interpolation != Interpolation::Bicubic && p.hi >= 2 && p.wi >= 2 && self.pixels() <= COUNTABLE
    }

    /// Whether points side by side are faster than channels side by side where points lie as the pixels do, though not where they lie
    /// anywhere in a large image: up to four channels whose planes are walked where they lie, and three that are widened first.
    #[must_use]
    pub fn suits_smooth_lanes(&self) -> bool {
        let p = &self.problem;
        let most = if self.sums_apart() {
            3
        } else if self.stages_input() || self.stages_input_grad() {
            0
        } else {
            Runs::MOST
        };
        p.c <= most && p.interpolation == Interpolation::Bilinear && self.allows_point_lanes()
    }

    /// Bytes of the sums of a plane.
    fn plane_bytes(&self) -> usize {
        self.pixels().saturating_mul(self.sums_dtype().size())
    }

    /// Planes of an image that the route with points side by side adds to at a time. The nearest interpolation, whose points are
    /// found soon, works on as many as a cache next to the core holds.
    #[must_use]
    pub fn planes_at_once(&self) -> usize {
        /// Bytes.
        const NEAR: usize = 1 << 20;
        let fit = NEAR / NonZeroUsize::new(self.plane_bytes()).unwrap_or(NonZeroUsize::MIN);
        let all = self.problem.c;
        if self.problem.interpolation == Interpolation::Nearest { all.min((fit & !1).max(8)) } else { all }
    }

    /// Whether the routes with points side by side work on a copy of `input`: they read it, and its planes have gaps or need widening.
    #[must_use]
    pub fn stages_input(&self) -> bool {
        let packed = self.copies.has(Tensor::Input) || self.packed(self.problem.input_strides);
        self.reads_input() && (self.sums_apart() || !packed)
    }

    /// Whether that route adds up `input_grad` in a copy.
    #[must_use]
    pub fn stages_input_grad(&self) -> bool {
        self.sums_apart() || !self.packed(self.problem.input_grad_strides)
    }

    /// Whether planes have no gaps.
    fn packed(&self, [_, _, row, column]: [usize; 4]) -> bool {
        column == 1 && row == self.problem.wi
    }

    /// Shares of whole images.
    fn image_shares(&self) -> usize {
        let cores = self.common.target.cores;
        self.input_grad_units(1).shares(cores).min(self.grid_grad_units(1).shares(cores)).get()
    }

    /// Takes a route, and says whether the limit lets it: in place, as a plan is too large to be tried on copies.
    pub(super) fn fits_limit(&mut self, route: Route, shares: usize, cut: usize) -> bool {
        (self.route, self.common.block_dim, self.cut) = (route, shares, cut);
        let limit = if self.has_few_points() { 0 } else { self.common.options.workspace_limit.unwrap_or(usize::MAX) };
        self.least_bytes().is_some_and(|bytes| bytes <= limit)
    }

    /// Whether there are so few points that to find the pixels of each where they lie takes less than to stage the image, which reads
    /// and writes all of them. Not where sums are made apart, in a window of the image, anyway.
    pub(super) fn has_few_points(&self) -> bool {
        /// Pixels staged while a core of a host finds the four, or one, of a point.
        const FOUR: usize = 64;
        /// While it finds sixteen, or widens them.
        const SIXTEEN: usize = 256;
        let p = &self.problem;
        if !VECTOR_ROUTES || !self.common.target.capabilities.caches || self.sums_apart() && p.want_input_grad {
            return false;
        }
        let pixels = if self.sums_apart() || p.interpolation == Interpolation::Bicubic { SIXTEEN } else { FOUR };
        // All cores stage an image, of which one finds the points.
        let cores = ceil_div(self.common.target.cores, p.n);
        self.points().saturating_mul(pixels).saturating_mul(cores) <= self.pixels()
    }

    /// The largest window that the limit leaves each share; all of an image where sums can be made in place.
    fn window(&mut self, shares: usize) -> Window {
        let (c, hi, wi) = (self.problem.c, self.problem.hi, self.problem.wi);
        let whole = Window { channels: c, rows: hi, columns: wi };
        if !self.problem.want_input_grad || !self.sums_apart() {
            return whole;
        }
        let mut fits = |window: Window| self.fits_limit(Route::Direct(window), shares, 0);
        let plane = Window { channels: 1, ..whole };
        let line = Window { rows: 1, ..plane };
        // The smallest windows fit the stack.
        if let Some(channels) = largest_that(c, |channels| fits(Window { channels, ..whole })) {
            Window { channels, ..whole }
        } else if let Some(rows) = largest_that(hi, |rows| fits(Window { rows, ..plane })) {
            Window { rows, ..plane }
        } else {
            let columns = largest_that(wi, |columns| fits(Window { columns, ..line })).unwrap_or(1);
            Window { columns, ..line }
        }
    }

    /// Bytes of the sums of a window; 0 where they are made in place or fit the stack.
    pub(super) fn window_bytes(&self, window: Window) -> Option<usize> {
        if !self.problem.want_input_grad || !self.sums_apart() || window.sums() <= STACK_SUMS {
            return Some(0);
        }
        window.channels.checked_mul(window.rows)?.checked_mul(window.columns)?.checked_mul(self.sums_dtype().size())
    }

    /// Passes over the grid that an image takes.
    pub(super) fn passes(&self, window: Window) -> usize {
        let p = &self.problem;
        if !p.want_input_grad {
            return 1;
        }
        let pairs = [(p.c, window.channels), (p.hi, window.rows), (p.wi, window.columns)];
        pairs.iter().fold(1, |n, &(all, part)| n.saturating_mul(ceil_div(all, part)))
    }

    /// Why there are so many shares.
    pub(super) fn block_dim_choice(&self) -> Choice {
        if self.problem.early_success().is_some() {
            return cores::block_dim(self.common.target.cores, |_| self.common.block_dim);
        }
        // Copies that this route pays for are none that another one takes.
        let routed = |cores: usize, limit: Option<usize>| {
            let mut plan = Self { copies: Copies::NONE, ..*self };
            (plan.common.target.cores, plan.common.options.workspace_limit) = (cores, limit);
            plan.choose();
            plan
        };
        let (cores, limit) = (self.common.target.cores, self.common.options.workspace_limit);
        let choice = cores::block_dim(cores, |cores| routed(cores, limit).common.block_dim);
        let Some(limit) = limit else { return choice };
        let bound = Bound::WorkspaceLimit;
        let larger = |value: usize, mut unlimited: Self| {
            let needs = unlimited.least_bytes().unwrap_or(usize::MAX);
            Larger { value, bound, limit, needs }
        };
        if choice.value == cores {
            // More cores alone are no help where the limit leaves no room for what they would do.
            let unlimited = cores::block_dim(cores, |cores| routed(cores, None).common.block_dim).larger;
            if choice.larger.bound == Bound::Work && unlimited.bound != Bound::Work {
                return Choice { larger: larger(unlimited.value, routed(unlimited.needs, None)), ..choice };
            }
            return choice;
        }
        let unlimited = routed(cores, None);
        let value = unlimited.common.block_dim;
        if value <= choice.value {
            return choice;
        }
        Choice { bound, limit, used: self.common.workspace.bytes(), larger: larger(value, unlimited), ..choice }
    }

    /// Bytes of a tile's boxes: `grid`, `grad_output`, `grid_grad`, and the sums over channels.
    pub(super) fn tile_bytes(&self, points: usize) -> Option<usize> {
        let (block, size) = (self.common.target.block_bytes, self.problem.dtype.size());
        let channels = self.problem.c.min(CHANNEL_BLOCK.get());
        let pairs = points.checked_mul(2)?;
        let grad_output = self.common.row_bytes(points, size)?.checked_mul(channels)?;
        let sums = if self.blocks().get() > 1 { buffer_bytes(pairs, self.sums_dtype().size(), block)? } else { 0 };
        self.common.row_bytes(pairs, size)?.checked_mul(2)?.checked_add(grad_output)?.checked_add(sums)
    }

    /// Points of the largest tile, whole chunks if it holds one.
    pub(super) fn largest_tile(&self) -> Result<usize, PlanError> {
        let budget = self.common.target.local_bytes;
        let Some(points) = largest(self.points(), budget, |points| self.tile_bytes(points)) else {
            let want = self.tile_bytes(1).ok_or(PlanError::TooLarge)?;
            return Err(PlanError::LocalBytes { got: budget, want });
        };
        let chunks = points / CHUNK;
        Ok(if points < self.points() && chunks > 0 { chunks * CHUNK } else { points })
    }

    /// Whether sums of `input_grad` need another type than it has.
    #[must_use]
    pub fn sums_apart(&self) -> bool {
        HALVES && is_half(self.problem.dtype)
    }
}

/// The largest `n` of `1..=most` that fits, where all below one that fits do too.
fn largest_that(most: usize, mut fits: impl FnMut(usize) -> bool) -> Option<usize> {
    largest(most, 0, |n| Some(usize::from(!fits(n))))
}
