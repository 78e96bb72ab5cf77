//! The one device: whether the library is initialised, the contexts of the device, and what each thread has current.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::panic::catch_unwind;
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::client;
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
static CONTEXTS: Registry<Context> = Registry::new("aclrtContext");

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

/// A context.
pub(crate) struct Context {
    inner: Monitor<Inner>,
}

#[derive(Default)]
struct Inner {
    /// The stream for a null handle; made when first used.
    default_stream: Option<(usize, Shared<Stream>)>,
    options: BTreeMap<i32, i64>,
}

thread_local! {
    /// The handle of this thread's context; 0 for none.
    static CURRENT: Cell<usize> = const { Cell::new(0) };
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
    CURRENT.set(context);
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

impl Context {
    fn new() -> Self {
        Self { inner: Monitor::new(Inner::default()) }
    }
}

/// Makes a context, this thread's from now on.
pub(crate) fn create_context(id: i32) -> Outcome<usize> {
    check_id(id)?;
    // Locked until the context is there, so that it is ended with what was made before it or stays with what comes after.
    let state = STATE.lock();
    ready(&state)?;
    let context = CONTEXTS.insert(Context::new());
    CURRENT.set(context);
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

/// Makes a context this thread's.
pub(crate) fn set_context(handle: usize) -> Outcome {
    CONTEXTS.get("context", handle, code::INVALID_PARAM, code::RT_CONTEXT_NULL)?;
    CURRENT.set(handle);
    Ok(())
}

/// This thread's context.
pub(crate) fn current() -> Outcome<(usize, Shared<Context>)> {
    let handle = CURRENT.get();
    let none = |_| Failure::new(code::RT_CONTEXT_NULL, "this thread has no context: aclrtSetDevice comes first");
    let context = CONTEXTS.get("context", handle, code::RT_CONTEXT_NULL, code::RT_CONTEXT_NULL).map_err(none)?;
    Ok((handle, context))
}

/// Whether the device's default context is there.
pub(crate) fn is_active() -> bool {
    STATE.lock().default.is_some()
}

/// A new stream of this thread's context.
pub(crate) fn create_stream(priority: u32, flags: u32) -> Outcome<usize> {
    let (context, _) = current()?;
    end_with_process();
    Ok(STREAMS.insert(Stream::new(context, priority, flags)))
}

/// The stream of a handle; null is the default stream of this thread's context.
pub(crate) fn stream(handle: usize) -> Outcome<Shared<Stream>> {
    let (context, inner) = current()?;
    if handle != 0 {
        return STREAMS.get("stream", handle, code::INVALID_PARAM, code::RT_INVALID_HANDLE);
    }
    Ok(default_stream(context, &inner).1)
}

/// The default stream of this thread's context, with its handle.
pub(crate) fn current_default_stream() -> Outcome<usize> {
    let (context, inner) = current()?;
    Ok(default_stream(context, &inner).0)
}

fn default_stream(context: usize, inner: &Context) -> (usize, Shared<Stream>) {
    let mut inner = inner.inner.lock();
    let made = inner.default_stream.get_or_insert_with(|| {
        end_with_process();
        let stream = Stream::new(context, 0, 0);
        (STREAMS.insert(stream.clone()), stream)
    });
    made.clone()
}

/// Waits for the default stream of this thread's context, with which calls that block are in order.
pub(crate) fn settle_default_stream() -> Outcome {
    let (_, context) = current()?;
    let made = context.inner.lock().default_stream.clone();
    made.map_or(Ok(()), |(_, stream)| stream.finish(None, code::RT_STREAM_SYNC_TIMEOUT))
}

/// Ends a stream: after its tasks, or after the one that it is at.
pub(crate) fn destroy_stream(handle: usize, force: bool) -> Outcome {
    let stream = STREAMS.get("stream", handle, code::INVALID_PARAM, code::RT_INVALID_HANDLE)?;
    let context = CONTEXTS.get("context", stream.context, code::RT_CONTEXT_NULL, code::RT_CONTEXT_NULL);
    if context.is_ok_and(|context| context.inner.lock().default_stream.as_ref().is_some_and(|made| made.0 == handle)) {
        return Err(Failure::new(
            code::RT_PARAM_INVALID,
            "stream is its context's default, which ends with the context",
        ));
    }
    STREAMS.remove("stream", handle, code::RT_INVALID_HANDLE)?.close(force);
    Ok(())
}

/// Waits for all streams of this thread's context and gives the first failure; those of other streams stay for the next time.
pub(crate) fn synchronize(most: Option<Duration>) -> Outcome {
    let (context, _) = current()?;
    let streams = STREAMS.all(|stream| stream.context == context);
    let deadline = most.map(|most| Instant::now() + most);
    streams.iter().try_for_each(|stream| stream.finish(deadline, code::RT_STREAM_SYNC_TIMEOUT))?;
    streams.iter().try_for_each(|stream| stream.take_failure())
}

/// Sets an option of this thread's context.
pub(crate) fn set_context_option(option: i32, value: i64) -> Outcome {
    let (_, context) = current()?;
    context.inner.lock().options.insert(option, value);
    Ok(())
}

/// An option of this thread's context, or else of the process.
pub(crate) fn context_option(option: i32) -> Outcome<i64> {
    let (_, context) = current()?;
    let own = context.inner.lock().options.get(&option).copied();
    own.map_or_else(|| process_option(option), Ok)
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

/// Has streams that a client leaves behind end before the process does, so that no thread runs in what is torn down.
fn end_with_process() {
    /// The process that made a stream last.
    static OWNER: AtomicU32 = AtomicU32::new(0);
    extern "C" fn end() {
        // In a forked child there is nothing to end, and locks may be held by threads that it does not have.
        if OWNER.load(Ordering::Relaxed) == std::process::id() {
            // Nobody is left to be told.
            let _ = catch_unwind(|| {
                let streams = STREAMS.remove_where(|_| true);
                streams.iter().for_each(|stream| stream.abort());
                streams.iter().for_each(|stream| stream.close(true));
            });
        }
    }
    static ONCE: Once = Once::new();
    OWNER.store(std::process::id(), Ordering::Relaxed);
    ONCE.call_once(|| client::at_exit(end));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::Task;

    /// Waiting for all streams takes a failure of one alone, so that each is told; where one is not done in time, none.
    #[test]
    fn each_stream_s_failure_is_told_once() {
        initialise_operators().unwrap();
        set(DEVICE).unwrap();
        let streams = [1, 2, 3].map(|_| stream(create_stream(0, 0).unwrap()).unwrap());
        let fails = |stream: &Shared<Stream>, code: i32| {
            stream.submit(Task::Work(Box::new(move || Err(Failure::new(code, "on purpose"))))).unwrap();
        };
        let told = |most| synchronize(most).map_err(|failure| failure.code);
        fails(&streams[0], 7);
        fails(&streams[1], 8);
        let gate = Shared::new(Event::new(0));
        let number = gate.awaited();
        streams[2].submit(Task::Wait(gate.clone(), number)).unwrap();
        assert_eq!(told(Some(Duration::from_millis(5))), Err(code::RT_STREAM_SYNC_TIMEOUT));
        gate.mark(gate.issue(&streams[2]));
        let mut codes = [told(None), told(None)];
        codes.sort_unstable_by_key(|told| told.err());
        assert_eq!((codes, told(None)), ([Err(7), Err(8)], Ok(())));
        fails(&streams[0], 9);
        fails(&streams[1], 10);
        let first = told(None).unwrap_err();
        let other = &streams[usize::from(first == 9)];
        assert_eq!(other.synchronize(None, 0).unwrap_err().code, 19 - first);
        reset(DEVICE, true).unwrap();
        finalise_operators().unwrap();
    }
}
