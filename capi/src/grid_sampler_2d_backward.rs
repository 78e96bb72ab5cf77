//! GridSampler2DBackward for C.

mod described;

use ubtile_kernels::ValuesMut;
use ubtile_kernels::grid_sampler_2d_backward::{self as kernel, Inputs, Outputs, ShareMemory, ShareOutputs, TileBoxes};
use ubtile_tiling::grid_sampler_2d_backward::Plan;
use ubtile_tiling::{ALIGN, Status};

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
pub unsafe extern "C" fn ubtile_grid_sampler_2d_backward_plan(
    desc: *const GridSamplerDesc,
    target: *const Target,
    options: *const Options,
    tiling: *mut GridSamplerTiling,
    workspace_bytes: *mut usize,
) -> i32 {
    // SAFETY: the caller's promise.
    code(unsafe { operator::plan(desc, target, options, tiling, workspace_bytes) })
}

/// Writes a plan as UBTILE_GRID_SAMPLER_2D_BACKWARD_STORED_BYTES bytes, which `len` must be: 64-bit words, little endian on
/// every machine, with the version of the format, the description, the target, the options and a digest. `options` may be NULL.
///
/// # Safety
/// Each pointer is NULL or points to its struct, `bytes` to `len` bytes, which are written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ubtile_grid_sampler_2d_backward_store(
    desc: *const GridSamplerDesc,
    target: *const Target,
    options: *const Options,
    bytes: *mut u8,
    len: usize,
) -> i32 {
    // SAFETY: the caller's promise.
    code(unsafe { operator::store::<GridSamplerTiling>(desc, target, options, bytes, len) })
}

/// Makes the plan of stored bytes again and compares: bytes that were changed, or that this version of the library plans
/// otherwise, are UBTILE_ERROR_PARAM_INVALID. `len` is UBTILE_GRID_SAMPLER_2D_BACKWARD_STORED_BYTES. `desc` gets the description; it and
/// `workspace_bytes` may be NULL. The bytes may start anywhere.
///
/// # Safety
/// Each pointer is NULL or points to its struct, `bytes` to `len` bytes; the last three are written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ubtile_grid_sampler_2d_backward_load(
    bytes: *const u8,
    len: usize,
    desc: *mut GridSamplerDesc,
    tiling: *mut GridSamplerTiling,
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
pub unsafe extern "C" fn ubtile_grid_sampler_2d_backward_phases(tiling: *const GridSamplerTiling) -> usize {
    // SAFETY: the caller's promise.
    unsafe { operator::phases(tiling) }
}

/// Shares of a phase, which may run at the same time; 0 where there is no such phase.
///
/// # Safety
/// `tiling` is NULL or points to a plan.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ubtile_grid_sampler_2d_backward_shares(
    tiling: *const GridSamplerTiling,
    phase: usize,
) -> usize {
    // SAFETY: the caller's promise.
    unsafe { operator::shares(tiling, phase) }
}

/// Tiles of a share. None in phases that only move or add what is staged, nor where zeros are all there is to write: run such shares.
/// None in `points` either, whose gradients the tiles of `compute` make. Counting takes time in proportion to them.
///
/// # Safety
/// `tiling` is NULL or points to a plan.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ubtile_grid_sampler_2d_backward_tiles(
    tiling: *const GridSamplerTiling,
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
pub unsafe extern "C" fn ubtile_grid_sampler_2d_backward_tile(
    tiling: *const GridSamplerTiling,
    phase: usize,
    share: usize,
    index: usize,
    info: *mut GridSamplerTile,
) -> i32 {
    let describe = || {
        // SAFETY: the caller's promise.
        let plan = unsafe { held::get(tiling) }?;
        let tile = plan.tiles(phase, share).nth(index).ok_or(Status::ParamInvalid)?;
        // SAFETY: the caller's promise.
        unsafe { write(info, GridSamplerTile::of(plan, &tile)) }
    };
    code(describe())
}

