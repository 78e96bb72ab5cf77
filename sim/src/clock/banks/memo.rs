//! Times of instructions by where their operands are to each other.
//!
//! Most instructions of a program find their operands as they found them before, or all of them moved alike.

use crate::clock::tick::Tick;

use super::{Banks, Row};

/// Marks a distance in groups.
const APART: u32 = 1 << 31;

/// Where the operands of an instruction are to each other; the strides are the instruction's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Pattern {
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
pub(in crate::clock) struct Memo {
    seen: [(Pattern, Tick); 2],
    older: usize,
    /// By [`Pattern::slot`], once there were more than two.
    table: Vec<(Pattern, Tick)>,
    misses: usize,
}

impl Memo {
    /// What it took before, or takes now.
    #[inline]
    pub(super) fn get(&mut self, pattern: Pattern, compute: impl FnOnce() -> Tick) -> Tick {
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
pub(super) fn absolute(rows: &[Row; 4], repeats: u32) -> Pattern {
    Pattern { repeats, banks: [u32::MAX; 4], distances: rows.map(|row| row.first) }
}

impl Banks {
    /// All that collisions depend on, where no operand crosses into another bank: which operands are in the same bank, and how far each
    /// is from the target; where it shares no block with another one, how far in groups alone.
    #[inline]
    pub(super) fn pattern(&self, rows: &[Row; 4], repeats: u32) -> Option<Pattern> {
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
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tests::row;
    use super::*;
    use crate::clock::tick::CYCLE;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

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
