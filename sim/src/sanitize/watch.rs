//! Follows a run.

mod deadlock;

use std::collections::VecDeque;

use crate::exec::{self, Progress, Run};
use crate::program::{
    Access, Action, BufferId, Fault, FaultKind, FlagAt, GlobalAt, LocalAt, NodeId, Pipe, Program, Role, Space, Step,
    TensorId, Touch, Walker,
};

use super::by_data::{self, Pieces};
use super::clock::{Clock, Now};
use super::finding::{Finding, Findings, Kind, Site};
use super::flags::Flags;
use super::memory::{self, Tensors, Trouble};
use super::names::Names;
use super::report::report;
use super::shadow::Shadow;
use super::state::{Local, QUEUES};

/// Flags from this one on belong to the vendor's framework.
const RESERVED: u8 = 6;

/// A step in a queue.
#[derive(Clone, Copy, Debug)]
struct Issued {
    /// What the scalar unit had done and waited for.
    clock: Clock,
    site: Site,
}

struct Core {
    /// Steps of each pipe so far.
    count: Clock,
    /// What each pipe's next step comes after.
    clocks: [Clock; 4],
    queues: [VecDeque<Issued>; 4],
    flags: Flags,
    local: Shadow<Local>,
}

/// A run, and what is known of it.
pub(super) struct Watch<'p> {
    program: &'p Program,
    run: Run<'p>,
    with_data: bool,
    cores: Vec<Core>,
    tensors: Tensors,
    epoch: u32,
    findings: Findings<'p>,
    /// Scratch.
    pieces: Pieces,
}

impl<'p> Watch<'p> {
    pub(super) fn new(program: &'p Program, names: &'p Names<'p>, data: Option<exec::Global>) -> Self {
        let core = |_| Core {
            count: Clock::default(),
            clocks: Default::default(),
            queues: Default::default(),
            flags: Flags::default(),
            local: memory::local(program),
        };
        Self {
            program,
            with_data: data.is_some(),
            run: data.map_or_else(|| Run::without_data(program, 0), |global| Run::new(program, global)),
            cores: (0..program.source().cores).map(core).collect(),
            tensors: Tensors::new(program),
            epoch: 0,
            findings: Findings::new(program, names),
            pieces: Pieces::default(),
        }
    }

    pub(super) fn run(mut self) -> Result<Vec<Finding>, Fault> {
        self.capacity();
        while !self.run.ended() {
            let mut moved = false;
            for core in 0..self.program.source().cores {
                moved |= self.core(core)?;
            }
            if !moved {
                self.deadlock();
                return Ok(self.findings.finish());
            }
        }
        self.left();
        Ok(self.findings.finish())
    }

    /// Lets a core go as far as it can; whether it went anywhere.
    fn core(&mut self, core: u32) -> Result<bool, Fault> {
        let mut moved = false;
        loop {
            let mut now = false;
            for pipe in QUEUES {
                while self.run.ready(core, pipe) {
                    self.queued(core, pipe)?;
                    now = true;
                }
            }
            if !now && self.run.ready(core, Pipe::S) {
                self.scalar(core)?;
                now = true;
            }
            if !now {
                return Ok(moved);
            }
            moved = true;
        }
    }

    /// The first step of a queue.
    fn queued(&mut self, core: u32, pipe: Pipe) -> Result<(), Fault> {
        let Some(step) = self.run.front(core, pipe).copied() else { return Ok(()) };
        self.pieces.clear();
        if let (Action::Vector(vector), true) = (&step.action, self.with_data) {
            by_data::pieces(self.program, vector, self.run.local(core), &mut self.pieces);
        }
        let queue = &mut self.cores[core as usize].queues[pipe as usize];
        let issued = queue.pop_front().expect("a step was handed out before it is carried out");
        let done = self.run.advance(core, pipe);
        match done {
            Ok(_) | Err(Fault { kind: FaultKind::FlagSetTwice(_), .. }) => self.done(&step, core, pipe, &issued),
            Err(fault) => self.failed(&fault, Some(&step), &issued.site)?,
        }
        Ok(())
    }