/// Computes a problem on the calling thread. `level` may be NULL: what the library is compiled for. Shapes, strides and
/// alignment as described to the plan; buffers at least as long as the strides reach.
///
/// # Safety
/// Each pointer is NULL or points to its struct, and the buffers to as many bytes as they say.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ubtile_grid_sampler_2d_backward_run(
    tiling: *const GridSamplerTiling,
    level: *const Level,
    buffers: *const GridSamplerBuffers,
) -> i32 {
    let run = || {
        // SAFETY: the caller's promise.
        let (plan, level, buffers) = unsafe { (held::get(tiling)?, chosen(level)?, read(buffers)?) };
        let (dtype, all) = (plan.problem().dtype, Memory::of(plan, buffers)?);
        // SAFETY: the caller's promise, and outputs overlap nothing.
        let (outputs, workspace) = unsafe {
            let outputs =
                Outputs { input_grad: all.input_grad.values_mut(dtype)?, grid_grad: all.grid_grad.values_mut(dtype)? };
            (outputs, all.workspace.own())
        };
        // SAFETY: the caller's promise.
        kernel::run(plan, level, unsafe { all.inputs(plan) }?, outputs, workspace).map_err(of_run)
    };
    code(run())
}

/// Computes one share of a phase; UBTILE_ERROR_PARAM_INVALID where there is none. Buffers are those of the whole run, the
/// workspace too, which stays from the first phase to the last; of the outputs only the share's own elements are written, so
/// other shares may run at the same time. It looks at the buffers that the share uses, and of outputs at its own elements.
/// Others may be NULL with 0 bytes; if they are not, they are checked alike, and the workspace must be as large as for a whole
/// run.
///
/// # Safety
/// As for `ubtile_grid_sampler_2d_backward_run`; no other call writes the same share.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ubtile_grid_sampler_2d_backward_run_share(
    tiling: *const GridSamplerTiling,
    level: *const Level,
    phase: usize,
    share: usize,
    buffers: *const GridSamplerBuffers,
) -> i32 {
    let run = || {
        // SAFETY: the caller's promise.
        let (plan, level, buffers) = unsafe { (held::get(tiling)?, chosen(level)?, read(buffers)?) };
        operator::has_share::<GridSamplerTiling>(plan, phase, share)?;
        let (dtype, mut all) = (plan.problem().dtype, Memory::of(plan, buffers)?);
        operator::has_room::<GridSamplerTiling>(plan, all.workspace)?;
        if let Some(staging) = plan.stagings().nth(phase) {
            let copy = operator::copy_in(&staging, all.workspace);
            // SAFETY: the caller's promise; shares own disjoint elements.
            let (inputs, copy) =
                unsafe { (all.inputs(plan)?, copy.elements_mut(dtype, &operator::copy_share(&staging, share))?) };
            return kernel::stage_share(plan, phase, share, inputs, copy).map_err(of_run);
        }
        all.take_copies(plan);
        let (range, parts) = (plan.share_range(phase, share), plan.share_workspace(phase, share));
        let workspace = all.workspace.aligned(ALIGN);
        // SAFETY: the caller's promise; shares own disjoint elements and parts of the workspace, and only read `read`.
        let (outputs, memory) = unsafe {
            let input_grad = |i| match range.input_grad.get(i) {
                none if none.is_empty() => Ok(ValuesMut::U8(&mut [])),
                run => all.input_grad.elements_mut(dtype, &run),
            };
            let outputs = ShareOutputs {
                input_grad: [input_grad(0)?, input_grad(1)?, input_grad(2)?, input_grad(3)?],
                grid_grad: all.grid_grad.elements_mut(dtype, &range.grid_grad)?,
            };
            let memory = ShareMemory {
                scratch: workspace.part(parts.scratch).own(),
                write: workspace.part(parts.write).own(),
                read: workspace.part(parts.read).shared(),
            };
            (outputs, memory)
        };
        // SAFETY: the caller's promise.
        kernel::run_share(plan, level, phase, share, unsafe { all.inputs(plan) }?, outputs, memory).map_err(of_run)
    };
    code(run())
}

