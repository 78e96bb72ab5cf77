//! The scalar unit of a core: what it does with the steps of the program.

use crate::product::Element;
use crate::program::{
    Action, FaultKind, GlobalAt, Instruction, Next, NodeId, Pipe as Name, PlaceAt, ReadStep, Step, Transfer, size_of,
};

use super::core::{Core, Held, MTE2, MTE3, Shared, State, Stop, V};
use super::costs::Costs;
use super::flags::{Moment, index};
use super::memory::Traffic;
use super::pipe::{Pipe, Queued, Work};
use super::tick::{Tick, mix};
use super::vector::Timed;

/// An entry for a pipe's queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Order {
    pipe: usize,
    pub(super) node: NodeId,
    work: Work,
    /// What it takes of the scalar unit's time.
    cost: Tick,
}

/// What became of an action.
enum Taken {
    Done,
    NotYet,
    Order(Order),
}

impl Core<'_> {
    /// Takes what comes next, or holds it until that is possible; whether it was.
    #[inline]
    pub(super) fn next(&mut self, next: Next<'_>, shared: &mut Shared<'_>) -> Result<bool, Stop> {
        let (node, instruction) = match next {
            Next::Instruction(node, instruction) => (node, instruction),
            Next::Iterate(node) => return self.goes_on(node, &Action::Iterate, shared),
            Next::Branch(node) => return self.goes_on(node, &Action::Branch, shared),
        };
        // Actions are large: who looks at nothing but the time goes without where that is easy.
        if !shared.recorder.is_on() {
            let costs = &*shared.costs;
            let (pipe, work) = match instruction {
                Instruction::Vector(_) | Instruction::Move(_) | Instruction::Transpose(_) => {
                    let order = match costs.vectors.recall.get(node, self.walker.registers()) {
                        Some(timed) => vector(&mut self.pipes[V], node, timed, costs),
                        None => self.time(node, instruction, shared).map_err(|kind| self.fault(node, kind))?,
                    };
                    return self.hand_over(order, shared);
                }
                Instruction::SetFlag(flag) if flag.from != Name::S => {
                    (index(flag.from), Work::Set(self.walker.flag(flag).map_err(|kind| self.fault(node, kind))?))
                }
                Instruction::WaitFlag(flag) if flag.to != Name::S => {
                    (index(flag.to), Work::Wait(self.walker.flag(flag).map_err(|kind| self.fault(node, kind))?))
                }
                Instruction::Barrier(Some(pipe)) if *pipe != Name::S => (index(*pipe), Work::Barrier),
                Instruction::Let(into, value) => {
                    self.walker.set(*into, value);
                    self.spend(costs.instruction);
                    return Ok(true);
                }
                _ => return self.evaluate(node, instruction, shared),
            };
            return self.hand_over(Order { pipe, node, work, cost: costs.flag_issue }, shared);
        }
        self.evaluate(node, instruction, shared)
    }

    fn evaluate(&mut self, node: NodeId, instruction: &Instruction, shared: &mut Shared<'_>) -> Result<bool, Stop> {
        match &self.walker.evaluate(instruction) {
            Ok(action) => self.goes_on(node, action, shared),
            Err(kind) => Err(self.fault(node, *kind)),
        }
    }

    /// Times an instruction of the vector pipe, and remembers that. What has stayed in its slots once does so again.
    fn time(&mut self, node: NodeId, instruction: &Instruction, shared: &mut Shared<'_>) -> Result<Order, FaultKind> {
        let action = self.walker.evaluate(instruction)?;
        self.walker.program().check_action(&action)?;
        let vectors = &mut shared.costs.vectors;
        let timed = vectors.timed(self.walker.program(), node, &action);
        vectors.recall.put(node, self.walker.registers(), timed);
        Ok(vector(&mut self.pipes[V], node, &timed, shared.costs))
    }

    /// Takes an action, or holds it until that is possible; whether it was.
    pub(super) fn goes_on(&mut self, node: NodeId, action: &Action, shared: &mut Shared<'_>) -> Result<bool, Stop> {
        let seen = shared.recorder.is_on().then(|| self.begin_seen(node, action, shared));
        let taken = match self.take(node, action, shared)? {
            Taken::Order(order) => return self.hand_over(order, shared),
            Taken::Done => true,
            Taken::NotYet => {
                self.held = Some(Held::Step(Step { node, action: *action }));
                false
            }
        };
        if let Some(seen) = seen {
            self.end_seen(action, seen, taken, shared);
        }
        Ok(taken)
    }

    /// Hands an entry over to its pipe, or holds it until the queue has room; whether it had.
    #[inline]
    pub(super) fn hand_over(&mut self, order: Order, shared: &mut Shared<'_>) -> Result<bool, Stop> {
        let Order { pipe, node, work, cost } = order;
        let Some(room) = self.pipes[pipe].room() else {
            self.held = Some(Held::Order(order));
            return Ok(false);
        };
        if room > self.now {
            self.counts.queue_full += room - self.now;
            self.now = room;
        }
        self.spend(cost);
        let entry = Queued { issued: self.now, step: self.counts.steps, node, work };
        let alone = self.pipes[pipe].is_idle();
        self.pipes[pipe].put(entry);
        let mut set = false;
        if alone && self.advance(pipe, &entry, shared, &mut set)? && set {
            self.drain(shared)?;
        }
        Ok(true)
    }

    /// Does an action of the scalar unit, or makes an order of one that is a pipe's.
    fn take(&mut self, node: NodeId, action: &Action, shared: &mut Shared<'_>) -> Result<Taken, Stop> {
        self.walker.program().check_action(action).map_err(|kind| self.fault(node, kind))?;
        let costs = &mut *shared.costs;
        let (pipe, work, cost) = match action {
            Action::Vector(_) | Action::Move(_) | Action::Transpose(_) => {
                let timed = costs.vectors.timed(self.walker.program(), node, action);
                return Ok(Taken::Order(vector(&mut self.pipes[V], node, &timed, costs)));
            }
            Action::SetFlag(flag) if flag.from == Name::S => {
                self.spend(costs.flag_issue);
                self.set(*flag, Moment { at: self.now, step: self.counts.steps }, node)?;
                self.drain(shared)?;
                return Ok(Taken::Done);
            }
            Action::WaitFlag(flag) if flag.to == Name::S => {
                let Some(at) = self.flags.at(*flag) else { return Ok(Taken::NotYet) };
                self.counts.waited += at.saturating_sub(self.now);
                self.now = self.now.max(at);
                self.clear(*flag, Moment { at: self.now, step: self.counts.steps })?;
                self.spend(costs.flag_issue);
                return Ok(Taken::Done);
            }
            Action::SetFlag(flag) => (index(flag.from), Work::Set(*flag), costs.flag_issue),
            Action::WaitFlag(flag) => (index(flag.to), Work::Wait(*flag), costs.flag_issue),
            Action::Transfer(transfer) => {
                let pipe = if transfer.load { MTE2 } else { MTE3 };
                let bypass = transfer.bypass || transfer.load && costs.bypass;
                // What is held is the last that the pipe gets.
                self.pipes[pipe].transfers.push_back(Transfer { bypass, ..*transfer });
                (pipe, Work::Transfer, costs.descriptor)
            }
            Action::Barrier(Some(pipe)) if *pipe != Name::S => (index(*pipe), Work::Barrier, costs.flag_issue),
            Action::Iterate => {
                let cost = costs.loop_iteration;
                self.spend(cost);
                self.skip(node)?;
                return Ok(Taken::Done);
            }
            Action::Compute | Action::Branch | Action::Barrier(Some(_)) => {
                self.spend(costs.instruction);
                return Ok(Taken::Done);
            }
            Action::Barrier(None) => {
                if !self.pipes.iter().all(Pipe::is_idle) {
                    return Ok(Taken::NotYet);
                }
                self.now = self.all_done();
                self.spend(costs.flag_issue);
                return Ok(Taken::Done);
            }
            Action::SyncAll(workspace) => {
                if !self.pipes.iter().all(Pipe::is_idle) {
                    return Ok(Taken::NotYet);
                }
                self.now = self.all_done();
                self.state = State::Syncs { at: self.now, soft: workspace.is_some() };
                return Ok(Taken::Done);
            }
            Action::Read(read) => {
                self.touch((read.from, read.element), false, shared);
                let bits = self.luck.assumed(read).ok_or_else(|| self.fault(node, FaultKind::NoAssumption))?;
                self.walker.assign(read, bits);
                return Ok(Taken::Done);
            }
            Action::Write(write) => {
                self.touch((write.to, write.element), true, shared);
                return Ok(Taken::Done);
            }
        };
        Ok(Taken::Order(Order { pipe, node, work, cost }))
    }

    /// An access of the scalar unit: to UB directly, to global memory through its cache.
    fn touch(&mut self, (at, element): (PlaceAt, Element), write: bool, shared: &mut Shared<'_>) {
        let Shared { costs, memory, .. } = shared;
        self.spend(costs.ub_access);
        let PlaceAt::Global(at) = at else { return };
        let bytes = u64::from(size_of(element));
        let Traffic { read, written, scalar_read, scalar_written, .. } = &mut memory.traffic;
        let (all, own) = if write { (written, scalar_written) } else { (read, scalar_read) };
        *all += bytes;
        *own += bytes;
        if let Some(line) = self.cache.miss(at, costs) {
            memory.cache_line(at.tensor.0.into(), line, costs.cache_line_bytes, write);
            self.spend(costs.copies.scalar_miss);
        }
    }
}

