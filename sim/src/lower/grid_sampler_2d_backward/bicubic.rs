//! Bicubic interpolation: the four pixels of each point along an axis, their weights, and how the weights change as the point moves.

use ubtile_tiling::grid_sampler_2d_backward::{PaddingMode, Problem};

use super::coordinates::{Axis, Coordinates, select};
use crate::lower::builder::Builder;
use crate::lower::shape::{binary, blocks, fill, scalar};
use crate::product::Element;
use crate::program::{BinaryOp, BufferId, Expr, Local, Relation, ScalarOp, UnaryOp, Vector, VectorOp};

/// Coefficients of Keys' kernel with A = -0.75 from the highest power down, up to a distance of 1 and beyond it; and of its slope.
const INNER: &[f32] = &[1.25, -2.25, 0.0, 1.0];
const OUTER: &[f32] = &[-0.75, 3.75, -6.0, 3.0];
const INNER_SLOPE: &[f32] = &[3.75, -4.5, 0.0];
const OUTER_SLOPE: &[f32] = &[-2.25, 7.5, -6.0];

/// Buffers for a chunk of points.
pub(super) struct Taps {
    padding: PaddingMode,
    align_corners: bool,
    /// Pixels of each axis, x first.
    size: [usize; 2],
    axes: [AxisTaps; 2],
    distance: BufferId,
}

/// Vectors of an axis: of the pixels before the cell, at it, and two behind it.
pub(super) struct AxisTaps {
    /// Which pixels, in f32. With zeros around the image, those that are not there lie outside; otherwise all are there, but points that
    /// mix no pixel have some, too.
    pub(super) pixels: [BufferId; 4],
    pub(super) weights: [BufferId; 4],
    /// Where they are wanted.
    pub(super) slopes: Option<[BufferId; 4]>,
}

impl Taps {
    /// Bytes of local memory for so many points.
    pub(super) const fn bytes(points: usize, slopes: bool) -> usize {
        (if slopes { 2 * 12 + 1 } else { 2 * 8 + 1 }) * blocks(4 * points)
    }

    pub(super) fn new(b: &mut Builder, problem: &Problem, points: usize, slopes: bool) -> Self {
        let mut four = |name: String| [0; 4].map(|_| b.buffer(&name, 4 * points, 1, Some("tile_points")));
        let axes = ["x", "y"].map(|axis| AxisTaps {
            pixels: four(format!("{axis}_pixel")),
            weights: four(format!("{axis}_weight")),
            slopes: slopes.then(|| four(format!("{axis}_slope"))),
        });
        let distance = b.buffer("distance", 4 * points, 1, Some("tile_points"));
        let size = [problem.wi, problem.hi];
        Self { padding: problem.padding_mode, align_corners: problem.align_corners, size, axes, distance }
    }

    pub(super) const fn axes(&self) -> &[AxisTaps; 2] {
        &self.axes
    }

    /// What belongs to points whose cells were found.
    pub(super) fn find(&self, b: &mut Builder, of: &Coordinates, count: &Expr) {
        for axis in 0..2 {
            self.find_axis(b, of, axis, count);
        }
    }

    /// Those along an axis, 0 for x and 1 for y.
    pub(super) fn find_axis(&self, b: &mut Builder, of: &Coordinates, axis: usize, count: &Expr) {
        let (taps, size, axis) = (&self.axes[axis], self.size[axis], &of.axes()[axis]);
        self.pixels(b, of, (taps, axis), size, count);
        self.keys(b, taps, axis, count);
    }

    /// Weights and slopes at the distances `t + 1`, `t`, `1 - t` and `2 - t`.
    fn keys(&self, b: &mut Builder, taps: &AxisTaps, axis: &Axis, count: &Expr) {
        let (t, distance) = (axis.after.at(0), self.distance.at(0));
        let step = |b: &mut Builder, op, from: &Local, number: f32| {
            scalar(b, op, Element::F32, [distance.clone(), from.clone()], number, count.clone());
        };
        let tap = |b: &mut Builder, k: usize, far: bool, sign: f32| {
            let (weight, slope) = if far { (OUTER, OUTER_SLOPE) } else { (INNER, INNER_SLOPE) };
            polynomial(b, &taps.weights[k].at(0), &distance, weight, count);
            if let Some(slopes) = taps.slopes {
                let to = slopes[k].at(0);
                polynomial(b, &to, &distance, slope, count);
                if sign < 0.0 {
                    scalar(b, ScalarOp::Muls, Element::F32, [to.clone(), to], sign, count.clone());
                }
            }
        };
        step(b, ScalarOp::Adds, &t, 1.0);
        tap(b, 0, true, 1.0);
        step(b, ScalarOp::Adds, &t, 0.0);
        tap(b, 1, false, 1.0);
        step(b, ScalarOp::Muls, &t, -1.0);
        step(b, ScalarOp::Adds, &distance, 1.0);
        tap(b, 2, false, -1.0);
        step(b, ScalarOp::Muls, &t, -1.0);
        step(b, ScalarOp::Adds, &distance, 2.0);
        tap(b, 3, true, -1.0);
    }

