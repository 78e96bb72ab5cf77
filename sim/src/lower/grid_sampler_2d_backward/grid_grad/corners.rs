//! The four pixels around a point.

use super::offsets::{self, ABSENT};
use crate::lower::builder::Builder;
use crate::lower::grid_sampler_2d_backward::coordinates::Coordinates;
use crate::lower::shape::{binary, scalar};
use crate::product::Element;
use crate::program::{BinaryOp, BufferId, Expr, Local, Relation, ScalarOp};

/// Buffers for a chunk of points.
pub(super) struct Corners {
    /// Columns before and behind a point, rows before and behind it.
    places: [[BufferId; 2]; 2],
    /// Of the corners nw, ne, sw, se.
    offsets: [BufferId; 4],
    pixels: [BufferId; 4],
}

impl Corners {
    /// How many vectors it has.
    pub(super) const VECTORS: usize = 4 + 4 + 4;

    pub(super) fn new(vector: &mut impl FnMut(&str) -> BufferId) -> Self {
        Self {
            places: ["column", "row"].map(|axis| ["before", "behind"].map(|side| vector(&format!("{axis}_{side}")))),
            offsets: ["nw", "ne", "sw", "se"].map(|corner| vector(&format!("{corner}_offset"))),
            pixels: ["nw", "ne", "sw", "se"].map(vector),
        }
    }

    /// Byte offsets of the corners' pixels in a plane; of those that are not there, that of a zero.
    #[expect(clippy::cast_precision_loss, reason = "a plane in the UB has few pixels")]
    pub(super) fn find(&self, b: &mut Builder, of: &Coordinates, size: [usize; 2], (sliced, count): (bool, &Expr)) {
        for ((axis, places), size) in of.axes().iter().zip(self.places).zip(size) {
            let [before, behind] = places.map(|place| place.at(0));
            let last = (Relation::Le, (size - 1) as f32);
            scalar(b, ScalarOp::Adds, Element::F32, [before.clone(), axis.cell.at(0)], 0.0, count.clone());
            scalar(b, ScalarOp::Adds, Element::F32, [behind.clone(), axis.cell.at(0)], 1.0, count.clone());
            for place in [before, behind] {
                of.keep(b, &place, (Relation::Ge, 0.0), (&place, ABSENT), count);
                of.keep(b, &place, last, (&place, ABSENT), count);
            }
        }
        let [columns, rows] = self.places;
        offsets::scale(b, &rows, size[0], count);
        for (corner, to) in self.offsets.into_iter().enumerate() {
            let places = [rows[corner / 2], columns[corner % 2]];
            offsets::put(b, (to, self.pixels[corner]), places, (sliced, count));
        }
    }

    /// Offsets, and where their pixels go.
    pub(super) fn parts(&self) -> (&[BufferId], &[BufferId]) {
        (&self.offsets, &self.pixels)
    }

    /// How what was read changes along an axis.
    pub(super) fn slope(&self, b: &mut Builder, of: &Coordinates, axis: usize, count: &Expr) -> Local {
        let [nw, ne, sw, se] = self.pixels.map(|pixels| pixels.at(0));
        let differences = if axis == 0 { [(&ne, &nw), (&se, &sw)] } else { [(&sw, &nw), (&se, &ne)] };
        let across = &of.axes()[1 - axis];
        // Places are only needed until the offsets are known.
        let [[first, second], _] = self.places.map(|places| places.map(|place| place.at(0)));
        let mut step = |op, to: &Local, a: &Local, by: &Local| {
            binary(b, op, Element::F32, [to.clone(), a.clone(), by.clone()], count.clone());
        };
        for (to, ((a, by), weight)) in
            [&first, &second].into_iter().zip(differences.into_iter().zip([across.before, across.after]))
        {
            step(BinaryOp::Sub, to, a, by);
            step(BinaryOp::Mul, to, to, &weight.at(0));
        }
        step(BinaryOp::Add, &first, &first, &second);
        first
    }
}
