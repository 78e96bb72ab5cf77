//! Native plan of GridSampler2DBackward.

use super::Common;
use crate::grid_sampler_2d_backward::Problem;

/// A native plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    problem: Problem,
    common: Common,
}
