//! One share of a phase: which images, channels and points it works on, and where they lie.

use core::ops::Range;

use ubtile_tiling::grid_sampler_2d_backward::{Interpolation, Plan, Route, Runs, Work};

use super::anywhere::lie_as_pixels;
use super::direct::PixelSums;
use super::dispatch;
use super::grid_grad::GridGrad;
use super::planes::{Canonical, Packed, Planes};
use super::point_lanes::Kept;
use super::sources::Sources;
use super::staging::Unpack;
use super::stored::Stored;
use super::windows::Window;
use crate::built::CHANNELS_LAST;

/// Most runs of `input_grad`: more than one have only bands.
pub(crate) const RUNS: usize = if CHANNELS_LAST { Runs::MOST } else { 1 };

/// One run alone.
pub(crate) fn one_run<T>(run: &mut [T]) -> [&mut [T]; RUNS] {
    let mut runs = core::array::from_fn(|_| &mut [][..]);
    runs[0] = run;
    runs
}

/// A share and its memory.
#[derive(Debug)]
pub(crate) struct Share<'a, T> {
    pub(crate) sources: Sources<'a, T>,
    pub(crate) work: Work,
    /// Its elements of the outputs. All but bands have one run of `input_grad`, which is the first.
    pub(crate) input_grad: [&'a mut [T]; RUNS],
    pub(crate) grid_grad: &'a mut [T],
    /// The first element of each output that it has.
    pub(crate) first: [usize; 2],
    /// Intermediates: the share's own, what it makes for the next phase, what an earlier phase made.
    pub(crate) scratch: &'a mut [u8],
    pub(crate) write: &'a mut [u8],
    pub(crate) read: &'a [u8],
}

