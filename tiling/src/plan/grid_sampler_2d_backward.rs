//! Native plan of GridSampler2DBackward: which route, how it is cut, and what it keeps.
//!
//! A point touches pixels anywhere in its image, so a tile is a run of points with some channels; the image and its gradient
//! stay where they are. *Channels last* stages an image (64 channels of it at most) so that a pixel's channels lie side by side
//! and adds up `input_grad` in the same layout. *Direct* walks the planes in place and needs no workspace, except that sums of
//! F16 and BF16 need room in F32: with less than a whole image of it the grid is passed over several times.
//!
//! Shares are runs of images. Fewer images than cores are cut into blocks of 64 channels, whose parts of `grid_grad` a second
//! phase adds; a single block is cut into runs of channels of `input_grad` and runs of points of `grid_grad`, or it and few channels
//! with points side by side into bands of rows of `input_grad` and as many runs of points. So are images that are left over where
//! each core has as many whole ones, which come first. Where copies take whole blocks and points do not begin with one, they have a
//! phase of their own, in which shares own runs of whole blocks of the points of all images.
//!
//! A `grad_output` or `input` whose columns lie far apart is copied without gaps first, in a phase of its own.

mod copies;
mod cut;
mod layout;
mod route;
#[cfg(test)]
mod tests;
mod tiles;
mod work;

use core::num::NonZeroUsize;

use super::staging::Copies;
use super::{Bound, Choice, Common, Phase, Price, one_more, split};
use crate::grid_sampler_2d_backward::{Interpolation, Problem};
use crate::{Dtype, Operator, PlanError, PlanOptions, TargetSpec, Workspace};

pub(crate) use cut::BUSY;
pub use layout::{Scratch, ShareWorkspace};
use route::{HALVES, VECTOR_ROUTES, is_half};
pub use route::{Route, Window};
use tiles::Tiles;
pub use work::{Runs, ShareRange, Work};

/// Channels whose sum is one term of a gradient of the grid.
pub const CHANNEL_BLOCK: NonZeroUsize = NonZeroUsize::new(64).unwrap();

/// Points that the kernels work on together, with channels side by side.
pub const CHUNK: usize = 64;

/// A native plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    problem: Problem,
    common: Common,
    copies: Copies,
    route: Route,
    /// Images that shares have parts of: all, or the last ones, or none.
    cut: usize,
    /// Points of a tile.
    tile_points: usize,
}

/// A run of points of one image with a run of its channels.
///
/// Its local boxes have no gaps: `grid` `[points, 2]`, `grad_output` `[channels, points]`, `grid_grad` `[points, 2]`. The image
/// `[channels, Hi, Wi]` and the sums of `input_grad`, of the same shape, are reached at places that depend on the data and are
/// not counted as local memory: they must stay from the first tile to the last of the same image and channels. The sums over
/// channels, `[points, 2]`, must stay while the channels of the same points follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tile {
    /// The image.
    pub image: usize,
    /// First channel and one past the last: a block of 64, or the last one.
    pub channels: [usize; 2],
    /// First point and one past the last, `h * Wo + w`.
    pub points: [usize; 2],
    /// First row of `input_grad` that the tile adds to, and one past the last.
    pub rows: [usize; 2],
    /// Whether the gradient of `grid` is made here; another share makes it otherwise.
    pub makes_grid_grad: bool,
    /// Whether the sums of `input_grad` begin here, at +0.0.
    pub first_points: bool,
    /// Whether the sums of `input_grad` are complete behind it.
    pub last_points: bool,
    local_bytes: usize,
}

impl Tile {
    /// Bytes of its boxes.
    #[must_use]
    pub const fn local_bytes(&self) -> usize {
        self.local_bytes
    }
}

