//! A model of the Ascend AI Core.
//!
//! What a product is stands in data files, not in code: see [`product`]. What a call of the vendor's library becomes on one, and
//! the workspace that takes: [`aclnn`].
#![forbid(unsafe_code)]

pub mod aclnn;
pub mod product;
