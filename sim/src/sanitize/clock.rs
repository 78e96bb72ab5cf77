//! What has happened before what.
//!
//! Steps of a pipe are counted from 1. A clock says of each pipe up to which step everything is known to be done: a step of that number or
//! a lower one comes before whatever has the clock.

use crate::program::{NodeId, Pipe};

/// A step of a core, as memory remembers it: the number 0 is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Mark {
    index: u32,
    /// Node and pipe.
    who: u32,
}

impl Mark {
    pub(super) const fn is_some(self) -> bool {
        self.index != 0
    }

    pub(super) fn pipe(self) -> Pipe {
        Pipe::ALL[(self.who & 3) as usize].0
    }

    pub(super) const fn node(self) -> NodeId {
        NodeId(self.who >> 2)
    }
}

/// Up to which step of each pipe everything is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Clock([u32; 4]);

impl Clock {
    pub(super) fn join(&mut self, other: &Self) {
        for (mine, other) in self.0.iter_mut().zip(other.0) {
            *mine = (*mine).max(other);
        }
    }

    pub(super) const fn of(&self, pipe: Pipe) -> u32 {
        self.0[pipe as usize]
    }

    pub(super) fn set(&mut self, pipe: Pipe, index: u32) {
        self.0[pipe as usize] = index;
    }
}

/// How a step comes after one that memory remembers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// It waits for it, or is the same.
    After,
    /// Both are in the same queue, and no barrier is between them.
    Queued,
    /// Nothing orders them.
    None,
}

/// A step that is carried out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Now {
    pub(super) core: u16,
    pub(super) pipe: Pipe,
    pub(super) index: u32,
    pub(super) node: NodeId,
    /// How often all cores have waited for each other.
    pub(super) epoch: u32,
    pub(super) clock: Clock,
}

impl Now {
    pub(super) const fn mark(&self) -> Mark {
        Mark { index: self.index, who: self.node.0 << 2 | self.pipe as u32 }
    }

    /// Order with a step of the same core.
    #[inline]
    pub(super) fn order(&self, before: Mark) -> Order {
        if before.index <= self.clock.of(before.pipe()) {
            Order::After
        } else if before.pipe() != self.pipe {
            Order::None
        } else if before.index == self.index {
            Order::After
        } else {
            Order::Queued
        }
    }
}
