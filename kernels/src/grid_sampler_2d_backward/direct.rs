//! Planes as they lie: point by point, channel by channel.

use core::ops::Range;

use ubtile_tiling::grid_sampler_2d_backward::CHANNEL_BLOCK;

use super::bicubic::{Bicubic, first_of, keys_of, weights};
use super::cells::{Axes, CHUNK, Cells, any_present};
use super::gradient::{Lanes, four_pixels, halve, sixteen_pixels};
use super::grid_grad::GridGrad;
use super::planes::Planes;
use super::windows::{ABSENT, Window};
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

    /// Gives `grid_grad` the gradients of a chunk. A few channels at a time: those of a point may lie so far apart that a cache does
    /// not hold all of them until the next one.
    fn gradients(&self, cells: &Cells<T::Acc>, first: usize, reads: bool, grid_grad: &mut GridGrad<'_, T>) {
        let mut sums = [[T::Acc::default(); CHUNK]; 2];
        let [sums_x, sums_y] = &mut sums;
        let mut corners = [[ABSENT; 4]; CHUNK];
        cells.corners(&self.image, &mut corners);
        let mut lanes = [Lanes::default(); CHUNK];
        for c in (0..if reads { self.channels } else { 0 }).step_by(8) {
            for (k, (corners, lanes)) in corners.iter().zip(&mut lanes).enumerate().take(cells.count) {
                let point = self.grad_output.offset(first.wrapping_add(k));
                if BICUBIC && let Some(bicubic) = &self.bicubic {
                    let (Some(first), Some([columns, rows])) = (first_of(cells, k), keys_of(cells, k)) else {
                        continue;
                    };
                    let offsets = bicubic.offsets(first, &self.image);
                    self.sum_eight(c, point, &offsets, |pixels| sixteen_pixels(pixels, &columns, &rows), lanes);
                } else if let Some(distances) = cells.distances(k) {
                    self.sum_eight(c, point, corners, |pixels| four_pixels(pixels, distances), lanes);
                }
            }
            let next = c.wrapping_add(8);
            if next % CHANNEL_BLOCK == 0 || next >= self.channels {
                for ((x, y), lanes) in sums_x.iter_mut().zip(&mut *sums_y).zip(&mut lanes) {
                    let [along_x, along_y] = core::mem::take(lanes);
                    (*x, *y) = (*x + halve(along_x), *y + halve(along_y));
                }
            }
        }
        grid_grad.put(self.level, cells, first, &mut sums);
    }

    /// Adds what `slopes` makes of a point's pixels in up to eight channels from `c` on to their lanes; nothing where none is there.
    fn sum_eight<const N: usize>(
        &self,
        c: usize,
        point: usize,
        offsets: &[usize; N],
        slopes: impl Fn(&[T::Acc; N]) -> [T::Acc; 2],
        [along_x, along_y]: &mut Lanes<T::Acc, 8>,
    ) {
        if offsets.iter().all(|&at| at >= ABSENT) {
            return;
        }
        let mut point = point.wrapping_add(c.wrapping_mul(self.grad_output.channel));
        let mut base = self.input.base.wrapping_add(c.wrapping_mul(self.input.channel));
        for (along_x, along_y) in along_x.iter_mut().zip(along_y).take(self.channels.wrapping_sub(c)) {
            let pixels = offsets.map(|at| self.input.widen(base.wrapping_add(at)));
            let (go, [x, y]) = (self.grad_output.widen(point), slopes(&pixels));
            (*along_x, *along_y) = (*along_x + go * x, *along_y + go * y);
            point = point.wrapping_add(self.grad_output.channel);
            base = base.wrapping_add(self.input.channel);
        }
    }

    /// Adds what the points of a chunk mix.
    fn scatter(&self, cells: &Cells<T::Acc>, first: usize, sums: &mut PixelSums<'_, T::Acc>) {
        let mut corners = [[ABSENT; 4]; CHUNK];
        cells.corners(&sums.window, &mut corners);
        // A window may be a small part of the image.
        if self.bicubic.is_none() && !any_present(&corners) {
            return;
        }
        let channels = sums.channels.clone();
        for c in channels.clone().step_by(8) {
            let some = c..channels.end.min(c.wrapping_add(8));
            for (k, corners) in corners.iter().enumerate().take(cells.count) {
                let point = self.grad_output.offset(first.wrapping_add(k));
                if BICUBIC && let Some(bicubic) = &self.bicubic {
                    let (Some(first), Some([columns, rows])) = (first_of(cells, k), keys_of(cells, k)) else {
                        continue;
                    };
                    let offsets = bicubic.offsets(first, &sums.window);
                    self.add(point, &offsets, &weights(&columns, &rows), sums, some.clone());
                } else if let Some(distances) = cells.distances(k) {
                    self.add(point, corners, &cells.weights(distances), sums, some.clone());
                }
            }
        }
    }

    /// Adds what a point gives its pixels in some channels.
    fn add<const N: usize>(
        &self,
        point: usize,
        offsets: &[usize; N],
        weights: &[T::Acc; N],
        sums: &mut PixelSums<'_, T::Acc>,
        channels: Range<usize>,
    ) {
        let in_front = channels.start.wrapping_sub(sums.channels.start);
        let mut base = sums.base.wrapping_add(in_front.wrapping_mul(sums.channel));
        for c in channels {
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
