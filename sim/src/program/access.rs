//! Which bytes a step touches, and whether it may.

use super::Program;
use super::fault::FaultKind;
use super::operation::{VectorOp, size_of};
use super::parts::{Access, Layout, Part};
use super::source::{BufferId, TensorId};
use super::step::{
    Action, GlobalAt, LocalAt, MoveStep, OperandAt, PlaceAt, ReadStep, RowsAt, Transfer, TransposeStep, VectorStep,
    WriteStep,
};
use super::vector::{BLOCK, REPEAT};

/// A memory, and what an access to it is meant to stay in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// The UB: addresses count from its start.
    Local(BufferId, u16),
    /// Global memory: addresses count from the start of the tensor.
    Global(TensorId),
}

/// Rows of bytes that a step touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touch {
    /// Where.
    pub space: Space,
    /// How. An atomic addition to global memory is an [`Access::Update`].
    pub access: Access,
    /// The first byte.
    pub start: u64,
    /// Bytes of a row.
    pub bytes: u32,
    /// Rows.
    pub rows: u32,
    /// From a row to the next one.
    pub pitch: u64,
    /// Whether data decide which bytes from `start` to the end of the slot are touched. Then there are no rows.
    pub by_data: bool,
}

impl Touch {
    /// One past the last byte.
    #[must_use]
    pub fn end(&self) -> u64 {
        match self.rows {
            0 => self.start,
            rows => self.start + u64::from(rows - 1) * self.pitch + u64::from(self.bytes),
        }
    }
}

fn local(at: LocalAt, access: Access) -> Touch {
    let space = Space::Local(at.buffer, at.slot);
    Touch { space, access, start: at.address.into(), bytes: 0, rows: 0, pitch: 0, by_data: false }
}

fn element(at: PlaceAt, access: Access, bytes: u32) -> Touch {
    let touch = match at {
        PlaceAt::Local(at) => local(at, access),
        PlaceAt::Global(at) => {
            let space = Space::Global(at.tensor);
            Touch { space, access, start: at.offset, bytes: 0, rows: 0, pitch: 0, by_data: false }
        }
    };
    Touch { bytes, rows: 1, ..touch }
}

impl Action {
    /// Calls `touch` for what the step reads and then for what it writes, operand by operand; an [`Access::Update`] comes once.
    /// Of the soft `sync_all`, the memory that it uses by itself is no touch.
    #[inline]
    pub fn touches(&self, mut touch: impl FnMut(Touch)) {
        match self {
            Self::Transfer(transfer) => transfer_touches(transfer, touch),
            Self::Move(MoveStep { to, from, blocks, bytes, from_gap, to_gap }) => {
                let rows = |at, access, gap: u32| Touch {
                    bytes: *bytes,
                    rows: *blocks,
                    pitch: u64::from(*bytes) + u64::from(gap),
                    ..local(at, access)
                };
                touch(rows(*from, Access::Read, *from_gap));
                touch(rows(*to, Access::Write, *to_gap));
            }
            Self::Vector(vector) => vector_touches(vector, touch),
            Self::Transpose(TransposeStep { element, to, from, repeats, to_high, from_high }) => {
                let half = u32::from(size_of(*element) == 1);
                let mut rows = |at: &RowsAt, access, high: bool| {
                    for repeat in 0..*repeats {
                        for block in 0..16 {
                            let within = if high { BLOCK / 2 } else { 0 };
                            let start = u64::from(at.at.address + at.offset(repeat, block) + within);
                            touch(Touch { start, bytes: BLOCK >> half, rows: 1, ..local(at.at, access) });
                        }
                    }
                };
                rows(from, Access::Read, *from_high);
                rows(to, Access::Write, *to_high);
            }
            Self::Read(ReadStep { element: e, from, .. }) => touch(element(*from, Access::Read, size_of(*e))),
            Self::Write(WriteStep { element: e, to, .. }) => touch(element(*to, Access::Write, size_of(*e))),
            Self::SetFlag(_)
            | Self::WaitFlag(_)
            | Self::Barrier(_)
            | Self::SyncAll(_)
            | Self::Compute
            | Self::Iterate
            | Self::Branch => {}
        }
    }
}

fn transfer_touches(transfer: &Transfer, mut touch: impl FnMut(Touch)) {
    let global = |access| Touch {
        space: Space::Global(transfer.global.tensor),
        access,
        start: transfer.global.offset,
        bytes: transfer.bytes,
        rows: transfer.blocks,
        pitch: transfer.global_pitch(),
        by_data: false,
    };
    let local = |access| Touch {
        // A load makes whole units undefined that it does not fill, so it writes them.
        bytes: if transfer.load { transfer.local_bytes().next_multiple_of(BLOCK) } else { transfer.bytes },
        rows: transfer.blocks,
        pitch: transfer.local_pitch().into(),
        ..local(transfer.local, access)
    };
    if transfer.load {
        touch(global(Access::Read));
        touch(local(Access::Write));
    } else {
        touch(local(Access::Read));
        touch(global(if transfer.add.is_some() { Access::Update } else { Access::Write }));
    }
}

