//! From a problem and the planning options to a plan.

use std::num::NonZeroUsize;

use ubtile_tiling::{PlanOptions, Problem, TargetSpec, TilingPlan};

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
            "local_bytes" => {
                let bytes = setting.value.parse();
                let bytes = bytes.map_err(|e| Error::Usage(format!("--set local_bytes={}: {e}", setting.value)))?;
                options.local_bytes = Some(bytes);
            }
            other => return Err(Error::Usage(format!("--set {other}: local_bytes is what can be set"))),
        }
    }
    ubtile_tiling::plan(problem, &target, &options).map_err(|e| Error::Unusable(e.to_string()))
}
