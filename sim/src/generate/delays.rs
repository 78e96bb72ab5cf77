//! Orders of steps at random.

use crate::exec::{Delay, Steps};
use crate::program::Pipe;

use super::choices::Choices;

/// The most delays of a run.
const MOST: u32 = 24;

/// Delays for a run that takes such steps without any: few or many, of any pipe of any core.
#[must_use]
pub fn delays(steps: &Steps, choices: &mut Choices<'_>) -> Vec<Delay> {
    let cores = (0..).zip(&steps.taken);
    let pipes = cores.flat_map(|(core, taken)| Pipe::ALL.map(|(pipe, _)| (core, pipe, taken[pipe as usize])));
    let pipes: Vec<_> = pipes.filter(|(_, _, taken)| *taken > 0).collect();
    if pipes.is_empty() {
        return Vec::new();
    }
    let count = choices.between(1, MOST);
    let delay = |_| {
        let (core, pipe, taken) = *choices.pick(&pipes);
        Delay { core, pipe, step: choices.below(taken) }
    };
    (0..count).map(delay).collect()
}
