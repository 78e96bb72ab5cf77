//! Looks for what is wrong with a program.
//!
//! [`sanitize`] runs a program once, with data or without, and finds what happened and, of flags and races, also what could have happened
//! had the pipes been faster or slower: a clock for each pipe says which steps are known to be done, and two steps that touch the same
//! bytes without such an order are a race, whichever came first in the run.
//!
//! * A step comes after all that the scalar unit did before it handed it out.
//! * `wait_flag` comes after `set_flag`, and that after all that its pipe got before.
//! * A barrier of all pipes and `sync_all` come after everything, `sync_all` of all cores.
//! * Instructions of one pipe begin in order. That the one before is done needs a barrier, or a flag there and back; without, it is a
//!   warning ([`Kind::NoBarrier`]): values here are those of steps one after the other.
//!
//! Without data, a read finds what the program assumes, the last value and the first before others, and a gather may read its table
//! anywhere.

mod by_data;
mod clock;
mod finding;
mod flags;
mod memory;
mod names;
mod report;
mod shadow;
mod state;
mod watch;

use crate::exec::Global;
use crate::program::{Fault, Program};

pub use finding::{Finding, Kind};

/// Runs a program and finds what is wrong: with data, or without, where it goes by what the program assumes.
///
/// Each finding stands for one kind of trouble of one instruction; errors come before warnings, otherwise they are in the order in which
/// they happened first.
///
/// # Errors
/// Without data: a read states no assumption.
pub fn sanitize(program: &Program, data: Option<Global>) -> Result<Vec<Finding>, Fault> {
    watch::Watch::new(program, &names::Names::new(program), data).run()
}
