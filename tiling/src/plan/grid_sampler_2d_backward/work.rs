//! What each share does in each phase, and what of the outputs it owns.

use core::num::NonZeroUsize;
use core::ops::Range;

use super::{CHANNEL_BLOCK, Plan, Route, VECTOR_ROUTES, split};
use crate::plan::Phase;
use crate::plan::shares::Units;

/// What a share does in a phase. Images, blocks, points, pixels and planes count over the whole problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    /// Nothing: no such share, or one of a copy of [`Plan::stagings`].
    Nothing,
    /// Zero-fills the outputs.
    Zero,
    /// Both gradients of some images, in place.
    Direct {
        /// The images.
        images: Range<usize>,
    },
    /// Points side by side: some channels of `input_grad` of some images, or none, and `grid_grad` of some of their points. Part of
    /// an image only where there is one.
    PointLanes {
        /// The images.
        images: Range<usize>,
        /// Channels of `input_grad`.
        channels: Range<usize>,
        /// Points of an image, `h * Wo + w`, whose `grid_grad` is made.
        points: Range<usize>,
    },
    /// Both gradients of some images, staged one after the other.
    Images {
        /// The images.
        images: Range<usize>,
    },
    /// Some blocks of 64 channels, staged one after the other; their parts of `grid_grad` go to the workspace.
    Blocks {
        /// The blocks, `image * blocks + block`.
        blocks: Range<usize>,
    },
    /// Some channels of one image's `input_grad`, staged, from all of its points, and `grid_grad` of some of them from all channels.
    Channels {
        /// The image.
        image: usize,
        /// Channels of `input_grad`.
        channels: Range<usize>,
        /// Points of the image, `h * Wo + w`, whose `grid_grad` is made.
        points: Range<usize>,
    },
    /// Adds the blocks' parts of `grid_grad`.
    Combine {
        /// The points, `(n * Ho + h) * Wo + w`.
        points: Range<usize>,
    },
    /// `grid_grad` of some points from all channels, where shares of a phase before have parts of images.
    Points {
        /// The points, `(n * Ho + h) * Wo + w`.
        points: Range<usize>,
    },
    /// Stages pixels of `input`, a block of channels after the other.
    Stage {
        /// The positions, `((n * blocks + block) * Hi + h) * Wi + w`.
        positions: Range<usize>,
    },
    /// Stages values of `input`, planes as they are.
    Pack {
        /// The values, `((n * C + c) * Hi + h) * Wi + w`.
        values: Range<usize>,
    },
    /// A band of rows of one image's `input_grad`, staged or in place, from all of its points, and `grid_grad` of some of them.
    Band {
        /// The image.
        image: usize,
        /// Rows of `input_grad`.
        rows: Range<usize>,
        /// Points of the image, `h * Wo + w`, whose `grid_grad` is made.
        points: Range<usize>,
    },
    /// Brings staged `input_grad` to its planes.
    Unstage {
        /// The planes, `n * C + c`.
        planes: Range<usize>,
    },
    /// Brings staged bands of `input_grad` to their rows.
    Unpack {
        /// The rows, `(n * C + c) * Hi + h`.
        rows: Range<usize>,
    },
}

/// Elements of the outputs that a share writes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShareRange {
    /// Of `input_grad`.
    pub input_grad: Runs,
    /// Of `grid_grad`, from the first to one past the last.
    pub grid_grad: Range<usize>,
}

/// Runs of elements: one, or of a band of rows as many as there are channels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Runs {
    first: Range<usize>,
    count: usize,
    /// From the begin of one to that of the next.
    apart: usize,
}

impl Runs {
    /// As many as there are of any share.
    pub const MOST: usize = 4;

    pub(crate) fn one(first: Range<usize>) -> Self {
        Self { first, count: 1, apart: 0 }
    }

    /// Where the first one begins.
    #[must_use]
    pub const fn start(&self) -> usize {
        self.first.start
    }

    /// The elements of run number `i`, from the first to one past the last; none where there is no such run.
    #[must_use]
    pub fn get(&self, i: usize) -> Range<usize> {
        let start = self.first.start;
        if i < self.count { behind(i.saturating_mul(self.apart), &self.first) } else { start..start }
    }

