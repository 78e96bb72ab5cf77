//! Who has touched a byte, and whether another may now.

use crate::program::{Access, Pipe};

use super::clock::{Mark, Now, Order};

/// A step that touched the same byte before, and is not known to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Conflict {
    pub(super) core: u16,
    pub(super) mark: Mark,
    /// What it did.
    pub(super) access: Access,
    /// [`Order::Queued`] or [`Order::None`].
    pub(super) order: Order,
}

impl Conflict {
    const fn of(order: Order, core: u16, mark: Mark, access: Access) -> Option<Self> {
        match order {
            Order::After => None,
            _ => Some(Self { core, mark, access, order }),
        }
    }
}

/// Of a byte of the UB: the last write, and the reads after it, the last one of each pipe.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Local {
    write: Mark,
    reads: [Mark; 4],
}

impl Local {
    /// Notes a touch; what it collides with.
    #[inline]
    pub(super) fn touch(&mut self, now: &Now, access: Access) -> Option<Conflict> {
        let mut found = Conflict::of(now.order(self.write), now.core, self.write, Access::Write);
        if access == Access::Read {
            self.reads[now.pipe as usize] = now.mark();
            return found;
        }
        for read in self.reads {
            found = worse(found, Conflict::of(now.order(read), now.core, read, Access::Read));
        }
        *self = Self { write: now.mark(), reads: Default::default() };
        found
    }
}

/// The one that a barrier would not help with, or the first.
fn worse(a: Option<Conflict>, b: Option<Conflict>) -> Option<Conflict> {
    match (a, b) {
        (Some(first), Some(Conflict { order: Order::None, .. })) if first.order == Order::Queued => b,
        (None, _) => b,
        _ => a,
    }
}

/// A step of some core.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Entry {
    mark: Mark,
    epoch: u32,
    core: u16,
}

impl Entry {
    fn new(now: &Now) -> Self {
        Self { mark: now.mark(), epoch: now.epoch, core: now.core }
    }

    #[inline]
    fn against(&self, now: &Now, access: Access) -> Option<Conflict> {
        let order = match () {
            () if !self.mark.is_some() => Order::After,
            () if self.core == now.core => now.order(self.mark),
            // Cores wait for each other only all together, and then for everything.
            () if self.epoch == now.epoch => Order::None,
            () => Order::After,
        };
        Conflict::of(order, self.core, self.mark, access)
    }
}

/// Of a byte of global memory: the last plain write, and additions and reads after it. Of additions and reads there are enough to collide
/// with whoever comes: the last one of each pipe of at least two cores, if there were so many since all waited for each other.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Global {
    write: Entry,
    adds: [Entry; 2],
    reads: [Entry; 4],
}

impl Global {
    /// Notes a touch; what it collides with. Additions are atomic and do not collide with each other.
    #[inline]
    pub(super) fn touch(&mut self, now: &Now, access: Access) -> Option<Conflict> {
        let mut found = self.write.against(now, Access::Write);
        if access != Access::Update {
            found = self.adds.iter().fold(found, |found, add| worse(found, add.against(now, Access::Update)));
        }
        if access == Access::Read {
            note(&mut self.reads, now);
            return found;
        }
        found = self.reads.iter().fold(found, |found, read| worse(found, read.against(now, Access::Read)));
        match access {
            Access::Update => note(&mut self.adds, now),
            _ => *self = Self { write: Entry::new(now), ..Self::default() },
        }
        found
    }
}

/// Puts a step where an earlier one of its pipe was, or one that all have waited for, or the last.
fn note(entries: &mut [Entry], now: &Now) {
    let same = |entry: &Entry| entry.core == now.core && entry.mark.pipe() == now.pipe;
    let old = |entry: &Entry| !entry.mark.is_some() || entry.epoch != now.epoch;
    let at = entries.iter().position(|entry| entry.mark.is_some() && same(entry));
    let at = at.or_else(|| entries.iter().position(old)).unwrap_or(entries.len() - 1);
    entries[at] = Entry::new(now);
}

/// The queues that have something to finish.
pub(super) const QUEUES: [Pipe; 3] = [Pipe::Mte2, Pipe::V, Pipe::Mte3];
