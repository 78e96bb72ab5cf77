//! Im2colBackward (col2im, fold): `out[n, c, y, x]` is the sum of `grad_output[n, (c * kh + i) * kw + j, a * Lw + b]` over all
//! taps `(i, j)` and windows `(a, b)` with `y = a * sh - ph + i * dh` and `x = b * sw - pw + j * dw`.
//!
//! Each cell gathers its terms: from +0.0, kernel rows ascending, in a row columns ascending, in f32 (F64 in f64), rounded once
//! to the dtype of `out`. A cell that no window reaches is +0.0. Workspace only for a copy of a `grad_output` whose columns lie
//! far apart; the sums lie on the stack, those of 32 cells at the scalar level and 16 KiB at the others. Where the channels and taps
//! of a window lie side by side, kernels go [from pixel to pixel](ubtile_tiling::im2col_backward::Problem::by_pixels).

mod add;
mod gather;
mod patches;
mod pixels;
mod runs;
mod tile;
mod write;

use core::num::NonZeroUsize;

use ubtile_tiling::im2col_backward::{Geometry, Plan, Tile};
use ubtile_tiling::{Operator, Tensor};

use self::patches::Patches;
use self::pixels::Pixels;
use self::tile::{Job, Windows};
use self::write::{Run, Write};
use crate::built::{BF16, COPIES, F16, F32, F64};
use crate::element::Element;
use crate::level::{Level, VECTORS};
use crate::parallel::{Parallel, Serial, shares};
use crate::part::{Part, at_least_1};
use crate::stage::{self, Regions};
use crate::values::{Values, ValuesMut};
use crate::{Feature, RunError};

/// What is read.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a> {
    /// `[N, C * kh * kw, L]`: F16, BF16, F32 or F64.
    pub grad_output: Values<'a>,
}

/// What is written.
#[derive(Debug)]
pub struct Outputs<'a> {
    /// `[N, C, H, W]`: F16, BF16, F32 or F64.
    pub out: ValuesMut<'a>,
}

/// Computes a problem on the calling thread. The workspace may start at any address.
///
/// # Errors
/// A buffer of the wrong dtype or too short; a dtype that this build left out.
pub fn run(
    plan: &Plan,
    level: Level,
    inputs: Inputs<'_>,
    outputs: Outputs<'_>,
    workspace: &mut [u8],
) -> Result<(), RunError> {
    with_copies(plan, &Serial, inputs, outputs, workspace, |plan, inputs, out| {
        let p = plan.problem();
        // Rows without cells are none, however many there are.
        let rows = if p.w == 0 { 0 } else { p.n.wrapping_mul(p.c).wrapping_mul(p.h) };
        compute(plan, level, What::Rows(Part::whole(rows)), inputs, out);
    })
}

/// Computes a problem, its shares handed to `parallel`. The workspace may start at any address.
///
/// # Errors
/// A buffer of the wrong dtype or too short; a dtype that this build left out.
pub fn run_parallel(
    plan: &Plan,
    level: Level,
    parallel: &impl Parallel,
    inputs: Inputs<'_>,
    outputs: Outputs<'_>,
    workspace: &mut [u8],
) -> Result<(), RunError> {
    with_copies(plan, parallel, inputs, outputs, workspace, |plan, inputs, out| {
        let ranges = (0..plan.block_dim()).map(|share| plan.share_range(0, share));
        parallel.for_each(shares(out, ranges), |(share, out)| {
            compute(plan, level, What::Rows(part(plan, 0, share)), inputs, out);
        });
    })
}

/// Checks the buffers, makes the copies that the plan has, and calls `then` with what is to be computed on.
fn with_copies<'a>(
    plan: &Plan,
    parallel: &impl Parallel,
    inputs: Inputs<'a>,
    outputs: Outputs<'_>,
    workspace: &'a mut [u8],
    then: impl FnOnce(&Plan, Inputs<'a>, ValuesMut<'_>),
) -> Result<(), RunError> {
    check_built(plan)?;
    let slot = plan.problem().slot(Tensor::Out);
    inputs.grad_output.check(plan.problem().slot(Tensor::GradOutput))?;
    outputs.out.as_values().check(slot)?;
    let (mut inputs, mut regions) = (inputs, Regions::new(workspace, plan.workspace_bytes())?);
    for staging in plan.stagings() {
        Feature::Copies.need(Operator::Im2colBackward)?;
        inputs.grad_output = regions.copy(&staging, parallel, inputs.grad_output)?;
    }
    let on_copies = regions.used.then(|| plan.on_copies());
    // What is behind the tensor is the caller's: the last vector of a row may go on in the next one, but not there.
    let (out, _) = outputs.out.split_at(slot.map_or(0, |slot| slot.span));
    then(on_copies.as_ref().unwrap_or(plan), inputs, out);
    Ok(())
}

