//! Vector instructions by other ones.

use super::Substitute;
use crate::lower::builder::Builder;
use crate::product::{Element, Rounding};
use crate::program::{
    BinaryOp, Extent, Instruction, Mask, Operand, Pipe, REPEAT, Relation, ScalarOp, UnaryOp, Vector, VectorOp, lacks,
    lacks_vector, size_of,
};

impl Substitute<'_> {
    pub(super) fn vector(&mut self, b: &mut Builder, mut vector: Vector) {
        match vector.op {
            VectorOp::WithScalar(op, element) => match with_vector(op) {
                Some(op) => self.numbers(b, vector, VectorOp::Binary(op, element), element),
                None => b.emit(Instruction::Vector(vector)),
            },
            VectorOp::CompareScalar(relation, element) => {
                self.numbers(b, vector, VectorOp::Compare(relation, element), element);
            }
            VectorOp::Cast { to: Element::F32, from: Element::F32, rounding } => self.round(b, vector, rounding),
            // Without a name, it is the rounding of the core's register: to nearest even.
            VectorOp::Cast { to, from, rounding: Rounding::Even } => {
                vector.op = VectorOp::Cast { to, from, rounding: Rounding::Plain };
                if lacks_vector(self.soc, vector.op) {
                    self.permutation(b, vector)
                } else {
                    b.emit(Instruction::Vector(vector))
                }
            }
            VectorOp::Unary(UnaryOp::Copy, element) => b.emit(Instruction::Vector(copy(vector, element))),
            _ => self.permutation(b, vector),
        }
    }

    /// A number as a vector.
    fn numbers(&mut self, b: &mut Builder, vector: Vector, op: VectorOp, element: Element) {
        let Vector { mut operands, scalar: Some(number), extent, .. } = vector else { return };
        let numbers = *self.numbers.get_or_insert_with(|| b.buffer_behind("numbers", REPEAT as usize));
        let all = 256 / i64::from(size_of(element));
        ordered(b, Vector::new(VectorOp::Duplicate(element), [numbers.at(0)]).scalar(number).count(all));
        // Each repeat reads the same.
        operands.push(Operand { at: numbers.at(0), block_stride: 1, repeat_stride: 0 });
        ordered(b, Vector { op, operands, scalar: None, extent });
    }

    /// Rounds by way of whole numbers. What lies below them keeps its value, unless the result replaces it: it has no fraction. What
    /// lies above becomes 2^31, and a zero loses its sign; lowerings do not look.
    fn round(&mut self, b: &mut Builder, vector: Vector, rounding: Rounding) {
        let Vector { operands, extent, .. } = vector;
        let [to, from] = &*operands else { return };
        let (both, kept) = (vec![to.clone(), to.clone()], (to.at != from.at).then(|| [to.at.clone(), from.at.clone()]));
        let there = VectorOp::Cast { to: Element::I32, from: Element::F32, rounding };
        let back = VectorOp::Cast { to: Element::F32, from: Element::I32, rounding: Rounding::Plain };
        b.emit(Instruction::Vector(Vector { op: there, operands, scalar: None, extent: extent.clone() }));
        ordered(b, Vector { op: back, operands: both, scalar: None, extent: extent.clone() });
        let (Some([to, from]), Extent::Count(count)) = (kept, extent) else { return };
        let bits = self.bits.get_or_insert_with(|| b.buffer_behind("in_range", REPEAT as usize)).at(0);
        let compare = VectorOp::CompareScalar(Relation::Ge, Element::F32);
        let compare = Vector::new(compare, [bits.clone(), from.clone()]).scalar(-2_147_483_648.0).count(count.clone());
        if lacks(self.soc, &Instruction::Vector(compare.clone())) {
            self.vector(b, compare);
        } else {
            ordered(b, compare);
        }
        let operands = [to.clone(), bits, to, from];
        ordered(b, Vector::new(VectorOp::Select(Element::F32), operands).count(count));
    }
}

/// An instruction behind all others of its pipe.
fn ordered(b: &mut Builder, vector: Vector) {
    b.emit(Instruction::Barrier(Some(Pipe::V)));
    b.emit(Instruction::Vector(vector));
}

const fn with_vector(op: ScalarOp) -> Option<BinaryOp> {
    match op {
        ScalarOp::Adds => Some(BinaryOp::Add),
        ScalarOp::Muls => Some(BinaryOp::Mul),
        ScalarOp::Maxs => Some(BinaryOp::Max),
        ScalarOp::Mins => Some(BinaryOp::Min),
        ScalarOp::LeakyRelu | ScalarOp::Axpy | ScalarOp::Shl | ScalarOp::Shr => None,
    }
}

/// A copy as the bits of an operand or themselves, in lanes of 16 bits.
fn copy(vector: Vector, element: Element) -> Vector {
    let Vector { mut operands, scalar, extent, .. } = vector;
    operands.extend(operands.last().cloned());
    let lanes = i64::from(size_of(element) / 2);
    let extent = match extent {
        Extent::Count(count) => Extent::Count(count * lanes),
        Extent::Repeats { repeats, mask } => Extent::Repeats {
            repeats,
            mask: match mask {
                Mask::All => Mask::All,
                Mask::First(count) => Mask::First(count * lanes),
                Mask::Bits(bits) if lanes == 2 => Mask::Bits(twice(bits)),
                Mask::Bits(bits) => Mask::Bits(bits),
            },
        },
    };
    Vector { op: VectorOp::Binary(BinaryOp::Or, Element::U16), operands, scalar, extent }
}

/// Each bit twice.
fn twice(bits: u128) -> u128 {
    (0..64).filter(|at| bits >> at & 1 == 1).fold(0, |sum, at| sum | 3 << (2 * at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_doubled() {
        assert_eq!((twice(0b1011), twice(1 << 63), twice(0)), (0b1100_1111, 3 << 126, 0));
    }
}
