//! Runs of MaxUnpool2dBackward.

use ubtile_kernels::RunError;
use ubtile_kernels::max_unpool2d_backward::{Inputs, Outputs, run_parallel, run_share, run_tile, stage_share};
use ubtile_testkit::{Data, IndexFill, Rng, problems, reference};
use ubtile_tiling::Tensor;
use ubtile_tiling::max_unpool2d_backward::{Plan, Problem, Tile, plan};

use super::{At, Boxes, Copies, Entry, Setup, Threads, boxed, copy, judge, part, shares, tiles, values, values_mut};
use crate::plan::{offset, possible};

/// Runs a problem and judges the result.
pub fn check(problem: &Problem, setup: &Setup, indices: IndexFill) {
    let inputs = problems::max_unpool_inputs(problem, setup.fill, indices, &mut Rng::new(setup.seed));
    let Some((result, got)) = run(problem, setup, &inputs) else { return };
    let (plain_result, plain) = run(problem, &setup.plain(), &inputs).expect("planned for any machine");
    assert_eq!(result, plain_result, "another way to run it gives another error");
    match (reference::max_unpool2d_backward::run(problem, &inputs), result) {
        (Ok(expected), Ok(())) => judge(&got, &plain, &expected),
        (Err(bad), Err(RunError::Index { position, index, cells })) => {
            assert_eq!((position, index), (bad.position, bad.index));
            assert_eq!(cells, problem.out_h * problem.out_w);
        }
        (expected, result) => panic!("{result:?}, expected {expected:?}"),
    }
}

/// What it reads.
pub type Tensors = reference::max_unpool2d_backward::Inputs;

pub(super) fn run(problem: &Problem, setup: &Setup, data: &Tensors) -> Option<(Result<(), RunError>, Data)> {
    let plan = possible(plan(problem, &setup.target, &setup.options), true)?;
    let mut out = problems::output(problem.slot(Tensor::Out));
    let inputs = Inputs { grad_output: values(&data.grad_output), indices: values(&data.indices) };
    let result = match setup.entry {
        Entry::Tiles if problem.early_success().is_none() => {
            by_tiles(&plan, data, &mut out, |_, tile, Boxes { inputs: [grad_output, indices], outputs: [out] }| {
                let inputs = Inputs { grad_output: values(grad_output), indices: values(indices) };
                run_tile(&plan, setup.level, tile, inputs, Outputs { out: values_mut(out) })
            })
        }
        Entry::Shares => by_shares(&plan, setup, inputs, &mut out),
        _ => {
            let mut workspace = setup.workspace(plan.workspace_bytes());
            let outputs = Outputs { out: values_mut(&mut out) };
            run_parallel(&plan, setup.level, &Threads(setup.threads), inputs, outputs, workspace.bytes())
        }
    };
    Some((result, out))
}

/// The error of the first share that has one, as a caller that collects them would report.
fn by_shares(plan: &Plan, setup: &Setup, inputs: Inputs<'_>, out: &mut Data) -> Result<(), RunError> {
    let copies = Copies::made(plan.stagings(), |phase, share, copy| stage_share(plan, phase, share, inputs, copy))?;
    let inputs = Inputs {
        grad_output: copies.read(Tensor::GradOutput, inputs.grad_output),
        indices: copies.read(Tensor::Indices, inputs.indices),
    };
    let mut result = Ok(());
    for (phase, share) in copies.shares_behind(plan.phases()) {
        let outputs = Outputs { out: part(out, plan.share_range(phase, share)) };
        result = run_share(plan, setup.level, phase, share, inputs, outputs).and(result);
    }
    result
}

/// Runs all tiles on boxes of their own, by a function that runs one: on `grad_output` and `indices`, and `out`.
///
/// # Errors
/// The function's first.
pub fn by_tiles<E>(
    plan: &Plan,
    data: &Tensors,
    out: &mut Data,
    mut each: impl FnMut(At, &Tile, Boxes<'_, 2, 1>) -> Result<(), E>,
) -> Result<(), E> {
    let p = plan.problem();
    let mut result = boxed(p.out_dtype, 0);
    let mut all: Vec<_> = shares(plan.phases()).collect();
    // The lowest bad index is that of the first tile that has one.
    all.sort_unstable();
    for (place, tile) in tiles(all.into_iter(), |phase, share| plan.tiles(phase, share)) {
        let ([e0, e1], [c0, c1]) = (tile.elements, tile.cells);
        if !tile.accumulates {
            result = boxed(p.out_dtype, e1 - e0);
        }
        let at = |i: usize, width: usize, strides| {
            offset([tile.plane / p.c, tile.plane % p.c, i / width, i % width], strides)
        };
        let (mut slice, mut indices) = (boxed(p.dtype, c1 - c0), boxed(data.indices.dtype(), e1 - e0));
        copy(&data.grad_output, &mut slice, (c0..c1).map(|i| at(i, p.out_w, p.grad_output_strides)).zip(0..));
        copy(&data.indices, &mut indices, (e0..e1).map(|i| at(i, p.w, p.indices_strides)).zip(0..));
        each(place, &tile, Boxes { inputs: [&slice, &indices], outputs: [&mut result] })?;
        if tile.last {
            copy(&result, out, (0..).zip((e0..e1).map(|i| at(i, p.w, p.out_strides))));
        }
    }
    Ok(())
}
