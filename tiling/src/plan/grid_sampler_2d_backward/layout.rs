//! What the routes keep in the workspace, and which part of it belongs to a share.

use core::ops::Range;

use super::{CHANNEL_BLOCK, CHUNK, HALVES, Plan, Route, VECTOR_ROUTES, Work, ceil_div};
use crate::grid_sampler_2d_backward::Interpolation;
use crate::{ALIGN, Dtype, Workspace};

/// Two staged images whose distance is a multiple of this make a processor take reads of one for reads of what it just wrote
/// to the other.
const PAGE: usize = 4096;

/// Where a share's own intermediates lie in its scratch memory, in bytes; empty where it has none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scratch {
    /// `input`, staged: `[Hi * Wi, pitch]`.
    pub input: Range<usize>,
    /// `input_grad`, staged: `[Hi * Wi, pitch]`, or the sums of a window `[channels, rows, columns]`.
    pub input_grad: Range<usize>,
    /// A chunk of `grad_output`, staged: `[CHUNK, pitch]`.
    pub tile: Range<usize>,
    /// Sums of `grid_grad` over the blocks until now: `[Ho * Wo, 2]`.
    pub totals: Range<usize>,
}

impl Scratch {
    /// Bytes of all.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.totals.end
    }
}

/// The parts of the aligned workspace that a share uses in a phase, in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShareWorkspace {
    /// Its own memory, laid out as [`Scratch`].
    pub scratch: Range<usize>,
    /// What it makes for the next phase.
    pub write: Range<usize>,
    /// What an earlier phase made; other shares read it too.
    pub read: Range<usize>,
}

impl Plan {
    /// Values of a staged position of a block with so many channels: rounded up to 4, or to a multiple of 8 beyond; in F64, where
    /// four are a vector of 32 bytes, up to 28 to a multiple of 4, but for the bicubic interpolation.
    #[must_use]
    pub fn pitch_of(&self, channels: usize) -> usize {
        let p = &self.problem;
        match channels {
            0..=4 => 4,
            9..=28 if p.dtype == Dtype::F64 && p.interpolation != Interpolation::Bicubic => {
                channels.next_multiple_of(4)
            }
            channels => channels.next_multiple_of(8),
        }
    }

    /// The same of an image's first block, which has the most.
    #[must_use]
    pub fn pitch(&self) -> usize {
        self.pitch_of(self.problem.c.min(CHANNEL_BLOCK.get()))
    }

    /// The layout of the scratch memory of a share that has whole images, or blocks of channels.
    #[must_use]
    pub fn scratch(&self) -> Scratch {
        self.scratch_of(self.whole_route()).unwrap_or_default()
    }

    /// The layout of the scratch memory of a share that has a part of an image.
    #[must_use]
    pub fn part_scratch(&self) -> Scratch {
        self.scratch_of(self.route()).unwrap_or_default()
    }

    /// How images are computed that are not cut.
    fn whole_route(&self) -> Route {
        match self.route() {
            Route::Channels | Route::Bands if self.whole_images() > 0 => Route::Images,
            Route::PointBands if self.whole_images() > 0 => Route::PointLanes,
            route => route,
        }
    }

    fn scratch_of(&self, route: Route) -> Option<Scratch> {
        let size = self.sums_dtype().size();
        let staged = |positions: usize| positions.checked_mul(self.pitch())?.checked_mul(size);
        let (mut input, mut input_grad, mut totals) = (0, 0, 0);
        let mut tile = staged(CHUNK)?;
        match route {
            Route::Zero => return Some(Scratch::default()),
            Route::Direct(window) => (input_grad, tile) = (self.window_bytes(window)?, 0),
            _ if !VECTOR_ROUTES => return Some(Scratch::default()),
            Route::PointLanes => {
                let planes = |count: usize| count.checked_mul(self.pixels())?.checked_mul(size);
                input = if self.stages_input() { planes(self.problem.c)? } else { 0 };
                let sums = self.problem.want_input_grad && self.stages_input_grad();
                input_grad = if sums { planes(self.planes_at_once())? } else { 0 };
                tile = 0;
            }
            Route::Images | Route::Blocks => {
                input = if self.reads_input() { staged(self.pixels())? } else { 0 };
                input_grad = if self.problem.want_input_grad { staged(self.pixels())? } else { 0 };
                if input >= 4 * PAGE && input_grad > 0 {
                    input = input.checked_next_multiple_of(PAGE)?.checked_add(PAGE / 2)?;
                }
                if route == Route::Images && self.blocks().get() > 1 && self.reads_input() {
                    totals = self.partials(1)?;
                }
            }
            Route::Channels => {
                let pixel = self.pitch_of(self.channels_of_part()).checked_mul(size)?;
                input_grad = self.pixels().checked_mul(pixel)?;
            }
            Route::Bands => totals = if self.blocks().get() > 1 && self.reads_input() { self.partials(1)? } else { 0 },
            Route::PointBands => tile = 0,
        }
        let mut end = 0usize;
        let mut next = |bytes: usize| {
            let start = end;
            end = start.checked_add(bytes.checked_next_multiple_of(ALIGN)?)?;
            Some(start..end)
        };
        Some(Scratch { input: next(input)?, input_grad: next(input_grad)?, tile: next(tile)?, totals: next(totals)? })
    }

