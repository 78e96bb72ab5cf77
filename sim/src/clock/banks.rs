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
/// Marks a distance in groups.
const APART: u32 = 1 << 31;

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

impl Pattern {
    fn slot(&self) -> usize {
        let mixed = self.distances.iter().zip(&self.banks).fold(self.repeats, |sum, (distance, bank)| {
            sum.wrapping_mul(31).wrapping_add(distance.wrapping_mul(5).wrapping_add(*bank))
        });
        mixed as usize % MEMO
    }
}

/// Times that are remembered of an instruction whose operands move about.
const MEMO: usize = 64;

/// What an instruction took the last two times, two being the slots of a double buffer; and where it moves about, a while ago.
#[derive(Clone, Debug, Default)]
pub(super) struct Memo {
    seen: [(Pattern, Tick); 2],
    older: usize,
    /// By [`Pattern::slot`], once there were more than two.
    table: Vec<(Pattern, Tick)>,
    misses: usize,
}

impl Memo {
    #[inline]
    fn get(&mut self, pattern: Pattern, compute: impl FnOnce() -> Tick) -> Tick {
        for (known, ticks) in &self.seen {
            if *known == pattern {
                return *ticks;
            }
        }
        let slot = pattern.slot();
        let ticks = match self.table.get(slot) {
            Some((known, ticks)) if *known == pattern => *ticks,
            _ => {
                let ticks = compute();
                self.misses += 1;
                if self.misses > MEMO {
                    // No instruction has no repeats and collides: the empty pattern is none's.
                    self.table.resize(MEMO, (Pattern::default(), 0));
                    self.table[slot] = (pattern, ticks);
                }
                ticks
            }
        };
        self.seen[self.older] = (pattern, ticks);
        self.older = 1 - self.older;
        ticks
    }
}

