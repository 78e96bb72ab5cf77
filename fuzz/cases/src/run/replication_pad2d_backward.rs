//! Runs of ReplicationPad2dBackward.

use ubtile_kernels::replication_pad2d_backward::{Inputs, Outputs, run_parallel, run_share, run_tile, stage_share};
use ubtile_kernels::{RunError, Values};
use ubtile_testkit::{Data, Rng, problems, reference};
use ubtile_tiling::Tensor;
use ubtile_tiling::replication_pad2d_backward::{Plan, Problem, Tile, plan};

use super::{At, Boxes, Copies, Entry, Setup, Threads, boxed, copy, judge, part, shares, tiles, values, values_mut};
use crate::plan::{Box3, offset, possible};

/// Runs a problem and judges the result.
pub fn check(problem: &Problem, setup: &Setup) {
    let grad_output = problems::replication_pad_inputs(problem, setup.fill, &mut Rng::new(setup.seed));
    let Some(got) = run(problem, setup, &grad_output) else { return };
    let plain = run(problem, &setup.plain(), &grad_output).expect("computed at any level");
    judge(&got, &plain, &reference::replication_pad2d_backward::run(problem, &grad_output));
}

pub(super) fn run(problem: &Problem, setup: &Setup, grad_output: &Data) -> Option<Data> {
    let plan = possible(plan(problem, &setup.target, &setup.options), true)?;
    let mut grad_input = problems::output(problem.slot(Tensor::GradInput));
    let result = match setup.entry {
        Entry::Tiles if problem.early_success().is_none() => by_tiles(
            &plan,
            grad_output,
            &mut grad_input,
            |_, tile, Boxes { inputs: [grad_output], outputs: [out, sums] }| {
                let inputs = Inputs { grad_output: values(grad_output) };
                run_tile(&plan, setup.level, tile, inputs, Outputs { grad_input: values_mut(out) }, values_mut(sums))
            },
        ),
        Entry::Shares => by_shares(&plan, setup, values(grad_output), &mut grad_input),
        _ => {
            let mut workspace = setup.workspace(plan.workspace_bytes());
            let inputs = Inputs { grad_output: values(grad_output) };
            let outputs = Outputs { grad_input: values_mut(&mut grad_input) };
            run_parallel(&plan, setup.level, &Threads(setup.threads), inputs, outputs, workspace.bytes())
        }
    };
    result.unwrap_or_else(|error| panic!("{error}"));
    Some(grad_input)
}

fn by_shares(plan: &Plan, setup: &Setup, grad_output: Values<'_>, grad_input: &mut Data) -> Result<(), RunError> {
    let copies = Copies::made(plan.stagings(), |phase, share, copy| {
        stage_share(plan, phase, share, Inputs { grad_output }, copy)
    })?;
    let inputs = Inputs { grad_output: copies.read(Tensor::GradOutput, grad_output) };
    for (phase, share) in copies.shares_behind(plan.phases()) {
        let outputs = Outputs { grad_input: part(grad_input, plan.share_range(phase, share)) };
        run_share(plan, setup.level, phase, share, inputs, outputs)?;
    }
    Ok(())
}

/// Runs all tiles on boxes of their own, by a function that runs one: on `grad_output`, `grad_input` and the sums.
///
/// # Errors
/// The function's first.
pub fn by_tiles<E>(
    plan: &Plan,
    grad_output: &Data,
    grad_input: &mut Data,
    mut each: impl FnMut(At, &Tile, Boxes<'_, 1, 2>) -> Result<(), E>,
) -> Result<(), E> {
    let p = plan.problem();
    let mut sums = boxed(plan.sums_dtype(), 0);
    for (at, tile) in tiles(shares(plan.phases()), |phase, share| plan.tiles(phase, share)) {
        let sources = offsets(p.c, p.grad_output_strides, [tile.planes, tile.source_rows, tile.source_columns]);
        let cells = offsets(p.c, p.grad_input_strides, [tile.planes, tile.rows, tile.columns]);
        if !tile.accumulates {
            // The first part has the most columns that any part of the cell has.
            sums = boxed(plan.sums_dtype(), tile.sums());
        }
        let (mut input, mut output) = (boxed(p.dtype, sources.len()), boxed(p.dtype, cells.len()));
        copy(grad_output, &mut input, sources.into_iter().zip(0..));
        let mut kept = boxed(sums.dtype(), tile.sums());
        copy(&sums, &mut kept, (0..tile.sums()).map(|i| (i, i)));
        each(at, &tile, Boxes { inputs: [&input], outputs: [&mut output, &mut kept] })?;
        copy(&kept, &mut sums, (0..tile.sums()).map(|i| (i, i)));
        if tile.last {
            copy(&output, grad_input, (0..).zip(cells));
        }
    }
    Ok(())
}

/// Where the elements of a box of planes, rows and columns lie.
fn offsets(channels: usize, strides: [usize; 4], [planes, rows, columns]: Box3) -> Vec<usize> {
    let [planes, rows, columns] = [planes, rows, columns].map(|[start, end]| start..end);
    let cells = planes.flat_map(|p| {
        let columns = columns.clone();
        rows.clone().flat_map(move |y| columns.clone().map(move |x| [p / channels, p % channels, y, x]))
    });
    cells.map(|cell| offset(cell, strides)).collect()
}
