//! From a source to a program that can run.

mod assumption;
mod declarations;

use crate::product::{Rounding, Soc};

use super::error::{At, Problem, ProgramError};
use super::expr::{Expr, Reg};
use super::instruction::{Flag, Global, Granularity, Instruction, Load, Local, Move, Place, Store, SyncAll};
use super::isa::{self, Field, Limits, Missing};
use super::mnemonic;
use super::operation::{Masking, is_float, size_of};
use super::parts::Layout;
use super::scalar::{Assume, Float, Read, Scalar, Value, Write};
use super::source::{Content, For, If, Node, NodeId, Source, Tile};
use super::vector::{Extent, Mask, Rows, Transpose, Vector};

type Checked = Result<(), Problem>;

/// Checks a source against a product.
pub(super) fn check(source: &Source, soc: &Soc) -> Result<Limits, ProgramError> {
    let whole = |problem| ProgramError { at: At::Program, problem };
    let limits = Limits::of(soc).map_err(|unknown| whole(Problem::Unknown(unknown)))?;
    let unavailable =
        |missing| Problem::Unavailable { what: "such a vector unit".into(), missing, soc: soc.name().into() };
    isa::geometry(soc).map_err(|missing| whole(unavailable(missing)))?;
    declarations::check(source, &limits)?;
    let mut checker =
        Checker { source, soc, limits, set: vec![false; source.registers.len()], next: 0, loops: Vec::new() };
    for (set, register) in checker.set.iter_mut().zip(&source.registers) {
        *set = matches!(register.content, Content::Core | Content::PerCore(_));
    }
    checker.body(&source.body)?;
    Ok(limits)
}

struct Checker<'a> {
    source: &'a Source,
    soc: &'a Soc,
    limits: Limits,
    /// Registers that have a value on every way to here.
    set: Vec<bool>,
    next: u32,
    /// Variables of the loops around.
    loops: Vec<Reg>,
}

