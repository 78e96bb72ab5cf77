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

impl std::ops::AddAssign for Found {
    fn add_assign(&mut self, other: Self) {
        self.hits += other.hits;
        self.misses += other.misses;
        self.evicted += other.evicted;
    }
}

/// Marks a line that has to be written back.
const DIRTY: u32 = 1;
/// Most lines that marks of 32 bits can tell apart, whatever becomes of the order of their use.
const MOST_LINES: u32 = 1 << 29;
/// Accesses after which it is worth to look for those of which nothing is left.
const MANY: usize = 1 << 16;

/// Lines of L2, the least recently used one first to go; writes stay until then. Lines count through all of global memory.
///
/// The order is kept by extents: each access is one, however many lines it is about, and each line knows its last one. An access that
/// goes on where the one before ended belongs to it.
#[derive(Debug)]
pub(super) struct L2 {
    capacity: u64,
    resident: u64,
    dirty: u64,
    /// Of each line 0 where it is not there, else its last access as in [`mark`], and [`DIRTY`].
    lines: Vec<u32>,
    /// First line and one past the last, in the order of time. Lines that were used again later do not count.
    accesses: Vec<(u32, u32)>,
    /// The oldest access of which something may be left, and where in it.
    oldest: usize,
    from: u32,
    /// How many accesses there can be until the old ones are looked through.
    until: usize,
    many: usize,
}

/// An access by its place in [`L2::accesses`], of which there are fewer than 2^31.
const fn mark(access: usize) -> u32 {
    (access as u32 + 1) << 1
}

/// How many lines from the first on are like that.
fn leading(lines: &[u32], like: impl Fn(u32) -> bool) -> usize {
    // A few at a time, without a branch for each.
    let (few, _) = lines.as_chunks::<16>();
    let some =
        few.iter().take_while(|few| few.iter().fold(0, |sum, line| sum + u32::from(like(*line))) == 16).count() * 16;
    some + lines[some..].iter().take_while(|line| like(**line)).count()
}

impl L2 {
    /// Empty, for `lines` of memory of which `capacity` fit. `None` where these are more than can be told apart.
    pub(super) fn new(lines: u64, capacity: u64) -> Option<Self> {
        let lines = u32::try_from(lines).ok().filter(|lines| *lines <= MOST_LINES)?;
        Some(Self::with_order(lines, capacity, MANY))
    }

    fn with_order(lines: u32, capacity: u64, many: usize) -> Self {
        Self {
            capacity,
            resident: 0,
            dirty: 0,
            lines: vec![0; lines as usize],
            accesses: Vec::new(),
            oldest: 0,
            from: 0,
            until: many,
            many,
        }
    }

