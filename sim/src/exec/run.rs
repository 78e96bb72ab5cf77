//! A program on all its cores.

use std::collections::{BTreeSet, VecDeque};

use super::apply::apply;
use super::assumed::Assumed;
use super::halt::Halt;
use super::memory::{self, Global, Memory, UNDEFINED};
use crate::program::{
    Action, Fault, FaultKind, FlagAt, NodeId, Pipe, PlaceAt, Program, ReadStep, Step, Walker, WriteStep, size_of,
};

/// What [`Run::advance`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The scalar unit handed a step to the queue of another pipe.
    Queued(Pipe),
    /// The scalar unit came to a step that it cannot hand out or pass yet.
    Held,
    /// The step was carried out.
    Done(Step),
    /// All cores went on behind a `sync_all`.
    Synced,
    /// The scalar unit came to its end.
    Ended,
}

/// A core with its UB, queues and flags.
#[derive(Clone, Debug)]
struct Core<'p> {
    walker: Walker<'p>,
    /// Empty before it begins and after its end.
    local: Memory,
    /// Of V, MTE2 and MTE3.
    queues: [VecDeque<Step>; 3],
    flags: BTreeSet<FlagAt>,
    /// What the scalar unit has come to and cannot hand out or pass.
    held: Option<Step>,
    ended: bool,
}

/// A run of a program.
#[derive(Clone, Debug)]
pub struct Run<'p> {
    cores: Vec<Core<'p>>,
    shared: Shared<'p>,
}

/// What all cores have in common.
#[derive(Clone, Debug)]
struct Shared<'p> {
    program: &'p Program,
    global: Global,
    /// Bytes that steps read and wrote in global memory.
    moved: (u64, u64),
    /// Of a run without data: what the next read picks from what the program assumes.
    assumed: Option<Assumed>,
}

const fn queue(pipe: Pipe) -> Option<usize> {
    match pipe {
        Pipe::S => None,
        Pipe::V => Some(0),
        Pipe::Mte2 => Some(1),
        Pipe::Mte3 => Some(2),
    }
}

impl<'p> Run<'p> {
    /// A run that has not begun.
    #[must_use]
    pub fn new(program: &'p Program, global: Global) -> Self {
        let core = |core| Core {
            walker: Walker::new(program, core),
            local: Memory::default(),
            queues: Default::default(),
            flags: BTreeSet::new(),
            held: None,
            ended: false,
        };
        let cores = (0..program.source().cores).map(core).collect();
        Self { cores, shared: Shared { program, global, moved: (0, 0), assumed: None } }
    }

    /// A run without data: steps are checked and change no memory, and a read finds what the program assumes: the last value, then the
    /// first, then others, which `seed` picks.
    #[must_use]
    pub fn without_data(program: &'p Program, seed: u64) -> Self {
        let mut run = Self::new(program, Global::default());
        run.shared.assumed = Some(Assumed::new(seed));
        run
    }

    /// The UB of a core; empty before it begins, after its end, and without data.
    #[must_use]
    pub fn local(&self, core: u32) -> &[u8] {
        self.cores.get(core as usize).map_or(&[], |core| &core.local)
    }

