//! The operators: a first phase each that checks and plans, and a second that runs.

use crate::executor::{phase_1, phase_2};
use crate::failure::status;
use crate::operators::{
    grid_sampler_2d_backward as grid_sampler, im2col_backward as im2col, max_unpool2d_backward as max_unpool,
    reflection_pad2d_backward as reflection_pad, replication_pad1d_backward as replication_pad1d,
    replication_pad2d_backward as replication_pad,
};

const GRID_SAMPLER: &str = "aclnnGridSampler2DBackward";
const MAX_UNPOOL: &str = "aclnnMaxUnpool2dBackward";
const REPLICATION_PAD: &str = "aclnnReplicationPad2dBackward";
const REPLICATION_PAD_1D: &str = "aclnnReplicationPad1dBackward";
const REFLECTION_PAD: &str = "aclnnReflectionPad2dBackward";
const IM2COL: &str = "aclnnIm2colBackward";

#[unsafe(no_mangle)]
extern "C" fn aclnnGridSampler2DBackwardGetWorkspaceSize(
    gradOutput: usize,
    input: usize,
    grid: usize,
    interpolationMode: i64,
    paddingMode: i64,
    alignCorners: u8,
    outputMask: usize,
    inputGrad: usize,
    gridGrad: usize,
    workspaceSize: *mut u64,
    executor: *mut usize,
) -> i32 {
    let handles = grid_sampler::Handles {
        grad_output: gradOutput,
        input,
        grid,
        interpolation: interpolationMode,
        padding_mode: paddingMode,
        align_corners: alignCorners != 0,
        output_mask: outputMask,
        input_grad: inputGrad,
        grid_grad: gridGrad,
    };
    status("aclnnGridSampler2DBackwardGetWorkspaceSize", || {
        phase_1(GRID_SAMPLER, workspaceSize, executor, |device| grid_sampler::prepare(&handles, device))
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclnnGridSampler2DBackward(workspace: usize, workspaceSize: u64, executor: usize, stream: usize) -> i32 {
    status(GRID_SAMPLER, || phase_2(GRID_SAMPLER, workspace, workspaceSize, executor, stream))
}

#[unsafe(no_mangle)]
extern "C" fn aclnnMaxUnpool2dBackwardGetWorkspaceSize(
    gradOutput: usize,
    input: usize,
    indices: usize,
    outputSize: usize,
    out: usize,
    workspaceSize: *mut u64,
    executor: *mut usize,
) -> i32 {
    let handles =
        max_unpool::Handles { grad_output: gradOutput, self_tensor: input, indices, output_size: outputSize, out };
    status("aclnnMaxUnpool2dBackwardGetWorkspaceSize", || {
        phase_1(MAX_UNPOOL, workspaceSize, executor, |device| max_unpool::prepare(&handles, device))
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclnnMaxUnpool2dBackward(workspace: usize, workspaceSize: u64, executor: usize, stream: usize) -> i32 {
    status(MAX_UNPOOL, || phase_2(MAX_UNPOOL, workspace, workspaceSize, executor, stream))
}

#[unsafe(no_mangle)]
extern "C" fn aclnnReplicationPad2dBackwardGetWorkspaceSize(
    gradOutput: usize,
    input: usize,
    padding: usize,
    gradInput: usize,
    workspaceSize: *mut u64,
    executor: *mut usize,
) -> i32 {
    let handles =
        replication_pad::Handles { grad_output: gradOutput, self_tensor: input, padding, grad_input: gradInput };
    status("aclnnReplicationPad2dBackwardGetWorkspaceSize", || {
        phase_1(REPLICATION_PAD, workspaceSize, executor, |device| replication_pad::prepare(&handles, device))
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclnnReplicationPad2dBackward(
    workspace: usize,
    workspaceSize: u64,
    executor: usize,
    stream: usize,
) -> i32 {
    status(REPLICATION_PAD, || phase_2(REPLICATION_PAD, workspace, workspaceSize, executor, stream))
}

#[unsafe(no_mangle)]
extern "C" fn aclnnReplicationPad1dBackwardGetWorkspaceSize(
    gradOutput: usize,
    input: usize,
    padding: usize,
    gradInput: usize,
    workspaceSize: *mut u64,
    executor: *mut usize,
) -> i32 {
    let handles =
        replication_pad::Handles { grad_output: gradOutput, self_tensor: input, padding, grad_input: gradInput };
    status("aclnnReplicationPad1dBackwardGetWorkspaceSize", || {
        phase_1(REPLICATION_PAD_1D, workspaceSize, executor, |device| replication_pad1d::prepare(&handles, device))
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclnnReplicationPad1dBackward(
    workspace: usize,
    workspaceSize: u64,
    executor: usize,
    stream: usize,
) -> i32 {
    status(REPLICATION_PAD_1D, || phase_2(REPLICATION_PAD_1D, workspace, workspaceSize, executor, stream))
}

#[unsafe(no_mangle)]
extern "C" fn aclnnReflectionPad2dBackwardGetWorkspaceSize(
    gradOutput: usize,
    input: usize,
    padding: usize,
    gradInput: usize,
    workspaceSize: *mut u64,
    executor: *mut usize,
) -> i32 {
    let handles =
        replication_pad::Handles { grad_output: gradOutput, self_tensor: input, padding, grad_input: gradInput };
    status("aclnnReflectionPad2dBackwardGetWorkspaceSize", || {
        phase_1(REFLECTION_PAD, workspaceSize, executor, |device| reflection_pad::prepare(&handles, device))
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclnnReflectionPad2dBackward(
    workspace: usize,
    workspaceSize: u64,
    executor: usize,
    stream: usize,
) -> i32 {
    status(REFLECTION_PAD, || phase_2(REFLECTION_PAD, workspace, workspaceSize, executor, stream))
}

#[unsafe(no_mangle)]
extern "C" fn aclnnIm2colBackwardGetWorkspaceSize(
    gradOutput: usize,
    inputSize: usize,
    kernelSize: usize,
    dilation: usize,
    padding: usize,
    stride: usize,
    out: usize,
    workspaceSize: *mut u64,
    executor: *mut usize,
) -> i32 {
    let handles = im2col::Handles {
        grad_output: gradOutput,
        input_size: inputSize,
        kernel_size: kernelSize,
        dilation,
        padding,
        stride,
        out,
    };
    status("aclnnIm2colBackwardGetWorkspaceSize", || {
        phase_1(IM2COL, workspaceSize, executor, |device| im2col::prepare(&handles, device))
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclnnIm2colBackward(workspace: usize, workspaceSize: u64, executor: usize, stream: usize) -> i32 {
    status(IM2COL, || phase_2(IM2COL, workspace, workspaceSize, executor, stream))
}
