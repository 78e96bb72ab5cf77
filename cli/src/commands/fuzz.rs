//! `ubtile fuzz OP`: search for a case that a kernel gets wrong.

use std::num::NonZeroU64;
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Serialize;

use crate::args::FuzzArgs;
use crate::error::Error;
use crate::fuzzing::{Finding, Found, Generator, Repro, Subject, Verdict, Worker, quietly, smallest};
use crate::output::{self, Format, Report};
use crate::progress::Progress;

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
    /// The file that shows it.
    repro: Option<String>,
}

/// Tries cases until one is wrong or the time is over.
pub(crate) fn run(args: &FuzzArgs, format: Format) -> Result<(), Error> {
    let mut subject = match &args.kernel {
        Some(library) => Subject::Library(Worker::new(library)?),
        None => Subject::Own,
    };
    let mut generator = Generator::new(args.operator, args.seed, args.kernel.is_none());
    let time = args.time.map(Into::into).or(args.cases.is_none().then_some(SEARCHING));
    let most = args.cases.map_or(u64::MAX, NonZeroU64::get);
    let started = Instant::now();
    let (mut cases, mut skipped, mut found) = (0, 0, None);
    {
        let _progress = Progress::new(format!("fuzzing {}", args.operator));
        let in_time = || time.is_none_or(|time: Duration| started.elapsed() < time);
        while found.is_none() && cases + skipped < most && in_time() {
            let tree = generator.next()?;
            let Some(case) = tree.case() else { continue };
            match quietly(|| subject.attempt(&case)) {
                Verdict::Fine => cases += 1,
                Verdict::Skipped => skipped += 1,
                Verdict::Wrong(finding) => {
                    cases += 1;
                    let until = Instant::now() + SHRINKING;
                    found = Some(quietly(|| smallest(tree, case, finding, |case| subject.attempt(case), until)));
                }
            }
        }
    }
    let mut report = Fuzz {
        operator: args.operator.name(),
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
    let path = Repro::new(&case, args.kernel.as_deref(), &finding, found).save(&args.output)?.display().to_string();
    let line =
        format!("{}: {}: {}; run it again with: ubtile replay {path}", args.operator, finding.kind, finding.message);
    (report.failure, report.repro) = (Some(finding), Some(path));
    output::print(format, &report)?;
    Err(Error::Check(line))
}

impl Report for Fuzz {
    const SCHEMA: &'static str = "ubtile.fuzz.v1";

    fn text(&self) -> String {
        let Self { operator, kernel, seed, cases, skipped, seconds, failure, repro } = self;
        let whose = kernel.as_deref().unwrap_or("this tool's kernels");
        let verdict = match (failure, repro) {
            (Some(failure), Some(repro)) => format!("WRONG ({}), see {repro}", failure.kind),
            _ => "nothing wrong".into(),
        };
        format!("{operator}, {whose}, seed {seed}: {cases} cases and {skipped} skipped in {seconds:.1} s, {verdict}\n")
    }
}
