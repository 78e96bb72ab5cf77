//! From a problem and the planning options to a plan.

use std::num::NonZeroUsize;

use ubtile_tiling::{
    PlanError, PlanOptions, Problem, TargetSpec, TensorSlot, TilingPlan, Workspace, grid_sampler_2d_backward,
    im2col_backward, max_unpool2d_backward, replication_pad2d_backward,
};

use crate::args::{HOST, PlanningArgs};
use crate::error::Error;

/// Plans a problem for the target that was asked for; the host has `threads` cores.
pub(crate) fn plan(problem: &Problem, args: &PlanningArgs, threads: NonZeroUsize) -> Result<TilingPlan, Error> {
    let known = TargetSpec::from_name(&args.target).filter(|_| args.target != HOST);
    let mut target = known.unwrap_or(TargetSpec::host(threads.get()));
    if let Some(cores) = args.cores {
        target.cores = cores.get();
    }
    let mut options = PlanOptions { workspace_limit: args.workspace_limit, local_bytes: None };
    for setting in &args.set {
        match setting.name.as_str() {
            "local_bytes" => options.local_bytes = Some(setting.value),
            other => return Err(Error::Usage(format!("--set {other}: local_bytes is what can be set"))),
        }
    }
    plan_for(problem, &target, &options).map_err(|e| Error::Unusable(e.to_string()))
}

/// Plans a problem.
pub(crate) fn plan_for(problem: &Problem, target: &TargetSpec, options: &PlanOptions) -> Result<TilingPlan, PlanError> {
    match problem {
        Problem::GridSampler2dBackward(problem) => {
            grid_sampler_2d_backward::plan(problem, target, options).map(TilingPlan::GridSampler2dBackward)
        }
        Problem::MaxUnpool2dBackward(problem) => {
            max_unpool2d_backward::plan(problem, target, options).map(TilingPlan::MaxUnpool2dBackward)
        }
        Problem::ReplicationPad2dBackward(problem) => {
            replication_pad2d_backward::plan(problem, target, options).map(TilingPlan::ReplicationPad2dBackward)
        }
        Problem::Im2colBackward(problem) => {
            im2col_backward::plan(problem, target, options).map(TilingPlan::Im2colBackward)
        }
    }
}

/// What a problem reads and writes, inputs first.
pub(crate) fn tensors(problem: &Problem) -> Vec<TensorSlot> {
    match problem {
        Problem::GridSampler2dBackward(problem) => problem.tensors().collect(),
        Problem::MaxUnpool2dBackward(problem) => problem.tensors().collect(),
        Problem::ReplicationPad2dBackward(problem) => problem.tensors().collect(),
        Problem::Im2colBackward(problem) => problem.tensors().collect(),
    }
}

/// What plans of all operators tell of themselves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Summary {
    pub(crate) target: TargetSpec,
    /// Cores used.
    pub(crate) block_dim: usize,
    pub(crate) workspace: Workspace,
}

/// What the plan tells of itself, whichever operator it is of.
pub(crate) fn summary(plan: &TilingPlan) -> Summary {
    let (target, block_dim, workspace) = match plan {
        TilingPlan::GridSampler2dBackward(plan) => (plan.target(), plan.block_dim(), plan.workspace()),
        TilingPlan::MaxUnpool2dBackward(plan) => (plan.target(), plan.block_dim(), plan.workspace()),
        TilingPlan::ReplicationPad2dBackward(plan) => (plan.target(), plan.block_dim(), plan.workspace()),
        TilingPlan::Im2colBackward(plan) => (plan.target(), plan.block_dim(), plan.workspace()),
    };
    Summary { target: *target, block_dim, workspace: *workspace }
}
