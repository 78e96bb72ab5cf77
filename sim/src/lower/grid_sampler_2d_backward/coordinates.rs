//! Where points lie in the image: a vector for each quantity, a lane for each point.

use ubtile_tiling::grid_sampler_2d_backward::{Interpolation, PaddingMode, Problem};

use super::reflection::Reflection;
use crate::lower::LowerError;
use crate::lower::builder::{Builder, int};
use crate::lower::ring::Ring;
use crate::lower::shape::{Compute, binary, blocks, cast, fill, scalar};
use crate::product::{Element, Rounding};
use crate::program::{
    BinaryOp, BufferId, Burst, Expr, Local, Pattern, Pipe, Relation, ScalarOp, TensorId, Vector, VectorOp,
};

/// Where points lie that mix no pixel.
pub(super) const NOWHERE: f32 = -4_294_967_296.0;

/// Centres of bicubic interpolation lie from minus this on and below this.
const CELLS: f32 = 2_147_483_648.0;

/// Vectors of f32 of a chunk: of each axis the position, its cell, the distances to the next pixel and from the last one, the
/// multiplier; and the border's two.
const VECTORS: usize = 2 * 5 + 2;

/// Buffers for a chunk of points.
pub(super) struct Coordinates {
    points: usize,
    compute: Compute,
    /// Pixels of each axis, x first.
    size: [usize; 2],
    padding: PaddingMode,
    align_corners: bool,
    interpolation: Interpolation,
    grid: TensorId,
    loaded: Ring,
    /// Pairs of f32, of a short type.
    pairs: Option<BufferId>,
    axes: [Axis; 2],
    /// 0 and the last pixel's position.
    ends: [BufferId; 2],
    /// A bit for each point.
    bits: [BufferId; 2],
    reflection: Option<Reflection>,
}

/// Vectors of an axis.
#[derive(Clone, Copy)]
pub(super) struct Axis {
    pub(super) at: BufferId,
    pub(super) cell: BufferId,
    pub(super) before: BufferId,
    pub(super) after: BufferId,
    pub(super) multiplier: BufferId,
}

impl Coordinates {
    /// Bytes of local memory for so many points.
    pub(super) fn bytes(compute: Compute, padding: PaddingMode, points: usize) -> usize {
        let reflection = if padding == PaddingMode::Reflection { Reflection::bytes(points) } else { 0 };
        let pairs = if compute.is_short() { blocks(8 * points) } else { 0 };
        let vectors = VECTORS * blocks(4 * points) + 2 * Self::bit_bytes(points);
        2 * blocks(2 * compute.size * points) + pairs + vectors + reflection
    }

    /// Bits of whole repeats.
    fn bit_bytes(points: usize) -> usize {
        blocks(points.next_multiple_of(64) / 8)
    }

    pub(super) fn new(b: &mut Builder, problem: &Problem, grid: TensorId, points: usize) -> Result<Self, LowerError> {
        let compute = Compute::of(problem.dtype)?;
        let field = Some("tile_points");
        let loaded = Ring::new(b, ("grid_pairs", 2 * compute.size * points, 2), field, &[Pipe::Mte2, Pipe::V]);
        let pairs = compute.is_short().then(|| b.buffer("grid_f32", 8 * points, 1, field));
        let mut vector = |name: String| b.buffer(&name, 4 * points, 1, field);
        let axes = ["x", "y"].map(|axis| {
            let mut vector = |name: &str| vector(format!("{axis}_{name}"));
            Axis {
                at: vector("position"),
                cell: vector("cell"),
                before: vector("before"),
                after: vector("after"),
                multiplier: vector("multiplier"),
            }
        });
        let ends = ["first_pixel", "last_pixel"].map(|name| vector(name.into()));
        let reflection = (problem.padding_mode == PaddingMode::Reflection).then(|| Reflection::new(b, points));
        let bits = ["bits", "bits2"].map(|name| b.buffer(name, Self::bit_bytes(points), 1, field));
        Ok(Self {
            points,
            compute,
            size: [problem.wi, problem.hi],
            padding: problem.padding_mode,
            align_corners: problem.align_corners,
            interpolation: problem.interpolation,
            grid,
            loaded,
            pairs,
            axes,
            ends,
            bits,
            reflection,
        })
    }

