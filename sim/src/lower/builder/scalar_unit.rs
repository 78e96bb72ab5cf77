//! What the scalar unit computes.

use super::{Builder, int};
use crate::product::Element;
use crate::program::{
    Assume, Content, Expr, Float, FloatOp, Instruction, IntOp, Local, Numbers, Place, Read, Reg, Scalar, Value, Write,
};

impl Builder {
    /// An operation on whole numbers, at once where both are known.
    pub(in crate::lower) fn op(&mut self, name: &str, op: IntOp, a: impl Into<Expr>, b: impl Into<Expr>) -> Expr {
        let (a, b) = (a.into(), b.into());
        match (op, a.as_constant(), b.as_constant()) {
            (_, Some(a), Some(b)) => op.eval(a, b).into(),
            (IntOp::Div, None, Some(1)) => a,
            (IntOp::Mod, None, Some(1)) => 0.into(),
            (IntOp::Min | IntOp::Max, ..) if a == b => a,
            _ => {
                let register = self.register(name, Content::Int);
                self.emit(Instruction::Let(register, Value::IntOp(op, a, b)));
                register.into()
            }
        }
    }

    pub(in crate::lower) fn min(&mut self, name: &str, a: impl Into<Expr>, b: impl Into<Expr>) -> Expr {
        self.op(name, IntOp::Min, a, b)
    }

    pub(in crate::lower) fn max(&mut self, name: &str, a: impl Into<Expr>, b: impl Into<Expr>) -> Expr {
        self.op(name, IntOp::Max, a, b)
    }

    /// The quotient, rounded down.
    pub(in crate::lower) fn div(&mut self, name: &str, a: impl Into<Expr>, by: usize) -> Expr {
        self.op(name, IntOp::Div, a, int(by))
    }

    /// The next multiple.
    pub(in crate::lower) fn round_up(&mut self, name: &str, a: impl Into<Expr>, to: usize) -> Expr {
        self.div(name, a.into() + (int(to) - 1), to) * int(to)
    }

    /// Keeps a number in a register that code may change.
    pub(in crate::lower) fn assign(&mut self, register: Reg, value: impl Into<Expr>) {
        self.emit(Instruction::Let(register, Value::Int(value.into())));
    }

    /// The scalar unit writes an element of the UB.
    pub(in crate::lower) fn write(&mut self, to: Local, element: Element, value: impl Into<Scalar>) {
        self.emit(Instruction::Write(Write { to: Place::Local(to), element, value: value.into() }));
    }

    /// The scalar unit reads an element of the UB, in a run without data one of those assumed.
    pub(in crate::lower) fn read(
        &mut self,
        name: &str,
        from: Local,
        element: Element,
        assume: impl Into<Assume>,
    ) -> Expr {
        let into = self.register(name, Content::Int);
        self.emit(Instruction::Read(Read { into, element, from: Place::Local(from), assume: Some(assume.into()) }));
        into.into()
    }

    /// The scalar unit reads an f32 of the UB; a run without data finds 0.
    pub(in crate::lower) fn read_float(&mut self, name: &str, from: Local) -> Float {
        let into = self.register(name, Content::Float);
        let assume = Some(Numbers::one(0).into());
        self.emit(Instruction::Read(Read { into, element: Element::F32, from: Place::Local(from), assume }));
        Float::Reg(into)
    }

    /// A product of two floating-point numbers.
    pub(in crate::lower) fn product(&mut self, name: &str, a: impl Into<Float>, by: impl Into<Float>) -> Float {
        let register = self.register(name, Content::Float);
        self.emit(Instruction::Let(register, Value::FloatOp(FloatOp::Mul, a.into(), by.into())));
        Float::Reg(register)
    }

    /// A register for floating-point numbers that code may change.
    pub(in crate::lower) fn float_register(&mut self, name: &str) -> Reg {
        self.register(name, Content::Float)
    }

    /// A whole number as a floating-point one.
    pub(in crate::lower) fn float(&mut self, name: &str, value: impl Into<Expr>) -> Float {
        let register = self.register(name, Content::Float);
        self.emit(Instruction::Let(register, Value::FromInt(value.into())));
        Float::Reg(register)
    }
}
