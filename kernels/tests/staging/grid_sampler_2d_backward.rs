//! Copies of inputs of GridSampler2DBackward.

use ubtile_kernels::grid_sampler_2d_backward::{Inputs, Outputs, ShareMemory, run_parallel, run_share, stage_share};
use ubtile_kernels::{Level, RunError};
use ubtile_testkit::problems::{GridSampler, Layout, grid_sampler_inputs, output};
use ubtile_testkit::{Coordinates, Data, Fill, Rng};
use ubtile_tiling::grid_sampler_2d_backward::{Interpolation, Plan, Route, plan};
use ubtile_tiling::{ALIGN, Capabilities, Dtype, PlanOptions, TargetSpec, Tensor};

use crate::common::{Threads, values, values_mut};
use crate::copy_by_shares;

/// Grid sampling of every route, with `grad_output` and `input` copied, one of them, or none.
#[test]
fn copies_change_no_bit() {
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
        let without_caches = TargetSpec { capabilities: Capabilities { caches: false, ..host.capabilities }, ..host };
        let limited = |workspace_limit| PlanOptions { workspace_limit, local_bytes: None };
        let walks = plan(&problem, &without_caches, &limited(None)).unwrap();
        let all = plan(&problem, &host, &limited(None)).unwrap();
        assert_eq!((walks.route(), all.route()), (route, route));
        let read: &[_] = if interpolation == Interpolation::Nearest {
            &[Tensor::GradOutput]
        } else {
            &[Tensor::GradOutput, Tensor::Input]
        };
        let copied = |plan: &Plan| plan.stagings().map(|staging| staging.slot.tensor).collect::<Vec<_>>();
        let price = |plan: &Plan| {
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
        let run = |plan: &Plan, level| {
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
        by_shares(&all, &inputs(), &mut got);
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
fn channels_side_by_side_are_taken_as_they_are() {
    let dtype = Dtype::F16;
    let spec = GridSampler { dtype, c: 9, hi: 18, wi: 35, inputs: Layout::ChannelsLast, ..Default::default() };
    let stagings = |vector_bytes| {
        let target = TargetSpec { vector_bytes, ..TargetSpec::host(2) };
        plan(&spec.problem(), &target, &PlanOptions::default()).unwrap().stagings().count()
    };
    assert_eq!((stagings(32), stagings(4)), (0, 2), "channels last, and in place");
}

/// Small planes of numbers that are not widened are walked as fast as they are copied.
#[test]
fn large_planes_are_copied() {
    for (dtype, wi, copied) in [(Dtype::F32, 255, 0), (Dtype::F32, 256, 1), (Dtype::F64, 128, 1), (Dtype::Bf16, 9, 1)] {
        // Columns of a single row lie side by side, so `grad_output` is no matter.
        let (ho, wo, inputs) = (1, 65, Layout::Transposed);
        let spec = GridSampler { dtype, c: 9, hi: 16, wi, ho, wo, inputs, ..Default::default() };
        let plan = plan(&spec.problem(), &TargetSpec::host(1), &PlanOptions::default()).unwrap();
        assert_eq!(plan.stagings().count(), copied, "{dtype} {wi}");
    }
}

/// Computes each phase share by share, the last one first, in a workspace at an aligned address.
fn by_shares(plan: &Plan, inputs: &Inputs<'_>, [input_grad, grid_grad]: &mut [Data; 2]) {
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
