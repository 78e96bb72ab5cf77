//! What each instruction did and when, for whoever wants to see it.

use std::collections::VecDeque;
use std::fmt;

use crate::program::{Action, NodeId, Pipe as Name, Step};

use super::core::{Core, Shared, Stop, V};
use super::flags::index;
use super::memory::Traffic;
use super::pipe::{Queued, Work};
use super::tick::Tick;

/// What an instruction did in global memory, in bytes and in lines of L2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Accesses {
    /// Bytes that it asked to read.
    pub read: u64,
    /// Bytes that it asked to write.
    pub written: u64,
    /// Lines that were in L2.
    pub hits: u64,
    /// Lines that were not.
    pub misses: u64,
    /// Bytes that came from main memory for it.
    pub memory_read: u64,
    /// Bytes that went to main memory for it.
    pub memory_written: u64,
}

impl Accesses {
    /// What happened between two states of the memory.
    pub(super) const fn between(before: &Traffic, after: &Traffic) -> Self {
        Self {
            read: after.read - before.read,
            written: after.written - before.written,
            hits: after.hits - before.hits,
            misses: after.misses - before.misses,
            memory_read: after.memory_read - before.memory_read,
            memory_written: after.memory_written - before.memory_written,
        }
    }
}

/// An instruction that is over. Times are in 1/1024 cycle from the launch's arrival at the cores.
///
/// Those of a core and a pipe come in order and do not overlap: what an instruction shares with the one before, such as a copy that is
/// issued while another one is on its way, counts for the one before. Their sum is what the pipe is busy, and what it waits for flags.
#[derive(Debug)]
pub struct Event<'a> {
    /// The core.
    pub core: u32,
    /// The instruction.
    pub step: &'a Step,
    /// When the pipe took it; not after `start`.
    pub taken: u64,
    /// From when on the pipe did nothing older.
    pub start: u64,
    /// When it was over.
    pub end: u64,
    /// Of that time, what bank conflicts took.
    pub conflicts: u64,
    /// What it did in global memory.
    pub accesses: Accesses,
}

/// Who wants to see instructions.
type See<'r> = &'r mut dyn FnMut(&Event<'_>);

/// Instructions of a pipe on their way to whoever wants to see them.
#[derive(Debug, Default)]
struct Lane {
    steps: VecDeque<Step>,
    accesses: Accesses,
    /// Until when it has been seen.
    end: Tick,
}

/// Tells what happens, if somebody wants to know.
pub(super) struct Recorder<'r> {
    see: Option<See<'r>>,
    lanes: Vec<[Lane; 4]>,
}

impl fmt::Debug for Recorder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").field("lanes", &self.lanes).finish_non_exhaustive()
    }
}

/// The lane of the scalar unit, behind those of the pipes.
const SCALAR: usize = index(Name::S);

impl<'r> Recorder<'r> {
    pub(super) fn new(cores: u32, see: Option<See<'r>>) -> Self {
        let lanes = if see.is_some() { (0..cores).map(|_| Default::default()).collect() } else { Vec::new() };
        Self { see, lanes }
    }

    #[inline]
    pub(super) const fn is_on(&self) -> bool {
        self.see.is_some()
    }

    /// The scalar unit hands over an instruction, or begins one of its own.
    fn issue(&mut self, core: u32, step: &Step) {
        self.lanes[core as usize][index(step.action.pipe())].steps.push_back(*step);
    }

    /// The scalar unit could not do what it began.
    fn withdraw(&mut self, core: u32) {
        self.lanes[core as usize][SCALAR].steps.pop_back();
    }

    /// The transfer at the head of a pipe has begun.
    pub(super) fn begun(&mut self, core: u32, pipe: usize, accesses: Accesses) {
        if self.is_on() {
            self.lanes[core as usize][pipe].accesses = accesses;
        }
    }

    /// The oldest instruction of a pipe is over.
    pub(super) fn over(&mut self, core: u32, pipe: usize, taken: Tick, end: Tick, conflicts: Tick) {
        let Some(see) = &mut self.see else { return };
        let lane = &mut self.lanes[core as usize][pipe];
        let Some(step) = lane.steps.pop_front() else { return };
        let start = taken.max(lane.end);
        lane.end = end.max(start);
        let accesses = std::mem::take(&mut lane.accesses);
        see(&Event { core, step: &step, taken, start, end: lane.end, conflicts, accesses });
    }

    /// All cores have come to a barrier.
    pub(super) fn synced(&mut self, core: u32, since: Tick, end: Tick) {
        self.over(core, SCALAR, since, end, 0);
    }
}

impl Core<'_> {
    /// An action begins; when that was, and what the memory had done by then.
    pub(super) fn begin_seen(&self, node: NodeId, action: &Action, shared: &mut Shared<'_>) -> (Tick, Traffic) {
        shared.recorder.issue(self.walker.core(), &Step { node, action: *action });
        (self.now, shared.memory.traffic)
    }

    /// An action of the scalar unit is over, or could not begin yet.
    pub(super) fn end_seen(&self, action: &Action, since: (Tick, Traffic), taken: bool, shared: &mut Shared<'_>) {
        let core = self.walker.core();
        if !taken {
            shared.recorder.withdraw(core);
        } else if !matches!(action, Action::SyncAll(_)) {
            // A barrier of all cores is not over until all have come.
            shared.recorder.begun(core, SCALAR, Accesses::between(&since.1, &shared.memory.traffic));
            shared.recorder.over(core, SCALAR, since.0, self.now, 0);
        }
    }

    /// Does what is first on a pipe, and says so if somebody wants to know.
    #[inline(always)]
    pub(super) fn advance(
        &mut self,
        at: usize,
        entry: &Queued,
        shared: &mut Shared<'_>,
        set: &mut bool,
    ) -> Result<bool, Stop> {
        if shared.recorder.is_on() {
            self.advance_seen(at, entry, shared, set)
        } else {
            self.advance_unseen(at, entry, shared, set)
        }
    }

    /// Does what is first on a pipe, and says so.
    fn advance_seen(
        &mut self,
        at: usize,
        entry: &Queued,
        shared: &mut Shared<'_>,
        set: &mut bool,
    ) -> Result<bool, Stop> {
        let taken = self.pipes[at].free.max(entry.issued);
        if !self.advance_unseen(at, entry, shared, set)? {
            return Ok(false);
        }
        let (free, core) = (self.pipes[at].free, self.walker.core());
        let (taken, end, conflicts) = match entry.work {
            Work::Vector(busy, _) => (free - busy.total, free, busy.conflicts),
            // Setting a flag takes the vector pipe's time; a copying pipe sets it behind its copies and goes on.
            Work::Set(_) if at != V => (taken, taken, 0),
            Work::Set(_) | Work::Wait(_) | Work::Barrier | Work::Transfer => (taken, free, 0),
        };
        shared.recorder.over(core, at, taken, end, conflicts);
        Ok(true)
    }
}
