//! The blocks of a copy in global memory, counted without a look at each.

use crate::program::Transfer;

/// Blocks of `bytes` each, `pitch` apart, in one address space for all of global memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Blocks {
    start: u64,
    bytes: u64,
    pitch: u64,
    count: u64,
}

impl Blocks {
    /// Those of a copy to or from a tensor that begins at `base`. Without gaps they are one.
    pub(super) fn of(transfer: &Transfer, base: u64) -> Self {
        let (count, bytes) = (u64::from(transfer.blocks), u64::from(transfer.bytes));
        let (start, pitch) = (base + transfer.global.offset, transfer.global_pitch());
        if transfer.global_gap == 0 {
            Self { start, bytes: count * bytes, pitch: count * bytes, count: count.min(1) }
        } else {
            Self { start, bytes, pitch, count }
        }
    }

    /// How many there are.
    pub(super) const fn count(&self) -> u64 {
        self.count
    }

    /// The first byte of each, and one past its last.
    pub(super) fn each(&self) -> impl Iterator<Item = (u64, u64)> + use<> {
        let Self { start, bytes, pitch, count } = *self;
        (0..count).map(move |block| (start + block * pitch, start + block * pitch + bytes))
    }

    /// Pieces of `unit` bytes that the blocks touch, each counted once.
    pub(super) fn pieces(&self, unit: u64) -> u64 {
        match (self.extent(unit), self.count) {
            (Some((first, end)), _) => end - first,
            (None, 0) => 0,
            // No two blocks touch the same one.
            (None, count) => {
                floor_sum(count, unit, self.pitch, self.start + self.bytes + unit - 1)
                    - floor_sum(count, unit, self.pitch, self.start)
            }
        }
    }

    /// The pieces of `unit` bytes that they touch, from the first to before the last, where these are all between.
    pub(super) const fn extent(&self, unit: u64) -> Option<(u64, u64)> {
        // Between blocks that are less than a piece apart there is no whole one.
        if self.count == 0 || (self.count > 1 && self.pitch - self.bytes >= unit) {
            return None;
        }
        let end = self.start + (self.count - 1) * self.pitch + self.bytes;
        Some((self.start / unit, end.div_ceil(unit)))
    }
}

/// Sum of the quotients of `a * i + b` by `m`, rounded down, over `i` from 0 to before `n`, which is not 0: as many steps as Euclid's
/// algorithm takes for `m` and `a`. What a quotient leaves counts points below a line, and those count as well along the other axis.
const fn floor_sum(mut n: u64, mut m: u64, mut a: u64, mut b: u64) -> u64 {
    let mut sum = 0;
    loop {
        sum += n * (n - 1) / 2 * (a / m) + n * (b / m);
        a %= m;
        b %= m;
        let top = a * n + b;
        if top < m {
            return sum;
        }
        n = top / m;
        b = top % m;
        (m, a) = (a, m);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Against a look at each block, and at each piece.
        #[test]
        fn counted_together_as_one_by_one(
            start in 0u64..3000,
            bytes in 1u64..1500,
            gap in prop_oneof![0u64..40, 480u64..520, 0u64..5000],
            count in 0u64..40,
            unit in prop_oneof![Just(512u64), Just(128), 1u64..700],
        ) {
            let blocks = Blocks { start, bytes, pitch: bytes + gap, count };
            let touched: Vec<(u64, u64)> = blocks.each().map(|(from, to)| (from / unit, to.div_ceil(unit))).collect();
            prop_assert_eq!(touched.len() as u64, count);
            let pieces: BTreeSet<u64> = touched.iter().flat_map(|&(first, end)| first..end).collect();
            prop_assert_eq!(blocks.pieces(unit), pieces.len() as u64);
            let whole = touched.windows(2).all(|two| two[1].0 <= two[0].1);
            match blocks.extent(unit) {
                Some((first, end)) => {
                    prop_assert!(whole);
                    prop_assert_eq!((first, end), (touched[0].0, touched[touched.len() - 1].1));
                }
                None => prop_assert!(count == 0 || gap >= unit),
            }
        }
    }
}
