//! ReplicationPad2dBackward: `grad_input[n, c, h, w]` is the sum of `grad_output[n, c, i, j]` over all `(i, j)` with
//! `clamp(i - top, 0, H - 1) = h` and `clamp(j - left, 0, W - 1) = w`.
//!
//! A cell with one contribution is a copy of its bits and a cell with none is +0. Any other is summed in f32 (F64 and C128 in
//! f64, complex numbers by component) and rounded once: each padded column over its rows ascending, from the first row on,
//! then the columns ascending, from the first column on. Workspace only for a copy of a `grad_output` whose columns lie apart. Where the
//! channels of both tensors lie side by side, kernels go from pixel to pixel.

mod even;
mod fold;
mod part;
mod pixels;
mod place;
mod rows;
mod small;
mod sources;

use core::num::NonZeroUsize;
use core::ops::Range;

use ubtile_tiling::replication_pad2d_backward::{Plan, Tile};
use ubtile_tiling::{Operator, Tensor};

use self::fold::Fold;
use self::pixels::Pixels;
use self::place::Place;
use crate::built::{BF16, COMPLEX, COPIES, F16, F32, F64};
use crate::element::Element;
use crate::level::Level;
use crate::parallel::{Parallel, Serial, shares};
use crate::part::Part;
use crate::stage::{self, Regions};
use crate::values::{Values, ValuesMut};
use crate::{Feature, RunError};

/// What is read.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a> {
    /// `[N, C, H + top + bottom, W + left + right]`: F16, BF16, F32, F64, C64 or C128.
    pub grad_output: Values<'a>,
}

/// What is written.
#[derive(Debug)]
pub struct Outputs<'a> {
    /// `[N, C, H, W]` of the same dtype.
    pub grad_input: ValuesMut<'a>,
}

/// Computes a problem on the calling thread. The workspace may start at any address.
///
/// # Errors
/// A buffer of the wrong dtype or too short; a dtype that this build left out.
#[inline(always)]
pub fn run(
    plan: &Plan,
    level: Level,
    inputs: Inputs<'_>,
    outputs: Outputs<'_>,
    workspace: &mut [u8],
) -> Result<(), RunError> {
    with_copies(plan, &Serial, inputs, outputs, workspace, |plan, source, dest| {
        let rows = plan.problem().n.wrapping_mul(plan.problem().c).wrapping_mul(plan.problem().h);
        compute(plan, level, What::Rows(Part::whole(rows)), source, dest);
    })
}

/// Computes a problem, its shares handed to `parallel`. The workspace may start at any address.
///
/// # Errors
/// A buffer of the wrong dtype or too short; a dtype that this build left out.
#[inline(always)]
pub fn run_parallel(
    plan: &Plan,
    level: Level,
    parallel: &impl Parallel,
    inputs: Inputs<'_>,
    outputs: Outputs<'_>,
    workspace: &mut [u8],
) -> Result<(), RunError> {
    with_copies(plan, parallel, inputs, outputs, workspace, |plan, source, dest| {
        // There is one phase but for the copies.
        let ranges = (0..plan.block_dim()).map(|share| plan.share_range(0, share));
        parallel.for_each(shares(dest, ranges), |(share, dest)| {
            compute(plan, level, What::Rows(part(plan, 0, share)), source, dest);
        });
    })
}

