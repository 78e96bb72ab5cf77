//! A run of which every instruction is seen, and what each core did in it.

use crate::product::Soc;
use crate::program::Program;

use super::ClockError;
use super::core::{Core, MTE2, MTE3, State, V};
use super::costs::Costs;
use super::machine::{self, Options};
use super::observe::Event;
use super::report::Timing;
use super::tick::CYCLE;

/// A pipe of a core; times in 1/1024 cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct PipeTicks {
    /// In which it was busy, as in [`PipeTime`](super::PipeTime).
    pub busy: u64,
    /// In which a flag kept it from going on.
    pub waited: u64,
    /// Its instructions without flags and barriers.
    pub instructions: u64,
}

/// A core that did something; times in 1/1024 cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoreTime {
    /// Its number.
    pub core: u32,
    /// From its start to its end.
    pub ticks: u64,
    /// The vector pipe.
    pub vector: PipeTicks,
    /// The scalar unit; its instructions are all others.
    pub scalar: PipeTicks,
    /// Loads.
    pub mte2: PipeTicks,
    /// Stores.
    pub mte3: PipeTicks,
}

/// A run.
#[derive(Clone, Debug)]
pub struct Profile {
    /// All cores together.
    pub timing: Timing,
    /// Those that did something.
    pub cores: Vec<CoreTime>,
    /// The clock of the cores.
    pub mhz: u32,
}

impl Profile {
    /// Ticks of a cycle.
    pub const CYCLE: u64 = CYCLE;

    /// Cycles of some ticks.
    #[must_use]
    pub fn cycles(ticks: u64) -> f64 {
        ticks as f64 / CYCLE as f64
    }

    /// Microseconds of some ticks.
    #[must_use]
    pub fn us(&self, ticks: u64) -> f64 {
        Self::cycles(ticks) / f64::from(self.mhz)
    }

    /// Of cores that did as much as each other, the first ones.
    #[must_use]
    pub fn classes(&self) -> Vec<u32> {
        let did = |core: &CoreTime| [core.vector, core.scalar, core.mte2, core.mte3].map(|pipe| pipe.instructions);
        let mut seen = Vec::new();
        let mut first = Vec::new();
        for core in &self.cores {
            if !seen.contains(&did(core)) {
                seen.push(did(core));
                first.push(core.core);
            }
        }
        first
    }
}

/// Runs a program on a product and shows every instruction when it is over. No iteration is left out, whatever the options say; it takes
/// as long on the product as without being looked at.
///
/// # Errors
/// The product does not say what something costs, or the program cannot go on.
pub fn profile(
    program: &Program,
    soc: &Soc,
    options: &Options,
    see: &mut dyn FnMut(&Event<'_>),
) -> Result<Profile, ClockError> {
    let mut costs = Costs::new(program, soc, None)?;
    let options = Options { walk_all: true, ..*options };
    let ran = machine::run(program, &mut costs, &options, Some(see))?;
    let cores = ran.cores.iter().filter(|core| core.counts.steps > 0).map(CoreTime::of).collect();
    Ok(Profile { timing: Timing::new(&ran, &costs, &options), cores, mhz: costs.mhz })
}

impl CoreTime {
    fn of(core: &Core<'_>) -> Self {
        let pipe = |at: usize| {
            let counts = &core.pipes[at].counts;
            PipeTicks { busy: counts.busy, waited: counts.waited, instructions: counts.instructions }
        };
        let (vector, mte2, mte3) = (pipe(V), pipe(MTE2), pipe(MTE3));
        let in_pipes = vector.instructions + mte2.instructions + mte3.instructions;
        let instructions = core.counts.steps.saturating_sub(in_pipes);
        let end = match core.state {
            State::Ends(at) => at,
            State::Runs | State::Syncs { .. } => core.now,
        };
        Self {
            core: core.walker.core(),
            ticks: end - core.start,
            vector,
            scalar: PipeTicks { busy: core.counts.busy, waited: core.counts.waited, instructions },
            mte2,
            mte3,
        }
    }
}
