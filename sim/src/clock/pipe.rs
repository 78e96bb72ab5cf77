//! A pipe of a core: an in-order queue, and when the pipe is free and done.

use std::collections::VecDeque;

use crate::program::{FlagAt, NodeId, Transfer};

use super::tick::Tick;
use super::vector::{Busy, Written};

/// What waits in a queue.
#[derive(Clone, Copy, Debug)]
pub(super) enum Work {
    /// A vector instruction: its time, and whether it reads what the one before wrote.
    Vector(Busy, bool),
    /// A copy between global memory and UB.
    Transfer(Transfer),
    Set(FlagAt),
    Wait(FlagAt),
    Barrier,
}

/// An entry of a queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Queued {
    /// When the scalar unit put it there.
    pub(super) issued: Tick,
    pub(super) node: NodeId,
    pub(super) work: Work,
}

/// How far the copy at the head of a queue is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Head {
    /// Nothing is known of it.
    Waits,
    /// It took the pipe at `start`; its transfer begins at `begin`, which has yet to happen.
    Ready { start: Tick, begin: Tick },
    /// It is in main memory, and ends no earlier than `ends`.
    Shares { start: Tick, ends: Tick },
}

/// A pipe.
#[derive(Debug)]
pub(super) struct Pipe {
    /// Entries whose time is not yet known.
    pub(super) queue: VecDeque<Queued>,
    pub(super) head: Head,
    /// When the last entries left the queue, as many as it takes; the next to be overwritten at `oldest`.
    left: Vec<Tick>,
    oldest: usize,
    /// When the next entry can leave the queue.
    pub(super) free: Tick,
    /// When the transfer before is over.
    pub(super) moved: Tick,
    /// When all that it got is done.
    pub(super) done: Tick,
    /// The vector instruction before.
    pub(super) before: Busy,
    pub(super) written: Written,
    /// Until when it is counted as busy.
    counted: Tick,
    pub(super) counts: Counts,
}

/// What a pipe did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) busy: Tick,
    pub(super) instructions: u64,
    pub(super) conflicts: Tick,
    /// For how long a flag kept it from going on.
    pub(super) waited: Tick,
}

impl Pipe {
    pub(super) fn new(depth: usize) -> Self {
        Self {
            queue: VecDeque::with_capacity(depth),
            head: Head::Waits,
            left: vec![0; depth],
            oldest: 0,
            free: 0,
            moved: 0,
            done: 0,
            before: Busy { total: 0, repeats: 0, conflicts: 0 },
            written: Written::default(),
            counted: 0,
            counts: Counts::default(),
        }
    }

    /// When there is room for one more; unknown while as many wait as it takes.
    #[inline]
    pub(super) fn room(&self) -> Option<Tick> {
        let depth = self.left.len();
        // Of the last `depth` entries, those in the queue are the youngest, so the oldest one has left.
        let at = self.oldest + self.queue.len();
        if self.queue.len() >= depth { None } else { Some(self.left[if at < depth { at } else { at - depth }]) }
    }

    /// An entry leaves the queue.
    #[inline]
    pub(super) fn leave(&mut self, at: Tick) {
        self.left[self.oldest] = at;
        self.oldest += 1;
        if self.oldest == self.left.len() {
            self.oldest = 0;
        }
    }

    /// Counts a time as busy, what is counted already only once.
    #[inline]
    pub(super) fn busy(&mut self, from: Tick, to: Tick) {
        self.counts.busy += to.saturating_sub(from.max(self.counted));
        self.counted = self.counted.max(to);
    }

    /// Its state as seen from `now`: what is past does not matter.
    pub(super) fn relative(&self, now: Tick, into: &mut Vec<u64>) {
        let past = |at: Tick| at.saturating_sub(now);
        into.extend([past(self.free), past(self.moved), past(self.done)]);
        let depth = self.left.len();
        into.extend((0..depth).map(|i| past(self.left[(self.oldest + i) % depth])));
    }

    /// Lets so much time pass, in which the same happened again and again.
    pub(super) fn shift(&mut self, by: Tick, times: u64, since: &Counts) {
        for at in [&mut self.free, &mut self.moved, &mut self.done, &mut self.counted].into_iter().chain(&mut self.left)
        {
            *at += by;
        }
        let Counts { busy, instructions, conflicts, waited } = &mut self.counts;
        *busy += (*busy - since.busy) * times;
        *instructions += (*instructions - since.instructions) * times;
        *conflicts += (*conflicts - since.conflicts) * times;
        *waited += (*waited - since.waited) * times;
    }
}