    /// Bytes of the sums of `grid_grad` over some blocks.
    fn partials(&self, blocks: usize) -> Option<usize> {
        blocks.checked_mul(self.points())?.checked_mul(2 * self.sums_dtype().size())
    }

    /// The workspace; `None` when sizes overflow.
    pub(super) fn lay_out(&self) -> Option<Workspace> {
        let p = &self.problem;
        let first = self.copies.count();
        let phases = first.saturating_add(self.route_phases().count());
        let stages = match self.route() {
            Route::Channels | Route::Bands => self.reads_input(),
            Route::PointBands => self.stages_input(),
            _ => false,
        };
        let whole = self.whole_images() > 0;
        let stage = first.saturating_add(usize::from(whole));
        let compute = stage.saturating_add(usize::from(stages));
        let behind = compute.saturating_add(usize::from(self.has_points_apart()));
        let of_shares = |bytes: usize| bytes.checked_mul(self.common.block_dim);
        let last = phases.saturating_sub(1);
        let mut workspace = Workspace::EMPTY;
        self.copies.lay_out(|tensor| p.slot(tensor), last, &mut workspace)?;
        let part = of_shares(self.scratch_of(self.route())?.bytes())?;
        if whole {
            workspace.add("scratch", of_shares(self.scratch_of(self.whole_route())?.bytes())?, first, first)?;
            workspace.add("part_scratch", part, compute, behind)?;
        } else {
            workspace.add("scratch", part, compute, behind)?;
        }
        match self.route() {
            Route::Blocks if self.reads_input() => {
                let bytes = self.partials(p.n.checked_mul(self.blocks().get())?)?;
                workspace.add("partial_grid_grad", bytes, compute, last)?;
            }
            Route::Channels | Route::Bands => {
                let positions = self.cut.checked_mul(self.blocks().get())?.checked_mul(self.pixels())?;
                let image = positions.checked_mul(self.pixel_bytes())?;
                let adds = p.want_input_grad && self.route() == Route::Bands;
                if self.reads_input() {
                    let input = if image >= 4 * PAGE && adds {
                        image.checked_next_multiple_of(PAGE)?.checked_add(PAGE / 2)?
                    } else {
                        image
                    };
                    workspace.add("input_staged", input, stage, behind)?;
                }
                if adds {
                    workspace.add("input_grad_staged", image, compute, last)?;
                }
            }
            Route::PointBands => {
                let sums = self.sums_dtype().size();
                let planes = self.cut.checked_mul(p.c)?.checked_mul(self.pixels())?.checked_mul(sums)?;
                if stages {
                    workspace.add("input_staged", planes, stage, behind)?;
                }
                if self.stages_bands() {
                    workspace.add("input_grad_staged", planes, compute, last)?;
                }
            }
            _ => {}
        }
        Some(workspace)
    }

    /// Positions of an image as it is staged for shares that have parts of it: its pixels, once for each block of channels.
    #[must_use]
    pub fn staged_positions(&self) -> usize {
        self.blocks().get().saturating_mul(self.pixels())
    }

    fn pixel_bytes(&self) -> usize {
        self.pitch().saturating_mul(self.sums_dtype().size())
    }

