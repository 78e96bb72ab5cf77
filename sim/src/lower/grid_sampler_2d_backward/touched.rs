//! Which rows of an image the points of a chunk mix, where it passes through the UB in parts.

use ubtile_tiling::grid_sampler_2d_backward::Problem;

use super::bicubic::Taps;
use super::coordinates::Coordinates;
use crate::lower::builder::{Builder, int};
use crate::lower::shape::{BLOCK_BYTES, LANES, binary, blocks, scalar};
use crate::product::{Element, Rounding};
use crate::program::{
    Assume, BinaryOp, BufferId, Expr, Local, Numbers, Pipe, ReduceOp, Relation, ScalarOp, Vector, VectorOp,
};

/// Buffers for a chunk of points.
pub(super) struct Touched {
    rows: usize,
    /// Points of an image.
    points: usize,
    /// Rows that a run without data assumes a chunk to mix: as many as those of an unchanged picture.
    usual: usize,
    /// Of each point, the first row and the last one.
    first: BufferId,
    last: BufferId,
    /// Of repeats, and of all: in f32, and as whole numbers.
    parts: BufferId,
    all: [BufferId; 2],
    found: [BufferId; 2],
    /// From V to the scalar unit.
    ready: u8,
}

impl Touched {
    /// Bytes of local memory for so many points.
    pub(super) const fn bytes(points: usize) -> usize {
        2 * blocks(4 * points) + blocks(4 * points.div_ceil(LANES)) + 4 * BLOCK_BYTES
    }

    pub(super) fn new(b: &mut Builder, problem: &Problem, points: usize) -> Self {
        let field = Some("tile_points");
        let (rows, usual) = (problem.hi, (points.div_ceil(problem.wo) * problem.hi).div_ceil(problem.ho) + 1);
        let [first, last] = ["first_rows", "last_rows"].map(|name| b.buffer(name, 4 * points, 1, field));
        let parts = b.buffer("row_parts", 4 * points.div_ceil(LANES), 1, field);
        let all = ["least_row", "largest_row"].map(|name| b.buffer(name, BLOCK_BYTES, 1, None));
        let found = ["first_row_found", "rows_found"].map(|name| b.buffer(name, BLOCK_BYTES, 1, None));
        let ready = b.flag_id(Pipe::V, Pipe::S);
        Self { rows, points: problem.ho * problem.wo, usual: usual.min(rows), first, last, parts, all, found, ready }
    }

    /// Of so many points from one of an image on, the first of them and the last one; the last comes before the first if there are none.
    #[expect(clippy::cast_precision_loss, reason = "an image has fewer rows than f32 counts")]
    pub(super) fn find(
        &self,
        b: &mut Builder,
        of: &Coordinates,
        taps: Option<&Taps>,
        (point, count): (&Expr, &Expr),
    ) -> [Expr; 2] {
        let [_, y] = of.axes();
        let (first, last, end) = (self.first.at(0), self.last.at(0), (self.rows - 1) as f32);
        let step = |b: &mut Builder, op, to: &Local, from: &Local, number: f32| {
            scalar(b, op, Element::F32, [to.clone(), from.clone()], number, count.clone());
        };
        match taps {
            None => {
                step(b, ScalarOp::Maxs, &first, &y.cell.at(0), 0.0);
                step(b, ScalarOp::Adds, &last, &y.cell.at(0), 1.0);
            }
            Some(taps) => {
                let [a, pixels @ ..] = taps.axes()[1].pixels.map(|pixel| pixel.at(0));
                step(b, ScalarOp::Adds, &first, &a, 0.0);
                step(b, ScalarOp::Adds, &last, &a, 0.0);
                for pixel in pixels {
                    for (op, to) in [(BinaryOp::Min, &first), (BinaryOp::Max, &last)] {
                        binary(b, op, Element::F32, [to.clone(), to.clone(), pixel.clone()], count.clone());
                    }
                }
                step(b, ScalarOp::Maxs, &first, &first, 0.0);
            }
        }
        step(b, ScalarOp::Mins, &last, &last, end);
        let there = (Relation::Ge, of.first_cell());
        of.keep(b, &y.cell.at(0), there, (&first, self.rows as f32), count);
        of.keep(b, &y.cell.at(0), there, (&last, -1.0), count);
        let repeats = b.div("repeats", count.clone() + (int(LANES) - 1), LANES);
        for ((op, from), all) in [(ReduceOp::Min, &first), (ReduceOp::Max, &last)].into_iter().zip(self.all) {
            let op = VectorOp::Reduce(op, Element::F32);
            b.vector(Vector::new(op, [self.parts.at(0), from.clone()]).count(count.clone()));
            b.vector(Vector::new(op, [all.at(0), self.parts.at(0)]).count(repeats.clone()));
        }
        let [least, largest] = self.all.map(|all| all.at(0));
        binary(b, BinaryOp::Sub, Element::F32, [largest.clone(), largest.clone(), least.clone()], 1);
        for (to, from) in self.found.into_iter().zip([least, largest]) {
            let op = VectorOp::Cast { to: Element::I32, from: Element::F32, rounding: Rounding::Even };
            b.vector(Vector::new(op, [to.at(0), from]).count(1));
        }
        b.after(Pipe::V, Pipe::S, self.ready);
        let [first, rows] = self.found.map(|found| found.at(0));
        let [unchanged, _] = self.unchanged(point);
        let first = b.read("first_row_read", first, Element::I32, unchanged);
        let usual = int(self.usual - 1);
        let rows = b.read("rows_read", rows, Element::I32, Numbers::one(usual));
        let last = b.min("last_row_read", first.clone() + rows, int(self.rows - 1));
        [first, last]
    }

    /// What a run without data assumes of the points from one of an image on: they mix the rows of an unchanged picture.
    pub(super) fn unchanged(&self, point: &Expr) -> [Assume; 2] {
        [0, int(self.usual - 1)].map(|further| {
            let of = point.clone() * int(self.rows) + further * int(self.points);
            Assume::Quotient { of, by: int(self.points) }
        })
    }
}
