//! Copies of inputs without gaps: what is left to compute on them, and for whom they pay.

mod plan_common;
mod plan_machines;

use plan_common::{all, computed, planned, problems};
use plan_machines::{config, limits, targets};
use proptest::prelude::*;
use proptest::sample::select;
use ubtile_testkit::problems::{GridSampler, Im2col, Layout, MaxUnpool, ReplicationPad};
use ubtile_tiling::{
    Bound, Dtype, Phase, Problem, Region, Staging, TargetSpec, Tensor, TensorSlot, TilingPlan, Workspace,
};

/// What an operator's own plan has to say of its copies, and the plan that is left on them.
fn copies(plan: &TilingPlan) -> (Vec<Staging>, TilingPlan) {
    match plan {
        TilingPlan::GridSampler2dBackward(p) => {
            (p.stagings().collect(), TilingPlan::GridSampler2dBackward(p.on_copies()))
        }
        TilingPlan::MaxUnpool2dBackward(p) => (p.stagings().collect(), TilingPlan::MaxUnpool2dBackward(p.on_copies())),
        TilingPlan::ReplicationPad2dBackward(p) => {
            (p.stagings().collect(), TilingPlan::ReplicationPad2dBackward(p.on_copies()))
        }
        TilingPlan::Im2colBackward(p) => (p.stagings().collect(), TilingPlan::Im2colBackward(p.on_copies())),
    }
}

/// Strides of `[N, C, H, W]` without gaps, whatever other strides the dimensions of one element have.
fn without_gaps(slot: &TensorSlot) -> bool {
    let mut step = 1;
    slot.shape.as_slice().iter().zip(slot.strides.as_slice()).rev().all(|(&size, &stride)| {
        let next = stride == step;
        step *= size;
        next
    })
}

/// Where the regions behind the copies lie if there are no copies.
fn laid_out(regions: &[Region], copies: usize) -> Workspace {
    let mut workspace = Workspace::EMPTY;
    for region in &regions[copies..] {
        workspace.add(region.name, region.bytes, region.first_phase - copies, region.last_phase - copies).unwrap();
    }
    workspace
}

