//! A client's session: what it has made, what of that is alive, and so what the library must say to its next step.

use std::collections::BTreeMap;

use ubtile_tiling::{Operator, Problem};

use super::calls::Call;
use super::events::Events;
use super::step::{Kind, Pick, Step, Workspace};
use super::{
    Handle, aclDestroyAclOpExecutor, aclDestroyBoolArray, aclDestroyIntArray, aclDestroyTensor, aclFinalize, aclInit,
    aclSetAclOpExecutorRepeatable, aclrtCreateStream, aclrtDestroyEvent, aclrtDestroyStream, aclrtDestroyStreamForce,
    aclrtFree, aclrtMalloc, aclrtResetDevice, aclrtSetDevice, aclrtSynchronizeStream, code, phase_2, says, stored,
};

/// An executor that phase 1 has made.
#[derive(Clone, Debug)]
struct Executor {
    handle: Handle,
    operator: Operator,
    workspace: u64,
    repeatable: bool,
    /// Address and bytes of what it reads and writes; `None` where another tensor was put in.
    memory: Option<Vec<(Handle, usize)>>,
}

/// What a client has.
#[derive(Debug)]
pub struct Session {
    /// Whether it is the only one, which may start and end the library and free memory.
    alone: bool,
    initialised: bool,
    uses: u32,
    /// Whether this thread has a context.
    context: bool,
    objects: Vec<(Kind, Handle, bool)>,
    addresses: Vec<Handle>,
    live: BTreeMap<Handle, usize>,
    calls: Vec<Call>,
    executors: Vec<Executor>,
    pub(super) events: Events,
}

impl Session {
    /// A client that has the library for itself.
    #[must_use]
    pub const fn alone() -> Self {
        Self {
            alone: true,
            initialised: false,
            uses: 0,
            context: false,
            objects: Vec::new(),
            addresses: Vec::new(),
            live: BTreeMap::new(),
            calls: Vec::new(),
            executors: Vec::new(),
            events: Events::new(),
        }
    }

    /// One of several threads of a library that is started.
    #[must_use]
    pub fn thread() -> Self {
        says(aclrtSetDevice(0), &[0], "aclrtSetDevice of a thread");
        Self { alone: false, initialised: true, uses: 1, context: true, ..Self::alone() }
    }

    /// Does a step.
    pub fn perform(&mut self, step: &Step) {
        match step {
            Step::Init | Step::Finalize | Step::SetDevice(_) | Step::ResetDevice | Step::Free(..) if !self.alone => {}
            Step::Init => {
                let want = if self.initialised { code::REPEAT_INITIALIZE } else { 0 };
                says(aclInit(std::ptr::null()), &[want], "aclInit");
                self.initialised = true;
            }
            Step::Finalize => {
                let want = if self.initialised { 0 } else { code::REPEAT_FINALIZE };
                says(aclFinalize(), &[want], "aclFinalize");
                self.initialised = false;
                self.released(want == 0);
            }
            Step::SetDevice(id) => {
                let want = if *id != 0 {
                    code::RT_INVALID_DEVICEID
                } else if self.initialised {
                    0
                } else {
                    code::UNINITIALIZE
                };
                if says(aclrtSetDevice(*id), &[want], "aclrtSetDevice") {
                    (self.uses, self.context) = (self.uses + 1, true);
                }
            }
            Step::ResetDevice => {
                let want = match (self.initialised, self.uses) {
                    (false, _) => code::UNINITIALIZE,
                    (true, 0) => code::RT_INVALID_DEVICEID,
                    (true, _) => 0,
                };
                if says(aclrtResetDevice(0), &[want], "aclrtResetDevice") {
                    self.uses -= 1;
                    self.released(self.uses == 0);
                }
            }
            Step::CreateStream => {
                self.create_stream();
            }
            Step::Synchronize(pick) => {
                let stream = self.picked(Kind::Stream, *pick);
                if self.events.is_stuck(stream) {
                    return;
                }
                let want: &[i32] = match (self.context, stream) {
                    (false, _) => &[code::RT_CONTEXT_NULL],
                    // Memory that has become another call's may hold any indices.
                    (true, 0) => &[0, code::RUNTIME_ERROR],
                    (true, _) if self.is(Kind::Stream, stream) => &[0, code::RUNTIME_ERROR],
                    (true, _) => &[code::RT_INVALID_HANDLE],
                };
                says(aclrtSynchronizeStream(stream), want, "aclrtSynchronizeStream");
            }
            Step::Destroy(kind, pick) => {
                let handle = self.picked(*kind, *pick);
                self.destroy(*kind, handle);
            }
            Step::Free(which, behind) => {
                let Some(&start) = self.addresses.get(usize::from(*which) % self.addresses.len().max(1)) else {
                    return;
                };
                let address = start + usize::from(*behind);
                let want = if self.live.contains_key(&address) { 0 } else { code::RT_PARAM_INVALID };
                if says(aclrtFree(address), &[want], "aclrtFree") {
                    self.live.remove(&address);
                }
            }
            Step::Repeatable(pick) => {
                let handle = self.picked(Kind::Executor, *pick);
                let want = self.status_of(Kind::Executor, handle);
                if says(aclSetAclOpExecutorRepeatable(handle), &[want], "aclSetAclOpExecutorRepeatable") {
                    self.executor(handle).repeatable = true;
                }
            }
            Step::Arguments(request) => {
                let call = Call::new(request, self);
                self.calls.extend(call);
            }
            Step::Prepare(which, swap) => {
                let Some(call) = self.calls.get(usize::from(*which) % self.calls.len().max(1)).cloned() else { return };
                self.prepare(&call, *swap);
            }
            Step::Run(operator, executor, workspace, stream) => {
                let executor = self.picked(Kind::Executor, *executor);
                let stream = self.picked(Kind::Stream, *stream);
                self.run(*operator, executor, *workspace, stream);
            }
            Step::Event(act) => self.act(act),
            Step::Whole(request) => {
                let Some(call) = Call::new(request, self) else { return };
                let (Some(executor), Some(stream)) = (self.prepare(&call, None), self.create_stream()) else { return };
                if self.run(None, executor, Workspace::Right, stream) {
                    says(aclrtSynchronizeStream(stream), &[0], "aclrtSynchronizeStream of a right call");
                    call.judge();
                }
            }
        }
    }