    pub(super) fn begin(&self, b: &mut Builder) {
        self.loaded.begin(b);
        fill(b, self.ends[0].at(0), Element::F32, 0.0, int(self.points));
    }

    pub(super) fn finish(&self, b: &mut Builder) {
        self.loaded.end(b);
    }

    pub(super) const fn axes(&self) -> &[Axis; 2] {
        &self.axes
    }

    /// The least cell of a point that mixes pixels.
    pub(super) fn first_cell(&self) -> f32 {
        match (self.interpolation, self.padding) {
            (Interpolation::Bicubic, PaddingMode::Zeros) => -2.0,
            (Interpolation::Bicubic, _) => -CELLS,
            _ => -1.0,
        }
    }

    /// All points that mix pixels of an axis of so many lie before this.
    fn end(&self, size: f32) -> f32 {
        match (self.interpolation, self.padding) {
            (Interpolation::Bicubic, PaddingMode::Zeros) => size + 1.0,
            (Interpolation::Bicubic, _) => CELLS,
            _ => size,
        }
    }

    /// Distances modulo a span, see [`Reflection::remainder`]; as they are where nothing is mirrored.
    pub(super) fn remainder(&self, b: &mut Builder, distance: &Local, span: f32, count: &Expr) {
        if let Some(reflection) = &self.reflection {
            reflection.remainder(b, self, (distance, &self.scratch()), span, count);
        }
    }

    /// The cells of so many points from one on, which counts over all images.
    pub(super) fn find(&self, b: &mut Builder, point: &Expr, count: &Expr) {
        self.load(b, point, count);
        for axis in 0..2 {
            self.find_axis(b, axis, count);
        }
    }

    /// Loads so many points from one on; nothing is found of them yet.
    pub(super) fn load(&self, b: &mut Builder, point: &Expr, count: &Expr) {
        let size = int(2 * self.compute.size);
        self.loaded.enter(b);
        let from = self.grid.at(point.clone() * size);
        b.load(self.loaded.at(0), from, Burst::of(count.clone() * size), None);
        self.loaded.pass(b, 0);
        let pairs = match self.pairs {
            Some(pairs) => {
                let from = (self.loaded.at(0), self.compute.element);
                cast(b, (pairs.at(0), Element::F32), from, count.clone() * 2);
                pairs.at(0)
            }
            None => self.loaded.at(0),
        };
        for (axis, pattern) in self.axes.iter().zip([Pattern::Even, Pattern::Odd]) {
            let op = VectorOp::GatherMask(Element::F32, pattern);
            b.vector(Vector::new(op, [axis.at.at(0), pairs.clone()]).count(count.clone() * 2));
        }
        self.loaded.leave(b);
    }

