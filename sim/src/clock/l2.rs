//! L2: which lines it holds, which of them it has to write back, and which go first.

/// What an access to some lines found and caused, in lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// That were there.
    pub(super) hits: u64,
    /// That were not.
    pub(super) misses: u64,
    /// That had to be written back to make room.
    pub(super) evicted: u64,
}

const RESIDENT: u8 = 1;
const DIRTY: u8 = 2;

/// Lines of L2, the least recently used one first to go; writes stay until then. Lines count through all of global memory.
#[derive(Debug)]
pub(super) struct L2 {
    capacity: u64,
    resident: u64,
    dirty: u64,
    flags: Vec<u8>,
    /// Neighbours by the time of their last use, where not everything fits. The last entry is both ends.
    order: Vec<[u32; 2]>,
}

impl L2 {
    /// Empty, for `lines` of memory of which `capacity` fit.
    pub(super) fn new(lines: u32, capacity: u64) -> Self {
        let order = if u64::from(lines) > capacity { vec![[lines; 2]; lines as usize + 1] } else { Vec::new() };
        Self { capacity, resident: 0, dirty: 0, flags: vec![0; lines as usize], order }
    }

    fn unlink(&mut self, line: u32) {
        let [before, after] = self.order[line as usize];
        self.order[before as usize][1] = after;
        self.order[after as usize][0] = before;
    }

    /// Makes a line the last used one.
    fn append(&mut self, line: u32) {
        let end = self.flags.len() as u32;
        let last = self.order[end as usize][0];
        self.order[line as usize] = [last, end];
        self.order[last as usize][1] = line;
        self.order[end as usize][0] = line;
    }

    /// Reads or writes the lines from `first` to before `end`. With `allocate`, those that were not there are afterwards.
    pub(super) fn access(&mut self, first: u32, end: u32, write: bool, allocate: bool) -> Found {
        let mut found = Found::default();
        let mark = if write { RESIDENT | DIRTY } else { RESIDENT };
        if self.order.is_empty() {
            for flags in &mut self.flags[first as usize..end as usize] {
                let hit = *flags & RESIDENT;
                found.hits += u64::from(hit);
                if hit != 0 || allocate {
                    *flags |= mark;
                }
            }
            found.misses = u64::from(end - first) - found.hits;
            return found;
        }
        for line in first..end {
            let flags = self.flags[line as usize];
            if flags & RESIDENT != 0 {
                found.hits += 1;
                self.dirty += u64::from(write && flags & DIRTY == 0);
                self.flags[line as usize] |= mark;
                self.unlink(line);
                self.append(line);
            } else {
                found.misses += 1;
                if allocate && self.capacity > 0 {
                    found.evicted += u64::from(self.make_room());
                    self.flags[line as usize] = mark;
                    self.append(line);
                    self.resident += 1;
                    self.dirty += u64::from(write);
                }
            }
        }
        found
    }

    /// Lines that it holds.
    pub(super) const fn capacity(&self) -> u64 {
        self.capacity
    }

    /// How many of so many lines have to be written back, were they any of those that are there.
    pub(super) const fn expected_dirty(&self, lines: u64) -> u64 {
        match self.resident {
            0 => 0,
            resident => (lines * self.dirty).div_ceil(resident),
        }
    }

    /// Evicts the least recently used line where there is no room; whether it had to be written back.
    fn make_room(&mut self) -> bool {
        if self.resident < self.capacity {
            return false;
        }
        let ends = self.flags.len();
        let victim = self.order[ends][1];
        if victim as usize == ends {
            return false;
        }
        self.unlink(victim);
        self.resident -= 1;
        let dirty = std::mem::take(&mut self.flags[victim as usize]) & DIRTY != 0;
        self.dirty -= u64::from(dirty);
        dirty
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_stream_that_does_not_fit_never_hits() {
        let mut l2 = L2::new(100, 99);
        for _ in 0..3 {
            for line in 0..100 {
                assert_eq!(l2.access(line, line + 1, false, true).hits, 0);
            }
        }
        let mut fits = L2::new(100, 100);
        assert_eq!(fits.access(0, 100, false, true), Found { hits: 0, misses: 100, evicted: 0 });
        assert_eq!(fits.access(0, 100, true, true), Found { hits: 100, misses: 0, evicted: 0 });
    }

    #[test]
    fn what_bypasses_leaves_the_rest_there() {
        let mut l2 = L2::new(10, 4);
        l2.access(0, 4, true, true);
        assert_eq!(l2.access(4, 10, false, false), Found { hits: 0, misses: 6, evicted: 0 });
        assert_eq!(l2.access(0, 4, false, false).hits, 4);
        assert_eq!(l2.access(4, 6, false, true), Found { hits: 0, misses: 2, evicted: 2 });
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Against the plainest LRU there is.
        #[test]
        fn it_is_least_recently_used(
            capacity in 1usize..12,
            accesses in proptest::collection::vec((0u32..16, 1u32..5, any::<bool>(), prop::bool::weighted(0.8)), 0..60),
        ) {
            let mut l2 = L2::new(20, capacity as u64);
            let mut lines: Vec<(u32, bool)> = Vec::new();
            for (first, count, write, allocate) in accesses {
                let mut expected = Found::default();
                for line in first..first + count {
                    if let Some(at) = lines.iter().position(|(l, _)| *l == line) {
                        let (_, dirty) = lines.remove(at);
                        lines.push((line, dirty || write));
                        expected.hits += 1;
                    } else {
                        expected.misses += 1;
                        if allocate {
                            if lines.len() == capacity {
                                expected.evicted += u64::from(lines.remove(0).1);
                            }
                            lines.push((line, write));
                        }
                    }
                }
                prop_assert_eq!(l2.access(first, first + count, write, allocate), expected);
            }
        }
    }
}
