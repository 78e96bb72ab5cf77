//! How a native plan deals with what an Ascend has and lacks.

use ubtile_tiling::{Dtype, Problem, TargetSpec};

use super::report::Mean;

pub(super) fn means(problem: &Problem, spec: &TargetSpec) -> Vec<Mean> {
    let able = &spec.capabilities;
    let block = spec.block_bytes;
    let copies = if able.unaligned_copy {
        "from and to any byte".into()
    } else {
        format!(
            "whole blocks of {block} bytes: rows of tiles take one more, shares begin where a block does, \
             transpositions or the scalar unit move what is no whole block"
        )
    };
    let mut means = vec![
        Mean { name: "copies", how: copies },
        Mean { name: "sums in global memory", how: "none: each share owns what it writes, so no atomics".into() },
    ];
    if let Problem::MaxUnpool2dBackward(p) = problem {
        let how = match (able.gather, p.dtype.size()) {
            (false, _) => "by the scalar unit, as there is no gather instruction",
            (true, 1) => "by the gather instruction, which takes 16 and 32 bits: 8-bit elements by way of F16",
            (true, 8) => "by the gather instruction, which takes 16 and 32 bits: 64-bit elements as two",
            (true, _) => "by the gather instruction",
        };
        means.push(Mean { name: "gather", how: how.into() });
    }
    if problem.tensors().any(|slot| slot.dtype == Dtype::Bf16) && able.bf16 {
        means.push(Mean { name: "bf16", how: "widened to f32 in the local memory and rounded once".into() });
    }
    means
}

/// Whether an Ascend's vector or scalar units compute the problem's dtypes; else it is the AICPU's.
pub(crate) fn on_ai_core(problem: &Problem, spec: &TargetSpec) -> bool {
    problem.tensors().all(|slot| match slot.dtype {
        Dtype::F64 | Dtype::C64 | Dtype::C128 => false,
        Dtype::Bf16 => spec.capabilities.bf16,
        _ => true,
    })
}
