//! What a simulation says, as JSON has it.

use schemars::JsonSchema;
use serde::Serialize;
use ubtile_tiling::Route;

use crate::clock::{Advice, ClockError, Options, Spread, Timing, advise, series, simulate};
use crate::product::Soc;
use crate::program::Program;

/// A run, or why there is none.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Simulated {
    /// The operator, or the file of the program.
    pub program: String,
    /// The SoC.
    pub soc: String,
    /// The product line, of an operator.
    pub product: Option<&'static str>,
    /// Of the product's numbers and the code that works on them.
    pub model_hash: String,
    /// Whose program it is: native, vendor, or program for one of a file; nobody's where there is none.
    pub scheme: Option<&'static str>,
    /// Of the vendor's scheme: which of its kernels it is.
    pub tiling_key: Option<usize>,
    /// Where it runs: aicore, or "aicpu, not modelled"; nowhere, where the product refuses the problem and nobody wants it nevertheless.
    pub route: Option<&'static str>,
    /// Where the vendor runs the problem; nowhere, where this is a program of a file.
    pub vendor_route: Option<&'static str>,
    /// Whether the product takes the problem.
    pub supported: bool,
    /// Why not, or why there is no time.
    pub reason: Option<String>,
    /// What the plan needs of the caller.
    pub workspace_bytes: Option<usize>,
    /// Of a failure that ran again: what it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// What was varied, with its value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vary: Option<(String, u64)>,
    /// The time and all that explains it.
    #[serde(flatten)]
    pub timing: Option<Timing>,
    /// The time over eight seeds, where cores can get into each other's way.
    pub task_us_over_seeds: Option<Spread>,
    /// What would help, the best first.
    pub changes: Vec<Advice>,
    /// Where it would help if all cores started at once: of half as many cores, a quarter, ... those that take the least time, if they
    /// take less.
    pub fewer_cores: Option<FewerCores>,
}

/// What a plan for fewer cores would bring.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FewerCores {
    /// Cores that the tiling may use.
    pub cores: u32,
    /// Time with them.
    pub task_us: f64,
    /// Time that this saves, by the time of all.
    pub saves: f64,
}

/// Whose program a run of that scheme is of, and what that leaves out, as a sentence; nothing where it is a program of a file.
#[must_use]
pub fn whose_program(scheme: &str) -> Option<&'static str> {
    Some(match scheme {
        "native" => "ubtile's own tiling and program, not the vendor's kernel.",
        "vendor" => {
            "The vendor's tiling, and its kernel as the published code goes about it; what its library runs before and after is left out."
        }
        _ => return None,
    })
}

/// What was found to be wrong with the program, or with a kernel that computes the same problem.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Failure {
    /// What kind of failure, as `fuzz` names it.
    pub kind: String,
    /// What is wrong.
    pub message: String,
    /// The line of the program and its instruction.
    pub at: Option<String>,
    /// The core.
    pub core: Option<u32>,
    /// Whether it is still wrong.
    pub present: bool,
}

/// Changes that are shown of a run.
const CHANGES: usize = 3;
/// Instructions up to which a run is repeated with other seeds and changes.
const REPEATED: u64 = 20_000_000;

impl Simulated {
    /// The name of its JSON.
    pub const SCHEMA: &'static str = "ubtile.sim.v1";
    /// The scheme of a program that somebody wrote.
    pub const OWN: &'static str = "program";
    /// The route of what the cores do not compute.
    pub const ON_CPU: &'static str = "aicpu, not modelled";

    /// Of a program of a file, before it runs.
    #[must_use]
    pub fn of_program(name: &str, soc: &Soc) -> Self {
        Self {
            program: name.into(),
            soc: soc.name().into(),
            product: None,
            model_hash: soc.model_hash(),
            scheme: Some(Self::OWN),
            tiling_key: None,
            route: Some(Route::AiCore.name()),
            vendor_route: None,
            supported: true,
            reason: None,
            workspace_bytes: None,
            failure: None,
            vary: None,
            timing: None,
            task_us_over_seeds: None,
            changes: Vec::new(),
            fewer_cores: None,
        }
    }

    /// What was asked for cannot be.
    pub fn refuse(&mut self, why: String) {
        (self.scheme, self.tiling_key, self.route, self.workspace_bytes) = (None, None, None, None);
        self.reason = Some(why);
    }

    /// Runs the program, and says what would help; with other seeds too, where they matter and the run is short.
    ///
    /// # Errors
    /// The product does not say what something costs, or the program cannot go on.
    pub fn measure(mut self, program: &Program, soc: &Soc, options: &Options) -> Result<Self, ClockError> {
        let timing = simulate(program, soc, options)?;
        if timing.instructions <= REPEATED {
            self.changes = advise(program, soc, options, &timing, CHANGES)?;
            if timing.cores_used > 1 {
                self.task_us_over_seeds = Some(series(program, soc, options)?.spread(|timing| timing.task_us));
            }
        }
        self.timing = Some(if self.scheme == Some(Self::OWN) { timing } else { timing.of_a_plan(soc) });
        Ok(self)
    }
}
