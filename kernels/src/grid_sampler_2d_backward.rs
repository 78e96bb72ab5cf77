//! GridSampler2DBackward: the gradients of a sampled image and of the grid that says where it was sampled.
//!
//! A point `grid[n, h, w]` is a position `(x, y)` in image `n`, in pixels after unnormalising and padding. It mixes pixels `p` with
//! weights `w(p)`, so `input_grad[n, c, p] += w(p) * grad_output[n, c, h, w]`, and
//! `grid_grad[n, h, w] = multiplier * Σ_c grad_output[n, c, h, w] * Σ_p w'(p) * input[n, c, p]` along x and y.
//!
//! Coordinates and sums are in f32 (F64 in f64), rounded once. `input_grad` starts at +0.0 and takes points in `(h, w)` order, of
//! a point its pixels row by row. The sum over channels is made in blocks of 64, in a block by channel modulo 8 ascending, then
//! halved; blocks ascending. `docs/numerics.md` has every step.

mod anywhere;
mod band;
mod batch;
mod beyond;
mod bicubic;
mod cells;
mod channels_last;
mod columns;
mod coordinates;
mod corner;
mod direct;
mod follow;
mod gradient;
mod grid_grad;
mod handout;
mod load;
mod nearest;
mod pixels;
mod planes;
mod point_lanes;
mod scatter;
mod share;
mod share_channels;
mod share_points;
mod shares;
mod sixteen;
mod sources;
mod squares;
mod staging;
mod stored;
mod tile;
mod windows;
mod zeroed;

use half::{bf16, f16};
use ubtile_tiling::grid_sampler_2d_backward::{Interpolation, Plan, Route, Runs, ShareRange, Tile};
use ubtile_tiling::{Dtype, Operator, Staging, Tensor};

use self::tile::OneTile;
use crate::built::{BF16, F16, F32, F64};
use crate::level::{Kernel, Level};
use crate::parallel::{Parallel, Rest, Serial};
use crate::stage::{self, Regions};
use crate::values::{Values, ValuesMut};
use crate::{Feature, RunError};

/// What is read, all of one dtype: F16, BF16, F32 or F64.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a> {
    /// `[N, C, Ho, Wo]`.
    pub grad_output: Values<'a>,
    /// `[N, C, Hi, Wi]`.
    pub input: Values<'a>,
    /// `[N, Ho, Wo, 2]`: x and y; -1..1 is the image.
    pub grid: Values<'a>,
}

impl<'a> Inputs<'a> {
    /// The one that a plan copies.
    fn of(&mut self, staging: &Staging) -> &mut Values<'a> {
        if staging.slot.tensor == Tensor::Input { &mut self.input } else { &mut self.grad_output }
    }

    fn named(&self) -> [(Tensor, Values<'a>); 3] {
        [(Tensor::GradOutput, self.grad_output), (Tensor::Input, self.input), (Tensor::Grid, self.grid)]
    }
}

/// What is written, of the inputs' dtype. A gradient that is not wanted is not looked at.
#[derive(Debug)]
pub struct Outputs<'a> {
    /// `[N, C, Hi, Wi]`.
    pub input_grad: ValuesMut<'a>,
    /// `[N, Ho, Wo, 2]`.
    pub grid_grad: ValuesMut<'a>,
}

impl<'a> Outputs<'a> {
    /// What a share writes of whole outputs, for callers that run shares one after the other.
    #[must_use]
    pub fn share(self, range: &ShareRange) -> ShareOutputs<'a> {
        let mut input_grad = Rest { values: self.input_grad, done: 0 };
        let input_grad = [0, 1, 2, 3].map(|i| input_grad.take(range.input_grad.get(i)));
        ShareOutputs { input_grad, grid_grad: Rest { values: self.grid_grad, done: 0 }.take(range.grid_grad.clone()) }
    }
}

/// What a share writes, the elements [`Plan::share_range`] of both outputs. A gradient that is not wanted is not looked at.
#[derive(Debug)]
pub struct ShareOutputs<'a> {
    /// The runs of `input_grad`: one, or of a band of rows that is summed up in place one for each channel. Behind those anything.
    pub input_grad: [ValuesMut<'a>; Runs::MOST],
    /// Of `grid_grad`.
    pub grid_grad: ValuesMut<'a>,
}

/// The parts of the workspace that a share uses, [`Plan::share_workspace`] of a workspace that is aligned to
/// [`ALIGN`](ubtile_tiling::ALIGN) bytes.
#[derive(Debug)]
pub struct ShareMemory<'a> {
    /// The share's own memory.
    pub scratch: &'a mut [u8],
    /// What it makes for the next phase.
    pub write: &'a mut [u8],
    /// What an earlier phase made.
    pub read: &'a [u8],
}

