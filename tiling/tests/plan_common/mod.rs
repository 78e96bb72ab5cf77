//! What the plans' tests share: small problems, machines, and plans of the ones for the others.

use proptest::prelude::*;
use proptest::sample::select;
use ubtile_testkit::strategies;
use ubtile_tiling::{Capabilities, PlanError, PlanOptions, Problem, TargetSpec, TilingPlan, plan};

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

pub(crate) fn targets() -> impl Strategy<Value = TargetSpec> {
    let bytes = prop_oneof![0..64usize, 64..1024usize, 1024..16384usize, Just(184 * 1024), Just(1 << 20)];
    let machine = (1..40usize, bytes, select(&[1usize, 4, 32, 64, 512]), select(&[4usize, 16, 32, 256]));
    (machine, any::<bool>()).prop_map(|((cores, local_bytes, block_bytes, vector_bytes), unaligned_copy)| TargetSpec {
        cores,
        local_bytes,
        block_bytes,
        vector_bytes,
        capabilities: Capabilities { unaligned_copy, ..Capabilities::HOST },
    })
}

pub(crate) fn limits() -> impl Strategy<Value = Option<usize>> {
    prop_oneof![Just(None), Just(Some(0)), (0..100_000usize).prop_map(Some)]
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

/// More cases than usual, since small problems are planned in no time.
pub(crate) fn config() -> ProptestConfig {
    let default = ProptestConfig::default();
    ProptestConfig { cases: default.cases.max(1500), failure_persistence: None, ..default }
}
