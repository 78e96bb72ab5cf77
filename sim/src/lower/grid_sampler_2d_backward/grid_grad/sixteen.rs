//! The sixteen pixels around a point.

use super::lanes::{Lanes, Operand, Place, at};
use super::offsets::{self, ABSENT};
use crate::lower::builder::Builder;
use crate::lower::grid_sampler_2d_backward::bicubic::Taps;
use crate::lower::grid_sampler_2d_backward::coordinates::Coordinates;
use crate::program::{BinaryOp, BufferId, Expr, Relation};

/// Buffers for a chunk of points.
pub(super) struct Sixteen {
    taps: Taps,
    /// Row by row.
    offsets: [BufferId; 16],
    /// Each in a vector, or of several channels one behind the other.
    pixels: Vec<Place>,
    /// Bytes of a channel's, and of a channel's sums.
    pitch: usize,
    sum: usize,
    /// A row's weighted sum, and a term of it.
    line: [BufferId; 2],
    /// Along x and y.
    slopes: [BufferId; 2],
}

impl Sixteen {
    /// How many vectors it has for so many channels at a time, beside the [`Taps`].
    pub(super) const fn vectors(together: usize) -> usize {
        16 + (16 + 2 + 2) * together
    }

    pub(super) fn new(
        taps: Taps,
        (points, together): (usize, usize),
        vectors: &mut impl FnMut(&str, usize) -> BufferId,
    ) -> Self {
        let offsets = [0; 16].map(|_| vectors("tap_offset", 1));
        let pixels = if together == 1 {
            offsets.iter().map(|_| (vectors("tap", 1), 0)).collect()
        } else {
            let all = vectors("taps", 16 * together);
            (0..16).map(|tap| (all, 4 * points * tap)).collect()
        };
        Self {
            taps,
            offsets,
            pixels,
            pitch: 16 * 4 * points,
            sum: 4 * points,
            line: ["line", "term"].map(|name| vectors(name, together)),
            slopes: ["x_change", "y_change"].map(|name| vectors(name, together)),
        }
    }

    /// Byte offsets of the pixels in a plane, once the taps are found; of those that are not there, that of a zero.
    #[expect(clippy::cast_precision_loss, reason = "a plane in the UB has few pixels")]
    pub(super) fn find(&self, b: &mut Builder, of: &Coordinates, size: [usize; 2], (sliced, count): (bool, &Expr)) {
        for (axis, size) in self.taps.axes().iter().zip(size) {
            for pixel in axis.pixels.map(|pixel| pixel.at(0)) {
                of.keep(b, &pixel, (Relation::Ge, 0.0), (&pixel, ABSENT), count);
                of.keep(b, &pixel, (Relation::Le, (size - 1) as f32), (&pixel, ABSENT), count);
            }
        }
        let [columns, rows] = self.taps.axes();
        offsets::scale(b, &rows.pixels, size[0], count);
        for (tap, to) in self.offsets.into_iter().enumerate() {
            let places = [rows.pixels[tap / 4], columns.pixels[tap % 4]];
            offsets::put(b, (to, at(self.pixels[tap])), places, (sliced, count));
        }
    }

    /// Which pixels, before their offsets are found.
    pub(super) const fn taps(&self) -> &Taps {
        &self.taps
    }

    pub(super) const fn offsets(&self) -> &[BufferId] {
        &self.offsets
    }

    /// The pixels of all points, of several channels those of the first.
    pub(super) fn pixels(&self) -> &[Place] {
        &self.pixels
    }

    /// Adds up row by row how the pixels change.
    pub(super) fn add_up(&self, b: &mut Builder, lanes: Lanes<'_>) {
        let [columns, rows] = self.taps.axes();
        let (Some(column_slopes), Some(row_slopes)) = (columns.slopes, rows.slopes) else { return };
        for slope in self.slopes {
            lanes.clear(b, slope.at(0));
        }
        let [line, term] = self.line.map(|buffer| (buffer.at(0), self.sum));
        for (row, pixels) in self.pixels.chunks_exact(4).enumerate() {
            let along = [(column_slopes, rows.weights[row]), (columns.weights, row_slopes[row])];
            for (slope, (factors, factor)) in self.slopes.into_iter().zip(along) {
                let slope = (slope.at(0), self.sum);
                for (k, (pixel, factor)) in pixels.iter().zip(factors).enumerate() {
                    let to = if k == 0 { &line } else { &term };
                    let pixel = (at(*pixel), self.pitch);
                    lanes.binary(b, BinaryOp::Mul, [to.clone(), pixel, (factor.at(0), 0)]);
                    if k > 0 {
                        lanes.binary(b, BinaryOp::Add, [line.clone(), line.clone(), term.clone()]);
                    }
                }
                lanes.binary(b, BinaryOp::Mul, [line.clone(), line.clone(), (factor.at(0), 0)]);
                lanes.binary(b, BinaryOp::Add, [slope.clone(), slope, line.clone()]);
            }
        }
    }

    /// How what was read changes along an axis.
    pub(super) fn slope(&self, axis: usize) -> Operand {
        (self.slopes[axis].at(0), self.sum)
    }
}
