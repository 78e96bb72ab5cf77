//! MaxUnpool2dBackward for C.

mod described;

use ubtile_kernels::max_unpool2d_backward::{self as kernel, Inputs, Outputs};
use ubtile_tiling::max_unpool2d_backward::Plan;
use ubtile_tiling::{Status, Tensor as Named};

use crate::held;
use crate::memory::{Bytes, disjoint, read, write};
use crate::operator;
use crate::types::{Level, Options, Output, Target, code, level as chosen, of_run};

pub use described::*;

/// Checks a problem, plans it for a target, and says how many bytes of workspace a run needs. `options` may be NULL.
/// `workspace_bytes` may be NULL. Takes no data: alignment and overlap are checked by the run.
///
/// # Safety
/// Each pointer is NULL or points to its struct; the last two are written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ubtile_max_unpool2d_backward_plan(
    desc: *const MaxUnpoolDesc,
    target: *const Target,
    options: *const Options,
    tiling: *mut MaxUnpoolTiling,
    workspace_bytes: *mut usize,
) -> i32 {
    // SAFETY: the caller's promise.
    code(unsafe { operator::plan(desc, target, options, tiling, workspace_bytes) })
}

/// Writes a plan as UBTILE_MAX_UNPOOL2D_BACKWARD_STORED_BYTES bytes, which `len` must be: 64-bit words, little endian on
/// every machine, with the version of the format, the description, the target, the options and a digest. `options` may be NULL.
///
/// # Safety
/// Each pointer is NULL or points to its struct, `bytes` to `len` bytes, which are written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ubtile_max_unpool2d_backward_store(
    desc: *const MaxUnpoolDesc,
    target: *const Target,
    options: *const Options,
    bytes: *mut u8,
    len: usize,
) -> i32 {
    // SAFETY: the caller's promise.
    code(unsafe { operator::store::<MaxUnpoolTiling>(desc, target, options, bytes, len) })
}

/// Makes the plan of stored bytes again and compares: bytes that were changed, or that this version of the library plans
/// otherwise, are UBTILE_ERROR_PARAM_INVALID. `len` is UBTILE_MAX_UNPOOL2D_BACKWARD_STORED_BYTES. `desc` gets the description; it and
/// `workspace_bytes` may be NULL. The bytes may start anywhere.
///
/// # Safety
/// Each pointer is NULL or points to its struct, `bytes` to `len` bytes; the last three are written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ubtile_max_unpool2d_backward_load(
    bytes: *const u8,
    len: usize,
    desc: *mut MaxUnpoolDesc,
    tiling: *mut MaxUnpoolTiling,
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
pub unsafe extern "C" fn ubtile_max_unpool2d_backward_phases(tiling: *const MaxUnpoolTiling) -> usize {
    // SAFETY: the caller's promise.
    unsafe { operator::phases(tiling) }
}

/// Shares of a phase, which may run at the same time; 0 where there is no such phase.
///
/// # Safety
/// `tiling` is NULL or points to a plan.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ubtile_max_unpool2d_backward_shares(tiling: *const MaxUnpoolTiling, phase: usize) -> usize {
    // SAFETY: the caller's promise.
    unsafe { operator::shares(tiling, phase) }
}

/// Tiles of a share. Counting takes time in proportion to them.
///
/// # Safety
/// `tiling` is NULL or points to a plan.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ubtile_max_unpool2d_backward_tiles(
    tiling: *const MaxUnpoolTiling,
    phase: usize,
    share: usize,
) -> usize {
    // SAFETY: the caller's promise.
    unsafe { held::get(tiling) }.map_or(0, |plan| plan.tiles(phase, share).count())
}

/// Describes tile number `index` of a share, found without a look at those before; UBTILE_ERROR_PARAM_INVALID where there
/// is none.
///
/// # Safety
/// Each pointer is NULL or points to its struct; `info` is written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ubtile_max_unpool2d_backward_tile(
    tiling: *const MaxUnpoolTiling,
    phase: usize,
    share: usize,
    index: usize,
    info: *mut MaxUnpoolTile,
) -> i32 {
    let describe = || {
        // SAFETY: the caller's promise.
        let plan = unsafe { held::get(tiling) }?;
        let tile = plan.tiles(phase, share).nth(index).ok_or(Status::ParamInvalid)?;
        // SAFETY: the caller's promise.
        unsafe { write(info, MaxUnpoolTile::of(plan, &tile)) }
    };
    code(describe())
}

/// Computes a problem on the calling thread. `level` may be NULL: what the library is compiled for. Shapes, strides and
/// alignment as described to the plan; buffers at least as long as the strides reach. An index outside of the plane is
/// UBTILE_ERROR_RUNTIME: nothing is read through it, and `out` is 0 there.
///
/// # Safety
/// Each pointer is NULL or points to its struct, and the buffers to as many bytes as they say.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ubtile_max_unpool2d_backward_run(
    tiling: *const MaxUnpoolTiling,
    level: *const Level,
    buffers: *const MaxUnpoolBuffers,
) -> i32 {
    let run = || {
        // SAFETY: the caller's promise.
        let (plan, level, buffers) = unsafe { (held::get(tiling)?, chosen(level)?, read(buffers)?) };
        let all = Memory::of(buffers)?;
        // SAFETY: the caller's promise, and `out` and the workspace overlap nothing.
        let (inputs, out, workspace) =
            unsafe { (all.inputs(plan)?, all.out.values_mut(plan.problem().out_dtype)?, all.workspace.own()) };
        kernel::run(plan, level, inputs, Outputs { out }, workspace).map_err(of_run)
    };
    code(run())
}