impl<T: Stored> Share<'_, T> {
    pub(crate) fn run(mut self) {
        let plan = self.sources.plan;
        let (blocks, interpolation) = (plan.blocks(), plan.problem().interpolation);
        match self.work.clone() {
            Work::Nothing => {}
            Work::Zero => self.zero(),
            Work::Direct { images } => images.for_each(|n| self.direct(n)),
            // What follows has been refused if it is not built.
            _ if !CHANNELS_LAST => {}
            Work::PointLanes { images, channels, points } if interpolation == Interpolation::Nearest => {
                images.for_each(|n| self.nearest(n, channels.clone(), points.clone()));
            }
            Work::PointLanes { images, channels, points } => {
                let kept = &mut Kept::new();
                images.for_each(|n| self.point_lanes(n, channels.clone(), points.clone(), kept));
            }
            Work::Images { images } => {
                let kept = plan.problem().c < 4 || self.sources.level.habits().keeps_four_planes;
                let if_smooth = plan.suits_smooth_lanes() && kept;
                for n in images {
                    if if_smooth && lie_as_pixels(&self.sources, n) {
                        self.point_lanes(n, 0..plan.problem().c, 0..plan.points(), &mut Kept::new());
                    } else {
                        (0..blocks.get()).for_each(|b| self.block(n, b, None));
                    }
                }
            }
            Work::Blocks { blocks: run } => {
                for (part, block) in run.enumerate() {
                    self.block(block / blocks, block % blocks, Some(part));
                }
            }
            Work::Channels { image, channels, points } => self.channels(image, channels, points),
            Work::Combine { points } => self.combine(points),
            Work::Points { points } => self.points(points),
            Work::Stage { positions } => self.stage(positions),
            Work::Pack { values } => self.pack(values),
            Work::Band { image, rows, points } if plan.route() == Route::PointBands => {
                self.point_band(image, rows, points);
            }
            Work::Band { image, rows, points } => self.band(image, rows, points),
            Work::Unstage { planes } => self.unstage(planes),
            Work::Unpack { rows } => self.unpack(rows),
        }
    }

    fn zero(&mut self) {
        let (plan, zero) = (self.sources.plan, T::narrow(T::Acc::default()));
        let p = plan.problem();
        let channels = p.c.wrapping_mul(usize::from(p.want_input_grad));
        let points = plan.points().wrapping_mul(usize::from(p.want_grid_grad));
        // Images without cells are none, however many there are.
        if channels | points > 0 {
            for n in 0..p.n {
                self.grid_grad(n).fill(2, 0..points, zero);
                self.input_grad(n, 0).fill(channels, 0..plan.pixels(), zero);
            }
        }
    }

    /// An image in place.
    fn direct(&mut self, n: usize) {
        let Self { sources, input_grad, grid_grad, first, scratch, .. } = self;
        let (plan, level, image) = (sources.plan, sources.level, sources.direct(n));
        let (p, points, reads) = (plan.problem(), 0..plan.points(), plan.reads_input());
        let out = grid_planes(plan, grid_grad, first[1], n);
        let mut grid_grad = p.want_grid_grad.then_some(GridGrad { out, totals: &mut [], first: true, last: true });
        let Route::Direct(window) = plan.route() else { return };
        if !p.want_input_grad {
            return image.visit(points, reads, grid_grad.as_mut(), None);
        }
        let zero = T::Acc::default();
        let mut out = planes(plan, input_grad[0], first[0], n, 0);
        if !T::IS_HALF {
            let [_, channel, row, column] = p.input_grad_strides;
            let window = sources.window([row, column]);
            out.fill(p.c, 0..plan.pixels(), T::narrow(zero));
            if let Some(data) = T::as_sums(&mut *out.data) {
                let mut sums = PixelSums { data, base: out.base, channel, window, channels: 0..p.c };
                image.visit(points, reads, grid_grad.as_mut(), Some(&mut sums));
            }
            return dispatch(level, Canonical { planes: out, channels: p.c, positions: 0..plan.pixels() });
        }
        let mut stack = [zero; 64];
        let sums = if window.sums() <= stack.len() { &mut stack } else { cast_mut(scratch) };
        for c in (0..p.c).step_by(window.channels.max(1)) {
            let channels = c..p.c.min(c.wrapping_add(window.channels));
            for y in (0..p.hi).step_by(window.rows.max(1)) {
                for x in (0..p.wi).step_by(window.columns.max(1)) {
                    let size = [window.rows.min(p.hi.wrapping_sub(y)), window.columns.min(p.wi.wrapping_sub(x))];
                    let window = Window { first: [y, x], size, strides: [size[1], 1] };
                    sums.fill(zero);
                    let channel = size[0].wrapping_mul(size[1]);
                    let mut data = PixelSums { data: &mut *sums, base: 0, channel, window, channels: channels.clone() };
                    // The gradient of the grid is complete behind the first pass.
                    image.visit(points.clone(), reads, grid_grad.take().as_mut(), Some(&mut data));
                    let mut rows = sums.chunks_exact(size[1].max(1));
                    for (c, row) in channels.clone().flat_map(|c| (0..size[0]).map(move |row| (c, row))) {
                        let position = y.wrapping_add(row).wrapping_mul(p.wi).wrapping_add(x);
                        out.set_row(c, position, rows.next().unwrap_or(&[]));
                    }
                }
            }
        }
    }

    /// `grid_grad` of points of one image after the other.
    fn points(&mut self, points: Range<usize>) {
        let plan = self.sources.plan;
        let images = by_image(points.clone(), plan.points()).count();
        // What is staged of one of them.
        let (read, staged) = (self.read, self.read.len().checked_div(images).unwrap_or(0));
        let nearest = plan.problem().interpolation == Interpolation::Nearest;
        for (i, (n, own)) in by_image(points, plan.points()).enumerate() {
            self.read = read.get(i.wrapping_mul(staged)..).and_then(|read| read.get(..staged)).unwrap_or(&[]);
            match plan.route() {
                Route::PointLanes | Route::PointBands if nearest => self.nearest(n, 0..0, own),
                Route::PointLanes => self.point_lanes(n, 0..0, own, &mut Kept::new()),
                Route::PointBands => self.lane_gradients(n, own),
                Route::Bands => self.band(n, 0..0, own),
                _ => self.channels(n, 0..0, own),
            }
        }
    }

    pub(super) fn input_grad(&mut self, n: usize, c: usize) -> Planes<&mut [T]> {
        planes(self.sources.plan, self.input_grad[0], self.first[0], n, c)
    }

    pub(super) fn grid_grad(&mut self, n: usize) -> Planes<&mut [T]> {
        grid_planes(self.sources.plan, self.grid_grad, self.first[1], n)
    }
}

