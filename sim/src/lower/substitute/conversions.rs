//! Casts between types of lanes, by the scalar unit.

use super::Substitute;
use super::scalar_unit::{further, read, read_float};
use crate::lower::builder::{Builder, int};
use crate::product::{Element, Rounding};
use crate::program::{Content, Expr, Float, Instruction, Local, Pipe, Scalar, Value, Write, is_float, size_of};

impl Substitute<'_> {
    /// So many elements one by one, rounded to nearest even. What does not fit into a shorter integer wraps; lowerings cast none that
    /// does not.
    pub(super) fn convert(&mut self, b: &mut Builder, to: (&Local, Element), from: (&Local, Element), count: Expr) {
        let ((to, target), (from, source)) = (to, from);
        let [size, taken] = [target, source].map(|element| int(size_of(element) as usize));
        let float = b.float_register("number");
        let whole = b.register("whole", Content::Int);
        self.by_scalar(b, Pipe::V, |_, b| {
            b.repeat("k", (0, count, 1), None, |b, k| {
                let from = further(from, k.clone() * taken);
                let value = match [source, target].map(is_float) {
                    [false, false] => Scalar::Int(read(b, from, source)),
                    [false, true] => {
                        let number = read(b, from, source);
                        b.emit(Instruction::Let(float, Value::FromInt(number)));
                        Float::Reg(float).into()
                    }
                    [true, to_float] => {
                        read_float(b, float, from, source);
                        if to_float {
                            Float::Reg(float).into()
                        } else {
                            b.emit(Instruction::Let(whole, Value::ToInt(Rounding::Even, Float::Reg(float))));
                            Scalar::Int(whole.into())
                        }
                    }
                };
                b.emit(Instruction::Write(Write { to: further(to, k * size), element: target, value }));
            });
        });
    }
}
