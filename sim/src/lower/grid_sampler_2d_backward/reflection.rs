//! Positions outside the image, mirrored into it as often as it takes.

use super::coordinates::{Axis, Coordinates, select};
use crate::lower::builder::{Builder, int};
use crate::lower::shape::{BLOCK_BYTES, binary, fill, scalar};
use crate::product::{Element, Rounding};
use crate::program::{
    Assume, BinaryOp, BufferId, Expr, Float, FloatOp, Instruction, Local, Pipe, ReduceOp, Relation, ScalarOp, UnaryOp,
    Value, Vector, VectorOp,
};

/// What mirroring needs beside the vectors of an axis.
pub(super) struct Reflection {
    /// The largest distance, of each repeat and of all.
    largest: BufferId,
    /// From V to the scalar unit and back.
    flags: [u8; 2],
}

impl Reflection {
    /// Bytes of local memory.
    pub(super) const BYTES: usize = 2 * BLOCK_BYTES;

    pub(super) fn new(b: &mut Builder) -> Self {
        let largest = b.buffer("largest", Self::BYTES, 1, None);
        Self { largest, flags: [b.flag_id(Pipe::V, Pipe::S), b.flag_id(Pipe::S, Pipe::V)] }
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
        let largest = self.largest.at(0);
        let all = self.largest.at(int(BLOCK_BYTES));
        let repeats = b.div("repeats", count.clone() + 63, 64);
        b.vector(Vector::new(op, [largest.clone(), distance.clone()]).count(count.clone()));
        b.vector(Vector::new(op, [all.clone(), largest]).count(repeats));
        b.after(Pipe::V, Pipe::S, self.flags[0]);
        // Of numbers that are not negative, the bits are in their order.
        let found = b.read("largest_bits", all, Element::U32, Assume { from: 0, to: 1, step: 1 });
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