/// `input_grad` of an image from a channel on, in a run of the tensor's elements from `first` on.
pub(super) fn planes<'a, T>(plan: &Plan, data: &'a mut [T], first: usize, n: usize, c: usize) -> Planes<&'a mut [T]> {
    let (p, [image, channel, row, column]) = (plan.problem(), plan.problem().input_grad_strides);
    let base = n.wrapping_mul(image).wrapping_add(c.wrapping_mul(channel)).wrapping_sub(first);
    Planes::new(data, base, [p.hi, p.wi], [channel, row, column])
}

/// Adds up the first `channels` of `planes`, in place or `staged`. `add` writes sums, and says whether all terms were finite.
pub(super) fn sum_up<T: Stored>(
    sources: Sources<'_, T>,
    planes: Planes<&mut [T]>,
    channels: usize,
    staged: &mut [T::Acc],
    add: impl FnOnce(Packed<&mut [T::Acc]>) -> bool,
) {
    let (plan, level, pixels) = (sources.plan, sources.level, sources.plan.pixels());
    if !plan.problem().want_input_grad {
        add(Packed { data: &mut [], channel: pixels });
    } else if plan.stages_input_grad() {
        let staged = staged.get_mut(..channels.wrapping_mul(pixels)).unwrap_or(&mut []);
        add(Packed { data: &mut *staged, channel: pixels });
        dispatch(level, Unpack { packed: staged, channels, positions: 0..pixels, planes });
    } else {
        let data = planes.data.get_mut(planes.base..).and_then(T::as_sums).unwrap_or(&mut []);
        if !add(Packed { data, channel: planes.channel }) {
            dispatch(level, Canonical { planes, channels, positions: 0..pixels });
        }
    }
}

/// `grid_grad` of an image, in a run of the tensor's elements from `first` on; its channels are x and y.
pub(super) fn grid_planes<'a, T>(plan: &Plan, data: &'a mut [T], first: usize, n: usize) -> Planes<&'a mut [T]> {
    let (p, [image, row, column, axis]) = (plan.problem(), plan.problem().grid_grad_strides);
    let base = n.wrapping_mul(image).wrapping_sub(first);
    Planes::new(data, base, [p.ho, p.wo], [axis, row, column])
}

/// A run that counts over all images as runs in each of them, which have `each`.
pub(super) fn by_image(run: Range<usize>, each: usize) -> impl Iterator<Item = (usize, Range<usize>)> {
    let (mut at, end) = (run.start, run.end);
    core::iter::from_fn(move || {
        let n = at.checked_div(each).filter(|_| at < end)?;
        let first = n.wrapping_mul(each);
        let within = at.wrapping_sub(first)..end.wrapping_sub(first).min(each);
        at = first.wrapping_add(each);
        Some((n, within))
    })
}

/// Bytes as numbers; the entry points have seen to length and alignment.
pub(super) fn cast_mut<A: bytemuck::Pod>(bytes: &mut [u8]) -> &mut [A] {
    bytemuck::try_cast_slice_mut(bytes).unwrap_or_default()
}

/// Bytes as numbers, to read.
pub(super) fn cast<A: bytemuck::Pod>(bytes: &[u8]) -> &[A] {
    bytemuck::try_cast_slice(bytes).unwrap_or_default()
}
