//! One way to run any operator.

use ubtile_kernels::{
    Level, RunError, ValuesMut, grid_sampler_2d_backward as grid_sampler, im2col_backward as im2col,
    max_unpool2d_backward as max_unpool, replication_pad2d_backward as replication_pad,
};
use ubtile_testkit::problems::output;
use ubtile_testkit::{Data, Inputs, bits_equal, compare, expected};
use ubtile_tiling::{PlanOptions, Problem, TargetSpec, Tensor, TilingPlan, plan};

use crate::common::{Threads, values, values_mut};

/// How a problem is run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    pub(crate) level: Level,
    /// As many threads run the plan's shares.
    pub(crate) cores: usize,
    pub(crate) options: PlanOptions,
}

impl Way {
    /// One thread and everything it likes.
    pub(crate) fn plain(level: Level) -> Self {
        Self { level, cores: 1, options: PlanOptions::default() }
    }

    /// One thread, and local memory for a tile of that size.
    pub(crate) fn tile(level: Level, local_bytes: usize) -> Self {
        let options = PlanOptions { local_bytes: Some(local_bytes), ..Default::default() };
        Self { options, ..Self::plain(level) }
    }
}

/// Outputs by name.
pub(crate) type Outputs = Vec<(Tensor, Data)>;

/// Runs a problem; its outputs are poisoned before.
pub(crate) fn run(problem: &Problem, inputs: &Inputs, way: Way) -> Result<Outputs, RunError> {
    let plan = plan(problem, &TargetSpec::host(way.cores), &way.options).unwrap();
    let mut outputs: Outputs =
        problem.tensors().filter(|slot| slot.output).map(|slot| (slot.tensor, output(Some(slot)))).collect();
    let mut workspace = vec![0x5a; plan.workspace_bytes()];
    compute(&plan, inputs, &mut outputs, way, &mut workspace)?;
    Ok(outputs)
}

fn compute(
    plan: &TilingPlan,
    inputs: &Inputs,
    outputs: &mut Outputs,
    way: Way,
    workspace: &mut [u8],
) -> Result<(), RunError> {
    let Way { level, cores, .. } = way;
    let threads = &Threads(cores);
    let mut buffers: Vec<_> = outputs.iter_mut().map(|(tensor, data)| (*tensor, values_mut(data))).collect();
    let mut to = |tensor| {
        let found = buffers.iter().position(|(name, _)| *name == tensor);
        found.map_or(ValuesMut::F32(&mut []), |i| buffers.swap_remove(i).1)
    };
    match (plan, inputs) {
        (TilingPlan::GridSampler2dBackward(plan), Inputs::GridSampler2dBackward(data)) => {
            let inputs = grid_sampler::Inputs {
                grad_output: values(&data.grad_output),
                input: values(&data.input),
                grid: values(&data.grid),
            };
            let outputs = grid_sampler::Outputs { input_grad: to(Tensor::InputGrad), grid_grad: to(Tensor::GridGrad) };
            grid_sampler::run_parallel(plan, level, threads, inputs, outputs, workspace)
        }
        (TilingPlan::MaxUnpool2dBackward(plan), Inputs::MaxUnpool2dBackward(data)) => {
            let inputs = max_unpool::Inputs { grad_output: values(&data.grad_output), indices: values(&data.indices) };
            let outputs = max_unpool::Outputs { out: to(Tensor::Out) };
            max_unpool::run_parallel(plan, level, threads, inputs, outputs, workspace)
        }
        (TilingPlan::ReplicationPad2dBackward(plan), Inputs::ReplicationPad2dBackward(data)) => {
            let inputs = replication_pad::Inputs { grad_output: values(data) };
            let outputs = replication_pad::Outputs { grad_input: to(Tensor::GradInput) };
            replication_pad::run_parallel(plan, level, threads, inputs, outputs, workspace)
        }
        (TilingPlan::Im2colBackward(plan), Inputs::Im2colBackward(data)) => {
            let inputs = im2col::Inputs { grad_output: values(data) };
            let outputs = im2col::Outputs { out: to(Tensor::Out) };
            im2col::run_parallel(plan, level, threads, inputs, outputs, workspace)
        }
        _ => unreachable!("inputs of another operator"),
    }
}

/// Runs a problem and holds it against the reference; its outputs.
pub(crate) fn agrees(problem: &Problem, inputs: &Inputs, way: Way, what: &str) -> Outputs {
    let outputs = run(problem, inputs, way).unwrap();
    for ((tensor, got), (_, expected)) in outputs.iter().zip(expected(problem, inputs).unwrap()) {
        if let Err(mismatch) = compare(got, &expected) {
            panic!("{what} {way:?}: {tensor}: {mismatch}");
        }
        assert!(
            got.gaps_hold(ubtile_testkit::problems::POISON),
            "{what} {way:?}: {tensor} is written between elements"
        );
    }
    outputs
}

/// Two results have the same bits.
pub(crate) fn same_bits(left: &Outputs, right: &Outputs, what: &str) {
    for ((tensor, left), (_, right)) in left.iter().zip(right) {
        if let Err(difference) = bits_equal(left, right) {
            panic!("{what}: {tensor}: {difference}");
        }
    }
}

/// The output of that name.
pub(crate) fn named(outputs: &Outputs, tensor: Tensor) -> &Data {
    &outputs.iter().find(|(name, _)| *name == tensor).unwrap().1
}

/// An output's elements as numbers, in row-major order.
pub(crate) fn numbers(outputs: &Outputs, tensor: Tensor) -> Vec<f64> {
    let data = named(outputs, tensor);
    data.offsets().map(|offset| data.number(offset)).collect()
}