    /// Runs that are not empty, ascending.
    pub fn iter(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let runs = self.clone();
        (0..Self::MOST).map(move |i| runs.get(i)).filter(|run| !run.is_empty())
    }
}

impl Plan {
    /// What a share does.
    #[must_use]
    pub fn work(&self, phase: usize, share: usize) -> Work {
        let shares = NonZeroUsize::new(self.common.block_dim).unwrap_or(NonZeroUsize::MIN);
        let of_route = phase.checked_sub(self.copies.count()).and_then(|phase| self.route_phases().nth(phase));
        let Some(Phase { name, .. }) = of_route else { return Work::Nothing };
        if share >= shares.get() {
            return Work::Nothing;
        }
        let p = &self.problem;
        match (self.route(), name) {
            (Route::Zero, _) => Work::Zero,
            (Route::Direct(_), _) => Work::Direct { images: self.images(shares, share) },
            _ if !VECTOR_ROUTES => Work::Nothing,
            (Route::PointLanes, _) if !self.splits_images() => self.whole_in_lanes(self.images(shares, share)),
            (Route::PointLanes | Route::PointBands, "images") => {
                self.whole_in_lanes(split(self.whole_images(), shares, share))
            }
            (_, "images") => Work::Images { images: split(self.whole_images(), shares, share) },
            (Route::Images, _) => Work::Images { images: self.images(shares, share) },
            (Route::Blocks, "compute") => {
                Work::Blocks { blocks: split(p.n.saturating_mul(self.blocks().get()), shares, share) }
            }
            (_, "points") => {
                let first = self.whole_images().saturating_mul(self.points());
                Work::Points { points: self.point_units().share_from(first, shares, share) }
            }
            (Route::Blocks, _) => Work::Combine { points: self.point_units().share(shares, share) },
            (Route::Bands | Route::Channels, "stage") => {
                Work::Stage { positions: self.of_cut(self.staged_positions(), shares, share) }
            }
            (Route::PointLanes | Route::Channels, _) => self.part_of_image(share),
            (Route::PointBands, "stage") => {
                Work::Pack { values: self.of_cut(p.c.saturating_mul(self.pixels()), shares, share) }
            }
            (Route::Bands | Route::PointBands, "compute") => {
                let Some((image, band)) = self.part_of_share(share) else { return Work::Nothing };
                let bands = self.shares_of_image();
                let makes = p.want_grid_grad && !self.has_points_apart();
                let points = if makes { split(self.points(), bands, band) } else { 0..0 };
                Work::Band { image, rows: split(p.hi, bands, band), points }
            }
            (Route::Bands, _) => Work::Unstage { planes: self.of_cut(p.c, shares, share) },
            (Route::PointBands, _) => {
                let first = self.whole_images().saturating_mul(p.c).saturating_mul(p.hi);
                Work::Unpack { rows: self.input_grad_units(3).share_from(first, shares, share) }
            }
        }
    }

    /// Whole images, points side by side.
    fn whole_in_lanes(&self, images: Range<usize>) -> Work {
        let points = if self.problem.want_grid_grad { 0..self.points() } else { 0..0 };
        Work::PointLanes { images, channels: 0..self.problem.c, points }
    }

    /// A share of what the images that are cut have, each so much of it.
    fn of_cut(&self, each: usize, shares: NonZeroUsize, share: usize) -> Range<usize> {
        let run = split(self.cut.saturating_mul(each), shares, share);
        behind(self.whole_images().saturating_mul(each), &run)
    }

