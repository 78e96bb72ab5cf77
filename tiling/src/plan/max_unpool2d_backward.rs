//! Native plan of MaxUnpool2dBackward.

use super::Common;
use crate::max_unpool2d_backward::Problem;

/// A native plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    problem: Problem,
    common: Common,
}
