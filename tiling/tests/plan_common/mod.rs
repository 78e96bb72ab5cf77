//! Small problems of any operator, and their plans.

use proptest::prelude::*;
use ubtile_testkit::strategies;
use ubtile_tiling::{PlanError, PlanOptions, Problem, TargetSpec, TilingPlan, plan};

/// Small problems of any operator.
pub(crate) fn problems() -> impl Strategy<Value = Problem> {
    prop_oneof![
        strategies::grid_sampler().prop_map(|spec| Problem::GridSampler2dBackward(spec.problem())),
        strategies::max_unpool().prop_map(|spec| Problem::MaxUnpool2dBackward(spec.problem())),
        strategies::replication_pad().prop_map(|spec| Problem::ReplicationPad2dBackward(spec.problem())),
        strategies::im2col().prop_map(|spec| Problem::Im2colBackward(spec.problem())),
    ]
}

/// Those with something to compute, which is less than half of all.
pub(crate) fn computed() -> impl Strategy<Value = Problem> {
    problems().prop_filter("nothing to compute", |problem| problem.early_success().is_none())
}

/// The plan, with more local memory if that of the target does not hold the smallest tile; how much that is must be true.
pub(crate) fn planned(problem: &Problem, target: &TargetSpec, workspace_limit: Option<usize>) -> TilingPlan {
    let options = PlanOptions { workspace_limit, local_bytes: None };
    match plan(problem, target, &options) {
        Err(PlanError::LocalBytes { got, want }) => {
            assert!(got == target.local_bytes && got < want, "{got} of {want}");
            let options = PlanOptions { local_bytes: Some(want), ..options };
            plan(problem, target, &options).expect("the smallest tile fits")
        }
        plan => plan.expect("the sizes are ordinary"),
    }
}

/// All of an operator's tiles: of each phase, of each share.
pub(crate) fn all<'a, T, I: Iterator<Item = T> + 'a>(
    plan: &'a TilingPlan,
    tiles: impl Fn(usize, usize) -> I + 'a,
) -> impl Iterator<Item = T> + 'a {
    let shares = plan.phases().enumerate().flat_map(|(number, phase)| (0..phase.shares).map(move |i| (number, i)));
    shares.flat_map(move |(phase, share)| tiles(phase, share))
}
