//! Channels side by side: a pixel's channels are one run of memory, and vectors are over channels.

use core::ops::Range;

use super::batch::{BATCH, Batch, halve_each};
use super::bicubic::Bicubic;
use super::cells::{ABSENT, Axes, CHUNK, Cells, Corners, Each, Find, Sums, Window, any_present};
use super::dispatch;
use super::gradient;
use super::grid_grad::GridGrad;
use super::pixels::{position, position_mut, square, square_mut};
use super::planes::Planes;
use super::sixteen::Sixteen;
use super::staging::Stage;
use crate::built::BICUBIC;
use crate::element::Element;
use crate::level::{Kernel, Level};
use crate::simd::{CACHED, Cache, Isa, Real, Vector, line_of, prefetch_run};

/// Pixels of an axis that f32 counts exactly, and one more.
const COUNTABLE: usize = 1 << 24;
/// Points of a chunk whose pixels are found one by one: vectors look at all of the chunk.
const FEW: usize = 8;

/// One image and one block of its channels, staged.
#[derive(Debug)]
pub(crate) struct ChannelsLast<'a, T: Element> {
    pub(crate) level: Level,
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
    /// All its pixels, one after the other.
    pub(crate) image: Window,
    /// The pixels of `input_grad`, which may be some rows only.
    pub(crate) window: Window,
}

impl<T: Element> ChannelsLast<'_, T> {
    /// Works on `points`: adds to the staged `input_grad` unless it is empty, and gives `grid_grad`, if any, their gradients.
    /// `tile` holds a chunk of staged `grad_output`.
    pub(crate) fn run(
        &self,
        points: Range<usize>,
        tile: &mut [T::Acc],
        input_grad: &mut [T::Acc],
        mut grid_grad: Option<&mut GridGrad<'_, T>>,
    ) {
        let input = if grid_grad.is_some() { self.input } else { &[] };
        let mut cells = self.axes.no_cells();
        let mut corners = Pixels { read: [[ABSENT; 4]; CHUNK], added_to: [[ABSENT; 4]; CHUNK] };
        for first in points.clone().step_by(CHUNK) {
            let run = first..points.end.min(first.saturating_add(CHUNK));
            dispatch(
                self.level,
                Find { axes: &self.axes, grid: &self.grid, first, count: run.len(), cells: &mut cells },
            );
            let mut chunk = Chunk {
                cells: &cells,
                pitch: self.pitch,
                tile: &mut *tile,
                input,
                input_grad: &mut *input_grad,
                sums: [[T::Acc::default(); CHUNK]; 2],
            };
            if BICUBIC && let Some(bicubic) = &self.bicubic {
                self.sixteen(bicubic, run, &mut chunk);
            } else {
                self.four(run, &mut chunk, &mut corners);
            }
            if let Some(grid_grad) = grid_grad.as_mut() {
                grid_grad.put(self.level, &cells, first, &mut chunk.sums);
            }
        }
    }

    fn stage(&self, points: Range<usize>, staged: &mut [T::Acc]) {
        let planes = self.grad_output;
        dispatch(self.level, Stage { planes, channels: self.channels, positions: points, staged, pitch: self.pitch });
    }

    /// Finds the offsets of the pixels around a chunk of points.
    fn corners(&self, cells: &Cells<T::Acc>, window: &Window, to: &mut Each<[usize; 4]>) {
        if cells.count > FEW && self.image.size.iter().all(|&size| size < COUNTABLE) {
            dispatch(self.level, Corners { cells, window, to });
        } else {
            cells.corners(window, to);
        }
    }

    fn four(&self, points: Range<usize>, chunk: &mut Chunk<'_, T::Acc>, pixels: &mut Pixels) {
        let Pixels { read, added_to } = pixels;
        self.corners(chunk.cells, &self.image, read);
        let added_to = if self.window == self.image {
            &*read
        } else {
            self.corners(chunk.cells, &self.window, added_to);
            &*added_to
        };
        // A band's share looks at many points that lie outside of the band.
        let scatters = !chunk.input_grad.is_empty() && any_present(added_to);
        if !scatters && chunk.input.is_empty() {
            return;
        }
        self.stage(points, chunk.tile);
        let diagonals = [&self.image, &self.window].map(|window| window.strides[0].saturating_add(window.strides[1]));
        dispatch(self.level, Four { chunk, corners: read, scattered: added_to, scatters, diagonals });
    }

    fn sixteen(&self, bicubic: &Bicubic, points: Range<usize>, chunk: &mut Chunk<'_, T::Acc>) {
        // A band's share looks at many points that lie outside of the band.
        let (cells, all) = (chunk.cells, !chunk.input.is_empty() || self.window == self.image);
        if !all && !(0..cells.count).any(|k| bicubic.reaches(cells, k, &self.window)) {
            return;
        }
        self.stage(points, chunk.tile);
        let (image, window) = (&self.image, &self.window);
        dispatch(self.level, Sixteen { chunk, bicubic, image, window, all });
    }
}

/// Where the pixels of a chunk of points lie in the staged image and in the staged part of `input_grad`.
#[derive(Debug)]
struct Pixels {
    read: Each<[usize; 4]>,
    added_to: Each<[usize; 4]>,
}

/// A chunk of points.
#[derive(Debug)]
pub(crate) struct Chunk<'a, A> {
    pub(crate) cells: &'a Cells<A>,
    pub(crate) pitch: usize,
    /// `grad_output`, staged.
    pub(crate) tile: &'a mut [A],
    /// The image, staged; empty when no gradients are wanted.
    pub(crate) input: &'a [A],
    /// Its gradient, staged; empty when it is not wanted.
    pub(crate) input_grad: &'a mut [A],
    /// Where the sums over the channels go.
    pub(crate) sums: Sums<A>,
}

