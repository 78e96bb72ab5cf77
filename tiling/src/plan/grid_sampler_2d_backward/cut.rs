//! Images that are cut: which ones, into which parts, and what a share has of one.

use core::num::NonZeroUsize;
use core::ops::Range;

use super::{CHANNEL_BLOCK, Plan, Route, Runs, VECTOR_ROUTES, Work, ceil_div, split};
use crate::plan::shares::at_least_1;

/// Rows that make a band worth the points that it looks at in vain.
const BAND_ROWS: usize = 8;
/// The same where there are no caches: programs look at many points at a time there, and at those alone that a table says are near.
const STREAMED_BAND_ROWS: usize = 2;

/// Elements of all tensors that keep a core busy for as long as it takes to wake it.
pub(crate) const BUSY: usize = 128 << 10;

/// Channels that a vector holds.
const LANES: usize = 8;

/// Whole images of a core beyond which it does not matter that some cores have one more.
const ROUNDS: usize = 4;

impl Plan {
    /// Cuts images, with points side by side or channels, where that keeps cores busy that whole `images` do not; says whether.
    pub(super) fn cut_images(&mut self, images: usize, lanes: bool) -> bool {
        let (cores, blocks) = (self.common.target.cores, self.blocks().get());
        let cut = self.images_to_cut(images, blocks > 1);
        if cut == 0 || !self.planes_nest() {
            return false;
        }
        // Images in front of those that are cut end where both outputs are.
        let whole = cut == self.problem.n || self.cuts_images();
        let [blocks_apart, by_planes, by_channels, by_rows] = if self.cuts_points() || whole {
            [self.cuts_blocks(), self.cuts_planes(), self.cuts_channels(), self.cuts_rows()]
        } else {
            [self.cuts_blocks(), false, false, false]
        };
        let bands = by_rows.then_some(self.most_bands());
        // Routes, and the parts that they have of an image at most.
        let wanted = if blocks > 1 && !lanes {
            // Blocks find the points of an image once each; bands are for cores beyond those, of images that all are cut.
            let bands = bands.filter(|_| images < cores).map(|bands| (Route::Bands, bands));
            [blocks_apart.then_some((Route::Blocks, blocks)), bands]
        } else if lanes {
            let several = bands.filter(|&bands| bands > 1 && self.adds_in_bands());
            let bands = several.map(|bands| (Route::PointBands, bands));
            let planes = by_planes.then_some((Route::PointLanes, self.parts()));
            if bands.is_some() { [bands, planes] } else { [planes, None] }
        } else {
            let channels = if by_channels { self.channel_parts() } else { 0 };
            let bands = bands.unwrap_or(0);
            let [with_channels, with_rows] = [Some((Route::Channels, channels)), Some((Route::Bands, bands))];
            // Bands look at points in vain, and those of random points are told apart by branches that nobody foresees.
            // Each image that is cut has as many.
            let most = cores.checked_div(cut).unwrap_or(0);
            let fewer = channels.min(most) < bands.min(most);
            if fewer { [with_rows, with_channels] } else { [with_channels, with_rows] }
        };
        if images >= cores {
            // As many parts of each image; a share that none is left for waits.
            let most = cores.checked_div(cut).unwrap_or(0);
            return wanted
                .into_iter()
                .flatten()
                .any(|(route, parts)| parts >= most && self.fits_limit(route, cores, cut));
        }
        // Of channels last the most shares that any route has room for: else more cores could make fewer.
        wanted.chunks(if lanes { 1 } else { wanted.len() }).any(|routes| {
            let most = |parts: usize| parts.saturating_mul(cut);
            let shares = routes.iter().flatten().map(|&(_, parts)| most(parts)).max().unwrap_or(0).min(cores);
            (images.saturating_add(1)..=shares).rev().any(|n| {
                routes.iter().flatten().any(|&(route, parts)| {
                    let step = if route == Route::Blocks { 1 } else { cut };
                    n <= most(parts) && n.is_multiple_of(step) && self.fits_limit(route, n, cut)
                })
            })
        })
    }

