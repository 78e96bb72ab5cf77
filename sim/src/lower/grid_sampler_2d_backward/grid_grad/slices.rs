//! Planes that the UB does not hold: in slices, of which each point takes the pixels that are there.

use super::Lowering;
use super::sizes::FRONT;
use crate::lower::builder::{Builder, int};
use crate::lower::grid_sampler_2d_backward::touched::Touched;
use crate::lower::shape::{binary, fill, scalar};
use crate::product::Element;
use crate::program::{BinaryOp, BufferId, Expr, ScalarOp, Vector, VectorOp};

/// What slices need beside a table.
pub(super) struct Slices {
    pub(super) touched: Touched,
    /// Places of pixels in the slice, and those pixels.
    pub(super) within: BufferId,
    pub(super) part: BufferId,
}

impl Lowering {
    /// The pixels around points, slice by slice of those with the rows that they mix. What another slice has is 0 in this one, so
    /// that bits can be put together.
    pub(super) fn gather_slices(
        &self,
        b: &mut Builder,
        slices: &Slices,
        (plane, rows): (&Expr, &[Expr; 2]),
        count: &Expr,
    ) {
        let (offsets, pixels) = self.around.parts();
        for pixel in pixels {
            fill(b, pixel.at(0), Element::F32, 0.0, count.clone());
        }
        let (cells, all, width) = (self.sizes.cells, self.sizes.pixels, int(self.size[0]));
        let first = b.div("first_slice", rows[0].clone() * width, cells);
        let last = b.div("last_slice", rows[1].clone() * width + (width - 1), cells);
        b.repeat("slice", (first, last + 1, 1), Some("local_bytes"), |b, slice| {
            let first = slice * int(cells);
            let n = b.min("cells", int(cells), Expr::from(int(all)) - first.clone());
            let table = self.load_plane(b, plane, (&first, &n));
            for (to, offsets) in pixels.iter().zip(offsets) {
                let within = slices.within.at(0);
                let mut step = |op, from: &BufferId, number: Expr| {
                    let operands = [within.clone(), from.at(0)];
                    scalar(b, op, Element::I32, operands, number, count.clone());
                };
                step(ScalarOp::Adds, offsets, Expr::from(0) - first.clone());
                step(ScalarOp::Mins, &slices.within, int(cells).into());
                step(ScalarOp::Maxs, &slices.within, (-1).into());
                step(ScalarOp::Adds, &slices.within, int(FRONT).into());
                step(ScalarOp::Muls, &slices.within, 4.into());
                let part = slices.part.at(0);
                let operands = [part.clone(), table.clone(), within];
                b.vector(Vector::new(VectorOp::Gather(Element::F32), operands).count(count.clone()));
                binary(b, BinaryOp::Or, Element::U16, [to.at(0), to.at(0), part], count.clone() * 2);
            }
            self.planes.leave(b);
        });
    }
}
