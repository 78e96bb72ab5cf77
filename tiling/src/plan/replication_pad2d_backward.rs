//! Native plan of ReplicationPad2dBackward.

use super::Common;
use crate::replication_pad2d_backward::Problem;

/// A native plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    problem: Problem,
    common: Common,
}