    /// The cells of points that are loaded along an axis, 0 for x and 1 for y.
    #[expect(clippy::cast_precision_loss, reason = "the nearest is meant")]
    pub(super) fn find_axis(&self, b: &mut Builder, axis: usize, count: &Expr) {
        let (axis, size) = (&self.axes[axis], self.size[axis]);
        let (at, last) = (axis.at.at(0), (size - 1) as f32);
        let size = size as f32;
        let step = |b: &mut Builder, op, number: f32| {
            scalar(b, op, Element::F32, [at.clone(), at.clone()], number, count.clone());
        };
        step(b, ScalarOp::Adds, 1.0);
        let scale = if self.align_corners {
            step(b, ScalarOp::Muls, 0.5);
            step(b, ScalarOp::Muls, last);
            last * 0.5
        } else {
            step(b, ScalarOp::Muls, size);
            step(b, ScalarOp::Adds, -1.0);
            step(b, ScalarOp::Muls, 0.5);
            size * 0.5
        };
        fill(b, axis.multiplier.at(0), Element::F32, scale, count.clone());
        // The sixteen pixels of bicubic interpolation are padded, not their centre.
        if self.interpolation != Interpolation::Bicubic {
            if let Some(reflection) = &self.reflection {
                let (min, span) = if self.align_corners { (0.0, last) } else { (-0.5, size) };
                reflection.mirror(b, self, axis, (min, span, scale), count);
            }
            if self.padding != PaddingMode::Zeros {
                self.clip(b, axis, last, count);
            }
        }
        for (relation, bound) in [(Relation::Ge, self.first_cell()), (Relation::Lt, self.end(size))] {
            self.keep(b, &at, (relation, bound), (&at, NOWHERE), count);
        }

        let rounding = if self.interpolation == Interpolation::Nearest { Rounding::Even } else { Rounding::Floor };
        let op = VectorOp::Cast { to: Element::F32, from: Element::F32, rounding };
        let cell = axis.cell.at(0);
        b.vector(Vector::new(op, [cell.clone(), at.clone()]).count(count.clone()));
        let (before, after) = (axis.before.at(0), axis.after.at(0));
        scalar(b, ScalarOp::Adds, Element::F32, [before.clone(), cell.clone()], 1.0, count.clone());
        binary(b, BinaryOp::Sub, Element::F32, [before.clone(), before, at.clone()], count.clone());
        binary(b, BinaryOp::Sub, Element::F32, [after, at, cell], count.clone());
    }

    /// To the image; nothing changes with a point on its border or beyond it.
    fn clip(&self, b: &mut Builder, axis: &Axis, last: f32, count: &Expr) {
        let [zero, end] = self.ends.map(|vector| vector.at(0));
        fill(b, end.clone(), Element::F32, last, count.clone());
        let ([below, above], at) = (self.bits.map(|bits| bits.at(0)), axis.at.at(0));
        for (bits, relation, bound) in [(&below, Relation::Le, 0.0), (&above, Relation::Ge, last)] {
            self.compare(b, bits, (relation, bound), &at, count);
        }
        for (bits, border) in [(&above, &end), (&below, &zero)] {
            for (vector, border) in [(&at, border), (&axis.multiplier.at(0), &zero)] {
                select(b, bits, [vector, border, vector], count);
            }
        }
    }

    /// Room for a bit of each point; [`keep`](Self::keep) uses it, too, unless it is the second one.
    pub(super) fn bits(&self, which: usize) -> Local {
        self.bits[which].at(0)
    }

    /// A vector that holds anything between two positions.
    pub(super) fn scratch(&self) -> Local {
        self.ends[1].at(0)
    }

    pub(super) fn compare(
        &self,
        b: &mut Builder,
        bits: &Local,
        (relation, bound): (Relation, f32),
        of: &Local,
        count: &Expr,
    ) {
        let op = VectorOp::CompareScalar(relation, Element::F32);
        b.vector(Vector::new(op, [bits.clone(), of.clone()]).scalar(bound).count(count.clone()));
    }

    /// Lanes of a vector become a number, unless the same lanes of another one have a relation to a bound.
    pub(super) fn keep(
        &self,
        b: &mut Builder,
        of: &Local,
        relation: (Relation, f32),
        (vector, otherwise): (&Local, f32),
        count: &Expr,
    ) {
        let bits = self.bits[0].at(0);
        self.compare(b, &bits, relation, of, count);
        let operands = [vector.clone(), bits, vector.clone()];
        b.vector(Vector::new(VectorOp::SelectScalar(Element::F32), operands).scalar(otherwise).count(count.clone()));
    }
}

/// A vector from one of two, by bits.
pub(super) fn select(b: &mut Builder, bits: &Local, [to, set, unset]: [&Local; 3], count: &Expr) {
    let operands = [to.clone(), bits.clone(), set.clone(), unset.clone()];
    b.vector(Vector::new(VectorOp::Select(Element::F32), operands).count(count.clone()));
}