    /// The parts of the workspace that a share uses. Shares of a phase may run at the same time: `scratch` and `write` of no two
    /// meet, and nothing writes what is read.
    #[must_use]
    pub fn share_workspace(&self, phase: usize, share: usize) -> ShareWorkspace {
        if !VECTOR_ROUTES && !HALVES {
            return ShareWorkspace::default();
        }
        let start = |name| self.common.workspace.region(name).map_or(0, |region| region.offset);
        let part = |name, run: Range<usize>, size: usize| {
            let at = |n: usize| start(name).saturating_add(n.saturating_mul(size));
            at(run.start)..at(run.end)
        };
        let own = share..share.saturating_add(1);
        let scratch = if self.whole_images() > 0 && !self.is_whole(phase) {
            part("part_scratch", own, self.part_scratch().bytes())
        } else {
            part("scratch", own, self.scratch().bytes())
        };
        let (n, pixels, whole) = (self.problem.n, self.pixels(), self.whole_images());
        // Positions of an image that is staged: pixels of each block of channels.
        let staged = self.staged_positions();
        // Regions begin with the first image that is cut.
        let part_of_cut = |name, run: Range<usize>, each: usize, size: usize| {
            let first = whole.saturating_mul(each);
            part(name, run.start.saturating_sub(first)..run.end.saturating_sub(first), size)
        };
        let pixel = self.pixel_bytes();
        let size = self.sums_dtype().size();
        let (reads, partial) = (self.reads_input(), self.partials(1).unwrap_or(0));
        // What is staged of some images.
        let input_of = |images: Range<usize>| {
            let planes = self.problem.c.saturating_mul(pixels);
            let (stages, each, size) = match self.route() {
                Route::PointBands => (self.stages_input(), planes, size),
                Route::Channels | Route::Bands => (reads, staged, pixel),
                _ => (false, 0, 0),
            };
            let run = images.start.saturating_mul(each)..images.end.saturating_mul(each);
            if stages { part_of_cut("input_staged", run, each, size) } else { 0..0 }
        };
        let one = |image: usize| image..image.saturating_add(1);
        match self.work(phase, share) {
            Work::Nothing | Work::Zero => ShareWorkspace::default(),
            Work::Direct { .. } => ShareWorkspace { scratch, ..Default::default() },
            _ if !VECTOR_ROUTES => ShareWorkspace::default(),
            Work::PointLanes { .. } | Work::Images { .. } => ShareWorkspace { scratch, ..Default::default() },
            Work::Blocks { blocks } => {
                let write = if reads { part("partial_grid_grad", blocks, partial) } else { 0..0 };
                ShareWorkspace { scratch, write, read: 0..0 }
            }
            Work::Combine { .. } => {
                let all = 0..n.saturating_mul(self.blocks().get());
                let read = if reads { part("partial_grid_grad", all, partial) } else { 0..0 };
                ShareWorkspace { read, ..Default::default() }
            }
            Work::Points { points } => {
                let images = points.start.checked_div(self.points()).unwrap_or(0)..ceil_div(points.end, self.points());
                let images = if points.is_empty() { images.start..images.start } else { images };
                ShareWorkspace { scratch, write: 0..0, read: input_of(images) }
            }
            Work::Stage { positions } => {
                let write = if reads { part_of_cut("input_staged", positions, staged, pixel) } else { 0..0 };
                ShareWorkspace { write, ..Default::default() }
            }
            Work::Pack { values } => {
                let planes = self.problem.c.saturating_mul(pixels);
                ShareWorkspace { write: part_of_cut("input_staged", values, planes, size), ..Default::default() }
            }
            Work::Band { image, rows, .. } if self.route() == Route::PointBands => {
                let planes = self.problem.c.saturating_mul(pixels);
                let first = image.saturating_mul(planes);
                let row = self.problem.c.saturating_mul(self.problem.wi);
                let at = |y: usize| first.saturating_add(y.saturating_mul(row));
                let read = input_of(one(image));
                let rows = at(rows.start)..at(rows.end);
                let write =
                    if self.stages_bands() { part_of_cut("input_grad_staged", rows, planes, size) } else { 0..0 };
                ShareWorkspace { write, read, ..Default::default() }
            }
            Work::Unpack { .. } => {
                let all = 0..self.cut.saturating_mul(self.problem.c).saturating_mul(pixels);
                ShareWorkspace { read: part("input_grad_staged", all, size), ..Default::default() }
            }
            Work::Band { image, rows, .. } => {
                // All blocks of a band lie side by side.
                let row = self.problem.wi.saturating_mul(self.blocks().get());
                let at = |y: usize| image.saturating_mul(staged).saturating_add(y.saturating_mul(row));
                let write = if self.problem.want_input_grad {
                    part_of_cut("input_grad_staged", at(rows.start)..at(rows.end), staged, pixel)
                } else {
                    0..0
                };
                ShareWorkspace { scratch, write, read: input_of(one(image)) }
            }
            Work::Channels { image, .. } => ShareWorkspace { scratch, write: 0..0, read: input_of(one(image)) },
            Work::Unstage { .. } => ShareWorkspace {
                read: part("input_grad_staged", 0..self.cut.saturating_mul(staged), pixel),
                ..Default::default()
            },
        }
    }
}