/// Plans a problem.
///
/// # Errors
/// [`PlanError::LocalBytes`] when the local memory does not hold one point with a block of channels, [`PlanError::TooLarge`] when
/// sizes overflow, [`PlanError::NotBuilt`] where it needs a feature that the build left out.
pub fn plan(problem: &Problem, target: &TargetSpec, options: &PlanOptions) -> Result<Plan, PlanError> {
    let common = Common::new(target, options)?;
    let mut plan = Plan { problem: *problem, common, copies: Copies::NONE, route: Route::Zero, cut: 0, tile_points: 1 };
    if problem.early_success().is_some() {
        return Ok(plan);
    }
    if !HALVES && is_half(problem.dtype) {
        return Err(PlanError::NotBuilt { feature: "halves" });
    }
    plan.tile_points = plan.largest_tile()?;
    plan.choose();
    plan.choose_copies();
    plan.common.workspace = plan.lay_out().ok_or(PlanError::TooLarge)?;
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

    /// How it is computed.
    #[must_use]
    pub const fn route(&self) -> Route {
        match self.route {
            Route::Direct(window) => Route::Direct(window),
            // The compiler drops what only the others do.
            _ if !VECTOR_ROUTES => Route::Zero,
            route => route,
        }
    }

    /// Cores that it uses.
    #[must_use]
    pub const fn block_dim(&self) -> usize {
        self.common.block_dim
    }

    /// Its intermediates.
    #[must_use]
    pub const fn workspace(&self) -> &Workspace {
        &self.common.workspace
    }

    /// Bytes of workspace, from any address.
    #[must_use]
    pub fn workspace_bytes(&self) -> usize {
        self.common.workspace.bytes()
    }

    /// What sums are made in.
    #[must_use]
    pub fn sums_dtype(&self) -> Dtype {
        if self.problem.dtype == Dtype::F64 { Dtype::F64 } else { Dtype::F32 }
    }

    /// Its phases: those of the [copies](Self::stagings), then those of the route.
    pub fn phases(&self) -> impl Iterator<Item = Phase> + Clone + use<> {
        let problem = self.problem;
        let copies = self.copies.phases(move |tensor| problem.slot(tensor), self.common.block_dim);
        copies.chain(self.route_phases())
    }

    /// Images in front of those that shares have parts of. A phase of their own computes them.
    #[must_use]
    pub fn whole_images(&self) -> usize {
        if self.splits_images() { self.problem.n.saturating_sub(self.cut) } else { 0 }
    }

    /// Whether a phase is that of the images in front of those that shares have parts of.
    fn is_whole(&self, phase: usize) -> bool {
        self.whole_images() > 0 && phase == self.copies.count()
    }

    fn route_phases(&self) -> impl Iterator<Item = Phase> + Clone + use<> {
        let shares = self.common.block_dim;
        let (input_grad, grid_grad) = (self.problem.want_input_grad, self.problem.want_grid_grad);
        let points = self.has_points_apart().then_some("points");
        let [first, second, third] = match self.route() {
            Route::Zero => [Some("zero"), None, None],
            Route::Direct(_) | Route::PointLanes | Route::Images => [Some("compute"), None, None],
            Route::Blocks => [Some("compute"), grid_grad.then_some("combine"), None],
            Route::Channels => [self.reads_input().then_some("stage"), Some("compute"), None],
            Route::Bands => [self.reads_input().then_some("stage"), Some("compute"), input_grad.then_some("unstage")],
            Route::PointBands => {
                let stages = self.stages_input();
                [stages.then_some("stage"), Some("compute"), self.stages_bands().then_some("unstage")]
            }
        };
        let whole = (self.whole_images() > 0).then_some("images");
        let parts = match self.route() {
            Route::Channels | Route::Bands | Route::PointBands | Route::PointLanes if self.splits_images() => {
                self.cut.saturating_mul(self.shares_of_image().get())
            }
            _ => shares,
        };
        // Behind the parts of images.
        let names = match (self.route(), points) {
            (_, None) => [whole, first, second, third, None],
            (Route::PointLanes, points) => [whole, first, points, None, None],
            (_, points) => [whole, first, second, points, third],
        };
        let names = names.into_iter().flatten();
        names.map(move |name| Phase { name, shares: if name == "compute" { parts } else { shares } })
    }

    /// The tiles of a share, in order; none in phases that only move or add what is staged, or write zeros, nor in `points`, whose gradients
    /// the tiles of `compute` make. In order, they compute what the plan does, on local boxes and without its workspace: images, blocks
    /// of channels, points. Of [`Route::Blocks`] they add up `grid_grad` over blocks that other shares have, too: there shares come in order
    /// as well. Points and rows of tiles may end within a block that copies take: then one core after the other writes what they give.
    pub fn tiles(&self, phase: usize, share: usize) -> impl Iterator<Item = Tile> + Clone + use<> {
        let p = &self.problem;
        let (per_image, points) = (self.blocks(), self.points());
        let first_block = |image: usize| image.saturating_mul(per_image.get());
        // Tiles have all channels, so the parts of an image share `input_grad` by rows.
        let rows_of_part = || {
            let parts = if self.is_whole(phase) { NonZeroUsize::MIN } else { self.shares_of_image() };
            split(p.hi, parts, share % parts)
        };
        // Of points that are made apart, the part of an image makes as many.
        let of_part = |own| {
            if self.has_points_apart() && !self.is_whole(phase) {
                split(points, self.shares_of_image(), share % self.shares_of_image())
            } else {
                own
            }
        };
        let (blocks, rows, own) = match self.work(phase, share) {
            Work::PointLanes { images, points: own, .. } => (images, rows_of_part(), of_part(own)),
            Work::Direct { images } | Work::Images { images } => {
                (first_block(images.start)..first_block(images.end), 0..p.hi, 0..points)
            }
            Work::Blocks { blocks } => (blocks, 0..p.hi, 0..points),
            Work::Channels { image, points: own, .. } => (image..image.saturating_add(1), rows_of_part(), of_part(own)),
            Work::Band { image, rows, points: own } => {
                (first_block(image)..first_block(image.saturating_add(1)), rows, of_part(own))
            }
            _ => (0..0, 0..0, 0..0),
        };
        Tiles::new(*self, blocks, rows, own)
    }

    /// The same plan with a tile of another size: `tile_points`.
    ///
    /// # Errors
    /// [`PlanError::Tile`] if it does not fit, [`PlanError::NoTile`] for another name.
    pub fn with_tile(mut self, name: &str, value: usize) -> Result<Self, PlanError> {
        const NAMES: [&str; 1] = ["tile_points"];
        let [points] = NAMES;
        if name != points {
            return Err(PlanError::NoTile { operator: Operator::GridSampler2dBackward, names: &NAMES });
        }
        self.tile_points = self.common.wanted_tile(points, value, self.points(), |n| self.tile_bytes(n))?;
        Ok(self)
    }

    /// Sizes of its largest tile, by name.
    #[must_use]
    pub fn tile_sizes(&self) -> [(&'static str, usize); 2] {
        let points = self.tile_points.min(self.points().max(1));
        [("tile_points", points), ("tile_channels", self.problem.c.min(CHANNEL_BLOCK.get()))]
    }

    /// Why it is what it is.
    pub fn choices(&self) -> impl Iterator<Item = Choice> + use<> {
        let [points, (name, channels)] = self.tile_sizes();
        let points = self.common.tile_choice(points, self.points().max(1), |n| self.tile_bytes(n));
        let bound = if self.problem.c > channels { Bound::Numerics } else { Bound::Work };
        let (value, limit, used, larger) = (channels, channels, channels, one_more(channels, bound));
        let channels = Choice { name, value, bound, limit, used, alternative: None, larger };
        [self.block_dim_choice(), points, channels].into_iter()
    }

    /// What a workspace limit costs: passes over the grid for `input_grad`, and inputs with far strides that are read as they are.
    pub fn prices(&self) -> impl Iterator<Item = Price> + use<> {
        let paid = match self.route() {
            Route::Direct(window) => self.passes(window),
            _ => 1,
        };
        let paid = if self.problem.early_success().is_some() { 0 } else { paid };
        core::iter::once(Price { name: "grid_passes", paid, unlimited: paid.min(1) }).chain(self.copies.price())
    }

    /// Whether points have a gradient at all: that of the nearest pixel is 0.
    #[must_use]
    pub fn reads_input(&self) -> bool {
        self.problem.want_grid_grad && self.problem.interpolation != Interpolation::Nearest
    }

    /// Blocks of 64 channels of an image, at least 1.
    #[must_use]
    pub fn blocks(&self) -> NonZeroUsize {
        NonZeroUsize::new(ceil_div(self.problem.c, CHANNEL_BLOCK.get())).unwrap_or(NonZeroUsize::MIN)
    }

    /// Channels, to divide by: at least 1.
    #[must_use]
    pub fn channels(&self) -> NonZeroUsize {
        NonZeroUsize::new(self.problem.c).unwrap_or(NonZeroUsize::MIN)
    }

    /// Points of an image's grid.
    #[must_use]
    pub fn points(&self) -> usize {
        self.problem.ho.saturating_mul(self.problem.wo)
    }

    /// Pixels of a plane.
    #[must_use]
    pub fn pixels(&self) -> usize {
        self.problem.hi.saturating_mul(self.problem.wi)
    }
}

fn ceil_div(n: usize, by: usize) -> usize {
    n.div_ceil(NonZeroUsize::new(by).unwrap_or(NonZeroUsize::MIN).get())
}
