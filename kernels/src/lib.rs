//! SIMD kernels of four Ascend backward operators, for anything from a Cortex-M to a server.
//!
//! A plan of [`ubtile_tiling`] says what to compute and how it is cut; `run` of an operator's module computes it, `run_share`
//! one share of a phase for callers with their own threads, `run_tile` one tile on tile-local buffers for callers that move
//! data themselves. The result depends on the problem and the input bits alone (`docs/numerics.md`), not on the level, the
//! number of threads, the tile or the workspace.
//!
//! `no_std`, no allocation, no panic, no globals. `unsafe` is denied except in `simd/x86`.
#![cfg_attr(not(test), no_std)]

mod cast;
mod element;
mod error;
mod level;
mod parallel;
mod simd;
mod values;

pub mod grid_sampler_2d_backward;
pub mod im2col_backward;
pub mod max_unpool2d_backward;
pub mod replication_pad2d_backward;

pub use error::RunError;
pub use level::Level;
pub use parallel::{Parallel, Serial};
pub use values::{Values, ValuesMut};

/// The examples of the README, so that they are tested.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
