//! The scalar unit in the place of a pipe.

use super::Substitute;
use crate::lower::builder::Builder;
use crate::product::Element;
use crate::program::{Content, Expr, Instruction, Local, Numbers, Pipe, Place, Read, Reg, Write};

/// What a run without data finds: a program's course does not depend on it.
pub(in crate::lower) const ANYTHING: Numbers = Numbers::one(0);

impl Substitute<'_> {
    /// Work of a pipe that the scalar unit does: after all that the pipe has, and before all that it gets.
    pub(super) fn by_scalar(&mut self, b: &mut Builder, pipe: Pipe, work: impl FnOnce(&mut Self, &mut Builder)) {
        let flag = self.room.stand_in_flag();
        b.after(pipe, Pipe::S, flag);
        work(self, b);
        b.after(Pipe::S, pipe, flag);
    }
}

/// Whole numbers of that many bytes, which keep all bits.
pub(super) const fn bits(size: usize) -> Element {
    match size {
        1 => Element::U8,
        2 => Element::U16,
        4 => Element::U32,
        _ => Element::I64,
    }
}

/// An element of memory.
pub(super) fn read(b: &mut Builder, from: Place, element: Element) -> Expr {
    let into = b.register("element", Content::Int);
    b.emit(Instruction::Read(Read { into, element, from, assume: Some(ANYTHING.into()) }));
    into.into()
}

/// The same of floating-point numbers.
pub(super) fn read_float(b: &mut Builder, into: Reg, from: Place, element: Element) {
    b.emit(Instruction::Read(Read { into, element, from, assume: Some(ANYTHING.into()) }));
}

/// An element from one place to another.
pub(in crate::lower) fn transport(b: &mut Builder, to: Place, from: Place, size: usize) {
    let element = bits(size);
    let value = read(b, from, element).into();
    b.emit(Instruction::Write(Write { to, element, value }));
}

/// So many bytes behind an operand.
pub(super) fn further(local: &Local, bytes: impl Into<Expr>) -> Place {
    Place::Local(local.further(bytes))
}
