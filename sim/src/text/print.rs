//! Writes programs.

use std::fmt::{self, Display, Write as _};

use crate::program::{
    Assume, Burst, Content, Expr, Extent, Flag, Float, FloatOp, For, Global, Granularity, If, Instruction, IntOp, Load,
    Local, Mask, Move, Node, NodeId, Numbers, Pad, Place, Read, Reg, Relation, Role, Rows, Scalar, Source, Statement,
    Store, SyncAll, Tile, Transpose, Value, Vector, Write, mnemonic, rounding_name, visit,
};

/// The text of a program.
#[must_use]
pub fn print(source: &Source) -> String {
    let printer = Printer { source };
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = printer.program(&mut text);
    text
}

/// A node without what is inside it: a line of the text.
#[must_use]
pub fn describe(source: &Source, node: NodeId) -> String {
    let printer = Printer { source };
    let mut text = String::new();
    visit(&source.body, &mut |id, found| {
        if id == node {
            text = printer.line(found);
        }
    });
    text
}

/// Every node without what is inside it, by [`NodeId`].
#[must_use]
pub fn lines(source: &Source) -> Vec<String> {
    let printer = Printer { source };
    let mut lines = Vec::new();
    visit(&source.body, &mut |_, node| lines.push(printer.line(node)));
    lines
}

struct Printer<'a> {
    source: &'a Source,
}

