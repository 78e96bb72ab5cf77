//! Streams, and callbacks in them.

use std::ffi::c_void;
use std::sync::atomic::Ordering;

use super::{out, timeout};
use crate::client::{self, Callback};
use crate::context;
use crate::device::EVENTS;
use crate::failure::{Failure, code, status};
use crate::reports::Reports;
use crate::stream::Task;

#[unsafe(no_mangle)]
extern "C" fn aclrtCreateStream(stream: *mut usize) -> i32 {
    status("aclrtCreateStream", || {
        let place = out("stream", stream)?;
        place.set(context::create_stream(0, 0)?);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclrtCreateStreamWithConfig(stream: *mut usize, priority: u32, flag: u32) -> i32 {
    status("aclrtCreateStreamWithConfig", || {
        let place = out("stream", stream)?;
        place.set(context::create_stream(priority, flag)?);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclrtDestroyStream(stream: usize) -> i32 {
    status("aclrtDestroyStream", || context::destroy_stream(stream, false))
}

#[unsafe(no_mangle)]
extern "C" fn aclrtDestroyStreamForce(stream: usize) -> i32 {
    status("aclrtDestroyStreamForce", || context::destroy_stream(stream, true))
}

#[unsafe(no_mangle)]
extern "C" fn aclrtSynchronizeStream(stream: usize) -> i32 {
    status("aclrtSynchronizeStream", || context::stream(stream)?.synchronize(None, code::RT_STREAM_SYNC_TIMEOUT))
}

#[unsafe(no_mangle)]
extern "C" fn aclrtSynchronizeStreamWithTimeout(stream: usize, milliseconds: i32) -> i32 {
    status("aclrtSynchronizeStreamWithTimeout", || {
        let most = timeout(milliseconds)?;
        context::stream(stream)?.synchronize(most, code::RT_STREAM_SYNC_TIMEOUT)
    })
}

/// `ACL_STREAM_STATUS_COMPLETE` is 0, `ACL_STREAM_STATUS_NOT_READY` is 1.
#[unsafe(no_mangle)]
extern "C" fn aclrtStreamQuery(stream: usize, streamStatus: *mut i32) -> i32 {
    status("aclrtStreamQuery", || {
        let place = out("status", streamStatus)?;
        place.set(if context::stream(stream)?.is_idle() { 0 } else { 1 });
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclrtStreamGetId(stream: usize, streamId: *mut i32) -> i32 {
    status("aclrtStreamGetId", || {
        let place = out("streamId", streamId)?;
        place.set(context::stream(stream)?.id);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclrtStreamGetPriority(stream: usize, priority: *mut u32) -> i32 {
    status("aclrtStreamGetPriority", || {
        let place = out("priority", priority)?;
        place.set(context::stream(stream)?.priority);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclrtStreamGetFlags(stream: usize, flags: *mut u32) -> i32 {
    status("aclrtStreamGetFlags", || {
        let place = out("flags", flags)?;
        place.set(context::stream(stream)?.flags);
        Ok(())
    })
}

/// `ACL_CONTINUE_ON_FAILURE` is 0, `ACL_STOP_ON_FAILURE` is 1.
#[unsafe(no_mangle)]
extern "C" fn aclrtSetStreamFailureMode(stream: usize, mode: u64) -> i32 {
    status("aclrtSetStreamFailureMode", || {
        if mode > 1 {
            return Err(Failure::new(code::INVALID_PARAM, format!("mode is {mode}: 0 or 1 is required")));
        }
        context::stream(stream)?.stops_on_failure.store(mode == 1, Ordering::Relaxed);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclrtStreamWaitEvent(stream: usize, event: usize) -> i32 {
    status("aclrtStreamWaitEvent", || {
        let event = EVENTS.get("event", event, code::INVALID_PARAM, code::RT_INVALID_HANDLE)?;
        let number = event.awaited();
        context::stream(stream)?.submit(Task::Wait(event, number))
    })
}

type Function = Option<unsafe extern "C-unwind" fn(*mut c_void)>;

#[unsafe(no_mangle)]
extern "C" fn aclrtLaunchHostFunc(stream: usize, function: Function, args: *mut c_void) -> i32 {
    status("aclrtLaunchHostFunc", || context::stream(stream)?.submit(Task::Call(Callback::new(function, args)?)))
}

/// Has a stream's callbacks called on the thread with this POSIX id, when that calls aclrtProcessReport.
#[unsafe(no_mangle)]
extern "C" fn aclrtSubscribeReport(threadId: u64, stream: usize) -> i32 {
    status("aclrtSubscribeReport", || {
        context::stream(stream)?.subscribe(Some(Reports::of(threadId)));
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclrtUnSubscribeReport(threadId: u64, stream: usize) -> i32 {
    status("aclrtUnSubscribeReport", || {
        let stream = context::stream(stream)?;
        if stream.subscriber().is_none_or(|reports| reports.thread != threadId) {
            let message = format!("threadId is {threadId}, which takes no reports of this stream");
            return Err(Failure::new(code::RT_STREAM_NO_CB_REG, message));
        }
        stream.subscribe(None);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclrtLaunchCallback(function: Function, userData: *mut c_void, blockType: i32, stream: usize) -> i32 {
    status("aclrtLaunchCallback", || {
        let callback = Callback::new(function, userData)?;
        let stream = context::stream(stream)?;
        let none = || Failure::new(code::RT_STREAM_NO_CB_REG, "no thread takes the stream's reports");
        let reports = stream.subscriber().ok_or_else(none)?;
        stream.submit(Task::Report(reports, callback, blockType != 0))
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclrtProcessReport(milliseconds: i32) -> i32 {
    status("aclrtProcessReport", || {
        let most = timeout(milliseconds)?;
        if Reports::of(client::thread_id()).process(most) {
            return Ok(());
        }
        Err(Failure::new(code::RT_REPORT_TIMEOUT, "no callback came before the timeout has passed"))
    })
}
