//! The support matrix, row by row: what its host column promises is computed and agrees with the reference at every level, and
//! whatever has no row is refused.

mod common;

use common::{Threads, values, values_mut};
use ubtile_kernels::{
    Level, grid_sampler_2d_backward as grid_sampler, im2col_backward as im2col, max_unpool2d_backward as max_unpool,
    replication_pad2d_backward as replication_pad,
};
use ubtile_testkit::problems::{
    GridSampler, Im2col, MaxUnpool, ReplicationPad, grid_sampler_inputs, im2col_inputs, max_unpool_inputs, output,
    replication_pad_inputs,
};
use ubtile_testkit::{Coordinates, Data, Fill, IndexFill, Rng, compare, reference};
use ubtile_tiling::{
    ContractError, Dtype, Edition, Operator, PlanOptions, TargetSpec, Tensor, can_cast, support, support_table,
};

const TARGET: TargetSpec = TargetSpec::host(2);
const OPTIONS: PlanOptions = PlanOptions { workspace_limit: None, local_bytes: None };

/// Dtypes that the operator takes on the host.
fn taken(operator: Operator) -> impl Iterator<Item = Dtype> {
    support_table().iter().filter(move |row| row.operator == operator).map(|row| row.dtype)
}

fn agrees(got: &Data, expected: &reference::Expected, context: &str) {
    if let Err(mismatch) = compare(got, expected) {
        panic!("{context}: {mismatch}");
    }
}

fn compute_grid_sampler(dtype: Dtype, level: Level) {
    for modes in GridSampler::modes() {
        let spec = GridSampler { dtype, c: 9, ..modes };
        let problem = spec.problem();
        let inputs = grid_sampler_inputs(&problem, Fill::Uniform, Coordinates::Random, &mut Rng::new(3));
        let expected = reference::grid_sampler_2d_backward::run(&problem, &inputs);
        let plan = ubtile_tiling::grid_sampler_2d_backward::plan(&problem, &TARGET, &OPTIONS).unwrap();
        let mut input_grad = output(problem.slot(Tensor::InputGrad));
        let mut grid_grad = output(problem.slot(Tensor::GridGrad));
        let (grad_output, input, grid) = (values(&inputs.grad_output), values(&inputs.input), values(&inputs.grid));
        let inputs = grid_sampler::Inputs { grad_output, input, grid };
        let outputs =
            grid_sampler::Outputs { input_grad: values_mut(&mut input_grad), grid_grad: values_mut(&mut grid_grad) };
        let mut workspace = vec![0; plan.workspace_bytes()];
        grid_sampler::run_parallel(&plan, level, &Threads(2), inputs, outputs, &mut workspace).unwrap();
        agrees(&input_grad, &expected.input_grad.unwrap(), &format!("{spec:?} {level}"));
        agrees(&grid_grad, &expected.grid_grad.unwrap(), &format!("{spec:?} {level}"));
    }
}

fn compute_max_unpool(dtype: Dtype, level: Level) {
    for out_dtype in taken(Operator::MaxUnpool2dBackward).filter(|&to| can_cast(dtype, to)) {
        for index_dtype in [Dtype::I32, Dtype::I64] {
            let spec = MaxUnpool { dtype, out_dtype, index_dtype, ..Default::default() };
            let problem = spec.problem();
            let inputs = max_unpool_inputs(&problem, Fill::Uniform, IndexFill::Permutation, &mut Rng::new(4));
            let expected = reference::max_unpool2d_backward::run(&problem, &inputs).unwrap();
            let plan = ubtile_tiling::max_unpool2d_backward::plan(&problem, &TARGET, &OPTIONS).unwrap();
            let mut out = output(problem.slot(Tensor::Out));
            let inputs =
                max_unpool::Inputs { grad_output: values(&inputs.grad_output), indices: values(&inputs.indices) };
            let outputs = max_unpool::Outputs { out: values_mut(&mut out) };
            max_unpool::run_parallel(&plan, level, &Threads(2), inputs, outputs, &mut []).unwrap();
            agrees(&out, &expected, &format!("{spec:?} {level}"));
        }
    }
}

