//! Why a call fails: a status of the vendor's and a sentence; and how both reach the client.

use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

/// The vendor's statuses that this library returns, by their names in `acl/acl_base.h`, `acl/error_codes/rt_error_codes.h`
/// and `aclnn/acl_meta.h`.
pub(crate) mod code {
    /// `ACL_ERROR_INVALID_PARAM`
    pub(crate) const INVALID_PARAM: i32 = 100_000;
    /// `ACL_ERROR_UNINITIALIZE`
    pub(crate) const UNINITIALIZE: i32 = 100_001;
    /// `ACL_ERROR_REPEAT_INITIALIZE`
    pub(crate) const REPEAT_INITIALIZE: i32 = 100_002;
    /// `ACL_ERROR_INVALID_FILE`
    pub(crate) const INVALID_FILE: i32 = 100_003;
    /// `ACL_ERROR_PARSE_FILE`
    pub(crate) const PARSE_FILE: i32 = 100_006;
    /// `ACL_ERROR_REPEAT_FINALIZE`
    pub(crate) const REPEAT_FINALIZE: i32 = 100_037;
    /// `ACL_ERROR_RT_PARAM_INVALID`
    pub(crate) const RT_PARAM_INVALID: i32 = 107_000;
    /// `ACL_ERROR_RT_INVALID_DEVICEID`
    pub(crate) const RT_INVALID_DEVICEID: i32 = 107_001;
    /// `ACL_ERROR_RT_CONTEXT_NULL`
    pub(crate) const RT_CONTEXT_NULL: i32 = 107_002;
    /// `ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID`
    pub(crate) const RT_EVENT_TIMESTAMP_INVALID: i32 = 107_006;
    /// `ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL`
    pub(crate) const RT_EVENT_TIMESTAMP_REVERSAL: i32 = 107_007;
    /// `ACL_ERROR_RT_STREAM_NO_CB_REG`
    pub(crate) const RT_STREAM_NO_CB_REG: i32 = 107_015;
    /// `ACL_ERROR_RT_INVALID_HANDLE`
    pub(crate) const RT_INVALID_HANDLE: i32 = 107_017;
    /// `ACL_ERROR_RT_SYSPARAMOPT_NOT_SET`
    pub(crate) const RT_SYSPARAMOPT_NOT_SET: i32 = 107_021;
    /// `ACLNN_ERR_PARAM_NULLPTR`
    pub(crate) const PARAM_NULLPTR: i32 = 161_001;
    /// `ACLNN_ERR_PARAM_INVALID`
    pub(crate) const PARAM_INVALID: i32 = 161_002;
    /// `ACL_ERROR_RT_FEATURE_NOT_SUPPORT`
    pub(crate) const RT_FEATURE_NOT_SUPPORT: i32 = 207_000;
    /// `ACL_ERROR_RT_MEMORY_ALLOCATION`
    pub(crate) const RT_MEMORY_ALLOCATION: i32 = 207_001;
    /// `ACL_ERROR_RT_RESOURCE_ALLOC_FAIL`
    pub(crate) const RT_RESOURCE_ALLOC_FAIL: i32 = 207_005;
    /// `ACLNN_ERR_RUNTIME_ERROR`
    pub(crate) const RUNTIME_ERROR: i32 = 361_001;
    /// `ACL_ERROR_INTERNAL_ERROR`
    pub(crate) const INTERNAL_ERROR: i32 = 500_000;
    /// `ACL_ERROR_RT_REPORT_TIMEOUT`
    pub(crate) const RT_REPORT_TIMEOUT: i32 = 507_012;
    /// `ACL_ERROR_RT_STREAM_SYNC_TIMEOUT`
    pub(crate) const RT_STREAM_SYNC_TIMEOUT: i32 = 507_046;
    /// `ACL_ERROR_RT_EVENT_SYNC_TIMEOUT`
    pub(crate) const RT_EVENT_SYNC_TIMEOUT: i32 = 507_047;
    /// `ACLNN_ERR_INNER_TILING_ERROR`
    pub(crate) const INNER_TILING_ERROR: i32 = 561_002;
}

/// A status other than success, and what it means here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) code: i32,
    pub(crate) message: String,
}

impl Failure {
    pub(crate) fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// The same with another status, for a layer that has its own.
    pub(crate) fn coded(self, code: i32) -> Self {
        Self { code, ..self }
    }
}

/// What a call gives.
pub(crate) type Outcome<T = ()> = Result<T, Failure>;

thread_local! {
    /// What this thread's failed calls say: the message that was last handed out, and the one that waits.
    static RECENT: RefCell<Recent> = const { RefCell::new(Recent { given: None, waiting: None, last: 0 }) };
}

struct Recent {
    given: Option<CString>,
    waiting: Option<String>,
    last: i32,
}

/// Runs a function of the API and gives its status. A failure's message is kept for [`recent`].
pub(crate) fn status(function: &str, body: impl FnOnce() -> Outcome) -> i32 {
    value(function, body).map_or_else(|code| code, |()| 0)
}

/// Runs a function of the API that gives a handle. A failure's message is kept for [`recent`], and the client sees null.
pub(crate) fn value<T>(function: &str, body: impl FnOnce() -> Outcome<T>) -> Result<T, i32> {
    // A defect of this library must not take the client's process down.
    let outcome = catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|_| Err(defect()));
    outcome.map_err(|Failure { code, message }| {
        let text = format!("{function}: {message} [{code}]");
        // A thread that is going away has no use for it.
        let _ = RECENT.try_with(|recent| {
            let mut recent = recent.borrow_mut();
            recent.waiting = Some(text);
            recent.last = code;
        });
        code
    })
}

/// What is left to say when this library panicked.
pub(crate) fn defect() -> Failure {
    Failure::new(code::INTERNAL_ERROR, "a defect of this library; what it was is on stderr")
}

/// This thread's last message, once; null when no call has failed since. It stays until the next call of this function.
pub(crate) fn recent() -> *const c_char {
    let take = |recent: &RefCell<Recent>| {
        let mut recent = recent.borrow_mut();
        let text = recent.waiting.take()?;
        recent.given = CString::new(text.replace('\0', " ")).ok();
        recent.given.as_ref().map(|text| text.as_ptr())
    };
    RECENT.try_with(take).ok().flatten().unwrap_or(ptr::null())
}

/// The status of this thread's last failed call, which `clear` forgets; 0 when there is none.
pub(crate) fn last_status(clear: bool) -> i32 {
    let look = |recent: &RefCell<Recent>| {
        let mut recent = recent.borrow_mut();
        let last = recent.last;
        if clear {
            recent.last = 0;
        }
        last
    };
    RECENT.try_with(look).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_given_once() {
        assert_eq!(status("aclTest", || Err(Failure::new(7, "size is 3"))), 7);
        assert!(!recent().is_null());
        assert!(recent().is_null());
        assert_eq!((last_status(false), last_status(true), last_status(true)), (7, 7, 0));
    }

    #[test]
    fn a_panic_is_a_status() {
        assert_eq!(status("aclTest", || panic!("on purpose")), code::INTERNAL_ERROR);
    }
}
