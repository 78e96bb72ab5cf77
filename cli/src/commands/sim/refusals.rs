//! Runs of several that cannot be.

use ubtile_sim::report::Simulated;

use crate::error::Error;

/// Why some runs of several are not there.
#[derive(Default)]
pub(super) struct Refusals {
    first: Option<Error>,
    runs: usize,
}

impl Refusals {
    /// A run; where what was asked for cannot be, what is known of it, and why.
    pub(super) fn or(
        &mut self,
        run: Result<Simulated, Error>,
        outline: impl FnOnce() -> Result<Simulated, Error>,
    ) -> Result<Simulated, Error> {
        match run {
            Ok(run) => {
                self.runs += usize::from(run.timing.is_some());
                Ok(run)
            }
            // What one machine has no name for another one may have.
            Err(why @ (Error::Unusable(_) | Error::Usage(_))) => {
                let mut outline = outline()?;
                outline.refuse(why.to_string());
                self.first.get_or_insert(why);
                Ok(outline)
            }
            Err(other) => Err(other),
        }
    }

    /// The points, unless all were refused.
    pub(super) fn unless_some(self, points: Vec<Simulated>) -> Result<Vec<Simulated>, Error> {
        match self.first {
            Some(error) if self.runs == 0 => Err(error),
            _ => Ok(points),
        }
    }
}
