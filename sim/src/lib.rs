//! A model of the Ascend AI Core.
//!
//! What a product is stands in data files, not in code: see [`product`]. What its cores run is a [`program`], and [`text`] is how people
//! write it; [`exec`] computes its values, and [`sanitize`](mod@sanitize) looks for what is wrong with it. What a call of the vendor's
//! library becomes on a product, and the workspace that takes: [`aclnn`].
//! What people's other programs open of a run: [`report`].
#![forbid(unsafe_code)]

pub mod aclnn;
pub mod clock;
pub mod exec;
pub mod generate;
pub mod lower;
pub mod product;
pub mod program;
pub mod report;
pub mod sanitize;
pub mod text;
