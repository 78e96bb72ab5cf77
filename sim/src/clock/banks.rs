//! Bank conflicts of the UB, from addresses.
//!
//! Block `b` of the UB, 32 bytes, is in group `b mod groups`, and in it in bank `address / (groups x bank size)`. In a cycle a group
//! serves as many reads as it has ports, each bank one of them, and takes one write; a bank cannot be read and written at once. What is
//! written comes one repeat late, so a result that replaces its operand collides with nothing.

use crate::product::{Soc, Unknown};
use crate::program::{BLOCK, Layout, OperandAt, REPEAT, RowsAt, VectorStep};

use super::tick::{CYCLE, Tick, cycles};

/// Blocks that a repeat has at most.
const BLOCKS: usize = (REPEAT / BLOCK) as usize;
/// Groups that the model can tell apart.
const GROUPS: usize = 16;

/// The banks of a product.
#[derive(Clone, Debug)]
pub(super) struct Banks {
    groups: u32,
    /// Blocks after which the next bank of a group begins.
    bank_blocks: u32,
    ports: u32,
    /// Cycles that a further block in a group costs.
    again: Tick,
    /// Cycles of a repeat that reads where the one before is written.
    read_write: Tick,
}

/// Blocks of an operand in a repeat.
#[derive(Clone, Copy, Debug)]
struct Row {
    first: u32,
    blocks: u32,
    block_stride: u32,
    repeat_stride: u32,
}

/// Where the operands of an instruction are to each other; the strides are the instruction's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Pattern {
    repeats: u32,
    banks: [u32; 4],
    distances: [u32; 4],
}

/// What an instruction took the last two times, two being the slots of a double buffer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Memo {
    seen: [(Pattern, Tick); 2],
    older: usize,
}

impl Memo {
    #[inline]
    fn get(&mut self, pattern: Pattern, compute: impl FnOnce() -> Tick) -> Tick {
        for (known, ticks) in &self.seen {
            if *known == pattern {
                return *ticks;
            }
        }
        let ticks = compute();
        self.seen[self.older] = (pattern, ticks);
        self.older = 1 - self.older;
        ticks
    }
}

impl Row {
    fn block(&self, repeat: u32, block: u32) -> u32 {
        self.first + repeat * self.repeat_stride + block * self.block_stride
    }
}

impl Banks {
    /// Those of a product.
    ///
    /// # Errors
    /// One of their numbers is unknown.
    pub(super) fn of(soc: &Soc) -> Result<Self, Unknown> {
        let groups = soc.ub.bank_groups.get()?.get().min(GROUPS as u32);
        let bank = u32::try_from(soc.ub.bank_bytes.get()?.0).unwrap_or(u32::MAX);
        Ok(Self {
            groups,
            bank_blocks: (bank / BLOCK).saturating_mul(groups).max(1),
            ports: soc.ub.group_read_ports.get()?.get(),
            again: cycles(soc.conflicts.read_read.get()?.get()).saturating_sub(CYCLE),
            read_write: soc.conflicts.read_write.get().map_or(CYCLE, |rate| cycles(rate.get())),
        })
    }

    /// Ticks that all repeats of an instruction take whose repeats take `least` each without a collision.
    #[inline]
    pub(super) fn ticks(&self, step: &VectorStep, least: Tick, memo: &mut Memo) -> Tick {
        let mut rows = [Row { first: 0, blocks: 0, block_stride: 0, repeat_stride: 0 }; 4];
        let parts = step.op.parts();
        let lanes = step.op.lanes();
        for (row, (part, operand)) in rows.iter_mut().zip(parts.iter().zip(&step.operands)) {
            let OperandAt { at, block_stride, repeat_stride } = *operand;
            if part.layout == Layout::Lanes {
                *row = Row {
                    first: at.address / BLOCK,
                    blocks: (lanes * part.size).div_ceil(BLOCK).min(BLOCKS as u32),
                    block_stride: block_stride.into(),
                    repeat_stride: repeat_stride.into(),
                };
            }
        }
        let Some(pattern) = self.pattern(&rows, step.repeats) else {
            return (0..step.repeats).map(|repeat| least.max(self.repeat(&rows, repeat))).sum();
        };
        memo.get(pattern, || self.all(&rows, step.repeats, least))
    }

