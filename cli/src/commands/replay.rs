//! `ubtile replay FILE`: run a failure again.

use schemars::JsonSchema;
use serde::Serialize;
use ubtile_tiling::TensorSlot;

use crate::args::ReplayArgs;
use crate::error::Error;
use crate::fuzzing::{Finding, Repro, Subject, Verdict, Worker, quietly};
use crate::output::{self, Format, Report, TensorReport};

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
}

/// Runs the case of a file.
pub(crate) fn run(args: &ReplayArgs, format: Format) -> Result<(), Error> {
    let repro = Repro::open(&args.file)?;
    let case = repro.case().map_err(|problem| Error::file(&args.file, problem))?;
    let kernel = args.kernel.as_deref().or(repro.kernel.as_deref());
    let mut subject = match kernel {
        Some(library) => Subject::Library(Worker::new(library)?),
        None => Subject::Own,
    };
    let now = match quietly(|| subject.attempt(&case)) {
        Verdict::Fine => None,
        Verdict::Skipped => return Err(Error::file(&args.file, "the kernel does not compute this case any more")),
        Verdict::Wrong(finding) => Some(finding),
    };
    let slots: Vec<TensorSlot> = case.problem.tensors().collect();
    let report = Replay {
        operator: case.problem.operator().name(),
        kernel: kernel.map(|path| path.display().to_string()),
        tensors: slots.iter().map(TensorReport::of_slot).collect(),
        was: repro.failure,
        now,
    };
    output::print(format, &report)?;
    match report.now {
        Some(Finding { kind, message }) => Err(Error::Check(format!("{}: {kind}: {message}", report.operator))),
        None => Ok(()),
    }
}

impl Report for Replay {
    const SCHEMA: &'static str = "ubtile.replay.v1";

    fn text(&self) -> String {
        let Self { operator, kernel, tensors, was, now } = self;
        let whose = kernel.as_deref().unwrap_or("this tool's kernels");
        let now =
            now.as_ref().map_or("nothing is wrong any more".into(), |now| format!("{}: {}", now.kind, now.message));
        format!(
            "{operator}, {whose}\n\n{}\nwas: {}: {}\nnow: {now}\n",
            TensorReport::table(tensors),
            was.kind,
            was.message
        )
    }
}
