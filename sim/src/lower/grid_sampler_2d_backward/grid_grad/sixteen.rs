//! The sixteen pixels around a point.

use super::offsets::{self, ABSENT};
use crate::lower::builder::Builder;
use crate::lower::grid_sampler_2d_backward::bicubic::Taps;
use crate::lower::grid_sampler_2d_backward::coordinates::Coordinates;
use crate::lower::shape::{binary, fill};
use crate::product::Element;
use crate::program::{BinaryOp, BufferId, Expr, Local, Relation};

/// Buffers for a chunk of points.
pub(super) struct Sixteen {
    taps: Taps,
    /// Row by row.
    offsets: [BufferId; 16],
    pixels: [BufferId; 16],
    /// A row's weighted sum, and a term of it.
    line: [BufferId; 2],
    /// Along x and y.
    slopes: [BufferId; 2],
}

impl Sixteen {
    /// How many vectors it has beside the [`Taps`].
    pub(super) const VECTORS: usize = 16 + 16 + 2 + 2;

    pub(super) fn new(taps: Taps, vector: &mut impl FnMut(&str) -> BufferId) -> Self {
        Self {
            taps,
            offsets: [0; 16].map(|_| vector("tap_offset")),
            pixels: [0; 16].map(|_| vector("tap")),
            line: ["line", "term"].map(&mut *vector),
            slopes: ["x_change", "y_change"].map(vector),
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
        for (at, to) in self.offsets.into_iter().enumerate() {
            let places = [rows.pixels[at / 4], columns.pixels[at % 4]];
            offsets::put(b, (to, self.pixels[at]), places, (sliced, count));
        }
    }

    /// Which pixels, before their offsets are found.
    pub(super) const fn taps(&self) -> &Taps {
        &self.taps
    }

    /// Offsets, and where their pixels go.
    pub(super) fn parts(&self) -> (&[BufferId], &[BufferId]) {
        (&self.offsets, &self.pixels)
    }

    /// Adds up row by row how the pixels change.
    pub(super) fn add_up(&self, b: &mut Builder, count: &Expr) {
        let [columns, rows] = self.taps.axes();
        let (Some(column_slopes), Some(row_slopes)) = (columns.slopes, rows.slopes) else { return };
        for slope in self.slopes {
            fill(b, slope.at(0), Element::F32, 0.0, count.clone());
        }
        let [line, term] = self.line.map(|buffer| buffer.at(0));
        for (row, pixels) in self.pixels.chunks_exact(4).enumerate() {
            let along = [(column_slopes, rows.weights[row]), (columns.weights, row_slopes[row])];
            for (slope, (factors, factor)) in self.slopes.into_iter().zip(along) {
                let mut step = |op, to: &Local, a: &Local, by: &Local| {
                    binary(b, op, Element::F32, [to.clone(), a.clone(), by.clone()], count.clone());
                };
                for (k, (pixel, factor)) in pixels.iter().zip(factors).enumerate() {
                    let to = if k == 0 { &line } else { &term };
                    step(BinaryOp::Mul, to, &pixel.at(0), &factor.at(0));
                    if k > 0 {
                        step(BinaryOp::Add, &line, &line, &term);
                    }
                }
                step(BinaryOp::Mul, &line, &line, &factor.at(0));
                step(BinaryOp::Add, &slope.at(0), &slope.at(0), &line);
            }
        }
    }

    /// How what was read changes along an axis.
    pub(super) fn slope(&self, axis: usize) -> Local {
        self.slopes[axis].at(0)
    }
}