impl Checker<'_> {
    fn body(&mut self, body: &[Node]) -> Result<(), ProgramError> {
        body.iter().try_for_each(|node| self.node(node))
    }

    fn node(&mut self, node: &Node) -> Result<(), ProgramError> {
        let at = At::Node(NodeId(self.next));
        let located = |problem| ProgramError { at, problem };
        self.next = self.next.checked_add(1).ok_or(located(Problem::TooLarge))?;
        match node {
            Node::Do(statement) => {
                self.name(statement.field.as_deref()).map_err(located)?;
                self.instruction(&statement.instruction).map_err(located)
            }
            Node::Tile(Tile { name, body }) => {
                self.name(Some(name)).map_err(located)?;
                self.body(body)
            }
            Node::For(For { var, from, to, step, body, field }) => {
                self.name(field.as_deref()).map_err(located)?;
                self.ints([from, to]).map_err(located)?;
                if *step < 1 {
                    let field = Field { name: "step", min: 1, max: i64::MAX, multiple: 1 };
                    return Err(located(Problem::Field { field, value: *step }));
                }
                self.settable(*var, false).map_err(located)?;
                let before = self.set.clone();
                self.set[var.index()] = true;
                self.loops.push(*var);
                self.body(body)?;
                self.loops.pop();
                // It may not have run at all, and the variable is the loop's own.
                self.set = before;
                self.set[var.index()] = false;
                Ok(())
            }
            Node::If(If { condition, then, otherwise }) => {
                let floats = [&condition.left, &condition.right].map(|side| matches!(side, Scalar::Float(_)));
                if floats[0] != floats[1] {
                    return Err(located(Problem::Shape("two numbers of the same kind")));
                }
                self.scalar(&condition.left, floats[0]).map_err(located)?;
                self.scalar(&condition.right, floats[0]).map_err(located)?;
                let before = self.set.clone();
                self.body(then)?;
                let after = std::mem::replace(&mut self.set, before);
                self.body(otherwise)?;
                for (set, also) in self.set.iter_mut().zip(after) {
                    *set &= also;
                }
                Ok(())
            }
        }
    }

    /// Names of tiles and fields, which reports show.
    #[expect(clippy::unused_self, reason = "reads like the other checks")]
    fn name(&self, name: Option<&str>) -> Checked {
        let letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
        match name {
            Some(name)
                if !name.starts_with(|c: char| letter(c) && !c.is_ascii_digit()) || !name.chars().all(letter) =>
            {
                Err(Problem::BadName(name.into()))
            }
            _ => Ok(()),
        }
    }

    fn instruction(&mut self, instruction: &Instruction) -> Checked {
        match instruction {
            Instruction::Load(load) => self.load(load),
            Instruction::Store(store) => self.store(store),
            Instruction::Move(Move { to, from, burst }) => {
                self.local(to)?;
                self.local(from)?;
                self.field(&burst.blocks, isa::BURST_BLOCKS)?;
                self.field(&burst.bytes, isa::burst_bytes(Granularity::Blocks))?;
                self.field(&burst.from_gap, isa::local_gap("from_gap"))?;
                self.field(&burst.to_gap, isa::local_gap("to_gap"))
            }
            Instruction::Vector(vector) => self.vector(vector),
            Instruction::Transpose(transpose) => self.transpose(transpose),
            Instruction::Let(into, value) => {
                let float = self.value(value)?;
                self.assign(*into, float)
            }
            Instruction::Read(Read { into, element, from, assume }) => {
                self.place(from)?;
                match assume {
                    Some(Assume::Each(numbers)) => assumption::numbers(*element, *numbers)?,
                    Some(Assume::Quotient { of, by }) => {
                        self.int(of)?;
                        within(Field { name: "divisor of the assumption", min: 1, max: i64::MAX, multiple: 1 }, *by)?;
                    }
                    None => {}
                }
                self.assign(*into, is_float(*element))
            }
            Instruction::Write(Write { to, element, value }) => {
                self.place(to)?;
                self.scalar(value, is_float(*element))
            }
            Instruction::SetFlag(flag) | Instruction::WaitFlag(flag) => self.flag(flag),
            Instruction::Barrier(_) => Ok(()),
            Instruction::SyncAll(SyncAll::Hard) => self.available("sync_all hard", isa::sync_all(self.soc, true)),
            Instruction::SyncAll(SyncAll::Soft { workspace, local }) => {
                self.global(workspace)?;
                self.local(local)?;
                self.available("sync_all soft", isa::sync_all(self.soc, false))
            }
        }
    }

    fn load(&self, Load { to, from, burst, granularity, pad, bypass: _ }: &Load) -> Checked {
        self.available("copy of single bytes", isa::copy(self.soc, *granularity))?;
        self.local(to)?;
        self.global(from)?;
        self.field(&burst.blocks, isa::BURST_BLOCKS)?;
        self.field(&burst.bytes, isa::burst_bytes(*granularity))?;
        self.field(&burst.from_gap, isa::global_gap("from_gap", *granularity))?;
        self.field(&burst.to_gap, isa::local_gap("to_gap"))?;
        let Some(pad) = pad else { return Ok(()) };
        if *granularity == Granularity::Blocks {
            return Err(Problem::Shape("no padding: only copies of single bytes pad"));
        }
        self.available(&format!("padding with {}", pad.element.name()), isa::pad(self.soc, pad.element))?;
        self.field(&pad.left, isa::padding("left", pad.element))?;
        self.field(&pad.right, isa::padding("right", pad.element))?;
        self.scalar(&pad.value, is_float(pad.element))
    }

    fn store(&self, Store { to, from, burst, granularity, add, bypass: _ }: &Store) -> Checked {
        self.available("copy of single bytes", isa::copy(self.soc, *granularity))?;
        self.global(to)?;
        self.local(from)?;
        self.field(&burst.blocks, isa::BURST_BLOCKS)?;
        let mut bytes = isa::burst_bytes(*granularity);
        if let Some(element) = add {
            self.available(&format!("atomic add of {}", element.name()), isa::atomic_add(self.soc, *element))?;
            bytes.multiple = bytes.multiple.max(size_of(*element).into());
        }
        self.field(&burst.bytes, bytes)?;
        self.field(&burst.from_gap, isa::local_gap("from_gap"))?;
        self.field(&burst.to_gap, isa::global_gap("to_gap", *granularity))
    }

    fn vector(&self, Vector { op, operands, scalar, extent }: &Vector) -> Checked {
        self.available(&mnemonic::of(*op), isa::vector(self.soc, *op))?;
        let parts = op.parts();
        if operands.len() != parts.len() {
            return Err(Problem::Operands { takes: parts.len(), given: operands.len() });
        }
        for (operand, part) in operands.iter().zip(parts.iter()) {
            self.local(&operand.at)?;
            let (block, repeat) = part.default_strides(op.lanes());
            if !part.block_stride && operand.block_stride != block {
                return Err(Problem::Shape("no block stride on this operand"));
            }
            if !part.repeat_stride() && operand.repeat_stride != repeat {
                return Err(Problem::Shape("no strides on this operand"));
            }
            if part.layout == Layout::Lanes {
                within(isa::REPEAT_STRIDE, operand.repeat_stride.into())?;
            }
        }
        match (op.takes_scalar(), scalar) {
            (true, Some(scalar)) => self.scalar(scalar, op.takes_float())?,
            (false, None) => {}
            (true, None) => return Err(Problem::Shape("a number after the operands")),
            (false, Some(_)) => return Err(Problem::Shape("no number after the operands")),
        }
        match (extent, op.masking()) {
            (Extent::Count(_), Masking::None) => Err(Problem::Shape("repeats, not a count")),
            (Extent::Count(count), _) => self.field(count, isa::COUNT),
            (Extent::Repeats { mask: Mask::First(_) | Mask::Bits(_), .. }, Masking::Count | Masking::None) => {
                Err(Problem::Shape("no mask: this instruction takes all lanes"))
            }
            (Extent::Repeats { repeats, mask }, _) => {
                self.field(repeats, self.limits.repeats())?;
                match mask {
                    Mask::All => Ok(()),
                    Mask::First(lanes) => self.field(lanes, isa::mask_lanes(*op)),
                    Mask::Bits(bits) if *bits == 0 || bits.checked_shr(op.lanes()).unwrap_or(0) != 0 => {
                        Err(Problem::Shape("a mask with a bit for one lane at least, and for none behind the last"))
                    }
                    Mask::Bits(_) => Ok(()),
                }
            }
        }
    }

    fn transpose(&self, Transpose { element, to, from, repeats, to_high, from_high }: &Transpose) -> Checked {
        self.available(&format!("transpose.{}", element.name()), isa::transpose(self.soc, *element))?;
        if size_of(*element) != 1 && (*to_high || *from_high) {
            return Err(Problem::Shape("halves of blocks only of 8-bit elements"));
        }
        for Rows { at, .. } in [to, from] {
            self.local(at)?;
        }
        self.field(repeats, self.limits.repeats())
    }

    fn flag(&self, Flag { from, to, id }: &Flag) -> Checked {
        if from == to {
            return Err(Problem::Shape("two different pipes"));
        }
        self.field(id, self.limits.flag())
    }

    fn available(&self, what: &str, found: Result<(), Missing>) -> Checked {
        found.map_err(|missing| Problem::Unavailable { what: what.into(), missing, soc: self.soc.name().into() })
    }

    /// A field whose constant value is in range; what registers give is looked at when the program runs.
    fn field(&self, expr: &Expr, field: Field) -> Checked {
        self.int(expr)?;
        expr.as_constant().map_or(Ok(()), |value| within(field, value))
    }

    fn ints<const N: usize>(&self, exprs: [&Expr; N]) -> Checked {
        exprs.into_iter().try_for_each(|expr| self.int(expr))
    }

    fn int(&self, expr: &Expr) -> Checked {
        expr.terms().iter().try_for_each(|(reg, _)| self.register(*reg, false))
    }

    fn float(&self, float: Float) -> Checked {
        match float {
            Float::Bits(_) => Ok(()),
            Float::Reg(reg) => self.register(reg, true),
        }
    }

    fn scalar(&self, scalar: &Scalar, float: bool) -> Checked {
        match scalar {
            Scalar::Int(expr) if !float => self.int(expr),
            Scalar::Float(value) if float => self.float(*value),
            Scalar::Int(_) => Err(Problem::Shape("a floating-point number")),
            Scalar::Float(_) => Err(Problem::Shape("a whole number")),
        }
    }

    /// Whether the value is a floating-point number.
    fn value(&self, value: &Value) -> Result<bool, Problem> {
        match value {
            Value::Int(expr) => self.int(expr).map(|()| false),
            Value::IntOp(_, a, b) => self.ints([a, b]).map(|()| false),
            Value::Float(a) => self.float(*a).map(|()| true),
            Value::FloatOp(_, a, b) => self.float(*a).and(self.float(*b)).map(|()| true),
            Value::FromInt(expr) => self.int(expr).map(|()| true),
            Value::ToInt(Rounding::Plain | Rounding::Odd, _) => Err(Problem::Shape("even, floor, ceil, away or zero")),
            Value::ToInt(_, a) => self.float(*a).map(|()| false),
        }
    }

    fn register(&self, reg: Reg, float: bool) -> Checked {
        let register = self.source.registers.get(reg.index()).ok_or(Problem::NoSuch("register", reg.0))?;
        if (register.content == Content::Float) != float {
            let expected = if float { "a floating-point number" } else { "a whole number" };
            return Err(Problem::WrongKind(register.name.clone(), expected));
        }
        if self.set[reg.index()] { Ok(()) } else { Err(Problem::Unset(register.name.clone())) }
    }

    fn settable(&self, reg: Reg, float: bool) -> Checked {
        let register = self.source.registers.get(reg.index()).ok_or(Problem::NoSuch("register", reg.0))?;
        match &register.content {
            Content::Core | Content::PerCore(_) => Err(Problem::ReadOnly(register.name.clone())),
            _ if self.loops.contains(&reg) => Err(Problem::ReadOnly(register.name.clone())),
            content if (*content == Content::Float) == float => Ok(()),
            _ => {
                let expected =
                    if float { "a register of floating-point numbers" } else { "a register of whole numbers" };
                Err(Problem::WrongKind(register.name.clone(), expected))
            }
        }
    }

    fn assign(&mut self, reg: Reg, float: bool) -> Checked {
        self.settable(reg, float)?;
        self.set[reg.index()] = true;
        Ok(())
    }

    fn local(&self, Local { buffer, slot, offset }: &Local) -> Checked {
        let Some(found) = self.source.buffers.get(usize::from(buffer.0)) else {
            return Err(Problem::NoSuch("buffer", buffer.0));
        };
        self.field(slot, Field { name: "slot", min: 0, max: i64::from(found.slots) - 1, multiple: 1 })?;
        self.int(offset)
    }

    fn global(&self, Global { tensor, offset }: &Global) -> Checked {
        if usize::from(tensor.0) >= self.source.tensors.len() {
            return Err(Problem::NoSuch("tensor", tensor.0));
        }
        self.int(offset)
    }

    fn place(&self, place: &Place) -> Checked {
        match place {
            Place::Local(local) => self.local(local),
            Place::Global(global) => self.global(global),
        }
    }
}

fn within(field: Field, value: i64) -> Checked {
    if field.allows(value) { Ok(()) } else { Err(Problem::Field { field, value }) }
}
