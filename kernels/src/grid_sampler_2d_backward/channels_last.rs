//! Channels side by side: a pixel's channels are one run of memory, and vectors are over channels.

use core::ops::Range;

use super::batch::{BATCH, Batch, halve_each};
use super::beyond::{AreBeyond, Beyond};
use super::bicubic::Bicubic;
use super::cells::{Axes, CHUNK, Cells, Distances, Each, Find, Sums};
use super::gradient;
use super::grid_grad::GridGrad;
use super::pixels::{position, position_mut, square, square_mut};
use super::planes::Planes;
use super::sixteen::Sixteen;
use super::staging::Stage;
use super::windows::{ABSENT, FindSquares, NONE, PARTLY, Window};
use super::{dispatch, dispatch_points};
use crate::built::BICUBIC;
use crate::element::Element;
use crate::level::{Kernel, Level};
use crate::simd::{CACHED, Cache, Isa, Real, Vector, line_of, prefetch_run};

#[cfg(test)]
mod tests;

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
    /// Values of a staged position, as `Plan::pitch_of`.
    pub(crate) pitch: usize,
    /// The staged image; empty when it is not read.
    pub(crate) input: &'a [T::Acc],
    /// All its pixels, one after the other.
    pub(crate) image: Window,
    /// The pixels of `input_grad`, which may be some rows only.
    pub(crate) window: Window,
    /// What points need not be looked at, if these are some rows.
    pub(crate) beyond: Option<Beyond<T::Acc>>,
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
        // Sixteen pixels take 1.04 of the time where vectors longer than theirs find the points.
        let level = if self.bicubic.is_some() { self.level.eight() } else { self.level };
        let mut cells = self.axes.no_cells();
        let mut pixels = Pixels { read: [PARTLY; CHUNK], added_to: [PARTLY; CHUNK] };
        for first in points.clone().step_by(CHUNK) {
            let run = first..points.end.min(first.saturating_add(CHUNK));
            if let Some(beyond) = self.beyond.filter(|_| grid_grad.is_none())
                && dispatch_points(level, AreBeyond { beyond, grid: &self.grid, points: run.clone() })
            {
                continue;
            }
            let find = Find { axes: &self.axes, grid: &self.grid, first, count: run.len(), cells: &mut cells };
            dispatch_points(level, find);
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
                self.four(run, &mut chunk, &mut pixels);
            }
            if let Some(grid_grad) = grid_grad.as_mut() {
                grid_grad.put(level, &cells, first, &mut chunk.sums);
            }
        }
    }

    fn stage(&self, points: Range<usize>, staged: &mut [T::Acc]) {
        let planes = self.grad_output;
        dispatch(self.level, Stage { planes, channels: self.channels, positions: points, staged, pitch: self.pitch });
    }

    fn four(&self, points: Range<usize>, chunk: &mut Chunk<'_, T::Acc>, pixels: &mut Pixels) {
        let (Pixels { read, added_to }, cells, level) = (pixels, chunk.cells, self.level);
        let mut reaches = dispatch_points(level, FindSquares { cells, window: &self.image, to: read });
        let added_to = if self.window == self.image {
            &*read
        } else {
            reaches = dispatch_points(level, FindSquares { cells, window: &self.window, to: added_to });
            &*added_to
        };
        // A band's share looks at many points that lie outside of the band.
        let scatters = !chunk.input_grad.is_empty() && reaches;
        if !scatters && chunk.input.is_empty() {
            return;
        }
        self.stage(points, chunk.tile);
        // A pixel of whole vectors of 64 bytes.
        let wide = level.wide_points() && self.pitch.wrapping_mul(size_of::<T::Acc>()).is_multiple_of(64);
        level.dispatch_widest(wide, Four { chunk, read, added_to, scatters, windows: [&self.image, &self.window] });
    }

    fn sixteen(&self, bicubic: &Bicubic, points: Range<usize>, chunk: &mut Chunk<'_, T::Acc>) {
        // A band's share looks at many points that lie outside of the band.
        let (cells, band) = (chunk.cells, self.window != self.image);
        if band && chunk.input.is_empty() && !(0..cells.count).any(|k| bicubic.reaches(cells, k, &self.window)) {
            return;
        }
        self.stage(points, chunk.tile);
        let (image, window) = (&self.image, &self.window);
        // A group of eight channels is one vector in f64.
        let wide = self.level.wide_points() && self.pitch > 4 && size_of::<T::Acc>() == 8;
        if band {
            self.level.dispatch_widest(wide, Sixteen::<_, true> { chunk, bicubic, image, window });
        } else {
            self.level.dispatch_widest(wide, Sixteen::<_, false> { chunk, bicubic, image, window });
        }
    }
}