/// A chunk of points that mix up to four pixels.
#[derive(Debug)]
struct Four<'a, 'b, A> {
    chunk: &'b mut Chunk<'a, A>,
    corners: &'b Each<[usize; 4]>,
    scattered: &'b Each<[usize; 4]>,
    /// Whether any point adds to `input_grad`.
    scatters: bool,
    /// From a pixel to the one south-east of it, where it is read and where it is added to.
    diagonals: [usize; 2],
}

impl<A: Real> Kernel for Four<'_, '_, A> {
    type Output = ();

    #[inline(always)]
    fn run<S: Isa>(self, isa: S) {
        match self.chunk.pitch {
            // A pixel of up to four channels takes vectors of at most four lanes.
            ..=4 if A::V::<S>::LANES <= 4 => self.grouped::<S, 4, 1>(isa),
            ..=4 => self.grouped::<S::Quad, 4, 1>(isa.quad()),
            8 => self.grouped::<S, 8, 1>(isa),
            16 => self.grouped::<S, 8, 2>(isa),
            _ => self.grouped::<S, 8, 0>(isa),
        }
    }
}

impl<A: Real> Four<'_, '_, A> {
    /// With pixels of so many groups of channels; 0 stands for any number. Of few, a point's bounds cost as much as its sums, and are
    /// fewer where the number is known when this is compiled.
    #[inline(always)]
    fn grouped<S: Isa, const GROUP: usize, const GROUPS: usize>(self, isa: S) {
        let Self { chunk, corners, scattered, scatters, diagonals } = self;
        let pitch = if GROUPS > 0 { GROUPS.wrapping_mul(GROUP) } else { chunk.pitch };
        let count = chunk.cells.count;
        // Beyond the last cache pixels are asked for a chunk of points ahead.
        if size_of_val(chunk.input).saturating_add(size_of_val(chunk.input_grad)) > CACHED {
            let mut last = [ABSENT; 2];
            // The processor foresees runs of lines, but not of pixels that are several lines.
            let foreseen = usize::from(pitch <= line_of::<A>());
            for (read, scattered) in corners.iter().zip(scattered) {
                let [north, _, south, _] = read.map(|at| at / line_of::<A>());
                let [above, below] = core::mem::replace(&mut last, [north, south]);
                if north.wrapping_sub(above) <= foreseen && south.wrapping_sub(below) <= foreseen {
                    continue;
                }
                for (&a, &b) in read.iter().zip(scattered) {
                    prefetch_run(isa, Cache::Level1, chunk.input, a, pitch);
                    prefetch_run(isa, Cache::Level1, chunk.input_grad, b, pitch);
                }
            }
        }
        // All by itself: for all that the compiler knows, a sum that is written might be where the chunk's parts are.
        let Chunk { cells, tile, input, input_grad, sums: [sums_x, sums_y], .. } = chunk;
        let (cells, input, input_grad) = (*cells, *input, &mut **input_grad);
        let zeros = [[A::default(); GROUP]; 16];
        let groups = pitch / GROUP;
        let tile = tile.as_chunks::<GROUP>().0.chunks(groups.wrapping_mul(BATCH).max(1));
        let pixels = corners.as_chunks::<BATCH>().0.iter().zip(scattered.as_chunks::<BATCH>().0);
        let sums = sums_x.as_chunks_mut().0.iter_mut().zip(sums_y.as_chunks_mut().0);
        let (mut batch, mut lanes) = (Batch::new(), [[[A::default(); GROUP]; BATCH]; 2]);
        for (first, (((corners, scattered), [sums_x, sums_y]), go)) in
            (0..count).step_by(BATCH).zip(pixels.zip(sums.map(|(x, y)| [x, y])).zip(tile))
        {
            batch.set(isa, cells, first);
            let points = corners.iter().zip(scattered).take(count.wrapping_sub(first));
            for (k, ((&[nw, ne, sw, se], scattered), go)) in points.zip(go.chunks_exact(groups.max(1))).enumerate() {
                if !input.is_empty() {
                    let four = square(input, [nw, se], diagonals[0], go.len()).or_else(
                        #[inline(always)]
                        || {
                            let [nw, ne, sw, se] = [nw, ne, sw, se].map(|at| position::<A, GROUP>(input, at, pitch));
                            let any = nw.or(ne).or(sw).or(se).is_some();
                            let [nw, ne, sw, se] = [nw, ne, sw, se].map(|pixel| pixel.unwrap_or(&zeros));
                            any.then_some([nw, ne, sw, se])
                        },
                    );
                    let [x, y] = match four {
                        Some(four) => gradient::bilinear(isa, go, four, batch.distances(k)),
                        None => [[A::default(); GROUP]; 2],
                    };
                    let [xs, ys] = &mut lanes;
                    if let (Some(to_x), Some(to_y)) = (xs.get_mut(k & (BATCH - 1)), ys.get_mut(k & (BATCH - 1))) {
                        (*to_x, *to_y) = (x, y);
                    }
                }
                if scatters {
                    let weights = batch.weights(k);
                    let &[nw, _, _, se] = scattered;
                    if let Some(square) = square_mut(input_grad, [nw, se], diagonals[1], go.len()) {
                        gradient::scatter_square(isa, square, weights, go);
                        continue;
                    }
                    for (&at, weight) in scattered.iter().zip(weights) {
                        if let Some(pixel) = position_mut(input_grad, at, pitch) {
                            gradient::scatter(isa, pixel, weight, go);
                        }
                    }
                }
            }
            if !input.is_empty() {
                halve_each(isa, &lanes[0], sums_x);
                halve_each(isa, &lanes[1], sums_y);
            }
        }
    }
}
