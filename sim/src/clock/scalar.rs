//! The scalar unit of a core: what it does with the steps of the program.

use crate::product::Element;
use crate::program::{Action, FaultKind, NodeId, Pipe as Name, PlaceAt, ReadStep, Step, size_of};

use super::core::{Core, Halt, MTE2, MTE3, Shared, State, V};
use super::flags::index;
use super::memory::Traffic;
use super::pipe::{Queued, Work};
use super::tick::mix;
use super::vector::Written;

impl Core<'_> {
    /// Takes a step; whether that was possible yet.
    #[inline]
    pub(super) fn take(&mut self, step: &Step, shared: &mut Shared<'_>) -> Result<bool, Halt> {
        let costs = &mut *shared.costs;
        let (pipe, work, cost) = match &step.action {
            Action::Vector(vector) => {
                let busy = costs.vectors.vector(step.node, vector);
                let depends = self.pipes[V].written.is_read_by(vector);
                self.pipes[V].written = Written::by(vector);
                (V, Work::Vector(busy, depends), costs.vector_issue)
            }
            Action::SetFlag(flag) if flag.from == Name::S => {
                self.spend(costs.flag);
                self.flags.set(*flag, self.now, step.node);
                return self.drain(shared).map(|()| true);
            }
            Action::WaitFlag(flag) if flag.to == Name::S => {
                let Some(at) = self.flags.at(*flag) else { return Ok(false) };
                self.now = self.now.max(at);
                self.clear(*flag, self.now)?;
                self.spend(costs.flag);
                return Ok(true);
            }
            Action::SetFlag(flag) => (index(flag.from), Work::Set(*flag), costs.flag),
            Action::WaitFlag(flag) => (index(flag.to), Work::Wait(*flag), costs.flag),
            Action::Transfer(transfer) => {
                let pipe = if transfer.load { MTE2 } else { MTE3 };
                let mut transfer = *transfer;
                transfer.bypass |= costs.bypass && transfer.load;
                (pipe, Work::Transfer(transfer), costs.descriptor)
            }
            Action::Move(copy) => {
                let busy = costs.vectors.copy(step.node, copy);
                self.pipes[V].written = Written::default();
                (V, Work::Vector(busy, false), costs.vector_issue)
            }
            Action::Transpose(transpose) => {
                let busy = costs.vectors.transpose(step.node, transpose);
                self.pipes[V].written = Written::default();
                (V, Work::Vector(busy, false), costs.vector_issue)
            }
            Action::Barrier(Some(pipe)) if *pipe != Name::S => (index(*pipe), Work::Barrier, costs.flag),
            Action::Iterate => {
                let cost = costs.loop_iteration;
                self.spend(cost);
                self.skip(step.node);
                return Ok(true);
            }
            Action::Compute | Action::Branch | Action::Barrier(Some(_)) => {
                self.spend(costs.instruction);
                return Ok(true);
            }
            Action::Barrier(None) => {
                if self.pipes.iter().any(|pipe| !pipe.queue.is_empty()) {
                    return Ok(false);
                }
                self.now = self.all_done();
                self.spend(costs.flag);
                return Ok(true);
            }
            Action::SyncAll(workspace) => {
                if self.pipes.iter().any(|pipe| !pipe.queue.is_empty()) {
                    return Ok(false);
                }
                self.now = self.all_done();
                self.state = State::Syncs { at: self.now, soft: workspace.is_some() };
                return Ok(true);
            }
            Action::Read(read) => {
                self.touch((step.node, read.from, read.element), false, shared)?;
                let bits = self.assumed(read).map_err(|kind| self.fault(step.node, kind))?;
                self.walker.assign(read, bits);
                return Ok(true);
            }
            Action::Write(write) => {
                self.touch((step.node, write.to, write.element), true, shared)?;
                return Ok(true);
            }
        };
        let Some(room) = self.pipes[pipe].room() else { return Ok(false) };
        if room > self.now {
            self.counts.queue_full += room - self.now;
            self.now = room;
        }
        self.spend(cost);
        shared.recorder.issue(self.walker.core(), pipe, step);
        let entry = Queued { issued: self.now, node: step.node, work };
        let mut set = false;
        if self.pipes[pipe].queue.is_empty() && self.advance(pipe, &entry, shared, &mut set)? {
            if set {
                self.drain(shared)?;
            }
        } else {
            self.pipes[pipe].queue.push_back(entry);
        }
        Ok(true)
    }

    fn assumed(&mut self, read: &ReadStep) -> Result<u64, FaultKind> {
        // What can be but one thing needs no luck.
        if read.assume.is_none_or(|assume| assume.count() != 1) {
            self.random = mix(self.random);
        }
        read.assumed(self.random).ok_or(FaultKind::NoAssumption)
    }

    /// An access of the scalar unit: to UB directly, to global memory through its cache.
    fn touch(
        &mut self,
        (node, at, element): (NodeId, PlaceAt, Element),
        write: bool,
        shared: &mut Shared<'_>,
    ) -> Result<(), Halt> {
        let Shared { costs, memory, .. } = shared;
        self.spend(costs.ub_access);
        let PlaceAt::Global(at) = at else { return Ok(()) };
        let bytes = u64::from(size_of(element));
        if !memory.holds(at, bytes) {
            let first = at.offset.cast_signed();
            let end = first.saturating_add(bytes.cast_signed());
            return Err(self.fault(node, FaultKind::OutsideTensor { tensor: at.tensor, first, end }));
        }
        let Traffic { read, written, .. } = &mut memory.traffic;
        *(if write { written } else { read }) += bytes;
        let line = at.offset / costs.cache_line_bytes;
        let tag = (u64::from(at.tensor.0) << 48 | line) + 1;
        self.cache.resize(costs.cache_lines.max(1) as usize, 0);
        let entry = (mix(tag) % self.cache.len() as u64) as usize;
        if self.cache[entry] != tag {
            self.cache[entry] = tag;
            memory.cache_line(at.tensor.0.into(), line * costs.cache_line_bytes, costs.cache_line_bytes, write);
            let latency = costs.load_latency;
            self.now += latency;
        }
        Ok(())
    }
}
