//! Channels side by side: a pixel's channels are one run of memory, and vectors are over channels.

use core::ops::Range;

use super::bicubic::Bicubic;
use super::cells::{ABSENT, Axes, CHUNK, Cells, Sums, Window};
use super::gradient;
use super::grid_grad::GridGrad;
use super::planes::Planes;
use super::staging::stage;
use crate::element::Element;
use crate::level::Kernel;
use crate::simd::{Isa, Real, Vector};

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
    /// Values of a staged position: `channels` rounded up to 4, or to a multiple of 8.
    pub(crate) pitch: usize,
    /// The staged image; empty when it is not read.
    pub(crate) input: &'a [T::Acc],
    /// Where its pixels lie.
    pub(crate) image: Window,
    /// Where the pixels of `input_grad` lie, which may be some rows only.
    pub(crate) window: Window,
}

/// Works on points: adds to the staged `input_grad` unless it is empty, and gives `grid_grad`, if any, their gradients.
#[derive(Debug)]
pub(crate) struct Points<'a, 'b, T: Element> {
    pub(crate) image: &'b ChannelsLast<'a, T>,
    pub(crate) points: Range<usize>,
    /// A chunk of staged `grad_output`.
    pub(crate) tile: &'b mut [T::Acc],
    pub(crate) input_grad: &'b mut [T::Acc],
    pub(crate) grid_grad: Option<&'b mut GridGrad<'a, T>>,
}

impl<T: Element> Kernel for Points<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Isa>(self, isa: S) {
        // A pixel of up to four channels takes vectors of at most four lanes.
        if self.image.pitch > 4 {
            self.grouped::<S, 8>(isa);
        } else if <T::Acc as Real>::V::<S>::LANES <= 4 {
            self.grouped::<S, 4>(isa);
        } else {
            self.grouped::<S::Quad, 4>(isa.quad());
        }
    }
}

impl<T: Element> Points<'_, '_, T> {
    #[inline(always)]
    fn grouped<S: Isa, const GROUP: usize>(self, isa: S) {
        let Self { image, points, tile, input_grad, mut grid_grad } = self;
        for first in points.clone().step_by(CHUNK) {
            let run = first..points.end.min(first.saturating_add(CHUNK));
            let count = run.len();
            let cells = image.axes.cells(isa, &image.grid, first, count);
            let mut sums = [[T::Acc::default(); 2]; CHUNK];
            let wanted = if grid_grad.is_some() && !image.input.is_empty() { Some(&mut sums) } else { None };
            if image.bicubic.is_some() {
                image.sixteen::<S, GROUP>(isa, &cells, run, tile, input_grad, wanted);
            } else {
                image.four::<S, GROUP>(isa, &cells, run, tile, input_grad, wanted);
            }
            if let Some(grid_grad) = grid_grad.as_mut() {
                grid_grad.put(&cells, first, count, &sums);
            }
        }
    }
}

impl<T: Element> ChannelsLast<'_, T> {
    /// Values of a staged position; a constant where `GROUP` is one.
    #[inline(always)]
    const fn pitch<const GROUP: usize>(&self) -> usize {
        if GROUP == 4 { 4 } else { self.pitch }
    }

    /// A chunk of points that mix up to four pixels.
    #[inline(always)]
    fn four<S: Isa, const GROUP: usize>(
        &self,
        isa: S,
        cells: &Cells<T::Acc>,
        points: Range<usize>,
        tile: &mut [T::Acc],
        input_grad: &mut [T::Acc],
        sums: Option<&mut Sums<T::Acc>>,
    ) {
        let (pitch, count) = (self.pitch::<GROUP>(), points.len());
        let mut corners = cells.corners(&self.image, count);
        let shared = self.window == self.image;
        for &at in corners.iter().flatten() {
            isa.prefetch(self.input, at);
            if shared {
                isa.prefetch(input_grad, at);
            }
        }
        let reads = sums.is_some();
        if let Some(sums) = sums {
            stage(isa, &self.grad_output, self.channels, points.clone(), tile, pitch);
            self.gradients::<S, GROUP>(isa, cells, &corners, count, tile, sums);
        }
        if input_grad.is_empty() {
            return;
        }
        if !shared {
            corners = cells.corners(&self.window, count);
        }
        // A band's share looks at many points that lie outside of the band.
        if corners.iter().flatten().all(|&at| at >= ABSENT) {
            return;
        }
        if !reads {
            stage(isa, &self.grad_output, self.channels, points, tile, pitch);
        }
        let weights = cells.weights();
        for ((go, corners), weights) in tile.chunks_exact(pitch.max(1)).zip(&corners).zip(&weights).take(count) {
            for (&at, &weight) in corners.iter().zip(weights) {
                if let Some(pixel) = input_grad.get_mut(at..at.wrapping_add(pitch)) {
                    gradient::scatter::<S, T::Acc, GROUP>(isa, pixel, weight, go);
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
        for (((go, &[nw, ne, sw, se]), ((&bx, &ax), (&by, &ay))), sum) in points.zip(sums).take(count) {
            let pixel = |at: usize| self.input.get(at..at.wrapping_add(pitch));
            let (nw, ne, sw, se) = (pixel(nw), pixel(ne), pixel(sw), pixel(se));
            if nw.is_none() && ne.is_none() && sw.is_none() && se.is_none() {
                continue;
            }
            let (nw, ne) = (nw.unwrap_or(zeros), ne.unwrap_or(zeros));
            let (sw, se) = (sw.unwrap_or(zeros), se.unwrap_or(zeros));
            let [x, y] = gradient::bilinear::<S, T::Acc, GROUP>(isa, go, [nw, ne, sw, se], [bx, by], [ax, ay]);
            *sum = [gradient::halve(x), gradient::halve(y)];
        }
    }

    /// A chunk of points that mix up to sixteen pixels.
    #[inline(always)]
    fn sixteen<S: Isa, const GROUP: usize>(
        &self,
        isa: S,
        cells: &Cells<T::Acc>,
        points: Range<usize>,
        tile: &mut [T::Acc],
        input_grad: &mut [T::Acc],
        mut sums: Option<&mut Sums<T::Acc>>,
    ) {
        let Some(bicubic) = &self.bicubic else { return };
        let (pitch, count) = (self.pitch::<GROUP>(), points.len());
        stage(isa, &self.grad_output, self.channels, points, tile, pitch);
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
