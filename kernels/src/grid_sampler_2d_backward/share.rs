//! One share of a phase: which images, channels and points it works on, and where they lie.

use core::ops::Range;

use ubtile_tiling::grid_sampler_2d_backward::{Plan, Route, ShareRange, Work};

use super::cells::{CHUNK, Window};
use super::direct::PixelSums;
use super::grid_grad::GridGrad;
use super::planes::Planes;
use super::sources::Sources;
use super::staging::{stage, unstage};
use super::stored::Stored;
use crate::level::Kernel;
use crate::simd::{Isa, Real, Vector};

/// A share and its memory.
#[derive(Debug)]
pub(crate) struct Share<'a, T> {
    pub(crate) sources: Sources<'a, T>,
    pub(crate) work: Work,
    /// The elements `range` of the outputs.
    pub(crate) input_grad: &'a mut [T],
    pub(crate) grid_grad: &'a mut [T],
    pub(crate) range: ShareRange,
    /// Intermediates: the share's own, what it makes for the next phase, what an earlier phase made.
    pub(crate) scratch: &'a mut [u8],
    pub(crate) write: &'a mut [u8],
    pub(crate) read: &'a [u8],
}

impl<T: Stored> Kernel for Share<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Isa>(mut self, isa: S) {
        match self.work.clone() {
            Work::Nothing => {}
            Work::Zero => self.zero(),
            Work::Direct { images } => images.for_each(
                #[inline(always)]
                |n| self.direct(isa, n),
            ),
            Work::Combine { points } => self.combine(isa, points),
            // Vectors are over channels: a pixel of up to four takes vectors of at most four lanes.
            work if self.sources.plan.pitch() > 4 => self.staged::<S, 8>(isa, work),
            work if <T::Acc as Real>::V::<S>::LANES <= 4 => self.staged::<S, 4>(isa, work),
            work => self.staged::<S::Quad, 4>(isa.quad(), work),
        }
    }
}

