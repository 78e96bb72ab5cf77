//! The kernels for C: functions of `include/ubtile.h`, which is made from this crate.
//!
//! An ordinary library, so that it can be tested; `capi/lib` makes the static library of it. All memory is the caller's.
//! `unsafe` is what a C interface is made of: pointers become references in `memory`, everything else is checked.
#![cfg_attr(not(test), no_std)]

mod held;
mod memory;
mod operator;
mod stored;
mod types;

#[cfg(feature = "grid-sampler-2d-backward")]
pub mod grid_sampler_2d_backward;
#[cfg(feature = "im2col-backward")]
pub mod im2col_backward;
#[cfg(feature = "max-unpool2d-backward")]
pub mod max_unpool2d_backward;
#[cfg(feature = "replication-pad2d-backward")]
pub mod replication_pad2d_backward;

pub use types::*;