fn vector_touches(vector: &VectorStep, mut touch: impl FnMut(Touch)) {
    if vector.repeats == 0 {
        return;
    }
    let parts = vector.op.parts();
    let (target, sources) = (parts.iter().zip(&vector.operands).take(1), parts.iter().zip(&vector.operands).skip(1));
    for (part, operand) in sources.chain(target) {
        operand_touches(vector, part, operand, &mut touch);
    }
}

fn operand_touches(vector: &VectorStep, part: &Part, operand: &OperandAt, touch: &mut impl FnMut(Touch)) {
    let base = local(operand.at, part.access);
    let whole = super::walk::first_lanes(vector.op.lanes());
    let repeats = vector.repeats;
    // Those of which all lanes are active, in front of the others.
    let full = if vector.mask == whole { repeats - u32::from(vector.last != whole) } else { 0 };
    match part.layout {
        Layout::Lanes => {
            let row = vector.op.lanes() * part.size;
            let (block, pitch) = (u64::from(operand.block_stride) * 32, u64::from(operand.repeat_stride) * 32);
            if full > 0 && operand.block_stride == 1 {
                touch(Touch { bytes: row, rows: full, pitch, ..base });
            } else {
                for repeat in 0..full {
                    let start = base.start + u64::from(repeat) * pitch;
                    touch(Touch { start, bytes: BLOCK, rows: row / BLOCK, pitch: block, ..base });
                }
            }
            for repeat in full..repeats {
                let start = base.start + u64::from(repeat) * pitch;
                // Blocks without gaps are as one.
                let per_block = if operand.block_stride == 1 { 128 } else { BLOCK / part.size };
                lane_runs(vector.active(repeat), per_block, |lane, count| {
                    let within = u64::from(lane / per_block) * block + u64::from(lane % per_block * part.size);
                    touch(Touch { start: start + within, bytes: count * part.size, rows: 1, ..base });
                });
            }
        }
        Layout::PerRepeat { bytes, unit } => {
            let pitch = u64::from(operand.repeat_stride) * u64::from(unit);
            touch(Touch { bytes, rows: repeats, pitch, ..base });
        }
        Layout::Bits => {
            let pitch = u64::from(operand.repeat_stride) * u64::from(BLOCK);
            touch(Touch { bytes: bytes_of_bits(vector.mask), rows: repeats - 1, pitch, ..base });
            let start = base.start + u64::from(repeats - 1) * pitch;
            touch(Touch { start, bytes: bytes_of_bits(vector.last), rows: 1, ..base });
        }
        Layout::Packed { bytes } => {
            let lanes = vector.op.lanes();
            // More than 4 GiB are outside as well.
            touch(Touch { bytes: bytes.saturating_mul(full), rows: 1, ..base });
            for repeat in full..repeats {
                let start = base.start + u64::from(repeat) * u64::from(bytes);
                let mut lanes_touched = |first: u32, count: u32| {
                    let begin = first * bytes / lanes / part.size * part.size;
                    let end = ((first + count) * bytes).div_ceil(lanes).next_multiple_of(part.size);
                    touch(Touch { start: start + u64::from(begin), bytes: end - begin, rows: 1, ..base });
                };
                let active = vector.active(repeat) & whole;
                match part.access {
                    Access::Read => lane_runs(active, 128, lanes_touched),
                    // Bits of lanes that are off become 0.
                    _ => lanes_touched(0, 128 - active.leading_zeros()),
                }
            }
        }
        Layout::Kept => match vector.op {
            VectorOp::GatherMask(_, pattern) => {
                let (of, at) = pattern.one_of();
                let (of, at) = (of as u32, at as u32);
                let kept = |mask: u128| ((128 - mask.leading_zeros()) + of - 1 - at) / of;
                let elements = kept(vector.mask).saturating_mul(repeats - 1).saturating_add(kept(vector.last));
                touch(Touch { bytes: elements.saturating_mul(part.size), rows: 1, ..base });
            }
            _ => touch(Touch { by_data: true, ..base }),
        },
        Layout::Table => touch(Touch { by_data: true, ..base }),
    }
}

/// Bytes that have a bit for each lane up to the last active one.
pub(crate) const fn bytes_of_bits(active: u128) -> u32 {
    (128 - active.leading_zeros()).div_ceil(8)
}