proptest! {
    #![proptest_config(config())]

    /// A copy is a phase of its own and a region that stays; what is left is the same plan without them.
    #[test]
    fn on_copies_the_rest_is_the_same(problem in computed(), target in targets(), limit in limits()) {
        let plan = planned(&problem, &target, limit);
        let (stagings, left) = copies(&plan);
        if stagings.is_empty() {
            return Ok(());
        }
        let (regions, phases) = (plan.workspace().regions(), plan.phases().collect::<Vec<_>>());
        prop_assert!(phases.len() > stagings.len());
        for (number, (staging, &Phase { name, shares })) in stagings.iter().zip(&phases).enumerate() {
            let Staging { slot, region, .. } = staging;
            prop_assert_eq!((name.strip_prefix("stage_"), region.name), (Some(slot.tensor.name()), slot.tensor.name()));
            prop_assert_eq!((*region, staging.shares), (regions[number], shares));
            prop_assert_eq!((region.first_phase, region.last_phase), (number, phases.len() - 1));
            let elements: usize = slot.shape.as_slice().iter().product();
            prop_assert_eq!(region.bytes, (elements * slot.dtype.size()).next_multiple_of(ubtile_tiling::ALIGN));
            prop_assert!(!without_gaps(slot) && left.problem().slot(slot.tensor).is_some_and(|slot| without_gaps(&slot)));
        }
        prop_assert_eq!(copies(&left).0, vec![]);
        prop_assert_eq!(left.block_dim(), plan.block_dim());
        prop_assert_eq!(left.phases().collect::<Vec<_>>(), &phases[stagings.len()..]);
        prop_assert_eq!(left.workspace(), &laid_out(regions, stagings.len()));
        let bytes = |plan: &TilingPlan| all(plan, |phase, share| plan.tile_bytes(phase, share)).collect::<Vec<_>>();
        prop_assert_eq!(bytes(&left), bytes(&plan));
        for slot in problem.tensors().filter(|slot| stagings.iter().all(|staging| staging.slot != *slot)) {
            prop_assert_eq!(left.problem().slot(slot.tensor), Some(slot));
        }
    }

    /// As much workspace as a plan says that it takes is enough for as many shares.
    #[test]
    fn a_plan_fits_into_its_own_workspace(problem in computed(), target in targets()) {
        let plan = planned(&problem, &target, None);
        let same = planned(&problem, &target, Some(plan.workspace_bytes()));
        prop_assert_eq!(same.block_dim(), plan.block_dim());
        prop_assert!(same.workspace_bytes() <= plan.workspace_bytes());
    }

    /// Nothing is copied where there is nothing to compute.
    #[test]
    fn nothing_is_not_copied(problem in problems(), target in targets()) {
        let plan = planned(&problem, &target, None);
        if problem.early_success().is_some() {
            prop_assert_eq!((plan.phases().count(), plan.workspace_bytes()), (1, 0));
        }
    }

    /// Folding reads near columns as fast as a copy does, and so does unpooling; the padding reads none but those side by side, or
    /// pixels whose channels are.
    #[test]
    fn copies_are_made_where_they_pay(
        inputs in select(&Layout::INPUT), outputs in select(&Layout::OUTPUT), (c, w) in (1..5usize, 1..40usize),
        dtype in select(&[Dtype::F16, Dtype::F32, Dtype::F64]), local_bytes in select(&[4096usize, 1 << 20]),
    ) {
        let target = TargetSpec { local_bytes, ..TargetSpec::host(2) };
        let copied = |problem| copies(&planned(&problem, &target, None)).0.into_iter().map(|s| s.slot.tensor).collect::<Vec<_>>();
        let pad = ReplicationPad { dtype, c, h: 6, w, padding: [0; 4], inputs, outputs, ..Default::default() };
        // Columns side by side, or only one, or pixels that are walked.
        let near = match inputs {
            Layout::Spread | Layout::Transposed => false,
            Layout::ChannelsLast => c == 1 || outputs == Layout::ChannelsLast,
            _ => true,
        };
        let wanted = if near || w == 1 { vec![] } else { vec![Tensor::GradOutput] };
        prop_assert_eq!(copied(Problem::ReplicationPad2dBackward(pad.problem())), wanted);

        // Sixteen bytes from column to column, and something else between; pixels are walked where rows of `out` are one, and
        // large numbers are picked one by one.
        let outputs_apart = matches!(outputs, Layout::Pitched | Layout::Transposed);
        let far = |[c, h, w]: [usize; 3], size: usize| match inputs {
            Layout::Transposed => w > 1 && h > 1 && h * size >= 16,
            Layout::ChannelsLast => outputs_apart && w > 1 && c > 1 && c * size >= 16,
            _ => false,
        };
        let unpool = MaxUnpool { dtype, out_dtype: dtype, index_dtype: Dtype::I32, c, h: 6, w, inputs, ..Default::default() };
        let unpool = MaxUnpool { out_h: 6, out_w: w, outputs, ..unpool };
        let of = |tensor, size| Some(tensor).filter(|_| dtype != Dtype::F64 && far([c, 6, w], size));
        let wanted: Vec<_> = of(Tensor::GradOutput, dtype.size()).into_iter().chain(of(Tensor::Indices, 4)).collect();
        prop_assert_eq!(copied(Problem::MaxUnpool2dBackward(unpool.problem())), wanted);

        let fold = Im2col { dtype, out_dtype: dtype, n: 2, c, h: 1, w, kernel: [1, 1], inputs, ..Default::default() };
        // `[N, C kh kw, Lh Lw]`: what lies between columns are rows of the same, whichever way it is transposed.
        let between = matches!(inputs, Layout::Transposed | Layout::ChannelsLast);
        let wanted = if between && w > 1 && c > 1 && c * dtype.size() >= 16 { vec![Tensor::GradOutput] } else { vec![] };
        prop_assert_eq!(copied(Problem::Im2colBackward(fold.problem())), wanted);
    }
}

