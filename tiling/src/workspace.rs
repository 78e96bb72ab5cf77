//! Workspace: the intermediates of a plan, their lifetimes, and where each one lies.

/// Alignment of every region in bytes: a cache line.
pub const ALIGN: usize = 64;

/// The most intermediates that a plan has: none in a build without all that takes any, whose plans are shorter for it.
const MAX_REGIONS: usize =
    if cfg!(any(feature = "copies", feature = "channels-last", feature = "halves")) { 6 } else { 0 };

/// An intermediate that lives from one phase to another. Regions whose lifetimes do not meet may share bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// What it holds.
    pub name: &'static str,
    /// Where it starts in the aligned workspace, in bytes.
    pub offset: usize,
    /// Its size in bytes.
    pub bytes: usize,
    /// The phase that first touches it.
    pub first_phase: usize,
    /// The phase that last touches it.
    pub last_phase: usize,
}

impl Region {
    const NONE: Self = Self { name: "", offset: 0, bytes: 0, first_phase: 0, last_phase: 0 };

    /// One past the last byte.
    #[must_use]
    pub const fn end(&self) -> usize {
        self.offset.saturating_add(self.bytes)
    }

    fn lives_with(&self, other: &Self) -> bool {
        self.first_phase <= other.last_phase && other.first_phase <= self.last_phase
    }

    fn overlaps(&self, other: &Self) -> bool {
        self.offset < other.end() && other.offset < self.end()
    }
}

/// The regions of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Workspace {
    regions: [Region; MAX_REGIONS],
    count: usize,
}

impl Workspace {
    /// No intermediates.
    pub const EMPTY: Self = Self { regions: [Region::NONE; MAX_REGIONS], count: 0 };

    /// Adds an intermediate at the lowest offset where no region with a common lifetime lies; `None` when the plan has too
    /// many or the offset overflows. A region of 0 bytes is left out.
    #[must_use]
    pub fn add(&mut self, name: &'static str, bytes: usize, first_phase: usize, last_phase: usize) -> Option<()> {
        if bytes == 0 {
            return Some(());
        }
        let mut new =
            Region { name, offset: 0, bytes: bytes.checked_next_multiple_of(ALIGN)?, first_phase, last_phase };
        // Each round moves past one region, so as many rounds as there are regions settle it.
        for _ in 0..self.count {
            let blocker = self.regions().iter().find(|r| r.lives_with(&new) && r.overlaps(&new));
            let Some(blocker) = blocker else { break };
            new.offset = blocker.offset.checked_add(blocker.bytes)?;
        }
        isize::try_from(new.offset.checked_add(new.bytes)?.checked_add(ALIGN)?).ok()?;
        *self.regions.get_mut(self.count)? = new;
        self.count += 1;
        Some(())
    }

    /// The regions in the order they were added.
    #[must_use]
    pub fn regions(&self) -> &[Region] {
        self.regions.get(..self.count).unwrap_or(&[])
    }

    /// The region of that name.
    #[must_use]
    pub fn region(&self, name: &str) -> Option<Region> {
        self.regions().iter().find(|r| r.name == name).copied()
    }

    /// Bytes a caller must bring, with the slack to align them from any address; 0 without regions.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.regions().iter().map(Region::end).max().map_or(0, |end| end + (ALIGN - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disjoint_lifetimes_share_bytes() {
        let mut ws = Workspace::EMPTY;
        for (name, bytes, first, last) in [("a", 100, 0, 1), ("b", 100, 1, 2), ("c", 64, 2, 3)] {
            ws.add(name, bytes, first, last).unwrap();
        }
        let offsets: Vec<_> = ws.regions().iter().map(|r| r.offset).collect();
        assert_eq!(offsets, [0, 128, 0]);
        assert_eq!(ws.bytes(), 256 + 63);
        assert_eq!(ws.region("c").unwrap().bytes, 64);
    }

    #[test]
    fn a_gap_is_filled_to_its_last_byte() {
        let mut ws = Workspace::EMPTY;
        for (name, bytes, first, last) in [("a", 64, 0, 0), ("b", 64, 0, 1), ("c", 64, 1, 1)] {
            ws.add(name, bytes, first, last).unwrap();
        }
        assert_eq!(ws.regions().iter().map(|r| r.offset).collect::<Vec<_>>(), [0, 64, 0]);
    }

    #[test]
    fn nothing_costs_nothing_and_too_much_is_refused() {
        let mut ws = Workspace::EMPTY;
        assert_eq!((ws.add("none", 0, 0, 0), ws.bytes()), (Some(()), 0));
        assert_eq!(ws.add("huge", usize::MAX - 10, 0, 0), None);
        let half = isize::MAX as usize / 2;
        assert_eq!(ws.add("a", half, 0, 0), Some(()));
        assert_eq!(ws.add("b", half, 0, 0), None);
    }
}
