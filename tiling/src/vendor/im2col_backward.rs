//! The vendor's tiling of Im2colBackward on 950 (Col2im), restated from its published op_host code. A thread makes each output
//! element.
//!
//! Older generations run a compiled kernel on NC1HWC0 whose tiling is not published.

use core::num::NonZeroUsize;

use super::key::{Change, neighbours};
use super::{SYSTEM_WORKSPACE, VendorArch, VendorError, VendorMachine, VendorPlan, within};
use crate::im2col_backward::Geometry;
use crate::plan::cores;
use crate::{Dtype, Measure, Operator};

/// The most output elements that its tiling takes: their offsets have 32 bits.
const MOST_ELEMENTS: usize = i32::MAX as usize;

pub(super) fn plan(problem: &Geometry, machine: &VendorMachine) -> Result<VendorPlan, VendorError> {
    const OPERATOR: Operator = Operator::Im2colBackward;
    if machine.arch != VendorArch::Dav3510 {
        return Err(VendorError::NotPublished { operator: OPERATOR, arch: machine.arch });
    }
    let dtype = problem.dtype;
    let own = key(dtype).ok_or(VendorError::NoKernel { operator: OPERATOR, dtype })?;
    for (name, size) in [("H", problem.h), ("W", problem.w)] {
        if size == 0 {
            return Err(VendorError::Empty { name });
        }
    }
    let sizes = [problem.n, problem.c, problem.h, problem.w];
    let total = sizes.into_iter().try_fold(1usize, usize::checked_mul).ok_or(VendorError::TooLarge)?;
    within("total", total, MOST_ELEMENTS)?;
    let limit = Measure { name: "N x C x H x W", used: total, limit: MOST_ELEMENTS };
    let block_dim = |cores: usize| total.div_ceil(total.div_ceil(cores.max(1)).max(1));
    let ([kh, kw], [dh, dw], [sh, sw]) = (
        problem.kernel.map(NonZeroUsize::get),
        problem.dilation.map(NonZeroUsize::get),
        problem.stride.map(NonZeroUsize::get),
    );
    let ([ph, pw], [column_h, column_w]) = (problem.padding, problem.columns);
    let typed = |to, dtype| (Change::Value { name: "dtype", to }, key(dtype));
    let others = neighbours(own, [typed("f32", Dtype::F32), typed("f16", Dtype::F16), typed("bf16", Dtype::Bf16)]);
    let block = cores::block_dim(machine.vector_cores, block_dim);
    Ok(VendorPlan::new(OPERATOR, own, block, SYSTEM_WORKSPACE)
        .limited(limit)
        .keyed("0, 1 and 2 are f32, f16 and bf16", others)
        .with(&[
            ("total", total),
            ("H", problem.h),
            ("W", problem.w),
            ("kh", kh),
            ("kw", kw),
            ("dh", dh),
            ("dw", dw),
            ("ph", ph),
            ("pw", pw),
            ("sh", sh),
            ("sw", sw),
            ("colH", column_h),
            ("colW", column_w),
        ]))
}

/// The tiling key; `None` for a dtype without a kernel.
const fn key(dtype: Dtype) -> Option<usize> {
    match dtype {
        Dtype::F32 => Some(0),
        Dtype::F16 => Some(1),
        Dtype::Bf16 => Some(2),
        _ => None,
    }
}