impl<T: Stored> Share<'_, T> {
    fn zero(&mut self) {
        let p = *self.sources.plan.problem();
        for n in 0..p.n {
            let zero = T::narrow(T::Acc::default());
            input_grad(self.sources.plan, self.input_grad, &self.range, n, 0).fill(p.c, 0..self.sources.plan.pixels(), zero);
            grid_grad(self.sources.plan, self.grid_grad, &self.range, n).fill(2, 0..self.sources.plan.points(), zero);
        }
    }

    /// An image in place.
    #[inline(always)]
    fn direct<S: Isa>(&mut self, isa: S, n: usize) {
        let (plan, image) = (self.sources.plan, self.sources.direct(n));
        let (p, points) = (plan.problem(), 0..plan.points());
        if p.want_grid_grad {
            let out = grid_grad(plan, self.grid_grad, &self.range, n);
            let mut gradient = GridGrad { out, totals: &mut [], first_point: 0, first: true, last: true };
            image.gradients(isa, points.clone(), plan.reads_input(), &mut gradient);
        }
        let (true, Route::Direct(window)) = (p.want_input_grad, plan.route()) else { return };
        let mut out = input_grad(plan, self.input_grad, &self.range, n, 0);
        let zero = T::Acc::default();
        if !plan.sums_apart() {
            let [_, channel, row, column] = p.input_grad_strides;
            out.fill(p.c, 0..plan.pixels(), T::narrow(zero));
            if let Some(data) = T::as_sums(out.data) {
                let window = self.sources.window([row, column]);
                image.scatter(isa, points, &mut PixelSums { data, base: out.base, channel, window, channels: 0..p.c });
            }
            let mut out = input_grad(plan, self.input_grad, &self.range, n, 0);
            out.canonical(p.c, 0..plan.pixels());
            return;
        }
        let mut stack = [zero; 64];
        let sums = match window.sums() {
            0..=64 => &mut stack,
            _ => cast_mut(self.scratch),
        };
        for c in (0..p.c).step_by(window.channels.max(1)) {
            let channels = c..p.c.min(c.wrapping_add(window.channels));
            for y in (0..p.hi).step_by(window.rows.max(1)) {
                for x in (0..p.wi).step_by(window.columns.max(1)) {
                    let size = [window.rows.min(p.hi.wrapping_sub(y)), window.columns.min(p.wi.wrapping_sub(x))];
                    let [rows, columns] = size;
                    let channel = rows.wrapping_mul(columns);
                    let window = Window { first: [y, x], size, strides: [columns, 1] };
                    sums.fill(zero);
                    let mut sums = PixelSums { data: sums, base: 0, channel, window, channels: channels.clone() };
                    image.scatter(isa, points.clone(), &mut sums);
                    let at = |index: usize| index.wrapping_mul(columns);
                    for (index, (c, row)) in channels.clone().flat_map(|c| (0..rows).map(move |row| (c, row))).enumerate() {
                        let from = sums.data.get(at(index)..at(index.wrapping_add(1))).unwrap_or(&[]);
                        let position = y.wrapping_add(row).wrapping_mul(p.wi).wrapping_add(x);
                        out.set_row(c, position, from);
                    }
                }
            }
        }
    }

    #[inline(always)]
    fn staged<S: Isa, const GROUP: usize>(&mut self, isa: S, work: Work) {
        match work {
            Work::Images { images } => {
                let blocks = self.sources.plan.blocks();
                let first = images.start.wrapping_mul(blocks.get());
                for block in first..images.end.wrapping_mul(blocks.get()) {
                    self.block::<S, GROUP>(isa, block / blocks, block % blocks, None);
                }
            }
            Work::Blocks { blocks: run } => {
                let blocks = self.sources.plan.blocks();
                for (part, block) in run.enumerate() {
                    self.block::<S, GROUP>(isa, block / blocks, block % blocks, Some(part));
                }
            }
            Work::Stage { pixels } => self.stage(isa, pixels),
            Work::Band { image, rows, points } => self.band::<S, GROUP>(isa, image, rows, points),
            Work::Unstage { planes } => self.unstage(isa, planes),
            _ => {}
        }
    }

    /// A block of an image's channels; its part of `grid_grad` goes to a part of what the share makes, if so.
    #[inline(always)]
    fn block<S: Isa, const GROUP: usize>(&mut self, isa: S, n: usize, b: usize, part: Option<usize>) {
        let plan = self.sources.plan;
        let (p, pitch, points) = (plan.problem(), plan.pitch(), 0..plan.points());
        let (first, channels) = self.sources.block(b);
        let layout = plan.scratch();
        let mut scratch = Front::new(self.scratch);
        let (input, sums) = (cast_mut(scratch.take(layout.input)), cast_mut::<T::Acc>(scratch.take(layout.input_grad)));
        let (tile, totals) = (cast_mut(scratch.take(layout.tile)), cast_mut(scratch.take(layout.totals)));
        let staged = plan.pixels().wrapping_mul(pitch);
        if plan.reads_input() {
            stage(isa, &self.sources.input(n, first), channels, 0..plan.pixels(), input, pitch);
        }
        let input = if plan.reads_input() { input.get(..staged).unwrap_or(&[]) } else { &[] };
        let sums = sums.get_mut(..staged).unwrap_or(&mut []);
        sums.fill(T::Acc::default());
        let image = self.sources.channels_last(n, b, input);
        let last = b.wrapping_add(1) == plan.blocks().get();
        let mut gradient = match part {
            None => {
                let out = grid_grad(plan, self.grid_grad, &self.range, n);
                GridGrad { out, totals, first_point: 0, first: b == 0, last }
            }
            Some(part) => {
                let parts = cast_mut::<[T::Acc; 2]>(self.write);
                let start = part.wrapping_mul(plan.points());
                let totals = parts.get_mut(start..start.wrapping_add(plan.points())).unwrap_or(&mut []);
                let out = grid_grad(plan, &mut [], &self.range, n);
                GridGrad { out, totals, first_point: 0, first: true, last: false }
            }
        };
        image.run::<S, GROUP>(isa, points, tile, sums, p.want_grid_grad.then_some(&mut gradient));
        if p.want_input_grad {
            let mut out = input_grad(plan, self.input_grad, &self.range, n, first);
            unstage(isa, sums, pitch, &mut out, channels, 0..plan.pixels());
        }
    }

    /// Adds the blocks' parts of `grid_grad`.
    #[inline(always)]
    fn combine<S: Isa>(&mut self, isa: S, points: Range<usize>) {
        let plan = self.sources.plan;
        let parts = cast::<[T::Acc; 2]>(self.read);
        let axes = self.sources.axes();
        let (blocks, of_image) = (plan.blocks().get(), plan.points());
        let mut at = points.start;
        while at < points.end {
            let n = at.checked_div(of_image).unwrap_or(0);
            let first = at.wrapping_sub(n.wrapping_mul(of_image));
            let count = points.end.wrapping_sub(at).min(of_image.wrapping_sub(first)).min(CHUNK);
            at = at.wrapping_add(count.max(1));
            let cells = axes.cells(isa, &self.sources.grid(n), first, count);
            let mut sums = [[T::Acc::default(); 2]; CHUNK];
            for b in 0..blocks {
                let start = n.wrapping_mul(blocks).wrapping_add(b).wrapping_mul(of_image).wrapping_add(first);
                let part = parts.get(start..).unwrap_or(&[]);
                for ([x, y], &[part_x, part_y]) in sums.iter_mut().zip(part).take(count) {
                    (*x, *y) = (*x + part_x, *y + part_y);
                }
            }
            let out = grid_grad(plan, self.grid_grad, &self.range, n);
            GridGrad { out, totals: &mut [], first_point: 0, first: true, last: true }.put(&cells, first, count, &sums);
        }
    }

    /// Stages pixels of all images.
    #[inline(always)]
    fn stage<S: Isa>(&mut self, isa: S, pixels: Range<usize>) {
        let plan = self.sources.plan;
        let (of_image, pitch) = (plan.pixels(), plan.pitch());
        let mut staged = Front::new(cast_mut(self.write));
        let mut at = pixels.start;
        while at < pixels.end {
            let n = at.checked_div(of_image).unwrap_or(0);
            let first = at.wrapping_sub(n.wrapping_mul(of_image));
            let count = pixels.end.wrapping_sub(at).min(of_image.wrapping_sub(first)).max(1);
            let done = at.wrapping_sub(pixels.start).wrapping_mul(pitch);
            let to = staged.take(done..done.wrapping_add(count.wrapping_mul(pitch)));
            at = at.wrapping_add(count);
            let planes = self.sources.input(n, 0);
            stage(isa, &planes, plan.problem().c, first..first.wrapping_add(count), to, pitch);
        }
    }

    /// Some rows of `input_grad`, staged, and the gradients of some points.
    #[inline(always)]
    fn band<S: Isa, const GROUP: usize>(&mut self, isa: S, n: usize, rows: Range<usize>, own: Range<usize>) {
        let plan = self.sources.plan;
        let input = if plan.reads_input() { cast(self.read) } else { &[] };
        let sums = cast_mut::<T::Acc>(self.write);
        let tile = cast_mut(self.scratch);
        sums.fill(T::Acc::default());
        let mut image = self.sources.channels_last(n, 0, input);
        image.window.first = [rows.start, 0];
        image.window.size = [rows.len(), plan.problem().wi];
        let out = grid_grad(plan, self.grid_grad, &self.range, n);
        let mut gradient = GridGrad { out, totals: &mut [], first_point: 0, first: true, last: true };
        let runs = [(0..own.start, false), (own.clone(), true), (own.end..plan.points(), false)];
        for (run, makes) in runs {
            if makes || plan.problem().want_input_grad {
                let makes = makes && plan.problem().want_grid_grad;
                image.run::<S, GROUP>(isa, run, tile, sums, makes.then_some(&mut gradient));
            }
        }
    }

    /// Brings staged planes to where they belong.
    #[inline(always)]
    fn unstage<S: Isa>(&mut self, isa: S, planes: Range<usize>) {
        let plan = self.sources.plan;
        let (channels, pixels, pitch) = (plan.problem().c, plan.pixels(), plan.pitch());
        let staged = cast::<T::Acc>(self.read);
        let mut at = planes.start;
        while at < planes.end {
            let n = at.checked_div(channels).unwrap_or(0);
            let c = at.wrapping_sub(n.wrapping_mul(channels));
            let count = planes.end.wrapping_sub(at).min(channels.wrapping_sub(c)).max(1);
            at = at.wrapping_add(count);
            let from = n.wrapping_mul(pixels).wrapping_mul(pitch).wrapping_add(c);
            let mut out = input_grad(plan, self.input_grad, &self.range, n, c);
            unstage(isa, staged.get(from..).unwrap_or(&[]), pitch, &mut out, count, 0..pixels);
        }
    }
}

