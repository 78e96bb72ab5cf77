//! A core: its scalar unit walks through the program and fills the queues of its pipes.

use crate::program::{Fault, FaultKind, FlagAt, NodeId, Program, Step, Walker};

use super::costs::Costs;
use super::flags::{Flags, Moment};
use super::memory::Memory;
use super::observe::Recorder;
use super::pipe::{Head, Pipe, Queued, Work};
use super::scalar::{Cache, Luck, Order};
use super::skip::Skips;
use super::tick::Tick;
use super::vector::dependence;

/// What a core is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It can go on, or waits for a transfer or a flag.
    Runs,
    /// It has come to a barrier of all cores, and had done everything by then.
    Syncs { at: Tick, soft: bool },
    /// It was done then.
    Ends(Tick),
}

/// What the scalar unit did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ScalarCounts {
    pub(super) busy: Tick,
    pub(super) steps: u64,
    pub(super) skipped: u64,
    /// For how long a flag held it.
    pub(super) waited: Tick,
    /// For how long a full queue held it.
    pub(super) queue_full: Tick,
    /// For how long it waited for other cores.
    pub(super) synced: Tick,
}

/// What a core has come to and cannot do yet.
#[derive(Clone, Copy, Debug)]
pub(super) enum Held {
    /// Something that the scalar unit does itself.
    Step(Step),
    /// A pipe's, whose queue is full.
    Order(Order),
}

impl Held {
    const fn node(&self) -> NodeId {
        match self {
            Self::Step(Step { node, .. }) | Self::Order(Order { node, .. }) => *node,
        }
    }
}

/// A core.
#[derive(Debug)]
pub(super) struct Core<'p> {
    pub(super) walker: Walker<'p>,
    pub(super) now: Tick,
    pub(super) start: Tick,
    pub(super) state: State,
    pub(super) held: Option<Held>,
    pub(super) pipes: [Pipe; 3],
    pub(super) flags: Flags,
    pub(super) counts: ScalarCounts,
    pub(super) skips: Skips,
    pub(super) luck: Luck,
    /// Loads and stores so far.
    pub(super) copies: [u64; 2],
    pub(super) cache: Cache,
}

/// All that the cores share while they run.
#[derive(Debug)]
pub(super) struct Shared<'c> {
    pub(super) costs: &'c mut Costs,
    pub(super) memory: &'c mut Memory,
    /// Copies whose transfer is about to begin: when, whose, on which pipe.
    pub(super) ready: Vec<(Tick, u32, usize)>,
    pub(super) recorder: Recorder<'c>,
}

/// Why a program cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Halt {
    /// An instruction cannot be carried out.
    Fault(Fault),
    /// A flag is set that nobody has waited for since it was set before.
    SetTwice {
        /// The core.
        core: u32,
        /// The instruction.
        node: NodeId,
        /// The flag.
        flag: FlagAt,
    },
    /// Nothing can go on any more. This core waits here.
    Stuck {
        /// The core.
        core: u32,
        /// What waits; `None` at the end of the program, where others wait at a barrier of all cores.
        node: Option<NodeId>,
    },
    /// A loop that takes longer than can be counted.
    TooLong {
        /// The core.
        core: u32,
        /// The loop.
        node: NodeId,
    },
}

/// The same as it is passed on: it is rare, and what is not is small.
pub(super) type Stop = Box<Halt>;

pub(super) const V: usize = 0;
pub(super) const MTE2: usize = 1;
pub(super) const MTE3: usize = 2;

impl<'p> Core<'p> {
    pub(super) fn new(program: &'p Program, core: u32, start: Tick, seed: u64, costs: &Costs, skips: Skips) -> Self {
        let pipe = || {
            let mut pipe = Pipe::new(costs.queue_depth);
            pipe.free = start;
            pipe
        };
        Self {
            walker: Walker::new(program, core),
            now: start,
            start,
            state: State::Runs,
            held: None,
            pipes: [pipe(), pipe(), pipe()],
            flags: Flags::default(),
            counts: ScalarCounts::default(),
            skips,
            luck: Luck::of(seed, core),
            copies: [0; 2],
            cache: Cache::default(),
        }
    }

    /// Goes on until it waits for something that is not its own, or is done.
    pub(super) fn run(&mut self, shared: &mut Shared<'_>) -> Result<(), Stop> {
        if self.state != State::Runs {
            return Ok(());
        }
        let goes_on = match self.held.take() {
            None => true,
            Some(Held::Step(Step { node, action })) => self.goes_on(node, &action, shared)?,
            Some(Held::Order(order)) => self.hand_over(order, shared)?,
        };
        if !goes_on {
            return Ok(());
        }
        while self.state == State::Runs {
            let Some(next) = self.walker.fetch() else {
                if self.pipes.iter().all(Pipe::is_idle) {
                    if let Some((flag, node)) = self.flags.set_again() {
                        return Err(self.set_twice(flag, node));
                    }
                    self.state = State::Ends(self.all_done());
                }
                return Ok(());
            };
            self.counts.steps += 1;
            if !self.next(next, shared)? {
                return Ok(());
            }
        }
        Ok(())
    }

