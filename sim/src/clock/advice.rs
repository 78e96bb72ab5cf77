//! What would make a program faster, by trying it.

use schemars::JsonSchema;
use serde::Serialize;

use crate::product::Soc;
use crate::program::Program;

use super::costs::Change;
use super::machine::Options;
use super::report::Timing;
use super::{ClockError, changed};

/// A change, and what it would bring.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Advice {
    /// The change.
    pub change: Change,
    /// What it means.
    pub what: &'static str,
    /// Time with it.
    pub task_us: f64,
    /// Time that it saves, by the time without it.
    pub saves: f64,
}

/// Gains below this share are not worth a line.
const WORTHWHILE: f64 = 0.005;

/// The changes that bring most, the best first, each from a run of its own.
///
/// # Errors
/// As [`simulate`](super::simulate).
pub fn advise(
    program: &Program,
    soc: &Soc,
    options: &Options,
    now: &Timing,
    most: usize,
) -> Result<Vec<Advice>, ClockError> {
    let mut all = Vec::new();
    for (change, what) in Change::ALL {
        let task_us = changed(program, soc, options, Some(change))?.task_us;
        let saves = 1.0 - task_us / now.task_us;
        if saves >= WORTHWHILE {
            all.push(Advice { change, what, task_us, saves });
        }
    }
    all.sort_by(|a, b| b.saves.total_cmp(&a.saves));
    all.truncate(most);
    Ok(all)
}
