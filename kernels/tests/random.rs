//! Random legal problems of any dtype, layout and size: at any level, on any number of threads, with any tile and any workspace
//! the bits are those of one lane on one thread with everything at hand, and those agree with the reference.

mod common;

use common::{Threads, values, values_mut};
use proptest::prelude::*;
use ubtile_kernels::{
    Level, grid_sampler_2d_backward as grid_sampler, im2col_backward as im2col, max_unpool2d_backward as max_unpool,
    replication_pad2d_backward as replication_pad,
};
use ubtile_testkit::problems::{grid_sampler_inputs, im2col_inputs, max_unpool_inputs, output, replication_pad_inputs};
use ubtile_testkit::{Coordinates, Data, Fill, IndexFill, Rng, bits_equal, compare, reference, strategies};
use ubtile_tiling::{Capabilities, PlanOptions, TargetSpec, Tensor, TensorDesc};

/// How a problem is run.
#[derive(Clone, Copy, Debug)]
struct Way {
    level: Level,
    threads: usize,
    options: PlanOptions,
}

const PLAIN: Way =
    Way { level: Level::scalar(), threads: 1, options: PlanOptions { workspace_limit: None, local_bytes: None } };

fn ways() -> impl Strategy<Value = Way> {
    let levels: Vec<_> = Level::available().collect();
    let limit = prop_oneof![Just(None), Just(Some(0)), (0..50_000usize).prop_map(Some)];
    // A point's 64 channels take a block of 64 bytes each.
    let local = prop_oneof![Just(None), (5000..100_000usize).prop_map(Some)];
    (prop::sample::select(levels), 1..5usize, limit, local).prop_map(
        |(level, threads, workspace_limit, local_bytes)| Way {
            level,
            threads,
            options: PlanOptions { workspace_limit, local_bytes },
        },
    )
}

fn fills() -> impl Strategy<Value = Fill> {
    prop::sample::select(&Fill::ALL)
}

fn target(way: Way) -> TargetSpec {
    // Where copies take whole blocks, shares begin elsewhere, and tiles take more.
    let small = way.options.local_bytes.is_some_and(|bytes| bytes < 16_384);
    let capabilities = Capabilities { unaligned_copy: small || way.threads % 2 == 1, ..Capabilities::HOST };
    TargetSpec { capabilities, ..TargetSpec::host(way.threads) }
}

fn same_bits(got: &Data, plain: &Data) -> Result<(), TestCaseError> {
    bits_equal(got, plain).map_err(|difference| TestCaseError::fail(difference.to_string()))
}

fn agrees(got: &Data, expected: &reference::Expected) -> Result<(), TestCaseError> {
    compare(got, expected).map(drop).map_err(|mismatch| TestCaseError::fail(mismatch.to_string()))
}