    /// Which pixels.
    #[expect(clippy::cast_precision_loss, reason = "sizes of what fits the UB are exact")]
    fn pixels(&self, b: &mut Builder, of: &Coordinates, (taps, axis): (&AxisTaps, &Axis), size: usize, count: &Expr) {
        let (pixels, last) = (taps.pixels.map(|pixel| pixel.at(0)), (size - 1) as f32);
        let step = |b: &mut Builder, op, to: &Local, from: &Local, number: f32| {
            scalar(b, op, Element::F32, [to.clone(), from.clone()], number, count.clone());
        };
        let first = match self.padding {
            PaddingMode::Reflection => {
                let span = if self.align_corners { 2 * (size - 1) } else { 2 * size };
                if span == 0 {
                    pixels.into_iter().for_each(|pixel| fill(b, pixel, Element::F32, 0.0, count.clone()));
                    return;
                }
                self.mirror(b, of, (&pixels, axis), span as f32, count);
                return;
            }
            _ => axis.cell.at(0),
        };
        for (pixel, by) in pixels.iter().zip([-1.0, 0.0, 1.0, 2.0]) {
            step(b, ScalarOp::Adds, pixel, &first, by);
            if self.padding == PaddingMode::Border {
                step(b, ScalarOp::Maxs, pixel, pixel, 0.0);
                step(b, ScalarOp::Mins, pixel, pixel, last);
            }
        }
    }

    /// Pixels of an image that is mirrored again and again, which repeats itself after `span`.
    fn mirror(&self, b: &mut Builder, of: &Coordinates, (pixels, axis): (&[Local; 4], &Axis), span: f32, count: &Expr) {
        let step = |b: &mut Builder, op, to: &Local, from: &Local, number: f32| {
            scalar(b, op, Element::F32, [to.clone(), from.clone()], number, count.clone());
        };
        let (cell, other) = (axis.cell.at(0), self.distance.at(0));
        let bits = of.bits(1);
        // The cell modulo the span: exact in f32, as cells and the span are whole numbers.
        let rest = &pixels[1];
        b.vector(
            Vector::new(VectorOp::Unary(UnaryOp::Abs, Element::F32), [rest.clone(), cell.clone()]).count(count.clone()),
        );
        of.remainder(b, rest, span, count);
        of.compare(b, &bits, (Relation::Lt, 0.0), &cell, count);
        step(b, ScalarOp::Muls, &other, rest, -1.0);
        step(b, ScalarOp::Adds, &other, &other, span);
        select(b, &bits, [rest, &other, rest], count);
        of.keep(b, rest, (Relation::Lt, span), (rest, 0.0), count);
        step(b, ScalarOp::Adds, &pixels[0], rest, -1.0);
        of.keep(b, &pixels[0], (Relation::Ge, 0.0), (&pixels[0], span - 1.0), count);
        for (pixel, by) in pixels.iter().zip([-1.0, 0.0, 1.0, 2.0]).skip(2) {
            step(b, ScalarOp::Adds, pixel, rest, by);
            of.compare(b, &bits, (Relation::Ge, span), pixel, count);
            step(b, ScalarOp::Adds, &other, pixel, -span);
            select(b, &bits, [pixel, &other, pixel], count);
        }
        let turn = if self.align_corners { span } else { span - 1.0 };
        for pixel in pixels {
            step(b, ScalarOp::Muls, &other, pixel, -1.0);
            step(b, ScalarOp::Adds, &other, &other, turn);
            binary(b, BinaryOp::Min, Element::F32, [pixel.clone(), pixel.clone(), other.clone()], count.clone());
        }
    }
}

/// A polynomial by Horner's rule.
fn polynomial(b: &mut Builder, to: &Local, of: &Local, coefficients: &[f32], count: &Expr) {
    let [first, rest @ ..] = coefficients else { return };
    let step = |b: &mut Builder, op, from: &Local, number: f32| {
        scalar(b, op, Element::F32, [to.clone(), from.clone()], number, count.clone());
    };
    step(b, ScalarOp::Muls, of, *first);
    for (i, coefficient) in rest.iter().enumerate() {
        if i > 0 {
            binary(b, BinaryOp::Mul, Element::F32, [to.clone(), to.clone(), of.clone()], count.clone());
        }
        if *coefficient != 0.0 {
            step(b, ScalarOp::Adds, to, *coefficient);
        }
    }
}
