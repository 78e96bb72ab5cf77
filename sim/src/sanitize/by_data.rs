//! Bytes of the UB that an instruction touches because data say so.

use std::ops::Range;

use super::shadow::{index, masks};
use crate::program::{BLOCK, LocalAt, Program, VectorOp, VectorStep, size_of};

/// Bytes of the UB, by the blocks they are in.
#[derive(Default)]
pub(super) struct Pieces {
    /// Of each block of the UB.
    masks: Vec<u32>,
    /// Blocks with any.
    blocks: Vec<u64>,
}

impl Pieces {
    pub(super) fn clear(&mut self) {
        for block in self.blocks.drain(..) {
            self.masks[index(block)] = 0;
        }
    }

    fn add(&mut self, range: Range<u64>) {
        for (block, mask) in masks(range) {
            if self.masks.len() <= index(block) {
                self.masks.resize(index(block) + 1, 0);
            }
            let bytes = &mut self.masks[index(block)];
            if *bytes == 0 {
                self.blocks.push(block);
            }
            *bytes |= mask;
        }
    }

    /// Each block, and which of its bytes.
    pub(super) fn blocks(&self) -> impl Iterator<Item = (u64, u32)> {
        self.blocks.iter().map(|&block| (block, self.masks[index(block)]))
    }
}

/// Adds what a gather reads from its table, what a scatter writes to it, or what kept elements fill. Pieces outside of the slot are left
/// out: the run reports them.
pub(super) fn pieces(program: &Program, step: &VectorStep, local: &[u8], to: &mut Pieces) {
    let size = size_of(step.op.element());
    match step.op {
        VectorOp::Gather(_) => table(program, step, local, (1, 2), (step.op.lanes(), size), to),
        VectorOp::GatherBlocks(_) => table(program, step, local, (1, 2), (8, BLOCK), to),
        VectorOp::Scatter(_) => table(program, step, local, (0, 1), (step.op.lanes(), size), to),
        VectorOp::GatherBits(_) => {
            let bits = &step.operands[2];
            let kept = (0..step.repeats).map(|repeat| {
                let at = bits.at.address + repeat * u32::from(bits.repeat_stride) * BLOCK;
                let lanes = local.get(at as usize..).unwrap_or(&[]).iter().take(step.op.lanes() as usize / 8);
                let mask = lanes.rev().fold(0, |mask, byte| mask << 8 | u128::from(*byte));
                (mask & step.active(repeat)).count_ones()
            });
            let kept: u64 = kept.map(u64::from).sum();
            let LocalAt { buffer, slot, address } = step.operands[0].at;
            let end = u64::from(address) + kept * u64::from(size);
            to.add(address.into()..end.min(program.slot(buffer, slot).end.into()));
        }
        _ => {}
    }
}

/// Pieces of `bytes` at the offsets of an operand, `lanes` to a repeat.
fn table(
    program: &Program,
    step: &VectorStep,
    local: &[u8],
    (table, offsets): (usize, usize),
    (lanes, bytes): (u32, u32),
    to: &mut Pieces,
) {
    let (table, offsets) = (step.operands[table].at, step.operands[offsets].at);
    let end = u64::from(program.slot(table.buffer, table.slot).end);
    for repeat in 0..step.repeats {
        let active = step.active(repeat);
        for lane in (0..lanes).filter(|lane| active >> lane & 1 == 1) {
            let at = (offsets.address + (repeat * lanes + lane) * 4) as usize;
            let Some(offset) = local.get(at..).and_then(<[u8]>::first_chunk) else { return };
            let start = u64::from(table.address) + u64::from(u32::from_le_bytes(*offset));
            let piece = start..start + u64::from(bytes);
            if piece.end <= end {
                to.add(piece);
            }
        }
    }
}
