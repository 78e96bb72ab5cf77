//! `ubtile fuzz`: search for a case that a kernel or a tile program gets wrong.

mod program;

use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Serialize;
use ubtile_sim::report::Folder;
use ubtile_tiling::Operator;

use crate::args::FuzzArgs;
use crate::error::Error;
use crate::fuzzing::{Finding, Found, Generator, Repro, Subject, Verdict, Worker, quietly, smallest};
use crate::invocation;
use crate::output::{self, Format, Report};
use crate::progress::Progress;

pub(super) use program::FuzzProgram;

/// How long to search if nobody says.
const SEARCHING: Duration = Duration::from_secs(60);

/// How long a failure is made smaller.
const SHRINKING: Duration = Duration::from_secs(30);

/// What a search found.
#[derive(Serialize, JsonSchema)]
pub(super) struct Fuzz {
    operator: &'static str,
    /// The shared library that was tried; `None` for this project's kernels.
    kernel: Option<String>,
    seed: u64,
    /// Cases that were computed and judged.
    cases: u64,
    /// Cases that the kernel does not compute, or for which there is no such plan.
    skipped: u64,
    seconds: f64,
    /// What was wrong with the last case.
    failure: Option<Finding>,
    /// The file that shows it, if it could be written.
    repro: Option<String>,
}

/// How long a search takes; `None` where the number of cases ends it.
fn limit(args: &FuzzArgs) -> Option<Duration> {
    args.time.map(Into::into).or(args.cases.is_none().then_some(SEARCHING))
}

/// Tries a program, or the kernels of an operator.
pub(crate) fn run(args: &FuzzArgs, format: Format) -> Result<(), Error> {
    // A finding must not be lost.
    Folder::probe(&args.output)?;
    match (&args.program, args.operator) {
        (Some(file), _) => program::run(file, args, format),
        (None, Some(operator)) => run_operator(operator, args, format),
        (None, None) => Err(Error::Usage("an operator or --program FILE is required".into())),
    }
}

/// Tries cases until one is wrong or the time is over.
fn run_operator(operator: Operator, args: &FuzzArgs, format: Format) -> Result<(), Error> {
    let mut subject = match &args.kernel {
        Some(library) => Subject::Library(Worker::new(library)?),
        None => Subject::Own,
    };
    let mut generator = Generator::new(operator, args.seed, args.kernel.is_none());
    let time = limit(args);
    let most = args.cases.map_or(u64::MAX, NonZeroU64::get);
    let started = Instant::now();
    let (mut cases, mut skipped, mut found) = (0, 0, None);
    {
        let progress = Progress::new(format!("fuzzing {operator}"));
        let in_time = || time.is_none_or(|time: Duration| started.elapsed() < time);
        while found.is_none() && cases + skipped < most && in_time() {
            let tree = generator.next()?;
            let Some(case) = tree.case() else { continue };
            if (cases + skipped) % 256 == 0 {
                let tried = output::count(cases, "case");
                progress.say(format!("fuzzing {operator}: {tried}, {skipped} skipped"));
            }
            match quietly(|| subject.attempt(&case)) {
                Verdict::Fine => cases += 1,
                Verdict::Skipped => skipped += 1,
                Verdict::Wrong(finding) => {
                    cases += 1;
                    progress.say(format!("fuzzing {operator}: found {}, making it smaller", finding.kind));
                    let until = Instant::now() + SHRINKING;
                    found = Some(quietly(|| smallest(tree, case, finding, |case| subject.attempt(case), until)));
                }
            }
        }
    }
    let mut report = Fuzz {
        operator: operator.name(),
        kernel: args.kernel.as_ref().map(|path| path.display().to_string()),
        seed: args.seed,
        cases,
        skipped,
        seconds: started.elapsed().as_secs_f64(),
        failure: None,
        repro: None,
    };
    let Some((case, finding)) = found else {
        // Nothing was held against the reference: that is no success.
        if cases == 0 {
            return Err(Error::Unusable(format!("no case was computed, {skipped} were skipped")));
        }
        return output::print(format, &report);
    };
    let found = Found { seed: args.seed, case: cases + skipped };
    let saved = Repro::new(&case, args.kernel.as_deref(), &finding, found).save(&args.output);
    let (repro, error) = found_wrong(operator.name(), &finding, args.seed, saved);
    (report.failure, report.repro) = (Some(finding), repro);
    output::print(format, &report)?;
    Err(error)
}

/// The file that shows a finding, and the command's error; a finding without a file is one all the same.
fn found_wrong(
    what: &str,
    Finding { kind, message }: &Finding,
    seed: u64,
    saved: Result<PathBuf, Error>,
) -> (Option<String>, Error) {
    let repro = saved.map(|path| path.display().to_string());
    let how = match &repro {
        Ok(path) => {
            format!("run it again with: {}", invocation::line(&["ubtile".into(), "replay".into(), path.clone()]))
        }
        Err(why) => format!("there is no file that shows it, {why}; --seed {seed} finds it again"),
    };
    (repro.ok(), Error::Check(format!("{what}: {kind}: {message}; {how}")))
}

/// What was found, in a word, and where it is shown.
fn verdict(failure: Option<&Finding>, repro: Option<&str>) -> String {
    match (failure, repro) {
        (Some(failure), Some(repro)) => format!("WRONG ({}), see {repro}", failure.kind),
        (Some(failure), None) => format!("WRONG ({})", failure.kind),
        (None, _) => "nothing wrong".into(),
    }
}

impl Report for Fuzz {
    const SCHEMA: &'static str = "ubtile.fuzz.v1";

    fn text(&self) -> String {
        let Self { operator, kernel, seed, cases, skipped, seconds, failure, repro } = self;
        let whose = kernel.as_deref().unwrap_or("this tool's kernels");
        let cases = output::count(*cases, "case");
        let verdict = verdict(failure.as_ref(), repro.as_deref());
        format!("{operator}, {whose}, seed {seed}: {cases} and {skipped} skipped in {seconds:.1} s, {verdict}\n")
    }
}
