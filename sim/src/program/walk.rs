//! The scalar unit of a core: walks the program and evaluates what it says.

use std::cmp::Ordering;

use half::{bf16, f16};

use crate::product::{Element, Rounding};

use super::Program;
use super::code::{Head, Op};
use super::expr::{Expr, Reg};
use super::fault::{Fault, FaultKind};
use super::instruction::{Flag, Global, Granularity, Instruction, Load, Local, Move, Pad, Place, Store, SyncAll};
use super::isa::{self, Field};
use super::scalar::{Condition, Read, Relation, Scalar, Value, Write};
use super::source::{Content, NodeId};
use super::step::{
    Action, FlagAt, GlobalAt, LocalAt, MoveStep, OperandAt, PadBytes, PlaceAt, ReadStep, RowsAt, Step, Transfer,
    TransposeStep, VectorStep, WriteStep,
};
use super::vector::{Extent, Mask, Rows, ScalarOp, Transpose, Vector, VectorOp, is_float};

/// A loop that a core is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LoopState {
    /// The loop.
    pub node: NodeId,
    /// Its variable.
    pub var: Reg,
    /// What the variable is now.
    pub value: i64,
    /// No iteration reaches this.
    pub end: i64,
    /// What is added for the next iteration.
    pub step: i64,
    body: usize,
}

impl LoopState {
    /// Iterations behind this one.
    #[must_use]
    pub fn remaining(&self) -> u64 {
        let left = i128::from(self.end) - i128::from(self.value) - 1;
        u64::try_from(left.max(0) / i128::from(self.step)).unwrap_or(u64::MAX)
    }
}

/// A core on its way through the program. Small: registers and loops, no instructions.
#[derive(Clone, Debug)]
pub struct Walker<'p> {
    program: &'p Program,
    core: u32,
    at: usize,
    registers: Vec<i64>,
    loops: Vec<LoopState>,
}

impl<'p> Walker<'p> {
    /// A core that has not begun.
    #[must_use]
    pub fn new(program: &'p Program, core: u32) -> Self {
        let value = |content: &Content| match content {
            Content::Core => core.into(),
            Content::PerCore(values) => values.get(core as usize).copied().unwrap_or(0),
            Content::Int | Content::Float => 0,
        };
        let registers = program.source().registers.iter().map(|register| value(&register.content)).collect();
        Self { program, core, at: 0, registers, loops: Vec::new() }
    }

    /// The core's index.
    #[must_use]
    pub const fn core(&self) -> u32 {
        self.core
    }

