//! The one device: whether the library is initialised, and what is on the device.

use std::collections::BTreeMap;

use crate::context::{self, Context};
use crate::event::Event;
use crate::failure::{Failure, Outcome, code};
use crate::memory::{self, Place};
use crate::monitor::{Guard, Monitor};
use crate::registry::Registry;
use crate::shared::Shared;
use crate::soc;
use crate::stream::Stream;

/// The only device there is.
pub(crate) const DEVICE: i32 = 0;

pub(crate) static STREAMS: Registry<Stream> = Registry::new("aclrtStream");
pub(crate) static EVENTS: Registry<Event> = Registry::new("aclrtEvent");
pub(crate) static CONTEXTS: Registry<Context> = Registry::new("aclrtContext");

static STATE: Monitor<State> = Monitor::new(State::new());

struct State {
    /// Whether aclInit was called, and whether aclnnInit was; either makes the library ready.
    by_runtime: bool,
    by_operators: bool,
    /// Calls of aclrtSetDevice without their aclrtResetDevice.
    uses: u32,
    /// The context that aclrtSetDevice makes.
    default: Option<usize>,
    /// Options of the process.
    options: BTreeMap<i32, i64>,
}

impl State {
    const fn new() -> Self {
        Self { by_runtime: false, by_operators: false, uses: 0, default: None, options: BTreeMap::new() }
    }

    const fn is_initialised(&self) -> bool {
        self.by_runtime || self.by_operators
    }
}

/// Makes the library ready, as aclInit does.
pub(crate) fn initialise() -> Outcome {
    soc::chosen()?;
    let mut state = STATE.lock();
    if state.by_runtime {
        return Err(Failure::new(code::REPEAT_INITIALIZE, "the library is initialised already"));
    }
    state.by_runtime = true;
    Ok(())
}

/// Makes the library ready, as aclnnInit does.
pub(crate) fn initialise_operators() -> Outcome {
    soc::chosen()?;
    STATE.lock().by_operators = true;
    Ok(())
}

/// Ends everything that is left: contexts, streams, events and device memory.
pub(crate) fn finalise() -> Outcome {
    let state = STATE.lock();
    if !state.is_initialised() {
        return Err(Failure::new(code::REPEAT_FINALIZE, "the library is not initialised, or was finalised before"));
    }
    end(state);
    Ok(())
}

/// Takes aclnnInit back; ends everything if only that made the library ready.
pub(crate) fn finalise_operators() -> Outcome {
    let mut state = STATE.lock();
    if state.by_operators && !state.by_runtime {
        end(state);
    } else {
        state.by_operators = false;
    }
    Ok(())
}

fn end(mut state: Guard<'_, State>) {
    *state = State::new();
    release(state);
}

/// Ends all that is on the device. It is taken while the state is locked, so that what another thread makes from then on is
/// not among it, and ended after that, since tasks may call clients who use the library.
fn release(state: Guard<'_, State>) {
    // In this order, so that the events that streams wait for are among the events.
    let (streams, events) = (STREAMS.remove_where(|_| true), EVENTS.remove_where(|_| true));
    let (contexts, memory) = (CONTEXTS.remove_where(|_| true), memory::take_all(Place::Device));
    drop(state);
    events.iter().for_each(|event| event.retire());
    end_streams(&streams);
    // Tasks that have read memory by its address are done.
    drop((contexts, memory));
}

/// Ends streams after their tasks: no one takes more before the first is waited for, as one may wait for another.
fn end_streams(streams: &[Shared<Stream>]) {
    streams.iter().for_each(|stream| stream.shut());
    streams.iter().for_each(|stream| stream.close(false));
}

/// The only device id there is.
pub(crate) fn check_id(id: i32) -> Outcome {
    if id == DEVICE {
        return Ok(());
    }
    Err(Failure::new(code::RT_INVALID_DEVICEID, format!("deviceId is {id}: there is one device, {DEVICE}")))
}

/// Makes the device's default context this thread's.
pub(crate) fn set(id: i32) -> Outcome {
    check_id(id)?;
    let mut state = STATE.lock();
    ready(&state)?;
    let context = *state.default.get_or_insert_with(|| CONTEXTS.insert(Context::new()));
    state.uses = state.uses.saturating_add(1);
    context::make_current(context);
    Ok(())
}

fn ready(state: &State) -> Outcome {
    if state.is_initialised() {
        return Ok(());
    }
    Err(Failure::new(code::UNINITIALIZE, "the library is not initialised: aclInit comes first"))
}

/// Takes one use of the device back; the last one, or `force`, ends all that is on it.
pub(crate) fn reset(id: i32, force: bool) -> Outcome {
    check_id(id)?;
    let mut state = STATE.lock();
    ready(&state)?;
    if state.uses == 0 {
        return Err(Failure::new(code::RT_INVALID_DEVICEID, "the device is not set, or was reset before"));
    }
    state.uses = if force { 0 } else { state.uses - 1 };
    if state.uses > 0 {
        return Ok(());
    }
    state.default = None;
    release(state);
    Ok(())
}

/// Makes a context, this thread's from now on.
pub(crate) fn create_context(id: i32) -> Outcome<usize> {
    check_id(id)?;
    // Locked until the context is there, so that it is ended with what was made before it or stays with what comes after.
    let state = STATE.lock();
    ready(&state)?;
    let context = CONTEXTS.insert(Context::new());
    context::make_current(context);
    Ok(context)
}

/// Ends a context that [`create_context`] made, and its streams.
pub(crate) fn destroy_context(handle: usize) -> Outcome {
    CONTEXTS.get("context", handle, code::INVALID_PARAM, code::RT_CONTEXT_NULL)?;
    if STATE.lock().default == Some(handle) {
        return Err(Failure::new(code::RT_PARAM_INVALID, "context is the device's default: aclrtResetDevice ends it"));
    }
    CONTEXTS.remove("context", handle, code::RT_CONTEXT_NULL)?;
    end_streams(&STREAMS.remove_where(|stream| stream.context == handle));
    Ok(())
}

/// Whether the device's default context is there.
pub(crate) fn is_active() -> bool {
    STATE.lock().default.is_some()
}

/// Sets an option for contexts that do not have their own.
pub(crate) fn set_process_option(option: i32, value: i64) -> Outcome {
    STATE.lock().options.insert(option, value);
    Ok(())
}

/// An option of the process.
pub(crate) fn process_option(option: i32) -> Outcome<i64> {
    let none = || Failure::new(code::RT_SYSPARAMOPT_NOT_SET, format!("opt {option} has not been set"));
    STATE.lock().options.get(&option).copied().ok_or_else(none)
}
