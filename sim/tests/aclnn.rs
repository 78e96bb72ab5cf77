//! The model of aclnn's workspace: closed formulas of single graphs, and what must hold of every graph.

use proptest::prelude::*;
use proptest::sample::select;
use ubtile_sim::aclnn::{Device, Graph, GraphError, Inside, Kind, graph, graph_with};
use ubtile_sim::product::Soc;
use ubtile_testkit::problems::{GridSampler, Im2col, Layout, MaxUnpool, ReplicationPad};
use ubtile_testkit::strategies;
use ubtile_tiling::{Dtype, EarlySuccess, Problem, Product, Route, Tensor, VendorArch, VendorError};

const MIB: u64 = 1 << 20;

fn device(soc: &str) -> Device {
    Device::of(&Soc::builtin(soc).unwrap()).unwrap()
}

/// What an intermediate takes.
fn aligned(bytes: usize) -> u64 {
    (bytes as u64 + 32).div_ceil(512) * 512
}

fn kernels(graph: &Graph) -> Vec<&'static str> {
    graph.steps().iter().map(|step| step.kernel).collect()
}

fn grid_sampler(problem: GridSampler) -> Problem {
    Problem::GridSampler2dBackward(problem.problem())
}

#[test]
fn grid_sampler_transposes_on_a2() {
    let [n, c, hi, wi, ho, wo] = [2, 40, 16, 17, 8, 9];
    let call = GridSampler { n, c, hi, wi, ho, wo, output_mask: [true, true], ..GridSampler::default() };
    let graph = graph(&grid_sampler(call), &device("Ascend910B1")).unwrap();
    let steps = ["Transpose", "Transpose", "GridSampler2DGrad", "Transpose", "ViewCopy", "ViewCopy"];
    assert_eq!(kernels(&graph), steps);
    let (image, gradient, points) = (n * c * hi * wi * 4, n * c * ho * wo * 4, n * ho * wo * 2 * 4);
    // input_grad, brought back, lies where the transposed input was.
    let want = 16 * MIB + 512 + 2 * aligned(image) + aligned(gradient) + aligned(points);
    assert_eq!(graph.bytes(), want);
    assert_eq!(graph.kernel_workspace_bytes(), Some(16 * MIB));
    assert_eq!(graph.bytes_without_reuse(), want + aligned(image));

    // Sums of F16 are made in F32 in the kernel's workspace.
    let half = graph_of(&grid_sampler(GridSampler { dtype: Dtype::F16, ..call }), "Ascend910B1");
    assert_eq!(half.kernel_workspace_bytes(), Some(16 * MIB + image as u64));
    // One gradient costs as much as both: both are computed.
    let one = graph_of(&grid_sampler(GridSampler { output_mask: [false, true], ..call }), "Ascend910B1");
    assert_eq!(one.bytes(), want);
    assert_eq!(one.steps().len(), 4);
}

fn graph_of(problem: &Problem, soc: &str) -> Graph {
    graph(problem, &device(soc)).unwrap()
}

#[test]
fn grid_sampler_elsewhere() {
    let call = GridSampler { c: 40, output_mask: [true, true], ..GridSampler::default() };
    let threads = graph_of(&grid_sampler(call), "Ascend910_95");
    assert_eq!(kernels(&threads), ["GridSampler2DGrad", "ViewCopy", "ViewCopy"]);
    assert_eq!(threads.kernel_workspace_bytes(), Some(0));
    let border = GridSampler { padding_mode: ubtile_tiling::grid_sampler_2d_backward::PaddingMode::Border, ..call };
    assert_eq!(
        graph_of(&grid_sampler(border), "Ascend910_95").steps().len(),
        6,
        "from 32 channels on it is vector code"
    );

    let old = graph_of(&grid_sampler(GridSampler { dtype: Dtype::F16, ..call }), "Ascend910A");
    assert_eq!((old.route(), kernels(&old).iter().filter(|k| **k == "Cast").count()), (Route::Aicpu, 5));
    assert_eq!((old.kernel_workspace_bytes(), old.unmodelled().len()), (None, 1));
    assert_eq!(graph_of(&grid_sampler(call), "Ascend910A").steps().len(), 3);
    let many = graph_of(&grid_sampler(GridSampler { c: 2049, ..call }), "Ascend910B1");
    assert_eq!((many.route(), kernels(&many)), (Route::Aicpu, vec!["GridSampler2DGrad", "ViewCopy", "ViewCopy"]));
    let refused = graph(&grid_sampler(call), &device("Ascend310P3"));
    assert!(matches!(refused, Err(GraphError::Refused { product: Product::AtlasInference, .. })), "{refused:?}");
}

