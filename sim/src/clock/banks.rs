//! Bank conflicts of the UB, from addresses.
//!
//! Block `b` of the UB, 32 bytes, is in group `b mod groups`, and in it in bank `address / (groups x bank size)`. In a cycle a group
//! serves as many reads as it has ports, each bank one of them, and takes one write; a bank cannot be read and written at once. What is
//! written comes one repeat late, so a result that replaces its operand collides with nothing.

mod memo;
mod repeat;

use crate::product::{Rate, Soc, Unknown};
use crate::program::{Access, BLOCK, Layout, OperandAt, REPEAT, VectorStep};

use super::evidence::Asker;
use super::tick::{CYCLE, Tick, cycles};

pub(super) use memo::Memo;
use memo::absolute;

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

impl Row {
    fn block(&self, repeat: u32, block: u32) -> u32 {
        self.first + repeat * self.repeat_stride + block * self.block_stride
    }
}

impl Banks {
    /// Those of a product.
    ///
    /// # Errors
    /// One of their numbers is unknown, and is not assumed.
    pub(super) fn of(soc: &Soc, asker: &mut Asker) -> Result<Self, Unknown> {
        let groups = asker.ask(&soc.ub.bank_groups)?.get();
        let most = GROUPS as u32;
        if groups > most {
            asker.assume(format!("{most} bank groups instead of {groups}, as the model tells no more apart"));
        }
        let groups = groups.min(most);
        let bank = u32::try_from(asker.ask(&soc.ub.bank_bytes)?.0).unwrap_or(u32::MAX);
        Ok(Self {
            groups,
            bank_blocks: (bank / BLOCK).saturating_mul(groups).max(1),
            ports: asker.ask(&soc.ub.group_read_ports)?.get(),
            again: cycles(asker.ask(&soc.conflicts.read_read)?.get()).saturating_sub(CYCLE),
            read_write: cycles(asker.or(&soc.conflicts.read_write, Rate::ONE).get()),
        })
    }

    /// Ticks that all repeats of an instruction take whose repeats take `least` each without a collision.
    #[inline]
    pub(super) fn ticks(&self, step: &VectorStep, least: Tick, memo: &mut Memo) -> Tick {
        let mut rows = [Row { first: 0, blocks: 0, block_stride: 0, repeat_stride: 0 }; 4];
        let parts = step.op.parts();
        let lanes = step.op.lanes();
        let mut count = 0;
        let mut updated = None;
        for (row, (part, operand)) in rows.iter_mut().zip(parts.iter().zip(&step.operands)) {
            let OperandAt { at, block_stride, repeat_stride } = *operand;
            count += 1;
            if part.layout == Layout::Lanes {
                *row = Row {
                    first: at.address / BLOCK,
                    blocks: (lanes * part.size).div_ceil(BLOCK).min(BLOCKS as u32),
                    block_stride: block_stride.into(),
                    repeat_stride: repeat_stride.into(),
                };
                updated = updated.or((part.access == Access::Update).then_some(*row));
            }
        }
        // A target that is added to is read, too: none of these has three sources.
        if let Some(target) = updated
            && let Some(read) = rows.get_mut(count)
        {
            *read = target;
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
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Blocks somewhere.
    pub(super) fn row() -> impl Strategy<Value = Row> {
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
    }
}
