//! How long calls of a kernel take on this machine.

use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Serialize;

use crate::error::Error;

/// Calls before the clock starts.
const UNTIMED: usize = 2;
/// How long they take at least: what a core that has idled needs to reach its pace.
const SETTLING: Duration = Duration::from_millis(100);

/// Of the timed calls, in milliseconds.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Times {
    pub(crate) calls: usize,
    pub(crate) min: f64,
    pub(crate) median: f64,
    pub(crate) max: f64,
}

/// Times calls after some that are not, so that memory and clocks have settled.
pub(crate) fn time(calls: usize, mut call: impl FnMut() -> Result<(), Error>) -> Result<Times, Error> {
    let (begin, mut untimed) = (Instant::now(), 0);
    while untimed < UNTIMED || begin.elapsed() < SETTLING {
        call()?;
        untimed += 1;
    }
    let mut times = Vec::new();
    for _ in 0..calls {
        let start = Instant::now();
        call()?;
        times.push(start.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    let at = |i: usize| times.get(i).copied().unwrap_or_default();
    let median = (at(calls / 2) + at((calls - 1) / 2)) / 2.0;
    Ok(Times { calls, min: at(0), median, max: at(calls - 1) })
}
