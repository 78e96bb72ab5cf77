//! The C library for CANN's clients, by its symbols; what a client's session may do, and what the library must say to it.

use std::ffi::{CStr, c_char};

use ubtile_tiling::Operator;
// Brings the symbols.
use ubtile_aclnn as _;

pub mod calls;
pub mod events;
pub mod session;
pub mod step;

/// A handle, or an address of device memory.
pub type Handle = usize;

/// As the headers name the statuses.
pub mod code {
    /// `ACL_ERROR_INVALID_PARAM`
    pub const INVALID_PARAM: i32 = 100_000;
    /// `ACL_ERROR_UNINITIALIZE`
    pub const UNINITIALIZE: i32 = 100_001;
    /// `ACL_ERROR_REPEAT_INITIALIZE`
    pub const REPEAT_INITIALIZE: i32 = 100_002;
    /// `ACL_ERROR_REPEAT_FINALIZE`
    pub const REPEAT_FINALIZE: i32 = 100_037;
    /// `ACL_ERROR_RT_PARAM_INVALID`
    pub const RT_PARAM_INVALID: i32 = 107_000;
    /// `ACL_ERROR_RT_INVALID_DEVICEID`
    pub const RT_INVALID_DEVICEID: i32 = 107_001;
    /// `ACL_ERROR_RT_CONTEXT_NULL`
    pub const RT_CONTEXT_NULL: i32 = 107_002;
    /// `ACL_ERROR_RT_INVALID_HANDLE`
    pub const RT_INVALID_HANDLE: i32 = 107_017;
    /// `ACLNN_ERR_PARAM_NULLPTR`
    pub const PARAM_NULLPTR: i32 = 161_001;
    /// `ACLNN_ERR_PARAM_INVALID`
    pub const PARAM_INVALID: i32 = 161_002;
    /// `ACLNN_ERR_RUNTIME_ERROR`
    pub const RUNTIME_ERROR: i32 = 361_001;
}

/// `ACL_MEMCPY_HOST_TO_DEVICE`
const TO_DEVICE: i32 = 1;
/// `ACL_MEMCPY_DEVICE_TO_HOST`
const TO_HOST: i32 = 2;
/// `ACL_FORMAT_ND`
const FORMAT_ND: i32 = 2;

