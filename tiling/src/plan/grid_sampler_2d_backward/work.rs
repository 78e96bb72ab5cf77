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
    /// Adds the blocks' parts of `grid_grad`.
    Combine {
        /// The points, `(n * Ho + h) * Wo + w`.
        points: Range<usize>,
    },
    /// Stages pixels of `input`.
    Stage {
        /// The pixels, `(n * Hi + h) * Wi + w`.
        pixels: Range<usize>,
    },
    /// Stages values of `input`, planes as they are.
    Pack {
        /// The values, `((n * C + c) * Hi + h) * Wi + w`.
        values: Range<usize>,
    },
    /// A band of rows of one image's `input_grad`, mostly staged, from all of its points, and `grid_grad` of some of them.
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

/// Elements of the outputs, from the first to one past the last, that a share writes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShareRange {
    /// Of `input_grad`.
    pub input_grad: Range<usize>,
    /// Of `grid_grad`.
    pub grid_grad: Range<usize>,
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
            (Route::PointLanes, _) if shares.get() <= p.n => {
                let points = if p.want_grid_grad { 0..self.points() } else { 0..0 };
                Work::PointLanes { images: self.images(shares, share), channels: 0..p.c, points }
            }
            (Route::PointLanes, _) => self.part_of_image(share),
            (Route::Images, _) => Work::Images { images: self.images(shares, share) },
            (Route::Blocks, "compute") => {
                Work::Blocks { blocks: split(p.n.saturating_mul(self.blocks().get()), shares, share) }
            }
            (Route::Blocks, _) => Work::Combine { points: self.point_units().share(shares, share) },
            (Route::Bands, "stage") => Work::Stage { pixels: split(p.n.saturating_mul(self.pixels()), shares, share) },
            (Route::PointBands, "stage") => {
                let values = p.n.saturating_mul(p.c).saturating_mul(self.pixels());
                Work::Pack { values: split(values, shares, share) }
            }
            (Route::Bands | Route::PointBands, "compute") => {
                let bands = self.shares_of_image();
                let (image, band) = (share / bands, share % bands);
                let points = if p.want_grid_grad { split(self.points(), bands, band) } else { 0..0 };
                Work::Band { image, rows: split(p.hi, bands, band), points }
            }
            (Route::Bands, _) => Work::Unstage { planes: split(p.n.saturating_mul(p.c), shares, share) },
            (Route::PointBands, _) => Work::Unpack { rows: self.input_grad_units(3).share(shares, share) },
        }
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
            Work::PointLanes { images, channels, points: run } if self.splits_images() => {
                let (first, n) = (images.start.saturating_mul(self.points()), images.start.saturating_mul(p.c));
                ShareRange {
                    input_grad: planes.elements(&(n.saturating_add(channels.start)..n.saturating_add(channels.end))),
                    grid_grad: points.elements(&(first.saturating_add(run.start)..first.saturating_add(run.end))),
                }
            }
            Work::PointLanes { images: run, .. } | Work::Images { images: run } => self.of_images(&run),
            Work::Blocks { blocks } => {
                let per_image = self.blocks();
                let plane = |block: usize| {
                    let within = (block % per_image).saturating_mul(CHANNEL_BLOCK.get());
                    (block / per_image).saturating_mul(p.c).saturating_add(within)
                };
                ShareRange { input_grad: planes.elements(&(plane(blocks.start)..plane(blocks.end))), ..nothing }
            }
            Work::Combine { points: run } => ShareRange { grid_grad: points.elements(&run), ..nothing },
            Work::Band { image, points: run, rows } => {
                let first = image.saturating_mul(self.points());
                let run = first.saturating_add(run.start)..first.saturating_add(run.end);
                let grid_grad = points.elements(&run);
                if self.route() == Route::Bands || self.stages_bands() {
                    ShareRange { grid_grad, ..nothing }
                } else {
                    let first = image.saturating_mul(p.hi);
                    let rows = first.saturating_add(rows.start)..first.saturating_add(rows.end);
                    ShareRange { input_grad: self.input_grad_units(3).elements(&rows), grid_grad }
                }
            }
            Work::Unstage { planes: run } => ShareRange { input_grad: planes.elements(&run), ..nothing },
            Work::Unpack { rows } => ShareRange { input_grad: self.input_grad_units(3).elements(&rows), ..nothing },
        };
        ShareRange {
            input_grad: if p.want_input_grad { range.input_grad } else { 0..0 },
            grid_grad: if p.want_grid_grad { range.grid_grad } else { 0..0 },
        }
    }

    /// What some images have of the outputs.
    fn of_images(&self, images: &Range<usize>) -> ShareRange {
        let [input_grad, grid_grad] =
            [self.input_grad_units(1), self.grid_grad_units(1)].map(|units| units.elements(images));
        ShareRange { input_grad, grid_grad }
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
