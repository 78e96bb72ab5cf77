//! Values: what the steps of a program do to memory.
//!
//! [`apply`] carries out one step. [`Run`] carries out a program: in program order as far as flags allow ([`Run::finish`]), or in any
//! order that its pipes could take, one step of one pipe at a time ([`Run::ready`], [`Run::advance`]), or with steps that wait
//! ([`Run::finish_with`]). A step happens at once: the order of steps is all that differs between two runs.
//!
//! Numbers are as everywhere in this project: f16 and bf16 lanes compute in f32 and round once to nearest even, a NaN that arithmetic
//! makes is the canonical one, casts and copies keep the payload of a NaN, whole numbers wrap, casts to whole numbers saturate and make
//! NaN 0. The larger of a number and a NaN is the number. Within a repeat, an instruction reads before it writes.
//!
//! Memory that nobody has written is filled with [`UNDEFINED`], which is a NaN and -1, so that a result that depends on it shows.

mod apply;
mod assumed;
mod cast;
mod delays;
mod float;
mod halt;
mod integer;
mod lanes;
mod memory;
mod movement;
mod permute;
mod reduce;
mod run;

pub use apply::apply;
pub use delays::{Delay, Steps};
pub use halt::Halt;
pub use memory::{Global, Memory, UNDEFINED};
pub use run::{Progress, Run};
