//! Every operator at every level on one thread, on the shapes of the speed goals. Each result is checked before it is timed.
//! Throughput counts every tensor once, so it compares with the machine's copy bandwidth.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use ubtile_benches::{GRID_SAMPLER, bytes, check, values, values_mut};
use ubtile_kernels::{
    Level, grid_sampler_2d_backward, im2col_backward, max_unpool2d_backward, replication_pad2d_backward,
};
use ubtile_testkit::{Coordinates, Data, Fill, IndexFill, Rng, problems, reference};
use ubtile_tiling::{PlanOptions, TargetSpec, Tensor};

fn im2col(c: &mut Criterion) {
    let mut group = c.benchmark_group("im2col-backward");
    for (name, stride) in [("8x64x56x56 k3 s1", 1), ("8x64x56x56 k3 s2", 2)] {
        let problem = ubtile_benches::im2col(stride).problem();
        let plan =
            ubtile_tiling::im2col_backward::plan(&problem, &TargetSpec::host(1), &PlanOptions::default()).unwrap();
        let grad_output = problems::im2col_inputs(&problem, Fill::Uniform, &mut Rng::new(1));
        let expected = reference::im2col_backward::run(&problem, &grad_output);
        let mut out = problems::output(problem.slot(Tensor::Out));
        let mut workspace = vec![0; plan.workspace_bytes()];
        group.throughput(Throughput::Bytes(bytes(problem.tensors())));
        for level in Level::available() {
            let mut run = |result: &mut Data| {
                let inputs = im2col_backward::Inputs { grad_output: values(&grad_output) };
                let outputs = im2col_backward::Outputs { out: values_mut(result) };
                im2col_backward::run(&plan, level, inputs, outputs, &mut workspace).unwrap();
            };
            run(&mut out);
            check(&out, &expected);
            group.bench_function(BenchmarkId::new(name, level), |b| b.iter(|| run(&mut out)));
        }
    }
}

fn replication_pad(c: &mut Criterion) {
    let mut group = c.benchmark_group("replication-pad2d-backward");
    let problem = ubtile_benches::replication_pad().problem();
    let (target, options) = (TargetSpec::host(1), PlanOptions::default());
    let plan = ubtile_tiling::replication_pad2d_backward::plan(&problem, &target, &options).unwrap();
    let grad_output = problems::replication_pad_inputs(&problem, Fill::Uniform, &mut Rng::new(1));
    let expected = reference::replication_pad2d_backward::run(&problem, &grad_output);
    let mut grad_input = problems::output(problem.slot(Tensor::GradInput));
    let mut workspace = vec![0; plan.workspace_bytes()];
    group.throughput(Throughput::Bytes(bytes(problem.tensors())));
    for level in Level::available() {
        let mut run = |result: &mut Data| {
            let inputs = replication_pad2d_backward::Inputs { grad_output: values(&grad_output) };
            let outputs = replication_pad2d_backward::Outputs { grad_input: values_mut(result) };
            replication_pad2d_backward::run(&plan, level, inputs, outputs, &mut workspace).unwrap();
        };
        run(&mut grad_input);
        check(&grad_input, &expected);
        group.bench_function(BenchmarkId::new("8x64x56x56 pad 1", level), |b| b.iter(|| run(&mut grad_input)));
    }
}

fn max_unpool(c: &mut Criterion) {
    let mut group = c.benchmark_group("max-unpool2d-backward");
    let problem = ubtile_benches::max_unpool().problem();
    let (target, options) = (TargetSpec::host(1), PlanOptions::default());
    let plan = ubtile_tiling::max_unpool2d_backward::plan(&problem, &target, &options).unwrap();
    let inputs = problems::max_unpool_inputs(&problem, Fill::Uniform, IndexFill::Permutation, &mut Rng::new(1));
    let expected = reference::max_unpool2d_backward::run(&problem, &inputs).unwrap();
    let mut out = problems::output(problem.slot(Tensor::Out));
    let mut workspace = vec![0; plan.workspace_bytes()];
    group.throughput(Throughput::Bytes(bytes(problem.tensors())));
    for level in Level::available() {
        let mut run = |result: &mut Data| {
            let (grad_output, indices) = (values(&inputs.grad_output), values(&inputs.indices));
            let inputs = max_unpool2d_backward::Inputs { grad_output, indices };
            let outputs = max_unpool2d_backward::Outputs { out: values_mut(result) };
            max_unpool2d_backward::run(&plan, level, inputs, outputs, &mut workspace).unwrap();
        };
        run(&mut out);
        check(&out, &expected);
        group.bench_function(BenchmarkId::new("8x64x56x56 of 112x112", level), |b| b.iter(|| run(&mut out)));
    }
}

fn grid_sampler(c: &mut Criterion) {
    let mut group = c.benchmark_group("grid-sampler-2d-backward");
    let grids = [("smooth", Coordinates::Smooth), ("random", Coordinates::Random)];
    for ((shape, size), (kind, coordinates)) in
        GRID_SAMPLER.into_iter().flat_map(|shape| grids.map(|grid| (shape, grid)))
    {
        let problem = ubtile_benches::grid_sampler(size).problem();
        let (target, options) = (TargetSpec::host(1), PlanOptions::default());
        let plan = ubtile_tiling::grid_sampler_2d_backward::plan(&problem, &target, &options).unwrap();
        let inputs = problems::grid_sampler_inputs(&problem, Fill::Uniform, coordinates, &mut Rng::new(1));
        let expected = reference::grid_sampler_2d_backward::run(&problem, &inputs);
        let mut input_grad = problems::output(problem.slot(Tensor::InputGrad));
        let mut grid_grad = problems::output(problem.slot(Tensor::GridGrad));
        let mut workspace = vec![0; plan.workspace_bytes()];
        group.throughput(Throughput::Bytes(bytes(problem.tensors())));
        for level in Level::available() {
            let mut run = |input_grad: &mut Data, grid_grad: &mut Data| {
                let (grad_output, input) = (values(&inputs.grad_output), values(&inputs.input));
                let inputs = grid_sampler_2d_backward::Inputs { grad_output, input, grid: values(&inputs.grid) };
                let (input_grad, grid_grad) = (values_mut(input_grad), values_mut(grid_grad));
                let outputs = grid_sampler_2d_backward::Outputs { input_grad, grid_grad };
                grid_sampler_2d_backward::run(&plan, level, inputs, outputs, &mut workspace).unwrap();
            };
            run(&mut input_grad, &mut grid_grad);
            check(&input_grad, expected.input_grad.as_ref().unwrap());
            check(&grid_grad, expected.grid_grad.as_ref().unwrap());
            let id = BenchmarkId::new(format!("{shape} {kind}"), level);
            group.bench_function(id, |b| b.iter(|| run(&mut input_grad, &mut grid_grad)));
        }
    }
}

criterion_group!(benches, im2col, max_unpool, replication_pad, grid_sampler);
criterion_main!(benches);
