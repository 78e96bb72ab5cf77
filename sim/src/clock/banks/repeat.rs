//! What meets in one repeat of an instruction.

use crate::clock::tick::{CYCLE, Tick};
use crate::program::{BLOCK, RowsAt};

use super::{BLOCKS, Banks, GROUPS, Row};

impl Banks {
    /// Ticks of a repeat by its collisions.
    pub(super) fn repeat(&self, rows: &[Row; 4], repeat: u32) -> Tick {
        self.plain(rows, repeat).unwrap_or_else(|| self.general(rows, repeat))
    }

    /// Where all operands are rows of blocks without gaps, none shares a block with another one, and each group has one port.
    pub(super) fn plain(&self, rows: &[Row; 4], repeat: u32) -> Option<Tick> {
        let [target, sources @ ..] = rows;
        let at = |row: &Row, repeat: u32| (row.block(repeat, 0), row.blocks);
        let apart = |a: (u32, u32), b: (u32, u32)| a.0 >= b.0 + b.1 || b.0 >= a.0 + a.1;
        let before = at(target, repeat.saturating_sub(1));
        let [mut once, mut twice, mut thrice] = [0, 0, 0];
        let mut crossed = false;
        for (i, row) in sources.iter().enumerate().filter(|(_, row)| row.blocks > 0) {
            let here = at(row, repeat);
            let others = sources[..i].iter().filter(|other| other.blocks > 0);
            if row.block_stride != 1 || !others.into_iter().all(|other| apart(here, at(other, repeat))) {
                return None;
            }
            let groups = self.groups_of(here);
            (once, twice, thrice) = (once | groups, twice | (once & groups), thrice | (twice & groups));
            if repeat > 0 && target.blocks > 0 && here.0 / self.bank_blocks == before.0 / self.bank_blocks {
                if !apart(here, before) && here.0 != before.0 {
                    return None;
                }
                crossed |= here.0 != before.0 && groups & self.groups_of(before) != 0;
            }
        }
        let simple = target.blocks == 0 || target.block_stride == 1;
        let bank = |(first, blocks): (u32, u32)| first / self.bank_blocks == (first + blocks - 1) / self.bank_blocks;
        let whole = rows.iter().filter(|row| row.blocks > 0).all(|row| bank(at(row, repeat)));
        if self.ports != 1 || !simple || !whole || (target.blocks > 0 && !bank(before)) {
            return None;
        }
        let worst = CYCLE + self.again * u64::from(u32::from(twice != 0) + u32::from(thrice != 0));
        Some(if crossed { worst.max(self.read_write) } else { worst })
    }

    /// The groups of some blocks in a row, as bits.
    fn groups_of(&self, (first, blocks): (u32, u32)) -> u32 {
        if blocks >= self.groups {
            return (1 << self.groups) - 1;
        }
        let row = ((1 << blocks) - 1) << (first % self.groups);
        (row | row >> self.groups) & ((1 << self.groups) - 1)
    }

    /// The same, block by block.
    pub(super) fn general(&self, rows: &[Row; 4], repeat: u32) -> Tick {
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

    /// Ticks of each repeat of sixteen rows, two by two: where they begin decides which groups they meet in, not how many meet.
    pub(in crate::clock) fn rows(&self, rows: &RowsAt) -> Tick {
        let mut groups = [0u8; GROUPS];
        for block in 0..16 {
            let block = rows.offset(0, block) / BLOCK;
            groups[(block % self.groups) as usize] += 1;
        }
        CYCLE + u64::from(groups.into_iter().max().unwrap_or(1).max(1) - 1) * self.again
    }
}
