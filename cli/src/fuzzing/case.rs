//! What is tried.

use ubtile_kernels::Level;
use ubtile_testkit::{Description, Inputs};
use ubtile_tiling::{PlanOptions, Problem};

/// A problem with its data, and how this project's kernels run it.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) description: Description,
    pub(crate) problem: Problem,
    pub(crate) inputs: Inputs,
    pub(crate) way: Way,
}

/// What a result must not depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Way {
    pub(crate) level: Level,
    /// Cores that the plan is for.
    pub(crate) cores: usize,
    /// Seed of the order in which the shares of a phase run; 0 leaves them in theirs.
    pub(crate) order: u64,
    pub(crate) options: PlanOptions,
}