#[test]
fn padding_in_bf16_is_cast_to_f32_and_back() {
    let [n, c, h, w] = [2, 3, 30, 40];
    let call = ReplicationPad { dtype: Dtype::Bf16, n, c, h, w, padding: [1, 2, 3, 4], ..ReplicationPad::default() };
    let problem = Problem::ReplicationPad2dBackward(call.problem());
    let graph = graph_of(&problem, "Ascend910B1");
    assert_eq!(kernels(&graph), ["Cast", "PadV3GradReplicate", "Cast", "ViewCopy"]);
    let (padded, image) = (n * c * (h + 7) * (w + 3), n * c * h * w);
    let kernel = 16 * MIB as usize + 64 * 48 * 4 * (n * c);
    assert_eq!(graph.kernel_workspace_bytes(), Some(kernel as u64));
    // The result in BF16 lies where grad_output was in F32.
    assert_eq!(graph.bytes(), aligned(kernel) + aligned(padded * 4) + aligned(image * 4));
    let casts = Inside { casts: true, ..Inside::default() };
    let inside = graph_with(&problem, &device("Ascend910B1"), casts).unwrap();
    // The BF16 kernel keeps edges of half the size.
    let kernel = 16 * MIB as usize + 64 * 48 * 2 * (n * c);
    assert_eq!(inside.bytes(), aligned(kernel) + aligned(image * 2));

    let compiled = Problem::ReplicationPad2dBackward(ReplicationPad { dtype: Dtype::F32, ..call }.problem());
    assert_eq!(graph_of(&compiled, "Ascend310P3").kernel_workspace_bytes(), Some(95_000 * 4 * 8));
    let half = Problem::ReplicationPad2dBackward(ReplicationPad { dtype: Dtype::F16, ..call }.problem());
    assert_eq!(graph_of(&half, "Ascend310P3").kernel_workspace_bytes(), None, "no source says it");
    assert_eq!(graph_of(&half, "Ascend910_95").kernel_workspace_bytes(), Some(16 * MIB));
}

#[test]
fn im2col_changes_the_format_before_950() {
    let [n, c, h, w] = [2, 17, 12, 13];
    let call = Im2col { dtype: Dtype::F16, out_dtype: Dtype::F32, n, c, h, w, ..Im2col::default() };
    let problem = Problem::Im2colBackward(call.problem());
    let graph = graph_of(&problem, "Ascend910B3");
    assert_eq!(kernels(&graph), ["TransData", "Col2im", "TransData", "Cast", "ViewCopy"]);
    let Problem::Im2colBackward(p) = problem else { panic!() };
    let windows = p.columns[0] * p.columns[1] * p.kernel[0].get() * p.kernel[1].get();
    let (columns, blocked) = (n * 32 * windows * 2, n * 32 * h * w);
    let bytes = |name: &str, step: usize| {
        graph.buffers().iter().find(|b| b.name == name && b.first_step == step).map(|b| b.bytes as usize)
    };
    assert_eq!(bytes("grad_output", 0), Some(columns));
    assert_eq!(bytes("out", 1), Some(blocked * 2));
    assert_eq!((bytes("sums in f32", 1), bytes("barrier", 1)), (Some(blocked * 4), Some(40 * 32)));
    assert_eq!((bytes("out", 2), bytes("out", 3)), (Some(n * c * h * w * 2), Some(n * c * h * w * 4)));
    assert_eq!(kernels(&graph_of(&problem, "Ascend910_95")), ["Col2im", "Cast", "ViewCopy"]);
}