/// Computes one share of a phase that copies an input, for callers with threads of their own: phase `i` is copy number `i` of
/// [`Plan::stagings`]. `copy` has the planes of the share; all of them are the `grad_output` of the other phase.
///
/// # Errors
/// A phase that copies no input ([`RunError::NoCopy`]), or a share that it does not have ([`RunError::NoShare`]); a buffer of the wrong
/// dtype or too short; copies that this build left out.
pub fn stage_share(
    plan: &Plan,
    phase: usize,
    share: usize,
    inputs: Inputs<'_>,
    copy: ValuesMut<'_>,
) -> Result<(), RunError> {
    let staging = stage::staging_of(plan.stagings(), Operator::Im2colBackward, phase)?;
    stage::has_share(plan.phases(), phase, share)?;
    stage::stage_share(&staging, share, inputs.grad_output, copy)
}

/// Computes one share of a phase, for callers with threads of their own. `grad_output` is the whole tensor, or its copy where the
/// plan has [one](Plan::stagings), `out` the elements [`Plan::share_range`] of it.
///
/// # Errors
/// A share that the plan does not have ([`RunError::NoShare`]); a phase that copies an input ([`RunError::Copy`]); a buffer of the wrong dtype or too short; a dtype that this build left out.
pub fn run_share(
    plan: &Plan,
    level: Level,
    phase: usize,
    share: usize,
    inputs: Inputs<'_>,
    outputs: Outputs<'_>,
) -> Result<(), RunError> {
    stage::has_share(plan.phases(), phase, share)?;
    let (phase, copied) = stage::behind_copies(plan.stagings(), Operator::Im2colBackward, phase)?;
    let on_copies = copied.then(|| plan.on_copies());
    let plan = on_copies.as_ref().unwrap_or(plan);
    let range = plan.share_range(phase, share);
    check_built(plan)?;
    inputs.grad_output.check(plan.problem().slot(Tensor::GradOutput))?;
    outputs.out.as_values().check_box(Tensor::Out, plan.problem().out_dtype, range.len())?;
    if !range.is_empty() {
        let (out, _) = outputs.out.split_at(range.len());
        compute(plan, level, What::Rows(part(plan, phase, share)), inputs, out);
    }
    Ok(())
}

/// Computes one tile on boxes laid out as [`Tile`] says. `sums` is a box of [`Plan::sums`] as large as the output box that stays
/// with the sums from their first tile to the last; it may be empty where the plan needs none. `out` is complete when the
/// tile is the last of its sums.
///
/// # Errors
/// A box of the wrong dtype or too short; a dtype that this build left out.
pub fn run_tile(
    plan: &Plan,
    level: Level,
    tile: &Tile,
    inputs: Inputs<'_>,
    outputs: Outputs<'_>,
    sums: ValuesMut<'_>,
) -> Result<(), RunError> {
    let (dtype, apart) = plan.sums();
    check_built(plan)?;
    inputs.grad_output.check_box(Tensor::GradOutput, plan.problem().dtype, tile.input_cells())?;
    outputs.out.as_values().check_box(Tensor::Out, plan.problem().out_dtype, tile.cells())?;
    if tile.cells() == 0 {
        return Ok(());
    }
    let (out, _) = outputs.out.split_at(tile.cells());
    let (sums, out) = if apart {
        sums.as_values().check_box(Tensor::Out, dtype, tile.cells())?;
        (sums.split_at(tile.cells()).0, Some(out))
    } else {
        (out, None)
    };
    compute(plan, level, What::Tile(tile, out), inputs, sums);
    Ok(())
}

/// Whether this build has the dtypes.
fn check_built(plan: &Plan) -> Result<(), RunError> {
    Feature::of(plan.problem().dtype).need(Operator::Im2colBackward)?;
    Feature::of(plan.problem().out_dtype).need(Operator::Im2colBackward)
}

/// What is computed.
enum What<'a> {
    /// Rows, on the whole tensors.
    Rows(Part),
    /// A tile on its own boxes, and where the sums go in the end if not where they are made.
    Tile(&'a Tile, Option<ValuesMut<'a>>),
}

/// The rows that a share makes.
fn part(plan: &Plan, phase: usize, share: usize) -> Part {
    Part { units: plan.share_rows(phase, share), first: plan.share_range(phase, share).start }
}

/// Sums are made in registers where they can be, else on the stack.
fn compute(plan: &Plan, level: Level, what: What<'_>, inputs: Inputs<'_>, out: ValuesMut<'_>) {
    let (problem, computes) = (plan.problem(), plan.problem().early_success().is_none());
    match what {
        What::Rows(part) if COPIES && computes && problem.by_pixels() => {
            compute_rows(plan, level, Way::Pixels, part, inputs.grad_output, out);
        }
        what if level.is_scalar() => {
            each_job(plan, level, what, out, |job, out| job.run_by_run(inputs.grad_output, out));
        }
        What::Rows(part) if computes && gather::fits(problem) => {
            compute_rows(plan, level, Way::Gather, part, inputs.grad_output, out);
        }
        What::Rows(part) if computes && patches::fits(problem) => {
            compute_rows(plan, level, Way::Patches, part, inputs.grad_output, out);
        }
        _ => compute_in_16_kib(plan, level, what, inputs.grad_output, out),
    }
}

/// How rows are computed whose sums are made in registers.
#[derive(Clone, Copy)]
enum Way {
    Gather,
    Patches,
    Pixels,
}

