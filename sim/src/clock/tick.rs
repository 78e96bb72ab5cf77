//! Time and rates in whole numbers.

/// Time in 1/1024 of a core's cycle. A `u64` of them is a hundred days.
pub(super) type Tick = u64;

/// Ticks of a cycle.
pub(super) const CYCLE: Tick = 1024;

/// Bits behind the point of [`PerByte`].
const FRACTION: u32 = 32;

/// The nearest number of ticks.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "facts of products are from 0 and small")]
pub(super) fn cycles(cycles: f64) -> Tick {
    (cycles * CYCLE as f64).round() as Tick
}

/// Nanoseconds at a clock, to the nearest tick.
pub(super) fn nanoseconds(ns: f64, mhz: u32) -> Tick {
    cycles(ns * f64::from(mhz) / 1000.0)
}

/// Ticks as whole cycles, rounded up.
pub(super) const fn whole_cycles(ticks: Tick) -> u64 {
    ticks.div_ceil(CYCLE)
}

/// Time that a byte takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PerByte(u64);

impl PerByte {
    /// Of bytes in a cycle, rounded to 2^-32 of a tick.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "rates of products are far from both")]
    pub(super) fn of(bytes_per_cycle: f64) -> Self {
        Self((CYCLE as f64 * (1u64 << FRACTION) as f64 / bytes_per_cycle).round() as u64)
    }

    /// Ticks of so many bytes, rounded up.
    pub(super) fn ticks(self, bytes: u64) -> Tick {
        let product = u128::from(self.0) * u128::from(bytes);
        u64::try_from((product + ((1 << FRACTION) - 1)) >> FRACTION).unwrap_or(Tick::MAX)
    }
}

/// A number that looks random, from where it is asked for: the finaliser of `SplitMix64`.
pub(super) const fn mix(mut x: u64) -> u64 {
    x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_lose_nothing() {
        for (rate, bytes) in [(68.0, 1 << 40), (88.0, 12_345_677), (0.75, 3), (3784.0, 1)] {
            let exact = bytes as f64 * 1024.0 / rate;
            let ticks = PerByte::of(rate).ticks(bytes) as f64;
            assert!(ticks >= exact * (1.0 - 1e-9) && ticks <= exact * (1.0 + 1e-9) + 1.0, "{rate} {bytes}: {ticks}");
        }
        assert_eq!((cycles(20.6), nanoseconds(1000.0, 1850), whole_cycles(1025)), (21094, 1850 * 1024, 2));
    }
}
