//! `ubtile sanitize`: what is wrong with a tile program.

use std::fmt::Write as _;

use serde::Serialize;
use ubtile_sim::exec::Global;
use ubtile_sim::sanitize::{Finding, sanitize};

use crate::args::SanitizeArgs;
use crate::error::Error;
use crate::output::{self, Format, Report};
use crate::program;
use crate::progress::Progress;

#[derive(Serialize)]
struct Sanitize {
    program: String,
    soc: String,
    cores: u32,
    /// Whether it ran on tensors of a file.
    with_data: bool,
    errors: usize,
    warnings: usize,
    findings: Vec<Finding>,
}

/// Reads, runs, prints; an error where something is wrong.
pub(crate) fn run(args: &SanitizeArgs, format: Format) -> Result<(), Error> {
    let path = args.program.path();
    let (program, soc) = program::load(&args.program)?;
    let data = match &args.input {
        None => None,
        Some(input) => {
            let no_memory = || Error::file(path, "needs more memory than there is");
            let mut global = Global::new(&program).ok_or_else(no_memory)?;
            program::fill(input, &program, &mut global)?;
            Some(global)
        }
    };
    let with_data = data.is_some();
    let findings = {
        let _progress = Progress::new(format!("sanitizing {}", path.display()));
        sanitize(&program, data).map_err(|fault| Error::file(path, format!("{}, or --in", fault.describe(&program))))?
    };
    let warnings = findings.iter().filter(|finding| finding.kind.is_warning()).count();
    let errors = findings.len() - warnings;
    let cores = program.source().cores;
    let program = path.display().to_string();
    let report = Sanitize { program, soc, cores, with_data, errors, warnings, findings };
    output::print(format, &report)?;
    if errors == 0 { Ok(()) } else { Err(Error::Check(report.headline())) }
}

impl Sanitize {
    fn headline(&self) -> String {
        let Self { program, soc, cores, errors, warnings, .. } = self;
        let count = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
        format!("{program} on {cores} cores of {soc}: {}, {}", count(*errors, "error"), count(*warnings, "warning"))
    }
}

impl Report for Sanitize {
    const SCHEMA: &'static str = "ubtile.sanitize.v1";

    fn text(&self) -> String {
        let mut text = self.headline() + "\n";
        for Finding { kind, count, core, at, instruction, tile, loops, field, what } in &self.findings {
            let place = at.iter().chain(instruction).cloned().collect::<Vec<_>>().join(": ");
            let mut details: Vec<String> = core.iter().map(|core| format!("core {core}")).collect();
            details.extend(tile.iter().map(|tile| format!("tile {tile}")));
            details.extend(loops.iter().map(|(name, value)| format!("{name} = {value}")));
            if *count > 1 {
                details.push(format!("the first of {count}"));
            }
            details.extend(field.iter().map(|field| format!("plan field {field}")));
            let lines = [place, what.clone(), details.join(", ")];
            let warning = if kind.is_warning() { "warning: " } else { "" };
            // Writing to a string does not fail.
            let _ = writeln!(text, "\n{warning}{}", kind.name());
            for line in lines.iter().filter(|line| !line.is_empty()) {
                let _ = writeln!(text, "  {line}");
            }
        }
        text
    }
}
