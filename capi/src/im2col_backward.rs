//! Im2colBackward for C.

use ubtile_kernels::im2col_backward::{self as kernel, Inputs, Outputs};
use ubtile_tiling::im2col_backward::{Desc, Plan, Tile, check, plan};
use ubtile_tiling::{Edition, Phase, PlanOptions, Status, TargetSpec};

use crate::held::{self, Held};
use crate::memory::{disjoint, read, write};
use crate::operator::{self, Operator};
use crate::stored::{Described, Digest, TENSOR_WORDS, Words, stored_bytes};
use crate::types::{
    Input, Level, Options, Output, Target, Tensor, code, level as chosen, of_contract, of_plan, of_run,
};

/// Bytes of a stored plan.
pub const UBTILE_IM2COL_BACKWARD_STORED_BYTES: usize = 448;
const _: () = assert!(UBTILE_IM2COL_BACKWARD_STORED_BYTES == stored_bytes(2 * TENSOR_WORDS + 10));

/// A plan. Opaque: filled by `ubtile_im2col_backward_plan` or `..._load`, may be copied.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Im2colTiling {
    /// Not to be touched.
    pub opaque: [usize; 128],
}

impl Held for Im2colTiling {
    type Value = Plan;
}
const _: () = held::fits::<Im2colTiling>();

impl Operator for Im2colTiling {
    type Desc = Im2colDesc;

    const STORED_BYTES: usize = UBTILE_IM2COL_BACKWARD_STORED_BYTES;

    fn make(desc: &Im2colDesc, target: &TargetSpec, options: &PlanOptions) -> Result<Plan, Status> {
        let problem = check(&desc.desc()?, None, Edition::Any).map_err(of_contract)?;
        plan(&problem, target, options).map_err(of_plan)
    }

    fn workspace_bytes(plan: &Plan) -> usize {
        plan.workspace_bytes()
    }

    fn phases(plan: &Plan) -> impl Iterator<Item = Phase> {
        plan.phases()
    }

    fn digest(plan: &Plan, digest: &mut Digest) {
        digest.plan(plan.phases(), plan.workspace(), plan.choices());
    }
}

/// A problem: `out[n, c, y, x]` is the sum of `grad_output[n, (c * kh + i) * kw + j, a * Lw + b]` over all taps `(i, j)` and
/// windows `(a, b)` that lie there. Pairs are (height, width).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Im2colDesc {
    /// `[N, C * kh * kw, L]` or without N: f16, bf16, f32 or f64.
    pub grad_output: Tensor,
    /// `[N, C, H, W]` or without N: f16, bf16, f32 or f64.
    pub out: Tensor,
    /// `[H, W]`.
    pub input_size: [i64; 2],
    /// `[kh, kw]`.
    pub kernel_size: [i64; 2],
    /// `[dh, dw]`.
    pub dilation: [i64; 2],
    /// `[ph, pw]`.
    pub padding: [i64; 2],
    /// `[sh, sw]`.
    pub stride: [i64; 2],
}

impl Im2colDesc {
    fn desc(&self) -> Result<Desc<'_>, Status> {
        Ok(Desc {
            grad_output: self.grad_output.desc()?,
            out: self.out.desc()?,
            input_size: &self.input_size,
            kernel_size: &self.kernel_size,
            dilation: &self.dilation,
            padding: &self.padding,
            stride: &self.stride,
        })
    }
}

impl Described for Im2colDesc {
    const OPERATOR: u64 = 3;

    fn visit(&mut self, words: &mut impl Words) -> Result<(), Status> {
        words.tensor(&mut self.grad_output)?;
        words.tensor(&mut self.out)?;
        let Self { input_size, kernel_size, dilation, padding, stride, .. } = self;
        for pair in [input_size, kernel_size, dilation, padding, stride] {
            pair.iter_mut().try_for_each(|value| words.signed(value))?;
        }
        Ok(())
    }
}

/// The memory of a run: whole tensors.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Im2colBuffers {
    /// As described.
    pub grad_output: Input,
    /// As described.
    pub out: Output,
    /// As many bytes as the plan says, from any address: none unless `grad_output` has far strides and the target caches.
    pub workspace: Output,
}

/// A tile: a box of one plane of `out` and the windows that reach it. Pairs are the first and one past the last.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Im2colTile {
    /// The plane, `n * C + c`.
    pub plane: usize,
    /// Rows of the box.
    pub rows: [usize; 2],
    /// Columns of the box.
    pub columns: [usize; 2],
    /// Kernel rows.
    pub kernel_rows: [usize; 2],
    /// Kernel columns.
    pub kernel_columns: [usize; 2],
    /// Rows and columns of windows in the box of each tap.
    pub windows: [usize; 2],
    /// Whether the box of sums goes on from the tile before.
    pub accumulates: bool,
    /// Whether `out` is complete behind it.
    pub last: bool,
    /// Whether sums need a box of their own, of dtype f64 for f64 and f32 for all others; else they are made in `out`.
    pub sums_apart: bool,
    /// Elements of the box of `grad_output`: `[kernel rows, kernel columns, window rows, window columns]`.
    pub input_cells: usize,
    /// Elements of the box of `out`, and of that of the sums: `[rows, columns]`.
    pub cells: usize,
}

