//! Copies of strided inputs change no bit, are made by any number of shares, and need their workspace.

mod common;

use common::{Threads, values, values_mut};
use ubtile_kernels::{
    Level, RunError, grid_sampler_2d_backward, im2col_backward, max_unpool2d_backward, replication_pad2d_backward,
};
use ubtile_testkit::problems::{
    GridSampler, Im2col, Layout, MaxUnpool, ReplicationPad, grid_sampler_inputs, im2col_inputs, max_unpool_inputs,
    output, replication_pad_inputs,
};
use ubtile_testkit::{Coordinates, Data, Fill, IndexFill, Rng};
use ubtile_tiling::grid_sampler_2d_backward::{Interpolation, Plan as GridSamplerPlan, Route};
use ubtile_tiling::{ALIGN, Dtype, PlanOptions, Staging, TargetSpec, Tensor};

const FAR: [Layout; 2] = [Layout::ChannelsLast, Layout::Transposed];
const LIMITED: PlanOptions = PlanOptions { workspace_limit: Some(0), local_bytes: None };

/// Makes the copy share by share, the last one first.
fn copy_by_shares(staging: &Staging, mut stage: impl FnMut(usize, ubtile_kernels::ValuesMut<'_>)) -> Data {
    let desc = ubtile_tiling::TensorDesc::contiguous(staging.slot.dtype, staging.slot.shape.as_slice()).unwrap();
    let mut copy = Data::filled(desc, 0x5a);
    let size = staging.plane() * staging.slot.dtype.size();
    for share in (0..staging.shares).rev() {
        let planes = staging.planes(share);
        let part = &mut copy.bytes_mut()[planes.start * size..planes.end * size];
        stage(share, ubtile_kernels::ValuesMut::from_bytes(staging.slot.dtype, part).unwrap());
    }
    copy
}

#[test]
fn im2col() {
    use im2col_backward::{Inputs, Outputs, run, run_parallel, run_share, stage_share};
    use ubtile_tiling::im2col_backward::plan;
    for (dtype, inputs) in
        [Dtype::F16, Dtype::Bf16, Dtype::F32, Dtype::F64].into_iter().flat_map(|d| FAR.map(|l| (d, l)))
    {
        // More than a block of rows and of columns, multiples of neither; windows that do not overlap, which kernels do not walk.
        let shape = Im2col { dtype, out_dtype: dtype, n: 2, c: 5, h: 14, w: 74, ..Default::default() };
        let sizes = Im2col { kernel: [2, 2], stride: [2, 2], inputs, ..shape };
        let problem = sizes.problem();
        let data = im2col_inputs(&problem, Fill::Specials, &mut Rng::new(3));
        let inputs = || Inputs { grad_output: values(&data) };
        let target = TargetSpec::host(3);
        let (walks, copies) =
            (plan(&problem, &target, &LIMITED).unwrap(), plan(&problem, &target, &PlanOptions::default()).unwrap());
        assert_eq!(walks.workspace_bytes(), 0);
        assert!(walks.stagings().next().is_none() && walks.prices().any(|price| price.paid > price.unlimited));
        let staging = copies.stagings().next().expect("the copy pays");
        assert!(copies.prices().all(|price| price.paid == price.unlimited));
        let names: Vec<_> = copies.phases().map(|phase| phase.name).collect();
        assert_eq!(names, ["stage_grad_output", "compute"]);

        let mut want = output(problem.slot(Tensor::Out));
        run(&walks, Level::detect(), inputs(), Outputs { out: values_mut(&mut want) }, &mut []).unwrap();
        let mut workspace = vec![0x5a; copies.workspace_bytes()];
        for level in Level::available() {
            let mut got = output(problem.slot(Tensor::Out));
            let outputs = Outputs { out: values_mut(&mut got) };
            run_parallel(&copies, level, &Threads(3), inputs(), outputs, &mut workspace).unwrap();
            assert_eq!(got.bytes(), want.bytes(), "{dtype} {level}");
        }
        let mut got = output(problem.slot(Tensor::Out));
        let copy = copy_by_shares(&staging, |share, copy| stage_share(&copies, 0, share, inputs(), copy).unwrap());
        for share in 0..copies.block_dim() {
            let range = copies.share_range(1, share);
            let part = &mut got.bytes_mut()[range.start * dtype.size()..range.end * dtype.size()];
            let outputs = Outputs { out: ubtile_kernels::ValuesMut::from_bytes(dtype, part).unwrap() };
            let inputs = Inputs { grad_output: values(&copy) };
            run_share(&copies, Level::detect(), 1, share, inputs, outputs).unwrap();
        }
        assert_eq!(got.bytes(), want.bytes(), "{dtype} by shares");
        let of_copy = run_share(&copies, Level::detect(), 0, 0, inputs(), Outputs { out: values_mut(&mut got) });
        assert_eq!(of_copy, Err(RunError::Copy { phase: 0, copies: 1 }));
        let no_copy = stage_share(&copies, 1, 0, inputs(), values_mut(&mut got));
        assert_eq!(no_copy, Err(RunError::NoCopy { phase: 1, copies: 1 }));
        for (phase, share, shares) in [(1, copies.block_dim(), copies.block_dim()), (2, 0, 0)] {
            let inputs = Inputs { grad_output: values(&copy) };
            let no_share =
                run_share(&copies, Level::detect(), phase, share, inputs, Outputs { out: values_mut(&mut got) });
            assert_eq!(no_share, Err(RunError::NoShare { phase, share, shares }));
        }
        let no_share = stage_share(&copies, 0, staging.shares, inputs(), values_mut(&mut got));
        assert_eq!(no_share, Err(RunError::NoShare { phase: 0, share: staging.shares, shares: staging.shares }));

        let short = workspace.len() - 1 - (ubtile_tiling::ALIGN - 1);
        let outputs = Outputs { out: values_mut(&mut got) };
        let error = run(&copies, Level::detect(), inputs(), outputs, &mut workspace[..short]);
        assert_eq!(error, Err(RunError::Workspace { got: short, want: copies.workspace_bytes() }));
    }
}

/// C64 may begin at any multiple of 4: at others than multiples of 8 too, source and copy.
#[test]
fn complex_numbers_are_copied_wherever_they_begin() {
    use replication_pad2d_backward::{Inputs, stage_share};
    use ubtile_tiling::replication_pad2d_backward::plan;
    let dtype = Dtype::C64;
    let sizes = ReplicationPad { dtype, c: 3, h: 35, w: 17, padding: [1, 0, 0, 2], ..Default::default() };
    for inputs in FAR {
        let problem = ReplicationPad { inputs, ..sizes }.problem();
        let copies = plan(&problem, &TargetSpec::host(2), &PlanOptions::default()).unwrap();
        let staging = copies.stagings().next().expect("the copy pays");
        let data = replication_pad_inputs(&problem, Fill::Uniform, &mut Rng::new(5));
        let given = Inputs { grad_output: values(&data) };
        let want = copy_by_shares(&staging, |share, copy| stage_share(&copies, 0, share, given, copy).unwrap());
        let room = |bytes: usize| vec![0u64; bytes / 8 + 1];
        for (from, to) in [(0, 4), (4, 0), (4, 4)] {
            let mut source = room(data.bytes().len());
            let source = &mut bytemuck::cast_slice_mut(&mut source)[from..][..data.bytes().len()];
            source.copy_from_slice(data.bytes());
            let inputs = Inputs { grad_output: ubtile_kernels::Values::from_bytes(dtype, source).unwrap() };
            let plane = staging.plane() * dtype.size();
            for share in 0..staging.shares {
                let planes = staging.planes(share);
                let mut copy = room(planes.len() * plane);
                let copy = &mut bytemuck::cast_slice_mut(&mut copy)[to..][..planes.len() * plane];
                let into = ubtile_kernels::ValuesMut::from_bytes(dtype, copy).unwrap();
                stage_share(&copies, 0, share, inputs, into).unwrap();
                assert_eq!(copy, &want.bytes()[planes.start * plane..planes.end * plane], "{inputs:?} {from} {to}");
            }
        }
    }
}

#[test]
fn replication_pad() {
    use replication_pad2d_backward::{Inputs, Outputs, run, run_parallel, run_share, stage_share};
    use ubtile_tiling::replication_pad2d_backward::plan;
    let dtypes = [Dtype::F16, Dtype::Bf16, Dtype::F32, Dtype::F64, Dtype::C64, Dtype::C128];
    for (dtype, inputs) in dtypes.into_iter().flat_map(|d| [FAR[0], FAR[1], Layout::Spread].map(|l| (d, l))) {
        let sizes =
            ReplicationPad { dtype, n: 2, c: 19, h: 18, w: 37, padding: [1, 3, 2, 0], inputs, ..Default::default() };
        let problem = sizes.problem();
        let data = replication_pad_inputs(&problem, Fill::Specials, &mut Rng::new(4));
        let inputs = || Inputs { grad_output: values(&data) };
        let target = TargetSpec::host(2);
        let (walks, copies) =
            (plan(&problem, &target, &LIMITED).unwrap(), plan(&problem, &target, &PlanOptions::default()).unwrap());
        assert!(walks.stagings().next().is_none() && copies.stagings().count() == 1);
        let mut want = output(problem.slot(Tensor::GradInput));
        run(&walks, Level::detect(), inputs(), Outputs { grad_input: values_mut(&mut want) }, &mut []).unwrap();
        let mut workspace = vec![0x5a; copies.workspace_bytes()];
        let mut got = output(problem.slot(Tensor::GradInput));
        let outputs = Outputs { grad_input: values_mut(&mut got) };
        run_parallel(&copies, Level::detect(), &Threads(2), inputs(), outputs, &mut workspace).unwrap();
        assert_eq!(got.bytes(), want.bytes(), "{dtype}");

        // On one thread, in a workspace without the copy.
        workspace.fill(0x5a);
        let mut got = output(problem.slot(Tensor::GradInput));
        let outputs = Outputs { grad_input: values_mut(&mut got) };
        run(&copies, Level::detect(), inputs(), outputs, &mut workspace).unwrap();
        assert_eq!(got.bytes(), want.bytes(), "{dtype} on one thread");

        let mut got = output(problem.slot(Tensor::GradInput));
        let staging = copies.stagings().next().expect("the copy pays");
        let copy = copy_by_shares(&staging, |share, copy| stage_share(&copies, 0, share, inputs(), copy).unwrap());
        for share in (0..copies.block_dim()).rev() {
            let outputs = Outputs { grad_input: elements(&mut got, &copies.share_range(1, share)) };
            let inputs = Inputs { grad_output: values(&copy) };
            run_share(&copies, Level::detect(), 1, share, inputs, outputs).unwrap();
        }
        assert_eq!(got.bytes(), want.bytes(), "{dtype} by shares");
    }
}

/// Unpooling with `grad_output` and `indices` copied, one of them, or none; also with an index outside of its plane.
#[test]
fn max_unpool() {
    use max_unpool2d_backward::{Inputs, Outputs, run_parallel, run_share, stage_share};
    use ubtile_tiling::max_unpool2d_backward::plan;
    let dtypes = [
        (Dtype::F16, Dtype::F16, Dtype::I32),
        (Dtype::F32, Dtype::F32, Dtype::I64),
        (Dtype::I32, Dtype::I32, Dtype::I32),
        (Dtype::U8, Dtype::U8, Dtype::I64),
        (Dtype::Bool, Dtype::Bf16, Dtype::I32),
        (Dtype::I16, Dtype::F64, Dtype::I64),
    ];
    for (((dtype, out_dtype, index_dtype), inputs), fill) in dtypes
        .into_iter()
        .flat_map(|d| FAR.map(|l| (d, l)))
        .flat_map(|case| [IndexFill::Duplicates, IndexFill::OutOfRange].map(|fill| (case, fill)))
    {
        // Channels enough for bytes to lie far apart; rows and columns beyond a block; no rows that are one, which kernels walk.
        let (h, w, out_h, out_w, outputs) = (18, 33, 35, 37, Layout::Pitched);
        let sizes = MaxUnpool { dtype, out_dtype, index_dtype, n: 2, c: 17, h, w, out_h, out_w, inputs, outputs };
        let problem = sizes.problem();
        let data = max_unpool_inputs(&problem, Fill::Specials, fill, &mut Rng::new(5));
        let inputs = || Inputs { grad_output: values(&data.grad_output), indices: values(&data.indices) };
        let limited = |workspace_limit| {
            plan(&problem, &TargetSpec::host(2), &PlanOptions { workspace_limit, local_bytes: None }).unwrap()
        };
        let all = limited(None);
        let (one, walks) = (limited(Some(all.workspace_bytes() - 1)), limited(Some(0)));
        let copied = [&all, &one, &walks].map(|plan| plan.stagings().map(|s| s.slot.tensor).collect::<Vec<_>>());
        assert_eq!(copied, [vec![Tensor::GradOutput, Tensor::Indices], vec![Tensor::GradOutput], vec![]]);
        let paid = [&all, &one, &walks].map(|plan| plan.prices().map(|price| (price.paid, price.unlimited)).next());
        assert_eq!(paid, [Some((0, 0)), Some((1, 0)), Some((2, 0))]);
        assert_eq!(walks.workspace_bytes(), 0);

        let run = |plan: &ubtile_tiling::max_unpool2d_backward::Plan, level| {
            let mut got = output(problem.slot(Tensor::Out));
            let mut workspace = vec![0x5a; plan.workspace_bytes()];
            let outputs = Outputs { out: values_mut(&mut got) };
            (run_parallel(plan, level, &Threads(2), inputs(), outputs, &mut workspace), got.bytes().to_vec())
        };
        let want = run(&walks, Level::detect());
        assert_eq!(want.0.is_err(), fill == IndexFill::OutOfRange);
        for (level, plan) in Level::available().flat_map(|level| [(level, &all), (level, &one)]) {
            assert!(run(plan, level) == want, "{dtype} to {out_dtype} {level} {plan:?}");
        }

        let copies: Vec<_> = all
            .stagings()
            .enumerate()
            .map(|(phase, staging)| {
                copy_by_shares(&staging, |share, copy| stage_share(&all, phase, share, inputs(), copy).unwrap())
            })
            .collect();
        let mut got = output(problem.slot(Tensor::Out));
        let copied = Inputs { grad_output: values(&copies[0]), indices: values(&copies[1]) };
        let mut result = Ok(());
        for share in 0..all.block_dim() {
            let outputs = Outputs { out: elements(&mut got, &all.share_range(2, share)) };
            result = result.and(run_share(&all, Level::detect(), 2, share, copied, outputs));
        }
        assert!((result, got.bytes().to_vec()) == want, "{dtype} to {out_dtype} by shares");
    }
}

/// A few picks from many cells are made one by one; a tensor of one column has no far ones.
#[test]
fn max_unpool_copies_what_is_picked_from() {
    use ubtile_tiling::max_unpool2d_backward::plan;
    for (h, w, out, copied) in [
        (8, 8, 16, vec![Tensor::GradOutput, Tensor::Indices]),
        (8, 8, 22, vec![Tensor::GradOutput, Tensor::Indices]),
        (8, 8, 24, vec![]),
        (1, 1, 3, vec![]),
        (64, 1, 16, vec![Tensor::GradOutput]),
    ] {
        let (inputs, outputs) = (Layout::ChannelsLast, Layout::Pitched);
        let sizes = MaxUnpool { c: 9, h, w, out_h: out, out_w: out, inputs, outputs, ..Default::default() };
        let plan = plan(&sizes.problem(), &TargetSpec::host(2), &PlanOptions::default()).unwrap();
        assert_eq!(plan.stagings().map(|s| s.slot.tensor).collect::<Vec<_>>(), copied, "{h} x {w} of {out} x {out}");
    }
}

/// Grid sampling of every route, with `grad_output` and `input` copied, one of them, or none.
#[test]
fn grid_sampler() {
    use grid_sampler_2d_backward::{Inputs, Outputs, run_parallel};
    use ubtile_tiling::grid_sampler_2d_backward::plan;
    let bilinear = Interpolation::Bilinear;
    let cases = [
        (2, 3, bilinear, Route::PointLanes),
        (1, 3, bilinear, Route::PointBands),
        (2, 3, Interpolation::Nearest, Route::PointLanes),
        (1, 3, Interpolation::Nearest, Route::PointBands),
        (2, 9, bilinear, Route::Images),
        (2, 9, Interpolation::Bicubic, Route::Images),
        (1, 67, bilinear, Route::Blocks),
        (1, 9, bilinear, Route::Bands),
        (1, 9, Interpolation::Nearest, Route::Bands),
    ];
    for ((n, c, interpolation, route), dtype) in
        cases.into_iter().flat_map(|case| [Dtype::F16, Dtype::Bf16, Dtype::F32, Dtype::F64].map(|d| (case, d)))
    {
        // Rows of more than a block of columns; planes of numbers that are not widened must be large.
        let large = dtype.size() > 2;
        if large && (n, c) != (2, 3) && c != 9 {
            continue;
        }
        let (hi, wi, ho, wo) =
            if large { (17, 32_000 / dtype.size(), 16, 33_000 / dtype.size()) } else { (18, 35, 17, 37) };
        let inputs = Layout::Transposed;
        let spec = GridSampler { dtype, n, c, hi, wi, ho, wo, interpolation, inputs, ..Default::default() };
        let problem = spec.problem();
        let data = grid_sampler_inputs(&problem, Fill::Specials, Coordinates::Smooth, &mut Rng::new(6));
        let inputs =
            || Inputs { grad_output: values(&data.grad_output), input: values(&data.input), grid: values(&data.grid) };
        let host = TargetSpec::host(2);
        let without_caches =
            TargetSpec { capabilities: ubtile_tiling::Capabilities { caches: false, ..host.capabilities }, ..host };
        let limited = |workspace_limit| PlanOptions { workspace_limit, local_bytes: None };
        let walks = plan(&problem, &without_caches, &limited(None)).unwrap();
        let all = plan(&problem, &host, &limited(None)).unwrap();
        assert_eq!((walks.route(), all.route()), (route, route));
        let read: &[_] = if interpolation == Interpolation::Nearest {
            &[Tensor::GradOutput]
        } else {
            &[Tensor::GradOutput, Tensor::Input]
        };
        let copied = |plan: &GridSamplerPlan| plan.stagings().map(|staging| staging.slot.tensor).collect::<Vec<_>>();
        let price = |plan: &GridSamplerPlan| {
            plan.prices().find(|price| price.name == "strided_passes").map(|price| (price.paid, price.unlimited))
        };
        assert_eq!((copied(&walks), price(&walks)), (vec![], None));
        assert_eq!((copied(&all), price(&all)), (read.to_vec(), Some((0, 0))));
        // A byte less than both need is enough for one, and what the route alone needs for none; but side by side, points of a
        // strided F32 or F64 input need its planes packed anyway.
        let one = plan(&problem, &host, &limited(Some(all.workspace_bytes() - 1))).unwrap();
        assert_eq!((copied(&one).len(), price(&one)), (read.len() - 1, Some((1, 0))));
        let kept =
            if large && route == Route::PointLanes && interpolation == bilinear { vec![Tensor::Input] } else { vec![] };
        let none = plan(&problem, &host, &limited(Some(walks.workspace_bytes()))).unwrap();
        let missing = read.len() - kept.len();
        assert_eq!((copied(&none), price(&none), none.route()), (kept, Some((missing, 0)), route));

        let outputs = || [Tensor::InputGrad, Tensor::GridGrad].map(|tensor| output(problem.slot(tensor)));
        let run = |plan: &GridSamplerPlan, level| {
            let mut got = outputs();
            let [input_grad, grid_grad] = &mut got;
            let to = Outputs { input_grad: values_mut(input_grad), grid_grad: values_mut(grid_grad) };
            let mut workspace = vec![0x5a; plan.workspace_bytes()];
            run_parallel(plan, level, &Threads(2), inputs(), to, &mut workspace).unwrap();
            got.map(|data| data.bytes().to_vec())
        };
        let want = run(&walks, Level::detect());
        for level in Level::available() {
            for plan in [&all, &one, &none] {
                assert!(run(plan, level) == want, "{dtype} {level} {plan:?}");
            }
        }
        let mut got = outputs();
        grid_sampler_by_shares(&all, &inputs(), &mut got);
        assert!(got.map(|data| data.bytes().to_vec()) == want, "{dtype} by shares of {all:?}");

        let [input_grad, grid_grad] = &mut outputs();
        let to = Outputs { input_grad: values_mut(input_grad), grid_grad: values_mut(grid_grad) };
        let mut workspace = vec![0; all.workspace_bytes() - 1];
        let error = run_parallel(&all, Level::detect(), &Threads(2), inputs(), to, &mut workspace);
        assert_eq!(error, Err(RunError::Workspace { got: workspace.len(), want: all.workspace_bytes() }));
    }
}

/// Pixels whose channels lie side by side need no copy where that is what the route is after, however far apart they are.
#[test]
fn grid_sampler_takes_channels_side_by_side_as_they_are() {
    use ubtile_tiling::grid_sampler_2d_backward::plan;
    let dtype = Dtype::F16;
    let spec = GridSampler { dtype, c: 9, hi: 18, wi: 35, inputs: Layout::ChannelsLast, ..Default::default() };
    let stagings = |vector_bytes| {
        let target = TargetSpec { vector_bytes, ..TargetSpec::host(2) };
        plan(&spec.problem(), &target, &PlanOptions::default()).unwrap().stagings().count()
    };
    assert_eq!((stagings(32), stagings(4)), (0, 2), "channels last, and in place");
}

/// Computes each phase share by share, the last one first, in a workspace at an aligned address.
fn grid_sampler_by_shares(
    plan: &GridSamplerPlan,
    inputs: &grid_sampler_2d_backward::Inputs<'_>,
    [input_grad, grid_grad]: &mut [Data; 2],
) {
    use grid_sampler_2d_backward::{Inputs, Outputs, ShareMemory, run_share, stage_share};
    let copies: Vec<_> = plan
        .stagings()
        .enumerate()
        .map(|(phase, staging)| {
            copy_by_shares(&staging, |share, copy| stage_share(plan, phase, share, *inputs, copy).unwrap())
        })
        .collect();
    let inputs = match &copies[..] {
        [grad_output, input] => Inputs { grad_output: values(grad_output), input: values(input), ..*inputs },
        [grad_output] => Inputs { grad_output: values(grad_output), ..*inputs },
        _ => unreachable!("no plan copies the grid"),
    };
    let mut workspace = vec![0x5au8; plan.workspace_bytes()];
    for (phase, shares) in plan.phases().map(|phase| phase.shares).enumerate().skip(plan.stagings().count()) {
        for share in (0..shares).rev() {
            let parts = plan.share_workspace(phase, share);
            let mut aligned = [&parts.scratch, &parts.write, &parts.read].map(|part| {
                let mut words = vec![[0u64; ALIGN / 8]; part.len().div_ceil(ALIGN)];
                bytemuck::cast_slice_mut(&mut words)[..part.len()].copy_from_slice(&workspace[part.clone()]);
                words
            });
            let [scratch, write, read] = aligned.each_mut().map(|words| bytemuck::cast_slice_mut::<_, u8>(words));
            let memory = ShareMemory { scratch, write, read };
            let outputs = Outputs { input_grad: values_mut(input_grad), grid_grad: values_mut(grid_grad) };
            let outputs = outputs.share(&plan.share_range(phase, share));
            run_share(plan, Level::detect(), phase, share, inputs, outputs, memory).unwrap();
            let length = parts.write.len();
            workspace[parts.write].copy_from_slice(&bytemuck::cast_slice(&aligned[1])[..length]);
        }
    }
}

/// Some elements of a tensor.
fn elements<'a>(data: &'a mut Data, range: &std::ops::Range<usize>) -> ubtile_kernels::ValuesMut<'a> {
    let (dtype, size) = (data.dtype(), data.dtype().size());
    let bytes = &mut data.bytes_mut()[range.start * size..range.end * size];
    ubtile_kernels::ValuesMut::from_bytes(dtype, bytes).unwrap()
}

