//! A pipe of a core: an in-order queue, and when the pipe is free and done.

use std::collections::VecDeque;

use crate::program::{FlagAt, NodeId, Transfer};

use super::tick::Tick;
use super::vector::{Busy, Span};

/// What waits in a queue.
#[derive(Clone, Copy, Debug)]
pub(super) enum Work {
    /// A vector instruction: its time, and whether it reads what the one before wrote.
    Vector(Busy, bool),
    /// A copy between global memory and UB, the next one of [`Pipe::transfers`].
    Transfer,
    Set(FlagAt),
    Wait(FlagAt),
    Barrier,
}

/// An entry of a queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Queued {
    /// When the scalar unit put it there.
    pub(super) issued: Tick,
    /// Steps of the core up to this one.
    pub(super) step: u64,
    pub(super) node: NodeId,
    pub(super) work: Work,
}

/// The queue of a pipe, from a ring of places: an entry can come when the one before it in its place has left.
#[derive(Debug)]
struct Queue {
    places: Vec<Place>,
    /// The first entry, the place behind the last one, and how many there are, whose time is not yet known.
    first: usize,
    end: usize,
    count: usize,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    entry: Queued,
    /// When the last entry that has left left.
    left: Tick,
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
    queue: Queue,
    /// The copies among them: they are large, and entries are moved about.
    pub(super) transfers: VecDeque<Transfer>,
    pub(super) head: Head,
    /// When the next entry can leave the queue.
    pub(super) free: Tick,
    /// When the transfer before is over.
    pub(super) moved: Tick,
    /// When all that it got is done.
    pub(super) done: Tick,
    /// The vector instruction before.
    pub(super) before: Busy,
    /// What it writes.
    pub(super) written: Span,
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

impl Queue {
    fn new(depth: usize) -> Self {
        let entry = Queued { issued: 0, step: 0, node: NodeId(0), work: Work::Barrier };
        Self { places: vec![Place { entry, left: 0 }; depth], first: 0, end: 0, count: 0 }
    }
}

impl Pipe {
    pub(super) fn new(depth: usize) -> Self {
        Self {
            queue: Queue::new(depth),
            transfers: VecDeque::new(),
            head: Head::Waits,
            free: 0,
            moved: 0,
            done: 0,
            before: Busy { total: 0, repeats: 0, conflicts: 0 },
            written: Span::default(),
            counted: 0,
            counts: Counts::default(),
        }
    }

    /// When there is room for one more; unknown while as many wait as it takes.
    #[inline]
    pub(super) fn room(&self) -> Option<Tick> {
        let Queue { places, end, count, .. } = &self.queue;
        if *count < places.len() { Some(places[*end].left) } else { None }
    }

    /// Whether it has done all that it got.
    #[inline]
    pub(super) const fn is_idle(&self) -> bool {
        self.queue.count == 0 && !self.is_moving()
    }

    /// Whether a copy that has left the queue is in main memory.
    const fn is_moving(&self) -> bool {
        matches!(self.head, Head::Shares { .. })
    }

    /// Puts an entry where there is room.
    #[inline]
    pub(super) fn put(&mut self, entry: Queued) {
        let Queue { places, end, count, .. } = &mut self.queue;
        places[*end].entry = entry;
        *end = if *end + 1 < places.len() { *end + 1 } else { 0 };
        *count += 1;
    }

    /// The entry that comes next; none while a copy is in main memory, as nobody knows when it is over.
    #[inline]
    pub(super) fn first(&self) -> Option<&Queued> {
        let Queue { places, first, count, .. } = &self.queue;
        if *count == 0 || self.is_moving() { None } else { places.get(*first).map(|place| &place.entry) }
    }

    /// It leaves the queue.
    #[inline]
    pub(super) fn leave(&mut self, at: Tick) {
        let Queue { places, first, count, .. } = &mut self.queue;
        places[*first].left = at;
        *first = if *first + 1 < places.len() { *first + 1 } else { 0 };
        *count -= 1;
    }

    /// Counts a time as busy, what is counted already only once.
    #[inline]
    pub(super) fn busy(&mut self, from: Tick, to: Tick) {
        self.counts.busy += to.saturating_sub(from.max(self.counted));
        self.counted = self.counted.max(to);
    }

    /// Its state as seen from `now` while nothing waits in it: what is past does not matter.
    pub(super) fn relative(&self, now: Tick, into: &mut Vec<u64>) {
        let past = |at: Tick| at.saturating_sub(now);
        into.extend([past(self.free), past(self.moved), past(self.done)]);
        let (younger, older) = self.queue.places.split_at(self.queue.end);
        into.extend(older.iter().chain(younger).map(|place| past(place.left)));
    }

    /// Lets so much time pass, in which the same happened again and again.
    pub(super) fn shift(&mut self, by: Tick, times: u64, since: &Counts) {
        let own = [&mut self.free, &mut self.moved, &mut self.done, &mut self.counted];
        let left = self.queue.places.iter_mut().map(|place| &mut place.left);
        own.into_iter().chain(left).for_each(|at| *at += by);
        let Counts { busy, instructions, conflicts, waited } = &mut self.counts;
        *busy += (*busy - since.busy) * times;
        *instructions += (*instructions - since.instructions) * times;
        *conflicts += (*conflicts - since.conflicts) * times;
        *waited += (*waited - since.waited) * times;
    }
}
