//! How long it takes to check a problem and to plan it. Both belong to every call of aclnn's first phase.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use ubtile_benches as shapes;
use ubtile_tiling::{Edition, PlanOptions, Problem, TargetSpec};

fn check(c: &mut Criterion) {
    let mut group = c.benchmark_group("check");
    let desc = shapes::im2col(1).desc();
    group.bench_function("im2col-backward", |b| b.iter(|| black_box(&desc).check(None, Edition::Any)));
    let desc = shapes::replication_pad().desc();
    group.bench_function("replication-pad2d-backward", |b| b.iter(|| black_box(&desc).check(None, Edition::Any)));
    let desc = shapes::max_unpool().desc();
    group.bench_function("max-unpool2d-backward", |b| b.iter(|| black_box(&desc).check(None, Edition::Any)));
    let desc = shapes::grid_sampler([8, 256, 32, 32]).desc();
    group.bench_function("grid-sampler-2d-backward", |b| b.iter(|| black_box(&desc).check(None, Edition::Any)));
}

fn plan(c: &mut Criterion) {
    let problems = [
        Problem::Im2colBackward(shapes::im2col(1).problem()),
        Problem::ReplicationPad2dBackward(shapes::replication_pad().problem()),
        Problem::MaxUnpool2dBackward(shapes::max_unpool().problem()),
        Problem::GridSampler2dBackward(shapes::grid_sampler([8, 256, 32, 32]).problem()),
    ];
    let (target, options) = (TargetSpec::host(8), PlanOptions::default());
    let mut group = c.benchmark_group("plan");
    for problem in problems {
        group.bench_function(problem.operator().name(), |b| {
            b.iter(|| ubtile_tiling::plan(black_box(&problem), &target, &options));
        });
    }
}

criterion_group!(benches, check, plan);
criterion_main!(benches);