    /// The scalar unit.
    fn scalar(&mut self, core: u32) -> Result<(), Fault> {
        let done = self.run.advance(core, Pipe::S);
        let site = self.scalar_site(core);
        let clock = self.cores[core as usize].clocks[Pipe::S as usize];
        let at = |node: NodeId| Issued { clock, site: site.at(node) };
        match done {
            Ok(Progress::Queued(pipe)) => {
                let queue = &mut self.cores[core as usize].queues[pipe as usize];
                queue.push_back(at(NodeId(0)));
            }
            Ok(Progress::Done(step)) => self.done(&step, core, Pipe::S, &at(step.node)),
            Ok(Progress::Synced) => self.synced(),
            Ok(Progress::Held) => {
                if let Some(Step { node, action: Action::SyncAll(Some(soft)) }) = self.run.front(core, Pipe::S) {
                    let site = at(*node).site;
                    self.soft_sync(*soft, core, &site);
                }
            }
            Ok(Progress::Ended) => {}
            Err(fault) => self.failed(&fault, None, &at(fault.node).site)?,
        }
        Ok(())
    }

    /// Where the scalar unit of a core is.
    fn scalar_site(&self, core: u32) -> Site {
        Site::within(core, self.run.walker(core).map_or(&[], Walker::loops))
    }

    /// A step that was carried out.
    fn done(&mut self, step: &Step, core: u32, pipe: Pipe, issued: &Issued) {
        let Self { program, with_data, cores, tensors, epoch, findings, pieces, .. } = self;
        let site = issued.site.at(step.node);
        let Core { count, clocks, flags, local, .. } = &mut cores[core as usize];
        let index = count.of(pipe) + 1;
        count.set(pipe, index);
        clocks[pipe as usize].join(&issued.clock);
        if pipe == Pipe::S {
            clocks[0].set(pipe, index);
        }
        let clock = &mut clocks[pipe as usize];
        #[expect(clippy::cast_possible_truncation, reason = "a program has at most 65535 cores")]
        let now = Now { core: core as u16, pipe, index, node: step.node, epoch: *epoch, clock: *clock };
        match &step.action {
            Action::SetFlag(flag) => {
                reserved(findings, *flag, &site);
                if !flags.set(*flag, &now, site) {
                    let what = || format!("flag {} may be set again before anybody has waited for it", name(*flag));
                    findings.add(Kind::FlagSetTwice, &site, None, what);
                }
            }
            Action::WaitFlag(flag) => clock.join(&flags.wait(*flag, &now)),
            Action::Barrier(Some(_)) => clock.set(pipe, index),
            Action::Barrier(None) => *clock = *count,
            action => action.touches(|touch| {
                if let Space::Global(tensor) = touch.space
                    && touch.access != Access::Read
                {
                    written(program, findings, tensor, &site);
                }
                let trouble = match touch.space {
                    _ if !touch.by_data => memory::touch(local, tensors, &now, &touch),
                    _ if *with_data => memory::touch_pieces(local, &now, touch.access, pieces),
                    // It may be any of them, of which some may not be written; but not all.
                    Space::Local(..) => {
                        let anywhere = anywhere(program, touch);
                        let trouble = memory::touch(local, tensors, &now, &anywhere);
                        let all = |_: &u64| local.is_unwritten(anywhere.start..anywhere.end());
                        Trouble { unwritten: trouble.unwritten.filter(all), ..trouble }
                    }
                    Space::Global(_) => Trouble::default(),
                };
                report(program, findings, &site, &touch, &trouble);
            }),
        }
        if let Action::Transfer(transfer) = &step.action {
            memory::undefine_tails(local, transfer);
        }
    }

    /// A step that could not be carried out. What it would have written counts as written.
    fn failed(&mut self, fault: &Fault, step: Option<&Step>, site: &Site) -> Result<(), Fault> {
        let kind = match fault.kind {
            FaultKind::NoAssumption => return Err(*fault),
            FaultKind::Field { .. } => Kind::Field,
            FaultKind::OutsideBuffer { .. } | FaultKind::OutsideTensor { .. } => Kind::Bounds,
            FaultKind::MisalignedLocal { .. } | FaultKind::MisalignedGlobal { .. } => Kind::Alignment,
            FaultKind::FlagSetTwice(_) => Kind::FlagSetTwice,
        };
        let site = site.at(fault.node);
        let program = self.program;
        self.findings.add(kind, &site, blame(program, fault.kind), || fault.kind.describe(program));
        let local = &mut self.cores[fault.core as usize].local;
        if let Some(step) = step {
            let mut by_data = false;
            step.action.touches(|touch| by_data |= touch.by_data);
            // Where data say what is touched, they may be wrong as nobody has written them.
            step.action.touches(|touch| {
                if by_data && !touch.by_data && touch.access == Access::Read && matches!(touch.space, Space::Local(..))
                {
                    report(program, &mut self.findings, &site, &touch, &memory::unwritten(local, &touch));
                }
            });
            step.action.touches(|touch| memory::forgive(local, &mut self.tensors, &anywhere(program, touch)));
        }
        Ok(())
    }