proptest! {
    #![proptest_config(strategies::cases(2000))]

    #[test]
    fn grid_sampler_2d_backward(
        spec in strategies::grid_sampler(),
        way in ways(),
        fill in fills(),
        coordinates in prop::sample::select(&Coordinates::ALL),
        seed: u64,
    ) {
        let problem = spec.problem();
        let data = grid_sampler_inputs(&problem, fill, coordinates, &mut Rng::new(seed));
        let run = |mut way: Way| {
            // A block of 64 channels needs more local memory than the other operators' least.
            way.options.local_bytes = way.options.local_bytes.map(|bytes| bytes.max(16 << 10));
            let plan = ubtile_tiling::grid_sampler_2d_backward::plan(&problem, &target(way), &way.options).unwrap();
            // A gradient that is not wanted has no slot; nothing touches its buffer.
            let nothing = || Data::filled(TensorDesc::contiguous(problem.dtype, &[0]).unwrap(), 0);
            let buffer = |tensor| problem.slot(tensor).map_or_else(nothing, |slot| output(Some(slot)));
            let (mut input_grad, mut grid_grad) = (buffer(Tensor::InputGrad), buffer(Tensor::GridGrad));
            let (grad_output, input, grid) = (values(&data.grad_output), values(&data.input), values(&data.grid));
            let inputs = grid_sampler::Inputs { grad_output, input, grid };
            let outputs =
                grid_sampler::Outputs { input_grad: values_mut(&mut input_grad), grid_grad: values_mut(&mut grid_grad) };
            let mut workspace = vec![0x5a; plan.workspace_bytes()];
            match way.threads {
                1 => grid_sampler::run(&plan, way.level, inputs, outputs, &mut workspace).unwrap(),
                n => grid_sampler::run_parallel(&plan, way.level, &Threads(n), inputs, outputs, &mut workspace).unwrap(),
            }
            [input_grad, grid_grad]
        };
        let (plain, got) = (run(PLAIN), run(way));
        let expected = reference::grid_sampler_2d_backward::run(&problem, &data);
        for ((got, plain), expected) in got.iter().zip(&plain).zip([expected.input_grad, expected.grid_grad]) {
            same_bits(got, plain)?;
            if let Some(expected) = expected {
                agrees(plain, &expected)?;
            }
        }
    }

    #[test]
    fn max_unpool2d_backward(spec in strategies::max_unpool(), way in ways(), fill in fills(), seed: u64) {
        let problem = spec.problem();
        let data = max_unpool_inputs(&problem, fill, IndexFill::Duplicates, &mut Rng::new(seed));
        let run = |way: Way| {
            let plan = ubtile_tiling::max_unpool2d_backward::plan(&problem, &target(way), &way.options).unwrap();
            let mut out = output(problem.slot(Tensor::Out));
            let inputs = max_unpool::Inputs { grad_output: values(&data.grad_output), indices: values(&data.indices) };
            let outputs = max_unpool::Outputs { out: values_mut(&mut out) };
            let mut workspace = vec![0x5a; plan.workspace_bytes()];
            max_unpool::run_parallel(&plan, way.level, &Threads(way.threads), inputs, outputs, &mut workspace).unwrap();
            out
        };
        let plain = run(PLAIN);
        same_bits(&run(way), &plain)?;
        agrees(&plain, &reference::max_unpool2d_backward::run(&problem, &data).unwrap())?;
    }

    #[test]
    fn replication_pad2d_backward(spec in strategies::replication_pad(), way in ways(), fill in fills(), seed: u64) {
        let problem = spec.problem();
        let data = replication_pad_inputs(&problem, fill, &mut Rng::new(seed));
        let run = |way: Way| {
            let plan = ubtile_tiling::replication_pad2d_backward::plan(&problem, &target(way), &way.options).unwrap();
            let mut grad_input = output(problem.slot(Tensor::GradInput));
            let inputs = replication_pad::Inputs { grad_output: values(&data) };
            let outputs = replication_pad::Outputs { grad_input: values_mut(&mut grad_input) };
            let mut workspace = vec![0x5a; plan.workspace_bytes()];
            replication_pad::run_parallel(&plan, way.level, &Threads(way.threads), inputs, outputs, &mut workspace).unwrap();
            grad_input
        };
        let plain = run(PLAIN);
        same_bits(&run(way), &plain)?;
        agrees(&plain, &reference::replication_pad2d_backward::run(&problem, &data))?;
    }

    #[test]
    fn im2col_backward(spec in strategies::im2col(), way in ways(), fill in fills(), seed: u64) {
        let problem = spec.problem();
        let data = im2col_inputs(&problem, fill, &mut Rng::new(seed));
        let run = |way: Way| {
            let plan = ubtile_tiling::im2col_backward::plan(&problem, &target(way), &way.options).unwrap();
            let mut out = output(problem.slot(Tensor::Out));
            let inputs = im2col::Inputs { grad_output: values(&data) };
            let outputs = im2col::Outputs { out: values_mut(&mut out) };
            let mut workspace = vec![0x5a; plan.workspace_bytes()];
            im2col::run_parallel(&plan, way.level, &Threads(way.threads), inputs, outputs, &mut workspace).unwrap();
            out
        };
        let plain = run(PLAIN);
        same_bits(&run(way), &plain)?;
        agrees(&plain, &reference::im2col_backward::run(&problem, &data))?;
    }
}