/// All that collisions depend on, wherever the operands are.
fn absolute(rows: &[Row; 4], repeats: u32) -> Pattern {
    Pattern { repeats, banks: [u32::MAX; 4], distances: rows.map(|row| row.first) }
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
        match self.pattern(&rows, step.repeats) {
            Some(pattern) => memo.get(pattern, || self.all(&rows, 0, step.repeats, least)),
            None => memo.get(absolute(&rows, step.repeats), || self.pieces(&rows, step.repeats, least)),
        }
    }

    /// Piece by piece: from a repeat at which an operand gets to another bank to the next such one.
    fn pieces(&self, rows: &[Row; 4], repeats: u32, least: Tick) -> Tick {
        let mut ticks = 0;
        let mut from = 0;
        while from < repeats {
            let same = rows.iter().map(|row| self.same_banks(row, from)).min().unwrap_or(u32::MAX);
            // What is written comes a repeat late, so the first repeat in other banks is still one of its own.
            let count = same.clamp(1, repeats - from);
            ticks += self.all(rows, from, 1, least) + self.all(rows, from + 1, count - 1, least);
            from += count;
        }
        ticks
    }

    /// Repeats from this one on that have their blocks in the same banks; 0 where its own blocks are in several.
    fn same_banks(&self, row: &Row, repeat: u32) -> u32 {
        if row.blocks == 0 {
            return u32::MAX;
        }
        let (first, last) = (row.block(repeat, 0), row.block(repeat, row.blocks - 1));
        let bank = first / self.bank_blocks;
        let room = (bank + 1) * self.bank_blocks;
        match (last < room, row.repeat_stride) {
            (false, _) => 0,
            (true, 0) => u32::MAX,
            (true, stride) => (room - last).div_ceil(stride),
        }
    }

    /// All that collisions depend on, where no operand crosses into another bank: which operands are in the same bank, and how far each
    /// is from the target; where it shares no block with another one, how far in groups alone.
    #[inline]
    fn pattern(&self, rows: &[Row; 4], repeats: u32) -> Option<Pattern> {
        let [target, ..] = rows;
        let mut pattern = Pattern { repeats, banks: [0; 4], distances: [0; 4] };
        let mut banks = [u32::MAX; 4];
        let mut ends = [0; 4];
        for (i, row) in rows.iter().enumerate().filter(|(_, row)| row.blocks > 0) {
            banks[i] = row.first / self.bank_blocks;
            ends[i] = row.block(repeats.saturating_sub(1), row.blocks - 1);
            if ends[i] / self.bank_blocks != banks[i] {
                return None;
            }
            // The first operand in the same bank stands for it.
            pattern.banks[i] = banks.iter().position(|bank| *bank == banks[i]).map_or(0, |at| at as u32);
        }
        let meet = |i: usize, j: usize| rows[i].first <= ends[j] && rows[j].first <= ends[i];
        for (i, row) in rows.iter().enumerate().filter(|(_, row)| row.blocks > 0) {
            let apart = (0..rows.len()).all(|j| i == j || rows[j].blocks == 0 || !meet(i, j));
            pattern.distances[i] = if apart {
                APART | ((row.first % self.groups + self.groups - target.first % self.groups) % self.groups)
            } else {
                row.first.wrapping_sub(target.first)
            };
        }
        Some(pattern)
    }

    /// Some repeats in the same banks; the pattern of groups recurs after as many as there are groups.
    fn all(&self, rows: &[Row; 4], from: u32, repeats: u32, least: Tick) -> Tick {
        let one = |repeat| least.max(self.repeat(rows, repeat));
        let some = |from: u32, count: u32| (from..from + count).map(one).sum::<Tick>();
        let mut strides = rows.iter().filter(|row| row.blocks > 0).map(|row| row.repeat_stride);
        let first = strides.next();
        if repeats > 1 && strides.all(|stride| Some(stride) == first) {
            // They move together, so all repeats but the first are alike.
            return one(from) + u64::from(repeats - 1) * one(from + 1);
        }
        let last = from + repeats.saturating_sub(1);
        let span = |row: &Row| (row.block(from.saturating_sub(1), 0), row.block(last, row.blocks.saturating_sub(1)));
        let meet = |a: &Row, b: &Row| span(a).0 <= span(b).1 && span(b).0 <= span(a).1;
        // Where one operand passes another one, blocks that are the same in some repeats are not in others.
        let pass = rows.iter().enumerate().any(|(i, a)| rows[..i].iter().any(|b| meet(a, b)));
        if repeats <= self.groups || pass {
            return some(from, repeats);
        }
        // The very first repeat finds nothing written before it, so the period begins behind it.
        let (periods, rest) = ((repeats - 1) / self.groups, (repeats - 1) % self.groups);
        one(from) + u64::from(periods) * some(from + 1, self.groups) + some(from + 1, rest)
    }

    /// Ticks of a repeat by its collisions.
    fn repeat(&self, rows: &[Row; 4], repeat: u32) -> Tick {
        self.plain(rows, repeat).unwrap_or_else(|| self.general(rows, repeat))
    }

    /// Where all operands are rows of blocks without gaps, none shares a block with another one, and each group has one port.
    fn plain(&self, rows: &[Row; 4], repeat: u32) -> Option<Tick> {
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
    fn general(&self, rows: &[Row; 4], repeat: u32) -> Tick {
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn row() -> impl Strategy<Value = Row> {
        let stride = prop_oneof![4 => Just(1u32), 1 => 0u32..20];
        (0u32..6144, prop_oneof![4 => Just(8u32), 1 => 0u32..9], stride, 0u32..20)
            .prop_map(|(first, blocks, block_stride, repeat_stride)| Row { first, blocks, block_stride, repeat_stride })
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// What is found at a glance is what is counted block by block, and many repeats are the sum of each.
        #[test]
        fn short_cuts_lead_to_the_same(rows in [row(), row(), row(), row()], repeats in 0u32..60, equal in any::<bool>()) {
            let mut rows = rows;
            if equal {
                let stride = rows[0].repeat_stride;
                rows.iter_mut().for_each(|row| row.repeat_stride = stride);
            }
            let banks =
                Banks { groups: 16, bank_blocks: 2048, ports: 1, again: CYCLE, read_write: CYCLE * 7 / 4 };
            for repeat in 0..repeats {
                if let Some(plain) = banks.plain(&rows, repeat) {
                    prop_assert_eq!(plain, banks.general(&rows, repeat), "{:?} {}", rows, repeat);
                }
            }
            let sum: Tick = (0..repeats).map(|repeat| banks.general(&rows, repeat)).sum();
            prop_assert_eq!(banks.pieces(&rows, repeats, 0), sum, "{:?}", rows);
            if banks.pattern(&rows, repeats).is_some() {
                prop_assert_eq!(banks.all(&rows, 0, repeats, 0), sum, "{:?}", rows);
            }
        }

        /// Equal patterns take as long as each other.
        #[test]
        fn patterns_say_all(
            rows in [row(), row(), row(), row()],
            repeats in 0u32..40,
            moves in [(0u32..20, 0u32..2), (0u32..20, 0u32..2), (0u32..20, 0u32..2), (0u32..20, 0u32..2)],
            groups in prop_oneof![Just(16u32), Just(8), Just(12)],
            ports in 1u32..3,
        ) {
            let banks = Banks { groups, bank_blocks: 128 * groups, ports, again: CYCLE, read_write: CYCLE * 7 / 4 };
            let mut moved = rows;
            for (row, (by, odd)) in moved.iter_mut().zip(moves) {
                row.first += by * groups + odd;
            }
            let pattern = banks.pattern(&rows, repeats);
            if pattern.is_some() && pattern == banks.pattern(&moved, repeats) {
                prop_assert_eq!(banks.all(&rows, 0, repeats, 0), banks.all(&moved, 0, repeats, 0), "{:?} {:?}", rows, moved);
            }
        }
    }
}
