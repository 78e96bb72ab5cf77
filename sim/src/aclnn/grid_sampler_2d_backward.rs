//! The graph of aclnnGridSampler2DBackward: transposes to channels last where the kernel wants it, and back.

use ubtile_tiling::grid_sampler_2d_backward::Problem;
use ubtile_tiling::{Dtype, Problem as AnyProblem, Product, Route, Tensor, VendorArch};

use super::builder::{Builder, bytes};
use super::device::Device;
use super::graph::GraphError;

/// The first tiling key of the 950's channels-last kernels.
const FIRST_CHANNELS_LAST: usize = 19;

pub(super) fn build(b: &mut Builder, p: &Problem, device: &Device) -> Result<(), GraphError> {
    let image = [p.n, p.c, p.hi, p.wi];
    let gradient = [p.n, p.c, p.ho, p.wo];
    let points = [p.n, p.ho, p.wo, 2];
    let on_ai_core = b.route() == Route::AiCore;
    // The fallback computes BF16 as F32, and on training products F16 too.
    let widens =
        !on_ai_core && (p.dtype == Dtype::Bf16 || p.dtype == Dtype::F16 && device.product == Product::AtlasTraining);
    let own = p.dtype.size();
    let size = if widens && !b.inside().casts { Dtype::F32.size() } else { own };

    let [mut input, mut grad_output, mut grid] =
        [Tensor::Input, Tensor::GradOutput, Tensor::Grid].map(|tensor| b.input(p.slot(tensor)));
    grad_output = b.cast("grad_output", grad_output, bytes(&gradient, size), widens);
    input = b.cast("input", input, bytes(&image, size), widens);
    grid = b.cast("grid", grid, bytes(&points, size), widens);

    let tiling = if on_ai_core { device.tiling(&AnyProblem::GridSampler2dBackward(*p), p.dtype)? } else { None };
    let channels_last =
        tiling.is_some_and(|plan| device.arch == Some(VendorArch::Dav2201) || plan.tiling_key() >= FIRST_CHANNELS_LAST);
    if channels_last {
        input = b.layout("Transpose", "input", input, bytes(&image, size));
        grad_output = b.layout("Transpose", "grad_output", grad_output, bytes(&gradient, size));
    }
    let outputs = [("input_grad", bytes(&image, size)), ("grid_grad", bytes(&points, size))];
    let [mut input_grad, mut grid_grad] = b.kernel("GridSampler2DGrad", &[grad_output, input, grid], outputs);
    if let Some(plan) = tiling {
        b.workspace("kernel workspace", plan.kernel_workspace_bytes() as u64);
    }
    // Both gradients are computed; only those that are wanted are brought home.
    if p.want_input_grad {
        if channels_last {
            input_grad = b.layout("Transpose", "input_grad", input_grad, bytes(&image, size));
        }
        input_grad = b.cast("input_grad", input_grad, bytes(&image, own), widens);
        b.output("input_grad", input_grad);
    }
    if p.want_grid_grad {
        grid_grad = b.cast("grid_grad", grid_grad, bytes(&points, own), widens);
        b.output("grid_grad", grid_grad);
    }
    Ok(())
}
