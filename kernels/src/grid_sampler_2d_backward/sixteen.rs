//! Bicubic points whose channels lie side by side, a chunk of points at a time.
//!
//! Weights and slopes are computed a vector of points at a time. Where an image has all sixteen pixels of a point, they are four runs
//! of memory, and nothing is asked of each pixel; only near the border each is looked for.

use super::bicubic::{Bicubic, Keys, first_of, weights};

use super::channels_last::Chunk;
use super::gradient;
use super::pixels::{four_mut, four_rows, position, position_mut};
use super::windows::{ABSENT, Window};
use crate::level::Kernel;
use crate::simd::{Isa, Real, Vector};

/// A chunk of points that mix up to sixteen pixels, which are added to the image, or to a band of its rows. Told apart when this is
/// compiled: to hold what a look at a point's rows needs takes a tenth longer.
#[derive(Debug)]
pub(crate) struct Sixteen<'a, 'b, A, const BAND: bool> {
    pub(crate) chunk: &'b mut Chunk<'a, A>,
    pub(crate) bicubic: &'b Bicubic,
    /// Where pixels are read.
    pub(crate) image: &'b Window,
    /// Where they are added to.
    pub(crate) window: &'b Window,
}

impl<A: Real, const BAND: bool> Kernel for Sixteen<'_, '_, A, BAND> {
    type Output = ();

    #[inline(always)]
    fn run<S: Isa>(self, isa: S) {
        // For the compiler: no vector is longer than a group.
        if const { A::V::<S>::LANES > 8 } {
            return;
        }
        if self.chunk.pitch > 4 {
            self.grouped::<S, 8, 0>(isa);
        } else if const { A::V::<S>::LANES <= 4 } {
            self.grouped::<S, 4, 1>(isa);
        } else {
            self.grouped::<S::Quad, 4, 1>(isa.quad());
        }
    }
}

impl<A: Real, const BAND: bool> Sixteen<'_, '_, A, BAND> {
    /// With pixels of so many groups of channels; 0 stands for any number.
    #[inline(always)]
    fn grouped<S: Isa, const GROUP: usize, const GROUPS: usize>(self, isa: S) {
        let Self { chunk, bicubic, image, window } = self;
        let pitch = if GROUPS > 0 { GROUPS.wrapping_mul(GROUP) } else { chunk.pitch };
        let groups = pitch / GROUP;
        let Chunk { cells, tile, input, input_grad, sums: [sums_x, sums_y], .. } = chunk;
        let (cells, input, input_grad) = (*cells, *input, &mut **input_grad);
        let zeros = [A::default(); 64];
        let zeros = position(&zeros, 0, pitch).unwrap_or(&[]);
        let (columns, rows) = (Keys::of_each(isa, &cells.x.after), Keys::of_each(isa, &cells.y.after));
        let tile = tile.as_chunks::<GROUP>().0.chunks(groups.max(1));
        let points = sums_x.iter_mut().zip(sums_y).zip(tile).take(cells.count);
        for (k, ((sum_x, sum_y), go)) in points.enumerate() {
            let (Some(go), Some(first)) = (go.get(..groups), first_of(cells, k)) else { continue };
            let pixels = image.sixteen(first);
            let adds = match pixels {
                _ if !BAND => true,
                // Their rows are no others than these.
                Some(_) => window.has_any_of_four(first[0]),
                None => bicubic.reaches(cells, k, window),
            };
            if !adds && input.is_empty() {
                continue;
            }
            let [columns, rows] = [columns.at(k), rows.at(k)];
            if !input.is_empty() {
                let [x, y] = match pixels.and_then(|at| four_rows(input, at, image.strides[0], groups)) {
                    Some(pixels) => gradient::bicubic(isa, go, &pixels, &columns, &rows),
                    None => {
                        let offsets = bicubic.offsets(first, image);
                        // Then the window, a part of the image, has none either.
                        if offsets.iter().all(|&at| at >= ABSENT) {
                            continue;
                        }
                        let mut pixels = [[zeros; 4]; 4];
                        for (to, &at) in pixels.as_flattened_mut().iter_mut().zip(&offsets) {
                            *to = position(input, at, pitch).unwrap_or(zeros);
                        }
                        gradient::bicubic(isa, go, &pixels, &columns, &rows)
                    }
                };
                (*sum_x, *sum_y) = (gradient::halve(x), gradient::halve(y));
            }
            if input_grad.is_empty() || !adds {
                continue;
            }
            if let Some(at) = window.sixteen(first) {
                for (number, &row) in rows.weights.iter().enumerate() {
                    let at = at.wrapping_add(window.strides[0].wrapping_mul(number));
                    let Some(pixels) = four_mut(input_grad, at, groups) else { continue };
                    for (pixel, &column) in pixels.into_iter().zip(&columns.weights) {
                        gradient::scatter(isa, pixel, column * row, go);
                    }
                }
            } else {
                for (&at, weight) in bicubic.offsets(first, window).iter().zip(weights(&columns, &rows)) {
                    if let Some(pixel) = position_mut(input_grad, at, pitch) {
                        gradient::scatter(isa, pixel, weight, go);
                    }
                }
            }
        }
    }
}
