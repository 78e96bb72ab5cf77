//! Channels side by side: a pixel's channels are one run of memory, and vectors are over channels.

use core::ops::Range;

use super::bicubic::Bicubic;
use super::cells::{ABSENT, Axes, CHUNK, Cells, Sums, Window};
use super::gradient;
use super::grid_grad::GridGrad;
use super::planes::Planes;
use super::staging::stage;
use crate::element::Element;
use crate::simd::Isa;

/// One image and one block of its channels, staged.
#[derive(Debug)]
pub(crate) struct ChannelsLast<'a, T: Element> {
    pub(crate) axes: Axes<T::Acc>,
    /// What a point mixes, if not the four pixels around it.
    pub(crate) bicubic: Option<Bicubic>,
    pub(crate) grid: Planes<&'a [T]>,
    /// From the block's first channel on.
    pub(crate) grad_output: Planes<&'a [T]>,
    pub(crate) channels: usize,
    /// Values of a staged position: `channels` rounded up to a multiple of the group.
    pub(crate) pitch: usize,
    /// The staged image; empty when it is not read.
    pub(crate) input: &'a [T::Acc],
    /// Where its pixels lie.
    pub(crate) image: Window,
    /// Where the pixels of `input_grad` lie, which may be some rows only.
    pub(crate) window: Window,
}

