//! Planes as they lie: vectors are over points, pixels are reached one by one.

use core::ops::Range;

use ubtile_tiling::grid_sampler_2d_backward::CHANNEL_BLOCK;

use super::bicubic::Bicubic;
use super::cells::{ABSENT, Axes, CHUNK, Cells, Sums, Window};
use super::gradient::{Lanes, halve, sixteen_pixels};
use super::grid_grad::GridGrad;
use super::planes::Planes;
use crate::element::Element;
use crate::level::Kernel;
use crate::simd::{Isa, Real, Vector};

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

/// Gives `grid_grad` the gradients of points.
#[derive(Debug)]
pub(crate) struct Gradients<'a, 'b, T: Element> {
    pub(crate) image: &'b Direct<'a, T>,
    pub(crate) points: Range<usize>,
    /// Whether they depend on the image.
    pub(crate) reads: bool,
    pub(crate) grid_grad: GridGrad<'b, T>,
}

/// Adds what points give the pixels of a window.
#[derive(Debug)]
pub(crate) struct Scatter<'a, 'b, T: Element> {
    pub(crate) image: &'b Direct<'a, T>,
    pub(crate) points: Range<usize>,
    pub(crate) sums: PixelSums<'b, T::Acc>,
}

impl<T: Element> Kernel for Gradients<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Isa>(mut self, isa: S) {
        let image = self.image;
        for first in self.points.clone().step_by(CHUNK) {
            let count = self.points.end.wrapping_sub(first).min(CHUNK);
            let cells = image.axes.cells(isa, &image.grid, first, count);
            let mut sums = [[T::Acc::default(); 2]; CHUNK];
            for c in (0..if self.reads { image.channels } else { 0 }).step_by(CHANNEL_BLOCK.get()) {
                let channels = c..c.saturating_add(CHANNEL_BLOCK.get()).min(image.channels);
                match &image.bicubic {
                    Some(bicubic) => image.sixteen(bicubic, &cells, first, count, channels, &mut sums),
                    None => image.four(isa, &cells, first, count, channels, &mut sums),
                }
            }
            self.grid_grad.put(&cells, first, count, &sums);
        }
    }
}

impl<T: Element> Kernel for Scatter<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Isa>(self, isa: S) {
        let Self { image, points, mut sums } = self;
        for first in points.clone().step_by(CHUNK) {
            let count = points.end.wrapping_sub(first).min(CHUNK);
            let cells = image.axes.cells(isa, &image.grid, first, count);
            let mut corners = [[ABSENT; 4]; CHUNK];
            if image.bicubic.is_none() {
                corners = cells.corners(&sums.window, count);
                // A window may be a small part of the image.
                if corners.iter().flatten().all(|&at| at >= ABSENT) {
                    continue;
                }
            }
            let weights = cells.weights();
            for k in 0..count {
                let point = image.grad_output.offset(first.wrapping_add(k));
                if let Some(bicubic) = &image.bicubic {
                    let Some(taps) = bicubic.taps(&cells, k) else { continue };
                    sums.add(image, point, &taps.offsets(&sums.window), &taps.weights());
                } else if let (Some(corners), Some(weights)) = (corners.get(k), weights.get(k)) {
                    sums.add(image, point, corners, weights);
                }
            }
        }
    }
}

impl<T: Element> Direct<'_, T> {
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
        let lanes = <T::Acc as Real>::V::<S>::LANES;
        let zero = T::Acc::default();
        let mut points = [0; CHUNK];
        for (k, point) in points.iter_mut().enumerate().take(count) {
            *point = self.grad_output.offset(first.wrapping_add(k));
        }
        let (mut along_x, mut along_y) = ([[zero; CHUNK]; 8], [[zero; CHUNK]; 8]);
        for (c, lane) in channels.zip((0..8).cycle()) {
            let mut go = [zero; CHUNK];
            let channel = c.wrapping_mul(self.grad_output.channel);
            for (go, &point) in go.iter_mut().zip(&points).take(count) {
                *go = self.grad_output.widen(point.wrapping_add(channel));
            }
            let base = self.input.base.wrapping_add(c.wrapping_mul(self.input.channel));
            let [mut nw, mut ne, mut sw, mut se] = [[zero; CHUNK]; 4];
            let pixels = nw.iter_mut().zip(&mut ne).zip(sw.iter_mut().zip(&mut se));
            for (((nw, ne), (sw, se)), &[a, b, c, d]) in pixels.zip(&corners).take(count) {
                (*nw, *ne) = (self.input.widen(base.wrapping_add(a)), self.input.widen(base.wrapping_add(b)));
                (*sw, *se) = (self.input.widen(base.wrapping_add(c)), self.input.widen(base.wrapping_add(d)));
            }
            let (Some(sum_x), Some(sum_y)) = (along_x.get_mut(lane), along_y.get_mut(lane)) else { continue };
            let sums = sum_x.chunks_exact_mut(lanes).zip(sum_y.chunks_exact_mut(lanes)).zip(go.chunks_exact(lanes));
            let north = nw.chunks_exact(lanes).zip(ne.chunks_exact(lanes));
            let south = sw.chunks_exact(lanes).zip(se.chunks_exact(lanes));
            let before = cells.x.before.chunks_exact(lanes).zip(cells.y.before.chunks_exact(lanes));
            let after = cells.x.after.chunks_exact(lanes).zip(cells.y.after.chunks_exact(lanes));
            let vectors = sums.zip(north.zip(south)).zip(before.zip(after));
            for ((((sum_x, sum_y), go), ((nw, ne), (sw, se))), ((bx, by), (ax, ay))) in vectors {
                let go = vector::<S, T::Acc>(isa, go);
                let (nw, ne) = (vector::<S, T::Acc>(isa, nw), vector::<S, T::Acc>(isa, ne));
                let (sw, se) = (vector::<S, T::Acc>(isa, sw), vector::<S, T::Acc>(isa, se));
                let x = (ne - nw) * vector::<S, T::Acc>(isa, by) + (se - sw) * vector::<S, T::Acc>(isa, ay);
                let y = (sw - nw) * vector::<S, T::Acc>(isa, bx) + (se - ne) * vector::<S, T::Acc>(isa, ax);
                (vector::<S, T::Acc>(isa, sum_x) + go * x).store(sum_x);
                (vector::<S, T::Acc>(isa, sum_y) + go * y).store(sum_y);
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
}

impl<A: Real> PixelSums<'_, A> {
    /// Adds what the point whose `grad_output` begins at `point` gives its pixels in each channel.
    #[inline(always)]
    fn add<T: Element<Acc = A>>(&mut self, image: &Direct<'_, T>, point: usize, offsets: &[usize], weights: &[A]) {
        let mut base = self.base;
        for c in self.channels.clone() {
            let go = image.grad_output.widen(point.wrapping_add(c.wrapping_mul(image.grad_output.channel)));
            for (&at, &weight) in offsets.iter().zip(weights) {
                if let Some(sum) = self.data.get_mut(base.wrapping_add(at)) {
                    *sum = *sum + weight * go;
                }
            }
            base = base.wrapping_add(self.channel);
        }
    }
}

#[inline(always)]
fn vector<S: Isa, A: Real>(isa: S, values: &[A]) -> A::V<S> {
    Vector::load(isa, values)
}