    /// Ends what is left.
    pub fn end(mut self) {
        for (kind, handle, alive) in self.objects.clone() {
            if alive {
                self.destroy(kind, handle);
            }
        }
        if self.alone && self.initialised {
            says(aclFinalize(), &[0], "aclFinalize at the end");
        }
    }

    /// Takes a new object; null where it was refused.
    pub fn made(&mut self, kind: Kind, handle: Handle) {
        if handle == 0 {
            super::aclGetRecentErrMsg();
        } else {
            assert!(!self.objects.iter().any(|(_, other, _)| *other == handle), "a handle is given twice");
            self.objects.push((kind, handle, true));
        }
    }

    /// Allocates device memory; `None` without a device.
    pub fn malloc(&mut self, bytes: usize) -> Option<Handle> {
        // SAFETY: a place for the address.
        let (status, address) = stored(|place| unsafe { aclrtMalloc(place, bytes, 0) });
        let want = if self.context { 0 } else { code::RT_CONTEXT_NULL };
        says(status, &[want], "aclrtMalloc").then(|| {
            self.live.insert(address, bytes);
            self.addresses.push(address);
            address
        })
    }

    fn create_stream(&mut self) -> Option<Handle> {
        // SAFETY: a place for the handle.
        let (status, stream) = stored(|place| unsafe { aclrtCreateStream(place) });
        let want = if self.context { 0 } else { code::RT_CONTEXT_NULL };
        says(status, &[want], "aclrtCreateStream").then(|| {
            self.made(Kind::Stream, stream);
            stream
        })
    }

    /// Phase 1; its executor.
    fn prepare(&mut self, call: &Call, swap: Option<(u8, Pick)>) -> Option<Handle> {
        let mut handles = call.handles.clone();
        if let Some((place, pick)) = swap {
            let place = usize::from(place) % handles.len();
            handles[place].1 = self.picked(handles[place].0, pick);
        }
        let as_made = handles == call.handles;
        let grid_sampler = call.operator == Operator::GridSampler2dBackward;
        let no_mask = grid_sampler && handles.last().is_some_and(|(_, mask)| *mask == 0);
        let dead = handles.iter().map(|&(kind, handle)| self.status_of(kind, handle)).find(|&status| status != 0);
        let want: &[i32] = match (dead, call.checked) {
            // The vendor's phase 1 is done before it looks at anything else.
            _ if no_mask => &[0],
            (Some(status), _) => &[status],
            (None, Ok(_)) if as_made => &[0],
            (None, Err(status)) if as_made => &[status],
            (None, _) => &[0, code::PARAM_NULLPTR, code::PARAM_INVALID],
        };
        let (status, workspace, handle) = call.phase_1(&handles);
        if !says(status, want, "phase 1") {
            return None;
        }
        self.made(Kind::Executor, handle);
        let bound = |problem: Problem| {
            let used = call.memory.iter().filter(|(tensor, ..)| problem.slot(*tensor).is_some());
            let all = if problem.early_success().is_some() { 0 } else { usize::MAX };
            used.take(all).map(|(_, address, bytes)| (*address, *bytes)).collect()
        };
        let memory = if as_made && !no_mask { call.checked.ok().map(bound) } else { None };
        let executor = Executor { handle, operator: call.operator, workspace, repeatable: false, memory };
        self.executors.push(executor);
        Some(handle)
    }

