//! GridSampler2DBackward: agreement with the reference, and the same bits whatever the level, threads, tiles, workspace and strides.

#[path = "grid_sampler_2d_backward/by_hand.rs"]
mod by_hand;
#[path = "grid_sampler_2d_backward/channels.rs"]
mod channels;
#[path = "grid_sampler_2d_backward/cut.rs"]
mod cut;
#[path = "grid_sampler_2d_backward/law.rs"]
mod law;

mod common;

use std::ops::Range;

use common::{Threads, values, values_mut};
use law::law;
use ubtile_kernels::grid_sampler_2d_backward::{Inputs, Outputs, run, run_parallel};
use ubtile_kernels::{Level, RunError, Values, ValuesMut};
use ubtile_testkit::problems::{GridSampler, GridSamplerDesc, Layout, POISON, grid_sampler_inputs, output};
use ubtile_testkit::reference::{self, grid_sampler_2d_backward::Inputs as Tensors};
use ubtile_testkit::{Coordinates, Data, Fill, Rng, bits_equal, compare, pairwise};
use ubtile_tiling::grid_sampler_2d_backward::{Interpolation, Plan, Problem, Route, plan};
use ubtile_tiling::{Capabilities, Dtype, Edition, PlanOptions, TargetSpec, Tensor, TensorDesc};

const DTYPES: [Dtype; 4] = [Dtype::F32, Dtype::F16, Dtype::Bf16, Dtype::F64];

fn inputs(tensors: &Tensors) -> Inputs<'_> {
    let [grad_output, input, grid] = [&tensors.grad_output, &tensors.input, &tensors.grid].map(values);
    Inputs { grad_output, input, grid }
}

/// Tensors full of poison for both outputs, also for one that is not wanted.
fn outputs(spec: &GridSampler) -> [Data; 2] {
    let problem = GridSampler { output_mask: [true, true], ..*spec }.problem();
    [Tensor::InputGrad, Tensor::GridGrad].map(|tensor| output(problem.slot(tensor)))
}

/// Checks the outputs, and that nothing else was written.
fn check_outputs(spec: &GridSampler, got: &[Data; 2], want: &[Data; 2], what: &str) {
    for (i, (got, want)) in got.iter().zip(want).enumerate() {
        let name = ["input_grad", "grid_grad"][i];
        if spec.output_mask[i] {
            if let Err(difference) = bits_equal(got, want) {
                panic!("{name} of {spec:?}, {what}: {difference}");
            }
            assert!(got.gaps_hold(POISON), "{name} of {spec:?}, {what}: a gap was written");
        } else {
            assert!(got.bytes().iter().all(|&b| b == POISON), "{name} of {spec:?}, {what}: was not wanted");
        }
    }
}

fn check_plan(spec: &GridSampler, plan: &Plan, level: Level, threads: usize, tensors: &Tensors, want: &[Data; 2]) {
    check_into(outputs(spec), spec, plan, level, threads, tensors, want);
}

/// The same with buffers that lie otherwise than those of the spec.
fn check_into(
    mut got: [Data; 2],
    spec: &GridSampler,
    plan: &Plan,
    level: Level,
    threads: usize,
    tensors: &Tensors,
    want: &[Data; 2],
) {
    let [input_grad, grid_grad] = &mut got;
    let to = Outputs { input_grad: values_mut(input_grad), grid_grad: values_mut(grid_grad) };
    let mut workspace = vec![POISON; plan.workspace_bytes()];
    let inputs = inputs(tensors);
    match threads {
        1 => run(plan, level, inputs, to, &mut workspace).unwrap(),
        _ => run_parallel(plan, level, &Threads(threads), inputs, to, &mut workspace).unwrap(),
    }
    check_outputs(spec, &got, want, &format!("{level}, {threads} threads, {plan:?}"));
}

/// So many cores whose copies take whole blocks.
fn in_blocks(cores: usize) -> TargetSpec {
    let host = TargetSpec::host(cores);
    let capabilities = Capabilities { unaligned_copy: false, ..host.capabilities };
    TargetSpec { block_bytes: 32, capabilities, ..host }
}

