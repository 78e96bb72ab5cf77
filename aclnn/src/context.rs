//! Contexts: which one each thread has current, their streams and their options.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::panic::catch_unwind;
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::client;
use crate::device::{self, CONTEXTS, STREAMS};
use crate::failure::{Failure, Outcome, code};
use crate::monitor::Monitor;
use crate::shared::Shared;
use crate::stream::Stream;

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

impl Context {
    pub(crate) fn new() -> Self {
        Self { inner: Monitor::new(Inner::default()) }
    }
}

/// Makes a context that is there this thread's.
pub(crate) fn make_current(handle: usize) {
    CURRENT.set(handle);
}

/// Makes a context this thread's.
pub(crate) fn set(handle: usize) -> Outcome {
    CONTEXTS.get("context", handle, code::INVALID_PARAM, code::RT_CONTEXT_NULL)?;
    make_current(handle);
    Ok(())
}

/// This thread's context.
pub(crate) fn current() -> Outcome<(usize, Shared<Context>)> {
    let handle = CURRENT.get();
    let none = |_| Failure::new(code::RT_CONTEXT_NULL, "this thread has no context: aclrtSetDevice comes first");
    let context = CONTEXTS.get("context", handle, code::RT_CONTEXT_NULL, code::RT_CONTEXT_NULL).map_err(none)?;
    Ok((handle, context))
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
pub(crate) fn set_option(option: i32, value: i64) -> Outcome {
    let (_, context) = current()?;
    context.inner.lock().options.insert(option, value);
    Ok(())
}

/// An option of this thread's context, or else of the process.
pub(crate) fn option(option: i32) -> Outcome<i64> {
    let (_, context) = current()?;
    let own = context.inner.lock().options.get(&option).copied();
    own.map_or_else(|| device::process_option(option), Ok)
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
    use crate::device::{DEVICE, finalise_operators, initialise_operators, reset};
    use crate::event::Event;
    use crate::stream::Task;

    /// Waiting for all streams takes a failure of one alone, so that each is told; where one is not done in time, none.
    #[test]
    fn each_stream_s_failure_is_told_once() {
        initialise_operators().unwrap();
        device::set(DEVICE).unwrap();
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
