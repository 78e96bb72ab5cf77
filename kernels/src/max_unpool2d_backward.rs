//! MaxUnpool2dBackward: `out[n, c, i] = grad_output[n, c, indices[n, c, i]]`, a gather.
//!
//! Where the dtypes are the same, bits are copied; else an element is converted: integers wrap, everything else is rounded once
//! to nearest even, a NaN becomes the canonical one. There is nothing to add, so all levels run the same code. Workspace only for
//! copies of inputs whose columns lie far apart. Where the channels of both inputs lie side by side, kernels go from pixel to pixel.
//!
//! An index outside of the plane is an error. Nothing is read through it; `out` holds 0 there.

mod contiguous;
mod gather;
mod pixels;

use core::sync::atomic::{AtomicBool, Ordering};

use ubtile_tiling::max_unpool2d_backward::{Plan, Tile};
use ubtile_tiling::{Operator, Staging, Tensor};

use self::contiguous::Contiguous;
use self::gather::{Gather, Places, Plane};
use self::pixels::Pixels;
use crate::built::COPIES;
use crate::level::{Level, VECTORS};
use crate::parallel::{Parallel, Serial, shares};
use crate::part::{Part, at_least_1};
use crate::stage::{self, Regions};
use crate::values::{Values, ValuesMut};
use crate::{Feature, RunError};

/// What is read.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a> {
    /// `[N, C, oH, oW]`.
    pub grad_output: Values<'a>,
    /// Flat positions in the plane `[oH, oW]`, `[N, C, H, W]`: I32 or I64.
    pub indices: Values<'a>,
}

/// What is written.
#[derive(Debug)]
pub struct Outputs<'a> {
    /// `[N, C, H, W]`.
    pub out: ValuesMut<'a>,
}

/// Computes a problem on the calling thread. The workspace may start at any address.
///
/// # Errors
/// A buffer of the wrong dtype or too short; a dtype that this build left out; an index outside of the plane: the one of the lowest
/// flat position.
pub fn run(
    plan: &Plan,
    level: Level,
    inputs: Inputs<'_>,
    outputs: Outputs<'_>,
    workspace: &mut [u8],
) -> Result<(), RunError> {
    with_copies(plan, &Serial, inputs, outputs, workspace, |plan, inputs, mut out| {
        let elements = plan.problem().n.wrapping_mul(plan.problem().c).wrapping_mul(elements_of(plan));
        inputs.verdict(plan, gather_part(plan, level, Part::whole(elements), inputs, &mut out))
    })
}

/// Computes a problem, its shares handed to `parallel`. The workspace may start at any address.
///
/// # Errors
/// A buffer of the wrong dtype or too short; a dtype that this build left out; an index outside of the plane: the one of the lowest
/// flat position.
pub fn run_parallel(
    plan: &Plan,
    level: Level,
    parallel: &impl Parallel,
    inputs: Inputs<'_>,
    outputs: Outputs<'_>,
    workspace: &mut [u8],
) -> Result<(), RunError> {
    with_copies(plan, parallel, inputs, outputs, workspace, |plan, inputs, out| {
        // Not the position: cores without compare-and-swap have no minimum of what threads found.
        let bad = AtomicBool::new(false);
        let ranges = (0..plan.block_dim()).map(|share| plan.share_range(0, share));
        parallel.for_each(shares(out, ranges), |(share, mut out)| {
            if gather_part(plan, level, part(plan, 0, share), inputs, &mut out).is_some() {
                bad.store(true, Ordering::Relaxed);
            }
        });
        inputs.verdict(plan, bad.into_inner().then(|| inputs.lowest_bad(plan)).flatten())
    })
}

/// Checks the buffers, makes the copies that the plan has, and calls `then` with what is to be computed on.
fn with_copies<'a>(
    plan: &Plan,
    parallel: &impl Parallel,
    inputs: Inputs<'a>,
    outputs: Outputs<'_>,
    workspace: &'a mut [u8],
    then: impl FnOnce(&Plan, Inputs<'a>, ValuesMut<'_>) -> Result<(), RunError>,
) -> Result<(), RunError> {
    check_built(plan)?;
    inputs.check(plan)?;
    outputs.out.as_values().check(plan.problem().slot(Tensor::Out))?;
    let (mut inputs, mut regions) = (inputs, Regions::new(workspace, plan.workspace_bytes())?);
    for staging in plan.stagings() {
        Feature::Copies.need(Operator::MaxUnpool2dBackward)?;
        let source = inputs.of(&staging);
        *source = regions.copy(&staging, parallel, *source)?;
    }
    let on_copies = regions.used.then(|| plan.on_copies());
    then(on_copies.as_ref().unwrap_or(plan), inputs, outputs.out)
}