    /// Where the scalar unit of a core is.
    #[must_use]
    pub fn walker(&self, core: u32) -> Option<&Walker<'p>> {
        self.cores.get(core as usize).map(|core| &core.walker)
    }

    /// What a pipe of a core is at: the first step of its queue, or what the scalar unit has come to and cannot hand out or pass.
    #[must_use]
    pub fn front(&self, core: u32, pipe: Pipe) -> Option<&Step> {
        let this = self.cores.get(core as usize)?;
        queue(pipe).map_or(this.held.as_ref(), |queue| this.queues[queue].front())
    }

    /// What stands in the queue of a pipe of a core, first what comes first. The scalar unit has none.
    pub fn queued(&self, core: u32, pipe: Pipe) -> impl Iterator<Item = &Step> {
        let this = self.cores.get(core as usize);
        this.and_then(|this| queue(pipe).map(|queue| &this.queues[queue])).into_iter().flatten()
    }

    /// Global memory as it is now.
    #[must_use]
    pub const fn global(&self) -> &Global {
        &self.shared.global
    }

    /// Bytes that copies and the scalar unit have read and written in global memory so far.
    #[must_use]
    pub const fn moved(&self) -> (u64, u64) {
        self.shared.moved
    }

    /// Whether all cores have come to their end.
    #[must_use]
    pub fn ended(&self) -> bool {
        self.cores.iter().all(|core| core.ended && core.idle())
    }

    /// Whether a pipe of a core can go on now.
    #[must_use]
    pub fn ready(&self, core: u32, pipe: Pipe) -> bool {
        let Some(this) = self.cores.get(core as usize) else { return false };
        match queue(pipe) {
            Some(queue) => match this.queues[queue].front().map(|step| &step.action) {
                Some(Action::WaitFlag(flag)) => this.flags.contains(flag),
                Some(_) => true,
                None => false,
            },
            None => match this.held.as_ref().map(|step| &step.action) {
                None => !this.ended,
                Some(Action::WaitFlag(flag)) if flag.to == Pipe::S => this.flags.contains(flag),
                Some(Action::Barrier(None)) => this.idle(),
                Some(Action::SyncAll(_)) => self.cores.iter().all(Core::is_at_sync),
                Some(action) => queue(action.pipe()).is_none_or(|queue| this.has_room(queue)),
            },
        }
    }

    /// Lets a pipe that is ready go on by one step. The scalar unit hands the step to another pipe, or carries it out itself.
    ///
    /// # Errors
    /// The step cannot be carried out. It counts as done: the pipe goes on behind it.
    pub fn advance(&mut self, core: u32, pipe: Pipe) -> Result<Progress, Fault> {
        let Some(this) = self.cores.get_mut(core as usize) else { return Ok(Progress::Ended) };
        match queue(pipe) {
            Some(queue) => match this.queues[queue].pop_front() {
                Some(step) => this.carry_out(&mut self.shared, step),
                None => Ok(Progress::Held),
            },
            None => match this.held.take() {
                Some(Step { action: Action::SyncAll(_), .. }) => {
                    // All have come: each goes on by itself.
                    self.cores.iter_mut().for_each(|core| core.held = None);
                    Ok(Progress::Synced)
                }
                Some(step @ Step { action: Action::Barrier(None), .. }) => Ok(Progress::Done(step)),
                Some(step) => this.hand_out(&mut self.shared, step),
                None => match this.walker.step()? {
                    Some(step) => this.hand_out(&mut self.shared, step),
                    None => {
                        this.ended = true;
                        Ok(Progress::Ended)
                    }
                },
            },
        }
    }

    /// Runs to the end: core by core in program order, as far as flags and other cores allow.
    ///
    /// # Errors
    /// An instruction cannot be carried out, or all wait.
    pub fn finish(&mut self) -> Result<(), Halt> {
        while !self.ended() {
            let mut moved = false;
            for core in 0..self.shared.program.source().cores {
                moved |= self.run_core(core)?;
            }
            if !moved {
                return Err(Halt::Deadlock(self.waiting()));
            }
        }
        Ok(())
    }

    /// As far as it goes; whether it went anywhere.
    fn run_core(&mut self, core: u32) -> Result<bool, Fault> {
        let mut moved = false;
        loop {
            let mut now = false;
            // What is queued comes before what is not yet handed out.
            for pipe in [Pipe::Mte2, Pipe::V, Pipe::Mte3] {
                while self.ready(core, pipe) {
                    self.advance(core, pipe)?;
                    now = true;
                }
            }
            if !now && self.ready(core, Pipe::S) {
                self.advance(core, Pipe::S)?;
                now = true;
            }
            if !now {
                if let Some(this) = self.cores.get_mut(core as usize).filter(|this| this.ended && this.idle()) {
                    this.local = Memory::default();
                }
                return Ok(moved);
            }
            moved = true;
        }
    }

    /// How many there are.
    pub(super) const fn cores(&self) -> u32 {
        self.shared.program.source().cores
    }

    /// Who waits, where.
    pub(super) fn waiting(&self) -> Vec<(u32, Pipe, NodeId)> {
        let mut waiting = Vec::new();
        for (number, core) in (0..).zip(&self.cores) {
            waiting.extend(core.held.map(|step| (number, Pipe::S, step.node)));
            for pipe in [Pipe::Mte2, Pipe::V, Pipe::Mte3] {
                let first = queue(pipe).and_then(|queue| core.queues[queue].front());
                waiting.extend(first.map(|step| (number, pipe, step.node)));
            }
        }
        waiting
    }
}