/// Targets and options that lead to every route, and cut in every way.
fn plans(problem: &Problem) -> Vec<Plan> {
    let mut plans = Vec::new();
    let mut add = |target: TargetSpec, workspace_limit, local_bytes| {
        if let Ok(plan) = plan(problem, &target, &PlanOptions { workspace_limit, local_bytes }) {
            assert!(workspace_limit.is_none_or(|limit| plan.workspace_bytes() <= limit), "{plan:?}");
            if !plans.contains(&plan) {
                plans.push(plan);
            }
        }
    };
    let scalar = TargetSpec { vector_bytes: 4, ..TargetSpec::host(1) };
    let [one, two, three, eight] = [1, 2, 3, 8].map(TargetSpec::host);
    for target in [one, two, three, eight, scalar, in_blocks(8)] {
        for limit in [None, Some(0), Some(200), Some(1000), Some(5000), Some(20_000)] {
            add(target, limit, None);
        }
        add(target, None, Some(1500));
    }
    plans
}

fn sample(spec: &GridSampler, fill: Fill, coordinates: Coordinates, rng: &mut Rng) -> (Problem, Tensors, [Data; 2]) {
    let problem = spec.problem();
    let tensors = grid_sampler_inputs(&problem, fill, coordinates, rng);
    let want = law(&problem, &tensors);
    (problem, tensors, want)
}

