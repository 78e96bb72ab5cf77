//! What reads find in a run without data.

use crate::program::{NodeId, ReadStep};

/// Picks from what reads assume: at each read the last value, then the first, where addresses go wrong, then any.
#[derive(Clone, Debug)]
pub(super) struct Assumed {
    random: u64,
    /// How often each node has been answered, two at most.
    answered: Vec<u8>,
}

impl Assumed {
    pub(super) fn new(seed: u64) -> Self {
        Self { random: seed, answered: Vec::new() }
    }

    /// An element for a read; `None` where it states no assumption.
    pub(super) fn element(&mut self, node: NodeId, read: &ReadStep) -> Option<u64> {
        let random = self.random;
        // Multiples of the golden ratio spread over all that is assumed.
        self.random = random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let NodeId(at) = node;
        if self.answered.len() <= at as usize {
            self.answered.resize(at as usize + 1, 0);
        }
        let answered = &mut self.answered[at as usize];
        let pick = match answered {
            0 => u64::MAX,
            1 => 0,
            _ => return read.assumed(random),
        };
        *answered += 1;
        read.assumed(pick)
    }
}