/// Computes a problem on the calling thread.
///
/// # Errors
/// A buffer of the wrong dtype or too short; something that this build left out.
pub fn run(
    plan: &Plan,
    level: Level,
    inputs: Inputs<'_>,
    outputs: Outputs<'_>,
    workspace: &mut [u8],
) -> Result<(), RunError> {
    with_copies(plan, &Serial, inputs, outputs, workspace, |plan, inputs, outputs, aligned| {
        match plan.problem().dtype {
            Dtype::F16 if F16 => shares::whole::<f16>(plan, level, inputs, outputs, aligned),
            Dtype::Bf16 if BF16 => shares::whole::<bf16>(plan, level, inputs, outputs, aligned),
            Dtype::F32 if F32 => shares::whole::<f32>(plan, level, inputs, outputs, aligned),
            Dtype::F64 if F64 => shares::whole::<f64>(plan, level, inputs, outputs, aligned),
            // The contract has no other, and what is not built has been refused.
            _ => {}
        }
    })
}

/// Computes a problem, the shares of each phase handed to `parallel`. The workspace may start at any address.
///
/// # Errors
/// A buffer of the wrong dtype or too short; something that this build left out.
pub fn run_parallel(
    plan: &Plan,
    level: Level,
    parallel: &impl Parallel,
    inputs: Inputs<'_>,
    outputs: Outputs<'_>,
    workspace: &mut [u8],
) -> Result<(), RunError> {
    with_copies(plan, parallel, inputs, outputs, workspace, |plan, inputs, outputs, aligned| {
        match plan.problem().dtype {
            Dtype::F16 if F16 => shares::all::<f16>(plan, level, parallel, inputs, outputs, aligned),
            Dtype::Bf16 if BF16 => shares::all::<bf16>(plan, level, parallel, inputs, outputs, aligned),
            Dtype::F32 if F32 => shares::all::<f32>(plan, level, parallel, inputs, outputs, aligned),
            Dtype::F64 if F64 => shares::all::<f64>(plan, level, parallel, inputs, outputs, aligned),
            // As above.
            _ => {}
        }
    })
}

/// Checks the buffers, makes the copies that the plan has, and calls `then` with what is to be computed on: a plan, inputs,
/// outputs, and the aligned workspace behind the copies.
fn with_copies<'a>(
    plan: &Plan,
    parallel: &impl Parallel,
    inputs: Inputs<'a>,
    outputs: Outputs<'_>,
    workspace: &'a mut [u8],
    then: impl FnOnce(&Plan, Inputs<'a>, Outputs<'_>, &mut [u8]),
) -> Result<(), RunError> {
    check_built(plan)?;
    let (input_grad, grid_grad) = (outputs.input_grad.as_values(), outputs.grid_grad.as_values());
    let outputs_named = [(Tensor::InputGrad, input_grad), (Tensor::GridGrad, grid_grad)];
    check(plan, &inputs.named())?;
    check(plan, &outputs_named)?;
    let (mut inputs, mut regions) = (inputs, Regions::new(workspace, plan.workspace_bytes())?);
    for staging in plan.stagings() {
        Feature::Copies.need(Operator::GridSampler2dBackward)?;
        let source = inputs.of(&staging);
        *source = regions.copy(&staging, parallel, *source)?;
    }
    let on_copies = regions.used.then(|| plan.on_copies());
    let (aligned, plan) = (regions.rest(), on_copies.as_ref().unwrap_or(plan));
    then(plan, inputs, outputs, aligned);
    Ok(())
}

/// Computes one share of a phase that copies an input, for callers with threads of their own: phase `i` is copy number `i` of
/// [`Plan::stagings`]. `copy` has the planes of the share; all of them are that input of the phases of the route.
///
/// # Errors
/// A phase that copies no input ([`RunError::NoCopy`]), or a share that it does not have ([`RunError::NoShare`]); a buffer of the wrong
/// dtype or too short; copies that this build left out.
pub fn stage_share(
    plan: &Plan,
    phase: usize,
    share: usize,
    mut inputs: Inputs<'_>,
    copy: ValuesMut<'_>,
) -> Result<(), RunError> {
    let staging = stage::staging_of(plan.stagings(), Operator::GridSampler2dBackward, phase)?;
    stage::has_share(plan.phases(), phase, share)?;
    stage::stage_share(&staging, share, *inputs.of(&staging), copy)
}

