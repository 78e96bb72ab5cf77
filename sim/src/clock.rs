//! How long a tile program takes on a product, what bounds it, and what would change that.
//!
//! The model of a core: the scalar unit walks through the program and puts instructions into the queues of three pipes, each of which
//! does them in order, beside the others. A full queue holds the scalar unit; flags and barriers hold pipes. A vector instruction takes
//! an overhead and a time for each repeat, longer where operands meet in a bank of the UB. A copy takes its pipe for the time of its
//! issue and of its transfer; its last byte arrives a latency later, while the next copy is on its way.
//!
//! The model of the memory: copies are cut into requests. What L2 has comes at the core's own rate, as long as L2 keeps up; what it
//! does not have shares the bandwidth of main memory with all else that is on its way, each getting as many bytes as the others. L2
//! evicts what was used least recently, and writes back what was written. A store ends once the core's write buffer has taken what is
//! left of it. Additions to the same piece of memory wait for each other.
//!
//! Time is whole ticks of 1/1024 cycle; the same program, product, options and seed give the same result everywhere. All numbers come
//! from the product, and the result lists which, and how well they are founded. Cores start one after the other, and latencies vary a
//! little by the seed: a kernel whose cores wait for each other's transfers depends on how they fall together, so [`Series`] runs
//! several seeds.
//!
//! ```
//! use ubtile_sim::clock::{Options, simulate};
//! use ubtile_sim::{product::Soc, text};
//!
//! let soc = Soc::builtin("Ascend910B1")?;
//! let text = "cores 1\nub a: 256\nub b: 256\nadd.f32 a[0], a[0], b[0] repeat 1\n";
//! let (program, _) = text::parse(text, &soc)?;
//! let timing = simulate(&program, &soc, &Options::default())?;
//! assert!(timing.cycles > 20, "a vector instruction has an overhead of about 22 cycles");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod advice;
mod banks;
mod blocks;
mod copies;
mod core;
mod costs;
mod evidence;
mod flags;
mod l2;
mod machine;
mod memory;
mod observe;
mod pipe;
mod profile;
mod recall;
mod report;
mod scalar;
mod series;
mod share;
mod skip;
mod tick;
mod vector;
mod warm;

use std::fmt;

use crate::product::{Soc, Unknown};
use crate::program::{NodeId, Program};
use crate::text::describe;

pub use advice::{Advice, advise};
pub use core::Halt;
pub use costs::Change;
pub use evidence::Evidence;
pub use machine::{Options, Start};
pub use observe::{Accesses, Event};
pub use profile::{CoreTime, PipeTicks, Profile, profile};
pub use report::{Bound, Collisions, Limit, PipeTime, Pipes, Pool, Roofline, Timing};
pub use series::{SEEDS, Series, Spread, series};

use costs::Costs;
use machine::Failed;

/// Why there is no time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClockError {
    /// The product does not say what something costs.
    Unknown(Unknown),
    /// The program cannot go on.
    Halt(Halt),
    /// More global memory than the model can hold.
    TooLarge,
}

const TOO_LONG: &str = "takes longer than the model can count";

impl ClockError {
    /// What happened, with the names of the program.
    #[must_use]
    pub fn describe(&self, program: &Program) -> String {
        let at = |core: u32, node: NodeId| {
            format!("core {core}, {}: {}", program.locate(node), describe(program.source(), node))
        };
        match self {
            Self::Halt(Halt::Fault(fault)) => fault.describe(program),
            Self::Halt(Halt::SetTwice { core, node, .. }) => {
                format!("{}: the flag is set, and nobody has waited for it", at(*core, *node))
            }
            Self::Halt(Halt::Stuck { core, node: Some(node) }) => {
                format!("{}: waits for what never happens", at(*core, *node))
            }
            Self::Halt(Halt::TooLong { core, node }) => format!("{}: {TOO_LONG}", at(*core, *node)),
            other => other.to_string(),
        }
    }
}

impl fmt::Display for ClockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(unknown) => unknown.fmt(f),
            Self::Halt(Halt::Fault(fault)) => fault.fmt(f),
            Self::Halt(Halt::SetTwice { core, node, flag }) => {
                let (from, to) = (flag.from.name(), flag.to.name());
                write!(
                    f,
                    "core {core}, statement {}: flag {from} {to} {} is set again before it was waited for",
                    node.0, flag.id
                )
            }
            Self::Halt(Halt::Stuck { core, node: Some(node) }) => {
                write!(f, "core {core}, statement {}: waits for what never happens", node.0)
            }
            Self::Halt(Halt::Stuck { core, node: None }) => {
                write!(f, "core {core} is at its end, and others wait for it at a barrier of all cores")
            }
            Self::Halt(Halt::TooLong { core, node }) => write!(f, "core {core}, statement {}: {TOO_LONG}", node.0),
            Self::TooLarge => write!(f, "the tensors have more lines of L2 than the model can tell apart"),
        }
    }
}

impl std::error::Error for ClockError {}

impl From<Unknown> for ClockError {
    fn from(unknown: Unknown) -> Self {
        Self::Unknown(unknown)
    }
}

impl From<Failed> for ClockError {
    fn from(failed: Failed) -> Self {
        match failed {
            Failed::Halt(halt) => Self::Halt(halt),
            Failed::TooLarge => Self::TooLarge,
        }
    }
}

/// Runs a program on a product.
///
/// # Errors
/// The product does not say what something costs, or the program cannot go on.
pub fn simulate(program: &Program, soc: &Soc, options: &Options) -> Result<Timing, ClockError> {
    changed(program, soc, options, None)
}

/// The same where one thing is different.
fn changed(program: &Program, soc: &Soc, options: &Options, change: Option<Change>) -> Result<Timing, ClockError> {
    let mut costs = Costs::new(program, soc, change)?;
    let ran = match machine::run(program, &mut costs, options, None) {
        // What is left out finds a fault late: the first one is wanted.
        Err(Failed::Halt(Halt::Fault(_))) if !options.walk_all => {
            machine::run(program, &mut costs, &Options { walk_all: true, ..*options }, None)
        }
        ran => ran,
    }?;
    Ok(Timing::new(&ran, &costs, options))
}