/// Rows of cells to sum, of all planes in their order.
struct Rows<'a, T> {
    geometry: &'a Geometry,
    part: Part,
    /// `grad_output`.
    data: &'a [T],
    out: &'a mut [T],
}

#[inline(never)]
fn compute_rows(plan: &Plan, level: Level, way: Way, part: Part, grad: Values<'_>, out: ValuesMut<'_>) {
    let geometry = plan.problem();
    match (grad, out) {
        (Values::F16(data), ValuesMut::F16(out)) if F16 => Rows { geometry, part, data, out }.compute(level, way),
        (Values::Bf16(data), ValuesMut::Bf16(out)) if BF16 => Rows { geometry, part, data, out }.compute(level, way),
        (Values::F32(data), ValuesMut::F32(out)) if F32 => Rows { geometry, part, data, out }.compute(level, way),
        (Values::F64(data), ValuesMut::F64(out)) if F64 => Rows { geometry, part, data, out }.compute(level, way),
        // The contract has no other, no way has other pairs, and what is not built has been refused.
        _ => {}
    }
}

impl<T: Element> Rows<'_, T> {
    fn compute(self, level: Level, way: Way) {
        match way {
            Way::Gather if VECTORS => gather::gather(level, self),
            Way::Patches if VECTORS => level.dispatch(Patches(self)),
            Way::Pixels if COPIES => level.dispatch(Pixels(self)),
            // This build does not come here, and has no code for it.
            _ => {}
        }
    }
}

/// Half of a small level-1 cache: a plane of 56 x 56 f32 fits.
#[inline(never)]
fn compute_in_16_kib(plan: &Plan, level: Level, what: What<'_>, grad: Values<'_>, out: ValuesMut<'_>) {
    let mut room = [0.0; 2048];
    each_job(plan, level, what, out, |job, out| job.run(level, grad, &mut room, out));
}

/// Calls `run` for each box of one plane.
#[inline(always)]
fn each_job(
    plan: &Plan,
    level: Level,
    what: What<'_>,
    mut out: ValuesMut<'_>,
    mut run: impl FnMut(Job<'_>, &mut ValuesMut<'_>),
) {
    match what {
        What::Rows(part) => {
            for (plane, rows) in part.planes(plan.problem().h) {
                run(on_tensors(plan, plane, rows, part.first), &mut out);
            }
        }
        What::Tile(tile, rounded) => {
            run(on_boxes(plan, tile), &mut out);
            if let Some(rounded) = rounded
                && tile.last
            {
                round(level, tile.cells(), &out, rounded);
            }
        }
    }
}

/// Rounds a box of sums to the dtype of `out`.
fn round(level: Level, cells: usize, sums: &ValuesMut<'_>, mut out: ValuesMut<'_>) {
    let (runs, out) = (core::iter::once((0, Run { at: 0, step: 1, count: cells })), &mut out);
    match sums {
        ValuesMut::F32(sums) => level.dispatch(Write { runs, sums, out }),
        ValuesMut::F64(sums) if F64 => level.dispatch(Write { runs, sums, out }),
        _ => {}
    }
}

/// Rows of a plane, whose part of `out` begins at element `first`.
fn on_tensors(plan: &Plan, plane: usize, rows: [usize; 2], first: usize) -> Job<'_> {
    let problem = plan.problem();
    let [kh, kw] = problem.kernel.map(NonZeroUsize::get);
    let [gn, gr, gl] = problem.grad_output_strides;
    let [on, oc, oh, ow] = problem.out_strides;
    let channels = at_least_1(problem.c);
    let (n, c) = (plane / channels, plane % channels);
    let row = c.wrapping_mul(kh).wrapping_mul(kw);
    let windows = Windows {
        start: n.wrapping_mul(gn).wrapping_add(row.wrapping_mul(gr)),
        taps: [kw.wrapping_mul(gr), gr],
        steps: [problem.columns[1].wrapping_mul(gl), gl],
        in_place: true,
    };
    let plane = n.wrapping_mul(on).wrapping_add(c.wrapping_mul(oc));
    let out_start = plane.wrapping_add(rows[0].wrapping_mul(oh)).wrapping_sub(first);
    let (columns, taps) = ([0, problem.w], plan.taps());
    Job { problem, rows, columns, taps, accumulates: false, windows, out_start, out_strides: [oh, ow] }
}

fn on_boxes<'a>(plan: &'a Plan, tile: &Tile) -> Job<'a> {
    let Tile { rows, columns, taps: tile_taps, accumulates, windows: [a, b], .. } = *tile;
    let [[i, _], [j0, j1]] = tile_taps;
    let one = a.wrapping_mul(b);
    let taps = [j1.wrapping_sub(j0).wrapping_mul(one), one];
    let before = i.wrapping_mul(taps[0]).wrapping_add(j0.wrapping_mul(one));
    let windows = Windows { start: before.wrapping_neg(), taps, steps: [b, 1], in_place: false };
    let out_strides = [columns[1].wrapping_sub(columns[0]), 1];
    Job { problem: plan.problem(), rows, columns, taps: tile_taps, accumulates, windows, out_start: 0, out_strides }
}