    /// Reads or writes the lines from `first` to before `end`. With `allocate`, those that were not there are afterwards.
    pub(super) fn access(&mut self, first: u32, end: u32, write: bool, allocate: bool) -> Found {
        let dirty = if write { DIRTY } else { 0 };
        if self.lines.len() as u64 <= self.capacity {
            let mut hits = 0;
            for line in &mut self.lines[first as usize..end as usize] {
                hits += u32::from(*line != 0);
                if *line != 0 || allocate {
                    *line |= mark(0) | dirty;
                }
            }
            return Found { hits: hits.into(), misses: (end - first - hits).into(), evicted: 0 };
        }
        let mut found = Found::default();
        let mark = if first < end { self.begin(first, end) } else { 0 };
        let mut at = first as usize;
        while at < end as usize {
            let here = &mut self.lines[at..end as usize];
            let there = leading(here, |line| line != 0);
            if there > 0 {
                let mut unclean = 0;
                for line in &mut here[..there] {
                    unclean += *line & DIRTY;
                    *line = mark | *line & DIRTY | dirty;
                }
                found.hits += there as u64;
                self.dirty += if write { there as u64 - u64::from(unclean) } else { 0 };
                at += there;
                continue;
            }
            let absent = leading(here, |line| line == 0);
            if !allocate || self.capacity == 0 {
                found.misses += absent as u64;
                at += absent;
                continue;
            }
            // Each drives out the oldest, which is none of them while they are no more than there is room for.
            let some = (absent as u64).min(self.capacity);
            found.evicted += self.evict((self.resident + some).saturating_sub(self.capacity));
            self.lines[at..at + some as usize].fill(mark | dirty);
            self.resident += some;
            self.dirty += if write { some } else { 0 };
            found.misses += some;
            at += some as usize;
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

    /// An access begins; its mark.
    fn begin(&mut self, first: u32, end: u32) -> u32 {
        match self.accesses.last_mut() {
            Some((_, last)) if *last == first => *last = end,
            _ => {
                if self.accesses.len() >= self.until {
                    self.forget();
                }
                self.accesses.push((first, end));
            }
        }
        mark(self.accesses.len() - 1)
    }

    /// Evicts so many of the least recently used lines, which are there; how many of them had to be written back.
    fn evict(&mut self, count: u64) -> u64 {
        let (mut left, mut dirty) = (count, 0);
        while left > 0 {
            let Some(&(first, end)) = self.accesses.get(self.oldest) else { break };
            let from = self.from.max(first);
            let mark = mark(self.oldest);
            let lines = &mut self.lines[from as usize..end as usize];
            let mut seen = 0;
            while left > 0 && seen < lines.len() {
                // No more than are wanted: behind them may lie a whole tensor.
                let most = usize::try_from(left).unwrap_or(usize::MAX).min(lines.len() - seen);
                let rest = &mut lines[seen..seen + most];
                let counts = leading(rest, |line| line & !DIRTY == mark);
                dirty += rest[..counts].iter().map(|line| u64::from(line & DIRTY)).sum::<u64>();
                rest[..counts].fill(0);
                left -= counts as u64;
                seen += counts;
                if left > 0 {
                    seen += leading(&lines[seen..], |line| line & !DIRTY != mark);
                }
            }
            self.from = from + seen as u32;
            if left > 0 {
                self.oldest += 1;
                self.from = 0;
            }
        }
        self.resident -= count - left;
        self.dirty -= dirty;
        dirty
    }

    /// Leaves of the accesses what still counts, in the same order.
    fn forget(&mut self) {
        let mut kept: Vec<(u32, u32)> = Vec::new();
        for (access, &(first, end)) in self.accesses.iter().enumerate().skip(self.oldest) {
            let from = if access == self.oldest { self.from.max(first) } else { first };
            for line in (from..end).filter(|line| self.lines[*line as usize] & !DIRTY == mark(access)) {
                match kept.last_mut() {
                    Some((_, end)) if *end == line => *end += 1,
                    _ => kept.push((line, line + 1)),
                }
            }
        }
        for (access, &(first, end)) in kept.iter().enumerate() {
            for line in &mut self.lines[first as usize..end as usize] {
                *line = mark(access) | *line & DIRTY;
            }
        }
        self.until = kept.len() + kept.len().max(self.many);
        self.accesses = kept;
        (self.oldest, self.from) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_stream_that_does_not_fit_never_hits() {
        let mut l2 = L2::new(100, 99).unwrap();
        for _ in 0..3 {
            for line in 0..100 {
                assert_eq!(l2.access(line, line + 1, false, true).hits, 0);
            }
        }
        let mut fits = L2::new(100, 100).unwrap();
        assert_eq!(fits.access(0, 100, false, true), Found { hits: 0, misses: 100, evicted: 0 });
        assert_eq!(fits.access(0, 100, true, true), Found { hits: 100, misses: 0, evicted: 0 });
    }

    #[test]
    fn what_bypasses_leaves_the_rest_there() {
        let mut l2 = L2::new(10, 4).unwrap();
        l2.access(0, 4, true, true);
        assert_eq!(l2.access(4, 10, false, false), Found { hits: 0, misses: 6, evicted: 0 });
        assert_eq!(l2.access(0, 4, false, false).hits, 4);
        assert_eq!(l2.access(4, 6, false, true), Found { hits: 0, misses: 2, evicted: 2 });
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Extents against lines: the plainest LRU there is.
        #[test]
        fn it_is_least_recently_used(
            capacity in 0usize..30,
            many in 1usize..12,
            accesses in proptest::collection::vec((0u32..16, 0u32..9, any::<bool>(), prop::bool::weighted(0.8)), 0..120),
        ) {
            let mut l2 = L2::with_order(24, capacity as u64, many);
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
                        if allocate && capacity > 0 {
                            if lines.len() == capacity {
                                expected.evicted += u64::from(lines.remove(0).1);
                            }
                            lines.push((line, write));
                        }
                    }
                }
                prop_assert_eq!(l2.access(first, first + count, write, allocate), expected);
                if capacity < 24 {
                    let dirty = lines.iter().filter(|(_, dirty)| *dirty).count() as u64;
                    prop_assert_eq!((l2.resident, l2.dirty), (lines.len() as u64, dirty));
                }
            }
        }
    }
}
