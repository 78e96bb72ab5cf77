//! ReplicationPad2dBackward for C.

mod described;

use ubtile_kernels::replication_pad2d_backward::{self as kernel, Inputs, Outputs};
use ubtile_tiling::Status;

use crate::held;
use crate::memory::{disjoint, read, write};
use crate::operator;
use crate::types::{Level, Options, Target, code, level as chosen, of_run};

pub use described::*;

/// Checks a problem, plans it for a target, and says how many bytes of workspace a run needs. `options` may be NULL.
/// `workspace_bytes` may be NULL. Takes no data: alignment and overlap are checked by the run.
///
/// # Safety
/// Each pointer is NULL or points to its struct; the last two are written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ubtile_replication_pad2d_backward_plan(
    desc: *const ReplicationPadDesc,
    target: *const Target,
    options: *const Options,
    tiling: *mut ReplicationPadTiling,
    workspace_bytes: *mut usize,
) -> i32 {
    // SAFETY: the caller's promise.
    code(unsafe { operator::plan(desc, target, options, tiling, workspace_bytes) })
}

/// Writes a plan as UBTILE_REPLICATION_PAD2D_BACKWARD_STORED_BYTES bytes, which `len` must be: 64-bit words, little endian on
/// every machine, with the version of the format, the description, the target, the options and a digest. `options` may be NULL.
///
/// # Safety
/// Each pointer is NULL or points to its struct, `bytes` to `len` bytes, which are written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ubtile_replication_pad2d_backward_store(
    desc: *const ReplicationPadDesc,
    target: *const Target,
    options: *const Options,
    bytes: *mut u8,
    len: usize,
) -> i32 {
    // SAFETY: the caller's promise.
    code(unsafe { operator::store::<ReplicationPadTiling>(desc, target, options, bytes, len) })
}

/// Makes the plan of stored bytes again and compares: bytes that were changed, or that this version of the library plans
/// otherwise, are UBTILE_ERROR_PARAM_INVALID. `len` is UBTILE_REPLICATION_PAD2D_BACKWARD_STORED_BYTES. `desc` gets the description; it and
/// `workspace_bytes` may be NULL. The bytes may start anywhere.
///
/// # Safety
/// Each pointer is NULL or points to its struct, `bytes` to `len` bytes; the last three are written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ubtile_replication_pad2d_backward_load(
    bytes: *const u8,
    len: usize,
    desc: *mut ReplicationPadDesc,
    tiling: *mut ReplicationPadTiling,
    workspace_bytes: *mut usize,
) -> i32 {
    // SAFETY: the caller's promise.
    code(unsafe { operator::load(bytes, len, desc, tiling, workspace_bytes) })
}

/// Phases of a plan: all shares of one are complete before the next one begins. 0 without a plan.
///
/// # Safety
/// `tiling` is NULL or points to a plan.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ubtile_replication_pad2d_backward_phases(tiling: *const ReplicationPadTiling) -> usize {
    // SAFETY: the caller's promise.
    unsafe { operator::phases(tiling) }
}

/// Shares of a phase, which may run at the same time; 0 where there is no such phase.
///
/// # Safety
/// `tiling` is NULL or points to a plan.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ubtile_replication_pad2d_backward_shares(
    tiling: *const ReplicationPadTiling,
    phase: usize,
) -> usize {
    // SAFETY: the caller's promise.
    unsafe { operator::shares(tiling, phase) }
}

/// Tiles of a share. Counting takes time in proportion to them.
///
/// # Safety
/// `tiling` is NULL or points to a plan.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ubtile_replication_pad2d_backward_tiles(
    tiling: *const ReplicationPadTiling,
    phase: usize,
    share: usize,
) -> usize {
    // SAFETY: the caller's promise.
    unsafe { held::get(tiling) }.map_or(0, |plan| plan.tiles(phase, share).count())
}

/// Describes tile number `index` of a share, found with a look at the tiles of two planes at most; UBTILE_ERROR_PARAM_INVALID
/// where there is none.
///
/// # Safety
/// Each pointer is NULL or points to its struct; `info` is written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ubtile_replication_pad2d_backward_tile(
    tiling: *const ReplicationPadTiling,
    phase: usize,
    share: usize,
    index: usize,
    info: *mut ReplicationPadTile,
) -> i32 {
    let describe = || {
        // SAFETY: the caller's promise.
        let plan = unsafe { held::get(tiling) }?;
        let tile = plan.tiles(phase, share).nth(index).ok_or(Status::ParamInvalid)?;
        // SAFETY: the caller's promise.
        unsafe { write(info, ReplicationPadTile::of(plan, &tile)) }
    };
    code(describe())
}

