//! `ubtile sim`: a tile program on a model of an AI Core: how long it takes, or what it computes.

mod timing;

use std::path::Path;

use serde::Serialize;
use ubtile_sim::exec::{Global, Run};

use crate::args::SimArgs;
use crate::error::Error;
use crate::output::{Format, Report, TensorReport};
use crate::program;
use crate::progress::Progress;
use crate::tensors::{Output, Stored};

#[derive(Serialize)]
struct Sim {
    program: String,
    soc: String,
    cores: u32,
    local_bytes: u32,
    /// Bytes that copies and the scalar unit requested.
    gm_read_bytes: u64,
    gm_write_bytes: u64,
    outputs: Vec<TensorReport>,
    /// Where the outputs are.
    out: String,
}

/// Times the program, or runs it on tensors.
pub(crate) fn run(args: &SimArgs, format: Format) -> Result<(), Error> {
    match &args.output {
        None => timing::run(args, format),
        Some(output) => compute(args, output, format),
    }
}

/// Reads, computes, writes.
fn compute(args: &SimArgs, output: &Path, format: Format) -> Result<(), Error> {
    let path = &args.program.program;
    let (program, soc) = program::load(&args.program)?;
    let results = program::results(&program)?;
    let dtypes = results.iter().map(|(_, name, desc)| (*name, desc.dtype));
    let file = Output::create(output, dtypes)?;
    let no_memory = || Error::file(path, "needs more memory than there is");
    let mut global = Global::new(&program).ok_or_else(no_memory)?;
    match (&args.input, program::given(&program)?.first()) {
        (Some(input), _) => program::fill(input, &program, &mut global)?,
        (None, Some((_, name, _))) => {
            return Err(Error::Usage(format!("--in FILE is needed: the program reads {name}")));
        }
        (None, None) => {}
    }

    let mut run = Run::new(&program, global);
    {
        let _progress = Progress::new(format!("running {}", path.display()));
        run.finish().map_err(|halt| Error::file(path, halt.describe(&program)))?;
    }
    let stored = results.iter().map(|(id, name, desc)| Stored { name, desc: *desc, bytes: run.global().tensor(*id) });
    file.save(&stored.collect::<Vec<_>>())?;
    let (gm_read_bytes, gm_write_bytes) = run.moved();
    let report = Sim {
        program: path.display().to_string(),
        soc,
        cores: program.source().cores,
        local_bytes: program.local_bytes(),
        gm_read_bytes,
        gm_write_bytes,
        outputs: results.iter().map(|(_, name, desc)| TensorReport::new(name, desc)).collect(),
        out: output.display().to_string(),
    };
    crate::output::print(format, &report)
}

impl Report for Sim {
    const SCHEMA: &'static str = "ubtile.sim.v1";

    fn text(&self) -> String {
        let Self { program, soc, cores, local_bytes, gm_read_bytes, gm_write_bytes, outputs, out } = self;
        format!(
            "{program} on {cores} cores of {soc}: {local_bytes} bytes of UB, {gm_read_bytes} bytes read, {gm_write_bytes} written\n\
             written to {out}:\n\n{}",
            TensorReport::table(outputs)
        )
    }
}
