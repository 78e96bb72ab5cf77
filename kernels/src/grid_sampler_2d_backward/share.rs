//! One share of a phase: which images, channels and points it works on, and where they lie.

use core::ops::Range;

use ubtile_tiling::grid_sampler_2d_backward::{Interpolation, Plan, Route, Runs, Work};

use super::anywhere::lie_as_pixels;
use super::beyond::Beyond;
use super::cells::CHUNK;
use super::direct::PixelSums;
use super::dispatch;
use super::grid_grad::GridGrad;
use super::planes::{Canonical, Planes};
use super::point_lanes::{Kept, Packed};
use super::sources::Sources;
use super::staging::{Stage, Unpack, Unstage};
use super::stored::Stored;
use super::windows::Window;
use crate::built::CHANNELS_LAST;
use crate::parallel::Front;

/// With fewer channels, to find the cells of all points again for a part of them takes longer than a larger image.
const MANY: usize = 32;

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
            Work::Stage { pixels } => self.stage(pixels),
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
        for n in 0..plan.problem().n {
            self.input_grad(n, 0).fill(plan.problem().c, 0..plan.pixels(), zero);
            self.grid_grad(n).fill(2, 0..plan.points(), zero);
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

    /// A block of an image's channels; its part of `grid_grad` goes to a part of what the share makes, if so.
    fn block(&mut self, n: usize, b: usize, part: Option<usize>) {
        let (plan, level) = (self.sources.plan, self.sources.level);
        let (p, (first, channels)) = (plan.problem(), self.sources.block(b));
        let (pitch, points) = (plan.pitch_of(channels), plan.points());
        let (layout, pixels) = (plan.scratch(), 0..plan.pixels());
        let out_of_points = grid_planes(plan, self.grid_grad, self.first[1], n);
        let mut scratch = Front::new(&mut *self.scratch);
        let (input, sums) = (cast_mut(scratch.take(layout.input)), cast_mut::<T::Acc>(scratch.take(layout.input_grad)));
        let (tile, totals) = (cast_mut(scratch.take(layout.tile)), cast_mut(scratch.take(layout.totals)));
        let staged = plan.pixels().wrapping_mul(pitch);
        let input = input.get_mut(..if plan.reads_input() { staged } else { 0 }).unwrap_or(&mut []);
        if plan.reads_input() {
            let planes = self.sources.input(n, first);
            dispatch(level, Stage { planes, channels, positions: pixels.clone(), staged: &mut *input, pitch });
        }
        let input = &*input;
        let mut grid_grad = match part {
            None => {
                let last = b.wrapping_add(1) == plan.blocks().get();
                GridGrad { out: out_of_points, totals, first: b == 0, last }
            }
            Some(part) => {
                let start = part.wrapping_mul(points);
                let totals = cast_mut::<[T::Acc; 2]>(&mut *self.write).get_mut(start..start.wrapping_add(points));
                GridGrad { out: out_of_points, totals: totals.unwrap_or(&mut []), first: true, last: false }
            }
        };
        let mut grid_grad = p.want_grid_grad.then_some(&mut grid_grad);
        let apart = p.want_input_grad && !plan.reads_input() && channels >= MANY;
        let most = if apart { channels_at_once::<T::Acc>(plan.pixels()).min(pitch) } else { pitch }.max(1);
        for from in (0..channels).step_by(most) {
            let count = most.min(channels.wrapping_sub(from));
            let run = first.wrapping_add(from)..first.wrapping_add(from).wrapping_add(count);
            let planes = planes(plan, self.input_grad[0], self.first[0], n, run.start);
            // What gradients there are come with the first run.
            add_channels(self.sources, n, run, input, [&mut *sums, &mut *tile], planes, grid_grad.take());
        }
    }

    /// Adds the blocks' parts of `grid_grad`.
    fn combine(&mut self, points: Range<usize>) {
        let (plan, sources) = (self.sources.plan, self.sources);
        let (all, of_image) = (cast::<[T::Acc; 2]>(self.read), plan.points());
        let image = plan.blocks().get().wrapping_mul(of_image);
        for (n, points) in by_image(points, of_image) {
            let start = n.wrapping_mul(image);
            let parts = all.get(start..start.wrapping_add(image)).unwrap_or(&[]);
            let mut grid_grad = GridGrad { out: self.grid_grad(n), totals: &mut [], first: true, last: true };
            for first in points.clone().step_by(CHUNK) {
                let count = points.end.wrapping_sub(first).min(CHUNK);
                let cells = sources.axes().cells(sources.level, &sources.grid(n), first, count);
                let mut sums = [[T::Acc::default(); CHUNK]; 2];
                let [x, y] = &mut sums;
                for part in parts.chunks_exact(of_image.max(1)) {
                    let part = part.get(first..).unwrap_or(&[]).iter().take(count);
                    for ((x, y), &[part_x, part_y]) in x.iter_mut().zip(&mut *y).zip(part) {
                        (*x, *y) = (*x + part_x, *y + part_y);
                    }
                }
                grid_grad.put(sources.level, &cells, first, &mut sums);
            }
        }
    }

    /// Stages pixels of all images.
    fn stage(&mut self, pixels: Range<usize>) {
        let (plan, pitch) = (self.sources.plan, self.sources.plan.pitch());
        let mut staged = cast_mut(&mut *self.write);
        for (n, positions) in by_image(pixels, plan.pixels()) {
            let Some((now, later)) = staged.split_at_mut_checked(positions.len().wrapping_mul(pitch)) else { break };
            let (planes, channels) = (self.sources.input(n, 0), plan.problem().c);
            dispatch(self.sources.level, Stage { planes, channels, positions, staged: now, pitch });
            staged = later;
        }
    }

    /// Some channels of `input_grad`, staged by themselves, and the gradients of some points.
    fn channels(&mut self, n: usize, channels: Range<usize>, own: Range<usize>) {
        let (plan, sources) = (self.sources.plan, self.sources);
        let (p, layout) = (plan.problem(), plan.part_scratch());
        let mut scratch = Front::new(&mut *self.scratch);
        let (sums, tile) = (cast_mut(scratch.take(layout.input_grad)), cast_mut(scratch.take(layout.tile)));
        let planes = planes(plan, self.input_grad[0], self.first[0], n, channels.start);
        add_channels(sources, n, channels, &[], [sums, &mut *tile], planes, None);
        let out = grid_planes(plan, self.grid_grad, self.first[1], n);
        let mut grid_grad = GridGrad { out, totals: &mut [], first: true, last: true };
        let input = if plan.reads_input() { cast(self.read) } else { &[] };
        let image = sources.channels_last(n, 0..p.c, plan.pitch(), input);
        image.run(own, tile, &mut [], Some(&mut grid_grad));
    }

    /// Some rows of `input_grad`, staged, and the gradients of some points.
    fn band(&mut self, n: usize, rows: Range<usize>, own: Range<usize>) {
        let plan = self.sources.plan;
        let p = plan.problem();
        let input = if plan.reads_input() { cast(self.read) } else { &[] };
        let mut image = self.sources.channels_last(n, 0..p.c, plan.pitch(), input);
        (image.window.first, image.window.size) = ([rows.start, 0], [rows.len(), p.wi]);
        image.beyond = Beyond::new(p, &rows);
        let out = grid_planes(plan, self.grid_grad, self.first[1], n);
        let (sums, tile) = (cast_mut::<T::Acc>(&mut *self.write), cast_mut(&mut *self.scratch));
        sums.fill(T::Acc::default());
        let mut grid_grad = GridGrad { out, totals: &mut [], first: true, last: true };
        let runs = [(0..own.start, false), (own.clone(), p.want_grid_grad), (own.end..plan.points(), false)];
        for (points, makes) in runs {
            if makes || p.want_input_grad {
                let grid_grad = makes.then_some(&mut grid_grad);
                image.run(points, tile, sums, grid_grad);
            }
        }
    }

    /// Brings staged planes to where they belong.
    fn unstage(&mut self, run: Range<usize>) {
        let (plan, level) = (self.sources.plan, self.sources.level);
        let (c, pitch, pixels) = (plan.problem().c, plan.pitch(), plan.pixels());
        let image = pixels.wrapping_mul(pitch);
        let all = cast::<T::Acc>(self.read);
        for (n, channels) in by_image(run, c) {
            let start = n.wrapping_sub(plan.whole_images()).wrapping_mul(image);
            let staged = all.get(start..start.wrapping_add(image)).unwrap_or(&[]);
            let planes = self.input_grad(n, 0);
            dispatch(level, Unstage { staged, pitch, planes, channels, positions: 0..pixels });
        }
    }

    pub(super) fn input_grad(&mut self, n: usize, c: usize) -> Planes<&mut [T]> {
        planes(self.sources.plan, self.input_grad[0], self.first[0], n, c)
    }

    fn grid_grad(&mut self, n: usize) -> Planes<&mut [T]> {
        grid_planes(self.sources.plan, self.grid_grad, self.first[1], n)
    }
}

