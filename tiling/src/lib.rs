//! The contract and the tiling planner of four Ascend backward operators.
//!
//! One way through: a caller fills a `Desc`, [`check`](im2col_backward::check) turns it into a `Problem` that can only be
//! sensible, and [`plan`](im2col_backward::plan) turns that into a `Plan` that owns every decision: phases with a barrier
//! between them, in a phase shares that own disjoint outputs, in a share tiles that run in order. Each operator has a module
//! with those three types; [`Problem`] and [`TilingPlan`] wrap them where code serves all four.
//!
//! `no_std`, no allocation, no `unsafe`, no floats in decisions, no panic.
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

mod contract;
mod dtype;
mod error;
mod operator;
mod plan;
mod product;
mod shape;
mod status;
mod support;
mod target;
mod vendor;
mod workspace;

/// GridSampler2DBackward: contract and plan.
pub mod grid_sampler_2d_backward {
    pub use crate::contract::grid_sampler_2d_backward::*;
    pub use crate::plan::grid_sampler_2d_backward::*;
}
/// Im2colBackward (col2im, fold): contract and plan.
pub mod im2col_backward {
    pub use crate::contract::im2col_backward::*;
    pub use crate::plan::im2col_backward::*;
}
/// MaxUnpool2dBackward: contract and plan.
pub mod max_unpool2d_backward {
    pub use crate::contract::max_unpool2d_backward::*;
    pub use crate::plan::max_unpool2d_backward::*;
}
/// ReplicationPad2dBackward: contract and plan.
pub mod replication_pad2d_backward {
    pub use crate::contract::replication_pad2d_backward::*;
    pub use crate::plan::replication_pad2d_backward::*;
}

pub use contract::{Attribute, EarlySuccess, TensorSlot};
pub use dtype::{Dtype, can_cast};
pub use error::{ContractError, PlanError};
pub use operator::{Operator, Tensor};
pub use plan::{Bound, Choice, Larger, Phase, Price, Problem, Staging, TilingPlan, plan};
pub use product::{Edition, Editions, Product};
pub use shape::{Dims, MAX_RANK, TensorDesc, TooManyDims};
pub use status::Status;
pub use support::{
    Cell, EditionRule, Limit, Measure, Route, Row, Subject, Support, edition_rules, support, support_table,
};
pub use target::{Capabilities, Dtypes, PlanOptions, TargetSpec};
pub use vendor::{
    Change, Field, Neighbour, VendorArch, VendorError, VendorMachine, VendorPlan, vendor_plan, vendor_plan_in,
};
pub use workspace::{ALIGN, Region, Workspace};
