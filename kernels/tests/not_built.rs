//! A build that lacks a dtype or a part refuses it, in every function, before it looks at buffers. With all features nothing is refused;
//! the gate runs this with few.

use ubtile_kernels::{Feature, Level, RunError, Serial, Values, ValuesMut};
use ubtile_testkit::problems::{GridSampler, Im2col, MaxUnpool, ReplicationPad};
use ubtile_tiling::grid_sampler_2d_backward::Interpolation;
use ubtile_tiling::{Dtype, Operator, PlanError, PlanOptions, TargetSpec};

const NONE: Values<'static> = Values::F32(&[]);
const OPTIONS: PlanOptions = PlanOptions { workspace_limit: None, local_bytes: None };

fn none<'a>() -> ValuesMut<'a> {
    ValuesMut::F32(&mut [])
}

/// All of an operator's functions refuse a feature, if it is not there.
fn all_need(operator: Operator, feature: Feature, runs: &[Result<(), RunError>]) {
    let refusal = Err(RunError::NotBuilt { operator, feature });
    for (number, run) in runs.iter().enumerate() {
        assert_eq!(*run == refusal, !feature.is_built(), "{operator} {feature}: function {number}: {run:?}");
    }
}

#[test]
fn grid_sampler() {
    use ubtile_kernels::grid_sampler_2d_backward::{
        Inputs, Outputs, ShareMemory, ShareOutputs, TileBoxes, run, run_parallel, run_share, run_tile,
    };
    let inputs = || Inputs { grad_output: NONE, input: NONE, grid: NONE };
    let outputs = || Outputs { input_grad: none(), grid_grad: none() };
    let kinds = [Dtype::F16, Dtype::Bf16, Dtype::F32, Dtype::F64].map(|dtype| (dtype, Interpolation::Bilinear));
    for (dtype, interpolation) in kinds.into_iter().chain([(Dtype::F32, Interpolation::Bicubic)]) {
        let problem = GridSampler { dtype, interpolation, ..Default::default() }.problem();
        let feature = match interpolation {
            Interpolation::Bicubic => Feature::Bicubic,
            _ => Feature::of(dtype),
        };
        let plan = match ubtile_tiling::grid_sampler_2d_backward::plan(&problem, &TargetSpec::host(1), &OPTIONS) {
            // The planner lacks what only sums of halves need.
            Err(PlanError::NotBuilt { .. }) => {
                assert!(!feature.is_built(), "{feature}");
                continue;
            }
            plan => plan.unwrap(),
        };
        let tile = plan.tiles(0, 0).next().expect("there are points");
        let boxes = TileBoxes {
            grad_output: NONE,
            input: NONE,
            grid: NONE,
            input_grad: none(),
            input_grad_sums: none(),
            grid_grad: none(),
            totals: none(),
        };
        let of_share = ShareOutputs { input_grad: [none(), none(), none(), none()], grid_grad: none() };
        let memory = ShareMemory { scratch: &mut [], write: &mut [], read: &[] };
        let level = Level::detect();
        let runs = [
            run(&plan, level, inputs(), outputs(), &mut []),
            run_parallel(&plan, level, &Serial, inputs(), outputs(), &mut []),
            run_share(&plan, level, 0, 0, inputs(), of_share, memory),
            run_tile(&plan, level, &tile, boxes),
        ];
        all_need(Operator::GridSampler2dBackward, feature, &runs);
    }
}

#[test]
fn max_unpool() {
    use ubtile_kernels::max_unpool2d_backward::{Inputs, Outputs, run, run_parallel, run_share, run_tile};
    let inputs = || Inputs { grad_output: NONE, indices: NONE };
    let outputs = || Outputs { out: none() };
    for dtype in [Dtype::F16, Dtype::Bf16, Dtype::F32, Dtype::F64, Dtype::I32] {
        let problem = MaxUnpool { dtype, out_dtype: dtype, ..Default::default() }.problem();
        let plan = ubtile_tiling::max_unpool2d_backward::plan(&problem, &TargetSpec::host(1), &OPTIONS).unwrap();
        let tile = plan.tiles(0, 0).next().expect("there are cells");
        let level = Level::detect();
        let runs = [
            run(&plan, level, inputs(), outputs(), &mut []),
            run_parallel(&plan, level, &Serial, inputs(), outputs(), &mut []),
            run_share(&plan, level, 0, 0, inputs(), outputs()),
            run_tile(&plan, level, &tile, inputs(), outputs()),
        ];
        all_need(Operator::MaxUnpool2dBackward, Feature::of(dtype), &runs);
    }
}

#[test]
fn replication_pad() {
    use ubtile_kernels::replication_pad2d_backward::{Inputs, Outputs, run, run_parallel, run_share, run_tile};
    let inputs = || Inputs { grad_output: NONE };
    let outputs = || Outputs { grad_input: none() };
    for dtype in [Dtype::F16, Dtype::Bf16, Dtype::F32, Dtype::F64, Dtype::C64, Dtype::C128] {
        let problem = ReplicationPad { dtype, ..Default::default() }.problem();
        let plan = ubtile_tiling::replication_pad2d_backward::plan(&problem, &TargetSpec::host(1), &OPTIONS).unwrap();
        let tile = plan.tiles(0, 0).next().expect("there are cells");
        let level = Level::detect();
        let runs = [
            run(&plan, level, inputs(), outputs(), &mut []),
            run_parallel(&plan, level, &Serial, inputs(), outputs(), &mut []),
            run_share(&plan, level, 0, 0, inputs(), outputs()),
            run_tile(&plan, level, &tile, inputs(), outputs(), none()),
        ];
        all_need(Operator::ReplicationPad2dBackward, Feature::of(dtype), &runs);
    }
}

#[test]
fn im2col() {
    use ubtile_kernels::im2col_backward::{Inputs, Outputs, run, run_parallel, run_share, run_tile};
    let inputs = || Inputs { grad_output: NONE };
    let outputs = || Outputs { out: none() };
    for dtype in [Dtype::F16, Dtype::Bf16, Dtype::F32, Dtype::F64] {
        let problem = Im2col { dtype, out_dtype: dtype, ..Default::default() }.problem();
        let plan = ubtile_tiling::im2col_backward::plan(&problem, &TargetSpec::host(1), &OPTIONS).unwrap();
        let tile = plan.tiles(0, 0).next().expect("there are cells");
        let level = Level::detect();
        let runs = [
            run(&plan, level, inputs(), outputs(), &mut []),
            run_parallel(&plan, level, &Serial, inputs(), outputs(), &mut []),
            run_share(&plan, level, 0, 0, inputs(), outputs()),
            run_tile(&plan, level, &tile, inputs(), outputs(), none()),
        ];
        all_need(Operator::Im2colBackward, Feature::of(dtype), &runs);
    }
}