/// The squares that [`FindSquares`] finds of a chunk of points in the staged image and in the staged part of `input_grad`.
#[derive(Debug)]
struct Pixels {
    read: Each<u32>,
    added_to: Each<u32>,
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
    /// Their squares where they are read and where they are added to.
    read: &'b Each<u32>,
    added_to: &'b Each<u32>,
    /// Whether any point adds to `input_grad`.
    scatters: bool,
    /// What is staged of the image and of `input_grad`.
    windows: [&'b Window; 2],
}

/// Whether pixels of whole vectors of four are not filled up to eight by the plan: those of F64.
const fn fours<S: Isa, A: Real>() -> bool {
    size_of::<A>() == 8 && A::V::<S>::LANES <= 4
}

impl<A: Real> Kernel for Four<'_, '_, A> {
    type Output = ();

    #[inline(always)]
    fn run<S: Isa>(self, isa: S) {
        // Constant conditions, so that nothing else is compiled.
        match self.chunk.pitch {
            // A pixel of up to four channels takes vectors of at most four lanes.
            ..=4 if const { A::V::<S>::LANES <= 4 } => self.grouped::<S, 4, 1>(isa),
            ..=4 => self.grouped::<S::Quad, 4, 1>(isa.quad()),
            // Vectors of sixteen lanes come with pixels of whole ones.
            16 if const { A::V::<S>::LANES > 8 } => self.grouped::<S, 16, 1>(isa),
            _ if const { A::V::<S>::LANES > 8 } => self.grouped::<S, 16, 0>(isa),
            8 => self.grouped::<S, 8, 1>(isa),
            12 if const { fours::<S, A>() } => self.grouped::<S, 12, 1>(isa),
            20 if const { fours::<S, A>() } => self.grouped::<S, 20, 1>(isa),
            28 if const { fours::<S, A>() } => self.grouped::<S, 28, 1>(isa),
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
        let Self { chunk, read, added_to, scatters, windows } = self;
        let pitch = if GROUPS > 0 { GROUPS.wrapping_mul(GROUP) } else { chunk.pitch };
        let (count, nearest, belows) =
            (chunk.cells.count, chunk.cells.nearest, windows.map(|window| window.strides[0]));
        let at = |square: u32| (square as usize).wrapping_mul(pitch);
        if size_of_val(chunk.input).saturating_add(size_of_val(chunk.input_grad)) > CACHED {
            ask_ahead(isa, chunk, [read, added_to], belows, pitch);
        }
        // All by itself: for all that the compiler knows, a sum that is written might be where the chunk's parts are.
        let Chunk { cells, tile, input, input_grad, sums: [sums_x, sums_y], .. } = chunk;
        let (cells, input, input_grad) = (*cells, *input, &mut **input_grad);
        let groups = pitch / GROUP;
        let nothing = [NONE; CHUNK];
        let read = if input.is_empty() { &nothing } else { read };
        let added_to = if scatters { added_to } else { &nothing };
        let tile = tile.get(..count.wrapping_mul(pitch)).unwrap_or(&[]).as_chunks::<GROUP>().0;
        let tile = tile.chunks(groups.wrapping_mul(BATCH).max(1));
        let squares = read.as_chunks::<BATCH>().0.iter().zip(added_to.as_chunks::<BATCH>().0);
        let sums = sums_x.as_chunks_mut().0.iter_mut().zip(sums_y.as_chunks_mut().0);
        let (mut batch, mut lanes) = (Batch::new(), [[[A::default(); GROUP]; BATCH]; 2]);
        for (first, (((read, added_to), [sums_x, sums_y]), go)) in
            (0..count).step_by(BATCH).zip(squares.zip(sums.map(|(x, y)| [x, y])).zip(tile))
        {
            batch.set(isa.eight(), cells, first);
            let [xs, ys] = &mut lanes;
            let points = xs.iter_mut().zip(ys).zip(read.iter().zip(added_to)).zip(go.chunks_exact(groups.max(1)));
            for (k, (((to_x, to_y), (&read, &added_to)), go)) in points.enumerate() {
                if (read | added_to) & PARTLY != 0 {
                    let partly = Partly {
                        cells: (cells, first.wrapping_add(k)),
                        windows,
                        squares: [read, added_to],
                        go,
                        input,
                        input_grad: &mut *input_grad,
                        distances: batch.distances(k),
                        weights: batch.weights(k),
                    };
                    [*to_x, *to_y] = isa.call(partly);
                    continue;
                }
                [*to_x, *to_y] = match square(input, at(read), belows[0], groups) {
                    Some(four) if read != NONE => gradient::bilinear(isa, go, four, batch.distances(k)),
                    _ => [[A::default(); GROUP]; 2],
                };
                if added_to == NONE {
                    continue;
                }
                if nearest {
                    if let Some(pixel) = position_mut(input_grad, at(added_to), pitch) {
                        gradient::scatter(isa, pixel, A::ONE, go);
                    }
                } else if let Some(square) = square_mut(input_grad, at(added_to), belows[1], groups) {
                    gradient::scatter_square(isa, square, batch.weights(k), go);
                }
            }
            if !input.is_empty() {
                // F64 has four lanes where F32 has eight.
                for (points, sums) in lanes.iter().zip([sums_x, sums_y]) {
                    if const { A::V::<S::Eight>::LANES <= 4 } {
                        halve_each(isa.eight(), points, sums);
                    } else {
                        halve_each(isa.quad(), points, sums);
                    }
                }
            }
        }
    }
}

/// Asks for the pixels of a chunk of points, for tensors that no cache holds. A row of them is `belows` below the one before, where they
/// are read and where they are added to.
#[inline(always)]
fn ask_ahead<S: Isa, A: Real>(
    isa: S,
    chunk: &Chunk<'_, A>,
    [read, added_to]: [&Each<u32>; 2],
    belows: [usize; 2],
    pitch: usize,
) {
    let at = |square: u32| (square as usize).wrapping_mul(pitch);
    let mut last = [usize::MAX; 2];
    // The processor foresees runs of lines, but not of pixels that are several lines.
    let foreseen = usize::from(pitch <= line_of::<A>());
    let pixels = if chunk.cells.nearest { 1 } else { 2 };
    let squares = read.iter().zip(added_to).take(chunk.cells.count);
    for (&read, &added_to) in squares.filter(|(read, _)| **read < NONE) {
        let lines = [at(read), at(read).wrapping_add(belows[0])].map(|at| at / line_of::<A>());
        let [above, below] = core::mem::replace(&mut last, lines);
        if lines[0].wrapping_sub(above) <= foreseen && lines[1].wrapping_sub(below) <= foreseen {
            continue;
        }
        for (row, column) in (0..pixels).flat_map(|row| (0..pixels).map(move |column| (row, column))) {
            let offset = |below: usize| below.wrapping_mul(row).wrapping_add(pitch.wrapping_mul(column));
            let [a, b] = [at(read).wrapping_add(offset(belows[0])), at(added_to).wrapping_add(offset(belows[1]))];
            prefetch_run(isa, Cache::Level1, chunk.input, a, pitch);
            prefetch_run(isa, Cache::Level1, chunk.input_grad, b, pitch);
        }
    }
}

/// A point of which a window has some pixels, but not all four.
#[derive(Debug)]
struct Partly<'a, A, const GROUP: usize> {
    /// The point's, and its number.
    cells: (&'a Cells<A>, usize),
    /// What is staged of the image and of `input_grad`, and the point's squares in them; [`NONE`] where nothing is to be done.
    windows: [&'a Window; 2],
    squares: [u32; 2],
    /// `grad_output`, staged.
    go: &'a [[A; GROUP]],
    input: &'a [A],
    input_grad: &'a mut [A],
    distances: Distances<A>,
    weights: [A; 4],
}

impl<A: Real, const GROUP: usize> Kernel for Partly<'_, A, GROUP> {
    /// What the channels add to the point's gradients.
    type Output = gradient::Lanes<A, GROUP>;

    #[inline(always)]
    fn run<S: Isa>(self, isa: S) -> gradient::Lanes<A, GROUP> {
        let Self { cells: (cells, k), windows, squares, go, input, input_grad, distances, weights } = self;
        let pitch = go.len().wrapping_mul(GROUP);
        let corners = cells.corners_of(k, windows[0]);
        let mut sums = [[A::default(); GROUP]; 2];
        // Where squares are not told apart a point may have no pixel; its sums are 0 whatever `grad_output` is.
        if squares[0] != NONE && corners.iter().any(|&at| at < ABSENT) {
            let zeros = [[A::default(); GROUP]; 16];
            let [nw, ne, sw, se] = corners;
            let pixel = |at: usize| position::<A, GROUP>(input, at, pitch).unwrap_or(&zeros);
            sums = gradient::bilinear(isa, go, [pixel(nw), pixel(ne), pixel(sw), pixel(se)], distances);
        }
        if squares[1] != NONE {
            let corners = if windows[0] == windows[1] { corners } else { cells.corners_of(k, windows[1]) };
            for (at, weight) in corners.into_iter().zip(weights) {
                if let Some(pixel) = position_mut(input_grad, at, pitch) {
                    gradient::scatter(isa, pixel, weight, go);
                }
            }
        }
        sums
    }
}
