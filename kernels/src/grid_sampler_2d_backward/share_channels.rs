//! A share's channels side by side: blocks of them, parts of an image, or bands of rows.

use core::ops::Range;

use super::beyond::Beyond;
use super::cells::CHUNK;
use super::dispatch;
use super::grid_grad::GridGrad;
use super::planes::Planes;
use super::share::{Share, by_image, cast, cast_mut, grid_planes, planes};
use super::sources::Sources;
use super::staging::{Stage, Unstage};
use super::stored::Stored;
use crate::parallel::Front;

/// With fewer channels, to find the cells of all points again for a part of them takes longer than a larger image.
const MANY: usize = 32;

impl<T: Stored> Share<'_, T> {
    /// A block of an image's channels; its part of `grid_grad` goes to a part of what the share makes, if so.
    pub(super) fn block(&mut self, n: usize, b: usize, part: Option<usize>) {
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
    pub(super) fn combine(&mut self, points: Range<usize>) {
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

    /// Stages pixels of all images, a block of channels after the other.
    pub(super) fn stage(&mut self, positions: Range<usize>) {
        let (plan, pitch, blocks) = (self.sources.plan, self.sources.plan.pitch(), self.sources.plan.blocks());
        let mut staged = cast_mut(&mut *self.write);
        for (block, positions) in by_image(positions, plan.pixels()) {
            let Some((now, later)) = staged.split_at_mut_checked(positions.len().wrapping_mul(pitch)) else { break };
            let (first, channels) = self.sources.block(block % blocks);
            let planes = self.sources.input(block / blocks, first);
            dispatch(self.sources.level, Stage { planes, channels, positions, staged: now, pitch });
            staged = later;
        }
    }

    /// Some channels of `input_grad`, staged by themselves, and the gradients of some points.
    pub(super) fn channels(&mut self, n: usize, channels: Range<usize>, own: Range<usize>) {
        let (plan, sources) = (self.sources.plan, self.sources);
        let (p, layout) = (plan.problem(), plan.part_scratch());
        let mut scratch = Front::new(&mut *self.scratch);
        let (sums, tile) = (cast_mut(scratch.take(layout.input_grad)), cast_mut(scratch.take(layout.tile)));
        if !channels.is_empty() {
            let planes = planes(plan, self.input_grad[0], self.first[0], n, channels.start);
            add_channels(sources, n, channels, &[], [sums, &mut *tile], planes, None);
        }
        let out = grid_planes(plan, self.grid_grad, self.first[1], n);
        let mut grid_grad = GridGrad { out, totals: &mut [], first: true, last: true };
        let input = if plan.reads_input() { cast(self.read) } else { &[] };
        let image = sources.channels_last(n, 0..p.c, plan.pitch(), input);
        image.run(own, tile, &mut [], Some(&mut grid_grad));
    }

    /// Some rows of `input_grad`, staged, and the gradients of some points.
    pub(super) fn band(&mut self, n: usize, rows: Range<usize>, own: Range<usize>) {
        let plan = self.sources.plan;
        let (p, pitch, blocks) = (plan.problem(), plan.pitch(), plan.blocks().get());
        let layout = plan.part_scratch();
        let mut scratch = Front::new(&mut *self.scratch);
        let (tile, totals) = (cast_mut(scratch.take(layout.tile)), cast_mut(scratch.take(layout.totals)));
        let sums = cast_mut::<T::Acc>(&mut *self.write);
        sums.fill(T::Acc::default());
        let mut sums = Front::new(sums);
        let of_image = plan.pixels().wrapping_mul(pitch);
        let of_band = if p.want_input_grad { rows.len().wrapping_mul(p.wi).wrapping_mul(pitch) } else { 0 };
        for b in 0..blocks {
            let part = |each: usize| b.wrapping_mul(each)..b.wrapping_mul(each).wrapping_add(each);
            let (first, channels) = self.sources.block(b);
            let input = if plan.reads_input() { cast(self.read).get(part(of_image)).unwrap_or(&[]) } else { &[] };
            let channels = first..first.wrapping_add(channels);
            let mut image = self.sources.channels_last(n, channels, pitch, input);
            (image.window.first, image.window.size) = ([rows.start, 0], [rows.len(), p.wi]);
            image.beyond = Beyond::new(p, &rows);
            let out = grid_planes(plan, self.grid_grad, self.first[1], n);
            let last = b.wrapping_add(1) == blocks;
            let mut grid_grad = GridGrad { out, totals: &mut *totals, first: b == 0, last };
            let sums = sums.take(part(of_band));
            let runs = [(0..own.start, false), (own.clone(), p.want_grid_grad), (own.end..plan.points(), false)];
            for (points, makes) in runs {
                if makes || p.want_input_grad && !rows.is_empty() {
                    let grid_grad = makes.then_some(&mut grid_grad);
                    image.run(points, tile, sums, grid_grad);
                }
            }
        }
    }

    /// Brings staged planes to where they belong.
    pub(super) fn unstage(&mut self, run: Range<usize>) {
        let (plan, level) = (self.sources.plan, self.sources.level);
        let (p, pitch, blocks) = (plan.problem(), plan.pitch(), plan.blocks().get());
        let all = cast::<T::Acc>(self.read);
        for (n, channels) in by_image(run, p.c) {
            let image = n.wrapping_sub(plan.whole_images()).wrapping_mul(plan.staged_positions());
            for b in 0..blocks {
                let (first, count) = self.sources.block(b);
                let of_block = channels.start.max(first)..channels.end.min(first.wrapping_add(count));
                if of_block.is_empty() {
                    continue;
                }
                for rows in plan.bands() {
                    let positions = rows.start.wrapping_mul(p.wi)..rows.end.wrapping_mul(p.wi);
                    // In front lie images, the bands above, and the blocks before.
                    let above = positions.start.wrapping_mul(blocks);
                    let before = image.wrapping_add(above).wrapping_add(b.wrapping_mul(positions.len()));
                    let start = before.wrapping_mul(pitch);
                    let end = start.wrapping_add(positions.len().wrapping_mul(pitch));
                    let staged = all.get(start..end).unwrap_or(&[]);
                    let planes = self.input_grad(n, first);
                    let channels = of_block.start.wrapping_sub(first)..of_block.end.wrapping_sub(first);
                    dispatch(level, Unstage { staged, pitch, planes, channels, positions });
                }
            }
        }
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

/// Channels that are staged together where gradients of points do not need all of them: as many as keep the staged image of so
/// many pixels in a cache next to the core.
fn channels_at_once<A>(pixels: usize) -> usize {
    const NEAR: usize = 2 << 20;
    let fit = (NEAR / size_of::<A>().max(1)).checked_div(pixels).unwrap_or(usize::MAX);
    (fit & !7).max(8)
}
