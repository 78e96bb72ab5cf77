//! The pixels that a point adds to: of the nearest one, or of the four around it.

use super::{Lowering, Window, stride};
use crate::lower::builder::{Builder, int};
use crate::lower::shape::{binary, broadcast, scalar};
use crate::product::{Element, Rounding};
use crate::program::{BinaryOp, BufferId, Expr, Local, Numbers, ScalarOp, Vector, VectorOp};

/// Weights of each corner, of one corner a block for each point, and the weighted channels of all.
pub(super) struct Weights {
    pub(super) vectors: Vec<BufferId>,
    pub(super) spread: BufferId,
    pub(super) products: BufferId,
}

impl Lowering {
    /// Byte offsets of the points' north-western pixels; all that mix none, or only others than the window's, lie in the margin.
    #[expect(clippy::cast_precision_loss, reason = "positions in the UB are exact")]
    pub(super) fn place(&self, b: &mut Builder, window: &Window, count: &Expr) {
        let [x, y] = self.coordinates.axes();
        let (index, margin) = (self.scratch.at(0), self.sizes.margin() as f32);
        self.offsets.enter(b);
        let step = |b: &mut Builder, op, to: &Local, from: &Local, number: f32| {
            scalar(b, op, Element::F32, [to.clone(), from.clone()], number, count.clone());
        };
        let from = self.within(b, (&y.cell.at(0), &index), &window.row, count);
        step(b, ScalarOp::Maxs, &index, &from, -margin);
        step(b, ScalarOp::Mins, &index, &index, self.sizes.rows as f32);
        step(b, ScalarOp::Adds, &index, &index, margin);
        step(b, ScalarOp::Muls, &index, &index, self.sizes.pitch() as f32);
        let offsets = self.offsets.at(0);
        // The column's place, until the offset takes it.
        let from = self.within(b, (&x.cell.at(0), &offsets), &window.column, count);
        step(b, ScalarOp::Maxs, &offsets, &from, -margin);
        if self.sizes.is_part {
            step(b, ScalarOp::Mins, &offsets, &offsets, self.sizes.columns as f32);
        }
        step(b, ScalarOp::Adds, &offsets, &offsets, margin);
        binary(b, BinaryOp::Add, Element::F32, [index.clone(), index.clone(), offsets.clone()], count.clone());
        step(b, ScalarOp::Muls, &index, &index, self.sizes.pixel_bytes() as f32);
        let op = VectorOp::Cast { to: Element::I32, from: Element::F32, rounding: Rounding::Even };
        b.vector(Vector::new(op, [offsets, index]).count(count.clone()));
    }

    /// Cells as counted from the first row or column of a window, by way of a vector where that is not 0.
    fn within(&self, b: &mut Builder, (cells, to): (&Local, &Local), first: &Expr, count: &Expr) -> Local {
        if first.as_constant() == Some(0) {
            return cells.clone();
        }
        let first = b.float("first_f32", Expr::from(0) - first.clone());
        scalar(b, ScalarOp::Adds, Element::F32, [to.clone(), cells.clone()], first, count.clone());
        to.clone()
    }

    /// The weights of the corners, row by row.
    pub(super) fn weigh(&self, b: &mut Builder, count: &Expr) {
        let Some(weights) = &self.weights else { return };
        let [x, y] = self.coordinates.axes();
        let factors = [(x.before, y.before), (x.after, y.before), (x.before, y.after), (x.after, y.after)];
        for (to, (x, y)) in weights.vectors.iter().zip(factors) {
            binary(b, BinaryOp::Mul, Element::F32, [to.at(0), x.at(0), y.at(0)], count.clone());
        }
    }

    /// Channels of some points, so far behind the first one of the chunk and of those that were loaded, times their weights.
    pub(super) fn multiply(&self, b: &mut Builder, point: &Expr, loaded: &Expr) {
        let Some(weights) = &self.weights else { return };
        let pixel = self.sizes.pixel_bytes();
        let together = self.sizes.weighted();
        for (corner, vector) in weights.vectors.iter().enumerate() {
            broadcast(b, Element::F32, weights.spread.at(0), vector.at(point.clone() * 4), together);
            let to = weights.products.at(int(corner * pixel));
            let op = VectorOp::Binary(BinaryOp::Mul, Element::F32);
            let product = Vector::new(op, [to, self.turned.at(loaded.clone() * int(pixel)), weights.spread.at(0)]);
            let product = product.strides(0, 1, stride(self.sizes.corners * pixel)).strides(1, 1, stride(pixel));
            b.vector(product.strides(2, 0, 1).masked(int(together), self.mask()));
        }
    }

    /// Adds a point, which is so far behind the first one of the chunk and of those that are weighted.
    pub(super) fn add(&self, b: &mut Builder, point: &Expr, weighted: &Expr) {
        let (pixel, row) = (self.sizes.pixel_bytes(), self.row_bytes());
        let assume = Numbers { from: 0, to: int((self.sizes.rows + self.sizes.margin()) * row), step: int(pixel) };
        let offset = b.read("offset", self.offsets.at(point.clone() * 4), Element::I32, assume);
        let side = if self.weights.is_some() { 2 } else { 1 };
        for south in 0..side {
            let sum = self.sum(offset.clone() + int(south * row), (weighted, south * side), side);
            // The southern row is another one.
            if south == 0 { b.vector(sum) } else { b.vector_apart(sum) }
        }
    }
}
