//! Events.

use super::{out, timeout};
use crate::context;
use crate::device::EVENTS;
use crate::event::{Event, TIME_LINE};
use crate::failure::{Failure, Outcome, code, status};
use crate::shared::Shared;
use crate::stream::Task;

fn event(name: &str, handle: usize) -> Outcome<Shared<Event>> {
    EVENTS.get(name, handle, code::INVALID_PARAM, code::RT_INVALID_HANDLE)
}

fn create(place: *mut usize, flags: u32) -> Outcome {
    let place = out("event", place)?;
    context::current()?;
    place.set(EVENTS.insert(Event::new(flags)));
    Ok(())
}

#[unsafe(no_mangle)]
extern "C" fn aclrtCreateEvent(event: *mut usize) -> i32 {
    status("aclrtCreateEvent", || create(event, TIME_LINE))
}

#[unsafe(no_mangle)]
extern "C" fn aclrtCreateEventWithFlag(event: *mut usize, flag: u32) -> i32 {
    status("aclrtCreateEventWithFlag", || create(event, flag))
}

#[unsafe(no_mangle)]
extern "C" fn aclrtCreateEventExWithFlag(event: *mut usize, flag: u32) -> i32 {
    status("aclrtCreateEventExWithFlag", || create(event, flag))
}

#[unsafe(no_mangle)]
extern "C" fn aclrtDestroyEvent(handle: usize) -> i32 {
    status("aclrtDestroyEvent", || {
        event("event", handle)?;
        EVENTS.remove("event", handle, code::RT_INVALID_HANDLE)?.retire();
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclrtRecordEvent(handle: usize, stream: usize) -> i32 {
    status("aclrtRecordEvent", || {
        let (event, stream) = (event("event", handle)?, context::stream(stream)?);
        stream.submit_made(|| Task::Record(event.clone(), event.issue(&stream)))
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclrtResetEvent(handle: usize, stream: usize) -> i32 {
    status("aclrtResetEvent", || {
        context::stream(stream)?;
        event("event", handle)?.reset();
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclrtSynchronizeEvent(handle: usize) -> i32 {
    status("aclrtSynchronizeEvent", || event("event", handle)?.synchronize(None))
}

#[unsafe(no_mangle)]
extern "C" fn aclrtSynchronizeEventWithTimeout(handle: usize, milliseconds: i32) -> i32 {
    status("aclrtSynchronizeEventWithTimeout", || {
        let most = timeout(milliseconds)?;
        event("event", handle)?.synchronize(most)
    })
}

/// `ACL_EVENT_STATUS_COMPLETE` is 0, `ACL_EVENT_STATUS_NOT_READY` is 1.
#[unsafe(no_mangle)]
extern "C" fn aclrtQueryEvent(handle: usize, eventStatus: *mut i32) -> i32 {
    status("aclrtQueryEvent", || {
        let place = out("status", eventStatus)?;
        place.set(if event("event", handle)?.is_complete() { 0 } else { 1 });
        Ok(())
    })
}

/// `ACL_EVENT_RECORDED_STATUS_NOT_READY` is 0, `ACL_EVENT_RECORDED_STATUS_COMPLETE` is 1.
#[unsafe(no_mangle)]
extern "C" fn aclrtQueryEventStatus(handle: usize, eventStatus: *mut i32) -> i32 {
    status("aclrtQueryEventStatus", || {
        let place = out("status", eventStatus)?;
        place.set(event("event", handle)?.is_complete().into());
        Ok(())
    })
}

/// `ACL_EVENT_WAIT_STATUS_COMPLETE` is 0, `ACL_EVENT_WAIT_STATUS_NOT_READY` is 1.
#[unsafe(no_mangle)]
extern "C" fn aclrtQueryEventWaitStatus(handle: usize, waitStatus: *mut i32) -> i32 {
    status("aclrtQueryEventWaitStatus", || {
        let place = out("status", waitStatus)?;
        place.set(if event("event", handle)?.is_complete() { 0 } else { 1 });
        Ok(())
    })
}

/// Milliseconds between two events, to the nanosecond.
#[unsafe(no_mangle)]
extern "C" fn aclrtEventElapsedTime(ms: *mut f32, startEvent: usize, endEvent: usize) -> i32 {
    status("aclrtEventElapsedTime", || {
        let place = out("ms", ms)?;
        let start = event("startEvent", startEvent)?.time("startEvent")?;
        let end = event("endEvent", endEvent)?.time("endEvent")?;
        let reversed = || Failure::new(code::RT_EVENT_TIMESTAMP_REVERSAL, "endEvent was passed before startEvent");
        let elapsed = end.checked_duration_since(start).ok_or_else(reversed)?;
        place.set((elapsed.as_secs_f64() * 1e3) as f32);
        Ok(())
    })
}
