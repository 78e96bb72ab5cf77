//! Running a failure of a tile program again.

use schemars::JsonSchema;
use serde::Serialize;
use ubtile_sim::sanitize::sanitize;

use super::{end, failure, now_line};
use crate::args::ReplayArgs;
use crate::commands::sim;
use crate::error::Error;
use crate::fuzzing::{Finding, Kind, Pair, Tested, TileCase, TileRepro, quietly};
use crate::output::{self, Format, Report};
use crate::program::text_of;
use crate::soc::soc;

/// A failure of a tile program that ran again.
#[derive(Serialize, JsonSchema)]
pub(in crate::commands) struct ReplayProgram {
    program: String,
    against: Option<String>,
    soc: String,
    /// Of the product's numbers.
    model_hash: String,
    /// The steps that wait, with their instructions.
    delays: Vec<String>,
    /// Those of them that the run ends without: it is not in the order that was wrong.
    unreached: Vec<String>,
    /// What was wrong when the file was written.
    was: Finding,
    /// What is wrong now.
    now: Option<Finding>,
}

/// Runs the case of a file.
pub(super) fn run(repro: TileRepro, args: &ReplayArgs, format: Format) -> Result<(), Error> {
    let wrong = |problem: String| Error::file(&args.file, problem);
    let product = match &args.soc {
        Some(name) => soc(name)?,
        None => soc(&repro.soc).map_err(|e| wrong(e.to_string()))?,
    };
    let tested = match &args.program {
        Some(file) => {
            let text = text_of(file)?;
            Tested { file: file.clone(), text }
        }
        None => repro.program.clone(),
    };
    let against = repro.against.as_ref().map(|against| against.parse(&product)).transpose()?;
    let pair = Pair::new(tested.parse(&product)?, against)?;
    let case = repro.case(&pair.program).map_err(wrong)?;
    let now = quietly(|| pair.attempt(&case));
    let instructions = pair.instructions(&case);
    let words = pair.described(&case, None).into_iter().zip(instructions).map(|((step, _), instruction)| {
        instruction.map_or_else(|| step.clone(), |instruction| format!("{step}, {instruction}"))
    });
    let report = ReplayProgram {
        program: tested.file.display().to_string(),
        against: repro.against.as_ref().map(|against| against.file.display().to_string()),
        soc: product.name().into(),
        model_hash: product.model_hash(),
        delays: words.collect(),
        unreached: pair.unreached(&case),
        was: repro.failure,
        now,
    };
    let saved = match args.save.is_wanted() {
        true => {
            let (at, core) = report.now.as_ref().map_or((None, None), |now| place(now, &pair, &case));
            let failure = failure(&report.was, report.now.as_ref(), at, core);
            sim::save_program((&tested.file, &tested.text), &product, &args.save, failure)
        }
        false => Ok(()),
    };
    output::print(format, &report)?;
    let ReplayProgram { program, was, now, unreached, .. } = &report;
    match unreached.first() {
        Some(step) if now.is_none() => {
            saved?;
            Err(wrong(format!("this is not the order that was wrong: {program} ends without {step}")))
        }
        _ => end(program, was, now.as_ref(), saved),
    }
}

/// Line and core of what is wrong now: what the sanitizer names, or the first step that waits.
fn place(now: &Finding, pair: &Pair, case: &TileCase) -> (Option<String>, Option<u32>) {
    if now.kind == Kind::Sanitizer {
        let findings = sanitize(&pair.program, Some(case.values.clone())).unwrap_or_default();
        let first = findings.into_iter().find(|finding| !finding.kind.is_warning());
        return first.map_or((None, None), |first| (first.at, first.core));
    }
    let waits = pair.instructions(case).into_iter().next().flatten();
    (waits, case.delays.first().map(|delay| delay.core))
}

impl Report for ReplayProgram {
    const SCHEMA: &'static str = "ubtile.replay.program.v1";

    fn text(&self) -> String {
        let Self { program, against, soc, delays, unreached, was, now, .. } = self;
        let against = against.as_ref().map(|other| format!(" against {other}")).unwrap_or_default();
        let delays: String = delays.iter().map(|delay| format!("waits: {delay}\n")).collect();
        let unreached: String = unreached.iter().map(|step| format!("does not come: {step}\n")).collect();
        let now = match now {
            None if !unreached.is_empty() => "nothing is wrong in another order".into(),
            now => now_line(was, now.as_ref()),
        };
        format!("{program}{against} on {soc}\n{delays}{unreached}was: {}: {}\nnow: {now}\n", was.kind, was.message)
    }
}
