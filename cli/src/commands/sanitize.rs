//! `ubtile sanitize`: what is wrong with the tile program of a file, or of an operator's plan.

use std::fmt::Write as _;
use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;
use ubtile_sim::exec::Global;
use ubtile_sim::product::Soc;
use ubtile_sim::program::Program;
use ubtile_sim::sanitize::{Finding, sanitize};

use crate::args::{Attributes, LoweredArgs, SanitizeArgs};
use crate::error::Error;
use crate::lowered::Lowered;
use crate::output::{self, Format, Report, count};
use crate::program::{self, Loaded};
use crate::progress::Progress;
use crate::settings::warn_of_costs;

/// What is wrong with a program.
#[derive(Serialize, JsonSchema)]
pub(super) struct Sanitize {
    program: String,
    soc: String,
    /// Of the product's numbers.
    model_hash: String,
    cores: u32,
    /// Whether it ran on tensors of a file.
    with_data: bool,
    errors: usize,
    warnings: usize,
    findings: Vec<Finding>,
}

/// Looks at the program of a file.
pub(crate) fn run(args: &SanitizeArgs, format: Format) -> Result<(), Error> {
    let Loaded { program, text, soc, .. } = Loaded::new(&args.program)?;
    warn_of_costs(&args.program.set, &text);
    let name = args.program.path().display().to_string();
    look((name, &program, &soc), args.input.as_deref(), format, |input, global| program::fill(input, &program, global))
}

/// Plans and lowers an operator, and looks at its program.
pub(crate) fn run_operator(attributes: &Attributes, args: &LoweredArgs, format: Format) -> Result<(), Error> {
    warn_of_costs(&args.place.set, "");
    let lowered = Lowered::new(attributes, args)?;
    let program = (attributes.operator().name().into(), lowered.program()?, &lowered.soc);
    look(program, args.inputs.input.as_deref(), format, |input, global| lowered.fill(input, global))
}

/// Of all tensors together: as many as a timed run tells apart.
const MOST_BYTES: u128 = 1 << 38;

/// Runs a program, with the tensors of a file or without, and prints what is wrong; an error where something is.
fn look(
    (name, program, soc): (String, &Program, &Soc),
    input: Option<&Path>,
    format: Format,
    fill: impl FnOnce(&Path, &mut Global) -> Result<(), Error>,
) -> Result<(), Error> {
    let failed = |problem: &str| Error::Unusable(format!("{name}: {problem}"));
    let data = match input {
        None if program.source().tensors.iter().map(|tensor| u128::from(tensor.bytes())).sum::<u128>() > MOST_BYTES => {
            return Err(failed("its tensors are larger than what can be kept of each byte"));
        }
        None => None,
        Some(input) => {
            let mut global = Global::new(program).ok_or_else(|| failed("needs more memory than there is"))?;
            fill(input, &mut global)?;
            Some(global)
        }
    };
    let with_data = data.is_some();
    let findings = {
        let _progress = Progress::new(format!("sanitizing {name}"));
        sanitize(program, data).map_err(|fault| failed(&format!("{}, or --in", fault.describe(program))))?
    };
    let warnings = findings.iter().filter(|finding| finding.kind.is_warning()).count();
    let errors = findings.len() - warnings;
    let report = Sanitize {
        program: name,
        soc: soc.name().into(),
        model_hash: soc.model_hash(),
        cores: program.source().cores,
        with_data,
        errors,
        warnings,
        findings,
    };
    output::print(format, &report)?;
    if errors == 0 { Ok(()) } else { Err(Error::Check(report.headline())) }
}

impl Sanitize {
    fn headline(&self) -> String {
        let Self { program, soc, cores, errors, warnings, .. } = self;
        let [errors, warnings] = [(errors, "error"), (warnings, "warning")].map(|(n, what)| count(*n as u64, what));
        format!("{program} on {} of {soc}: {errors}, {warnings}", count(*cores, "core"))
    }
}

/// A text has so many findings at most; JSON has all.
const SHOWN: usize = 100;

impl Report for Sanitize {
    const SCHEMA: &'static str = "ubtile.sanitize.v1";

    fn text(&self) -> String {
        let mut text = self.headline() + "\n";
        for Finding { kind, count, core, at, instruction, tile, loops, field, what } in self.findings.iter().take(SHOWN)
        {
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
        if let Some(more @ 1..) = self.findings.len().checked_sub(SHOWN) {
            let _ = writeln!(text, "\nand {more} more");
        }
        text
    }
}
