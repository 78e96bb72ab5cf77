//! Native plan of Im2colBackward.

use super::Common;
use crate::im2col_backward::Problem;

/// A native plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    problem: Problem,
    common: Common,
}
