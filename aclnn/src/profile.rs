//! `UBTILE_PROFILE=DIR`: every call of an operator is simulated on the product that the library stands for, and the files of that go to
//! a folder of its own in `DIR`, or in one there that no other process has.
//!
//! That never fails a client: what cannot be simulated has a report that says why, and what cannot be written a line on stderr.

mod claim;

use std::env;
use std::fmt;
use std::io::{Write, stderr};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use ubtile_sim::aclnn::Device;
use ubtile_sim::clock::{ClockError, Options};
use ubtile_sim::lower::{LowerError, native, vendor};
use ubtile_sim::program::Program;
use ubtile_sim::report::{Envelope, Folder, NotWritten, SaveError, Saved, Simulated, TraceOptions};
use ubtile_sim::text;
use ubtile_tiling::{PlanOptions, Problem, Route, plan, vendor_plan};

use crate::monitor::Monitor;
use crate::operators::Work;
use crate::soc::{self, Chosen};

/// The variable of the environment that names the folder.
const VARIABLE: &str = "UBTILE_PROFILE";

/// A call that is to be simulated.
pub(crate) struct Profiled {
    folder: PathBuf,
    /// The function that was called.
    function: &'static str,
    chosen: &'static Chosen,
    /// Whether the deterministic mode was on in phase 1.
    deterministic: bool,
    what: What,
}

/// A program, and what its plan says.
struct Made {
    program: Program,
    workspace: usize,
    /// Of the vendor's.
    tiling_key: Option<usize>,
}

/// What a call does.
enum What {
    Problem(Box<Problem>),
    /// Something that no core does, and why.
    Nothing(&'static str),
}

/// Why files of a call are not all there.
enum Failed {
    /// The device's CPU computes it.
    OnCpu(String),
    NotSimulated(String),
    NotWritten(NotWritten),
}

impl Failed {
    fn because(why: impl fmt::Display) -> Self {
        Self::NotSimulated(why.to_string())
    }
}

/// Calls so far.
static CALLS: AtomicU64 = AtomicU64::new(0);

/// The folder of this process's calls, if the environment names one. It is read once: a client may change its environment while
/// streams run. A forked child gets one of its own.
fn named() -> Option<PathBuf> {
    static FOLDER: Monitor<Option<(u32, Option<PathBuf>)>> = Monitor::new(None);
    let read = || env::var_os(VARIABLE).filter(|folder| !folder.is_empty()).map(|folder| claim::claim(folder.into()));
    let (process, mut known) = (std::process::id(), FOLDER.lock());
    let own = known.take().filter(|(owner, _)| *owner == process);
    known.insert(own.unwrap_or_else(|| (process, read()))).1.clone()
}

/// A call, if the environment asks for its simulation. Calls are counted in the order of phase 2.
pub(crate) fn asked(function: &'static str, work: &Work, deterministic: bool) -> Option<Profiled> {
    let folder = named()?;
    // Without a product there is no executor either.
    let chosen = soc::chosen().ok()?;
    let what = match work {
        Work::Plan { plan, .. } => What::Problem(Box::new(plan.problem())),
        Work::Nothing => What::Nothing("nothing runs: a tensor is empty, or no output is wanted"),
        Work::Reflection { .. } => What::Nothing("there is no tile program of ReflectionPad2dBackward"),
    };
    let number = CALLS.fetch_add(1, Ordering::Relaxed) + 1;
    let folder = folder.join(format!("{number:04}-{function}"));
    Some(Profiled { folder, function, chosen, deterministic, what })
}

/// Tells whoever started the client.
fn say(what: &str) {
    // Nothing is left to do when stderr is closed.
    let _ = writeln!(stderr(), "ubtile: {VARIABLE}: {what}");
}

impl Profiled {
    /// Simulates and writes. It takes as long as it takes, on the stream of the call.
    pub(crate) fn write(&self) {
        let written = catch_unwind(AssertUnwindSafe(|| self.try_write()));
        let problem = match written {
            Ok(Ok(())) => return,
            Ok(Err(error)) => error.to_string(),
            Err(_) => format!("{} is not simulated: a defect of this library", self.function),
        };
        say(&problem);
    }

