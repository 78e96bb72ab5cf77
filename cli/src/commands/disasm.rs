//! `ubtile disasm`: a tile program as text.

use schemars::JsonSchema;
use serde::Serialize;
use ubtile_sim::product::Soc;
use ubtile_sim::program::Program;
use ubtile_sim::text;

use crate::args::{Attributes, DisasmArgs, LoweredArgs};
use crate::error::Error;
use crate::lowered::Lowered;
use crate::output::{self, Format, Report};
use crate::program::Loaded;
use crate::settings::warn_of_costs;

/// A program's text.
#[derive(Serialize, JsonSchema)]
pub(super) struct Disasm {
    soc: String,
    /// Of the product's numbers.
    model_hash: String,
    cores: u32,
    local_bytes: u32,
    text: String,
}

/// Reads, checks, prints.
pub(crate) fn run(args: &DisasmArgs, format: Format) -> Result<(), Error> {
    let Loaded { program, text, soc, .. } = Loaded::new(&args.program)?;
    warn_of_costs(&args.program.set, &text);
    output::print(format, &Disasm::new(&program, &soc))
}

/// Plans, lowers, prints.
pub(crate) fn run_operator(attributes: &Attributes, args: &LoweredArgs, format: Format) -> Result<(), Error> {
    warn_of_costs(&args.place.set, "");
    let lowered = Lowered::new(attributes, args)?;
    output::print(format, &Disasm::new(lowered.program()?, &lowered.soc))
}

impl Disasm {
    fn new(program: &Program, soc: &Soc) -> Self {
        Self {
            soc: soc.name().into(),
            model_hash: soc.model_hash(),
            cores: program.source().cores,
            local_bytes: program.local_bytes(),
            text: text::print(program.source()),
        }
    }
}

impl Report for Disasm {
    const SCHEMA: &'static str = "ubtile.disasm.v1";

    fn text(&self) -> String {
        self.text.clone()
    }
}
