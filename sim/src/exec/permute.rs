//! Instructions that put elements elsewhere: gather, scatter, gather by pattern, broadcast, transpose.

use super::lanes::{self, Row};
use crate::program::{BLOCK, FaultKind, LocalAt, Program, TransposeStep, VectorOp, VectorStep, bytes_of_bits, size_of};

const STEP: usize = BLOCK as usize;

/// Elements of patterns, without gaps.
pub(super) fn keep(step: &VectorStep, local: &mut [u8]) {
    let parts = step.op.parts();
    let size = parts[0].size as usize;
    let mut to = step.operands[0].at.address as usize;
    for repeat in 0..step.repeats {
        let mut row = Row::ZERO;
        lanes::load(step, &parts[1], &step.operands[1], repeat, local, &mut row);
        let bits = match step.op {
            VectorOp::GatherMask(_, pattern) => {
                let (of, at) = pattern.one_of();
                (0..128).filter(|lane| lane % of == at).fold(0, |bits, lane| bits | 1 << lane)
            }
            _ => bits_of(step, repeat, local),
        };
        let mut kept = bits & step.active(repeat);
        while kept != 0 {
            let from = kept.trailing_zeros() as usize * size;
            local[to..to + size].copy_from_slice(&row.0[from..from + size]);
            to += size;
            kept &= kept - 1;
        }
    }
}

/// Whether [`keep`] stays in its target: how many elements it keeps depends on bits in memory.
pub(super) fn check_kept(program: &Program, step: &VectorStep, local: &[u8]) -> Result<(), FaultKind> {
    let mut kept = 0u32;
    for repeat in 0..step.repeats {
        kept = kept.saturating_add((bits_of(step, repeat, local) & step.active(repeat)).count_ones());
    }
    // Where the first goes was looked at before.
    in_slot(program, step.operands[0].at, 0, (kept.saturating_mul(step.op.parts()[0].size), 1))
}

/// The bits that say which elements of a repeat are kept, those of active lanes at least.
fn bits_of(step: &VectorStep, repeat: u32, local: &[u8]) -> u128 {
    let bits = &step.operands[2];
    let start = bits.at.address as usize + repeat as usize * usize::from(bits.repeat_stride) * STEP;
    let count = bytes_of_bits(step.active(repeat)) as usize;
    let mut bytes = [0; 16];
    bytes[..count].copy_from_slice(&local[start..start + count]);
    u128::from_le_bytes(bytes)
}

/// Each of eight elements fills a block.
pub(super) fn broadcast(step: &VectorStep, local: &mut [u8]) {
    let parts = step.op.parts();
    let size = parts[0].size as usize;
    for repeat in 0..step.repeats {
        let from = step.operands[1].at.address as usize + repeat as usize * 8 * size;
        let mut row = Row::ZERO;
        for (block, element) in row.0.chunks_exact_mut(STEP).zip(local[from..].chunks_exact(size)) {
            block.chunks_exact_mut(size).for_each(|to| to.copy_from_slice(element));
        }
        lanes::store(step, &parts[0], &step.operands[0], repeat, &row, local);
    }
}

fn offset(step: &VectorStep, operand: usize, local: &[u8], position: usize) -> u32 {
    let at = step.operands[operand].at.address as usize + 4 * position;
    let mut bytes = [0; 4];
    bytes.copy_from_slice(&local[at..at + 4]);
    u32::from_le_bytes(bytes)
}

/// Elements from offsets.
pub(super) fn gather(program: &Program, step: &VectorStep, local: &mut [u8]) -> Result<(), FaultKind> {
    let parts = step.op.parts();
    let (size, lanes) = (parts[0].size as usize, step.op.lanes() as usize);
    let table = step.operands[1].at;
    for repeat in 0..step.repeats {
        let mut row = Row::ZERO;
        for lane in active(step, repeat) {
            let offset = offset(step, 2, local, repeat as usize * lanes + lane);
            in_slot(program, table, offset, (parts[0].size, parts[0].size))?;
            let from = (table.address + offset) as usize;
            row.0[lane * size..(lane + 1) * size].copy_from_slice(&local[from..from + size]);
        }
        lanes::store(step, &parts[0], &step.operands[0], repeat, &row, local);
    }
    Ok(())
}