impl Im2colTile {
    fn of(plan: &Plan, tile: &Tile) -> Self {
        let [kernel_rows, kernel_columns] = tile.taps;
        Self {
            plane: tile.plane,
            rows: tile.rows,
            columns: tile.columns,
            kernel_rows,
            kernel_columns,
            windows: tile.windows,
            accumulates: tile.accumulates,
            last: tile.last,
            sums_apart: plan.sums().1,
            input_cells: tile.input_cells(),
            cells: tile.cells(),
        }
    }
}

/// The boxes of a tile, without gaps.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Im2colBoxes {
    /// `[kernel rows, kernel columns, window rows, window columns]`; windows that do not exist hold anything finite or not: they
    /// are not read.
    pub grad_output: Input,
    /// `[rows, columns]`, complete where `last` is set. Without a box of sums it holds them and stays while tiles accumulate.
    pub out: Output,
    /// `[rows, columns]`, stays while tiles accumulate; empty where `sums_apart` is not set.
    pub sums: Output,
}
/// Checks a problem, plans it for a target, and says how many bytes of workspace a run needs. `options` may be NULL.
/// `workspace_bytes` may be NULL. Takes no data: alignment and overlap are checked by the run.
///
/// # Safety
/// Each pointer is NULL or points to its struct; the last two are written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ubtile_im2col_backward_plan(
    desc: *const Im2colDesc,
    target: *const Target,
    options: *const Options,
    tiling: *mut Im2colTiling,
    workspace_bytes: *mut usize,
) -> i32 {
    // SAFETY: the caller's promise.
    code(unsafe { operator::plan(desc, target, options, tiling, workspace_bytes) })
}

/// Writes a plan as UBTILE_IM2COL_BACKWARD_STORED_BYTES bytes: 64-bit words, little endian on every machine, with the
/// version of the format, the description, the target, the options and a digest. `options` may be NULL.
///
/// # Safety
/// Each pointer is NULL or points to its struct, `bytes` to `len` bytes, which are written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ubtile_im2col_backward_store(
    desc: *const Im2colDesc,
    target: *const Target,
    options: *const Options,
    bytes: *mut u8,
    len: usize,
) -> i32 {
    // SAFETY: the caller's promise.
    code(unsafe { operator::store::<Im2colTiling>(desc, target, options, bytes, len) })
}

/// Makes the plan of stored bytes again and compares: bytes that were changed, or that this version of the library plans
/// otherwise, are UBTILE_ERROR_PARAM_INVALID. `len` is UBTILE_IM2COL_BACKWARD_STORED_BYTES. `desc` gets the description; it and
/// `workspace_bytes` may be NULL. The bytes may start anywhere.
///
/// # Safety
/// Each pointer is NULL or points to its struct, `bytes` to `len` bytes; the last three are written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ubtile_im2col_backward_load(
    bytes: *const u8,
    len: usize,
    desc: *mut Im2colDesc,
    tiling: *mut Im2colTiling,
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
pub unsafe extern "C" fn ubtile_im2col_backward_phases(tiling: *const Im2colTiling) -> usize {
    // SAFETY: the caller's promise.
    unsafe { operator::phases(tiling) }
}

/// Shares of a phase, which may run at the same time; 0 where there is no such phase.
///
/// # Safety
/// `tiling` is NULL or points to a plan.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ubtile_im2col_backward_shares(tiling: *const Im2colTiling, phase: usize) -> usize {
    // SAFETY: the caller's promise.
    unsafe { operator::shares(tiling, phase) }
}

/// Tiles of a share. Counting takes time in proportion to them.
///
/// # Safety
/// `tiling` is NULL or points to a plan.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ubtile_im2col_backward_tiles(
    tiling: *const Im2colTiling,
    phase: usize,
    share: usize,
) -> usize {
    // SAFETY: the caller's promise.
    unsafe { held::get(tiling) }.map_or(0, |plan| plan.tiles(phase, share).count())
}

/// Describes tile number `index` of a share, found in time proportional to the number; UBTILE_ERROR_PARAM_INVALID where there
/// is none.
///
/// # Safety
/// Each pointer is NULL or points to its struct; `info` is written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ubtile_im2col_backward_tile(
    tiling: *const Im2colTiling,
    phase: usize,
    share: usize,
    index: usize,
    info: *mut Im2colTile,
) -> i32 {
    let describe = || {
        // SAFETY: the caller's promise.
        let plan = unsafe { held::get(tiling) }?;
        let tile = plan.tiles(phase, share).nth(index).ok_or(Status::ParamInvalid)?;
        // SAFETY: the caller's promise.
        unsafe { write(info, Im2colTile::of(plan, &tile)) }
    };
    code(describe())
}