/// Computes one share of a phase; UBTILE_ERROR_PARAM_INVALID where there is none. Buffers are those of the whole run, the
/// workspace too, which stays between phases; of `out` only the share's own elements are written, so other shares may run at
/// the same time. An index outside of the plane is UBTILE_ERROR_RUNTIME, as for a whole run. It looks at the buffers that the
/// share uses, and of outputs at its own elements. Others may be NULL with 0 bytes; if they are not, they are checked alike,
/// and the workspace must be as large as for a whole run.
///
/// # Safety
/// As for `ubtile_max_unpool2d_backward_run`; no other call writes the same share.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ubtile_max_unpool2d_backward_run_share(
    tiling: *const MaxUnpoolTiling,
    level: *const Level,
    phase: usize,
    share: usize,
    buffers: *const MaxUnpoolBuffers,
) -> i32 {
    let run = || {
        // SAFETY: the caller's promise.
        let (plan, level, buffers) = unsafe { (held::get(tiling)?, chosen(level)?, read(buffers)?) };
        operator::has_share::<MaxUnpoolTiling>(plan, phase, share)?;
        let mut all = Memory::of(buffers)?;
        operator::has_room::<MaxUnpoolTiling>(plan, all.workspace)?;
        if let Some(staging) = plan.stagings().nth(phase) {
            let (dtype, elements) = (staging.slot.dtype, operator::copy_share(&staging, share));
            // SAFETY: the caller's promise; shares own disjoint elements.
            let (inputs, copy) = unsafe {
                (all.inputs(plan)?, operator::copy_in(&staging, all.workspace).elements_mut(dtype, &elements)?)
            };
            return kernel::stage_share(plan, phase, share, inputs, copy).map_err(of_run);
        }
        all.take_copies(plan);
        let range = plan.share_range(phase, share);
        // SAFETY: the caller's promise; shares own disjoint elements, and what they read is complete.
        let (inputs, out) = unsafe { (all.inputs(plan)?, all.out.elements_mut(plan.problem().out_dtype, &range)?) };
        kernel::run_share(plan, level, phase, share, inputs, Outputs { out }).map_err(of_run)
    };
    code(run())
}

/// Computes tile number `index` of a share on boxes without gaps: of `grad_output` the slice `cells`, of `indices` and `out` the
/// run `elements`, which stays while tiles accumulate. Tiles of a share come in order. An index outside of the plane is
/// UBTILE_ERROR_RUNTIME, as for a whole run.
///
/// # Safety
/// Each pointer is NULL or points to its struct, and the boxes to as many bytes as they say.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ubtile_max_unpool2d_backward_run_tile(
    tiling: *const MaxUnpoolTiling,
    level: *const Level,
    phase: usize,
    share: usize,
    index: usize,
    boxes: *const MaxUnpoolBuffers,
) -> i32 {
    let run = || {
        // SAFETY: the caller's promise.
        let (plan, level, boxes) = unsafe { (held::get(tiling)?, chosen(level)?, read(boxes)?) };
        let tile = plan.tiles(phase, share).nth(index).ok_or(Status::ParamInvalid)?;
        let all = Memory::of(&MaxUnpoolBuffers { workspace: Output::EMPTY, ..*boxes })?;
        // SAFETY: the caller's promise, and `out` overlaps nothing.
        let (inputs, out) = unsafe { (all.inputs(plan)?, all.out.values_mut(plan.problem().out_dtype)?) };
        kernel::run_tile(plan, level, &tile, inputs, Outputs { out }).map_err(of_run)
    };
    code(run())
}

/// The buffers of a run, which do not overlap where they must not.
struct Memory {
    grad_output: Bytes,
    indices: Bytes,
    out: Bytes,
    workspace: Bytes,
}

impl Memory {
    fn of(buffers: &MaxUnpoolBuffers) -> Result<Self, Status> {
        let (grad_output, indices) = (buffers.grad_output.bytes()?, buffers.indices.bytes()?);
        let (out, workspace) = (buffers.out.bytes()?, buffers.workspace.bytes()?);
        disjoint(&[out, workspace], &[grad_output, indices])?;
        Ok(Self { grad_output, indices, out, workspace })
    }

    /// Reads the copies of inputs that the plan has made instead of them.
    fn take_copies(&mut self, plan: &Plan) {
        for staging in plan.stagings() {
            let copied = if staging.slot.tensor == Named::Indices { &mut self.indices } else { &mut self.grad_output };
            *copied = operator::copy_in(&staging, self.workspace);
        }
    }

    /// # Safety
    /// The buffers point to as many bytes as they say, and nothing writes them.
    unsafe fn inputs<'a>(&self, plan: &Plan) -> Result<Inputs<'a>, Status> {
        // SAFETY: the caller's promise.
        unsafe {
            let grad_output = self.grad_output.values(plan.problem().dtype)?;
            Ok(Inputs { grad_output, indices: self.indices.values(plan.problem().index_dtype)? })
        }
    }
}
