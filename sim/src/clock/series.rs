//! Several runs that differ in their seed alone.

use schemars::JsonSchema;
use serde::Serialize;

use crate::product::Soc;
use crate::program::Program;

use super::machine::Options;
use super::report::Timing;
use super::{ClockError, simulate};

/// Runs of a series.
pub const SEEDS: u64 = 8;

/// A number over several runs.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Spread {
    /// The mean.
    pub mean: f64,
    /// The least.
    pub min: f64,
    /// The most.
    pub max: f64,
}

impl Spread {
    /// Of some numbers.
    #[must_use]
    pub fn of(numbers: &[f64]) -> Self {
        let fold = |start, f: fn(f64, f64) -> f64| numbers.iter().copied().fold(start, f);
        let mean = fold(0.0, |a, b| a + b) / numbers.len().max(1) as f64;
        Self { mean, min: fold(f64::INFINITY, f64::min), max: fold(f64::NEG_INFINITY, f64::max) }
    }
}

/// Runs of a program with seeds that follow each other.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Each run.
    pub runs: Vec<Timing>,
}

impl Series {
    /// A number of each run.
    #[must_use]
    pub fn spread(&self, of: impl Fn(&Timing) -> f64) -> Spread {
        Spread::of(&self.runs.iter().map(of).collect::<Vec<_>>())
    }
}

/// Runs a program with [`SEEDS`] seeds from that of the options.
///
/// # Errors
/// As [`simulate`].
pub fn series(program: &Program, soc: &Soc, options: &Options) -> Result<Series, ClockError> {
    let one = |seed| simulate(program, soc, &Options { seed, ..*options });
    let runs = (0..SEEDS).map(|i| one(options.seed.wrapping_add(i))).collect::<Result<_, _>>()?;
    Ok(Series { runs })
}
