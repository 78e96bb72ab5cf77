//! The graph of aclnnMaxUnpool2dBackward: a gather along the flattened plane.

use ubtile_tiling::max_unpool2d_backward::Problem;
use ubtile_tiling::{Problem as AnyProblem, Route, Tensor};

use super::builder::{Builder, bytes};
use super::device::Device;
use super::graph::GraphError;

pub(super) fn build(b: &mut Builder, p: &Problem, device: &Device) -> Result<(), GraphError> {
    let pooled = [p.n, p.c, p.h, p.w];
    let casts = p.dtype != p.out_dtype;
    let gathered = if b.inside().casts { p.out_dtype } else { p.dtype };
    let inputs = [Tensor::GradOutput, Tensor::Indices].map(|tensor| b.input(p.slot(tensor)));
    let tiling = match b.route() {
        Route::AiCore => device.tiling(&AnyProblem::MaxUnpool2dBackward(*p), p.dtype)?,
        Route::Aicpu => None,
    };
    let [out] = b.kernel("GatherElements", &inputs, [("gathered", bytes(&pooled, gathered.size()))]);
    // The compiled gather of older generations asks for none.
    if let Some(plan) = tiling {
        b.workspace("kernel workspace", plan.kernel_workspace_bytes() as u64);
    }
    let out = b.cast("out", out, bytes(&pooled, p.out_dtype.size()), casts);
    b.output("out", out);
    Ok(())
}
