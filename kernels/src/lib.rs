//! SIMD kernels of four Ascend backward operators, for anything from a Cortex-M to a server.
//!
//! A plan of [`ubtile_tiling`] says what to compute and how it is cut; `run` of an operator's module computes it, `run_share`
//! one share of a phase for callers with their own threads, `run_tile` one tile on tile-local buffers for callers that move
//! data themselves. The result depends on the problem and the input bits alone (`docs/numerics.md`), not on the level, the
//! number of threads, the tile or the workspace.
//!
//! Features say what is in a build: each operator, the dtypes, and parts that firmware can do without ([`Feature`], `whole-blocks`); all by
//! default.
//!
//! `no_std`, no allocation, no panic, no globals. `unsafe` is denied except in `simd/x86`.
#![cfg_attr(not(test), no_std)]
// What an operator shares with another that is left out has no other use.
#![cfg_attr(
    not(all(
        feature = "grid-sampler-2d-backward",
        feature = "max-unpool2d-backward",
        feature = "replication-pad2d-backward",
        feature = "im2col-backward",
    )),
    allow(dead_code, unused_imports)
)]

mod bits;
mod built;
mod cast;
mod element;
mod error;
mod level;
mod parallel;
mod part;
mod simd;
mod stage;
mod values;

#[cfg(feature = "grid-sampler-2d-backward")]
pub mod grid_sampler_2d_backward;
#[cfg(feature = "im2col-backward")]
pub mod im2col_backward;
#[cfg(feature = "max-unpool2d-backward")]
pub mod max_unpool2d_backward;
#[cfg(feature = "replication-pad2d-backward")]
pub mod replication_pad2d_backward;

pub use built::Feature;
pub use error::RunError;
pub use level::Level;
pub use parallel::{Parallel, Serial};
pub use values::{Values, ValuesMut};

/// The examples of the README, so that they are tested.
#[cfg(all(doctest, feature = "f32", feature = "im2col-backward"))]
#[doc = include_str!("../../README.md")]
struct Readme;