/// Computes one share of a phase that copies an input, for callers with threads of their own: phase `i` is copy number `i` of
/// [`Plan::stagings`]. `copy` has the planes of the share; all of them are that input of the last phase.
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
    let staging = stage::staging_of(plan.stagings(), Operator::MaxUnpool2dBackward, phase)?;
    stage::has_share(plan.phases(), phase, share)?;
    stage::stage_share(&staging, share, *inputs.of(&staging), copy)
}

/// Computes one share of a phase, for callers with threads of their own. Inputs are the whole tensors, or their copies where the
/// plan has [them](Plan::stagings), `out` the elements [`Plan::share_range`] of the output.
///
/// # Errors
/// A share that the plan does not have ([`RunError::NoShare`]); a phase that copies an input ([`RunError::Copy`]); a buffer of the wrong dtype or too short; a dtype that this build left out; an
/// index outside of the plane: the one of the lowest flat position in the share.
pub fn run_share(
    plan: &Plan,
    level: Level,
    phase: usize,
    share: usize,
    inputs: Inputs<'_>,
    outputs: Outputs<'_>,
) -> Result<(), RunError> {
    stage::has_share(plan.phases(), phase, share)?;
    let (phase, copied) = stage::behind_copies(plan.stagings(), Operator::MaxUnpool2dBackward, phase)?;
    let on_copies = copied.then(|| plan.on_copies());
    let plan = on_copies.as_ref().unwrap_or(plan);
    let range = plan.share_range(phase, share);
    inputs.check(plan)?;
    outputs.out.as_values().check_box(Tensor::Out, plan.problem().out_dtype, range.len())?;
    let mut out = outputs.out;
    let bad =
        if range.is_empty() { None } else { gather_part(plan, level, part(plan, phase, share), inputs, &mut out) };
    inputs.verdict(plan, bad)
}

/// Computes one tile on boxes laid out as [`Tile`] says: its slice of the plane, its indices and its run of the output, which
/// stays from the first tile of the run to the last.
///
/// # Errors
/// A box of the wrong dtype or too short; a dtype that this build left out; an index outside of the plane: the one of the lowest
/// flat position in the tile.
pub fn run_tile(
    plan: &Plan,
    level: Level,
    tile: &Tile,
    inputs: Inputs<'_>,
    outputs: Outputs<'_>,
) -> Result<(), RunError> {
    let _ = level;
    let problem = plan.problem();
    let ([first, end], [from, to]) = (tile.elements, tile.cells);
    let (count, cells) = (end.saturating_sub(first), to.saturating_sub(from));
    check_built(plan)?;
    inputs.grad_output.check_box(Tensor::GradOutput, problem.dtype, cells)?;
    inputs.indices.check_box(Tensor::Indices, problem.index_dtype, count)?;
    outputs.out.as_values().check_box(Tensor::Out, problem.out_dtype, count)?;
    let mut out = outputs.out;
    let gather = Gather {
        plane: Plane { start: 0, cells: tile.cells, all: cells_of(plan), pitched: None },
        indices: Places { start: 0, step: 1 },
        out: Places { start: 0, step: 1 },
        count,
        keeps: tile.accumulates,
    };
    let Some(bad) = gather.run(inputs, &mut out) else { return Ok(()) };
    let position = tile.plane.saturating_mul(elements_of(plan));
    let position = position.saturating_add(first).saturating_add(bad);
    Err(RunError::Index { position, index: inputs.index(bad), cells: cells_of(plan) })
}

impl<'a> Inputs<'a> {
    /// The one that a plan copies.
    fn of(&mut self, staging: &Staging) -> &mut Values<'a> {
        if staging.slot.tensor == Tensor::Indices { &mut self.indices } else { &mut self.grad_output }
    }

    fn check(&self, plan: &Plan) -> Result<(), RunError> {
        check_built(plan)?;
        self.grad_output.check(plan.problem().slot(Tensor::GradOutput))?;
        self.indices.check(plan.problem().slot(Tensor::Indices))
    }

    /// The index at an offset.
    fn index(&self, at: usize) -> i64 {
        match self.indices {
            Values::I32(indices) => indices.get(at).copied().unwrap_or_default().into(),
            Values::I64(indices) => indices.get(at).copied().unwrap_or_default(),
            _ => 0,
        }
    }

    /// The error of the lowest bad position, if there is one.
    fn verdict(&self, plan: &Plan, lowest: Option<usize>) -> Result<(), RunError> {
        let Some(position) = lowest else { return Ok(()) };
        Err(RunError::Index { position, index: self.index_of(plan, position), cells: cells_of(plan) })
    }

    /// The lowest flat position whose index is outside of the plane.
    fn lowest_bad(&self, plan: &Plan) -> Option<usize> {
        let all = plan.problem().n.wrapping_mul(plan.problem().c).wrapping_mul(elements_of(plan));
        let is_bad = |index: i64| usize::try_from(index).map_or(true, |index| index >= cells_of(plan));
        (0..all).find(|&position| is_bad(self.index_of(plan, position)))
    }

    /// The index at a flat position.
    fn index_of(&self, plan: &Plan, position: usize) -> i64 {
        let problem = plan.problem();
        let (size, width) = (at_least_1(elements_of(plan)), at_least_1(problem.w));
        let (plane, element) = (position / size, position % size);
        let (n, c) = (plane / at_least_1(problem.c), plane % at_least_1(problem.c));
        self.index(offset([n, c, element / width, element % width], problem.indices_strides))
    }
}