/// Tells which window `(a, b)` of tap `(i, j)` the first cell of its box is: the box of a tap holds the windows `(a + r, b + c)`,
/// row by row. Negative windows, and those beyond `[Lh, Lw]`, do not exist.
///
/// # Safety
/// Each pointer is NULL or points to its struct, `first` to two numbers, which are written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ubtile_im2col_backward_first_window(
    tiling: *const Im2colTiling,
    phase: usize,
    share: usize,
    index: usize,
    tap: *const [usize; 2],
    first: *mut [i64; 2],
) -> i32 {
    let find = || {
        // SAFETY: the caller's promise.
        let (plan, tap) = unsafe { (held::get(tiling)?, *read(tap)?) };
        let tile = plan.tiles(phase, share).nth(index).ok_or(Status::ParamInvalid)?;
        // SAFETY: the caller's promise.
        unsafe { write(first, plan.first_window(&tile, tap).map(|window| window as i64)) }
    };
    code(find())
}

/// Computes a problem on the calling thread. `level` may be NULL: what the library is compiled for. Shapes, strides and
/// alignment as described to the plan; buffers at least as long as the strides reach.
///
/// # Safety
/// Each pointer is NULL or points to its struct, and the buffers to as many bytes as they say.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ubtile_im2col_backward_run(
    tiling: *const Im2colTiling,
    level: *const Level,
    buffers: *const Im2colBuffers,
) -> i32 {
    let run = || {
        // SAFETY: the caller's promise.
        let (plan, level, buffers) = unsafe { (held::get(tiling)?, chosen(level)?, read(buffers)?) };
        let (grad_output, out) = (buffers.grad_output.bytes()?, buffers.out.bytes()?);
        let workspace = buffers.workspace.bytes()?;
        disjoint(&[out, workspace], &[grad_output])?;
        // SAFETY: the caller's promise, and outputs overlap nothing.
        let (inputs, outputs, workspace) = unsafe {
            let inputs = Inputs { grad_output: grad_output.values(plan.problem().dtype)? };
            (inputs, Outputs { out: out.values_mut(plan.problem().out_dtype)? }, workspace.own())
        };
        kernel::run(plan, level, inputs, outputs, workspace).map_err(of_run)
    };
    code(run())
}

/// Computes one share of a phase. Buffers are those of the whole run, the workspace too, which stays between phases; of `out` only the share's own elements are written, so
/// other shares may run at the same time.
///
/// # Safety
/// As for `ubtile_im2col_backward_run`; no other call writes the same share.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ubtile_im2col_backward_run_share(
    tiling: *const Im2colTiling,
    level: *const Level,
    phase: usize,
    share: usize,
    buffers: *const Im2colBuffers,
) -> i32 {
    let run = || {
        // SAFETY: the caller's promise.
        let (plan, level, buffers) = unsafe { (held::get(tiling)?, chosen(level)?, read(buffers)?) };
        let (mut grad_output, out) = (buffers.grad_output.bytes()?, buffers.out.bytes()?);
        let workspace = buffers.workspace.bytes()?;
        disjoint(&[out, workspace], &[grad_output])?;
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
            (inputs, Outputs { out: out.elements_mut(plan.problem().out_dtype, &range)? })
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
pub unsafe extern "C" fn ubtile_im2col_backward_run_tile(
    tiling: *const Im2colTiling,
    level: *const Level,
    phase: usize,
    share: usize,
    index: usize,
    boxes: *const Im2colBoxes,
) -> i32 {
    let run = || {
        // SAFETY: the caller's promise.
        let (plan, level, boxes) = unsafe { (held::get(tiling)?, chosen(level)?, read(boxes)?) };
        let tile = plan.tiles(phase, share).nth(index).ok_or(Status::ParamInvalid)?;
        let (grad_output, out, sums) = (boxes.grad_output.bytes()?, boxes.out.bytes()?, boxes.sums.bytes()?);
        disjoint(&[out, sums], &[grad_output])?;
        // SAFETY: the caller's promise, and the outputs overlap nothing.
        let (inputs, outputs, sums) = unsafe {
            let inputs = Inputs { grad_output: grad_output.values(plan.problem().dtype)? };
            let outputs = Outputs { out: out.values_mut(plan.problem().out_dtype)? };
            (inputs, outputs, sums.values_mut(plan.sums().0)?)
        };
        kernel::run_tile(plan, level, &tile, inputs, outputs, sums).map_err(of_run)
    };
    code(run())
}
