//! The part of a plan's report that is about aclnn: the graph of the call, its workspace, and what would save some of it.

use schemars::JsonSchema;
use serde::Serialize;
use ubtile_sim::aclnn::{Device, GRADE, Graph, Inside, graph, graph_with};
use ubtile_tiling::Problem;

#[derive(Serialize, JsonSchema)]
pub(super) struct AclnnReport {
    /// Of the workspace's size.
    pub(super) grade: &'static str,
    pub(super) steps: Vec<StepReport>,
    pub(super) regions: Vec<BufferReport>,
    /// The most that lives at one step.
    pub(super) peak_bytes: u64,
    /// If nothing shared any bytes.
    pub(super) bytes_without_reuse: u64,
    /// What is not in the numbers because nothing about it is published.
    pub(super) unmodelled: Vec<&'static str>,
    pub(super) savings: Vec<Saving>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct StepReport {
    pub(super) kernel: &'static str,
    pub(super) tensor: Option<&'static str>,
    pub(super) route: &'static str,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct BufferReport {
    pub(super) name: &'static str,
    pub(super) offset: u64,
    /// With the vendor's slack and alignment.
    pub(super) bytes: u64,
    pub(super) used_bytes: u64,
    pub(super) bucket: usize,
    pub(super) first_step: usize,
    pub(super) last_step: usize,
}

/// What another way would need instead.
#[derive(Serialize, JsonSchema)]
pub(super) struct Saving {
    pub(super) name: &'static str,
    pub(super) workspace_bytes: u64,
    pub(super) saves_bytes: i64,
}

/// The graph of a call, which a native program may do without; `None` where the vendor's library would refuse it or fail.
pub(super) fn call(problem: &Problem, device: &Device, has_native: bool) -> Option<(Graph, AclnnReport)> {
    let graph = graph(problem, device).ok()?;
    let steps = graph.steps().iter().map(|step| StepReport {
        kernel: step.kernel,
        tensor: step.tensor,
        route: step.route.name(),
    });
    let regions = graph.buffers().iter().map(|buffer| BufferReport {
        name: buffer.name,
        offset: buffer.offset,
        bytes: buffer.aligned_bytes,
        used_bytes: buffer.bytes,
        bucket: buffer.bucket,
        first_step: buffer.first_step,
        last_step: buffer.last_step,
    });
    let report = AclnnReport {
        grade: GRADE.name(),
        steps: steps.collect(),
        regions: regions.collect(),
        peak_bytes: graph.peak_bytes(),
        bytes_without_reuse: graph.bytes_without_reuse(),
        unmodelled: graph.unmodelled().to_vec(),
        savings: savings(problem, device, &graph, has_native),
    };
    Some((graph, report))
}

/// Whether the graph of a call is another one in the vendor's deterministic mode.
pub(super) fn has_modes(problem: &Problem, device: &Device) -> bool {
    let [on, off] = [true, false].map(|deterministic| graph(problem, &Device { deterministic, ..*device }));
    on != off
}

fn savings(problem: &Problem, device: &Device, graph: &Graph, has_native: bool) -> Vec<Saving> {
    let ways = [
        ("conversions inside the kernel", &["Cast"][..], Inside { casts: true, ..Inside::default() }),
        ("layout inside the kernel", &["Transpose", "TransData"], Inside { layouts: true, ..Inside::default() }),
        ("no copies around the kernel", &["Contiguous", "ViewCopy"], Inside { copies: true, ..Inside::default() }),
        ("all of these", &[], Inside { casts: true, layouts: true, copies: true }),
    ];
    let saving = |name, workspace_bytes: u64| Saving {
        name,
        workspace_bytes,
        saves_bytes: graph.bytes().cast_signed() - workspace_bytes.cast_signed(),
    };
    let has = |kernels: &[&str]| graph.steps().iter().any(|step| kernels.contains(&step.kernel));
    let present = ways.iter().filter(|(_, kernels, _)| has(kernels)).count();
    let mut savings = Vec::new();
    for (name, kernels, inside) in ways {
        if (has(kernels) || kernels.is_empty() && present > 1)
            && let Ok(other) = graph_with(problem, device, inside)
        {
            savings.push(saving(name, other.bytes()));
        }
    }
    if !graph.steps().is_empty() && has_native {
        savings.push(saving("the native scheme, called directly", 0));
    }
    savings
}