/// The scalar unit's cache of global memory: each line has one place, neighbours in a tensor neighbouring ones.
#[derive(Clone, Debug, Default)]
pub(super) struct Cache(Vec<u64>);

impl Cache {
    /// Where in its tensor the line begins that an access has to fetch, and that is there from now on.
    pub(super) fn miss(&mut self, at: GlobalAt, costs: &Costs) -> Option<u64> {
        let line = at.offset / costs.cache_line_bytes;
        let tensor = u64::from(at.tensor.0);
        let tag = (tensor << 48 | line) + 1;
        self.0.resize(costs.cache_lines.max(1) as usize, 0);
        let place = (mix(tensor).wrapping_add(line) % self.0.len() as u64) as usize;
        let before = std::mem::replace(self.0.get_mut(place)?, tag);
        (before != tag).then_some(line * costs.cache_line_bytes)
    }
}

/// Decides how long a core's copies take, and what it reads in a run without data: the same in each run with the same seed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Luck(u64);

impl Luck {
    /// That of a core.
    pub(super) fn of(seed: u64, core: u32) -> Self {
        Self(mix(mix(seed) ^ u64::from(core)))
    }

    /// One of the assumed values; `None` without any.
    pub(super) fn assumed(&mut self, read: &ReadStep) -> Option<u64> {
        // What can be but one thing needs no luck.
        if read.assume.is_none_or(|assume| assume.count() != 1) {
            self.0 = mix(self.0);
        }
        read.assumed(self.0)
    }

    /// That of a pipe's copy with its number.
    pub(super) const fn of_copy(self, pipe: usize, number: u64) -> u64 {
        mix(self.0 ^ ((pipe as u64) << 60) ^ number)
    }
}

/// An instruction for the vector pipe, which has to wait for the one before if it reads what that writes.
#[inline]
fn vector(pipe: &mut Pipe, node: NodeId, timed: &Timed, costs: &Costs) -> Order {
    let written = std::mem::replace(&mut pipe.written, timed.writes);
    let depends = timed.reads.iter().any(|read| read.meets(&written));
    Order { pipe: V, node, work: Work::Vector(timed.busy, depends), cost: costs.vector_issue }
}