    /// All cores have waited for each other.
    fn synced(&mut self) {
        self.epoch += 1;
        for core in &mut self.cores {
            core.clocks[Pipe::S as usize] = core.count;
        }
    }

    /// The memory that a soft `sync_all` uses: a block for each core, zero at first in the workspace, undefined afterwards in the UB.
    fn soft_sync(&mut self, (global, local): (GlobalAt, LocalAt), core: u32, site: &Site) {
        let program = self.program;
        // Two findings at the same instruction.
        for (number, kind) in (0..).zip(program.outside_of_sync((global, local))) {
            let Some(kind) = kind else { continue };
            self.findings.add_of(number, Kind::Bounds, site, blame(program, kind), || kind.describe(program));
        }
        let tensor = program.source().tensors.get(usize::from(global.tensor.0));
        if tensor.is_some_and(|tensor| tensor.role != Role::ZeroedWorkspace) {
            let what = || "the workspace of a soft sync_all must be a zeroed workspace".into();
            self.findings.add(Kind::Uninitialised, site, None, what);
        }
        let start = u64::from(local.address);
        let bytes = u64::from(program.source().cores) * 32;
        self.cores[core as usize].local.set_written(start..start + bytes, false);
    }

    fn capacity(&mut self) {
        let have = self.program.limits().ub_bytes;
        for (BufferId(id), buffer, end) in self.program.beyond_ub() {
            let what = || format!("{} ends at byte {end} of a UB of {have}", buffer.name);
            self.findings.add_of(id, Kind::Capacity, &Site::default(), buffer.field.as_deref(), what);
        }
    }

    /// What remains at the end.
    fn left(&mut self) {
        for core in &self.cores {
            for (flag, site) in core.flags.left() {
                let what = || format!("flag {} is still set at the end", name(flag));
                self.findings.add(Kind::FlagLeftSet, &site, None, what);
            }
        }
        for (id, tensor) in (0..).zip(&self.program.source().tensors).filter(|(_, tensor)| tensor.role.is_result()) {
            if let Some((first, count)) = self.tensors.unwritten(TensorId(id)) {
                let what = || format!("{count} bytes of {} stay unwritten, the first is byte {first}", tensor.name);
                self.findings.add_of(id, Kind::Unwritten, &Site::default(), None, what);
            }
        }
    }
}

fn name(FlagAt { from, to, id }: FlagAt) -> String {
    format!("{} {} {id}", from.name(), to.name())
}

/// A touch that goes as far as data may take it.
fn anywhere(program: &Program, touch: Touch) -> Touch {
    let Space::Local(buffer, slot) = touch.space else { return touch };
    if !touch.by_data {
        return touch;
    }
    let start = u32::try_from(touch.start).unwrap_or(u32::MAX);
    let bytes = program.slot(buffer, slot).end.saturating_sub(start);
    Touch { bytes, rows: 1, pitch: bytes.into(), ..touch }
}

/// Whether a tensor that a step writes is there to be written.
fn written(program: &Program, findings: &mut Findings<'_>, id: TensorId, site: &Site) {
    if let Some(tensor) = program.source().tensors.get(usize::from(id.0)).filter(|tensor| tensor.role == Role::Input) {
        findings.add(Kind::ReadOnly, site, None, || format!("writes {}, which is an input", tensor.name));
    }
}

/// The field to blame for an instruction that reaches beyond a buffer: the buffer's.
fn blame(program: &Program, kind: FaultKind) -> Option<&str> {
    let FaultKind::OutsideBuffer { buffer, .. } = kind else { return None };
    program.source().buffers.get(usize::from(buffer.0))?.field.as_deref()
}

fn reserved(findings: &mut Findings<'_>, flag: FlagAt, site: &Site) {
    if flag.id >= RESERVED {
        let what = || format!("flag {} is one that the vendor's framework keeps for itself", name(flag));
        findings.add(Kind::ReservedFlag, site, None, what);
    }
}
