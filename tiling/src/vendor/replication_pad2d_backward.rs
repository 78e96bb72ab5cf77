//! The vendor's tiling of ReplicationPad2dBackward on A2 and A3 (PadV3GradReplicate), restated from its published op_host code.
//!
//! A core owns whole planes (rows of planes when only the width is padded). Which kernel runs depends on the sides that are
//! padded and on whether a plane of `grad_output` fits 64 × 64. The kernels take F32, F16 and BF16; aclnn converts BF16 to F32 before and
//! after, so only callers of the kernel itself meet the BF16 ones.

use core::num::NonZeroUsize;

use super::key::{Change, MOST, neighbours};
use super::{
    Factor, Neighbour, SYSTEM_WORKSPACE, TILING_OBJECT, VendorArch, VendorError, VendorMachine, VendorPlan, ceil_to,
    floor_to, spread, usable,
};
use crate::plan::cores;
use crate::replication_pad2d_backward::Geometry;
use crate::{Dtype, Operator};

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

pub(super) fn plan(problem: &Geometry, machine: &VendorMachine) -> Result<VendorPlan, VendorError> {
    const OPERATOR: Operator = Operator::ReplicationPad2dBackward;
    if machine.arch != VendorArch::Dav2201 {
        return Err(VendorError::NotPublished { operator: OPERATOR, arch: machine.arch });
    }
    let dtype = problem.dtype;
    let key = key(problem).ok_or(VendorError::NoKernel { operator: OPERATOR, dtype })?;
    let pads = [problem.left, problem.right, problem.top, problem.bottom];
    if let Some(&got) = pads.iter().find(|&&pad| pad < 0) {
        return Err(VendorError::Padding { got });
    }
    let [left, right, top, bottom] = pads.map(isize::unsigned_abs);
    let (height, width) = (problem.padded_h, problem.padded_w);
    let class = class(problem);
    let (size, halves) = (dtype.size(), dtype != Dtype::F32);

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
    // Whatever the class, though only the columns' kernel reads it.
    let edge = ceil_to(left.max(right).saturating_add(1), 32);
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
    let block = cores::block_dim(machine.vector_cores, |cores| items.min(cores));
    let plan = VendorPlan::new(OPERATOR, key, block, workspace).at_once([Some(at_once), None]);
    let plan = plan.keeping("edges of each core", &["compute"]).keyed(rule(class), other_keys(problem, key));
    let plan = plan.with_narrow(
        u32::MAX,
        &[
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
        ],
    )?;
    // Paddings are signed.
    let plan = plan.with_narrow(
        i32::MAX.unsigned_abs(),
        &[("padTop", top), ("padBottom", bottom), ("padLeft", left), ("padRight", right)],
    )?;
    let plan = plan.with_narrow(
        u32::MAX,
        &[
            ("blockNum", used),
            ("ubFactorElement", factor),
            ("ncPerCore", each),
            ("tailNC", tail),
            ("tilingKey", key),
            ("wCalCount", edge),
        ],
    )?;
    Ok(plan.with(&[("workspacePerCore", per_core)]))
}

const fn rule(class: Class) -> &'static str {
    match class {
        Class::Rows => "only top and bottom are padded; 1000 more in f16, 2000 in bf16",
        Class::Columns => "only left and right are padded; 1000 more in f16, 2000 in bf16",
        Class::Small => "grad_output is at most 64 x 64; 1000 more in f16, 2000 in bf16",
        Class::Wide => "grad_output is at most 64 high and wider than 64; 1000 more in f16, 2000 in bf16",
        Class::High => "grad_output is higher than 64 and at most 64 wide; 1000 more in f16, 2000 in bf16",
        Class::Large => "grad_output is larger than 64 both ways; 1000 more in f16, 2000 in bf16",
        Class::OneRow => {
            "grad_output is larger than 64 both ways and grad_input one row; twice that in f16, three times in bf16"
        }
    }
}

/// The tiling key; `None` for a dtype without a kernel.
fn key(problem: &Geometry) -> Option<usize> {
    let class = class(problem);
    let one_row = class == Class::OneRow;
    let more = match problem.dtype {
        Dtype::F32 => 0,
        Dtype::F16 if one_row => 11111,
        Dtype::F16 => 1000,
        Dtype::Bf16 if one_row => 22222,
        Dtype::Bf16 => 2000,
        _ => return None,
    };
    Some(class as usize + more)
}

fn other_keys(problem: &Geometry, own: usize) -> [Option<Neighbour>; MOST] {
    let now = *problem;
    // No product takes BF16 with a padding that the kernels do not: that is no change to make.
    let key = |changed: &Geometry| key(changed).filter(|_| changed.dtype != Dtype::Bf16 || changed.padding_fits());
    let with = |name, to, changed| (Change::Value { name, to }, key(&changed));
    let typed = |to, dtype| with("dtype", to, Geometry { dtype, ..now });
    let across = |size: usize| if size > 64 { 64 } else { 65 };
    let (padded_h, padded_w) = (across(now.padded_h), across(now.padded_w));
    let (top, left) = (if now.top == 0 { 1 } else { 0 }, if now.left == 0 { 1 } else { 0 });
    let moved = |size: usize, from: isize, to: isize| size.saturating_add_signed(to.saturating_sub(from));
    let (taller, wider) = (moved(now.padded_h, now.top, top), moved(now.padded_w, now.left, left));
    // What is left of `grad_input`, if anything is.
    let inner =
        |size: usize, from: usize, to: usize| size.saturating_add(to).checked_sub(from).filter(|&size| size > 0);
    let (high, wide) = (inner(now.h, now.padded_h, padded_h), inner(now.w, now.padded_w, padded_w));
    let changes = [
        typed("f32", Dtype::F32),
        typed("f16", Dtype::F16),
        typed("bf16", Dtype::Bf16),
        (
            Change::Size { name: "height of grad_output", from: now.padded_h, to: padded_h },
            high.and_then(|h| key(&Geometry { padded_h, h, ..now })),
        ),
        (
            Change::Size { name: "width of grad_output", from: now.padded_w, to: padded_w },
            wide.and_then(|w| key(&Geometry { padded_w, w, ..now })),
        ),
        with("padding left and right", "0", Geometry { left: 0, right: 0, padded_w: now.w, ..now }),
        with("padding top and bottom", "0", Geometry { top: 0, bottom: 0, padded_h: now.h, ..now }),
        with("padding left", if left > 0 { "1" } else { "0" }, Geometry { left, padded_w: wider, ..now }),
        with("padding top", if top > 0 { "1" } else { "0" }, Geometry { top, padded_h: taller, ..now }),
    ];
    neighbours(own, changes)
}

fn class(problem: &Geometry) -> Class {
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