impl<T: Element> ChannelsLast<'_, T> {
    /// Works on `points`: adds to the staged `input_grad` unless it is empty, and gives `grid_grad`, if any, their gradients.
    /// `tile` holds a chunk of staged `grad_output`.
    #[inline(always)]
    pub(crate) fn run<S: Isa, const GROUP: usize>(
        &self,
        isa: S,
        points: Range<usize>,
        tile: &mut [T::Acc],
        input_grad: &mut [T::Acc],
        mut grid_grad: Option<&mut GridGrad<'_, T>>,
    ) {
        for first in points.clone().step_by(CHUNK) {
            let count = points.end.wrapping_sub(first).min(CHUNK);
            let cells = self.axes.cells(isa, &self.grid, first, count);
            let mut sums = [[T::Acc::default(); 2]; CHUNK];
            let reads = grid_grad.is_some() && !self.input.is_empty();
            if self.bicubic.is_some() {
                stage(isa, &self.grad_output, self.channels, first..first.wrapping_add(count), tile, self.pitch);
                self.sixteen::<S, GROUP>(isa, &cells, count, tile, input_grad, reads.then_some(&mut sums));
            } else {
                self.four::<S, GROUP>(isa, &cells, first, count, tile, input_grad, reads.then_some(&mut sums));
            }
            if let Some(grid_grad) = grid_grad.as_mut() {
                grid_grad.put(&cells, first, count, &sums);
            }
        }
    }

    /// Values of a staged position; a constant where `GROUP` is one.
    #[inline(always)]
    const fn pitch<const GROUP: usize>(&self) -> usize {
        if GROUP == 4 { 4 } else { self.pitch }
    }

    /// A chunk of points that mix up to four pixels.
    #[inline(always)]
    #[expect(clippy::too_many_arguments, reason = "the loop's state, inlined")]
    fn four<S: Isa, const GROUP: usize>(
        &self,
        isa: S,
        cells: &Cells<T::Acc>,
        first: usize,
        count: usize,
        tile: &mut [T::Acc],
        input_grad: &mut [T::Acc],
        sums: Option<&mut Sums<T::Acc>>,
    ) {
        let pitch = self.pitch::<GROUP>();
        let shared = self.window == self.image;
        let corners = cells.corners(&self.window, count);
        let mut touched = false;
        for corner in corners.iter().take(count) {
            for &at in corner {
                touched |= at < ABSENT;
                isa.prefetch(input_grad, at);
                if shared && sums.is_some() {
                    isa.prefetch(self.input, at);
                }
            }
        }
        // A band's share looks at many points that lie outside of the band.
        if touched || sums.is_some() {
            stage(isa, &self.grad_output, self.channels, first..first.wrapping_add(count), tile, pitch);
        }
        if let Some(sums) = sums {
            if shared {
                self.gradients::<S, GROUP>(isa, cells, &corners, count, tile, sums);
            } else {
                let corners = cells.corners(&self.image, count);
                self.gradients::<S, GROUP>(isa, cells, &corners, count, tile, sums);
            }
        }
        if touched && !input_grad.is_empty() {
            let weights = cells.weights();
            let points = tile.chunks_exact(pitch.max(1)).zip(&corners).zip(&weights);
            for ((go, corners), weights) in points.take(count) {
                for (&at, &weight) in corners.iter().zip(weights) {
                    if let Some(pixel) = input_grad.get_mut(at..at.wrapping_add(pitch)) {
                        gradient::scatter::<S, T::Acc, GROUP>(isa, pixel, weight, go);
                    }
                }
            }
        }
    }

    #[inline(always)]
    fn gradients<S: Isa, const GROUP: usize>(
        &self,
        isa: S,
        cells: &Cells<T::Acc>,
        corners: &[[usize; 4]; CHUNK],
        count: usize,
        tile: &[T::Acc],
        sums: &mut Sums<T::Acc>,
    ) {
        let pitch = self.pitch::<GROUP>();
        let zeros = [T::Acc::default(); 64];
        let zeros = zeros.get(..pitch).unwrap_or(&zeros);
        let distances = cells.x.before.iter().zip(&cells.x.after).zip(cells.y.before.iter().zip(&cells.y.after));
        let points = tile.chunks_exact(pitch.max(1)).zip(corners).zip(distances);
        for (((go, corners), ((&bx, &ax), (&by, &ay))), sum) in points.zip(sums).take(count) {
            let pixels = corners.map(
                #[inline(always)]
                |at| self.input.get(at..at.wrapping_add(pitch)),
            );
            if pixels.iter().all(Option::is_none) {
                continue;
            }
            let pixels = pixels.map(
                #[inline(always)]
                |pixel| pixel.unwrap_or(zeros),
            );
            let [x, y] = gradient::bilinear::<S, T::Acc, GROUP>(isa, go, pixels, [bx, by], [ax, ay]);
            *sum = [gradient::halve(x), gradient::halve(y)];
        }
    }

    /// A chunk of points that mix up to sixteen pixels.
    #[inline(always)]
    fn sixteen<S: Isa, const GROUP: usize>(
        &self,
        isa: S,
        cells: &Cells<T::Acc>,
        count: usize,
        tile: &[T::Acc],
        input_grad: &mut [T::Acc],
        mut sums: Option<&mut Sums<T::Acc>>,
    ) {
        let Some(bicubic) = &self.bicubic else { return };
        let pitch = self.pitch::<GROUP>();
        let zeros = [T::Acc::default(); 64];
        let zeros = zeros.get(..pitch).unwrap_or(&zeros);
        for (k, go) in tile.chunks_exact(pitch.max(1)).enumerate().take(count) {
            let Some(taps) = bicubic.taps(cells, k) else { continue };
            if let Some(sum) = sums.as_mut().and_then(|sums| sums.get_mut(k)) {
                let offsets = taps.offsets(&self.image);
                if offsets.iter().all(|&at| at >= ABSENT) {
                    continue;
                }
                let mut pixels = [zeros; 16];
                for (pixel, &at) in pixels.iter_mut().zip(&offsets) {
                    *pixel = self.input.get(at..at.wrapping_add(pitch)).unwrap_or(zeros);
                }
                let [x, y] = gradient::bicubic::<S, T::Acc, GROUP>(isa, go, &pixels, &taps.columns, &taps.rows);
                *sum = [gradient::halve(x), gradient::halve(y)];
            }
            if !input_grad.is_empty() {
                for (at, weight) in taps.offsets(&self.window).into_iter().zip(taps.weights()) {
                    if let Some(pixel) = input_grad.get_mut(at..at.wrapping_add(pitch)) {
                        gradient::scatter::<S, T::Acc, GROUP>(isa, pixel, weight, go);
                    }
                }
            }
        }
    }
}