#[test]
fn what_is_strided_is_copied_first() {
    let call = MaxUnpool { dtype: Dtype::F16, out_dtype: Dtype::F16, ..MaxUnpool::default() };
    let contiguous = graph_of(&Problem::MaxUnpool2dBackward(call.problem()), "Ascend910B1");
    assert_eq!(kernels(&contiguous), ["GatherElements", "ViewCopy"]);
    let call = MaxUnpool { inputs: Layout::Pitched, ..call };
    let strided = graph_of(&Problem::MaxUnpool2dBackward(call.problem()), "Ascend910B1");
    assert_eq!(kernels(&strided), ["Contiguous", "Contiguous", "GatherElements", "ViewCopy"]);
    assert!(strided.bytes() > contiguous.bytes());
}

fn problems() -> impl Strategy<Value = Problem> {
    prop_oneof![
        strategies::grid_sampler().prop_map(|p| Problem::GridSampler2dBackward(p.problem())),
        strategies::max_unpool().prop_map(|p| Problem::MaxUnpool2dBackward(p.problem())),
        strategies::replication_pad().prop_map(|p| Problem::ReplicationPad2dBackward(p.problem())),
        strategies::im2col().prop_map(|p| Problem::Im2colBackward(p.problem())),
    ]
}

proptest! {
    #![proptest_config(strategies::cases(1500))]

    /// Intermediates that live together lie apart; buckets hold their tenants; doing more inside the kernel never costs.
    #[test]
    fn places(
        problem in problems(),
        product in select(Product::ALL.to_vec()),
        (casts, layouts, copies) in any::<(bool, bool, bool)>(),
        deterministic: bool,
    ) {
        let device = Device { deterministic, ..device(Soc::usual(product)) };
        prop_assert_eq!(device.product == product, !matches!(product, Product::Atlas800iA2 | Product::A200iA2Box));
        let graph = match graph(&problem, &device) {
            Ok(graph) => graph,
            Err(GraphError::Tiling(VendorError::Empty { .. })) => {
                // Of an output alone, on 950.
                prop_assert_eq!(problem.early_success(), Some(EarlySuccess::Empty(Tensor::Out)));
                prop_assert_eq!(device.arch, Some(VendorArch::Dav3510));
                return Ok(());
            }
            Err(_) => {
                prop_assert_eq!(problem.vendor_route(device.product, device.edition), None);
                return Ok(());
            }
        };
        prop_assert_eq!(problem.early_success().is_some(), graph.steps().is_empty());
        prop_assert!(graph.peak_bytes() <= graph.bytes() && graph.bytes() <= graph.bytes_without_reuse());
        prop_assert_eq!(graph.bytes() % 512, 0);
        for (i, a) in graph.buffers().iter().enumerate() {
            prop_assert!(a.bytes > 0 && a.aligned_bytes >= a.bytes + 32 && a.aligned_bytes < a.bytes + 32 + 512);
            prop_assert!(a.offset + a.aligned_bytes <= graph.bytes(), "{a:?}");
            prop_assert!(a.last_step < graph.steps().len() && (a.kind == Kind::Tensor || a.first_step == a.last_step));
            for b in &graph.buffers()[..i] {
                let together = a.first_step <= b.last_step && b.first_step <= a.last_step;
                let apart = a.offset + a.aligned_bytes <= b.offset || b.offset + b.aligned_bytes <= a.offset;
                prop_assert!(apart || !together, "{a:?} {b:?}");
            }
        }
        let inside = graph_with(&problem, &device, Inside { casts, layouts, copies }).unwrap();
        prop_assert!(inside.steps().len() <= graph.steps().len());
    }
}