    /// The elements of the outputs that a share writes; nothing of an output that is not wanted.
    #[must_use]
    pub fn share_range(&self, phase: usize, share: usize) -> ShareRange {
        let p = &self.problem;
        let planes = self.input_grad_units(2);
        let points = self.point_units();
        let nothing = ShareRange::default();
        let range = match self.work(phase, share) {
            Work::Nothing | Work::Stage { .. } | Work::Pack { .. } => nothing,
            Work::Zero => self.of_images(&(0..p.n)),
            Work::Direct { images: run } => self.of_images(&run),
            _ if !VECTOR_ROUTES => nothing,
            Work::PointLanes { images, channels, points } if self.splits_images() && !self.is_whole(phase) => {
                self.of_part(images.start, &channels, &points)
            }
            Work::Channels { image, channels, points } => self.of_part(image, &channels, &points),
            Work::PointLanes { images: run, .. } | Work::Images { images: run } => self.of_images(&run),
            Work::Blocks { blocks } => {
                let per_image = self.blocks();
                let plane = |block: usize| {
                    let within = (block % per_image).saturating_mul(CHANNEL_BLOCK.get());
                    (block / per_image).saturating_mul(p.c).saturating_add(within)
                };
                let run = planes.elements(&(plane(blocks.start)..plane(blocks.end)));
                ShareRange { input_grad: Runs::one(run), ..nothing }
            }
            Work::Combine { points: run } | Work::Points { points: run } => {
                ShareRange { grid_grad: points.elements(&run), ..nothing }
            }
            Work::Band { image, points: run, rows } => {
                let grid_grad = points.elements(&behind(image.saturating_mul(self.points()), &run));
                if self.route() == Route::Bands || self.stages_bands() {
                    ShareRange { grid_grad, ..nothing }
                } else {
                    let rows = behind(image.saturating_mul(p.c).saturating_mul(p.hi), &rows);
                    let first = self.input_grad_units(3).elements(&rows);
                    ShareRange { input_grad: Runs { first, count: p.c, apart: p.input_grad_strides[1] }, grid_grad }
                }
            }
            Work::Unstage { planes: run } => ShareRange { input_grad: Runs::one(planes.elements(&run)), ..nothing },
            Work::Unpack { rows } => {
                ShareRange { input_grad: Runs::one(self.input_grad_units(3).elements(&rows)), ..nothing }
            }
        };
        ShareRange {
            input_grad: if p.want_input_grad { range.input_grad } else { Runs::default() },
            grid_grad: if p.want_grid_grad { range.grid_grad } else { 0..0 },
        }
    }

    /// What some channels and some points of an image have of them.
    fn of_part(&self, image: usize, channels: &Range<usize>, points: &Range<usize>) -> ShareRange {
        let (point, plane) = (image.saturating_mul(self.points()), image.saturating_mul(self.problem.c));
        ShareRange {
            input_grad: Runs::one(self.input_grad_units(2).elements(&behind(plane, channels))),
            grid_grad: self.point_units().elements(&behind(point, points)),
        }
    }

    /// What some images have of the outputs.
    fn of_images(&self, images: &Range<usize>) -> ShareRange {
        let [input_grad, grid_grad] =
            [self.input_grad_units(1), self.grid_grad_units(1)].map(|units| units.elements(images));
        ShareRange { input_grad: Runs::one(input_grad), grid_grad }
    }

    fn images(&self, shares: NonZeroUsize, share: usize) -> Range<usize> {
        // Both outputs are cut at the same images, so the larger grain decides.
        let (a, b) = (self.input_grad_units(1), self.grid_grad_units(1));
        if a.run() > b.run() { a.share(shares, share) } else { b.share(shares, share) }
    }

    /// `input_grad` as images or planes; without it, as if it were contiguous.
    pub(super) fn input_grad_units(&self, dims: usize) -> Units {
        let p = &self.problem;
        let pixels = self.pixels();
        let contiguous = [p.c.saturating_mul(pixels), pixels, p.wi, 1];
        let units =
            Units::new([p.n, p.c, p.hi, p.wi], if p.want_input_grad { p.input_grad_strides } else { contiguous }, dims);
        if p.want_input_grad { units.in_blocks(self.common.copy_elements(p.dtype.size())) } else { units }
    }

    /// `grid_grad` as images, or as points.
    pub(super) fn grid_grad_units(&self, dims: usize) -> Units {
        let p = &self.problem;
        let contiguous = [self.points().saturating_mul(2), p.wo.saturating_mul(2), 2, 1];
        let units =
            Units::new([p.n, p.ho, p.wo, 2], if p.want_grid_grad { p.grid_grad_strides } else { contiguous }, dims);
        if p.want_grid_grad { units.in_blocks(self.common.copy_elements(p.dtype.size())) } else { units }
    }

    pub(super) fn point_units(&self) -> Units {
        self.grid_grad_units(3)
    }
}

/// A run that counts from `first` on, counted from the begin.
fn behind(first: usize, run: &Range<usize>) -> Range<usize> {
    first.saturating_add(run.start)..first.saturating_add(run.end)
}
