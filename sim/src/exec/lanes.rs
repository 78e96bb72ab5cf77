//! Lanes of an operand in one repeat.

use bytemuck::{Pod, cast_slice, cast_slice_mut};

use crate::program::{BLOCK, OperandAt, Part, VectorStep};

/// Lanes of a repeat, one after the other: 256 bytes, or fewer of a narrower operand.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(super) struct Row(pub(super) [u8; 256]);

impl Row {
    pub(super) const ZERO: Self = Self([0; 256]);

    pub(super) fn of<T: Pod>(&self) -> &[T] {
        cast_slice(&self.0)
    }

    pub(super) fn of_mut<T: Pod>(&mut self) -> &mut [T] {
        cast_slice_mut(&mut self.0)
    }
}

const STEP: usize = BLOCK as usize;

fn start(operand: &OperandAt, repeat: u32) -> usize {
    operand.at.address as usize + repeat as usize * usize::from(operand.repeat_stride) * STEP
}

/// Reads the active lanes of a repeat; others may be anything.
#[inline]
pub(super) fn load(step: &VectorStep, part: &Part, operand: &OperandAt, repeat: u32, local: &[u8], row: &mut Row) {
    let (active, start) = (active_bytes(step, part, repeat), start(operand, repeat));
    if operand.block_stride == 1 {
        // What is behind the last active lane may lie beyond the buffer.
        row.0[..active].copy_from_slice(&local[start..start + active]);
        return;
    }
    // Neither may blocks without an active lane be there.
    for block in 0..active.div_ceil(STEP) {
        let (to, from) = (block * STEP, start + block * usize::from(operand.block_stride) * STEP);
        let count = active.saturating_sub(to).min(STEP);
        row.0[to..to + count].copy_from_slice(&local[from..from + count]);
    }
}

/// Bytes up to the last active lane.
fn active_bytes(step: &VectorStep, part: &Part, repeat: u32) -> usize {
    ((128 - step.active(repeat).leading_zeros()) * part.size) as usize
}

/// Writes the active lanes of a repeat.
#[inline]
pub(super) fn store(step: &VectorStep, part: &Part, operand: &OperandAt, repeat: u32, row: &Row, local: &mut [u8]) {
    let (active, start) = (active_bytes(step, part, repeat), start(operand, repeat));
    let mask = step.active(repeat);
    let whole = mask.trailing_ones() == 128 - mask.leading_zeros();
    if whole && operand.block_stride == 1 {
        local[start..start + active].copy_from_slice(&row.0[..active]);
        return;
    }
    let size = part.size as usize;
    for block in 0..active.div_ceil(STEP) {
        let (from, to) = (block * STEP, start + block * usize::from(operand.block_stride) * STEP);
        if whole {
            let count = active.saturating_sub(from).min(STEP);
            local[to..to + count].copy_from_slice(&row.0[from..from + count]);
            continue;
        }
        for lane in 0..STEP / size {
            if mask >> (from / size + lane) & 1 == 1 {
                let (from, to) = (from + lane * size, to + lane * size);
                local[to..to + size].copy_from_slice(&row.0[from..from + size]);
            }
        }
    }
}

/// The bits of a repeat that a compare makes and a select takes, as a mask of lanes.
pub(super) fn load_bits(step: &VectorStep, operand: &OperandAt, repeat: u32, local: &[u8]) -> u128 {
    let lanes = step.op.lanes() as usize;
    let start = operand.at.address as usize + repeat as usize * (lanes / 8);
    let count = (128 - step.active(repeat).leading_zeros() as usize).div_ceil(8);
    let mut bytes = [0; 16];
    bytes[..count].copy_from_slice(&local[start..start + count]);
    u128::from_le_bytes(bytes)
}

/// Writes them, whole bytes; lanes that are off are 0.
pub(super) fn store_bits(step: &VectorStep, operand: &OperandAt, repeat: u32, bits: u128, local: &mut [u8]) {
    let lanes = step.op.lanes() as usize;
    let start = operand.at.address as usize + repeat as usize * (lanes / 8);
    let active = step.active(repeat);
    let count = (128 - active.leading_zeros() as usize).div_ceil(8);
    local[start..start + count].copy_from_slice(&(bits & active).to_le_bytes()[..count]);
}
