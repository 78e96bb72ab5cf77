//! Planes as they lie: point by point, channel by channel.

use core::ops::Range;

use ubtile_tiling::grid_sampler_2d_backward::CHANNEL_BLOCK;

use super::bicubic::{Bicubic, first_of, keys_of, weights};
use super::cells::{ABSENT, Axes, CHUNK, Cells, Window, any_present};
use super::gradient::{four_pixels, halve, sixteen_pixels};
use super::grid_grad::GridGrad;
use super::planes::Planes;
use crate::built::BICUBIC;
use crate::element::Element;
use crate::level::Level;

/// One image with some of its channels.
#[derive(Debug)]
pub(crate) struct Direct<'a, T: Element> {
    pub(crate) level: Level,
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
    /// Visits `points`: gives `grid_grad` their gradients, which are 0 where they do not depend on the image (not `reads`), and
    /// adds to `sums` what they mix.
    pub(crate) fn visit(
        &self,
        points: Range<usize>,
        reads: bool,
        mut grid_grad: Option<&mut GridGrad<'_, T>>,
        mut sums: Option<&mut PixelSums<'_, T::Acc>>,
    ) {
        let mut first = points.start;
        while first < points.end {
            let cells = self.axes.cells(self.level, &self.grid, first, points.end.wrapping_sub(first).min(CHUNK));
            if let Some(grid_grad) = &mut grid_grad {
                self.gradients(&cells, first, reads, grid_grad);
            }
            if let Some(sums) = &mut sums {
                self.scatter(&cells, first, sums);
            }
            first = first.saturating_add(CHUNK);
        }
    }

    /// Gives `grid_grad` the gradients of a chunk.
    fn gradients(&self, cells: &Cells<T::Acc>, first: usize, reads: bool, grid_grad: &mut GridGrad<'_, T>) {
        let mut sums = [[T::Acc::default(); CHUNK]; 2];
        let [sums_x, sums_y] = &mut sums;
        let mut corners = [[ABSENT; 4]; CHUNK];
        cells.corners(&self.image, &mut corners);
        let each = sums_x.iter_mut().zip(sums_y).zip(&corners).enumerate();
        for (k, ((x, y), corners)) in each.take(if reads { cells.count } else { 0 }) {
            let point = self.grad_output.offset(first.wrapping_add(k));
            if BICUBIC && let Some(bicubic) = &self.bicubic {
                let (Some(first), Some([columns, rows])) = (first_of(cells, k), keys_of(cells, k)) else { continue };
                let offsets = bicubic.offsets(first, &self.image);
                [*x, *y] = self.sum(point, &offsets, |pixels| sixteen_pixels(pixels, &columns, &rows));
            } else if let Some(distances) = cells.distances(k) {
                [*x, *y] = self.sum(point, corners, |pixels| four_pixels(pixels, distances));
            }
        }
        grid_grad.put(self.level, cells, first, &mut sums);
    }

    /// Sum over the channels of what `slopes` makes of a point's pixels; 0 where none of them is there.
    fn sum<const N: usize>(
        &self,
        point: usize,
        offsets: &[usize; N],
        slopes: impl Fn(&[T::Acc; N]) -> [T::Acc; 2],
    ) -> [T::Acc; 2] {
        let zero = T::Acc::default();
        let mut total = [zero; 2];
        if offsets.iter().all(|&at| at >= ABSENT) {
            return total;
        }
        let (mut point, mut base) = (point, self.input.base);
        let mut left = self.channels;
        while left > 0 {
            let block = left.min(CHANNEL_BLOCK.get());
            left = left.wrapping_sub(block);
            let mut lanes = [[zero; 8]; 2];
            for lane in (0..8).cycle().take(block) {
                let mut pixels = [zero; N];
                for (pixel, &at) in pixels.iter_mut().zip(offsets) {
                    *pixel = self.input.widen(base.wrapping_add(at));
                }
                let (go, [x, y]) = (self.grad_output.widen(point), slopes(&pixels));
                for (lanes, slope) in lanes.iter_mut().zip([x, y]) {
                    if let Some(sum) = lanes.get_mut(lane) {
                        *sum = *sum + go * slope;
                    }
                }
                point = point.wrapping_add(self.grad_output.channel);
                base = base.wrapping_add(self.input.channel);
            }
            for (total, lanes) in total.iter_mut().zip(lanes) {
                *total = *total + halve(lanes);
            }
        }
        total
    }

    /// Adds what the points of a chunk mix.
    fn scatter(&self, cells: &Cells<T::Acc>, first: usize, sums: &mut PixelSums<'_, T::Acc>) {
        let mut corners = [[ABSENT; 4]; CHUNK];
        cells.corners(&sums.window, &mut corners);
        // A window may be a small part of the image.
        if self.bicubic.is_none() && !any_present(&corners) {
            return;
        }
        for (k, corners) in corners.iter().enumerate().take(cells.count) {
            let point = self.grad_output.offset(first.wrapping_add(k));
            if BICUBIC && let Some(bicubic) = &self.bicubic {
                let (Some(first), Some([columns, rows])) = (first_of(cells, k), keys_of(cells, k)) else { continue };
                self.add(point, &bicubic.offsets(first, &sums.window), &weights(&columns, &rows), sums);
            } else if let Some(distances) = cells.distances(k) {
                self.add(point, corners, &cells.weights(distances), sums);
            }
        }
    }

    /// Adds what a point gives its pixels in each channel.
    fn add<const N: usize>(
        &self,
        point: usize,
        offsets: &[usize; N],
        weights: &[T::Acc; N],
        sums: &mut PixelSums<'_, T::Acc>,
    ) {
        let mut base = sums.base;
        for c in sums.channels.clone() {
            let go = self.grad_output.widen(point.wrapping_add(c.wrapping_mul(self.grad_output.channel)));
            for (&at, &weight) in offsets.iter().zip(weights) {
                if let Some(sum) = sums.data.get_mut(base.wrapping_add(at)) {
                    *sum = *sum + weight * go;
                }
            }
            base = base.wrapping_add(sums.channel);
        }
    }
}