/// Computes tile number `index` of a share on boxes. Tiles of a share come in order; with more than 64 channels so do the shares of a
/// phase, as gradients of the grid are added up over them.
///
/// # Safety
/// Each pointer is NULL or points to its struct, and the boxes to as many bytes as they say.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ubtile_grid_sampler_2d_backward_run_tile(
    tiling: *const GridSamplerTiling,
    level: *const Level,
    phase: usize,
    share: usize,
    index: usize,
    boxes: *const GridSamplerBoxes,
) -> i32 {
    let run = || {
        // SAFETY: the caller's promise.
        let (plan, level, boxes) = unsafe { (held::get(tiling)?, chosen(level)?, read(boxes)?) };
        let tile = plan.tiles(phase, share).nth(index).ok_or(Status::ParamInvalid)?;
        let inputs = [boxes.grad_output.bytes()?, boxes.input.bytes()?, boxes.grid.bytes()?];
        let (adds, makes) = (plan.problem().want_input_grad, tile.makes_grid_grad);
        let input_grad = wanted(&boxes.input_grad, adds)?;
        let input_grad_sums = wanted(&boxes.input_grad_sums, adds && plan.sums_apart())?;
        let grid_grad = wanted(&boxes.grid_grad, makes)?;
        let totals = wanted(&boxes.totals, makes && plan.blocks().get() > 1)?;
        disjoint(&[input_grad, input_grad_sums, grid_grad, totals], &inputs)?;
        let (dtype, sums) = (plan.problem().dtype, plan.sums_dtype());
        let [grad_output, input, grid] = inputs;
        // SAFETY: the caller's promise, and the outputs overlap nothing.
        let boxes = unsafe {
            TileBoxes {
                grad_output: grad_output.values(dtype)?,
                input: input.values(dtype)?,
                grid: grid.values(dtype)?,
                input_grad: input_grad.values_mut(dtype)?,
                input_grad_sums: input_grad_sums.values_mut(sums)?,
                grid_grad: grid_grad.values_mut(dtype)?,
                totals: totals.values_mut(sums)?,
            }
        };
        kernel::run_tile(plan, level, &tile, boxes).map_err(of_run)
    };
    code(run())
}

/// An output, or an empty one in the place of one that nobody looks at.
fn wanted(output: &Output, wanted: bool) -> Result<Bytes, Status> {
    if wanted { output.bytes() } else { Output::EMPTY.bytes() }
}

/// The buffers of a run, which do not overlap where they must not.
struct Memory {
    inputs: [Bytes; 3],
    input_grad: Bytes,
    grid_grad: Bytes,
    workspace: Bytes,
}

impl Memory {
    fn of(plan: &Plan, buffers: &GridSamplerBuffers) -> Result<Self, Status> {
        let inputs = [buffers.grad_output.bytes()?, buffers.input.bytes()?, buffers.grid.bytes()?];
        let input_grad = wanted(&buffers.input_grad, plan.problem().want_input_grad)?;
        let grid_grad = wanted(&buffers.grid_grad, plan.problem().want_grid_grad)?;
        let workspace = buffers.workspace.bytes()?;
        disjoint(&[input_grad, grid_grad, workspace], &inputs)?;
        Ok(Self { inputs, input_grad, grid_grad, workspace })
    }

    /// Reads the copies of inputs that the plan has made instead of them.
    fn take_copies(&mut self, plan: &Plan) {
        let [grad_output, input, _] = &mut self.inputs;
        for staging in plan.stagings() {
            let copied =
                if staging.slot.tensor == ubtile_tiling::Tensor::Input { &mut *input } else { &mut *grad_output };
            *copied = operator::copy_in(&staging, self.workspace);
        }
    }

    /// # Safety
    /// The buffers point to as many bytes as they say.
    unsafe fn inputs<'a>(&self, plan: &Plan) -> Result<Inputs<'a>, Status> {
        let (dtype, [grad_output, input, grid]) = (plan.problem().dtype, self.inputs);
        // SAFETY: the caller's promise.
        unsafe {
            let (grad_output, input) = (grad_output.values(dtype)?, input.values(dtype)?);
            Ok(Inputs { grad_output, input, grid: grid.values(dtype)? })
        }
    }
}
