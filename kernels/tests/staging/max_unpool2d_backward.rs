//! Copies of inputs of MaxUnpool2dBackward.

use ubtile_kernels::max_unpool2d_backward::{Inputs, Outputs, run, run_parallel, run_share, stage_share};
use ubtile_kernels::{Level, RunError, ValuesMut};
use ubtile_testkit::problems::{Layout, MaxUnpool, max_unpool_inputs, output};
use ubtile_testkit::{Fill, IndexFill, Rng};
use ubtile_tiling::max_unpool2d_backward::{Plan, plan};
use ubtile_tiling::{Dtype, PlanOptions, TargetSpec, Tensor};

use crate::common::{Threads, values, values_mut};
use crate::{FAR, copy_by_shares, elements};

/// Unpooling with `grad_output` and `indices` copied, one of them, or none; also with an index outside of its plane.
#[test]
fn copies_change_no_bit() {
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

        let run = |plan: &Plan, level| {
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
fn what_is_picked_from_is_copied() {
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

/// No buffer is written where another one is too short.
#[test]
fn all_lengths_come_before_copies() {
    let sizes =
        MaxUnpool { n: 4, c: 5, h: 20, w: 20, out_h: 40, out_w: 40, inputs: Layout::Transposed, ..Default::default() };
    let problem = sizes.problem();
    let plan = plan(&problem, &TargetSpec::host(1), &PlanOptions::default()).unwrap();
    assert!(plan.stagings().next().is_some());
    let data = max_unpool_inputs(&problem, Fill::Uniform, IndexFill::Duplicates, &mut Rng::new(11));
    let mut workspace = vec![0x5a; plan.workspace_bytes()];
    let error = run(
        &plan,
        Level::detect(),
        Inputs { grad_output: values(&data.grad_output), indices: values(&data.indices) },
        Outputs { out: ValuesMut::F32(&mut []) },
        &mut workspace,
    );
    assert_eq!(error, Err(RunError::Length { tensor: Tensor::Out, got: 0, want: 8000 }));
    assert!(workspace.iter().all(|byte| *byte == 0x5a));
}