/// Computes a problem on the calling thread. `level` may be NULL: what the library is compiled for. Shapes, strides and
/// alignment as described to the plan; buffers at least as long as the strides reach.
///
/// # Safety
/// Each pointer is NULL or points to its struct, and the buffers to as many bytes as they say.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ubtile_replication_pad2d_backward_run(
    tiling: *const ReplicationPadTiling,
    level: *const Level,
    buffers: *const ReplicationPadBuffers,
) -> i32 {
    let run = || {
        // SAFETY: the caller's promise.
        let (plan, level, buffers) = unsafe { (held::get(tiling)?, chosen(level)?, read(buffers)?) };
        let (grad_output, grad_input) = (buffers.grad_output.bytes()?, buffers.grad_input.bytes()?);
        let workspace = buffers.workspace.bytes()?;
        disjoint(&[grad_input, workspace], &[grad_output])?;
        // SAFETY: the caller's promise, and outputs overlap nothing.
        let (inputs, outputs, workspace) = unsafe {
            let inputs = Inputs { grad_output: grad_output.values(plan.problem().dtype)? };
            (inputs, Outputs { grad_input: grad_input.values_mut(plan.problem().dtype)? }, workspace.own())
        };
        kernel::run(plan, level, inputs, outputs, workspace).map_err(of_run)
    };
    code(run())
}

/// Computes one share of a phase; UBTILE_ERROR_PARAM_INVALID where there is none. Buffers are those of the whole run, the
/// workspace too, which stays between phases; of `grad_input` only the share's own elements are written, so other shares may
/// run at the same time. It looks at the buffers that the share uses, and of outputs at its own elements. Others may be NULL
/// with 0 bytes; if they are not, they are checked alike, and the workspace must be as large as for a whole run.
///
/// # Safety
/// As for `ubtile_replication_pad2d_backward_run`; no other call writes the same share.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ubtile_replication_pad2d_backward_run_share(
    tiling: *const ReplicationPadTiling,
    level: *const Level,
    phase: usize,
    share: usize,
    buffers: *const ReplicationPadBuffers,
) -> i32 {
    let run = || {
        // SAFETY: the caller's promise.
        let (plan, level, buffers) = unsafe { (held::get(tiling)?, chosen(level)?, read(buffers)?) };
        operator::has_share::<ReplicationPadTiling>(plan, phase, share)?;
        let (mut grad_output, grad_input) = (buffers.grad_output.bytes()?, buffers.grad_input.bytes()?);
        let workspace = buffers.workspace.bytes()?;
        operator::has_room::<ReplicationPadTiling>(plan, workspace)?;
        disjoint(&[grad_input, workspace], &[grad_output])?;
        let dtype = plan.problem().dtype;
        for (number, staging) in plan.stagings().enumerate() {
            let copy = operator::copy_in(&staging, workspace);
            if phase == number {
                // SAFETY: the caller's promise; shares own disjoint elements.
                let (inputs, copy) = unsafe {
                    let copy = copy.elements_mut(dtype, &operator::copy_share(&staging, share))?;
                    (Inputs { grad_output: grad_output.values(dtype)? }, copy)
                };
                return kernel::stage_share(plan, phase, share, inputs, copy).map_err(of_run);
            }
            grad_output = copy;
        }
        let range = plan.share_range(phase, share);
        // SAFETY: the caller's promise; shares own disjoint elements, and what they read is complete.
        let (inputs, outputs) = unsafe {
            let inputs = Inputs { grad_output: grad_output.values(dtype)? };
            (inputs, Outputs { grad_input: grad_input.elements_mut(dtype, &range)? })
        };
        kernel::run_share(plan, level, phase, share, inputs, outputs).map_err(of_run)
    };
    code(run())
}

/// Computes tile number `index` of a share on boxes. Tiles of a share come in order.
///
/// # Safety
/// Each pointer is NULL or points to its struct, and the boxes to as many bytes as they say.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ubtile_replication_pad2d_backward_run_tile(
    tiling: *const ReplicationPadTiling,
    level: *const Level,
    phase: usize,
    share: usize,
    index: usize,
    boxes: *const ReplicationPadBoxes,
) -> i32 {
    let run = || {
        // SAFETY: the caller's promise.
        let (plan, level, boxes) = unsafe { (held::get(tiling)?, chosen(level)?, read(boxes)?) };
        let tile = plan.tiles(phase, share).nth(index).ok_or(Status::ParamInvalid)?;
        let (grad_output, sums) = (boxes.grad_output.bytes()?, boxes.sums.bytes()?);
        let grad_input = boxes.grad_input.bytes()?;
        disjoint(&[grad_input, sums], &[grad_output])?;
        let dtype = plan.problem().dtype;
        // SAFETY: the caller's promise, and the outputs overlap nothing.
        let (inputs, outputs, sums) = unsafe {
            let inputs = Inputs { grad_output: grad_output.values(dtype)? };
            (inputs, Outputs { grad_input: grad_input.values_mut(dtype)? }, sums.values_mut(plan.sums_dtype())?)
        };
        kernel::run_tile(plan, level, &tile, inputs, outputs, sums).map_err(of_run)
    };
    code(run())
}
