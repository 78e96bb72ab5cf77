//! Positions outside the image, mirrored into it as often as it takes.

use std::iter;

use super::coordinates::{Axis, Coordinates, select};
use crate::lower::builder::{Builder, int};
use crate::lower::shape::{LANES, binary, blocks, fill, scalar};
use crate::product::{Element, Rounding};
use crate::program::{
    BinaryOp, BufferId, Expr, Float, FloatOp, Instruction, Local, Numbers, Pipe, ReduceOp, Relation, ScalarOp, UnaryOp,
    Value, Vector, VectorOp,
};

/// What mirroring needs beside the vectors of an axis.
pub(super) struct Reflection {
    /// The largest distance of each repeat, of each repeat of those, and so on to the one of all.
    largest: BufferId,
    points: usize,
    /// From V to the scalar unit and back.
    flags: [u8; 2],
}

impl Reflection {
    /// Bytes of local memory for so many points.
    pub(super) fn bytes(points: usize) -> usize {
        reductions(points).map(largest_bytes).sum()
    }

    pub(super) fn new(b: &mut Builder, points: usize) -> Self {
        let largest = b.buffer("largest", Self::bytes(points), 1, Some("tile_points"));
        Self { largest, points, flags: [b.flag_id(Pipe::V, Pipe::S), b.flag_id(Pipe::S, Pipe::V)] }
    }

    /// Mirrors positions at `min` and at `min + span`; a multiplier turns with each flip. What is not finite becomes NaN.
    pub(super) fn mirror(
        &self,
        b: &mut Builder,
        of: &Coordinates,
        axis: &Axis,
        (min, span, scale): (f32, f32, f32),
        count: &Expr,
    ) {
        // The cell and the distances come later: their vectors are free.
        let (at, multiplier) = (axis.at.at(0), axis.multiplier.at(0));
        let [distance, flips, other] = [axis.before, axis.after, axis.cell].map(|vector| vector.at(0));
        let step = |b: &mut Builder, op, to: &Local, from: &Local, number: f32| {
            scalar(b, op, Element::F32, [to.clone(), from.clone()], number, count.clone());
        };
        let both = |b: &mut Builder, op, to: &Local, left: &Local, right: &Local| {
            binary(b, op, Element::F32, [to.clone(), left.clone(), right.clone()], count.clone());
        };
        let floor = |b: &mut Builder, to: &Local, from: &Local| {
            let op = VectorOp::Cast { to: Element::F32, from: Element::F32, rounding: Rounding::Floor };
            b.vector(Vector::new(op, [to.clone(), from.clone()]).count(count.clone()));
        };
        // Zero times what is not finite is NaN.
        step(b, ScalarOp::Muls, &other, &at, 0.0);
        both(b, BinaryOp::Add, &at, &at, &other);
        if span == 0.0 {
            step(b, ScalarOp::Muls, &at, &at, 0.0);
            fill(b, multiplier, Element::F32, 0.0, count.clone());
            return;
        }
        step(b, ScalarOp::Adds, &distance, &at, -min);
        of.keep(b, &distance, (Relation::Ge, 0.0), (&multiplier, -scale), count);
        b.vector(
            Vector::new(VectorOp::Unary(UnaryOp::Abs, Element::F32), [distance.clone(), distance.clone()])
                .count(count.clone()),
        );
        let spans = of.scratch();
        fill(b, spans.clone(), Element::F32, span, count.clone());
        both(b, BinaryOp::Div, &flips, &distance, &spans);
        floor(b, &flips, &flips);
        // Half of an odd number is no whole number. From 2^24 on all are even.
        step(b, ScalarOp::Muls, &flips, &flips, 0.5);
        floor(b, &other, &flips);
        both(b, BinaryOp::Sub, &flips, &flips, &other);

        self.remainder(b, of, (&distance, &other), span, count);

        let odd = of.bits(1);
        of.compare(b, &odd, (Relation::Gt, 0.25), &flips, count);
        step(b, ScalarOp::Muls, &other, &multiplier, -1.0);
        select(b, &odd, [&multiplier, &other, &multiplier], count);
        step(b, ScalarOp::Muls, &other, &distance, -1.0);
        step(b, ScalarOp::Adds, &other, &other, span);
        step(b, ScalarOp::Adds, &other, &other, min);
        step(b, ScalarOp::Adds, &distance, &distance, min);
        select(b, &odd, [&at, &other, &distance], count);
    }

    /// Distances modulo the span, exactly: what is left after subtracting the span times powers of two, which rounds nowhere. Nearly
    /// always none is two spans or further away, and one subtraction is enough.
    pub(super) fn remainder(
        &self,
        b: &mut Builder,
        of: &Coordinates,
        (distance, other): (&Local, &Local),
        span: f32,
        count: &Expr,
    ) {
        let op = VectorOp::Reduce(ReduceOp::Max, Element::F32);
        let (mut from, mut left) = (distance.clone(), count.clone());
        let mut offset = 0;
        for numbers in reductions(self.points) {
            let to = self.largest.at(int(offset));
            b.vector(Vector::new(op, [to.clone(), from]).count(left.clone()));
            if numbers > 1 {
                left = b.div("repeats", left + int(LANES - 1), LANES);
            }
            (from, offset) = (to, offset + largest_bytes(numbers));
        }
        b.after(Pipe::V, Pipe::S, self.flags[0]);
        // Of numbers that are not negative, the bits are in their order.
        let found = b.read("largest_bits", from, Element::U32, Numbers::one(0));
        b.after(Pipe::S, Pipe::V, self.flags[1]);

        let subtract = |b: &mut Builder, much: Float, less: Float| {
            let compare = VectorOp::CompareScalar(Relation::Ge, Element::F32);
            let bits = of.bits(0);
            b.vector(Vector::new(compare, [bits.clone(), distance.clone()]).scalar(much).count(count.clone()));
            scalar(b, ScalarOp::Adds, Element::F32, [other.clone(), distance.clone()], less, count.clone());
            select(b, &bits, [distance, other, distance], count);
        };
        let [much, less] = ["much", "less"].map(|name| b.float_register(name));
        b.when(found, Relation::Ge, i64::from((span * 2.0).to_bits()), |b| {
            let mut largest = span;
            let mut steps = 0;
            while (largest * 2.0).is_finite() {
                largest *= 2.0;
                steps += 1;
            }
            b.emit(Instruction::Let(much, Value::Float(largest.into())));
            b.repeat("halving", (0, steps, 1), None, |b, _| {
                b.emit(Instruction::Let(less, Value::FloatOp(FloatOp::Sub, 0.0.into(), Float::Reg(much))));
                subtract(b, Float::Reg(much), Float::Reg(less));
                b.emit(Instruction::Let(much, Value::FloatOp(FloatOp::Mul, Float::Reg(much), 0.5.into())));
            });
        });
        subtract(b, span.into(), (-span).into());
    }
}

/// How many numbers are left after each reduction of so many, each of which leaves one of a repeat, down to one.
fn reductions(points: usize) -> impl Iterator<Item = usize> {
    let first = points.div_ceil(LANES);
    iter::successors(Some(first), |&numbers| (numbers > 1).then(|| numbers.div_ceil(LANES)))
}

/// Bytes of so many distances.
fn largest_bytes(numbers: usize) -> usize {
    blocks(4 * numbers)
}
