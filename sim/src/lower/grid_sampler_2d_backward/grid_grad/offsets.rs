//! From places along both axes to byte offsets in a plane with zeros in front of it.

use super::sizes::FRONT;
use crate::lower::builder::Builder;
use crate::lower::shape::{binary, scalar};
use crate::product::{Element, Rounding};
use crate::program::{BinaryOp, BufferId, Expr, Local, ScalarOp, Vector, VectorOp};

/// What stands for the place of a pixel that is not there, so that no sum with another place reaches the image.
pub(super) const ABSENT: f32 = -67_108_864.0;
/// Rows become pixels before them.
#[expect(clippy::cast_precision_loss, reason = "a plane in the UB has few pixels")]
pub(super) fn scale(b: &mut Builder, rows: &[BufferId], width: usize, count: &Expr) {
    for row in rows {
        scalar(b, ScalarOp::Muls, Element::F32, [row.at(0), row.at(0)], width as f32, count.clone());
    }
}

/// The offset of the pixel at two places, the row's scaled, by way of a vector for it. Of a plane in slices it is the pixel's number, and
/// negative where there is none.
#[expect(clippy::cast_precision_loss, reason = "there are few zeros")]
pub(super) fn put(
    b: &mut Builder,
    (to, pixel): (BufferId, Local),
    places: [BufferId; 2],
    (sliced, count): (bool, &Expr),
) {
    let front = FRONT as f32;
    let [row, column] = places.map(|place| place.at(0));
    binary(b, BinaryOp::Add, Element::F32, [pixel.clone(), row, column], count.clone());
    let steps = [(ScalarOp::Maxs, -front), (ScalarOp::Adds, front), (ScalarOp::Muls, 4.0)];
    for (op, number) in steps.into_iter().take(if sliced { 1 } else { 3 }) {
        scalar(b, op, Element::F32, [pixel.clone(), pixel.clone()], number, count.clone());
    }
    let op = VectorOp::Cast { to: Element::I32, from: Element::F32, rounding: Rounding::Even };
    b.vector(Vector::new(op, [to.at(0), pixel]).count(count.clone()));
}