fn compute_replication_pad(dtype: Dtype, level: Level) {
    for padding in [[0, 0, 0, 0], [1, 2, 3, 4], [9, 0, 0, 11], [-1, 1, 2, -1]] {
        let spec = ReplicationPad { dtype, padding, ..Default::default() };
        let problem = spec.problem();
        let grad_output = replication_pad_inputs(&problem, Fill::Uniform, &mut Rng::new(5));
        let expected = reference::replication_pad2d_backward::run(&problem, &grad_output);
        let plan = ubtile_tiling::replication_pad2d_backward::plan(&problem, &TARGET, &OPTIONS).unwrap();
        let mut grad_input = output(problem.slot(Tensor::GradInput));
        let inputs = replication_pad::Inputs { grad_output: values(&grad_output) };
        let outputs = replication_pad::Outputs { grad_input: values_mut(&mut grad_input) };
        replication_pad::run_parallel(&plan, level, &Threads(2), inputs, outputs, &mut []).unwrap();
        agrees(&grad_input, &expected, &format!("{spec:?} {level}"));
    }
}

fn compute_im2col(dtype: Dtype, level: Level) {
    for out_dtype in taken(Operator::Im2colBackward) {
        let spec = Im2col { dtype, out_dtype, padding: [1, 2], stride: [2, 1], ..Default::default() };
        let problem = spec.problem();
        let grad_output = im2col_inputs(&problem, Fill::Uniform, &mut Rng::new(6));
        let expected = reference::im2col_backward::run(&problem, &grad_output);
        let plan = ubtile_tiling::im2col_backward::plan(&problem, &TARGET, &OPTIONS).unwrap();
        let mut out = output(problem.slot(Tensor::Out));
        let inputs = im2col::Inputs { grad_output: values(&grad_output) };
        let outputs = im2col::Outputs { out: values_mut(&mut out) };
        im2col::run_parallel(&plan, level, &Threads(2), inputs, outputs, &mut []).unwrap();
        agrees(&out, &expected, &format!("{spec:?} {level}"));
    }
}

#[test]
fn every_row_of_the_host_column_is_computed() {
    for level in Level::available() {
        for row in support_table() {
            assert!(support(row.operator, row.dtype, None, Edition::Any).accepted);
            match row.operator {
                Operator::GridSampler2dBackward => compute_grid_sampler(row.dtype, level),
                Operator::MaxUnpool2dBackward => compute_max_unpool(row.dtype, level),
                Operator::ReplicationPad2dBackward => compute_replication_pad(row.dtype, level),
                Operator::Im2colBackward => compute_im2col(row.dtype, level),
            }
        }
    }
}

#[test]
fn every_combination_without_a_row_is_refused() {
    for (operator, dtype) in Operator::ALL.into_iter().flat_map(|op| Dtype::ALL.map(|dtype| (op, dtype))) {
        let takes = taken(operator).any(|taken| taken == dtype);
        let refused = |result: Result<(), ContractError>| match result {
            Ok(()) => assert!(takes, "{operator} {dtype} is accepted"),
            Err(ContractError::Dtype { got, .. }) => assert!(!takes && got == dtype, "{operator} {dtype} is refused"),
            Err(error) => panic!("{operator} {dtype}: {error}"),
        };
        refused(match operator {
            Operator::GridSampler2dBackward => {
                GridSampler { dtype, ..Default::default() }.desc().check(None, Edition::Any).map(drop)
            }
            Operator::MaxUnpool2dBackward => {
                MaxUnpool { dtype, out_dtype: dtype, ..Default::default() }.desc().check(None, Edition::Any).map(drop)
            }
            Operator::ReplicationPad2dBackward => {
                ReplicationPad { dtype, ..Default::default() }.desc().check(None, Edition::Any).map(drop)
            }
            Operator::Im2colBackward => {
                Im2col { dtype, out_dtype: dtype, ..Default::default() }.desc().check(None, Edition::Any).map(drop)
            }
        });
    }
    // Casts that the contract has none for.
    for (from, to) in taken(Operator::MaxUnpool2dBackward).flat_map(|from| Dtype::ALL.map(|to| (from, to))) {
        let spec = MaxUnpool { dtype: from, out_dtype: to, ..Default::default() };
        let takes = can_cast(from, to) && taken(Operator::MaxUnpool2dBackward).any(|taken| taken == to);
        assert_eq!(spec.desc().check(None, Edition::Any).is_ok(), takes, "{from} to {to}");
    }
}
