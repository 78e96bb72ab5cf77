//! The vendor's tiling of MaxUnpool2dBackward on 950 (GatherElements), restated from its published op_host code.
//!
//! Rows that fit the unified buffer are loaded whole; else a thread gathers each element. Older generations run a compiled
//! gather whose tiling is not published.

use super::{SYSTEM_WORKSPACE, VendorArch, VendorError, VendorMachine, VendorPlan, ceil_to, core_bound, spread};
use crate::max_unpool2d_backward::Problem;
use crate::{Dtype, Operator};

/// Bytes of the unified buffer that the threads' cache keeps.
const SIMT_CACHE: usize = 32 * 1024;

pub(super) fn plan(problem: &Problem, machine: &VendorMachine) -> Result<VendorPlan, VendorError> {
    const OPERATOR: Operator = Operator::MaxUnpool2dBackward;
    if problem.early_success().is_some() {
        return Err(VendorError::NoWork);
    }
    if machine.arch != VendorArch::Dav3510 {
        return Err(VendorError::NotPublished { operator: OPERATOR, arch: machine.arch });
    }
    if matches!(problem.dtype, Dtype::F64 | Dtype::Bf16 | Dtype::C64 | Dtype::C128) {
        return Err(VendorError::NoKernel { operator: OPERATOR, dtype: problem.dtype });
    }
    let bound = |used| core_bound(used, machine.vector_cores);
    let row = |elements: usize, size: usize| ceil_to(elements.saturating_mul(size), 32);
    let planes = problem.n.checked_mul(problem.c).ok_or(VendorError::TooLarge)?;
    let axis = problem.out_h.checked_mul(problem.out_w).ok_or(VendorError::TooLarge)?;
    let inner = problem.h.checked_mul(problem.w).ok_or(VendorError::TooLarge)?;
    let (value, index) = (problem.dtype.size(), problem.index_dtype.size());
    let rows = row(axis, value).saturating_add(row(inner, value)).saturating_add(row(inner, index)).saturating_mul(2);

    if rows <= machine.ub_bytes && axis <= 65_535 && inner > 32 && axis / inner.max(1) < 32 {
        let [used, each, tail] = spread(planes, machine.vector_cores);
        return Ok(VendorPlan::new(OPERATOR, 1320, used, SYSTEM_WORKSPACE).because(bound(used), [None; 2]).with(&[
            ("usedCoreNum", used),
            ("perCoreNum", each),
            ("tailCoreNum", tail),
            ("xAxis", axis),
            ("idxAxis", inner),
            ("tilingKey", 1320),
        ]));
    }
    // N and C have the same size in both tensors, so they merge to one leading dimension.
    let source = planes.checked_mul(axis).ok_or(VendorError::TooLarge)?;
    let results = planes.checked_mul(inner).ok_or(VendorError::TooLarge)?;
    let key = 201 + if source > i32::MAX as usize { 10 } else { 0 };
    let threads = if results.div_ceil(1024) < machine.vector_cores / 2 { 512 } else { 1024 };
    let each = if results < threads { results } else { results.div_ceil(machine.vector_cores.max(1)) };
    let used = results.div_ceil(each.max(1));
    Ok(VendorPlan::new(OPERATOR, key, used, SYSTEM_WORKSPACE).because(bound(used), [None; 2]).with(&[
        ("usedCoreNum", used),
        ("perCoreNum", each),
        ("tailCoreNum", results.saturating_sub(each.saturating_mul(used.saturating_sub(1)))),
        ("threadNum", threads),
        ("xAxis", axis),
        ("idxAxis", inner),
        ("localMemorySize", machine.ub_bytes.saturating_sub(SIMT_CACHE)),
        ("tilingKey", key),
    ]))
}
