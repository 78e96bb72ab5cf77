//! The cases. Each is computed twice, with all the workspace it likes for a machine with vectors and with none for one
//! without, so that it takes different ways; both must give the same digest.

use ubtile_kernels::Level;
use ubtile_tiling::{Dtype, PlanOptions, TargetSpec};

use crate::memory::{Memory, digest};
use crate::operators::{Fold, Grid, Pad, Setting, Unpool};

fn ways() -> [(TargetSpec, PlanOptions); 2] {
    let small = TargetSpec::from_name("cortex-m4").unwrap_or(TargetSpec::host(1));
    let limit = |workspace_limit| PlanOptions { workspace_limit, local_bytes: None };
    [(TargetSpec::host(3), limit(None)), (small, limit(Some(0)))]
}

/// Computes all cases, and gives `each` the name and the digest; `None` where a case failed.
pub fn run_all(level: Level, memory: &mut Memory, mut each: impl FnMut(&'static str, Option<u64>)) {
    let mut case = |name, compute: &mut dyn FnMut(&mut Setting<'_>) -> Option<u64>| {
        let [one, other] = ways().map(|(target, options)| {
            compute(&mut Setting { target, options, level, memory: &mut *memory, runs: 1 })
        });
        each(name, one.filter(|_| one == other));
    };
    for (name, dtype, interpolation, padding_mode, align_corners) in [
        ("grid-sampler,f16,bilinear,zeros", Dtype::F16, 0, 0, false),
        ("grid-sampler,bf16,nearest,border", Dtype::Bf16, 1, 1, true),
        ("grid-sampler,f32,bilinear,reflection", Dtype::F32, 0, 2, false),
        ("grid-sampler,f32,bicubic,border", Dtype::F32, 2, 1, true),
        ("grid-sampler,f64,bicubic,reflection", Dtype::F64, 2, 2, false),
    ] {
        let grid = Grid { dtype, image: [2, 5, 6, 7], points: [9, 5], interpolation, padding_mode, align_corners };
        case(name, &mut |setting| setting.grid(&grid).map(|outputs| digest(&outputs)));
    }
    for (name, dtype, out, index) in [
        ("max-unpool,i8", Dtype::I8, Dtype::I8, Dtype::I32),
        ("max-unpool,f32", Dtype::F32, Dtype::F32, Dtype::I64),
        ("max-unpool,f16,to,f32", Dtype::F16, Dtype::F32, Dtype::I32),
        ("max-unpool,i64,to,bf16", Dtype::I64, Dtype::Bf16, Dtype::I64),
    ] {
        let unpool = Unpool { dtype, out, index, pooled: [2, 3, 5, 7], unpooled: [10, 13] };
        case(name, &mut |setting| setting.unpool(&unpool).map(|outputs| digest(&outputs)));
    }
    for (name, dtype) in [
        ("replication-pad,f16", Dtype::F16),
        ("replication-pad,bf16", Dtype::Bf16),
        ("replication-pad,f32", Dtype::F32),
        ("replication-pad,c128", Dtype::C128),
    ] {
        let pad = Pad { dtype, image: [2, 3, 6, 5], padding: [11, -1, 2, 9] };
        case(name, &mut |setting| setting.pad(&pad).map(|outputs| digest(&outputs)));
    }
    for (name, dtype, out) in [
        ("im2col,f16", Dtype::F16, Dtype::F16),
        ("im2col,bf16,to,f64", Dtype::Bf16, Dtype::F64),
        ("im2col,f32", Dtype::F32, Dtype::F32),
        ("im2col,f64,to,f16", Dtype::F64, Dtype::F16),
    ] {
        let fold = Fold { dtype, out, image: [2, 2, 9, 11], dilation: [2, 1], padding: [1, 2], stride: [2, 1] };
        case(name, &mut |setting| setting.fold(&fold).map(|outputs| digest(&outputs)));
    }
}
