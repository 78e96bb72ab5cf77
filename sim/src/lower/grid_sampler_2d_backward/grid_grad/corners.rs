//! The four pixels around a point.

use super::lanes::{Lanes, Operand, Place, at};
use super::offsets::{self, ABSENT};
use crate::lower::builder::Builder;
use crate::lower::grid_sampler_2d_backward::coordinates::Coordinates;
use crate::lower::shape::scalar;
use crate::product::Element;
use crate::program::{BinaryOp, BufferId, Expr, Relation, ScalarOp};

const CORNERS: [&str; 4] = ["nw", "ne", "sw", "se"];

/// Buffers for a chunk of points.
pub(super) struct Corners {
    /// Columns before and behind a point, rows before and behind it.
    places: [[BufferId; 2]; 2],
    /// Of the corners nw, ne, sw, se.
    offsets: [BufferId; 4],
    /// Each in a vector, or of several channels one behind the other.
    pixels: [Place; 4],
    /// Bytes of a channel's.
    pitch: usize,
    /// Changes along two sides.
    terms: [(BufferId, usize); 2],
}

impl Corners {
    /// How many vectors it has for so many channels at a time.
    pub(super) const fn vectors(together: usize) -> usize {
        let terms = if together > 1 { 2 * together } else { 0 };
        4 + 4 + 4 * together + terms
    }

    pub(super) fn new((points, together): (usize, usize), vectors: &mut impl FnMut(&str, usize) -> BufferId) -> Self {
        let mut vector = |name: &str| vectors(name, 1);
        let places = ["column", "row"].map(|axis| ["before", "behind"].map(|side| vector(&format!("{axis}_{side}"))));
        let offsets = CORNERS.map(|corner| vector(&format!("{corner}_offset")));
        if together == 1 {
            let pixels = CORNERS.map(|corner| (vector(corner), 0));
            // Places are only needed until the offsets are known.
            return Self { places, offsets, pixels, pitch: 0, terms: places[0].map(|place| (place, 0)) };
        }
        let all = vectors("corners", CORNERS.len() * together);
        let pixels = [0, 1, 2, 3].map(|corner| (all, 4 * points * corner));
        let terms = ["term", "other_term"].map(|name| (vectors(name, together), 4 * points));
        Self { places, offsets, pixels, pitch: 4 * points * CORNERS.len(), terms }
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
            offsets::put(b, (to, at(self.pixels[corner])), places, (sliced, count));
        }
    }

    pub(super) const fn offsets(&self) -> &[BufferId] {
        &self.offsets
    }

    /// The pixels of all points, of several channels those of the first.
    pub(super) const fn pixels(&self) -> &[Place] {
        &self.pixels
    }

    /// How what was read changes along an axis.
    pub(super) fn slope(&self, b: &mut Builder, of: &Coordinates, axis: usize, lanes: Lanes<'_>) -> Operand {
        let [nw, ne, sw, se] = self.pixels.map(|pixels| (at(pixels), self.pitch));
        let differences = if axis == 0 { [(&ne, &nw), (&se, &sw)] } else { [(&sw, &nw), (&se, &ne)] };
        let across = &of.axes()[1 - axis];
        let [first, second] = self.terms.map(|(term, pitch)| (term.at(0), pitch));
        for (to, ((a, by), weight)) in
            [&first, &second].into_iter().zip(differences.into_iter().zip([across.before, across.after]))
        {
            lanes.binary(b, BinaryOp::Sub, [to.clone(), a.clone(), by.clone()]);
            lanes.binary(b, BinaryOp::Mul, [to.clone(), to.clone(), (weight.at(0), 0)]);
        }
        lanes.binary(b, BinaryOp::Add, [first.clone(), first.clone(), second]);
        first
    }
}