    /// The program that it walks through.
    #[must_use]
    pub const fn program(&self) -> &'p Program {
        self.program
    }

    /// The loops that it is in, outermost first.
    #[must_use]
    pub fn loops(&self) -> &[LoopState] {
        &self.loops
    }

    /// What the registers hold.
    #[must_use]
    pub fn registers(&self) -> &[i64] {
        &self.registers
    }

    /// Gives a register the element that a [`ReadStep`] asks for, in the lowest bytes of `bits`.
    pub fn assign(&mut self, read: &ReadStep, bits: u64) {
        if let Some(register) = self.registers.get_mut(read.into.index()) {
            *register = widen(read.element, bits);
        }
    }

    /// Leaves out so many iterations of the innermost loop, at most those that remain. Right after [`Action::Iterate`], and only where
    /// registers that the body sets are set anew before they are used.
    pub fn skip(&mut self, iterations: u64) {
        if let Some(innermost) = self.loops.last_mut() {
            let iterations = iterations.min(innermost.remaining());
            innermost.value += i64::try_from(iterations).unwrap_or(0) * innermost.step;
            self.registers[innermost.var.index()] = innermost.value;
        }
    }

    /// What the core does next; `None` at the end.
    ///
    /// # Errors
    /// A field of the instruction got a value out of range. The instruction counts as done: the next call goes on behind it.
    #[inline]
    pub fn step(&mut self) -> Result<Option<Step>, Fault> {
        let program = self.program;
        while let Some(op) = program.code().get(self.at) {
            self.at += 1;
            match op {
                Op::Do(node, instruction) => {
                    return match self.action(instruction) {
                        Ok(action) => Ok(Some(Step { node: *node, action })),
                        Err(kind) => Err(Fault { core: self.core, node: *node, kind }),
                    };
                }
                Op::For(node, Head { var, from, to, step, exit }) => {
                    let (value, end) = (self.int(from), self.int(to));
                    if value < end {
                        self.registers[var.index()] = value;
                        let (node, var, step) = (*node, *var, *step);
                        self.loops.push(LoopState { node, var, value, end, step, body: self.at });
                        return Ok(Some(Step { node, action: Action::Iterate }));
                    }
                    self.at = *exit;
                }
                Op::Next => {
                    let Some(innermost) = self.loops.last_mut() else { continue };
                    match innermost.value.checked_add(innermost.step) {
                        Some(value) if value < innermost.end => {
                            innermost.value = value;
                            self.registers[innermost.var.index()] = value;
                            self.at = innermost.body;
                            return Ok(Some(Step { node: innermost.node, action: Action::Iterate }));
                        }
                        _ => {
                            self.loops.pop();
                        }
                    }
                }
                Op::If(node, condition, otherwise) => {
                    if !self.holds(condition) {
                        self.at = *otherwise;
                    }
                    return Ok(Some(Step { node: *node, action: Action::Branch }));
                }
                Op::Jump(to) => self.at = *to,
            }
        }
        Ok(None)
    }

    fn int(&self, expr: &Expr) -> i64 {
        expr.eval(&self.registers)
    }

    fn float(&self, scalar: super::scalar::Float) -> f32 {
        f32::from_bits(scalar.eval(&self.registers))
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "fields are from 0 and below 2^32")]
    fn field(&self, expr: &Expr, field: Field) -> Result<u32, FaultKind> {
        let value = self.int(expr);
        if field.allows(value) { Ok(value as u32) } else { Err(FaultKind::Field { field, value }) }
    }

    fn holds(&self, Condition { left, relation, right }: &Condition) -> bool {
        let order = match (left, right) {
            (Scalar::Int(a), Scalar::Int(b)) => Some(self.int(a).cmp(&self.int(b))),
            (Scalar::Float(a), Scalar::Float(b)) => self.float(*a).partial_cmp(&self.float(*b)),
            _ => None::<Ordering>,
        };
        Relation::holds(*relation, order)
    }

    #[inline]
    fn local(&self, Local { buffer, slot, offset }: &Local) -> Result<LocalAt, FaultKind> {
        let source = self.program.source();
        let (bytes, slots, address) =
            source.buffers.get(usize::from(buffer.0)).map_or((0, 1, 0), |b| (b.bytes, b.slots, b.address));
        let slot = self.field(slot, Field { name: "slot", min: 0, max: i64::from(slots) - 1, multiple: 1 })?;
        let offset = self.int(offset);
        // The end of a slot is no address; reaching it with nothing is as little an error as reaching nothing elsewhere.
        match u32::try_from(offset) {
            Ok(small) if small <= bytes =>
            {
                #[expect(clippy::cast_possible_truncation, reason = "at most 2^16 slots")]
                Ok(LocalAt { buffer: *buffer, slot: slot as u16, address: address + slot * bytes + small })
            }
            _ => Err(FaultKind::OutsideBuffer { buffer: *buffer, first: offset, end: offset.saturating_add(1) }),
        }
    }

    fn global(&self, Global { tensor, offset }: &Global) -> Result<GlobalAt, FaultKind> {
        let at = self.int(offset);
        match u64::try_from(at) {
            Ok(offset) => Ok(GlobalAt { tensor: *tensor, offset }),
            Err(_) => Err(FaultKind::OutsideTensor { tensor: *tensor, first: at, end: at.saturating_add(1) }),
        }
    }

    fn place(&self, place: &Place) -> Result<PlaceAt, FaultKind> {
        Ok(match place {
            Place::Local(local) => PlaceAt::Local(self.local(local)?),
            Place::Global(global) => PlaceAt::Global(self.global(global)?),
        })
    }

    fn action(&mut self, instruction: &Instruction) -> Result<Action, FaultKind> {
        Ok(match instruction {
            Instruction::Vector(vector) => Action::Vector(self.vector(vector)?),
            Instruction::SetFlag(flag) => Action::SetFlag(self.flag(flag)?),
            Instruction::WaitFlag(flag) => Action::WaitFlag(self.flag(flag)?),
            Instruction::Load(load) => Action::Transfer(self.load(load)?),
            Instruction::Store(store) => Action::Transfer(self.store(store)?),
            Instruction::Move(Move { to, from, burst }) => Action::Move(MoveStep {
                to: self.local(to)?,
                from: self.local(from)?,
                blocks: self.field(&burst.blocks, isa::BURST_BLOCKS)?,
                bytes: self.field(&burst.bytes, isa::burst_bytes(Granularity::Blocks))?,
                from_gap: self.field(&burst.from_gap, isa::local_gap("from_gap"))?,
                to_gap: self.field(&burst.to_gap, isa::local_gap("to_gap"))?,
            }),
            Instruction::Transpose(Transpose { element, to, from, repeats, to_high, from_high }) => {
                Action::Transpose(TransposeStep {
                    element: *element,
                    to: self.rows(to)?,
                    from: self.rows(from)?,
                    repeats: self.field(repeats, self.program.limits().repeats())?,
                    to_high: *to_high,
                    from_high: *from_high,
                })
            }
            Instruction::Let(into, value) => {
                let value = self.value(value);
                self.registers[into.index()] = value;
                Action::Compute
            }
            Instruction::Read(Read { into, element, from, assume }) => {
                Action::Read(ReadStep { into: *into, element: *element, from: self.place(from)?, assume: *assume })
            }
            Instruction::Write(Write { to, element, value }) => {
                Action::Write(WriteStep { to: self.place(to)?, element: *element, bits: self.encode(*element, value) })
            }
            Instruction::Barrier(pipe) => Action::Barrier(*pipe),
            Instruction::SyncAll(SyncAll::Hard) => Action::SyncAll(None),
            Instruction::SyncAll(SyncAll::Soft { workspace, local }) => {
                Action::SyncAll(Some((self.global(workspace)?, self.local(local)?)))
            }
        })
    }

    #[inline]
    fn vector(&self, Vector { op, operands, scalar, extent }: &Vector) -> Result<VectorStep, FaultKind> {
        let nothing = OperandAt {
            at: LocalAt { buffer: super::BufferId(0), slot: 0, address: 0 },
            block_stride: 0,
            repeat_stride: 0,
        };
        let mut resolved = [nothing; 4];
        for (to, operand) in resolved.iter_mut().zip(operands) {
            let (block_stride, repeat_stride) = (operand.block_stride, operand.repeat_stride);
            *to = OperandAt { at: self.local(&operand.at)?, block_stride, repeat_stride };
        }
        let (lanes, all) = (op.lanes(), first_lanes(op.lanes()));
        let (repeats, mask, last, counter) = match extent {
            Extent::Count(count) => {
                let count = self.field(count, isa::COUNT)?;
                let rest = count % lanes;
                (count.div_ceil(lanes), all, if rest == 0 { all } else { first_lanes(rest) }, true)
            }
            Extent::Repeats { repeats, mask } => {
                let repeats = self.field(repeats, self.program.limits().repeats())?;
                let mask = match mask {
                    Mask::All => all,
                    Mask::First(lanes) => first_lanes(self.field(lanes, isa::mask_lanes(*op))?),
                    Mask::Bits(bits) => *bits,
                };
                (repeats, mask, mask, false)
            }
        };
        let scalar = match (op, scalar) {
            (_, None) => 0,
            (VectorOp::WithScalar(ScalarOp::Shl | ScalarOp::Shr, e), Some(Scalar::Int(distance))) => {
                let most = i64::from(super::vector::size_of(*e)) * 8 - 1;
                self.field(distance, Field { name: "shift", min: 0, max: most, multiple: 1 })?.into()
            }
            (_, Some(scalar)) => self.encode(op.element(), scalar),
        };
        Ok(VectorStep { op: *op, operands: resolved, scalar, repeats, mask, last, counter })
    }

    fn rows(&self, Rows { at, row, pair, repeat }: &Rows) -> Result<RowsAt, FaultKind> {
        Ok(RowsAt { at: self.local(at)?, row: *row, pair: *pair, repeat: *repeat })
    }

    #[inline]
    fn flag(&self, Flag { from, to, id }: &Flag) -> Result<FlagAt, FaultKind> {
        #[expect(clippy::cast_possible_truncation, reason = "no product has as many as 256")]
        Ok(FlagAt { from: *from, to: *to, id: self.field(id, self.program.limits().flag())? as u8 })
    }

    fn load(&self, Load { to, from, burst, granularity, pad, bypass }: &Load) -> Result<Transfer, FaultKind> {
        let pad = match pad {
            None => None,
            Some(Pad { left, right, element, value }) => Some(PadBytes {
                left: self.field(left, isa::padding("left", *element))?,
                right: self.field(right, isa::padding("right", *element))?,
                element: *element,
                bits: self.encode(*element, value),
            }),
        };
        Ok(Transfer {
            load: true,
            local: self.local(to)?,
            global: self.global(from)?,
            blocks: self.field(&burst.blocks, isa::BURST_BLOCKS)?,
            bytes: self.field(&burst.bytes, isa::burst_bytes(*granularity))?,
            local_gap: self.field(&burst.to_gap, isa::local_gap("to_gap"))?,
            global_gap: self.field(&burst.from_gap, isa::global_gap("from_gap", *granularity))?,
            granularity: *granularity,
            pad,
            add: None,
            bypass: *bypass,
        })
    }

    fn store(&self, Store { to, from, burst, granularity, add, bypass }: &Store) -> Result<Transfer, FaultKind> {
        let mut bytes = isa::burst_bytes(*granularity);
        if let Some(element) = add {
            bytes.multiple = bytes.multiple.max(super::vector::size_of(*element).into());
        }
        Ok(Transfer {
            load: false,
            local: self.local(from)?,
            global: self.global(to)?,
            blocks: self.field(&burst.blocks, isa::BURST_BLOCKS)?,
            bytes: self.field(&burst.bytes, bytes)?,
            local_gap: self.field(&burst.from_gap, isa::local_gap("from_gap"))?,
            global_gap: self.field(&burst.to_gap, isa::global_gap("to_gap", *granularity))?,
            granularity: *granularity,
            pad: None,
            add: *add,
            bypass: *bypass,
        })
    }

    #[expect(clippy::cast_precision_loss, reason = "that is what the conversion does")]
    fn value(&self, value: &Value) -> i64 {
        let float = |value: f32| i64::from(value.to_bits());
        match value {
            Value::Int(expr) => self.int(expr),
            Value::IntOp(op, a, b) => op.eval(self.int(a), self.int(b)),
            Value::Float(value) => float(self.float(*value)),
            Value::FloatOp(op, a, b) => float(op.eval(self.float(*a), self.float(*b))),
            Value::FromInt(expr) => float(self.int(expr) as f32),
            Value::ToInt(rounding, value) => to_int(*rounding, self.float(*value)),
        }
    }

    fn encode(&self, element: Element, scalar: &Scalar) -> u64 {
        match scalar {
            Scalar::Int(expr) => self.int(expr).cast_unsigned(),
            Scalar::Float(value) => {
                let value = self.float(*value);
                match element {
                    Element::F16 => f16::from_f32(value).to_bits().into(),
                    Element::Bf16 => bf16::from_f32(value).to_bits().into(),
                    _ => value.to_bits().into(),
                }
            }
        }
    }
}