    fn try_write(&self) -> Result<(), NotWritten> {
        let folder = Folder::create(&self.folder)?;
        let mut report = self.outline();
        let simulated = match &self.what {
            What::Nothing(why) => Err(Failed::NotSimulated((*why).to_owned())),
            What::Problem(problem) => self.simulate(problem, &report, &folder),
        };
        let (why, route) = match simulated {
            Ok(()) => return folder.keep(),
            Err(Failed::NotWritten(error)) => return Err(error),
            Err(Failed::OnCpu(why)) => (why, Some(Simulated::ON_CPU)),
            Err(Failed::NotSimulated(why)) => (why, None),
        };
        report.refuse(why);
        report.route = route;
        folder.json("report.json", &Envelope::new(Simulated::SCHEMA, &report))?;
        folder.keep()
    }

    /// What is known without a run.
    fn outline(&self) -> Simulated {
        let Chosen { soc, known, .. } = self.chosen;
        let outline = Simulated { product: Some(known.product.name()), ..Simulated::of_program(self.function, soc) };
        let What::Problem(problem) = &self.what else { return outline };
        let vendor_route = problem.vendor_route(known.product, known.edition).map(Route::name);
        Simulated { program: problem.operator().name().into(), vendor_route, ..outline }
    }

    fn simulate(&self, problem: &Problem, outline: &Simulated, folder: &Folder) -> Result<(), Failed> {
        let (soc, name) = (&self.chosen.soc, problem.operator().name());
        let Made { program, workspace, tiling_key } = self.program(problem)?;
        // Its text has lines that tables and traces can name.
        let (text, program) = text::printed(&program, soc).map_err(Failed::because)?;
        let options = &Options::default();
        let scheme = Some(if tiling_key.is_some() { "vendor" } else { "native" });
        let outline = Simulated { scheme, tiling_key, workspace_bytes: Some(workspace), ..outline.clone() };
        let failed = |e: ClockError| Failed::NotSimulated(e.describe(&program));
        let report = outline.measure(&program, soc, options).map_err(failed)?;
        let saved = Saved {
            program: &program,
            text: &text,
            name,
            soc,
            rated_mhz: soc.clock.core_mhz.get().ok().map(|mhz| mhz.get()),
            options,
            trace: &TraceOptions::default(),
            plan: None,
            command: &format!("ubtile sim --program {}/{name}.tile --soc {}", Saved::root(name, soc), soc.name()),
        };
        let written = saved.write(folder, "", &Envelope::new(Simulated::SCHEMA, &report));
        written.map(drop).map_err(|error| match error {
            SaveError::Clock(error) => failed(error),
            SaveError::NotWritten(error) => Failed::NotWritten(error),
        })
    }

    /// The vendor's program of a problem where there is one of the kernel that its library calls, else ubtile's own.
    fn program(&self, problem: &Problem) -> Result<Made, Failed> {
        if let Some(made) = self.of_vendor(problem) {
            return Ok(made);
        }
        let soc = &self.chosen.soc;
        let target = soc.target_spec().map_err(Failed::because)?;
        let plan = plan(problem, &target, &PlanOptions::default()).map_err(Failed::because)?;
        match native(&plan, soc) {
            Ok(program) => Ok(Made { program, workspace: plan.workspace_bytes(), tiling_key: None }),
            Err(error @ LowerError::NotOnCore(_)) => Err(Failed::OnCpu(error.to_string())),
            Err(error) => Err(Failed::because(error)),
        }
    }

    fn of_vendor(&self, problem: &Problem) -> Option<Made> {
        let Chosen { soc, known, .. } = self.chosen;
        if problem.vendor_route(known.product, known.edition) != Some(Route::AiCore) {
            return None;
        }
        let device = Device { deterministic: self.deterministic, ..known.device? };
        let plan = vendor_plan(problem, &device.machine()?).ok()?;
        let program = vendor(problem, &plan, soc).ok()?;
        Some(Made { program, workspace: plan.kernel_workspace_bytes(), tiling_key: Some(plan.tiling_key()) })
    }
}