    /// All that collisions depend on, where no operand crosses into another bank.
    #[inline]
    fn pattern(&self, rows: &[Row; 4], repeats: u32) -> Option<Pattern> {
        let [target, ..] = rows;
        let mut pattern = Pattern { repeats, banks: [0; 4], distances: [0; 4] };
        for (i, row) in rows.iter().enumerate().filter(|(_, row)| row.blocks > 0) {
            let bank = row.first / self.bank_blocks;
            let last = row.block(repeats.saturating_sub(1), row.blocks - 1);
            if last / self.bank_blocks != bank {
                return None;
            }
            pattern.banks[i] = bank;
            pattern.distances[i] = row.first.wrapping_sub(target.first);
        }
        Some(pattern)
    }

    /// Repeat by repeat; the pattern of groups recurs after as many repeats as there are groups.
    fn all(&self, rows: &[Row; 4], repeats: u32, least: Tick) -> Tick {
        let one = |repeat| least.max(self.repeat(rows, repeat));
        if repeats <= self.groups {
            return (0..repeats).map(one).sum();
        }
        // The first repeat finds nothing written before it, so the period begins behind it.
        let period: Tick = (1..=self.groups).map(one).sum();
        let (periods, rest) = ((repeats - 1) / self.groups, (repeats - 1) % self.groups);
        one(0) + u64::from(periods) * period + (1..=rest).map(one).sum::<Tick>()
    }

    /// Ticks of a repeat by its collisions.
    fn repeat(&self, rows: &[Row; 4], repeat: u32) -> Tick {
        let [target, sources @ ..] = rows;
        let mut reads = [u32::MAX; BLOCKS * 3];
        let mut count = 0;
        let mut groups = [0u8; GROUPS];
        let mut worst_bank = 1;
        for row in sources {
            for block in 0..row.blocks {
                let block = row.block(repeat, block);
                if reads[..count].contains(&block) {
                    continue;
                }
                let group = block % self.groups;
                if self.ports > 1 {
                    let same = |other: &&u32| {
                        **other % self.groups == group && **other / self.bank_blocks == block / self.bank_blocks
                    };
                    worst_bank = worst_bank.max(1 + reads[..count].iter().filter(same).count() as u32);
                }
                reads[count] = block;
                count += 1;
                groups[group as usize] += 1;
            }
        }
        let read = u32::from(groups.into_iter().max().unwrap_or(0)).div_ceil(self.ports).max(worst_bank);
        let mut writes = [0u8; GROUPS];
        let mut seen = u32::MAX;
        let mut crossed = false;
        for block in 0..target.blocks {
            let now = target.block(repeat, block);
            if now == seen {
                continue;
            }
            seen = now;
            writes[(now % self.groups) as usize] += 1;
            if repeat > 0 {
                let before = target.block(repeat - 1, block);
                crossed |= reads[..count].iter().any(|read| {
                    *read != before
                        && *read % self.groups == before % self.groups
                        && *read / self.bank_blocks == before / self.bank_blocks
                });
            }
        }
        let write = u32::from(writes.into_iter().max().unwrap_or(0));
        let worst = CYCLE + u64::from(read.max(write).max(1) - 1) * self.again;
        if crossed { worst.max(self.read_write) } else { worst }
    }
}

impl Banks {
    /// Ticks of a repeat of sixteen rows, two by two.
    pub(super) fn rows(&self, rows: &RowsAt, repeat: u32) -> Tick {
        let mut groups = [0u8; GROUPS];
        for block in 0..16 {
            let block = (rows.at.address + rows.offset(repeat, block)) / BLOCK;
            groups[(block % self.groups) as usize] += 1;
        }
        CYCLE + u64::from(groups.into_iter().max().unwrap_or(1).max(1) - 1) * self.again
    }
}