/// Small planes of numbers that are not widened are walked as fast as they are copied.
#[test]
fn grid_sampler_copies_large_planes() {
    use ubtile_tiling::grid_sampler_2d_backward::plan;
    for (dtype, wi, copied) in [(Dtype::F32, 255, 0), (Dtype::F32, 256, 1), (Dtype::F64, 128, 1), (Dtype::Bf16, 9, 1)] {
        // Columns of a single row lie side by side, so `grad_output` is no matter.
        let (ho, wo, inputs) = (1, 65, Layout::Transposed);
        let spec = GridSampler { dtype, c: 9, hi: 16, wi, ho, wo, inputs, ..Default::default() };
        let plan = plan(&spec.problem(), &TargetSpec::host(1), &PlanOptions::default()).unwrap();
        assert_eq!(plan.stagings().count(), copied, "{dtype} {wi}");
    }
}

/// No buffer is written where another one is too short.
#[test]
fn all_lengths_come_before_copies() {
    use max_unpool2d_backward as unpool;
    use replication_pad2d_backward as pad;
    let (target, options, rng) = (TargetSpec::host(1), PlanOptions::default(), &mut Rng::new(11));
    let clean = |workspace: &[u8]| workspace.iter().all(|byte| *byte == 0x5a);

    let sizes = ReplicationPad { n: 4, c: 5, h: 20, w: 20, inputs: Layout::Transposed, ..Default::default() };
    let problem = sizes.problem();
    let plan = ubtile_tiling::replication_pad2d_backward::plan(&problem, &target, &options).unwrap();
    assert!(plan.stagings().next().is_some());
    let data = replication_pad_inputs(&problem, Fill::Uniform, rng);
    let mut workspace = vec![0x5a; plan.workspace_bytes()];
    let error = pad::run(
        &plan,
        Level::detect(),
        pad::Inputs { grad_output: values(&data) },
        pad::Outputs { grad_input: ubtile_kernels::ValuesMut::F32(&mut []) },
        &mut workspace,
    );
    assert_eq!(error, Err(RunError::Length { tensor: Tensor::GradInput, got: 0, want: 8000 }));
    assert!(clean(&workspace));

    let sizes =
        MaxUnpool { n: 4, c: 5, h: 20, w: 20, out_h: 40, out_w: 40, inputs: Layout::Transposed, ..Default::default() };
    let problem = sizes.problem();
    let plan = ubtile_tiling::max_unpool2d_backward::plan(&problem, &target, &options).unwrap();
    assert!(plan.stagings().next().is_some());
    let data = max_unpool_inputs(&problem, Fill::Uniform, IndexFill::Duplicates, rng);
    let mut workspace = vec![0x5a; plan.workspace_bytes()];
    let error = unpool::run(
        &plan,
        Level::detect(),
        unpool::Inputs { grad_output: values(&data.grad_output), indices: values(&data.indices) },
        unpool::Outputs { out: ubtile_kernels::ValuesMut::F32(&mut []) },
        &mut workspace,
    );
    assert_eq!(error, Err(RunError::Length { tensor: Tensor::Out, got: 0, want: 8000 }));
    assert!(clean(&workspace));
}