#[test]
fn every_mode_at_every_level_is_the_law_and_agrees_with_the_reference() {
    let rng = &mut Rng::new(1);
    for mode in GridSampler::modes() {
        for dtype in DTYPES {
            for (coordinates, fill) in Coordinates::ALL.into_iter().zip([
                Fill::Uniform,
                Fill::Specials,
                Fill::Specials,
                Fill::Uniform,
                Fill::Integers,
            ]) {
                for c in [1, 3, 4, 5, 8, 9] {
                    let spec = GridSampler { dtype, c, hi: 6, ho: 5, ..mode };
                    let (problem, tensors, want) = sample(&spec, fill, coordinates, rng);
                    let expected = reference::grid_sampler_2d_backward::run(&problem, &tensors);
                    // Next to the largest and smallest numbers a difference of pixels overflows, and a product underflows,
                    // where the reference's does not.
                    let judged = if fill == Fill::Specials { 0 } else { 2 };
                    for (law, expected) in want.iter().zip([expected.input_grad, expected.grid_grad]).take(judged) {
                        if let Err(mismatch) = compare(law, &expected.unwrap()) {
                            panic!("{spec:?} {coordinates:?} {fill:?}: {mismatch}");
                        }
                    }
                    for target in [TargetSpec::host(1), TargetSpec { vector_bytes: 4, ..TargetSpec::host(1) }] {
                        let plan = plan(&problem, &target, &PlanOptions::default()).unwrap();
                        for level in Level::available() {
                            check_plan(&spec, &plan, level, 1, &tensors, &want);
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn points_and_pixels_around_chunks() {
    let rng = &mut Rng::new(3);
    let shapes = [(1, 1), (1, 15), (4, 4), (1, 17), (63, 1), (5, 13), (8, 8), (16, 16), (20, 13)];
    for (i, (ho, wo)) in shapes.into_iter().enumerate() {
        for (j, (hi, wi)) in shapes.into_iter().rev().enumerate() {
            let mode = GridSampler::modes().nth((i * 5 + j * 7) % 18).unwrap();
            let spec =
                GridSampler { n: 1 + i % 2, c: [1, 3, 6][j % 3], dtype: DTYPES[(i + j) % 4], hi, wi, ho, wo, ..mode };
            let (problem, tensors, want) = sample(&spec, Fill::Specials, Coordinates::Random, rng);
            for plan in plans(&problem) {
                check_plan(&spec, &plan, Level::detect(), 1 + j % 3, &tensors, &want);
            }
        }
    }
}

/// Points that lie at the next corner, at the same one, two corners on, below each other, and so many that none is foreseen.
#[test]
fn points_that_follow_each_other() {
    let rng = &mut Rng::new(11);
    for [hi, wi, ho, wo] in [[30, 41, 30, 41], [7, 9, 28, 37], [60, 53, 21, 26], [40, 2, 40, 13], [2, 40, 5, 40]] {
        for (dtype, fill) in DTYPES.into_iter().flat_map(|d| [Fill::Uniform, Fill::Specials].map(|f| (d, f))) {
            for c in 1..=4 {
                let spec = GridSampler { dtype, c, hi, wi, ho, wo, ..Default::default() };
                follow(&spec, fill, rng);
            }
        }
    }
    for dtype in DTYPES {
        let spec = GridSampler { dtype, n: 1, c: 1, hi: 260, wi: 251, ho: 260, wo: 255, ..Default::default() };
        follow(&spec, Fill::Specials, rng);
    }
}

fn follow(spec: &GridSampler, fill: Fill, rng: &mut Rng) {
    for coordinates in [Coordinates::Smooth, Coordinates::Rows, Coordinates::Rows, Coordinates::Rows] {
        let (problem, tensors, want) = sample(spec, fill, coordinates, rng);
        let scalar = TargetSpec { vector_bytes: 4, ..TargetSpec::host(1) };
        for target in [TargetSpec::host(1), TargetSpec::host(5), scalar] {
            let plan = plan(&problem, &target, &PlanOptions::default()).unwrap();
            for level in Level::available() {
                check_plan(spec, &plan, level, target.cores, &tensors, &want);
            }
        }
    }
}

/// Planes beyond a MiB, whose points are gone through twice where they lie far from each other.
#[test]
fn points_anywhere_in_a_large_image() {
    let rng = &mut Rng::new(37);
    for (i, [c, hi, wi]) in [[1, 513, 520], [2, 400, 341], [3, 300, 301]].into_iter().enumerate() {
        for (dtype, output_mask) in DTYPES.into_iter().zip([[true, true], [true, true], [true, false], [false, true]]) {
            let spec = GridSampler { dtype, n: 2, c, hi, wi, ho: 29 + i, wo: 37, output_mask, ..Default::default() };
            let (problem, tensors, want) = sample(&spec, Fill::Specials, Coordinates::Random, rng);
            for cores in [1, 4] {
                let plan = plan(&problem, &TargetSpec::host(cores), &PlanOptions::default()).unwrap();
                for level in Level::available() {
                    check_plan(&spec, &plan, level, cores, &tensors, &want);
                }
            }
        }
    }
}

/// Images of three and four channels: one whose points lie as the pixels do, which is not staged, and one whose points lie anywhere.
#[test]
fn images_with_points_in_order_and_anywhere() {
    let rng = &mut Rng::new(41);
    for (i, (dtype, [c, hi, wi])) in [
        (Dtype::F32, [4, 131, 253]),
        (Dtype::F64, [4, 17, 23]),
        (Dtype::F64, [3, 600, 601]),
        (Dtype::Bf16, [3, 420, 421]),
        (Dtype::F16, [4, 131, 253]),
    ]
    .into_iter()
    .enumerate()
    {
        for output_mask in [[true, true], [true, false], [false, true]] {
            let spec = GridSampler { dtype, n: 2, c, hi, wi, ho: 120 + i, wo: 70, output_mask, ..Default::default() };
            let (problem, tensors, _) = sample(&spec, Fill::Specials, Coordinates::Smooth, rng);
            let (_, anywhere, _) = sample(&spec, Fill::Specials, Coordinates::Random, rng);
            let [smooth, anywhere] = [&tensors.grid, &anywhere.grid].map(Data::numbers);
            let grid = Data::from_fn(spec.desc().grid, |at| [&smooth, &anywhere][at / (smooth.len() / 2)][at]);
            let tensors = Tensors { grid, ..tensors };
            let want = law(&problem, &tensors);
            for cores in [1, 2] {
                let plan = plan(&problem, &TargetSpec::host(cores), &PlanOptions::default()).unwrap();
                assert_eq!(plan.route(), Route::Images, "{plan:?}");
                assert_eq!(plan.suits_smooth_lanes(), dtype != Dtype::F16, "{plan:?}");
                for level in Level::available() {
                    check_plan(&spec, &plan, level, cores, &tensors, &want);
                }
            }
        }
    }
}

#[test]
fn layouts_and_masks() {
    let rng = &mut Rng::new(4);
    for row in pairwise(&[Layout::INPUT.len(), 4, 3, 18, 4, 3]) {
        let mode = GridSampler::modes().nth(row[3]).unwrap();
        let spec = GridSampler {
            c: [2, 5, 66][row[5]],
            hi: 17,
            dtype: DTYPES[row[4]],
            inputs: Layout::INPUT[row[0]],
            outputs: Layout::OUTPUT[row[1]],
            output_mask: [[true, true], [true, false], [false, true]][row[2]],
            ..mode
        };
        let problem = spec.problem();
        let tensors = grid_sampler_inputs(&problem, Fill::Uniform, Coordinates::Random, rng);
        let want = law(&problem, &tensors);
        for plan in plans(&problem) {
            check_plan(&spec, &plan, Level::detect(), 2, &tensors, &want);
        }
    }
}

#[test]
fn every_route_is_reached() {
    let routes = |spec: GridSampler| plans(&spec.problem()).iter().map(Plan::route).collect::<Vec<_>>();
    let few = routes(GridSampler { n: 1, hi: 32, ..Default::default() });
    assert!(few.contains(&Route::PointLanes) && few.contains(&Route::PointBands), "{few:?}");
    let more = routes(GridSampler { n: 1, c: 5, hi: 32, ..Default::default() });
    assert!(more.contains(&Route::Images) && more.contains(&Route::Bands), "{more:?}");
    let two = routes(GridSampler { n: 1, c: 25, hi: 32, ..Default::default() });
    assert!(two.contains(&Route::Images) && two.contains(&Route::Channels), "{two:?}");
    let many = routes(GridSampler { n: 1, c: 130, ..Default::default() });
    assert!(many.contains(&Route::Images) && many.contains(&Route::Blocks), "{many:?}");
    let passes = |limit| {
        let spec = GridSampler { dtype: Dtype::F16, c: 2, hi: 9, wi: 40, ..Default::default() };
        let options = PlanOptions { workspace_limit: Some(limit), local_bytes: None };
        let plan = plan(&spec.problem(), &TargetSpec::host(1), &options).unwrap();
        (matches!(plan.route(), Route::Direct(_)), plan.prices().next().unwrap().paid)
    };
    // 63 bytes of slack; an image, a plane, a bit more than two rows; on the stack one row.
    assert_eq!(passes(63 + 2 * 1440), (true, 1));
    assert_eq!(passes(63 + 1440 + 64), (true, 2));
    assert_eq!(passes(63 + 384), (true, 10));
    assert_eq!(passes(0), (true, 18));
}

/// Bicubic points beside the image, in rows of which it has the first, have no gradient, not even of an infinite `grad_output`.
#[test]
fn rows_without_columns() {
    for dtype in DTYPES {
        let spec = GridSampler { dtype, c: 5, interpolation: Interpolation::Bicubic, ..Default::default() };
        let (problem, tensors, _) = sample(&spec, Fill::Uniform, Coordinates::Smooth, &mut Rng::new(12));
        // Far to the right of the first row.
        let grid = Data::from_fn(spec.desc().grid, |i| if i % 2 == 0 { 9.0 } else { -0.9 });
        let grad_output = Data::from_fn(spec.desc().grad_output, |_| f64::INFINITY);
        let tensors = Tensors { grid, grad_output, ..tensors };
        let want = law(&problem, &tensors);
        for plan in plans(&problem) {
            for level in Level::available() {
                check_plan(&spec, &plan, level, 1, &tensors, &want);
            }
        }
    }
}

/// Between planes lie zeros that are negative; a vector that reaches into a gap and adds +0 to it would show.
#[test]
fn gaps_between_planes_are_not_added_to() {
    let spec = GridSampler { n: 2, c: 3, hi: 12, wi: 21, ho: 14, wo: 21, ..Default::default() };
    let (problem, tensors, want) = sample(&spec, Fill::Uniform, Coordinates::Rows, &mut Rng::new(14));
    let (shape, channel) = ([problem.n, problem.c, problem.hi, problem.wi], problem.hi * problem.wi + 9);
    let strides = [problem.c * channel, channel, problem.wi, 1];
    let desc =
        GridSamplerDesc { input_grad: TensorDesc::strided(Dtype::F32, &shape, &strides).unwrap(), ..spec.desc() };
    let plan = plan(&desc.check(None, Edition::Any).unwrap(), &TargetSpec::host(1), &PlanOptions::default()).unwrap();
    assert_eq!((plan.route(), plan.stages_input_grad()), (Route::PointLanes, false));
    for level in Level::available() {
        let [mut input_grad, mut grid_grad] = [desc.input_grad, desc.grid_grad].map(|desc| Data::filled(desc, 0));
        input_grad.bytes_mut().as_chunks_mut().0.fill((-0.0_f32).to_ne_bytes());
        let to = Outputs { input_grad: values_mut(&mut input_grad), grid_grad: values_mut(&mut grid_grad) };
        run(&plan, level, inputs(&tensors), to, &mut vec![POISON; plan.workspace_bytes()]).unwrap();
        bits_equal(&input_grad, &want[0]).unwrap();
        let mut words: Vec<_> = input_grad.bytes().as_chunks().0.iter().map(|&b| f32::from_ne_bytes(b)).collect();
        input_grad.offsets().for_each(|offset| words[offset] = -0.0);
        assert!(words.iter().all(|word| word.to_bits() == (-0.0_f32).to_bits()), "{level}");
    }
}

/// Pairs two apart along a row, as if they lay one after the other, whose parts lie in planes.
#[test]
fn pairs_in_planes() {
    for c in [2, 6] {
        let spec = GridSampler { c, ..Default::default() };
        let (problem, tensors, want) = sample(&spec, Fill::Uniform, Coordinates::Smooth, &mut Rng::new(10));
        let plane = 2 * problem.ho * problem.wo;
        let shape = [problem.n, problem.ho, problem.wo, 2];
        let strided = TensorDesc::strided(problem.dtype, &shape, &[2 * plane, 2 * problem.wo, 2, plane]).unwrap();
        let desc = GridSamplerDesc { grid: strided, grid_grad: strided, ..spec.desc() };
        let problem = desc.check(None, Edition::Any).unwrap();
        let pairs: Vec<u64> = tensors.grid.offsets().map(|at| tensors.grid.bits(at)).collect();
        let tensors = Tensors { grid: Data::from_bits_fn(strided, |i| pairs[i]), ..tensors };
        for plan in plans(&problem) {
            let to = [Tensor::InputGrad, Tensor::GridGrad].map(|tensor| output(problem.slot(tensor)));
            check_into(to, &spec, &plan, Level::detect(), 2, &tensors, &want);
        }
    }
}

fn part(data: &mut Data, elements: Range<usize>) -> ValuesMut<'_> {
    let (dtype, size) = (data.dtype(), data.dtype().size());
    ValuesMut::from_bytes(dtype, &mut data.bytes_mut()[elements.start * size..elements.end * size]).unwrap()
}

#[test]
fn nothing_to_compute_is_zeros() {
    for spec in [
        GridSampler { ho: 0, ..Default::default() },
        GridSampler { wo: 0, outputs: Layout::Spread, ..Default::default() },
        GridSampler { ho: 0, output_mask: [false, true], ..Default::default() },
        GridSampler { n: 0, ..Default::default() },
        GridSampler { c: 0, ..Default::default() },
        GridSampler { output_mask: [false, false], ..Default::default() },
        // However many images: none has a cell.
        GridSampler { n: 1 << 40, c: 0, ho: 0, ..Default::default() },
    ] {
        let problem = spec.problem();
        let tensors = grid_sampler_inputs(&problem, Fill::Uniform, Coordinates::Smooth, &mut Rng::new(7));
        let want = outputs(&spec).map(|data| Data::from_bits_fn(*data.desc(), |_| 0));
        let plan = plan(&problem, &TargetSpec::host(2), &PlanOptions::default()).unwrap();
        assert_eq!((plan.route(), plan.workspace_bytes()), (Route::Zero, 0));
        for threads in [1, 2] {
            check_plan(&spec, &plan, Level::detect(), threads, &tensors, &want);
        }
    }
}

#[test]
fn wrong_buffers_are_refused() {
    let spec = GridSampler { n: 1, c: 5, hi: 16, ..Default::default() };
    let (problem, tensors, _) = sample(&spec, Fill::Uniform, Coordinates::Smooth, &mut Rng::new(8));
    let plan = plan(&problem, &TargetSpec::host(1), &PlanOptions::default()).unwrap();
    let mut got = outputs(&spec);
    let want = plan.workspace_bytes();
    assert!(want > 0);
    let mut attempt = |inputs: Inputs<'_>, cut: usize, short: usize| {
        let [input_grad, grid_grad] = &mut got;
        let len = grid_grad.bytes().len() / 4;
        let outputs = Outputs { input_grad: values_mut(input_grad), grid_grad: part(grid_grad, 0..len - cut) };
        run(&plan, Level::detect(), inputs, outputs, &mut vec![0; want - short])
    };
    assert_eq!(attempt(inputs(&tensors), 0, 0), Ok(()));
    assert_eq!(attempt(inputs(&tensors), 0, 1), Err(RunError::Workspace { got: want - 1, want }));
    let error = RunError::Length { tensor: Tensor::GridGrad, got: 55, want: 56 };
    assert_eq!(attempt(inputs(&tensors), 1, 0), Err(error));
    let halves = Inputs { grid: Values::F16(&[]), ..inputs(&tensors) };
    let error = RunError::Dtype { tensor: Tensor::Grid, got: Dtype::F16, want: Dtype::F32 };
    assert_eq!(attempt(halves, 0, 0), Err(error));
}
