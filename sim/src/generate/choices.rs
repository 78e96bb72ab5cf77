//! Where random decisions come from.

/// Decisions: from bytes, as fuzzers and proptest have them, or from a seed.
///
/// Bytes that are used up go on as zeros, and 0 always stands for the simplest choice: fewer and smaller bytes are a simpler result, so
/// whoever shrinks bytes shrinks what is made of them.
#[derive(Clone, Debug)]
pub struct Choices<'a>(From<'a>);

#[derive(Clone, Debug)]
enum From<'a> {
    Bytes(&'a [u8]),
    Seed(u64),
}

impl<'a> Choices<'a> {
    /// Those of bytes.
    #[must_use]
    pub const fn of_bytes(bytes: &'a [u8]) -> Self {
        Self(From::Bytes(bytes))
    }

    /// Those of a seed, without end: the same seed, the same choices.
    #[must_use]
    pub const fn of_seed(seed: u64) -> Choices<'static> {
        Choices(From::Seed(seed))
    }

    /// A whole number of so many bits, at most 64.
    pub fn bits(&mut self, bits: u32) -> u64 {
        let mask = u64::MAX.checked_shr(64 - bits.min(64)).unwrap_or(0);
        let word = match &mut self.0 {
            From::Bytes(bytes) => {
                let count = (bits.min(64).div_ceil(8) as usize).min(bytes.len());
                let (now, rest) = bytes.split_at(count);
                *bytes = rest;
                now.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
            }
            From::Seed(state) => {
                // splitmix64
                *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                let z = (*state ^ *state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
                z ^ z >> 31
            }
        };
        word & mask
    }

    /// A number below `n`; 0 where there is none.
    pub fn below(&mut self, n: u64) -> u64 {
        if n < 2 {
            return 0;
        }
        // The bytes that hold n - 1, and of a seed some more, so that all are as likely as each other.
        let bits = 64 - (n - 1).leading_zeros();
        let more = if matches!(self.0, From::Seed(_)) { 24 } else { 0 };
        self.bits(bits + more) % n
    }

    /// A number from `low` to `high`, both included.
    ///
    /// # Panics
    /// Where there is none.
    pub fn between(&mut self, low: u32, high: u32) -> u32 {
        assert!(low <= high, "no number from {low} to {high}");
        let offset = self.below(u64::from(high - low) + 1);
        low + u32::try_from(offset).unwrap_or(0)
    }

    /// Whether something with one chance in `n` happens. What is simple does not.
    pub fn one_in(&mut self, n: u64) -> bool {
        n > 0 && self.below(n) == n - 1
    }

    /// One of them, the first of which is the simplest.
    ///
    /// # Panics
    /// Where there is none.
    pub fn pick<'t, T>(&mut self, from: &'t [T]) -> &'t T {
        assert!(!from.is_empty(), "nothing to pick from");
        &from[self.index(from.len())]
    }

    /// A position below `len`; 0 where there is none.
    pub fn index(&mut self, len: usize) -> usize {
        usize::try_from(self.below(len as u64)).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_used_up_are_zeros() {
        let mut choices = Choices::of_bytes(&[7, 1, 2]);
        assert_eq!((choices.below(256), choices.bits(16)), (7, 0x0201));
        assert_eq!((choices.bits(64), choices.below(9), choices.between(3, 8)), (0, 0, 3));
        assert!(!choices.one_in(2) && choices.one_in(1));
        assert_eq!(choices.pick(&[4, 5]), &4);
        // What is left of a word is taken.
        assert_eq!(Choices::of_bytes(&[1, 2]).bits(64), 0x0201);
    }

    #[test]
    fn every_number_is_as_likely() {
        let mut choices = Choices::of_seed(1);
        let mut seen = [0; 7];
        (0..7000).for_each(|_| seen[choices.index(7)] += 1);
        assert!(seen.iter().all(|&n| n > 850 && n < 1150), "{seen:?}");
        let of = |seed| (0..9).map(|_| Choices::of_seed(seed).bits(64)).collect::<Vec<_>>();
        assert_eq!(of(3), of(3));
        assert_ne!(of(3), of(4));
        assert!((0..99).all(|_| (5..=6).contains(&choices.between(5, 6))));
    }
}