/// Computes one share of a phase, for callers with threads of their own. Inputs are whole tensors, or their copies where the plan
/// has [them](Plan::stagings). All shares of a phase must be complete before the next phase begins.
///
/// # Errors
/// A share that the plan does not have ([`RunError::NoShare`]); a phase that copies an input ([`RunError::Copy`]); a buffer of the wrong dtype or too short, or memory that is not aligned; what this
/// build left out ([`RunError::NotBuilt`]).
pub fn run_share(
    plan: &Plan,
    level: Level,
    phase: usize,
    share: usize,
    inputs: Inputs<'_>,
    outputs: ShareOutputs<'_>,
    memory: ShareMemory<'_>,
) -> Result<(), RunError> {
    stage::has_share(plan.phases(), phase, share)?;
    let (phase, copied) = stage::behind_copies(plan.stagings(), Operator::GridSampler2dBackward, phase)?;
    let on_copies = copied.then(|| plan.on_copies());
    let plan = on_copies.as_ref().unwrap_or(plan);
    let (p, range, parts) = (plan.problem(), plan.share_range(phase, share), plan.share_workspace(phase, share));
    check_built(plan)?;
    check(plan, &inputs.named())?;
    if p.want_input_grad {
        for (run, elements) in outputs.input_grad.iter().zip(range.input_grad.iter()) {
            run.as_values().check_box(Tensor::InputGrad, p.dtype, elements.len())?;
        }
    }
    if p.want_grid_grad {
        outputs.grid_grad.as_values().check_box(Tensor::GridGrad, p.dtype, range.grid_grad.len())?;
    }
    let size = plan.sums_dtype().size();
    for (bytes, part) in [(&*memory.scratch, parts.scratch), (&*memory.write, parts.write), (memory.read, parts.read)] {
        if bytes.len() < part.len() {
            return Err(RunError::Workspace { got: bytes.len(), want: part.len() });
        }
        let past = bytes.as_ptr().addr().checked_rem(size).unwrap_or(0);
        if past > 0 && !part.is_empty() {
            return Err(RunError::Alignment { got: past, want: size });
        }
    }
    match p.dtype {
        Dtype::F16 if F16 => shares::one::<f16>(plan, level, (phase, share), inputs, outputs, memory),
        Dtype::Bf16 if BF16 => shares::one::<bf16>(plan, level, (phase, share), inputs, outputs, memory),
        Dtype::F32 if F32 => shares::one::<f32>(plan, level, (phase, share), inputs, outputs, memory),
        Dtype::F64 if F64 => shares::one::<f64>(plan, level, (phase, share), inputs, outputs, memory),
        _ => {}
    }
    Ok(())
}

/// The boxes of a tile that its caller moves.
#[derive(Debug)]
pub struct TileBoxes<'a> {
    /// `[channels, points]`.
    pub grad_output: Values<'a>,
    /// `[channels, Hi, Wi]`: the whole image.
    pub input: Values<'a>,
    /// `[points, 2]`.
    pub grid: Values<'a>,
    /// `[channels, rows, Wi]`: complete when the tile is the last of its points. Of F32 and F64 it holds the sums and must stay
    /// between the tiles.
    pub input_grad: ValuesMut<'a>,
    /// `[channels, rows, Wi]` of [`Plan::sums_dtype`], to stay between the tiles; of F32 and F64 not looked at.
    pub input_grad_sums: ValuesMut<'a>,
    /// `[points, 2]`: complete when the tile has the last channels.
    pub grid_grad: ValuesMut<'a>,
    /// `[points, 2]` of [`Plan::sums_dtype`], to stay while further blocks of channels of the same points follow, in this share or the
    /// next; not looked at where one block is all.
    pub totals: ValuesMut<'a>,
}

/// Computes one tile on boxes without gaps. Tiles come in the order of [`Plan::tiles`], with more than 64 channels those of a phase share
/// by share; what must stay between them is said at [`TileBoxes`].
///
/// # Errors
/// A box of the wrong dtype or too short; what this build left out ([`RunError::NotBuilt`]).
pub fn run_tile(plan: &Plan, level: Level, tile: &Tile, boxes: TileBoxes<'_>) -> Result<(), RunError> {
    check_built(plan)?;
    match plan.problem().dtype {
        Dtype::F16 if F16 => OneTile::<f16>::new(plan, level, tile, boxes).map(OneTile::run),
        Dtype::Bf16 if BF16 => OneTile::<bf16>::new(plan, level, tile, boxes).map(OneTile::run),
        Dtype::F32 if F32 => OneTile::<f32>::new(plan, level, tile, boxes).map(OneTile::run),
        Dtype::F64 if F64 => OneTile::<f64>::new(plan, level, tile, boxes).map(OneTile::run),
        _ => Ok(()),
    }
}

/// Checks buffers; a gradient that is not wanted may be anything.
fn check(plan: &Plan, buffers: &[(Tensor, Values<'_>)]) -> Result<(), RunError> {
    buffers.iter().try_for_each(|(tensor, values)| values.check(plan.problem().slot(*tensor)))
}

/// Whether this build has what the plan needs.
fn check_built(plan: &Plan) -> Result<(), RunError> {
    let (p, operator) = (plan.problem(), Operator::GridSampler2dBackward);
    Feature::of(p.dtype).need(operator)?;
    if p.interpolation == Interpolation::Bicubic {
        Feature::Bicubic.need(operator)?;
    }
    match plan.route() {
        Route::Zero | Route::Direct(_) => Ok(()),
        Route::PointLanes | Route::PointBands | Route::Images | Route::Blocks | Route::Channels | Route::Bands => {
            Feature::ChannelsLast.need(operator)
        }
    }
}

/// Runs a kernel. Not inlined, so that each kernel is compiled once for each level.
#[inline(never)]
fn dispatch<K: Kernel>(level: Level, kernel: K) -> K::Output {
    level.dispatch(kernel)
}

/// As [`dispatch`], with as many lanes as there are if that gains: for vectors of points, which come in whole ones of any length.
#[inline(never)]
fn dispatch_points<K: Kernel>(level: Level, kernel: K) -> K::Output {
    level.dispatch_widest(level.wide_points(), kernel)
}
