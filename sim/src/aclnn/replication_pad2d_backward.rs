//! The graph of aclnnReplicationPad2dBackward. Its list of paddings is an argument on the host and takes no workspace.

use ubtile_tiling::replication_pad2d_backward::Problem;
use ubtile_tiling::{Dtype, Problem as AnyProblem, Route, Tensor, VendorArch};

use super::builder::{Builder, bytes};
use super::device::Device;
use super::graph::GraphError;

/// What the 950's kernel asks for: the system's part alone.
const WORKSPACE_950: u64 = 16 << 20;

/// Elements that each core of the compiled F32 kernel asks for on inference and training products.
const COMPILED_ELEMENTS: usize = 95_000;

pub(super) fn build(b: &mut Builder, p: &Problem, device: &Device) -> Result<(), GraphError> {
    let (padded, image) = ([p.n, p.c, p.padded_h, p.padded_w], [p.n, p.c, p.h, p.w]);
    let widens = p.dtype == Dtype::Bf16;
    let computed = if widens && !b.inside().casts { Dtype::F32 } else { p.dtype };
    let grad_output = b.input(p.slot(Tensor::GradOutput));
    let grad_output = b.cast("grad_output", grad_output, bytes(&padded, computed.size()), widens);
    let name = if device.arch == Some(VendorArch::Dav2201) { "PadV3GradReplicate" } else { "PadV3Grad" };
    let tiling = match b.route() {
        Route::AiCore => device.tiling(&AnyProblem::ReplicationPad2dBackward(*p), computed)?,
        Route::Aicpu => None,
    };
    let [grad_input] = b.kernel(name, &[grad_output], [("grad_input", bytes(&image, computed.size()))]);
    match (b.route(), tiling, device.arch) {
        (Route::Aicpu, ..) => {}
        (_, Some(plan), _) => b.workspace("kernel workspace", plan.kernel_workspace_bytes() as u64),
        (.., Some(VendorArch::Dav3510)) => b.workspace("kernel workspace", WORKSPACE_950),
        // BF16 runs as F32.
        _ if p.dtype == Dtype::F16 => b.unmodelled("workspace of the compiled F16 kernel"),
        _ => b.workspace("kernel workspace", bytes(&[COMPILED_ELEMENTS, device.cores], Dtype::F32.size())),
    }
    let grad_input = b.cast("grad_input", grad_input, bytes(&image, p.dtype.size()), widens);
    b.output("grad_input", grad_input);
    Ok(())
}