/// Adds all points of an image to some channels of `input_grad`, staged in `sums`, and brings these to their planes, if they are wanted;
/// gives `grid_grad`, if any, what the channels add to it. `tile` holds a chunk of staged `grad_output`.
fn add_channels<T: Stored>(
    sources: Sources<'_, T>,
    n: usize,
    channels: Range<usize>,
    input: &[T::Acc],
    [sums, tile]: [&mut [T::Acc]; 2],
    planes: Planes<&mut [T]>,
    grid_grad: Option<&mut GridGrad<'_, T>>,
) {
    let (plan, level) = (sources.plan, sources.level);
    // The last ones may be fewer.
    let (count, pitch) = (channels.len(), plan.pitch_of(channels.len()));
    let sums = sums.get_mut(..plan.pixels().wrapping_mul(pitch)).unwrap_or(&mut []);
    sums.fill(T::Acc::default());
    sources.channels_last(n, channels, pitch, input).run(0..plan.points(), tile, sums, grid_grad);
    if plan.problem().want_input_grad {
        dispatch(level, Unstage { staged: sums, pitch, planes, channels: 0..count, positions: 0..plan.pixels() });
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

/// Channels that are staged together where gradients of points do not need all of them: as many as keep the staged image of so
/// many pixels in a cache next to the core.
fn channels_at_once<A>(pixels: usize) -> usize {
    const NEAR: usize = 2 << 20;
    let fit = (NEAR / size_of::<A>().max(1)).checked_div(pixels).unwrap_or(usize::MAX);
    (fit & !7).max(8)
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