/// Whether this build has the dtypes.
fn check_built(plan: &Plan) -> Result<(), RunError> {
    Feature::of(plan.problem().dtype).need(Operator::MaxUnpool2dBackward)?;
    Feature::of(plan.problem().out_dtype).need(Operator::MaxUnpool2dBackward)
}

/// The elements that a share makes.
fn part(plan: &Plan, phase: usize, share: usize) -> Part {
    Part { units: plan.share_elements(phase, share), first: plan.share_range(phase, share).start }
}

/// Gathers elements from the whole tensors, which need not fit any local memory: a plane that the plan cuts is read in one go.
/// Gives the lowest flat position of a bad index.
fn gather_part(plan: &Plan, level: Level, part: Part, inputs: Inputs<'_>, out: &mut ValuesMut<'_>) -> Option<usize> {
    let (problem, elements) = (plan.problem(), elements_of(plan));
    // The general way takes a third of the code, which counts more on machines without vectors.
    if VECTORS && problem.dtype == problem.out_dtype && has_no_gaps(plan) {
        let (row, cells, asks_most) = (problem.w, cells_of(plan), level.habits().asks_most);
        let contiguous = Contiguous { elements, row, cells, first: part.first, asks_most };
        let (mut mine, _) = core::mem::replace(out, ValuesMut::U8(&mut [])).split_at(part.units.len());
        return gather::copies(&contiguous, inputs, &mut mine);
    }
    if COPIES && problem.by_pixels() {
        return gather::copies(&Pixels::new(problem, part), inputs, out);
    }
    let (channels, width, cells) = (at_least_1(problem.c), at_least_1(problem.w), cells_of(plan));
    // Where rows lie one behind the other, they are one long row.
    let flat = |[_, _, sh, sw]: [usize; 4], width: usize| sh == sw.wrapping_mul(width);
    let one_row = flat(problem.indices_strides, problem.w) && flat(problem.out_strides, problem.w);
    let [_, _, gh, gw] = problem.grad_output_strides;
    let contiguous = gw == 1 && flat(problem.grad_output_strides, problem.out_w);
    let pitched = (!contiguous).then_some((at_least_1(problem.out_w), [gh, gw]));
    let mut lowest = None;
    for (plane, [mut element, end]) in part.planes(elements) {
        let (n, c) = (plane / channels, plane % channels);
        let start = offset([n, c, 0, 0], problem.grad_output_strides);
        while element < end {
            let at = [n, c, element / width, element % width];
            let rest = width.get().saturating_sub(element % width);
            let count = if one_row { end - element } else { rest.min(end - element) };
            let gather = Gather {
                plane: Plane { start, cells: [0, cells], all: cells, pitched },
                indices: Places { start: offset(at, problem.indices_strides), step: problem.indices_strides[3] },
                out: Places {
                    start: offset(at, problem.out_strides).wrapping_sub(part.first),
                    step: problem.out_strides[3],
                },
                count,
                keeps: false,
            };
            if let Some(bad) = gather.run(inputs, out) {
                let before = plane.saturating_mul(elements);
                lowest = lowest.or(Some(before.saturating_add(element).saturating_add(bad)));
            }
            element = element.saturating_add(count);
        }
    }
    lowest
}

/// Whether all elements of all tensors lie side by side.
fn has_no_gaps(plan: &Plan) -> bool {
    plan.problem().tensors().all(|slot| Some(slot.strides) == slot.shape.contiguous_strides())
}

/// Elements of a plane of `out`.
fn elements_of(plan: &Plan) -> usize {
    plan.problem().h.saturating_mul(plan.problem().w)
}

/// Cells of a plane of `grad_output`.
fn cells_of(plan: &Plan) -> usize {
    plan.problem().out_h.saturating_mul(plan.problem().out_w)
}

fn offset([n, c, h, w]: [usize; 4], [sn, sc, sh, sw]: [usize; 4]) -> usize {
    let plane = n.wrapping_mul(sn).wrapping_add(c.wrapping_mul(sc));
    plane.wrapping_add(h.wrapping_mul(sh)).wrapping_add(w.wrapping_mul(sw))
}