/// Blocks from offsets.
pub(super) fn gather_blocks(program: &Program, step: &VectorStep, local: &mut [u8]) -> Result<(), FaultKind> {
    let parts = step.op.parts();
    let table = step.operands[1].at;
    for repeat in 0..step.repeats {
        let mut row = Row::ZERO;
        for (block, to) in row.0.chunks_exact_mut(STEP).enumerate() {
            let offset = offset(step, 2, local, repeat as usize * 8 + block);
            in_slot(program, table, offset, (BLOCK, BLOCK))?;
            let from = (table.address + offset) as usize;
            to.copy_from_slice(&local[from..from + STEP]);
        }
        lanes::store(step, &parts[0], &step.operands[0], repeat, &row, local);
    }
    Ok(())
}

/// Elements to offsets, the first lane first.
pub(super) fn scatter(program: &Program, step: &VectorStep, local: &mut [u8]) -> Result<(), FaultKind> {
    let parts = step.op.parts();
    let (size, lanes) = (parts[0].size as usize, step.op.lanes() as usize);
    let table = step.operands[0].at;
    for repeat in 0..step.repeats {
        let mut row = Row::ZERO;
        lanes::load(step, &parts[2], &step.operands[2], repeat, local, &mut row);
        for lane in active(step, repeat) {
            let offset = offset(step, 1, local, repeat as usize * lanes + lane);
            in_slot(program, table, offset, (parts[0].size, parts[0].size))?;
            let to = (table.address + offset) as usize;
            local[to..to + size].copy_from_slice(&row.0[lane * size..(lane + 1) * size]);
        }
    }
    Ok(())
}

fn active(step: &VectorStep, repeat: u32) -> impl Iterator<Item = usize> + use<> {
    let mut mask = step.active(repeat);
    std::iter::from_fn(move || {
        let lane = mask.trailing_zeros() as usize;
        mask &= mask.wrapping_sub(1);
        (lane < 128).then_some(lane)
    })
}

/// Whether so many bytes of a table are in its slot, at a multiple of `align`.
fn in_slot(program: &Program, table: LocalAt, offset: u32, (bytes, align): (u32, u32)) -> Result<(), FaultKind> {
    let LocalAt { buffer, slot, address } = table;
    let range = program.slot(buffer, slot);
    let first = u64::from(address) + u64::from(offset);
    let end = first + u64::from(bytes);
    if end > range.end.into() {
        let relative = |at: u64| at.cast_signed() - i64::from(range.start);
        return Err(FaultKind::OutsideBuffer { buffer, first: relative(first), end: relative(end) });
    }
    let address = address + offset;
    if address.is_multiple_of(align) { Ok(()) } else { Err(FaultKind::MisalignedLocal { buffer, address, align }) }
}

/// Sixteen rows become sixteen columns.
pub(super) fn transpose(step: &TransposeStep, local: &mut [u8]) {
    let TransposeStep { element, to, from, repeats, to_high, from_high } = step;
    let size = size_of(*element) as usize;
    let columns = if size == 1 { 16 } else { STEP / size };
    for repeat in 0..*repeats {
        let mut rows = [[0; STEP]; 16];
        for (block, row) in (0..).zip(&mut rows) {
            let at = (from.at.address + from.offset(repeat, block)) as usize;
            row.copy_from_slice(&local[at..at + STEP]);
        }
        let first = if *from_high { STEP / 2 } else { 0 };
        for column in 0..columns {
            let mut line = [0; 64];
            for (row, to) in rows.iter().zip(line.chunks_exact_mut(size)) {
                let at = first + column * size;
                to.copy_from_slice(&row[at..at + size]);
            }
            // Sixteen elements: half a block, a block, or two.
            let bytes = 16 * size;
            for (i, piece) in line[..bytes].chunks(STEP).enumerate() {
                #[expect(clippy::cast_possible_truncation, reason = "sixteen at most")]
                let block = (column * bytes.div_ceil(STEP) + i) as u32;
                let within = if *to_high { STEP / 2 } else { 0 };
                let at = (to.at.address + to.offset(repeat, block)) as usize + within;
                local[at..at + piece.len()].copy_from_slice(piece);
            }
        }
    }
}