/// Calls `run` with the first lane and the length of each run of active lanes that no border of a block cuts.
fn lane_runs(mut mask: u128, per_block: u32, mut run: impl FnMut(u32, u32)) {
    while mask != 0 {
        let first = mask.trailing_zeros();
        let length = (mask >> first).trailing_ones().min(per_block - first % per_block);
        run(first, length);
        let end = first + length;
        mask = if end >= 128 { 0 } else { mask >> end << end };
    }
}

impl Program {
    /// Whether a step stays where it is meant to, at addresses that its operands may have. What data decide is looked at when it
    /// runs.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn check_action(&self, action: &Action) -> Result<(), FaultKind> {
        self.check_alignment(action)?;
        let mut fault = match action {
            Action::SyncAll(Some(memory)) => self.outside_of_sync(*memory).into_iter().flatten().next(),
            _ => None,
        };
        action.touches(|touch| {
            if fault.is_none() {
                fault = self.outside(&touch);
            }
        });
        fault.map_or(Ok(()), Err)
    }

    /// How the memory of a soft `sync_all`, a block for each core, is too small in the UB, and in the workspace.
    pub(crate) fn outside_of_sync(&self, (global, at): (GlobalAt, LocalAt)) -> [Option<FaultKind>; 2] {
        let blocks =
            [element(PlaceAt::Local(at), Access::Write, BLOCK), element(PlaceAt::Global(global), Access::Write, BLOCK)];
        blocks.map(|block| self.outside(&Touch { bytes: BLOCK * self.source().cores, ..block }))
    }

    fn outside(&self, touch: &Touch) -> Option<FaultKind> {
        if touch.rows == 0 || touch.bytes == 0 {
            return None;
        }
        match touch.space {
            Space::Local(buffer, slot) => {
                let range = self.slot(buffer, slot);
                let (first, end) = (touch.start.cast_signed() - i64::from(range.start), touch.end().cast_signed());
                let inside = touch.start >= range.start.into() && touch.end() <= range.end.into();
                let end = end - i64::from(range.start);
                (!inside).then_some(FaultKind::OutsideBuffer { buffer, first, end })
            }
            Space::Global(tensor) => {
                // Offsets are below 2^63, their ends may not be.
                let (first, end) = (touch.start.cast_signed(), touch.end().min(i64::MAX.cast_unsigned()).cast_signed());
                let inside = touch.end() <= self.tensor_bytes(tensor);
                (!inside).then_some(FaultKind::OutsideTensor { tensor, first, end })
            }
        }
    }

    /// The addresses of a slot; empty where there is none.
    #[must_use]
    pub fn slot(&self, buffer: BufferId, slot: u16) -> std::ops::Range<u32> {
        match self.source().buffers.get(usize::from(buffer.0)) {
            Some(b) if u32::from(slot) < b.slots => {
                let start = b.address + u32::from(slot) * b.bytes;
                start..start + b.bytes
            }
            _ => 0..0,
        }
    }

    fn check_alignment(&self, action: &Action) -> Result<(), FaultKind> {
        let local = |LocalAt { buffer, address, .. }: LocalAt, align: u32| {
            let aligned = address.is_multiple_of(align);
            if aligned { Ok(()) } else { Err(FaultKind::MisalignedLocal { buffer, address, align }) }
        };
        let global = |tensor, offset: u64, align: u32| {
            let aligned = offset.is_multiple_of(align.into());
            if aligned { Ok(()) } else { Err(FaultKind::MisalignedGlobal { tensor, offset, align }) }
        };
        let place = |at, align| match at {
            PlaceAt::Local(at) => local(at, align),
            PlaceAt::Global(at) => global(at.tensor, at.offset, align),
        };
        match action {
            Action::Transfer(t) => {
                local(t.local, BLOCK)?;
                global(t.global.tensor, t.global.offset, self.limits().copy_granule)
            }
            Action::Move(MoveStep { to, from, .. }) => local(*to, BLOCK).and(local(*from, BLOCK)),
            Action::Vector(vector) => {
                let parts = vector.op.parts();
                parts.iter().zip(&vector.operands).try_for_each(|(part, operand)| local(operand.at, part.align))
            }
            Action::Transpose(TransposeStep { to, from, .. }) => local(to.at, BLOCK).and(local(from.at, BLOCK)),
            Action::Read(ReadStep { element, from, .. }) => place(*from, size_of(*element)),
            Action::Write(WriteStep { element, to, .. }) => place(*to, size_of(*element)),
            _ => Ok(()),
        }
    }
}

const _: () = assert!(REPEAT / BLOCK == 8);