/// Checks the buffers, makes the copies that the plan has, and calls `then` with what is to be computed on.
#[inline(always)]
fn with_copies(
    plan: &Plan,
    parallel: &impl Parallel,
    inputs: Inputs<'_>,
    outputs: Outputs<'_>,
    workspace: &mut [u8],
    then: impl FnOnce(&Plan, Values<'_>, ValuesMut<'_>),
) -> Result<(), RunError> {
    Feature::of(plan.problem().dtype).need(Operator::ReplicationPad2dBackward)?;
    inputs.grad_output.check(plan.problem().slot(Tensor::GradOutput))?;
    outputs.grad_input.as_values().check(plan.problem().slot(Tensor::GradInput))?;
    let (mut inputs, mut regions) = (inputs, Regions::new(workspace, plan.workspace_bytes())?);
    for staging in plan.stagings() {
        Feature::Copies.need(Operator::ReplicationPad2dBackward)?;
        inputs.grad_output = regions.copy(&staging, parallel, inputs.grad_output)?;
    }
    let on_copies = regions.used.then(|| plan.on_copies());
    then(on_copies.as_ref().unwrap_or(plan), inputs.grad_output, outputs.grad_input);
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
    let staging = stage::staging_of(plan.stagings(), Operator::ReplicationPad2dBackward, phase)?;
    stage::has_share(plan.phases(), phase, share)?;
    stage::stage_share(&staging, share, inputs.grad_output, copy)
}

/// Computes one share of a phase, for callers with threads of their own. `grad_output` is the whole tensor, or its copy where the
/// plan has [one](Plan::stagings), `grad_input` the elements [`Plan::share_range`] of it.
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
    let (phase, copied) = stage::behind_copies(plan.stagings(), Operator::ReplicationPad2dBackward, phase)?;
    let on_copies = copied.then(|| plan.on_copies());
    let plan = on_copies.as_ref().unwrap_or(plan);
    let range = plan.share_range(phase, share);
    Feature::of(plan.problem().dtype).need(Operator::ReplicationPad2dBackward)?;
    inputs.grad_output.check(plan.problem().slot(Tensor::GradOutput))?;
    outputs.grad_input.as_values().check_box(Tensor::GradInput, plan.problem().dtype, range.len())?;
    if !range.is_empty() {
        compute(plan, level, What::Rows(part(plan, phase, share)), inputs.grad_output, outputs.grad_input);
    }
    Ok(())
}

/// Computes one tile on boxes laid out as [`Tile`] says. `sums`, of [`Plan::sums_dtype`], stay from a tile to the next; they may
/// be empty where [`Tile::sums`] is 0. `grad_input` is written by the last tile of its sums.
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
    let dtype = plan.problem().dtype;
    Feature::of(dtype).need(Operator::ReplicationPad2dBackward)?;
    inputs.grad_output.check_box(Tensor::GradOutput, dtype, tile.input_cells())?;
    outputs.grad_input.as_values().check_box(Tensor::GradInput, dtype, tile.cells())?;
    if tile.cells() == 0 {
        return Ok(());
    }
    if tile.is_part() {
        sums.as_values().check_box(Tensor::GradInput, plan.sums_dtype(), tile.sums())?;
        add_part(plan, tile, inputs.grad_output, outputs.grad_input, sums);
    } else {
        compute(plan, level, What::Tile(tile), inputs.grad_output, outputs.grad_input);
    }
    Ok(())
}

/// What to make, and where it lies.
#[derive(Clone)]
enum What<'a> {
    /// Rows, from the whole `grad_output` to a part of `grad_input`.
    Rows(Part),
    /// A tile in its local boxes.
    Tile(&'a Tile),
}

/// What a share makes.
fn part(plan: &Plan, phase: usize, share: usize) -> Part {
    Part { units: plan.share_rows(phase, share), first: plan.share_range(phase, share).start }
}

/// Inlined, as what calls it, so that a caller who knows the dtype links the code of no other.
#[inline(always)]
fn compute(plan: &Plan, level: Level, what: What<'_>, source: Values<'_>, dest: ValuesMut<'_>) {
    match (source, dest) {
        (Values::F16(source), ValuesMut::F16(dest)) if F16 => fold(plan, level, what, 1, source, dest),
        (Values::Bf16(source), ValuesMut::Bf16(dest)) if BF16 => fold(plan, level, what, 1, source, dest),
        (Values::F32(source), ValuesMut::F32(dest)) if F32 => fold(plan, level, what, 1, source, dest),
        (Values::F64(source), ValuesMut::F64(dest)) if F64 => fold(plan, level, what, 1, source, dest),
        // Elements of two scalars.
        (Values::C64(source), ValuesMut::C64(dest)) if COMPLEX => {
            fold(plan, level, what, 2, source.as_flattened(), dest.as_flattened_mut());
        }
        (Values::C128(source), ValuesMut::C128(dest)) if COMPLEX => {
            fold(plan, level, what, 2, source.as_flattened(), dest.as_flattened_mut());
        }
        // The contract has no other, and what is not built has been refused.
        _ => {}
    }
}

