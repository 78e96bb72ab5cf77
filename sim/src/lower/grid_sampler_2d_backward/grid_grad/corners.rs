//! Where the four pixels around a point lie in a plane.

use super::Lowering;
use crate::lower::builder::Builder;
use crate::lower::shape::{binary, scalar};
use crate::product::{Element, Rounding};
use crate::program::{BinaryOp, Expr, Relation, ScalarOp, Vector, VectorOp};

/// What stands for the place of a pixel that is not there, so that no sum with another place reaches the image.
const ABSENT: f32 = -67_108_864.0;
/// Elements in front of the plane, all 0.
const FRONT: f32 = 8.0;

impl Lowering {
    /// Byte offsets of the corners' pixels in a plane; of those that are not there, that of a zero.
    #[expect(clippy::cast_precision_loss, reason = "a plane in the UB has few pixels")]
    pub(super) fn corners(&self, b: &mut Builder, count: &Expr) {
        for ((axis, places), size) in self.coordinates.axes().iter().zip(self.places).zip(self.size) {
            let [before, behind] = places.map(|place| place.at(0));
            let last = (Relation::Le, (size - 1) as f32);
            scalar(b, ScalarOp::Adds, Element::F32, [before.clone(), axis.cell.at(0)], 0.0, count.clone());
            scalar(b, ScalarOp::Adds, Element::F32, [behind.clone(), axis.cell.at(0)], 1.0, count.clone());
            for place in [before, behind] {
                self.coordinates.keep(b, &place, (Relation::Ge, 0.0), (&place, ABSENT), count);
                self.coordinates.keep(b, &place, last, (&place, ABSENT), count);
            }
        }
        let [columns, rows] = self.places;
        for row in rows {
            let width = self.size[0] as f32;
            scalar(b, ScalarOp::Muls, Element::F32, [row.at(0), row.at(0)], width, count.clone());
        }
        for (corner, to) in self.offsets.into_iter().enumerate() {
            let pixel = self.pixels[corner].at(0);
            let (row, column) = (rows[corner / 2].at(0), columns[corner % 2].at(0));
            binary(b, BinaryOp::Add, Element::F32, [pixel.clone(), row, column], count.clone());
            for (op, number) in [(ScalarOp::Maxs, -FRONT), (ScalarOp::Adds, FRONT), (ScalarOp::Muls, 4.0)] {
                scalar(b, op, Element::F32, [pixel.clone(), pixel.clone()], number, count.clone());
            }
            let op = VectorOp::Cast { to: Element::I32, from: Element::F32, rounding: Rounding::Even };
            b.vector(Vector::new(op, [to.at(0), pixel]).count(count.clone()));
        }
    }
}
