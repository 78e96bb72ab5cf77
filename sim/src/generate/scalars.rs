//! The pieces of a legal program that the scalar unit works on.

use ubtile_tiling::Dtype;

use crate::product::{Element, Rounding};
use crate::program::{
    Burst, Content, Float, Granularity, Instruction, IntOp, Load, Numbers, Place, Read, Role, Scalar, ScalarOp, Value,
    Vector, VectorOp, Write,
};

use super::builder::{Builder, Slot};
use super::order::{reads, writes};

impl Builder<'_, '_, '_> {
    /// The scalar unit moves words of the UB.
    pub(super) fn words(&mut self) {
        let (from, to) = (self.whole_slot(), self.whole_slot());
        let (count, at) = (self.choices.between(1, 24), 4 * self.choices.between(0, 32));
        let word = self.register("n", Content::Int);
        self.barrier();
        self.counted(count, |this| {
            let Some(counter) = this.loops.last().copied() else { return };
            let offset = counter.var * (4 / counter.step) - counter.from * (4 / counter.step);
            let place = |slot: Slot, more: u32| {
                Place::Local(slot.buffer.slot(i64::from(slot.number), offset.clone() + i64::from(more)))
            };
            let assume = Some(Numbers { from: 3, to: 9, step: 2 }.into());
            let read = Read { into: word, element: Element::U32, from: place(from, 0), assume };
            this.emit(&[reads(from.object())], Instruction::Read(read));
            let write = Write { to: place(to, at), element: Element::U32, value: Scalar::Int(word + 1) };
            this.emit(&[writes(to.object())], Instruction::Write(write));
        });
    }

    /// The scalar unit reads an index, and a load goes where it says.
    pub(super) fn row_by_index(&mut self) {
        let (rows, slot, bytes) = (i64::from(self.choices.between(1, 9)), self.slot(), self.slot_bytes);
        let (at, total) = self.region(4);
        let indices =
            self.source.tensor(&format!("x{}", self.source.tensors.len()), Dtype::I32, &[total / 4], Role::Input);
        let row = self.register("n", Content::Int);
        let assume = Some(Numbers { from: 0, to: rows, step: 1 }.into());
        let read = Read { into: row, element: Element::I32, from: Place::Global(indices.at(at)), assume };
        self.emit(&[], Instruction::Read(read));
        if self.choices.one_in(2) {
            let clamped = Value::IntOp(IntOp::Min, row.into(), (rows - 1).into());
            self.put(Instruction::Let(row, clamped));
        }
        let (tensor, _) = self.input(bytes);
        self.grow(tensor, u64::from(bytes) * rows.unsigned_abs());
        let (burst, granularity) = (Burst::of(i64::from(bytes)), Granularity::Blocks);
        let from = tensor.at(row * i64::from(bytes));
        let load = Load { to: slot.at(0), from, burst, granularity, pad: None, bypass: false };
        self.emit(&[writes(slot.object())], Instruction::Load(load));
        self.filled(slot);
    }

    /// The scalar unit reads a lane, and a vector instruction takes it.
    pub(super) fn number_of_lane(&mut self) {
        let slot = self.whole_slot();
        let number = self.register("f", Content::Float);
        let at = i64::from(4 * self.choices.between(0, self.slot_bytes / 4 - 1));
        let from = Place::Local(slot.buffer.slot(i64::from(slot.number), at));
        let assume = Some(Numbers { from: 1, to: 4, step: 1 }.into());
        self.emit(
            &[reads(slot.object())],
            Instruction::Read(Read { into: number, element: Element::F32, from, assume }),
        );
        if self.choices.one_in(2) {
            let whole = self.register("n", Content::Int);
            self.put(Instruction::Let(whole, Value::ToInt(Rounding::Floor, Float::Reg(number))));
            self.put(Instruction::Let(number, Value::FromInt(whole.into())));
        }
        let op = VectorOp::WithScalar(ScalarOp::Adds, Element::F32);
        if !self.has.ops.contains(&op) {
            return;
        }
        let to = self.whole_slot();
        let repeats = i64::from(self.choices.between(1, self.slot_bytes / 256));
        let vector = Vector::new(op, [to.at(0), to.at(0)]).scalar(Float::Reg(number)).repeats(repeats);
        self.emit(&[writes(to.object())], Instruction::Vector(vector));
    }
}