#[inline(never)]
fn fold<T: Element>(plan: &Plan, level: Level, what: What<'_>, parts: usize, source: &[T], dest: &mut [T]) {
    let problem = plan.problem();
    let (height, columns) = (problem.h, plan.columns());
    let images = images(plan, &what);
    let (from, to, part, run) = match what {
        What::Rows(part) => {
            let from = Place::tensor(parts, problem.c, problem.grad_output_strides, 0);
            let to = Place::tensor(parts, problem.c, problem.grad_input_strides, part.first);
            (from, to, part, [0, columns.size])
        }
        What::Tile(&Tile { planes, rows: [top, bottom], columns, source_rows, source_columns, .. }) => {
            let from = Place::cut(parts, planes, source_rows, source_columns);
            // Several planes are whole ones.
            let first = planes[0].wrapping_mul(height).wrapping_add(top);
            let end = planes[1].wrapping_sub(1).wrapping_mul(height).wrapping_add(bottom);
            (from, Place::cut(parts, planes, [top, bottom], columns), Part { units: first..end, first: 0 }, columns)
        }
    };
    let planes = part.planes(height);
    let fold = Fold { planes, run, parts, rows: plan.rows(), columns, source, from, dest, to };
    match images {
        Some(images) => level.dispatch(Pixels { fold, channels: problem.c.wrapping_mul(parts), images }),
        None => fold.run(level),
    }
}

/// The images to make from pixel to pixel, where a problem allows it and all rows of each are to be made.
fn images(plan: &Plan, what: &What<'_>) -> Option<Range<usize>> {
    let What::Rows(Part { units, .. }) = what else { return None };
    let rows = NonZeroUsize::new(plan.problem().c.wrapping_mul(plan.problem().h))?;
    let whole = units.start % rows == 0 && units.end % rows == 0;
    (COPIES && whole && plan.problem().by_pixels()).then_some(units.start / rows..units.end / rows)
}

fn add_part(plan: &Plan, tile: &Tile, source: Values<'_>, dest: ValuesMut<'_>, sums: ValuesMut<'_>) {
    let (rows, columns) = (plan.rows(), plan.columns());
    match (source, dest, sums) {
        (Values::F16(source), ValuesMut::F16(dest), ValuesMut::F32(sums)) if F16 => {
            part::add::<_, 1>(rows, columns, tile, source, dest, sums);
        }
        (Values::Bf16(source), ValuesMut::Bf16(dest), ValuesMut::F32(sums)) if BF16 => {
            part::add::<_, 1>(rows, columns, tile, source, dest, sums);
        }
        (Values::F32(source), ValuesMut::F32(dest), ValuesMut::F32(sums)) if F32 => {
            part::add::<_, 1>(rows, columns, tile, source, dest, sums);
        }
        (Values::F64(source), ValuesMut::F64(dest), ValuesMut::F64(sums)) if F64 => {
            part::add::<_, 1>(rows, columns, tile, source, dest, sums);
        }
        (Values::C64(source), ValuesMut::C64(dest), ValuesMut::C64(sums)) if COMPLEX => {
            let (source, dest) = (source.as_flattened(), dest.as_flattened_mut());
            part::add::<_, 2>(rows, columns, tile, source, dest, sums.as_flattened_mut());
        }
        (Values::C128(source), ValuesMut::C128(dest), ValuesMut::C128(sums)) if COMPLEX => {
            let (source, dest) = (source.as_flattened(), dest.as_flattened_mut());
            part::add::<_, 2>(rows, columns, tile, source, dest, sums.as_flattened_mut());
        }
        // The contract has no other, and what is not built has been refused.
        _ => {}
    }
}
