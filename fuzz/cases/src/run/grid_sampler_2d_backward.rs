//! Runs of GridSampler2DBackward.

use ubtile_kernels::RunError;
use ubtile_kernels::grid_sampler_2d_backward::{
    Inputs, Outputs, ShareMemory, TileBoxes, run_parallel, run_share, run_tile, stage_share,
};
use ubtile_testkit::problems::POISON;
use ubtile_testkit::{Coordinates, Data, Rng, problems, reference};
use ubtile_tiling::grid_sampler_2d_backward::{Plan, Problem, Tile, plan};
use ubtile_tiling::{Dtype, Tensor, TensorDesc};

use super::{At, Boxes, Copies, Entry, Setup, Threads, boxed, copy, judge, values, values_mut};
use crate::plan::{offset, possible};

/// Runs a problem and judges the result.
pub fn check(problem: &Problem, setup: &Setup, coordinates: Coordinates) {
    let inputs = problems::grid_sampler_inputs(problem, setup.fill, coordinates, &mut Rng::new(setup.seed));
    let Some([input_grad, grid_grad]) = run(problem, setup, &inputs) else { return };
    let [plain_input, plain_grid] = run(problem, &setup.plain(), &inputs).expect("computed at any level");
    let expected = reference::grid_sampler_2d_backward::run(problem, &inputs);
    if let Some(expected) = expected.input_grad {
        judge(&input_grad, &plain_input, &expected);
    }
    if let Some(expected) = expected.grid_grad {
        judge(&grid_grad, &plain_grid, &expected);
    }
}

/// A gradient before a run; one that is not wanted is empty.
#[must_use]
pub fn gradient(problem: &Problem, tensor: Tensor) -> Data {
    match problem.slot(tensor) {
        Some(slot) => problems::output(Some(slot)),
        None => Data::filled(TensorDesc::contiguous(Dtype::F32, &[0]).expect("one dimension"), 0),
    }
}

/// The gradients of image and grid; one that is not wanted is empty.
pub(super) fn run(problem: &Problem, setup: &Setup, tensors: &Tensors) -> Option<[Data; 2]> {
    let plan = possible(plan(problem, &setup.target, &setup.options), true)?;
    let mut outputs = [Tensor::InputGrad, Tensor::GridGrad].map(|tensor| gradient(problem, tensor));
    let inputs = Inputs {
        grad_output: values(&tensors.grad_output),
        input: values(&tensors.input),
        grid: values(&tensors.grid),
    };
    let result = match setup.entry {
        Entry::Tiles if problem.early_success().is_none() => {
            by_tiles(&plan, tensors, &mut outputs, |_, tile, boxes| run_tile(&plan, setup.level, tile, in_rust(boxes)))
        }
        Entry::Shares => by_shares(&plan, setup, inputs, &mut outputs),
        _ => {
            let mut workspace = setup.workspace(plan.workspace_bytes());
            let [input_grad, grid_grad] = &mut outputs;
            let outputs = Outputs { input_grad: values_mut(input_grad), grid_grad: values_mut(grid_grad) };
            run_parallel(&plan, setup.level, &Threads(setup.threads), inputs, outputs, workspace.bytes())
        }
    };
    result.unwrap_or_else(|error| panic!("{error}"));
    Some(outputs)
}

fn by_shares(plan: &Plan, setup: &Setup, inputs: Inputs<'_>, outputs: &mut [Data; 2]) -> Result<(), RunError> {
    let mut workspace = vec![POISON; plan.workspace_bytes()];
    let copies = Copies::made(plan.stagings(), |phase, share, copy| stage_share(plan, phase, share, inputs, copy))?;
    let inputs = Inputs {
        grad_output: copies.read(Tensor::GradOutput, inputs.grad_output),
        input: copies.read(Tensor::Input, inputs.input),
        ..inputs
    };
    let aligned = |bytes: &[u8]| {
        let mut copy = boxed(Dtype::U8, bytes.len());
        copy.bytes_mut().copy_from_slice(bytes);
        copy
    };
    for (phase, share) in copies.shares_behind(plan.phases()) {
        let parts = plan.share_workspace(phase, share);
        let [mut scratch, mut write, read] =
            [parts.scratch, parts.write.clone(), parts.read].map(|range| aligned(&workspace[range]));
        let memory = ShareMemory { scratch: scratch.bytes_mut(), write: write.bytes_mut(), read: read.bytes() };
        let [input_grad, grid_grad] = outputs.each_mut().map(values_mut);
        let outputs = Outputs { input_grad, grid_grad }.share(&plan.share_range(phase, share));
        run_share(plan, setup.level, phase, share, inputs, outputs, memory)?;
        workspace[parts.write].copy_from_slice(write.bytes());
    }
    Ok(())
}

