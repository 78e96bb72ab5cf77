//! Planes as they lie: vectors are over points, pixels are reached one by one.

use core::ops::Range;

use ubtile_tiling::grid_sampler_2d_backward::CHANNEL_BLOCK;

use super::bicubic::Bicubic;
use super::cells::{ABSENT, Axes, CHUNK, Cells, Each, Sums, Window};
use super::coordinates::splat;
use super::gradient::{Lanes, halve, sixteen_pixels};
use super::grid_grad::GridGrad;
use super::planes::Planes;
use crate::element::Element;
use crate::simd::{Isa, Real, Vector};
use crate::view::Row;

/// One image with some of its channels.
#[derive(Debug)]
pub(crate) struct Direct<'a, T: Element> {
    pub(crate) axes: Axes<T::Acc>,
    /// What a point mixes, if not the four pixels around it.
    pub(crate) bicubic: Option<Bicubic>,
    pub(crate) grid: Planes<&'a [T]>,
    pub(crate) grad_output: Planes<&'a [T]>,
    pub(crate) input: Planes<&'a [T]>,
    /// Where the pixels of a plane of `input` lie.
    pub(crate) image: Window,
    /// How many channels.
    pub(crate) channels: usize,
}

/// Sums of `input_grad` of some pixels of some channels.
#[derive(Debug)]
pub(crate) struct PixelSums<'a, A> {
    pub(crate) data: &'a mut [A],
    /// Where the first channel begins.
    pub(crate) base: usize,
    /// Elements from one channel to the next.
    pub(crate) channel: usize,
    pub(crate) window: Window,
    pub(crate) channels: Range<usize>,
}

