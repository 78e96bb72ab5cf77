//! `ubtile replay FILE`: run a failure again.

mod opened;
mod program;

use std::io::{Write as _, stderr};

use schemars::JsonSchema;
use serde::Serialize;
use ubtile_sim::report::Failure;
use ubtile_tiling::TensorSlot;

use crate::args::ReplayArgs;
use crate::error::Error;
use crate::fuzzing::{AnyRepro, Finding, Repro, Subject, Verdict, Worker, quietly};
use crate::invocation;
use crate::output::{self, Format, Report, TensorReport};
use crate::soc::soc;

pub(super) use program::ReplayProgram;

/// A failure that ran again.
#[derive(Serialize, JsonSchema)]
pub(super) struct Replay {
    operator: &'static str,
    kernel: Option<String>,
    tensors: Vec<TensorReport>,
    /// What was wrong when the file was written.
    was: Finding,
    /// What is wrong now.
    now: Option<Finding>,
    /// The command that simulates the problem.
    sim: String,
}

/// Runs the case of a file.
pub(crate) fn run(args: &ReplayArgs, format: Format) -> Result<(), Error> {
    match AnyRepro::open(&args.file)? {
        AnyRepro::Program(_) if args.kernel.is_some() => {
            Err(Error::Usage("--kernel is for failures of operators: this one is of a tile program".into()))
        }
        AnyRepro::Operator(_) if args.program.is_some() => {
            Err(Error::Usage("--program is for failures of tile programs: this one is of an operator".into()))
        }
        AnyRepro::Program(repro) => program::run(repro, args, format),
        AnyRepro::Operator(repro) => run_operator(repro, args, format),
    }
}

/// Runs the case of an operator.
fn run_operator(repro: Repro, args: &ReplayArgs, format: Format) -> Result<(), Error> {
    let case = repro.case().map_err(|problem| Error::file(&args.file, problem))?;
    // Also where nothing is simulated: the command that would do it is printed.
    args.soc.as_deref().map(soc).transpose()?;
    let kernel = args.kernel.as_deref().or(repro.kernel.as_deref());
    let mut subject = match kernel {
        Some(library) => Subject::Library(Worker::new(library).map_err(|e| match args.kernel {
            Some(_) => e,
            // Relative to where it was found.
            None => Error::file(&args.file, format_args!("its kernel {e}; --kernel FILE names another one")),
        })?),
        None => Subject::Own,
    };
    let now = match quietly(|| subject.attempt(&case)) {
        Verdict::Fine => None,
        Verdict::Skipped => return Err(Error::file(&args.file, "the kernel does not compute this case any more")),
        Verdict::Wrong(finding) => Some(finding),
    };
    let simulated = opened::command(&case, args.soc.as_deref());
    let slots: Vec<TensorSlot> = case.problem.tensors().collect();
    let report = Replay {
        operator: case.problem.operator().name(),
        kernel: kernel.map(|path| path.display().to_string()),
        tensors: slots.iter().map(TensorReport::of_slot).collect(),
        was: repro.failure,
        now,
        sim: invocation::line(&simulated),
    };
    let saved = match args.save.is_wanted() {
        true => opened::save(&simulated, &args.save, failure(&report.was, report.now.as_ref(), None, None)),
        false => Ok(()),
    };
    output::print(format, &report)?;
    end(report.operator, &report.was, report.now.as_ref(), saved)
}

/// The failure as the page of it shows it.
fn failure(was: &Finding, now: Option<&Finding>, at: Option<String>, core: Option<u32>) -> Failure {
    let Finding { kind, message } = now.unwrap_or(was);
    Failure { kind: kind.to_string(), message: message.clone(), at, core, present: now.is_some() }
}

/// What is wrong now, in one line that does not say again what was.
fn now_line(was: &Finding, now: Option<&Finding>) -> String {
    match now {
        None => "nothing is wrong any more".into(),
        Some(now) if now == was => "the same".into(),
        Some(Finding { kind, message }) => format!("{kind}: {message}"),
    }
}

/// How the command ends. What is wrong comes before what could not be saved.
fn end(what: &str, was: &Finding, now: Option<&Finding>, saved: Result<(), Error>) -> Result<(), Error> {
    let Some(Finding { kind, message }) = now else { return saved };
    if let Err(error) = saved {
        // Nothing is left to do when stderr is closed.
        let _ = writeln!(stderr(), "warning: no page and no trace: {error}");
    }
    // What was wrong has been printed.
    let message = if now == Some(was) { "as it was when the file was written" } else { message };
    Err(Error::Check(format!("{what}: {kind}: {message}")))
}

impl Report for Replay {
    const SCHEMA: &'static str = "ubtile.replay.v1";

    fn text(&self) -> String {
        let Self { operator, kernel, tensors, was, now, sim } = self;
        let whose = kernel.as_deref().unwrap_or("this tool's kernels");
        let now = now_line(was, now.as_ref());
        format!(
            "{operator}, {whose}\n\n{}\nsimulated by: {sim}\n\nwas: {}: {}\nnow: {now}\n",
            TensorReport::table(tensors),
            was.kind,
            was.message
        )
    }
}
