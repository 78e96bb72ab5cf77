//! The rows that the points of each chunk mix, found once where an image passes through the UB in several windows.

use ubtile_tiling::grid_sampler_2d_backward::Problem;

use super::super::touched::Touched;
use super::{Lowering, Y};
use crate::lower::builder::{Builder, int};
use crate::product::Element;
use crate::program::{BufferId, Expr};

/// A table in the UB: of each chunk of an image's points the first row and the last one.
pub(super) struct Survey(BufferId);

impl Survey {
    /// Bytes of an entry: two numbers.
    const ENTRY: usize = 8;

    /// Bytes of local memory for an image's points in chunks of so many.
    pub(super) fn bytes(problem: &Problem, points: usize) -> usize {
        Self::ENTRY.saturating_mul(problem.ho.saturating_mul(problem.wo).div_ceil(points.max(1)))
    }

    pub(super) fn new(b: &mut Builder, bytes: usize) -> Self {
        Self(b.buffer("rows_of_chunks", bytes, 1, Some("tile_points")))
    }
}

impl Lowering {
    /// Fills the table, if there is one.
    pub(super) fn survey(&self, b: &mut Builder, image: &Expr) {
        let (Some(Survey(table)), Some(touched)) = (&self.survey, &self.touched) else { return };
        self.chunks(b, |b, chunk, points| {
            let rows = self.find_rows(b, image, touched, points);
            for (row, place) in rows.into_iter().zip([0, 4]) {
                b.write(table.at(chunk.clone() * int(Survey::ENTRY) + place), Element::I32, row);
            }
        });
    }

    /// The rows of a chunk, found now or read from the table. The chunk's points are loaded only in the first case, and its cells along y
    /// found.
    pub(super) fn rows(
        &self,
        b: &mut Builder,
        image: &Expr,
        chunk: &Expr,
        points: (&Expr, &Expr),
    ) -> Option<[Expr; 2]> {
        let touched = self.touched.as_ref()?;
        let Some(Survey(table)) = &self.survey else {
            return Some(self.find_rows(b, image, touched, points));
        };
        let at = |place: i64| table.at(chunk.clone() * int(Survey::ENTRY) + place);
        let [first, last] = touched.unchanged(points.0);
        let first = b.read("first_of_chunk", at(0), Element::I32, first);
        Some([first, b.read("last_of_chunk", at(4), Element::I32, last)])
    }

    /// Loads points, and finds their cells along y and the rows that they mix.
    fn find_rows(&self, b: &mut Builder, image: &Expr, touched: &Touched, points: (&Expr, &Expr)) -> [Expr; 2] {
        self.load_points(b, image, points);
        self.find(b, Y, points.1);
        touched.find(b, &self.coordinates, self.taps.as_ref(), points)
    }
}