/// `input_grad` of an image from a channel on, in a share's part of the tensor.
fn input_grad<'a, T>(plan: &Plan, data: &'a mut [T], range: &ShareRange, n: usize, c: usize) -> Planes<&'a mut [T]> {
    let (p, [image, channel, row, column]) = (plan.problem(), plan.problem().input_grad_strides);
    let base = n.wrapping_mul(image).wrapping_add(c.wrapping_mul(channel)).wrapping_sub(range.input_grad.start);
    Planes::new(data, base, [p.hi, p.wi], [channel, row, column])
}

/// `grid_grad` of an image, in a share's part of the tensor; its channels are x and y.
fn grid_grad<'a, T>(plan: &Plan, data: &'a mut [T], range: &ShareRange, n: usize) -> Planes<&'a mut [T]> {
    let (p, [image, row, column, axis]) = (plan.problem(), plan.problem().grid_grad_strides);
    let base = n.wrapping_mul(image).wrapping_sub(range.grid_grad.start);
    Planes::new(data, base, [p.ho, p.wo], [axis, row, column])
}

/// Bytes as numbers; the entry points have checked that they are.
fn cast_mut<A: bytemuck::Pod>(bytes: &mut [u8]) -> &mut [A] {
    bytemuck::try_cast_slice_mut(bytes).unwrap_or_default()
}

/// Bytes as numbers, to read.
fn cast<A: bytemuck::Pod>(bytes: &[u8]) -> &[A] {
    bytemuck::try_cast_slice(bytes).unwrap_or_default()
}

/// A slice that is handed out in parts, ascending.
#[derive(Debug)]
pub(crate) struct Front<'a, T> {
    rest: &'a mut [T],
    done: usize,
}

impl<'a, T> Front<'a, T> {
    pub(crate) fn new(rest: &'a mut [T]) -> Self {
        Self { rest, done: 0 }
    }

    /// The elements `range`, behind those taken before; nothing where there are not so many.
    pub(crate) fn take(&mut self, range: Range<usize>) -> &'a mut [T] {
        if range.is_empty() {
            return &mut [];
        }
        let behind = core::mem::take(&mut self.rest).split_at_mut_checked(range.start.wrapping_sub(self.done));
        let (mine, rest) = behind.and_then(|(_, from)| from.split_at_mut_checked(range.len())).unwrap_or_default();
        (self.rest, self.done) = (rest, range.end);
        mine
    }
}
