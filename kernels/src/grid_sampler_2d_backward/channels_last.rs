//! Channels side by side: a pixel's channels are one run of memory, and vectors are over channels.

use super::cells::{Axes, CHUNK, Cells, Each, Window};
use super::gradient;
use super::planes::Planes;
use super::staging::stage;
use crate::element::Element;
use crate::simd::Isa;

/// One image and one block of channels, staged.
#[derive(Debug)]
pub(crate) struct Staged<'a, T: Element> {
    pub(crate) axes: Axes<T::Acc>,
    pub(crate) grid: Planes<&'a [T]>,
    /// From the block's first channel on.
    pub(crate) grad_output: Planes<&'a [T]>,
    pub(crate) channels: usize,
    /// Values of a staged position: `channels` rounded up to `GROUP`.
    pub(crate) pitch: usize,
    /// The staged image; empty when no gradient of the grid is wanted.
    pub(crate) input: &'a [T::Acc],
    pub(crate) window: Window,
}

impl<T: Element> Staged<'_, T> {
    /// Works on `count` points from `first` on, at most a chunk: adds to `input_grad` (staged, of the same window) and gives
    /// each point's sum over the channels. `tile` holds a chunk of staged `grad_output`.
    #[inline(always)]
    pub(crate) fn chunk<S: Isa, const GROUP: usize>(
        &self,
        isa: S,
        first: usize,
        count: usize,
        tile: &mut [T::Acc],
        input_grad: &mut [T::Acc],
    ) -> (Cells<T::Acc>, Each<[T::Acc; 2]>) {
        let pitch = self.pitch;
        let cells = self.axes.cells(isa, &self.grid, first, count);
        stage(isa, &self.grad_output, self.channels, first..first.wrapping_add(count), tile, pitch);
        let corners = cells.corners(&self.window, count);
        let mut sums = [[T::Acc::default(); 2]; CHUNK];
        if !self.input.is_empty() {
            let zeros = [T::Acc::default(); 64];
            let zeros = zeros.get(..pitch).unwrap_or(&zeros);
            let distances = cells.x.before.iter().zip(&cells.x.after).zip(cells.y.before.iter().zip(&cells.y.after));
            let points = tile.chunks_exact(pitch.max(1)).zip(&corners).zip(distances);
            for (((go, corners), ((&bx, &ax), (&by, &ay))), sum) in points.zip(&mut sums).take(count) {
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
                *sum = gradient::bilinear::<S, T::Acc, GROUP>(isa, go, pixels, [bx, by], [ax, ay]).map(gradient::halve);
            }
        }
        if !input_grad.is_empty() {
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
        (cells, sums)
    }
}