impl<T: Element> Direct<'_, T> {
    /// Gives `grid_grad` the gradients of `points`.
    #[inline(always)]
    pub(crate) fn gradients<S: Isa>(&self, isa: S, points: Range<usize>, reads: bool, grid_grad: &mut GridGrad<'_, T>) {
        for first in points.clone().step_by(CHUNK) {
            let count = points.end.wrapping_sub(first).min(CHUNK);
            let cells = self.axes.cells(isa, &self.grid, first, count);
            let mut sums = [[T::Acc::default(); 2]; CHUNK];
            if reads {
                for c in (0..self.channels).step_by(CHANNEL_BLOCK.get()) {
                    let channels = c..c.saturating_add(CHANNEL_BLOCK.get()).min(self.channels);
                    match &self.bicubic {
                        Some(bicubic) => self.sixteen(bicubic, &cells, first, count, channels, &mut sums),
                        None => self.four(isa, &cells, first, count, channels, &mut sums),
                    }
                }
            }
            grid_grad.put(&cells, first, count, &sums);
        }
    }

    /// `grad_output` of a chunk of points in a channel.
    #[inline(always)]
    fn load<S: Isa>(&self, isa: S, first: usize, count: usize, channel: usize) -> Each<T::Acc> {
        let mut values = [T::Acc::default(); CHUNK];
        let mut to = values.get_mut(..count).unwrap_or(&mut []);
        let mut rest = first..first.wrapping_add(count);
        while !rest.is_empty() {
            let (offset, run) = self.grad_output.run(&rest, CHUNK);
            let run = run.max(1);
            rest.start = rest.start.wrapping_add(run);
            let from = offset.wrapping_add(channel.wrapping_mul(self.grad_output.channel));
            let row = Row::new(self.grad_output.data.get(from..).unwrap_or(&[]), self.grad_output.column);
            let Some((now, later)) = core::mem::take(&mut to).split_at_mut_checked(run) else { break };
            let lanes = <T::Acc as Real>::V::<S>::LANES;
            for (k, to) in now.chunks_mut(lanes).enumerate() {
                row.load(isa, k.wrapping_mul(lanes), to.len()).store(to);
            }
            to = later;
        }
        values
    }

    /// Adds the sum over a block of channels, each point's four pixels a vector of points at a time.
    #[inline(always)]
    fn four<S: Isa>(
        &self,
        isa: S,
        cells: &Cells<T::Acc>,
        first: usize,
        count: usize,
        channels: Range<usize>,
        sums: &mut Sums<T::Acc>,
    ) {
        let corners = cells.corners(&self.image, count);
        let step = <T::Acc as Real>::V::<S>::LANES;
        let zero = T::Acc::default();
        let (mut along_x, mut along_y) = ([[zero; CHUNK]; 8], [[zero; CHUNK]; 8]);
        for (c, lane) in channels.zip((0..8).cycle()) {
            let go = self.load(isa, first, count, c);
            let base = self.input.base.wrapping_add(c.wrapping_mul(self.input.channel));
            let [mut nw, mut ne, mut sw, mut se] = [[zero; CHUNK]; 4];
            let pixels = nw.iter_mut().zip(&mut ne).zip(sw.iter_mut().zip(&mut se));
            for (((nw, ne), (sw, se)), &[a, b, c, d]) in pixels.zip(&corners).take(count) {
                (*nw, *ne) = (self.input.widen(base.wrapping_add(a)), self.input.widen(base.wrapping_add(b)));
                (*sw, *se) = (self.input.widen(base.wrapping_add(c)), self.input.widen(base.wrapping_add(d)));
            }
            let (Some(sum_x), Some(sum_y)) = (along_x.get_mut(lane), along_y.get_mut(lane)) else { continue };
            for at in (0..CHUNK).step_by(step) {
                let go = vector(isa, &go, at);
                let (nw, ne) = (vector(isa, &nw, at), vector(isa, &ne, at));
                let (sw, se) = (vector(isa, &sw, at), vector(isa, &se, at));
                let (bx, ax) = (vector(isa, &cells.x.before, at), vector(isa, &cells.x.after, at));
                let (by, ay) = (vector(isa, &cells.y.before, at), vector(isa, &cells.y.after, at));
                let x = vector::<S, T::Acc>(isa, sum_x, at) + go * ((ne - nw) * by + (se - sw) * ay);
                let y = vector::<S, T::Acc>(isa, sum_y, at) + go * ((sw - nw) * bx + (se - ne) * ax);
                x.store(sum_x.get_mut(at..).unwrap_or(&mut []));
                y.store(sum_y.get_mut(at..).unwrap_or(&mut []));
            }
        }
        for (k, (sum, corners)) in sums.iter_mut().zip(&corners).enumerate().take(count) {
            if corners.iter().any(|&at| at < ABSENT) {
                let [x, y] = sum;
                *x = *x + halve(along_x.each_ref().map(|lane| lane.get(k).copied().unwrap_or(zero)));
                *y = *y + halve(along_y.each_ref().map(|lane| lane.get(k).copied().unwrap_or(zero)));
            }
        }
    }

    /// Adds the sum over a block of channels, point by point with its sixteen pixels.
    #[inline(always)]
    fn sixteen(
        &self,
        bicubic: &Bicubic,
        cells: &Cells<T::Acc>,
        first: usize,
        count: usize,
        channels: Range<usize>,
        sums: &mut Sums<T::Acc>,
    ) {
        for (k, sum) in sums.iter_mut().enumerate().take(count) {
            let Some(taps) = bicubic.taps(cells, k) else { continue };
            let offsets = taps.offsets(&self.image);
            if offsets.iter().all(|&at| at >= ABSENT) {
                continue;
            }
            let mut lanes: Lanes<T::Acc> = [[T::Acc::default(); 8]; 2];
            let point = self.grad_output.offset(first.wrapping_add(k));
            for (c, lane) in channels.clone().zip((0..8).cycle()) {
                let go = self.grad_output.widen(point.wrapping_add(c.wrapping_mul(self.grad_output.channel)));
                let base = self.input.base.wrapping_add(c.wrapping_mul(self.input.channel));
                let mut pixels = [T::Acc::default(); 16];
                for (pixel, &at) in pixels.iter_mut().zip(&offsets) {
                    *pixel = self.input.widen(base.wrapping_add(at));
                }
                let slopes = sixteen_pixels(&pixels, &taps.columns, &taps.rows);
                for (lanes, slope) in lanes.iter_mut().zip(slopes) {
                    if let Some(sum) = lanes.get_mut(lane) {
                        *sum = *sum + go * slope;
                    }
                }
            }
            let ([x, y], [of_x, of_y]) = (sum, lanes);
            *x = *x + halve(of_x);
            *y = *y + halve(of_y);
        }
    }

    /// Adds what `points` give the pixels of a window.
    #[inline(always)]
    pub(crate) fn scatter<S: Isa>(&self, isa: S, points: Range<usize>, sums: &mut PixelSums<'_, T::Acc>) {
        for first in points.clone().step_by(CHUNK) {
            let count = points.end.wrapping_sub(first).min(CHUNK);
            let cells = self.axes.cells(isa, &self.grid, first, count);
            if let Some(bicubic) = &self.bicubic {
                for k in 0..count {
                    let Some(taps) = bicubic.taps(&cells, k) else { continue };
                    let (offsets, weights) = (taps.offsets(&sums.window), taps.weights());
                    let point = self.grad_output.offset(first.wrapping_add(k));
                    for c in sums.channels.clone() {
                        let at = point.wrapping_add(c.wrapping_mul(self.grad_output.channel));
                        sums.add(c, &offsets, &weights, self.grad_output.widen(at));
                    }
                }
                continue;
            }
            let corners = cells.corners(&sums.window, count);
            if corners.iter().flatten().all(|&at| at >= ABSENT) {
                continue;
            }
            let weights = cells.weights();
            for c in sums.channels.clone() {
                let go = self.load(isa, first, count, c);
                for ((corners, weights), &go) in corners.iter().zip(&weights).zip(&go).take(count) {
                    sums.add(c, corners, weights, go);
                }
            }
        }
    }
}

impl<A: Real> PixelSums<'_, A> {
    /// Adds a point's gradient to its pixels in a channel.
    #[inline(always)]
    fn add(&mut self, channel: usize, offsets: &[usize], weights: &[A], grad_output: A) {
        let index = channel.wrapping_sub(self.channels.start);
        let base = self.base.wrapping_add(index.wrapping_mul(self.channel));
        for (&at, &weight) in offsets.iter().zip(weights) {
            if let Some(sum) = self.data.get_mut(base.wrapping_add(at)) {
                *sum = *sum + weight * grad_output;
            }
        }
    }
}

/// Lanes `at..` of a chunk.
#[inline(always)]
fn vector<S: Isa, A: Real>(isa: S, values: &Each<A>, at: usize) -> A::V<S> {
    match values.get(at..) {
        Some(values) => Vector::load(isa, values),
        None => splat(isa, A::default()),
    }
}
