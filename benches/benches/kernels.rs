//! Every operator at every level on one thread, on the shapes of the speed goals. Each result is checked before it is timed.
//! Throughput counts every tensor once, so it compares with the machine's copy bandwidth.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use ubtile_benches::{bytes, check, values, values_mut};
use ubtile_kernels::{Level, im2col_backward, replication_pad2d_backward};
use ubtile_testkit::{Data, Fill, Rng, problems, reference};
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

criterion_group!(benches, im2col, replication_pad);
criterion_main!(benches);
