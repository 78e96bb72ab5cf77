//! What instructions say, with the registers as they are.

use half::{bf16, f16};

use crate::product::{Element, Rounding};
use crate::program::expr::{Expr, Reg};
use crate::program::fault::FaultKind;
use crate::program::instruction::{
    Flag, Global, Granularity, Instruction, Load, Local, Move, Pad, Place, Store, SyncAll,
};
use crate::program::isa::{self, Field};
use crate::program::operation::{ScalarOp, VectorOp, size_of};
use crate::program::scalar::{Assume, Condition, Float, IntOp, Numbers, Read, Scalar, Value, Write};
use crate::program::source::BufferId;
use crate::program::step::{
    Action, FlagAt, GlobalAt, LocalAt, MoveStep, OperandAt, PadBytes, PlaceAt, ReadStep, RowsAt, Transfer,
    TransposeStep, VectorStep, WriteStep,
};
use crate::program::vector::{Extent, Mask, Rows, Transpose, Vector};

use super::Walker;

impl Walker<'_> {
    pub(super) fn int(&self, expr: &Expr) -> i64 {
        expr.eval(&self.registers)
    }

    fn float(&self, scalar: Float) -> f32 {
        f32::from_bits(scalar.eval(&self.registers))
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "fields are from 0 and below 2^32")]
    fn field(&self, expr: &Expr, field: Field) -> Result<u32, FaultKind> {
        let value = self.int(expr);
        if field.allows(value) { Ok(value as u32) } else { Err(FaultKind::Field { field, value }) }
    }

    pub(super) fn holds(&self, Condition { left, relation, right }: &Condition) -> bool {
        let order = match (left, right) {
            (Scalar::Int(a), Scalar::Int(b)) => Some(self.int(a).cmp(&self.int(b))),
            (Scalar::Float(a), Scalar::Float(b)) => self.float(*a).partial_cmp(&self.float(*b)),
            _ => None,
        };
        relation.holds(order)
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

    /// An instruction with the registers as they are, which one that sets a register changes.
    ///
    /// # Errors
    /// A field of the instruction got a value out of range.
    #[inline]
    pub(crate) fn evaluate(&mut self, instruction: &Instruction) -> Result<Action, FaultKind> {
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
                self.set(*into, value);
                Action::Compute
            }
            Instruction::Read(Read { into, element, from, assume }) => {
                let assume = assume.as_ref().map(|assume| match assume {
                    Assume::Each(values) => *values,
                    Assume::Quotient { of, by } => Numbers::one(IntOp::Div.eval(self.int(of), *by)),
                });
                Action::Read(ReadStep { into: *into, element: *element, from: self.place(from)?, assume })
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

    /// Gives a register its value.
    #[inline]
    pub(crate) fn set(&mut self, into: Reg, value: &Value) {
        let value = self.value(value);
        if let Some(register) = self.registers.get_mut(into.index()) {
            *register = value;
        }
    }

    #[inline]
    fn vector(&self, Vector { op, operands, scalar, extent }: &Vector) -> Result<VectorStep, FaultKind> {
        let nothing =
            OperandAt { at: LocalAt { buffer: BufferId(0), slot: 0, address: 0 }, block_stride: 0, repeat_stride: 0 };
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
                let most = i64::from(size_of(*e)) * 8 - 1;
                self.field(distance, Field { name: "shift", min: 0, max: most, multiple: 1 })?.into()
            }
            (_, Some(scalar)) => self.encode(op.element(), scalar),
        };
        Ok(VectorStep { op: *op, operands: resolved, scalar, repeats, mask, last, counter })
    }

    fn rows(&self, Rows { at, row, pair, repeat }: &Rows) -> Result<RowsAt, FaultKind> {
        Ok(RowsAt { at: self.local(at)?, row: *row, pair: *pair, repeat: *repeat })
    }

    /// A flag with its number.
    ///
    /// # Errors
    /// There is no such number.
    #[inline]
    pub(crate) fn flag(&self, Flag { from, to, id }: &Flag) -> Result<FlagAt, FaultKind> {
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
            bytes.multiple = bytes.multiple.max(size_of(*element).into());
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
pub(in crate::program) const fn first_lanes(lanes: u32) -> u128 {
    if lanes >= 128 { u128::MAX } else { (1 << lanes) - 1 }
}
