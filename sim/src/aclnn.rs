//! A model of what aclnn's first phase plans: the graph of copies, casts, transposes and the kernel that a call becomes, the
//! intermediates between them, and the workspace in which those lie.
//!
//! Each intermediate takes whole pieces of 512 bytes with 32 bytes of slack. Intermediates whose lifetimes do not meet share a
//! bucket; the workspace is the sum of the buckets. The rules are those of the vendor's published `nnopbase`; the order in which
//! buckets are filled (largest first) is an assumption, and so is that helper kernels (copies, casts, transposes) ask for no
//! workspace of their own. The number is therefore [derived](GRADE), while the workspace of the operator's own kernel is exact.
//!
//! ```
//! use ubtile_sim::aclnn::{Device, graph};
//! use ubtile_sim::product::Soc;
//! # use ubtile_testkit::problems::ReplicationPad;
//! # let problem = ubtile_tiling::Problem::ReplicationPad2dBackward(ReplicationPad::default().problem());
//! let device = Device::of(&Soc::builtin("Ascend910B1")?)?;
//! let graph = graph(&problem, &device)?;
//! // The kernel's workspace, and grad_input before it is copied to the caller's tensor.
//! assert!(graph.bytes() > graph.kernel_workspace_bytes().unwrap());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod builder;
mod device;
mod graph;
mod grid_sampler_2d_backward;
mod im2col_backward;
mod max_unpool2d_backward;
mod replication_pad2d_backward;

use ubtile_tiling::Problem;

use crate::product::Grade;
use builder::Builder;

pub use builder::Inside;
pub use device::Device;
pub use graph::{Buffer, Graph, GraphError, Kind, Step};

/// How well the workspace of a graph is founded.
pub const GRADE: Grade = Grade::Derived;

/// The graph of a call. Nothing to compute has an empty one.
///
/// # Errors
/// The device's product refuses the problem, the vendor's tiling fails, or sizes overflow.
pub fn graph(problem: &Problem, device: &Device) -> Result<Graph, GraphError> {
    graph_with(problem, device, Inside::default())
}

/// The graph of a call if the kernel did some of the graph's steps itself.
///
/// # Errors
/// Those of [`graph`].
pub fn graph_with(problem: &Problem, device: &Device, inside: Inside) -> Result<Graph, GraphError> {
    let refused = GraphError::Refused { operator: problem.operator(), product: device.product };
    let route = problem.vendor_route(device.product, device.edition).ok_or(refused)?;
    let mut builder = Builder::new(route, inside);
    if problem.early_success().is_some() {
        // What is empty may be what the tiling refuses.
        device.tiling(problem, problem.dtype())?;
    } else {
        match problem {
            Problem::GridSampler2dBackward(p) => grid_sampler_2d_backward::build(&mut builder, p, device),
            Problem::MaxUnpool2dBackward(p) => max_unpool2d_backward::build(&mut builder, p, device),
            Problem::ReplicationPad2dBackward(p) => replication_pad2d_backward::build(&mut builder, p, device),
            Problem::Im2colBackward(p) => im2col_backward::build(&mut builder, p, device),
        }?;
    }
    builder.finish()
}