    /// Images that shares are to have parts of: all where there are fewer shares of whole `images` than cores, else those that are
    /// left over where each core has as many; of several `blocks` of channels all, as those are cut evenly.
    fn images_to_cut(&self, images: usize, blocks: bool) -> usize {
        let (p, cores) = (&self.problem, at_least_1(self.common.target.cores));
        if images < cores.get() {
            return p.n;
        }
        let left = p.n % cores;
        if left == 0 || p.n / cores >= ROUNDS {
            return 0;
        }
        if blocks {
            return p.n;
        }
        let parts = cores.get().checked_div(left).unwrap_or(0);
        let pixels = self.pixels().saturating_mul(2).saturating_add(self.points());
        let elements = p.c.saturating_mul(pixels).saturating_add(self.points().saturating_mul(4));
        if parts >= 2 && elements / BUSY >= parts { left } else { 0 }
    }

    /// Most bands of an image.
    fn most_bands(&self) -> usize {
        let hi = self.problem.hi;
        let bands = if self.common.target.capabilities.caches { hi / BAND_ROWS } else { hi / STREAMED_BAND_ROWS };
        bands.min(self.points())
    }

    /// Whether any cut between planes of `input_grad`, and between points of `grid_grad`, cuts their elements too.
    fn planes_nest(&self) -> bool {
        self.input_grad_units(2).grain().get() == 1 && self.point_units().grain().get() == 1
    }

    /// Whether images can be copied apart, of both outputs.
    fn cuts_images(&self) -> bool {
        self.input_grad_units(1).cuts_anywhere() && self.grid_grad_units(1).cuts_anywhere()
    }

    /// Whether the blocks of channels that shares own can be copied apart. Points are cut by themselves.
    fn cuts_blocks(&self) -> bool {
        let p = &self.problem;
        let block = CHANNEL_BLOCK.get().saturating_mul(p.input_grad_strides[1]);
        let whole = || block.is_multiple_of(self.common.copy_elements(p.dtype.size()).get());
        !p.want_input_grad || self.input_grad_units(1).cuts_anywhere() && whole()
    }

    /// Whether the gradients of any two points can be copied apart.
    fn cuts_points(&self) -> bool {
        !self.problem.want_grid_grad || self.point_units().cuts_anywhere()
    }

    /// Whether any two planes can. Points that cannot be have a phase of their own.
    fn cuts_planes(&self) -> bool {
        let adds = self.problem.want_input_grad;
        (self.cuts_points() || adds) && (!adds || self.input_grad_units(2).cuts_anywhere())
    }

    /// Whether vectors of channels can.
    fn cuts_channels(&self) -> bool {
        self.cuts_planes() || self.problem.want_input_grad && self.input_grad_units(1).cuts_anywhere()
    }

    /// Whether bands of rows can. Beside points that are apart they are whole blocks.
    fn cuts_rows(&self) -> bool {
        self.cuts_planes() && (self.cuts_points() || self.input_grad_units(3).cuts_anywhere())
    }

    /// Whether points have a phase of their own, where parts of images are their channels or rows alone: points that shares own are whole
    /// blocks of a copy, wherever images end.
    pub(super) fn has_points_apart(&self) -> bool {
        self.splits_images() && self.route != Route::Blocks && self.problem.want_input_grad && !self.cuts_points()
    }

    /// Whether shares are parts of images.
    pub(super) const fn splits_images(&self) -> bool {
        VECTOR_ROUTES && self.cut > 0
    }

    /// Most parts of an image with points side by side: one for each channel of `input_grad`, and one that makes `grid_grad` alone.
    fn parts(&self) -> usize {
        let p = &self.problem;
        match (p.want_input_grad, self.reads_input()) {
            (true, true) if self.cuts_points() => p.c.saturating_add(1),
            (true, true) => p.c,
            (true, false) => p.c,
            (false, _) => self.points(),
        }
    }