    pub(super) fn all_done(&self) -> Tick {
        self.pipes.iter().map(|pipe| pipe.done.max(pipe.free)).fold(self.now, Tick::max)
    }

    /// The scalar unit is busy.
    #[inline]
    pub(super) fn spend(&mut self, ticks: Tick) {
        self.now += ticks;
        self.counts.busy += ticks;
    }

    #[cold]
    pub(super) fn fault(&self, node: NodeId, kind: FaultKind) -> Stop {
        Halt::Fault(Fault { core: self.walker.core(), node, kind }).into()
    }

    /// A wait takes a flag.
    #[inline]
    pub(super) fn clear(&mut self, flag: FlagAt, now: Moment) -> Result<(), Stop> {
        self.flags.clear(flag, now).map_err(|node| self.set_twice(flag, node))
    }

    /// A flag is set.
    #[inline]
    pub(super) fn set(&mut self, flag: FlagAt, now: Moment, node: NodeId) -> Result<(), Stop> {
        if self.flags.set(flag, now, node) { Ok(()) } else { Err(self.set_twice(flag, node)) }
    }

    fn set_twice(&self, flag: FlagAt, node: NodeId) -> Stop {
        Halt::SetTwice { core: self.walker.core(), node, flag }.into()
    }

    /// Lets the pipes go on as far as they can.
    pub(super) fn drain(&mut self, shared: &mut Shared<'_>) -> Result<(), Stop> {
        loop {
            let mut set = false;
            for pipe in 0..self.pipes.len() {
                while let Some(entry) = self.pipes[pipe].first().copied() {
                    if !self.advance(pipe, &entry, shared, &mut set)? {
                        break;
                    }
                }
            }
            if !set {
                return Ok(());
            }
        }
    }

    /// Does what is first on a pipe; whether that was possible yet.
    #[inline(always)]
    pub(super) fn advance_unseen(
        &mut self,
        at: usize,
        Queued { issued, step, node, work }: &Queued,
        shared: &mut Shared<'_>,
        set: &mut bool,
    ) -> Result<bool, Stop> {
        let pipe = &mut self.pipes[at];
        let (mut start, step, node) = (pipe.free.max(*issued), *step, *node);
        let costs = &*shared.costs;
        match work {
            Work::Vector(busy, depends) => {
                let busy = *busy;
                if *depends {
                    // Measured from when the one before was over.
                    start = start.max(pipe.done + dependence(costs.dependent, pipe.before));
                }
                pipe.before = busy;
                pipe.free = start + busy.total;
                pipe.done = pipe.free;
                pipe.counts.instructions += 1;
                pipe.counts.conflicts += busy.conflicts;
                pipe.busy(start, start + busy.total);
            }
            Work::Set(flag) => {
                let flag = *flag;
                let when = start.max(pipe.done) + costs.flag;
                if at == V {
                    pipe.free = start + costs.flag;
                }
                pipe.leave(start.max(pipe.moved));
                *set = true;
                self.set(flag, Moment { at: when, step }, node)?;
                return Ok(true);
            }
            Work::Wait(flag) => {
                let flag = *flag;
                let Some(when) = self.flags.at(flag) else { return Ok(false) };
                pipe.counts.waited += when.saturating_sub(start);
                start = start.max(when);
                pipe.free = start + costs.flag;
                pipe.leave(start.max(pipe.moved));
                self.clear(flag, Moment { at: start, step })?;
                return Ok(true);
            }
            Work::Barrier => {
                pipe.free = start.max(pipe.done) + if at == V { costs.vector_barrier } else { costs.flag };
            }
            Work::Transfer => {
                if pipe.head == Head::Waits {
                    let begin = (start + costs.copies.issue).max(pipe.moved);
                    pipe.head = Head::Ready { start, begin };
                    shared.ready.push((begin, self.walker.core(), at));
                }
                return Ok(false);
            }
        }
        // What stands behind a copy is known when its transfer is over, and makes room no earlier.
        pipe.leave(start.max(pipe.moved));
        Ok(true)
    }

    /// All cores have come; it goes on then.
    pub(super) fn synced(&mut self, at: Tick, shared: &mut Shared<'_>) -> Result<(), Stop> {
        self.counts.synced += at - self.now;
        shared.recorder.synced(self.walker.core(), self.now, at);
        self.now = at;
        self.state = State::Runs;
        self.run(shared)
    }

    /// What it waits for, when nothing can go on any more.
    pub(super) fn stuck(&self) -> Stop {
        let waits = |work: &Work| matches!(work, Work::Wait(_));
        let heads = self.pipes.iter().filter_map(Pipe::first);
        let node = heads.filter(|entry| waits(&entry.work)).map(|entry| entry.node).next();
        Halt::Stuck { core: self.walker.core(), node: node.or(self.held.as_ref().map(Held::node)) }.into()
    }
}
