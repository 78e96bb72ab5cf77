//! The pieces of a legal program that are instructions in a row.

use ubtile_tiling::Dtype;

use crate::product::Element;
use crate::program::{
    BufferId, Burst, Content, Extent, Granularity, Instruction, Load, Mask, Masking, Move, Pad, Role, Rows, Scalar,
    ScalarOp, Store, SyncAll, Transpose, Vector, VectorOp, is_float, size_of,
};

use super::builder::{Builder, DTYPES, Slot};
use super::has::{Has, TRIED};
use super::order::{Object, reads, writes};

/// Values of lanes.
const NUMBERS: [f32; 8] = [1.0, 0.0, -2.0, 0.5, 100.0, -0.0, f32::INFINITY, f32::NAN];

impl Builder<'_, '_, '_> {
    /// A piece at random.
    pub(super) fn piece(&mut self) {
        match self.choices.below(16) {
            0..=4 => self.vector(),
            5 | 6 => self.store(),
            7 => self.refill(),
            8 => self.copy(),
            9 => self.add(),
            10 => self.in_place(),
            11 => self.gather(),
            12 => self.transpose(),
            13 => self.words(),
            14 => self.row_by_index(),
            _ => self.number_of_lane(),
        }
    }

    /// Gives a slot new values, all of them.
    fn refill(&mut self) {
        let slot = self.slot();
        self.fill(slot);
    }

    /// Gives all bytes of a slot values: from a tensor, in one row or several or with padding; or a number.
    pub(super) fn fill(&mut self, slot: Slot) {
        let whole = self.slot_bytes;
        let (to, touched) = (slot.at(0), [writes(slot.object())]);
        let duplicate = VectorOp::Duplicate(Element::F32);
        if self.choices.one_in(3) && self.has.ops.contains(&duplicate) {
            let number = *self.choices.pick(&NUMBERS);
            let vector = Vector::new(duplicate, [to]).scalar(number).repeats(i64::from(whole / 256));
            self.emit(&touched, Instruction::Vector(vector));
        } else {
            let (burst, granularity, pad, reach) = self.rows(whole);
            let bypass = self.choices.one_in(8);
            let tried = Load { to: BufferId(0).at(0), from: TRIED.at(0), burst, granularity, pad, bypass };
            let plain = Load {
                burst: Burst::of(i64::from(whole)),
                granularity: Granularity::Blocks,
                pad: None,
                ..tried.clone()
            };
            let has = self.has.touches(&Instruction::Load(tried.clone())).is_some();
            let (load, reach) = if has { (tried, reach) } else { (plain, whole) };
            let (tensor, at) = self.input(reach);
            self.emit(&touched, Instruction::Load(Load { to, from: tensor.at(at), ..load }));
        }
        self.filled(slot);
    }

    /// How a load fills a slot, and how many bytes of the tensor it reaches.
    fn rows(&mut self, whole: u32) -> (Burst, Granularity, Option<Pad>, u32) {
        let one = Burst::of(i64::from(whole));
        match self.choices.below(4) {
            1 => {
                let (rows, gap) = (*self.choices.pick(&[2u32, 4, 8]), 32 * self.choices.between(0, 3));
                let bytes = whole / rows;
                let burst = Burst { blocks: i64::from(rows).into(), from_gap: i64::from(gap).into(), ..one };
                let burst = Burst { bytes: i64::from(bytes).into(), ..burst };
                (burst, Granularity::Blocks, None, (bytes + gap) * rows)
            }
            2 => {
                let element = *self.choices.pick(&[Element::F32, Element::F16, Element::I32]);
                let size = size_of(element);
                let (left, right) = (size * self.choices.between(0, 3), size * self.choices.between(1, 4));
                let value = if is_float(element) { Scalar::from(0.5f32) } else { Scalar::from(7) };
                let pad = Pad { left: i64::from(left).into(), right: i64::from(right).into(), element, value };
                let bytes = whole - left - right;
                (Burst::of(i64::from(bytes)), Granularity::Bytes, Some(pad), whole)
            }
            _ => (one, Granularity::Blocks, None, whole),
        }
    }

    /// A vector instruction: any that does not leave it to data which bytes it touches.
    fn vector(&mut self) {
        let ops = if self.choices.one_in(3) { &self.has.ops } else { &self.has.lanes };
        if ops.is_empty() {
            return;
        }
        let op = *self.choices.pick(ops);
        let tried = [0, 1, 2, 3].map(|operand| BufferId(operand).at(0));
        let parts = op.parts();
        let mut vector = Vector::new(op, tried.into_iter().take(parts.len()));
        if op.takes_scalar() {
            vector.scalar = Some(self.lane_number(op));
        }
        vector.extent = self.extent(op);
        for (operand, part) in vector.operands.iter_mut().zip(parts.iter()) {
            if part.block_stride && self.choices.one_in(6) {
                operand.block_stride = self.choices.between(0, 3) as u16;
            }
            if part.repeat_stride() && self.choices.one_in(6) {
                operand.repeat_stride = self.choices.between(0, 12) as u16;
            }
        }
        let Some(touches) = self.has.touches(&Instruction::Vector(vector.clone())) else { return };
        let mut uses = Vec::new();
        for (number, operand) in (0..).zip(&mut vector.operands) {
            let Some(end) = Has::end(&touches, BufferId(number)).filter(|end| *end <= self.slot_bytes) else { return };
            let slot = self.whole_slot();
            let room = (self.slot_bytes - end) / 32;
            let offset = if self.choices.one_in(3) { 32 * self.choices.between(0, room) } else { 0 };
            operand.at = slot.at(offset);
            uses.push(if number == 0 { writes(slot.object()) } else { reads(slot.object()) });
        }
        self.emit(&uses, Instruction::Vector(vector));
    }

    /// The number of an instruction that takes one.
    fn lane_number(&mut self, op: VectorOp) -> Scalar {
        match op {
            VectorOp::WithScalar(ScalarOp::Shl | ScalarOp::Shr, _) => i64::from(self.choices.between(0, 15)).into(),
            _ if op.takes_float() => (*self.choices.pick(&NUMBERS)).into(),
            _ => (i64::from(self.choices.between(0, 40)) - 8).into(),
        }
    }

    fn extent(&mut self, op: VectorOp) -> Extent {
        let most = self.slot_bytes / 256;
        let repeats = i64::from(self.choices.between(1, most));
        match (op.masking(), self.choices.below(4)) {
            (Masking::Any, 1) => {
                let lanes = i64::from(self.choices.between(1, op.lanes()));
                Extent::Repeats { repeats: repeats.into(), mask: Mask::First(lanes.into()) }
            }
            (Masking::Any, 2) => {
                let all = if op.lanes() >= 128 { u128::MAX } else { (1 << op.lanes()) - 1 };
                let bits = u128::from(self.choices.bits(64)) << 64 | u128::from(self.choices.bits(64));
                Extent::Repeats { repeats: repeats.into(), mask: Mask::Bits(bits & all | 1) }
            }
            (Masking::Any | Masking::Count, 3) => {
                let lanes = self.choices.between(1, op.lanes() * most);
                Extent::Count(i64::from(lanes).into())
            }
            _ => Extent::Repeats { repeats: repeats.into(), mask: Mask::All },
        }
    }

    /// From one slot to another.
    fn copy(&mut self) {
        let (from, to) = (self.whole_slot(), self.whole_slot());
        if from.object() == to.object() {
            return;
        }
        let rows = *self.choices.pick(&[1u32, 2, 4]);
        let bytes = self.slot_bytes / rows / 64 * 32;
        let gap = 32 * self.choices.between(0, self.slot_bytes / rows / 64);
        let burst = Burst {
            blocks: i64::from(rows).into(),
            bytes: i64::from(bytes).into(),
            from_gap: i64::from(gap.min(self.slot_bytes / rows - bytes)).into(),
            to_gap: 0.into(),
        };
        let step = Move { to: to.at(0), from: from.at(0), burst };
        self.emit(&[reads(from.object()), writes(to.object())], Instruction::Move(step));
    }

    /// A slot becomes a result, or a part of it.
    pub(super) fn store(&mut self) {
        let (from, dtype) = (self.whole_slot(), *self.choices.pick(&DTYPES));
        let short = self.choices.one_in(3) && self.has.limits.copy_granule == 1;
        let bytes = if short {
            self.choices.between(1, self.slot_bytes / dtype.size() as u32) * dtype.size() as u32
        } else {
            self.slot_bytes
        };
        let granularity = if short { Granularity::Bytes } else { Granularity::Blocks };
        let burst = Burst::of(i64::from(bytes));
        let tried =
            Store { to: TRIED.at(0), from: from.at(0), burst, granularity, add: None, bypass: self.choices.one_in(8) };
        let (tensor, at) = self.results(dtype, bytes, Role::Output);
        self.emit(&[reads(from.object())], Instruction::Store(Store { to: tensor.at(at), ..tried }));
    }

    /// A slot is added to a result: to that of the core, or, in whole numbers, whose sums are the same in any order, to that of all.
    fn add(&mut self) {
        if self.has.adds.is_empty() {
            return;
        }
        let element = *self.choices.pick(&self.has.adds);
        let dtype = match element {
            Element::F16 => Dtype::F16,
            Element::Bf16 => Dtype::Bf16,
            Element::F32 => Dtype::F32,
            Element::I16 => Dtype::I16,
            Element::I32 => Dtype::I32,
            _ => return,
        };
        let (from, bytes) = (self.whole_slot(), self.slot_bytes);
        let (tensor, at) = if !is_float(element) && self.choices.one_in(2) {
            (self.tensor(dtype, bytes.into(), Role::ZeroedOutput), 0.into())
        } else {
            self.results(dtype, bytes, Role::ZeroedOutput)
        };
        let burst = Burst::of(i64::from(bytes));
        let granularity = Granularity::Blocks;
        let store =
            Store { to: tensor.at(at), from: from.at(0), burst, granularity, add: Some(element), bypass: false };
        self.emit(&[reads(from.object())], Instruction::Store(store));
    }

    /// A tensor is read, and written where it was read.
    fn in_place(&mut self) {
        let (slot, dtype, bytes) = (self.slot(), *self.choices.pick(&DTYPES), self.slot_bytes);
        let (tensor, at) = self.results(dtype, bytes, Role::InOut);
        let (burst, granularity, object) = (Burst::of(i64::from(bytes)), Granularity::Blocks, Object::Global(tensor));
        let (to, from) = (slot.at(0), tensor.at(at));
        let load = Load { to, from: from.clone(), burst: burst.clone(), granularity, pad: None, bypass: false };
        self.emit(&[reads(object), writes(slot.object())], Instruction::Load(load));
        self.filled(slot);
        self.vector();
        let store = Store { to: from, from: slot.at(0), burst, granularity, add: None, bypass: false };
        self.emit(&[reads(slot.object()), writes(object)], Instruction::Store(store));
    }

    /// Lanes from two places of a slot: the offsets are computed.
    fn gather(&mut self) {
        let element = *self.choices.pick(&[Element::F32, Element::F16]);
        let (number, gather) = (VectorOp::Duplicate(Element::I32), VectorOp::Gather(element));
        if ![number, gather].iter().all(|op| self.has.ops.contains(op)) {
            return;
        }
        let [offsets, table, to] = [(); 3].map(|()| self.whole_slot());
        let (own, from) = (offsets.object(), table.object());
        if own == from || own == to.object() || from == to.object() {
            return;
        }
        let repeats = i64::from(self.choices.between(1, self.slot_bytes / 256));
        for mask in [Mask::All, Mask::Bits(u128::from(self.choices.bits(63)) | 1)] {
            let place = size_of(element) * self.choices.between(0, self.slot_bytes / size_of(element) - 1);
            let vector = Vector::new(number, [offsets.at(0)]).scalar(i64::from(place)).masked(repeats, mask);
            self.emit(&[writes(own)], Instruction::Vector(vector));
        }
        // 4 bytes of an offset for each lane, whatever the lane's size.
        let lanes = self.choices.between(1, self.slot_bytes / 4);
        let lanes = i64::from(lanes).min(64 * repeats);
        let gathered = Vector::new(gather, [to.at(0), table.at(0), offsets.at(0)]).count(lanes);
        self.emit(&[reads(own), reads(from), writes(to.object())], Instruction::Vector(gathered));
    }

    /// Rows become columns.
    fn transpose(&mut self) {
        let element = *self.choices.pick(&[Element::F16, Element::F32]);
        let rows = |number: u16| Rows { at: BufferId(number).at(0), row: 1, pair: 2, repeat: 16 };
        let transpose = Transpose {
            element,
            to: rows(0),
            from: rows(1),
            repeats: i64::from(self.slot_bytes / 512).into(),
            to_high: false,
            from_high: false,
        };
        if self.has.touches(&Instruction::Transpose(transpose.clone())).is_none() {
            return;
        }
        let (to, from) = (self.whole_slot(), self.whole_slot());
        if to.object() == from.object() {
            return;
        }
        let (to_rows, from_rows) = (Rows { at: to.at(0), ..rows(0) }, Rows { at: from.at(0), ..rows(1) });
        let transpose = Transpose { to: to_rows, from: from_rows, ..transpose };
        self.emit(&[reads(from.object()), writes(to.object())], Instruction::Transpose(transpose));
    }

    /// Each core reads what another one has written.
    pub(super) fn exchange(&mut self) {
        let soft = self.choices.one_in(2);
        let hard = self.has.sync(&SyncAll::Hard);
        if !self.is_common() || !self.loops.is_empty() || !(hard || self.has.syncs[1]) {
            return;
        }
        let (from, to, bytes, cores) = (self.whole_slot(), self.slot(), self.slot_bytes, self.source.cores);
        let (tensor, at) = self.results(Dtype::F32, bytes, Role::Workspace);
        let (burst, granularity, object) = (Burst::of(i64::from(bytes)), Granularity::Blocks, Object::Global(tensor));
        let store =
            Store { to: tensor.at(at), from: from.at(0), burst: burst.clone(), granularity, add: None, bypass: false };
        self.emit(&[reads(from.object()), writes(object)], Instruction::Store(store));
        let sync = if hard && !(soft && self.has.syncs[1]) {
            SyncAll::Hard
        } else {
            let block = 32 * cores;
            let workspace = self.tensor(Dtype::U8, block.into(), Role::ZeroedWorkspace);
            let local = self.source.buffer(&format!("w{}", self.source.buffers.len()), block, 1, None);
            SyncAll::Soft { workspace: workspace.at(0), local: local.at(0) }
        };
        self.synced(Instruction::SyncAll(sync));
        let shift = self.choices.between(0, cores - 1);
        let behind = (0..cores).map(|core| i64::from((core + shift) % cores * bytes)).collect();
        let behind = self.register("p", Content::PerCore(behind));
        let load = Load { to: to.at(0), from: tensor.at(behind), burst, granularity, pad: None, bypass: false };
        self.emit(&[reads(object), writes(to.object())], Instruction::Load(load));
        self.filled(to);
    }
}