    /// Most parts of an image that are runs of its channels: with fewer than two vectors of them a part takes nearly as long as all, unless
    /// it has points for itself.
    fn channel_parts(&self) -> usize {
        let vectors = ceil_div(self.problem.c, self.vector_channels());
        match (self.problem.want_input_grad, self.cuts_points() && self.cuts_planes()) {
            (true, true) => vectors / 2,
            (true, false) => vectors,
            (false, _) => 0,
        }
    }

    /// Channels side by side that only one share can have: a vector, of planes that can be copied apart.
    fn vector_channels(&self) -> usize {
        LANES.max(self.input_grad_units(2).run())
    }

    /// Whether bands of rows suit points side by side, of few channels: those of many, of the nearest interpolation, are cut as evenly.
    fn adds_in_bands(&self) -> bool {
        self.problem.want_input_grad && self.problem.c <= Runs::MOST
    }

    /// Whether bands are summed up apart from `input_grad`, where a channel's rows of one do not lie side by side.
    #[must_use]
    pub fn stages_bands(&self) -> bool {
        self.stages_input_grad() || !self.input_grad_units(3).cuts_anywhere()
    }

    /// The rows of an image that its bands have, where it is cut.
    pub fn bands(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let (hi, bands) = (self.problem.hi, self.shares_of_image());
        (0..bands.get()).map(move |band| split(hi, bands, band))
    }

    /// Shares of each image that is cut.
    pub(super) fn shares_of_image(&self) -> NonZeroUsize {
        let parts = if self.splits_images() { self.common.block_dim.checked_div(self.cut) } else { None };
        at_least_1(parts.unwrap_or(1))
    }

    /// The image that a share has a part of, and which; `None` where no image is left for it.
    pub(super) fn part_of_share(&self, share: usize) -> Option<(usize, usize)> {
        let parts = self.shares_of_image();
        let image = self.whole_images().saturating_add(share / parts);
        (image < self.problem.n).then_some((image, share % parts))
    }

    /// A share's part of an image: some channels of `input_grad`, and so many points of `grid_grad` that all shares take as long.
    pub(super) fn part_of_image(&self, share: usize) -> Work {
        /// Times that adding a point to a channel, and computing its gradient for a channel, take.
        const ADD: usize = 1;
        const GRADIENT: usize = 1;
        let Some((image, part)) = self.part_of_share(share) else { return Work::Nothing };
        let (p, points) = (&self.problem, self.points());
        let parts = self.shares_of_image();
        let adds = if p.want_input_grad { ADD } else { 0 };
        let lanes = self.channels_together();
        let vectors = ceil_div(p.c, lanes);
        // The points before the end of a part.
        let end = |part: usize| {
            let fair = vectors.saturating_mul(adds.saturating_add(GRADIENT)).saturating_mul(part.saturating_add(1));
            let added = split(vectors, parts, part).end.saturating_mul(adds).saturating_mul(parts.get());
            let all = at_least_1(vectors.saturating_mul(GRADIENT).saturating_mul(parts.get()));
            (points.saturating_mul(fair.saturating_sub(added)) / all).min(points)
        };
        let first = if part == 0 { 0 } else { end(part.saturating_sub(1)) };
        let last = if part.saturating_add(1) == parts.get() { points } else { end(part).max(first) };
        let channels = split(vectors, parts, part);
        let channel = |vector: usize| vector.saturating_mul(lanes).min(p.c);
        let channels = channel(channels.start)..channel(channels.end);
        let points = if p.want_grid_grad && !self.has_points_apart() { first..last } else { 0..0 };
        if self.route() == Route::Channels {
            Work::Channels { image, channels, points }
        } else {
            Work::PointLanes { images: image..image.saturating_add(1), channels, points }
        }
    }

    /// Channels that only one share can have.
    fn channels_together(&self) -> usize {
        if self.route() == Route::Channels { self.vector_channels() } else { 1 }
    }

    /// Most channels of a part of an image.
    pub(super) fn channels_of_part(&self) -> usize {
        let lanes = self.vector_channels();
        ceil_div(ceil_div(self.problem.c, lanes), self.shares_of_image().get()).saturating_mul(lanes)
    }
}