impl Core<'_> {
    /// Whether the scalar unit need not wait before it hands out another step.
    fn has_room(&self, queue: usize) -> bool {
        self.queues[queue].len() < self.walker.program().limits().queue_depth as usize
    }

    fn idle(&self) -> bool {
        self.queues.iter().all(VecDeque::is_empty)
    }

    fn is_at_sync(&self) -> bool {
        matches!(self.held, Some(Step { action: Action::SyncAll(_), .. })) && self.idle()
    }

    fn hand_out(&mut self, shared: &mut Shared<'_>, step: Step) -> Result<Progress, Fault> {
        let waits = match step.action {
            Action::WaitFlag(flag) if flag.to == Pipe::S => !self.flags.contains(&flag),
            Action::Barrier(None) | Action::SyncAll(_) => true,
            _ => false,
        };
        let pipe = step.action.pipe();
        match queue(pipe) {
            Some(queue) if self.has_room(queue) => {
                self.queues[queue].push_back(step);
                Ok(Progress::Queued(pipe))
            }
            None if !waits => self.carry_out(shared, step),
            _ => {
                self.held = Some(step);
                Ok(Progress::Held)
            }
        }
    }

    fn carry_out(&mut self, shared: &mut Shared<'_>, step: Step) -> Result<Progress, Fault> {
        let Shared { program, global, moved, assumed } = shared;
        let core = self.walker.core();
        let fault = |kind: FaultKind| Fault { core, node: step.node, kind };
        if assumed.is_none() && self.local.is_empty() {
            self.local = Memory::filled(program.local_bytes() as usize, UNDEFINED).expect("memory for a UB");
        }
        match (&step.action, assumed) {
            (Action::SetFlag(flag), _) => {
                if !self.flags.insert(*flag) {
                    return Err(fault(FaultKind::FlagSetTwice(*flag)));
                }
            }
            (Action::WaitFlag(flag), _) => {
                self.flags.remove(flag);
            }
            (Action::Read(read), Some(assumed)) => {
                let bits = assumed.element(step.node, read).ok_or_else(|| fault(FaultKind::NoAssumption))?;
                program.check_action(&step.action).map_err(fault)?;
                self.walker.assign(read, bits);
            }
            (Action::Read(read), None) => {
                program.check_action(&step.action).map_err(fault)?;
                let bits =
                    memory::read(&self.local, global, read.from, size_of(read.element) as usize).map_err(fault)?;
                self.walker.assign(read, bits);
            }
            (_, Some(_)) => program.check_action(&step.action).map_err(fault)?,
            (_, None) => apply(program, &step, &mut self.local, global).map_err(fault)?,
        }
        count(moved, &step.action);
        Ok(Progress::Done(step))
    }
}

fn count((read, written): &mut (u64, u64), action: &Action) {
    match action {
        Action::Transfer(transfer) if transfer.load => *read += transfer.moved(),
        Action::Transfer(transfer) => *written += transfer.moved(),
        Action::Read(ReadStep { element, from: PlaceAt::Global(_), .. }) => *read += u64::from(size_of(*element)),
        Action::Write(WriteStep { element, to: PlaceAt::Global(_), .. }) => *written += u64::from(size_of(*element)),
        _ => {}
    }
}
