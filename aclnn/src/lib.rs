//! The parts of CANN's C API that clients of four Ascend backward operators use, for ordinary hosts.
//!
//! An unmodified C or C++ program for an Ascend compiles against `include/`, links the shared object under the vendor's library
//! names, and runs: the checks and statuses are the vendor's, the kernels are ubtile's. `docs/aclnn.md` tells clients how.
//!
//! One way through: `api` has the exported symbols, each a line that names its parameters; handles become objects in `registry`
//! and `objects`; phase 1 of an operator (`operators`) checks and plans, `executor` keeps the plan and puts it on a `stream`; `run`
//! computes on the `memory` that the tensors were bound to. Nothing here is for Rust programs, which use `ubtile-kernels`.
//!
//! `unsafe` is denied except in `monitor` (a lock of POSIX threads), `client` (what clients hand in by address), `memory` (device
//! memory), `shared` (shares that sanitizers understand), and in `api` for the attribute that exports a symbol.
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod api;
mod argument;
#[allow(unsafe_code)]
mod client;
mod context;
mod datatype;
mod device;
mod event;
mod executor;
mod failure;
#[allow(unsafe_code)]
mod memory;
#[allow(unsafe_code)]
mod monitor;
mod objects;
mod operators;
mod profile;
mod registry;
mod reports;
mod run;
#[allow(unsafe_code)]
mod shared;
mod soc;
mod stream;
mod threads;