/// What it reads.
pub type Tensors = reference::grid_sampler_2d_backward::Inputs;

fn in_rust(Boxes { inputs, outputs }: Boxes<'_, 3, 4>) -> TileBoxes<'_> {
    let [grad_output, input, grid] = inputs.map(values);
    let [input_grad, input_grad_sums, grid_grad, totals] = outputs.map(values_mut);
    TileBoxes { grad_output, input, grid, input_grad, input_grad_sums, grid_grad, totals }
}

/// Runs all tiles on boxes of their own, by a function that runs one: on `grad_output`, `input` and `grid`; and `input_grad`, its
/// sums, `grid_grad` and its totals.
///
/// # Errors
/// The function's first.
pub fn by_tiles<E>(
    plan: &Plan,
    tensors: &Tensors,
    outputs: &mut [Data; 2],
    mut each: impl FnMut(At, &Tile, Boxes<'_, 3, 4>) -> Result<(), E>,
) -> Result<(), E> {
    let p = plan.problem();
    let (sums, points, pixels) = (plan.sums_dtype(), p.ho * p.wo, p.hi * p.wi);
    let mut totals: Vec<_> = (0..p.n).map(|_| boxed(sums, 2 * points)).collect();
    let (compute, phase) =
        plan.phases().enumerate().find(|(_, phase)| phase.name == "compute").expect("there is something to compute");
    let pair = |image: usize, i: usize, strides| offset([image, i / 2 / p.wo, i / 2 % p.wo, i % 2], strides);
    for share in 0..phase.shares {
        let (mut planes, mut plane_sums) = (boxed(p.dtype, 0), boxed(sums, 0));
        for (number, tile) in plan.tiles(compute, share).enumerate() {
            let (image, [c0, c1], [p0, p1], [y0, y1]) = (tile.image, tile.channels, tile.points, tile.rows);
            let (width, rows) = (p1 - p0, (y1 - y0) * p.wi);
            if tile.first_points || number == 0 {
                (planes, plane_sums) = (boxed(p.dtype, (c1 - c0) * rows), boxed(sums, (c1 - c0) * rows));
            }
            let mut grad_output = boxed(p.dtype, (c1 - c0) * width);
            let mut input = boxed(p.dtype, (c1 - c0) * pixels);
            let (mut grid, mut grid_grad) = (boxed(p.dtype, 2 * width), boxed(p.dtype, 2 * width));
            let point = |i: usize| [image, c0 + i / width, (p0 + i % width) / p.wo, (p0 + i % width) % p.wo];
            let pixel = |i: usize| [image, c0 + i / pixels, i % pixels / p.wi, i % p.wi];
            let all = 0..(c1 - c0) * width;
            copy(&tensors.grad_output, &mut grad_output, all.map(|i| (offset(point(i), p.grad_output_strides), i)));
            let all = 0..(c1 - c0) * pixels;
            copy(&tensors.input, &mut input, all.map(|i| (offset(pixel(i), p.input_strides), i)));
            copy(&tensors.grid, &mut grid, (0..2 * width).map(|i| (pair(image, 2 * p0 + i, p.grid_strides), i)));
            let mut kept = boxed(sums, 2 * width);
            copy(&totals[image], &mut kept, (2 * p0..2 * p1).zip(0..));
            let boxes = Boxes {
                inputs: [&grad_output, &input, &grid],
                outputs: [&mut planes, &mut plane_sums, &mut grid_grad, &mut kept],
            };
            each([compute, share, number], &tile, boxes)?;
            copy(&kept, &mut totals[image], (0..).zip(2 * p0..2 * p1));
            let [to_input_grad, to_grid_grad] = &mut *outputs;
            if p.want_grid_grad && tile.makes_grid_grad && c1 == p.c {
                let pairs = (0..2 * width).map(|i| (i, pair(image, 2 * p0 + i, p.grid_grad_strides)));
                copy(&grid_grad, to_grid_grad, pairs);
            }
            if p.want_input_grad && tile.last_points {
                let cell = |i: usize| [image, c0 + i / rows, y0 + i % rows / p.wi, i % p.wi];
                let cells = (0..(c1 - c0) * rows).map(|i| (i, offset(cell(i), p.input_grad_strides)));
                copy(&planes, to_input_grad, cells);
            }
        }
    }
    Ok(())
}