/// What a register holds of an element: its value, or of a floating-point one the bits of the same `f32`.
#[expect(clippy::cast_possible_truncation, reason = "the element is in the lowest bytes")]
fn widen(element: Element, bits: u64) -> i64 {
    match element {
        Element::F16 => f16::from_bits(bits as u16).to_f32().to_bits().into(),
        Element::Bf16 => bf16::from_bits(bits as u16).to_f32().to_bits().into(),
        Element::F32 => (bits as u32).into(),
        Element::I8 => (bits as u8).cast_signed().into(),
        Element::U8 => (bits as u8).into(),
        Element::I16 => (bits as u16).cast_signed().into(),
        Element::U16 => (bits as u16).into(),
        Element::I32 => (bits as u32).cast_signed().into(),
        Element::U32 => (bits as u32).into(),
        Element::I64 => bits.cast_signed(),
    }
}

#[expect(clippy::cast_possible_truncation, reason = "it saturates, as documented")]
fn to_int(rounding: Rounding, value: f32) -> i64 {
    (match rounding {
        Rounding::Floor => value.floor(),
        Rounding::Ceil => value.ceil(),
        Rounding::Zero => value.trunc(),
        Rounding::Away => value.round(),
        Rounding::Even | Rounding::Plain | Rounding::Odd => value.round_ties_even(),
    }) as i64
}

/// A mask of so many lanes from the first one, 128 at most.
pub(super) const fn first_lanes(lanes: u32) -> u128 {
    if lanes >= 128 { u128::MAX } else { (1 << lanes) - 1 }
}

impl ReadStep {
    /// What a run without data reads, as an element; `random` picks one of the assumed values.
    #[must_use]
    pub fn assumed(&self, random: u64) -> Option<u64> {
        let value = self.assume?.pick(random);
        #[expect(clippy::cast_precision_loss, reason = "the nearest is meant")]
        Some(match self.element {
            e if !is_float(e) => value.cast_unsigned(),
            Element::F16 => f16::from_f32(value as f32).to_bits().into(),
            Element::Bf16 => bf16::from_f32(value as f32).to_bits().into(),
            _ => (value as f32).to_bits().into(),
        })
    }
}