    /// Phase 2; whether it was put on the stream.
    fn run(&mut self, operator: Option<Operator>, handle: Handle, workspace: Workspace, stream: Handle) -> bool {
        let found = self.is(Kind::Executor, handle).then(|| self.executor(handle).clone());
        let asked = found.as_ref().map_or(0, |executor| executor.workspace);
        let operator =
            operator.or(found.as_ref().map(|executor| executor.operator)).unwrap_or(Operator::Im2colBackward);
        let place = match workspace {
            Workspace::Null => 0,
            _ if asked == 0 || !self.context => 0,
            _ => self.malloc(usize::try_from(asked).expect("64 bits")).unwrap_or(0),
        };
        if let (Workspace::Freed, true) = (workspace, place != 0 && self.alone) {
            says(aclrtFree(place), &[0], "aclrtFree of a workspace");
            self.live.remove(&place);
        }
        let size = if let Workspace::Short = workspace { asked.saturating_sub(1) } else { asked };
        let mut used_up = false;
        let want: Vec<i32> = match &found {
            None => vec![self.status_of(Kind::Executor, handle)],
            Some(executor) if executor.operator != operator => vec![code::PARAM_INVALID],
            Some(_) if size > 0 && place == 0 => {
                used_up = true;
                vec![code::PARAM_NULLPTR]
            }
            Some(_) if size < asked => vec![code::PARAM_INVALID],
            Some(_) if !self.context || stream != 0 && !self.is(Kind::Stream, stream) => vec![code::RUNTIME_ERROR],
            Some(Executor { memory: None, .. }) => vec![0, code::PARAM_INVALID, code::PARAM_NULLPTR],
            Some(Executor { memory: Some(memory), .. }) => {
                let bound = memory.iter().all(|&(address, bytes)| self.holds(address, bytes));
                let there = asked == 0 || self.holds(place, usize::try_from(asked).expect("64 bits"));
                vec![if bound && there { 0 } else { code::PARAM_INVALID }]
            }
        };
        let ran = says(phase_2(operator, place, size, handle, stream), &want, "phase 2");
        if let Some(executor) = found.filter(|executor| (ran || used_up) && !executor.repeatable) {
            self.dies(executor.handle);
        }
        ran
    }

    fn destroy(&mut self, kind: Kind, handle: Handle) {
        let (function, null, dead): (extern "C" fn(Handle) -> i32, _, _) = match kind {
            Kind::Tensor => (aclDestroyTensor, 0, code::PARAM_INVALID),
            Kind::Ints => (aclDestroyIntArray, 0, code::PARAM_INVALID),
            Kind::Bools => (aclDestroyBoolArray, 0, code::PARAM_INVALID),
            Kind::Stream => {
                let stuck = self.events.is_stuck(handle);
                let destroy = if stuck { aclrtDestroyStreamForce } else { aclrtDestroyStream };
                (destroy, code::INVALID_PARAM, code::RT_INVALID_HANDLE)
            }
            Kind::Event => (aclrtDestroyEvent, code::INVALID_PARAM, code::RT_INVALID_HANDLE),
            Kind::Executor => (aclDestroyAclOpExecutor, code::PARAM_NULLPTR, code::PARAM_INVALID),
        };
        let alive = self.is(kind, handle);
        let want = if handle == 0 {
            null
        } else if alive {
            0
        } else {
            dead
        };
        says(function(handle), &[want], &format!("the end of {kind:?}"));
        if alive {
            self.dies(handle);
        }
    }

    /// The device has ended, and all that was on it.
    fn released(&mut self, is: bool) {
        if is {
            self.uses = 0;
            self.context = false;
            self.live.clear();
            self.events = Events::new();
            for object in self.objects.iter_mut().filter(|(kind, ..)| matches!(kind, Kind::Stream | Kind::Event)) {
                object.2 = false;
            }
        }
    }

    /// Whether this thread has a context.
    pub(super) const fn has_context(&self) -> bool {
        self.context
    }

    /// A handle, be it alive or not; null where there is none.
    pub(super) fn picked(&self, kind: Kind, Pick(pick): Pick) -> Handle {
        let any = pick % 16 == 15;
        let these: Vec<_> = self.objects.iter().filter(|(of, ..)| any || *of == kind).collect();
        match usize::from(pick / 16) {
            0 if any => 0,
            i => these.iter().rev().nth(i % these.len().max(1)).map_or(0, |object| object.1),
        }
    }

    pub(super) fn is(&self, kind: Kind, handle: Handle) -> bool {
        self.objects.contains(&(kind, handle, true))
    }

    pub(super) fn dies(&mut self, handle: Handle) {
        self.objects.iter_mut().filter(|object| object.1 == handle).for_each(|object| object.2 = false);
    }

    /// What the functions of `aclnn` say to a handle.
    fn status_of(&self, kind: Kind, handle: Handle) -> i32 {
        match handle {
            0 => code::PARAM_NULLPTR,
            _ if self.is(kind, handle) => 0,
            _ => code::PARAM_INVALID,
        }
    }

    fn executor(&mut self, handle: Handle) -> &mut Executor {
        self.executors.iter_mut().find(|executor| executor.handle == handle).expect("made by phase 1")
    }

    /// Whether so many bytes are there, in one allocation.
    fn holds(&self, address: Handle, bytes: usize) -> bool {
        let allocation = self.live.range(..=address).next_back();
        allocation.is_some_and(|(start, len)| address < start + len && address + bytes <= start + len)
    }
}
