//! What reads find in a run without data.

use std::collections::HashMap;

use crate::program::{NodeId, ReadStep};

/// Picks from what reads assume: at each read the last value, then the first, where addresses go wrong, then any.
#[derive(Clone, Debug)]
pub(super) struct Assumed {
    random: u64,
    /// How often each read has been answered.
    answered: HashMap<NodeId, u64>,
}

impl Assumed {
    pub(super) fn new(seed: u64) -> Self {
        Self { random: seed, answered: HashMap::new() }
    }

    /// An element for a read; `None` where it states no assumption.
    pub(super) fn element(&mut self, node: NodeId, read: &ReadStep) -> Option<u64> {
        let random = self.random;
        // Multiples of the golden ratio spread over all that is assumed.
        self.random = random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let answered = self.answered.entry(node).or_default();
        *answered += 1;
        read.assumed(match answered {
            1 => u64::MAX,
            2 => 0,
            _ => random,
        })
    }
}
