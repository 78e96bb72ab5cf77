//! Main memory shared fairly: all transfers in it advance by the same number of bytes in the same time.
//!
//! A transfer moves `volume` bytes, of which a part, its demand, comes from or goes to main memory. While the demands of all are less
//! than the bandwidth, each advances at its core's rate; otherwise all are slowed down alike. `level` counts the bytes by which each has
//! advanced since the memory was last idle, so a transfer ends when the level has risen by its volume, whoever comes and goes meanwhile.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::tick::{CYCLE, Tick};

/// Bits behind the point of levels.
const LEVEL: u32 = 32;
/// Bits behind the point of weights.
const WEIGHT: u32 = 16;

/// Main memory.
#[derive(Debug)]
pub(super) struct Share {
    /// Demand in a tick, as a level.
    bandwidth: u64,
    /// Most that a transfer advances in a tick, as a level.
    fastest: u64,
    now: Tick,
    level: u128,
    /// Sum of the weights of all transfers: demand by volume.
    weight: u64,
    active: BinaryHeap<Reverse<Active>>,
    sequence: u64,
    idle: Tick,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Active {
    end: u128,
    sequence: u64,
    weight: u64,
    volume: u64,
    owner: u32,
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "rates of products are far from both")]
fn per_tick(bytes_per_cycle: f64) -> u64 {
    (bytes_per_cycle * (1u64 << LEVEL) as f64 / CYCLE as f64).round().max(1.0) as u64
}

impl Share {
    /// Rates in bytes a cycle: of all, and of one.
    pub(super) fn new(bandwidth: f64, fastest: f64) -> Self {
        Self {
            bandwidth: per_tick(bandwidth),
            fastest: per_tick(fastest),
            now: 0,
            level: 0,
            weight: 0,
            active: BinaryHeap::new(),
            sequence: 0,
            idle: 0,
        }
    }

    /// How much the level rises in a tick.
    fn rate(&self) -> u64 {
        match self.weight {
            0 => self.fastest,
            weight => {
                let fair = (u128::from(self.bandwidth) << WEIGHT) / u128::from(weight);
                u64::try_from(fair).unwrap_or(u64::MAX).clamp(1, self.fastest)
            }
        }
    }

    fn advance(&mut self, to: Tick) {
        if self.active.is_empty() {
            self.level = 0;
        } else {
            self.level += u128::from(self.rate()) * u128::from(to.saturating_sub(self.now));
        }
        self.now = self.now.max(to);
    }

    /// Begins a transfer now, which is no earlier than all that came before.
    pub(super) fn begin(&mut self, now: Tick, volume: u64, demand: u64, owner: u32) {
        self.advance(now);
        let weight = ((u128::from(demand) << WEIGHT) / u128::from(volume.max(1))).max(1);
        let weight = u64::try_from(weight).unwrap_or(u64::MAX >> WEIGHT);
        self.sequence += 1;
        self.weight += weight;
        let end = self.level + (u128::from(volume) << LEVEL);
        self.active.push(Reverse(Active { end, sequence: self.sequence, weight, volume, owner }));
    }

    /// When the next transfer ends if none begins before.
    pub(super) fn next(&self) -> Option<Tick> {
        let Reverse(first) = self.active.peek()?;
        let left = first.end.saturating_sub(self.level).div_ceil(u128::from(self.rate()));
        Some(self.now.saturating_add(u64::try_from(left).unwrap_or(Tick::MAX)))
    }

    /// Ends it, and says when, whose it was, and its volume.
    pub(super) fn end(&mut self) -> Option<(Tick, u32, u64)> {
        let at = self.next()?;
        self.advance(at);
        let Reverse(first) = self.active.pop()?;
        self.weight -= first.weight;
        self.idle = at;
        Some((at, first.owner, first.volume))
    }

    /// When it was last busy.
    pub(super) const fn idle(&self) -> Tick {
        self.idle
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// When each of some transfers ends, by owner.
    fn ends(share: &mut Share, transfers: &[(Tick, u64, u64)]) -> Vec<Tick> {
        let mut ends = vec![0; transfers.len()];
        for (owner, &(begin, volume, demand)) in transfers.iter().enumerate() {
            while share.next().is_some_and(|end| end <= begin) {
                let (at, owner, _) = share.end().unwrap();
                ends[owner as usize] = at;
            }
            share.begin(begin, volume, demand, owner as u32);
        }
        while let Some((at, owner, _)) = share.end() {
            ends[owner as usize] = at;
        }
        ends
    }

    #[test]
    fn alone_a_transfer_has_its_core_s_rate_or_the_memory_s() {
        assert_eq!(ends(&mut Share::new(1024.0, 64.0), &[(5, 6400, 6400)]), [5 + 100 * CYCLE]);
        assert_eq!(ends(&mut Share::new(32.0, 64.0), &[(5, 6400, 6400)]), [5 + 200 * CYCLE]);
        assert_eq!(ends(&mut Share::new(32.0, 64.0), &[(5, 6400, 3200)]), [5 + 100 * CYCLE], "half of it hits L2");
    }

    #[test]
    fn together_they_share() {
        // Both at 32 bytes a cycle until the second has had its 3200; the rest of the first alone at 64.
        let both = [(0, 6400, 6400), (0, 3200, 3200)];
        assert_eq!(ends(&mut Share::new(64.0, 64.0), &both), [150 * CYCLE, 100 * CYCLE]);
        // The first has had half when the second comes.
        let late = [(0, 6400, 6400), (50 * CYCLE, 6400, 6400)];
        assert_eq!(ends(&mut Share::new(64.0, 64.0), &late), [150 * CYCLE, 200 * CYCLE]);
    }

    #[test]
    fn the_bandwidth_is_never_exceeded_and_never_idle_when_asked_for() {
        let mut share = Share::new(100.0, 40.0);
        let transfers: Vec<_> = (0..50).map(|i| (i * 3 * CYCLE, 1000 + 17 * i, 1000 + 17 * i)).collect();
        let demand: u64 = transfers.iter().map(|t| t.2).sum();
        let last = *ends(&mut share, &transfers).iter().max().unwrap();
        let least = demand as f64 / 100.0 * CYCLE as f64;
        assert!(last as f64 >= least * 0.9999 && (last as f64) < least * 1.1, "{last} {least}");
    }
}