impl Printer<'_> {
    fn program(&self, to: &mut String) -> fmt::Result {
        let Source { cores, tensors, buffers, registers, body } = self.source;
        writeln!(to, "cores {cores}")?;
        for tensor in tensors {
            let shape = tensor.shape.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
            let role = Role::ALL.iter().find(|(role, _)| *role == tensor.role).map_or("", |(_, words)| words);
            writeln!(to, "tensor {}: {}[{shape}] {role}", tensor.name, tensor.dtype.name())?;
        }
        for buffer in buffers {
            write!(to, "ub {}: {}", buffer.name, buffer.bytes)?;
            if buffer.slots != 1 {
                write!(to, " slots {}", buffer.slots)?;
            }
            writeln!(to, " at {}{}", buffer.address, field(buffer.field.as_deref()))?;
        }
        for register in registers {
            match &register.content {
                Content::Core => {}
                Content::PerCore(values) => {
                    let values = values.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
                    writeln!(to, "per_core {}: {values}", register.name)?;
                }
                Content::Int => writeln!(to, "int {}", register.name)?,
                Content::Float => writeln!(to, "float {}", register.name)?,
            }
        }
        self.body(body, 0, to)
    }

    fn body(&self, body: &[Node], depth: usize, to: &mut String) -> fmt::Result {
        let indent = "  ".repeat(depth);
        for node in body {
            writeln!(to, "{indent}{}", self.line(node))?;
            match node {
                Node::Do(_) => continue,
                Node::For(For { body, .. }) | Node::Tile(Tile { body, .. }) => self.body(body, depth + 1, to)?,
                Node::If(If { then, otherwise, .. }) => {
                    self.body(then, depth + 1, to)?;
                    if !otherwise.is_empty() {
                        writeln!(to, "{indent}}} else {{")?;
                        self.body(otherwise, depth + 1, to)?;
                    }
                }
            }
            writeln!(to, "{indent}}}")?;
        }
        Ok(())
    }

    fn line(&self, node: &Node) -> String {
        match node {
            Node::Do(Statement { instruction, field: name }) => self.instruction(instruction) + &field(name.as_deref()),
            Node::Tile(Tile { name, .. }) => format!("tile {name} {{"),
            Node::For(For { var, from, to, step, field: name, .. }) => {
                let (var, from, to) = (self.reg(*var), self.expr(from), self.expr(to));
                let step = if *step == 1 { String::new() } else { format!(" step {step}") };
                format!("for {var} in {from}..{to}{step}{} {{", field(name.as_deref()))
            }
            Node::If(If { condition, .. }) => {
                let sign =
                    Relation::ALL.iter().find(|(r, ..)| *r == condition.relation).map_or("", |(_, _, sign)| sign);
                format!("if {} {sign} {} {{", self.scalar(&condition.left), self.scalar(&condition.right))
            }
        }
    }

    fn instruction(&self, instruction: &Instruction) -> String {
        match instruction {
            Instruction::Load(Load { to, from, burst, granularity, pad, bypass }) => {
                let name = if *granularity == Granularity::Bytes { "load_pad" } else { "load" };
                let pad = pad.as_ref().map_or_else(String::new, |Pad { left, right, element, value }| {
                    let (left, right, value) = (self.expr(left), self.expr(right), self.scalar(value));
                    format!(" left {left} right {right} pad.{} {value}", element.name())
                });
                let (to, from, burst) = (self.local(to), self.global(from), self.burst(burst));
                format!("{name} {to}, {from}{burst}{pad}{}", if *bypass { " bypass" } else { "" })
            }
            Instruction::Store(Store { to, from, burst, granularity, add, bypass }) => {
                let name = if *granularity == Granularity::Bytes { "store_pad" } else { "store" };
                let add = add.map_or_else(String::new, |element| format!(" add.{}", element.name()));
                let (to, from, burst) = (self.global(to), self.local(from), self.burst(burst));
                format!("{name} {to}, {from}{burst}{add}{}", if *bypass { " bypass" } else { "" })
            }
            Instruction::Move(Move { to, from, burst }) => {
                format!("move {}, {}{}", self.local(to), self.local(from), self.burst(burst))
            }
            Instruction::Vector(vector) => self.vector(vector),
            Instruction::Transpose(Transpose { element, to, from, repeats, to_high, from_high }) => {
                let rows =
                    |Rows { at, row, pair, repeat }: &Rows| format!("{}({row}, {pair}, {repeat})", self.local(at));
                let (to, from, repeats) = (rows(to), rows(from), self.expr(repeats));
                let high = |high: bool, word| if high { word } else { "" };
                let (to_high, from_high) = (high(*to_high, " to_high"), high(*from_high, " from_high"));
                format!("transpose.{} {to}, {from} repeat {repeats}{to_high}{from_high}", element.name())
            }
            Instruction::Let(into, value) => format!("let {} = {}", self.reg(*into), self.value(value)),
            Instruction::Read(Read { into, element, from, assume }) => {
                let assume = match assume {
                    None => String::new(),
                    Some(Assume::Each(Numbers { from, to, step: 1 })) => format!(" assume {from}..{to}"),
                    Some(Assume::Each(Numbers { from, to, step })) => format!(" assume {from}..{to} step {step}"),
                    Some(Assume::Quotient { of, by: 1 }) => format!(" assume {}", self.expr(of)),
                    Some(Assume::Quotient { of, by }) => format!(" assume div({}, {by})", self.expr(of)),
                };
                format!("let {} = read.{} {}{assume}", self.reg(*into), element.name(), self.place(from))
            }
            Instruction::Write(Write { to, element, value }) => {
                format!("write.{} {}, {}", element.name(), self.place(to), self.scalar(value))
            }
            Instruction::SetFlag(flag) => self.flag("set_flag", flag),
            Instruction::WaitFlag(flag) => self.flag("wait_flag", flag),
            Instruction::Barrier(pipe) => format!("barrier {}", pipe.map_or("all", |pipe| pipe.name())),
            Instruction::SyncAll(SyncAll::Hard) => "sync_all hard".into(),
            Instruction::SyncAll(SyncAll::Soft { workspace, local }) => {
                format!("sync_all soft {}, {}", self.global(workspace), self.local(local))
            }
        }
    }

    fn vector(&self, Vector { op, operands, scalar, extent }: &Vector) -> String {
        let parts = op.parts();
        let mut words = Vec::new();
        for (operand, part) in operands.iter().zip(parts.iter()) {
            let at = self.local(&operand.at);
            let (block, repeat) = part.default_strides(op.lanes());
            words.push(match (operand.block_stride, operand.repeat_stride) {
                strides if strides == (block, repeat) => at,
                (b, r) if b == block => format!("{at}({r})"),
                (b, r) => format!("{at}({b}, {r})"),
            });
        }
        words.extend(scalar.as_ref().map(|scalar| self.scalar(scalar)));
        let extent = match extent {
            Extent::Count(count) => format!(" count {}", self.expr(count)),
            Extent::Repeats { repeats, mask } => {
                let mask = match mask {
                    Mask::All => String::new(),
                    Mask::First(lanes) => format!(" lanes {}", self.expr(lanes)),
                    Mask::Bits(bits) => format!(" mask {bits:#x}"),
                };
                let repeats =
                    if *repeats == Expr::from(1) { String::new() } else { format!(" repeat {}", self.expr(repeats)) };
                repeats + &mask
            }
        };
        format!("{} {}{extent}", mnemonic::of(*op), words.join(", "))
    }

    fn burst(&self, Burst { blocks, bytes, from_gap, to_gap }: &Burst) -> String {
        let zero = Expr::from(0);
        let mut text = if *blocks == Expr::from(1) { String::new() } else { format!(" blocks {}", self.expr(blocks)) };
        let _ = write!(text, " bytes {}", self.expr(bytes));
        if *from_gap != zero {
            let _ = write!(text, " from_gap {}", self.expr(from_gap));
        }
        if *to_gap != zero {
            let _ = write!(text, " to_gap {}", self.expr(to_gap));
        }
        text
    }

    fn flag(&self, name: &str, Flag { from, to, id }: &Flag) -> String {
        format!("{name} {} {} {}", from.name(), to.name(), self.expr(id))
    }

    fn value(&self, value: &Value) -> String {
        let call = |name: &str, a: &dyn Display, b: &dyn Display| format!("{name}({a}, {b})");
        match value {
            Value::Int(expr) => self.expr(expr),
            Value::IntOp(op, a, b) => {
                let name = IntOp::ALL.iter().find(|(known, _)| known == op).map_or("", |(_, name)| name);
                call(name, &self.expr(a), &self.expr(b))
            }
            Value::Float(value) => self.float(*value),
            Value::FloatOp(op, a, b) => {
                let name = FloatOp::ALL.iter().find(|(known, _)| known == op).map_or("", |(_, name)| name);
                call(name, &self.float(*a), &self.float(*b))
            }
            Value::FromInt(expr) => format!("float({})", self.expr(expr)),
            Value::ToInt(rounding, value) => format!("{}({})", rounding_name(*rounding), self.float(*value)),
        }
    }

    fn scalar(&self, scalar: &Scalar) -> String {
        match scalar {
            Scalar::Int(expr) => self.expr(expr),
            Scalar::Float(value) => self.float(*value),
        }
    }

    fn float(&self, float: Float) -> String {
        match float {
            Float::Bits(bits) if f32::from_bits(bits).is_nan() => "nan".into(),
            Float::Bits(bits) => format!("{:?}", f32::from_bits(bits)),
            Float::Reg(reg) => self.reg(reg).into(),
        }
    }

    fn place(&self, place: &Place) -> String {
        match place {
            Place::Local(local) => self.local(local),
            Place::Global(global) => self.global(global),
        }
    }

    fn local(&self, Local { buffer, slot, offset }: &Local) -> String {
        let name = self.source.buffers.get(usize::from(buffer.0)).map_or("?", |buffer| &buffer.name);
        match slot.as_constant() {
            Some(0) => format!("{name}[{}]", self.expr(offset)),
            _ => format!("{name}[{}; {}]", self.expr(slot), self.expr(offset)),
        }
    }

    fn global(&self, Global { tensor, offset }: &Global) -> String {
        let name = self.source.tensors.get(usize::from(tensor.0)).map_or("?", |tensor| &tensor.name);
        format!("{name}[{}]", self.expr(offset))
    }

    fn reg(&self, reg: Reg) -> &str {
        self.source.registers.get(usize::from(reg.0)).map_or("?", |register| &register.name)
    }

    fn expr(&self, expr: &Expr) -> String {
        let mut text = String::new();
        for (reg, factor) in expr.terms() {
            text += &signed(*factor, text.is_empty(), *factor != 1 && *factor != -1);
            if factor.unsigned_abs() != 1 {
                text += "*";
            }
            text += self.reg(*reg);
        }
        match expr.constant() {
            0 if !text.is_empty() => text,
            constant => text.clone() + &signed(constant, text.is_empty(), true),
        }
    }
}

/// A number with what joins it to the sum before it. The lowest number has no positive counterpart that could be subtracted.
fn signed(number: i64, first: bool, digits: bool) -> String {
    let sign = match (first, number < 0) {
        (true, false) => "",
        (true, true) => "-",
        (false, true) if number > i64::MIN => " - ",
        (false, true) => " + -",
        (false, false) => " + ",
    };
    if digits { format!("{sign}{}", number.unsigned_abs()) } else { sign.into() }
}

fn field(name: Option<&str>) -> String {
    name.map_or_else(String::new, |name| format!(" field {name}"))
}