// The signatures of `aclnn/include`, with handles and device addresses as numbers. None is unsafe with any number: that is what
// these targets are about. Pointers are to memory of the client's.
unsafe extern "C" {
    safe fn aclInit(config: *const c_char) -> i32;
    safe fn aclFinalize() -> i32;
    safe fn aclrtSetDevice(device: i32) -> i32;
    safe fn aclrtResetDevice(device: i32) -> i32;
    safe fn aclGetRecentErrMsg() -> *const c_char;
    fn aclrtCreateStream(stream: *mut Handle) -> i32;
    safe fn aclrtDestroyStream(stream: Handle) -> i32;
    safe fn aclrtDestroyStreamForce(stream: Handle) -> i32;
    safe fn aclrtSynchronizeStream(stream: Handle) -> i32;
    safe fn aclrtStreamWaitEvent(stream: Handle, event: Handle) -> i32;
    fn aclrtCreateEvent(event: *mut Handle) -> i32;
    safe fn aclrtDestroyEvent(event: Handle) -> i32;
    safe fn aclrtRecordEvent(event: Handle, stream: Handle) -> i32;
    safe fn aclrtSynchronizeEvent(event: Handle) -> i32;
    fn aclrtMalloc(place: *mut Handle, size: usize, policy: i32) -> i32;
    safe fn aclrtFree(address: Handle) -> i32;
    fn aclrtMemcpy(to: *mut u8, most: usize, from: *const u8, count: usize, kind: i32) -> i32;
    fn aclCreateTensor(
        view: *const i64,
        rank: u64,
        dtype: i32,
        strides: *const i64,
        offset: i64,
        format: i32,
        storage: *const i64,
        storage_rank: u64,
        address: Handle,
    ) -> Handle;
    fn aclCreateIntArray(values: *const i64, count: u64) -> Handle;
    fn aclCreateBoolArray(values: *const bool, count: u64) -> Handle;
    safe fn aclDestroyTensor(tensor: Handle) -> i32;
    safe fn aclDestroyIntArray(array: Handle) -> i32;
    safe fn aclDestroyBoolArray(array: Handle) -> i32;
    safe fn aclSetAclOpExecutorRepeatable(executor: Handle) -> i32;
    safe fn aclDestroyAclOpExecutor(executor: Handle) -> i32;
    fn aclnnGridSampler2DBackwardGetWorkspaceSize(
        grad_output: Handle,
        input: Handle,
        grid: Handle,
        interpolation: i64,
        padding: i64,
        align: bool,
        mask: Handle,
        input_grad: Handle,
        grid_grad: Handle,
        bytes: *mut u64,
        executor: *mut Handle,
    ) -> i32;
    fn aclnnMaxUnpool2dBackwardGetWorkspaceSize(
        grad_output: Handle,
        input: Handle,
        indices: Handle,
        output_size: Handle,
        out: Handle,
        bytes: *mut u64,
        executor: *mut Handle,
    ) -> i32;
    fn aclnnReplicationPad2dBackwardGetWorkspaceSize(
        grad_output: Handle,
        input: Handle,
        padding: Handle,
        grad_input: Handle,
        bytes: *mut u64,
        executor: *mut Handle,
    ) -> i32;
    fn aclnnIm2colBackwardGetWorkspaceSize(
        grad_output: Handle,
        input_size: Handle,
        kernel: Handle,
        dilation: Handle,
        padding: Handle,
        stride: Handle,
        out: Handle,
        bytes: *mut u64,
        executor: *mut Handle,
    ) -> i32;
    safe fn aclnnGridSampler2DBackward(workspace: Handle, bytes: u64, executor: Handle, stream: Handle) -> i32;
    safe fn aclnnMaxUnpool2dBackward(workspace: Handle, bytes: u64, executor: Handle, stream: Handle) -> i32;
    safe fn aclnnReplicationPad2dBackward(workspace: Handle, bytes: u64, executor: Handle, stream: Handle) -> i32;
    safe fn aclnnIm2colBackward(workspace: Handle, bytes: u64, executor: Handle, stream: Handle) -> i32;
}

/// A function that stores a number.
fn stored(call: impl FnOnce(*mut Handle) -> i32) -> (i32, Handle) {
    const UNTOUCHED: Handle = 0xa5a5;
    let mut place = UNTOUCHED;
    let status = call(&mut place);
    assert_eq!(status == 0, place != UNTOUCHED, "a result without success, or the other way round");
    (status, place)
}

/// Phase 2 of an operator.
fn phase_2(operator: Operator, workspace: Handle, bytes: u64, executor: Handle, stream: Handle) -> i32 {
    match operator {
        Operator::GridSampler2dBackward => aclnnGridSampler2DBackward(workspace, bytes, executor, stream),
        Operator::MaxUnpool2dBackward => aclnnMaxUnpool2dBackward(workspace, bytes, executor, stream),
        Operator::ReplicationPad2dBackward => aclnnReplicationPad2dBackward(workspace, bytes, executor, stream),
        Operator::Im2colBackward => aclnnIm2colBackward(workspace, bytes, executor, stream),
    }
}

/// A status that must be one of these; a failure says something, once.
pub fn says(got: i32, want: &[i32], what: &str) -> bool {
    assert!(want.contains(&got), "{what}: {got}, expected {want:?}");
    let text = aclGetRecentErrMsg();
    assert_eq!(got != 0, !text.is_null(), "{what}: {got} and its message");
    if got != 0 {
        // SAFETY: not null, and valid until the next call.
        let text = unsafe { CStr::from_ptr(text) }.to_str().expect("UTF-8");
        assert!(text.lines().count() == 1 && text.contains(&got.to_string()), "{text:?}");
    }
    assert!(aclGetRecentErrMsg().is_null(), "{what}: a message is given twice");
    got == 0
}
