//! The C functions give the bits and the refusals of the Rust ones, by run, by shares and by tiles.

mod grid_sampler_2d_backward;
mod im2col_backward;
mod max_unpool2d_backward;
mod refusals;
mod replication_pad2d_backward;
mod staging;

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use ubtile_capi::grid_sampler_2d_backward as grid;
use ubtile_capi::im2col_backward as im2col;
use ubtile_capi::max_unpool2d_backward as unpool;
use ubtile_capi::replication_pad2d_backward as pad;
use ubtile_capi::*;

fn tensor(dtype: i32, shape: &[usize]) -> Tensor {
    let mut tensor = Tensor::default();
    // SAFETY: both pointers are to what they say.
    let status = unsafe { ubtile_tensor_contiguous(dtype, shape.len() as u32, shape.as_ptr(), &mut tensor) };
    assert_eq!(status, UBTILE_SUCCESS);
    tensor
}

fn target(name: &std::ffi::CStr) -> Target {
    let mut target = Target::default();
    // SAFETY: a C string and a target.
    assert_eq!(unsafe { ubtile_target_named(name.as_ptr(), &mut target) }, UBTILE_SUCCESS);
    target
}

fn input<T>(data: &[T]) -> Input {
    Input { data: data.as_ptr().cast(), bytes: size_of_val(data) }
}

fn output<T>(data: &mut [T]) -> Output {
    Output { data: data.as_mut_ptr().cast::<c_void>(), bytes: size_of_val(data) }
}

const NONE: Output = Output { data: null_mut(), bytes: 0 };

fn numbers(count: usize, seed: u32) -> Vec<f32> {
    let mut state = seed;
    let next = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        ((state >> 16) as u8 as f32 - 128.0) / 100.0
    };
    (0..count).map(next).collect()
}

fn grid_desc(dtype: i32, c: usize) -> grid::GridSamplerDesc {
    grid::GridSamplerDesc {
        grad_output: tensor(dtype, &[2, c, 5, 6]),
        input: tensor(dtype, &[2, c, 7, 8]),
        grid: tensor(dtype, &[2, 5, 6, 2]),
        input_grad: tensor(dtype, &[2, c, 7, 8]),
        grid_grad: tensor(dtype, &[2, 5, 6, 2]),
        output_mask: [true, true],
        ..Default::default()
    }
}

fn pad_desc() -> pad::ReplicationPadDesc {
    pad::ReplicationPadDesc {
        grad_output: tensor(UBTILE_F32, &[1, 3, 4]),
        self_tensor: tensor(UBTILE_F32, &[1, 2, 2]),
        grad_input: tensor(UBTILE_F32, &[1, 2, 2]),
        padding: [1, 1, 0, 1],
    }
}

/// All shares of all phases, the last one of each first; what is no share or no phase is refused.
fn every_share(phases: usize, shares: impl Fn(usize) -> usize, run: impl Fn(usize, usize) -> i32) {
    for phase in 0..phases {
        for share in (0..shares(phase)).rev() {
            assert_eq!(run(phase, share), UBTILE_SUCCESS, "phase {phase}, share {share}");
        }
        assert_eq!(run(phase, shares(phase)), UBTILE_ERROR_PARAM_INVALID, "phase {phase}, a share too many");
    }
    assert_eq!(run(phases, 0), UBTILE_ERROR_PARAM_INVALID, "a phase too many");
    assert_eq!(run(usize::MAX, usize::MAX), UBTILE_ERROR_PARAM_INVALID);
}
