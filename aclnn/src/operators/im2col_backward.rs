//! aclnnIm2colBackward.

use ubtile_kernels::Level;
use ubtile_kernels::im2col_backward::{Inputs, Outputs, run_parallel};
use ubtile_tiling::im2col_backward::{Desc, Plan, check};
use ubtile_tiling::{Problem, Tensor};

use super::{Elements, failed};
use crate::argument::{Argument, integers, refused};
use crate::executor::{Prepared, planned};
use crate::failure::Outcome;
use crate::soc::Known;
use crate::threads::Threads;

/// The handles of a call, in the order of the parameters.
pub(crate) struct Handles {
    pub(crate) grad_output: usize,
    pub(crate) input_size: usize,
    pub(crate) kernel_size: usize,
    pub(crate) dilation: usize,
    pub(crate) padding: usize,
    pub(crate) stride: usize,
    pub(crate) out: usize,
}

/// Phase 1.
pub(crate) fn prepare(handles: &Handles, known: &Known) -> Outcome<Prepared> {
    let grad_output = Argument::input("gradOutput", Tensor::GradOutput, handles.grad_output)?;
    let input_size = integers("inputSize", handles.input_size)?;
    let kernel_size = integers("kernelSize", handles.kernel_size)?;
    let dilation = integers("dilation", handles.dilation)?;
    let padding = integers("padding", handles.padding)?;
    let stride = integers("stride", handles.stride)?;
    let out = Argument::output("out", Tensor::Out, handles.out)?;
    let desc = Desc {
        grad_output: grad_output.desc()?,
        input_size: &input_size,
        kernel_size: &kernel_size,
        dilation: &dilation,
        padding: &padding,
        stride: &stride,
        out: out.desc()?,
    };
    let problem = check(&desc, Some(known.product), known.edition).map_err(refused)?;
    let work = planned(Problem::Im2colBackward(problem), known)?;
    Ok(Prepared { arguments: vec![grad_output, out], work })
}

/// The kernel.
pub(super) fn run(
    plan: &Plan,
    level: Level,
    threads: Threads,
    mut elements: Elements<'_>,
    workspace: &mut [u8],
) -> Outcome {
    let inputs = Inputs { grad_output: elements.read(Tensor::GradOutput)? };
    let outputs = Outputs { out: elements.write(Tensor::Out)? };
    run_parallel(plan, level, &threads, inputs, outputs, workspace).map_err(failed)
}
