//! The sixteen pixels that a point adds to with bicubic interpolation.

use super::{Lowering, Window};
use crate::lower::builder::{Builder, int};
use crate::lower::grid_sampler_2d_backward::bicubic::Taps;
use crate::lower::shape::{binary, scalar};
use crate::product::{Element, Rounding};
use crate::program::{BinaryOp, BufferId, Expr, Float, Local, Numbers, Relation, ScalarOp, Vector, VectorOp};

/// What the distances from the first column to the last and from the first row to the last add up to where pixels lie side by side.
const SIDE_BY_SIDE: i64 = 6;

impl Lowering {
    /// Byte offsets of the points' pixels. Those that are not there, or in no row and column of the window, lie in the margin.
    #[expect(clippy::cast_precision_loss, reason = "positions in the UB are exact")]
    pub(super) fn place_sixteen(&self, b: &mut Builder, taps: &Taps, window: &Window, count: &Expr) {
        let [columns, rows] = taps.axes().each_ref().map(|axis| axis.pixels);
        let [x, y] = self.coordinates.axes();
        let margin = self.sizes.margin() as f32;
        let step = |b: &mut Builder, op, at: &Local, number: Float| {
            scalar(b, op, Element::F32, [at.clone(), at.clone()], number, count.clone());
        };
        let first = |b: &mut Builder, at: &Expr| match at.as_constant() {
            Some(0) => None,
            _ => Some(b.float("first_f32", Expr::from(0) - at.clone())),
        };
        let [column, row] = [first(b, &window.column), first(b, &window.row)];
        let axes = [(columns, self.sizes.columns, column), (rows, self.sizes.rows, row)];
        for (pixels, size, first) in axes {
            for at in pixels.map(|pixel| pixel.at(0)) {
                if let Some(first) = first {
                    step(b, ScalarOp::Adds, &at, first);
                }
                step(b, ScalarOp::Maxs, &at, (-margin).into());
                step(b, ScalarOp::Mins, &at, (size as f32).into());
                step(b, ScalarOp::Adds, &at, margin.into());
            }
        }
        // All rows of a point that mixes no pixel are in the margin.
        for axis in [x, y] {
            for at in rows.map(|pixel| pixel.at(0)) {
                let there = (Relation::Ge, self.coordinates.first_cell());
                self.coordinates.keep(b, &axis.cell.at(0), there, (&at, 0.0), count);
            }
        }
        self.offsets.enter(b);
        let (index, other) = (self.scratch.at(0), self.coordinates.scratch());
        let both = |b: &mut Builder, op, to: &Local, left: BufferId, right: BufferId| {
            binary(b, op, Element::F32, [to.clone(), left.at(0), right.at(0)], count.clone());
        };
        both(b, BinaryOp::Sub, &index, columns[3], columns[0]);
        both(b, BinaryOp::Sub, &other, rows[3], rows[0]);
        binary(b, BinaryOp::Add, Element::F32, [index.clone(), index.clone(), other.clone()], count.clone());
        self.offset(b, 1, &index, count);
        let (pixel, row) = (self.sizes.pixel_bytes() as f32, self.row_bytes() as f32);
        for (first, pixels, bytes) in [(2, columns, pixel), (6, rows, row)] {
            for (at, place) in (first..).zip(pixels) {
                step(b, ScalarOp::Muls, &place.at(0), bytes.into());
                self.offset(b, at, &place.at(0), count);
            }
        }
        both(b, BinaryOp::Add, &index, columns[0], rows[0]);
        self.offset(b, 0, &index, count);
    }

    /// One of the offsets' vectors.
    fn offset(&self, b: &mut Builder, at: usize, from: &Local, count: &Expr) {
        let op = VectorOp::Cast { to: Element::I32, from: Element::F32, rounding: Rounding::Even };
        let to = self.offsets.at(int(4 * self.sizes.points * at));
        b.vector(Vector::new(op, [to, from.clone()]).count(count.clone()));
    }

    /// The weights of the pixels, row by row.
    pub(super) fn weigh_sixteen(&self, b: &mut Builder, taps: &Taps, count: &Expr) {
        let Some(weights) = &self.weights else { return };
        let [columns, rows] = taps.axes().each_ref().map(|axis| axis.weights);
        for (at, to) in weights.vectors.iter().enumerate() {
            let operands = [to.at(0), columns[at % 4].at(0), rows[at / 4].at(0)];
            binary(b, BinaryOp::Mul, Element::F32, operands, count.clone());
        }
    }

    /// Adds a point, which is so far behind the first one of the chunk and of those that are weighted: row by row where its pixels lie
    /// side by side, else one after the other, since they may be the same.
    pub(super) fn add_sixteen(&self, b: &mut Builder, point: &Expr, weighted: &Expr) {
        let (sizes, row, pixel) = (self.sizes, self.row_bytes(), self.sizes.pixel_bytes());
        let read = |b: &mut Builder, name: &str, at: usize, assume: Numbers| {
            let from = self.offsets.at(point.clone() * 4 + int(4 * sizes.points * at));
            b.read(name, from, Element::I32, assume)
        };
        let slow = |b: &mut Builder| {
            let places = |b: &mut Builder, name: &str, first: usize, count: usize, step: usize| {
                let assume = Numbers { from: 0, to: int((count + 2 * sizes.margin()) * step), step: int(step) };
                [0, 1, 2, 3].map(|k| read(b, name, first + k, assume))
            };
            let columns = places(b, "column_offset", 2, sizes.columns, pixel);
            let rows = places(b, "row_offset", 6, sizes.rows, row);
            for (at, row) in rows.iter().enumerate() {
                for (k, column) in columns.iter().enumerate() {
                    b.vector(self.sum(row.clone() + column.clone(), (weighted, 4 * at + k), 1));
                }
            }
        };
        if sizes.rows < 2 || sizes.columns < 2 {
            // Four pixels side by side would reach beyond both margins.
            slow(b);
            return;
        }
        let first = read(b, "offset", 0, Numbers { from: 0, to: int((sizes.rows - 1) * row), step: int(pixel) });
        let spread = read(b, "spread", 1, Numbers::one(SIDE_BY_SIDE));
        let fast = |b: &mut Builder| {
            for at in 0..4 {
                let sum = self.sum(first.clone() + int(at * row), (weighted, 4 * at), 4);
                // The rows are four.
                if at == 0 { b.vector(sum) } else { b.vector_apart(sum) }
            }
        };
        b.either(spread, Relation::Eq, SIDE_BY_SIDE, fast, slow);
    }
}
