//! The vendor's tiling of ReplicationPad2dBackward on A2 and A3 (PadV3GradReplicate), restated from its published op_host code.
//!
//! A core owns whole planes (rows of planes when only the width is padded). Which kernel runs depends on the sides that are
//! padded and on whether a plane of `grad_output` fits 64 × 64. BF16 arrives as F32: aclnn casts before and after.

use core::num::NonZeroUsize;

use super::{
    Factor, SYSTEM_WORKSPACE, TILING_OBJECT, VendorArch, VendorError, VendorMachine, VendorPlan, ceil_to, core_bound,
    floor_to, spread, usable,
};
use crate::replication_pad2d_backward::Problem;
use crate::{Dtype, Operator};

/// Larger paddings go to the AICPU, unless top and bottom are 0.
const MOST_PADDING: isize = 7;

/// Bytes of the unified buffer that the tiling leaves alone.
const RESERVED: usize = 32 * 1024;

/// Which kernel runs; its F32 tiling key.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
enum Class {
    /// Both sides, at most 64 × 64.
    Small = 1000,
    /// Both sides, at most 64 rows.
    Wide = 1100,
    /// Both sides, at most 64 columns.
    High = 1010,
    /// Only left and right.
    Columns = 1101,
    /// Only top and bottom.
    Rows = 1110,
    /// Both sides, large.
    Large = 1111,
    /// Both sides, large, folded onto one row.
    OneRow = 11111,
}

pub(super) fn plan(problem: &Problem, machine: &VendorMachine) -> Result<VendorPlan, VendorError> {
    const OPERATOR: Operator = Operator::ReplicationPad2dBackward;
    if problem.early_success().is_some() {
        return Err(VendorError::NoWork);
    }
    if machine.arch != VendorArch::Dav2201 {
        return Err(VendorError::NotPublished { operator: OPERATOR, arch: machine.arch });
    }
    let size = match problem.dtype {
        Dtype::F32 | Dtype::Bf16 => 4,
        Dtype::F16 => 2,
        dtype => return Err(VendorError::NoKernel { operator: OPERATOR, dtype }),
    };
    let pads = [problem.left, problem.right, problem.top, problem.bottom];
    let only_width = problem.top == 0 && problem.bottom == 0;
    if let Some(&got) = pads.iter().find(|&&pad| pad < 0 || !only_width && pad > MOST_PADDING) {
        return Err(VendorError::Padding { got, most: MOST_PADDING });
    }
    let [left, right, top, bottom] = pads.map(isize::unsigned_abs);
    let (height, width) = (problem.padded_h, problem.padded_w);
    let class = class(problem);
    let halves = size == 2;
    let key = match (class, halves) {
        (Class::OneRow, true) => 22222,
        (class, true) => class as usize + 1000,
        (class, false) => class as usize,
    };

    let can = usable(machine.ub_bytes, RESERVED);
    let (divisor, run) = division(class, size);
    let factor = floor_to(can / divisor, run) / if halves { 2 } else { 4 };
    if factor == 0 {
        let want = RESERVED.saturating_add(TILING_OBJECT).saturating_add(divisor.get().saturating_mul(run));
        return Err(VendorError::UbInsufficient { got: machine.ub_bytes, want });
    }
    let planes = problem.n.checked_mul(problem.c).ok_or(VendorError::TooLarge)?;
    let items = if class == Class::Columns { planes.saturating_mul(height) } else { planes };
    let [used, each, tail] = spread(items, machine.vector_cores);
    let edge = if class == Class::Columns { ceil_to(left.max(right).saturating_add(1), 32) } else { 0 };
    let per_core = match class {
        Class::Rows => 0,
        Class::Columns => edge.saturating_mul(2 * size),
        _ => ceil_to(height, 16).max(ceil_to(width, 16)).saturating_mul(64 * size),
    };
    let workspace =
        per_core.checked_mul(used).and_then(|w| w.checked_add(SYSTEM_WORKSPACE)).ok_or(VendorError::TooLarge)?;
    let at_once = Factor {
        name: "ubFactorElement",
        value: factor,
        step: run / if halves { 2 } else { 4 },
        step_bytes: divisor.get().saturating_mul(run),
        beside: RESERVED + TILING_OBJECT,
        limit: machine.ub_bytes,
    };
    let bound = core_bound(used, machine.vector_cores);
    let plan = VendorPlan::new(OPERATOR, key, used, workspace).because(bound, [Some(at_once), None]);
    Ok(plan.keeping("edges of each core", &["compute"]).with(&[
        ("batch", problem.n),
        ("channel", problem.c),
        ("height", height),
        ("width", width),
        ("alignHeight", ceil_to(height, 16)),
        ("alignWidth", ceil_to(width, 16)),
        ("outHeight", problem.h),
        ("outWidth", problem.w),
        ("alignOutHeight", ceil_to(problem.h, 16)),
        ("alignOutWidth", ceil_to(problem.w, 16)),
        ("padTop", top),
        ("padBottom", bottom),
        ("padLeft", left),
        ("padRight", right),
        ("blockNum", used),
        ("ubFactorElement", factor),
        ("ncPerCore", each),
        ("tailNC", tail),
        ("tilingKey", key),
        ("wCalCount", edge),
        ("workspacePerCore", per_core),
    ]))
}

fn class(problem: &Problem) -> Class {
    let pads_width = problem.left != 0 || problem.right != 0;
    let pads_height = problem.top != 0 || problem.bottom != 0;
    match (pads_width, pads_height, problem.padded_h <= 64, problem.padded_w <= 64) {
        (false, true, ..) => Class::Rows,
        (true, false, ..) => Class::Columns,
        (_, _, true, true) => Class::Small,
        (_, _, true, false) => Class::Wide,
        (_, _, false, true) => Class::High,
        _ if problem.h == 1 => Class::OneRow,
        _ => Class::Large,
    }
}

/// How the unified buffer is divided: by what, and in whole runs of how many bytes.
fn division(class: Class, size: usize) -> (NonZeroUsize, usize) {
    let halves = size == 2;
    let by = |f32: usize, half: usize, strips: usize| {
        NonZeroUsize::new(if halves { half * strips } else { f32 * strips }).unwrap_or(NonZeroUsize::MIN)
    };
    match class {
        Class::Rows => (by(8, 12, 1), 256),
        Class::Columns => (by(2, 6, 1), 256),
        Class::Small => (by(4, 8, 64), 256),
        Class::Wide | Class::High => (by(3, 6, 64), 16 * size),
        Class::Large | Class::OneRow => (by(4, 8, 16), 256),
    }
}
