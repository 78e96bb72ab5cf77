//! aclnnGridSampler2DBackward.

use ubtile_kernels::grid_sampler_2d_backward::{Inputs, Outputs, run_parallel};
use ubtile_kernels::{Level, ValuesMut};
use ubtile_tiling::grid_sampler_2d_backward::{Desc, Plan, check};
use ubtile_tiling::{Problem, Tensor};

use super::{Elements, Work, failed};
use crate::argument::{Argument, booleans, refused};
use crate::executor::{Prepared, planned};
use crate::failure::Outcome;
use crate::soc::Known;
use crate::threads::Threads;

/// What a call is given, in the order of the parameters.
pub(crate) struct Handles {
    pub(crate) grad_output: usize,
    pub(crate) input: usize,
    pub(crate) grid: usize,
    pub(crate) interpolation: i64,
    pub(crate) padding_mode: i64,
    pub(crate) align_corners: bool,
    pub(crate) output_mask: usize,
    pub(crate) input_grad: usize,
    pub(crate) grid_grad: usize,
}

/// Phase 1. Without an output mask the vendor's is done before it looks at anything else.
pub(crate) fn prepare(handles: &Handles, known: &Known) -> Outcome<Prepared> {
    if handles.output_mask == 0 {
        return Ok(Prepared { arguments: Vec::new(), work: Work::Nothing });
    }
    let grad_output = Argument::input("gradOutput", Tensor::GradOutput, handles.grad_output)?;
    let input = Argument::input("input", Tensor::Input, handles.input)?;
    let grid = Argument::input("grid", Tensor::Grid, handles.grid)?;
    let input_grad = Argument::output("inputGrad", Tensor::InputGrad, handles.input_grad)?;
    let grid_grad = Argument::output("gridGrad", Tensor::GridGrad, handles.grid_grad)?;
    let output_mask = booleans("outputMask", handles.output_mask)?;
    let desc = Desc {
        grad_output: grad_output.desc()?,
        input: input.desc()?,
        grid: grid.desc()?,
        input_grad: input_grad.desc()?,
        grid_grad: grid_grad.desc()?,
        interpolation: handles.interpolation,
        padding_mode: handles.padding_mode,
        align_corners: handles.align_corners,
        output_mask: &output_mask,
    };
    let problem = check(&desc, Some(known.product), known.edition).map_err(refused)?;
    let work = planned(Problem::GridSampler2dBackward(problem), known)?;
    Ok(Prepared { arguments: vec![grad_output, input, grid, input_grad, grid_grad], work })
}

/// The kernel. A gradient that the mask leaves out is not touched.
pub(super) fn run(
    plan: &Plan,
    level: Level,
    threads: Threads,
    mut elements: Elements<'_>,
    workspace: &mut [u8],
) -> Outcome {
    let inputs = Inputs {
        grad_output: elements.read(Tensor::GradOutput)?,
        input: elements.read(Tensor::Input)?,
        grid: elements.read(Tensor::Grid)?,
    };
    let outputs = Outputs {
        input_grad: elements.wanted(Tensor::InputGrad)?.unwrap_or(ValuesMut::F32(&mut [])),
        grid_grad: elements.wanted(Tensor::GridGrad)?.unwrap_or(ValuesMut::F32(&mut [])),
    };
    run_parallel(plan, level, &threads, inputs, outputs, workspace).map_err(failed)
}