/// Unpooling copies what caches hold, or planes that rows do not find there; numbers of up to four bytes.
#[test]
fn unpooling_copies_what_pays() {
    let spec = MaxUnpool { h: 64, w: 64, out_h: 128, out_w: 128, inputs: Layout::Transposed, ..Default::default() };
    let large = MaxUnpool { c: 3, h: 512, w: 512, out_h: 1024, out_w: 512, ..spec };
    let copied = |dtype, spec: MaxUnpool| {
        let problem = Problem::MaxUnpool2dBackward(MaxUnpool { dtype, out_dtype: dtype, ..spec }.problem());
        copies(&planned(&problem, &TargetSpec::host(1), None)).0.len()
    };
    let (f32, f64, i64) = (Dtype::F32, Dtype::F64, Dtype::I64);
    // A plane of 64 KiB and its indices of 16 or 32.
    for (dtype, index_dtype, c, wanted) in
        [(f32, Dtype::I32, 153, 2), (f32, Dtype::I32, 154, 0), (f32, i64, 128, 2), (f32, i64, 129, 0), (f64, i64, 2, 0)]
    {
        let got = copied(dtype, MaxUnpool { index_dtype, n: 1, c, ..spec });
        assert_eq!(got, wanted, "{dtype} {index_dtype} of {c} planes");
    }
    for (dtype, out_w, wanted) in [(f32, 512, 2), (f32, 511, 0), (f64, 512, 0)] {
        assert_eq!(copied(dtype, MaxUnpool { out_w, ..large }), wanted, "{dtype} 1024 x {out_w}");
    }
}

/// Unpooling copies where it picks a cell of eight or more, not fewer.
#[test]
fn copies_take_as_long_as_they_save() {
    let spec = MaxUnpool { h: 3, w: 5, inputs: Layout::Transposed, out_h: 12, ..Default::default() };
    for (out_w, copied) in [(10, true), (11, false)] {
        assert_eq!(12 * out_w <= 8 * 15, copied);
        let spec = MaxUnpool { out_w, ..spec };
        let plan = planned(&Problem::MaxUnpool2dBackward(spec.problem()), &TargetSpec::host(1), None);
        assert_eq!(!copies(&plan).0.is_empty(), copied, "{out_w}");
    }
}

/// What more shares take is said without copies, which the plan may have: they come after the shares.
#[test]
fn more_shares_need_no_copies() {
    let spec = GridSampler { dtype: Dtype::F16, n: 1, c: 62, hi: 2, wi: 3, ho: 2, wo: 2, ..Default::default() };
    let spec = GridSampler { output_mask: [true, false], inputs: Layout::Spread, ..spec };
    let (problem, target) = (Problem::GridSampler2dBackward(spec.problem()), TargetSpec::host(2));
    let with = |limit| planned(&problem, &target, Some(limit));
    let least = (0..100_000).find(|&limit| with(limit).block_dim() == 2).expect("enough for two shares");
    let mut copied = 0;
    for limit in 0..least {
        let plan = with(limit);
        let choice = plan.choices().find(|choice| choice.name == "block_dim").expect("every plan has one");
        assert_eq!((choice.value, choice.bound), (1, Bound::WorkspaceLimit), "{limit}");
        assert_eq!((choice.larger.value, choice.larger.needs), (2, least), "{limit}");
        copied += usize::from(!copies(&plan).0.is_empty());
    }
    assert!(copied > 0, "no plan with copies and one share");
}

/// A copy of `input` spares each share one of its own, so shares may fit that would not without it.
#[test]
fn shares_fit_by_the_copy_that_they_read() {
    let spec = GridSampler { n: 3, c: 1, hi: 15, wi: 4096, ho: 40, wo: 100, ..Default::default() };
    let spec = GridSampler { inputs: Layout::Transposed, ..spec };
    let (problem, target) = (Problem::GridSampler2dBackward(spec.problem()), TargetSpec::host(8));
    let plan = planned(&problem, &target, None);
    let least = (0..=plan.workspace_bytes())
        .rev()
        .step_by(64)
        .take_while(|&limit| planned(&problem, &target, Some(limit)).block_dim() == plan.block_dim());
    let least = least.last().expect("its own workspace is enough");
    let fewer = planned(&problem, &target, Some(least - 64));
    let choice = fewer.choices().find(|choice| choice.name == "block_dim").expect("every plan has one");
    assert!(choice.larger.needs <= least && choice.larger.needs > least - 64, "{choice:?}");
}
