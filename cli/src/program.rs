//! Tile programs in files.

use std::fs;

use ubtile_sim::program::Program;
use ubtile_sim::text;

use crate::args::ProgramArgs;
use crate::error::Error;
use crate::soc::soc;

/// A program that its SoC can run, and the SoC's name.
pub(crate) fn load(args: &ProgramArgs) -> Result<(Program, String), Error> {
    let soc = soc(&args.soc)?;
    let text = fs::read_to_string(&args.program).map_err(|e| Error::file(&args.program, e))?;
    let (program, _) = text::parse(&text, &soc).map_err(|e| Error::file(&args.program, e))?;
    Ok((program, soc.name().into()))
}
