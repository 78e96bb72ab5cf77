//! Runs of Im2colBackward.

use ubtile_kernels::im2col_backward::{Inputs, Outputs, run_parallel, run_share, run_tile, stage_share};
use ubtile_kernels::{RunError, Values};
use ubtile_testkit::{Data, Rng, problems, reference};
use ubtile_tiling::Tensor;
use ubtile_tiling::im2col_backward::{Plan, Problem, Tile, plan};

use super::{At, Boxes, Copies, Entry, Setup, Threads, boxed, copy, judge, part, shares, tiles, values, values_mut};
use crate::plan::{offset, possible};

/// Runs a problem and judges the result.
pub fn check(problem: &Problem, setup: &Setup) {
    let grad_output = problems::im2col_inputs(problem, setup.fill, &mut Rng::new(setup.seed));
    let Some(got) = run(problem, setup, &grad_output) else { return };
    let plain = run(problem, &setup.plain(), &grad_output).expect("computed at any level");
    judge(&got, &plain, &reference::im2col_backward::run(problem, &grad_output));
}

pub(super) fn run(problem: &Problem, setup: &Setup, grad_output: &Data) -> Option<Data> {
    let plan = possible(plan(problem, &setup.target, &setup.options), true)?;
    let mut out = problems::output(problem.slot(Tensor::Out));
    let result = match setup.entry {
        Entry::Tiles if problem.early_success().is_none() => {
            by_tiles(&plan, grad_output, &mut out, |_, tile, Boxes { inputs: [grad_output], outputs: [out, sums] }| {
                let inputs = Inputs { grad_output: values(grad_output) };
                run_tile(&plan, setup.level, tile, inputs, Outputs { out: values_mut(out) }, values_mut(sums))
            })
        }
        Entry::Shares => by_shares(&plan, setup, values(grad_output), &mut out),
        _ => {
            let mut workspace = setup.workspace(plan.workspace_bytes());
            let (inputs, outputs) =
                (Inputs { grad_output: values(grad_output) }, Outputs { out: values_mut(&mut out) });
            run_parallel(&plan, setup.level, &Threads(setup.threads), inputs, outputs, workspace.bytes())
        }
    };
    result.unwrap_or_else(|error| panic!("{error}"));
    Some(out)
}

fn by_shares(plan: &Plan, setup: &Setup, grad_output: Values<'_>, out: &mut Data) -> Result<(), RunError> {
    let copies = Copies::made(plan.stagings(), |phase, share, copy| {
        stage_share(plan, phase, share, Inputs { grad_output }, copy)
    })?;
    let inputs = Inputs { grad_output: copies.read(Tensor::GradOutput, grad_output) };
    for (phase, share) in copies.shares_behind(plan.phases()) {
        let outputs = Outputs { out: part(out, plan.share_range(phase, share)) };
        run_share(plan, setup.level, phase, share, inputs, outputs)?;
    }
    Ok(())
}

/// Runs all tiles on boxes of their own, by a function that runs one: on `grad_output`, `out` and the sums.
///
/// # Errors
/// The function's first.
pub fn by_tiles<E>(
    plan: &Plan,
    grad_output: &Data,
    out: &mut Data,
    mut each: impl FnMut(At, &Tile, Boxes<'_, 1, 2>) -> Result<(), E>,
) -> Result<(), E> {
    let (p, (sums, apart)) = (plan.problem(), plan.sums());
    let (mut result, mut kept) = (boxed(p.out_dtype, 0), boxed(sums, 0));
    for (at, tile) in tiles(shares(plan.phases()), |phase, share| plan.tiles(phase, share)) {
        if !tile.accumulates {
            result = boxed(p.out_dtype, tile.cells());
            kept = boxed(sums, if apart { tile.cells() } else { 0 });
        }
        let input = problems::im2col_tile_input(plan, &tile, grad_output);
        each(at, &tile, Boxes { inputs: [&input], outputs: [&mut result, &mut kept] })?;
        if tile.last {
            let ([y0, _], [x0, x1]) = (tile.rows, tile.columns);
            let at = |k: usize| [tile.plane / p.c, tile.plane % p.c, y0 + k / (x1 - x0), x0 + k % (x1 - x0)];
            copy(&result, out, (0..tile.cells()).map(|k| (k, offset(at(k), p.out_strides))));
        }
    }
    Ok(())
}
