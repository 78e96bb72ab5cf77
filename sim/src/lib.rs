//! A model of the Ascend AI Core.
//!
//! What a product is stands in data files, not in code: see [`product`].
#![forbid(unsafe_code)]

pub mod product;
