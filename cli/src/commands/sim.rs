//! `ubtile sim`: an operator or a tile program on a model of an AI Core: how long it takes, or what it computes.

mod operator;
mod refusals;
mod report;
mod saved;
mod timing;

use std::borrow::Cow;
use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;
use ubtile_sim::exec::{Global, Run};
use ubtile_sim::product::Soc;
use ubtile_sim::program::Program;
use ubtile_sim::report::{Failure, Simulated};
use ubtile_tiling::TensorDesc;

use crate::args::{Attributes, SaveArgs, SimArgs, SimOperatorArgs};
use crate::error::Error;
use crate::lowered::{Lowered, Made};
use crate::output::{Format, Report, TensorReport, count};
use crate::program::{self, Loaded};
use crate::progress::Progress;
use crate::settings::warn_of_costs;
use crate::tensors::{Output, Stored};

/// What a program computed.
#[derive(Serialize, JsonSchema)]
pub(super) struct Values {
    program: String,
    soc: String,
    /// Of the product's numbers.
    model_hash: String,
    /// Whose program it is.
    scheme: &'static str,
    /// Of the vendor's scheme: which of its kernels it is.
    tiling_key: Option<usize>,
    cores: u32,
    local_bytes: u32,
    /// Bytes that copies and the scalar unit requested.
    gm_read_bytes: u64,
    gm_write_bytes: u64,
    outputs: Vec<TensorReport>,
    /// Where the outputs are.
    out: String,
}

/// Times the program of a file, or runs it on tensors.
pub(crate) fn run(args: &SimArgs, format: Format) -> Result<(), Error> {
    let Some(output) = &args.output else { return timing::run(args, format) };
    let path = args.program.path();
    let Loaded { program, text, soc, .. } = Loaded::new(&args.program)?;
    warn_of_costs(&args.program.set, &text);
    program::fits(&program, path)?;
    let name = path.display().to_string();
    let mut job = Job { name, soc: &soc, program: &program, results: Vec::new(), lowered: None };
    for (_, name, desc) in program::results(&program)? {
        job.results.push((name.to_owned(), desc));
    }
    job.compute(output, format, |global| match (&args.input, program::given(&program)?.first()) {
        (Some(input), _) => program::fill(input, &program, global),
        (None, Some((_, name, _))) => Err(Error::Usage(format!("--in FILE is needed: the program reads {name}"))),
        (None, None) => Ok(()),
    })
}

/// Plans and lowers an operator, and times its program or runs it on tensors.
pub(crate) fn run_operator(attributes: &Attributes, args: &SimOperatorArgs, format: Format) -> Result<(), Error> {
    let Some(output) = &args.output else { return operator::run(attributes, args, format) };
    let Some(input) = &args.lowered.inputs.input else {
        return Err(Error::Usage("--in FILE is needed: --out is for what the program computes of it".into()));
    };
    warn_of_costs(&args.lowered.place.set, "");
    let lowered = Lowered::new(attributes, &args.lowered)?;
    let (operator, program) = (attributes.operator().name(), lowered.program()?);
    let results = lowered.described.outputs.iter().map(|(tensor, desc)| (tensor.name().to_owned(), *desc)).collect();
    let job = Job { name: operator.into(), soc: &lowered.soc, program, results, lowered: Some(&lowered) };
    job.compute(output, format, |global| lowered.fill(input, global))
}

/// Times a program that failed, the text of a file, and writes what `--output` asks for.
pub(crate) fn save_program(
    (path, text): (&Path, &str),
    soc: &Soc,
    save: &SaveArgs,
    failure: Failure,
) -> Result<(), Error> {
    timing::save(path, text, soc, save, failure)
}

/// Times the program of an operator whose kernel failed and writes what `--output` asks for.
pub(crate) fn save_operator(attributes: &Attributes, args: &SimOperatorArgs, failure: Failure) -> Result<(), Error> {
    operator::save(attributes, args, failure)
}

/// A program to run on tensors.
struct Job<'a> {
    name: String,
    soc: &'a Soc,
    program: &'a Program,
    /// What it writes, in the shapes of the file.
    results: Vec<(String, TensorDesc)>,
    /// Whose it is, of an operator.
    lowered: Option<&'a Lowered>,
}

impl Job<'_> {
    /// Reads, computes, writes.
    fn compute(
        self,
        output: &Path,
        format: Format,
        fill: impl FnOnce(&mut Global) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let Self { name, soc, program, results, lowered } = self;
        let failed = |problem: &str| Error::Unusable(format!("{name}: {problem}"));
        let file = Output::create(output, results.iter().map(|(name, desc)| (name.as_str(), desc.dtype)))?;
        let mut global = Global::new(program).ok_or_else(|| failed("needs more memory than there is"))?;
        fill(&mut global)?;
        let mut run = Run::new(program, global);
        {
            let _progress = Progress::new(format!("running {name}"));
            run.finish().map_err(|halt| failed(&halt.describe(program)))?;
        }
        let mut values = Vec::new();
        for (id, name, _) in program::results(program)? {
            let bytes = run.global().tensor(id);
            let bytes = lowered.map_or(Cow::Borrowed(bytes), |lowered| lowered.restored(name, bytes));
            let found = results.iter().find(|(result, _)| result == name);
            values.extend(found.map(|(_, desc)| (name, *desc, bytes)));
        }
        let stored: Vec<_> = values.iter().map(|(name, desc, bytes)| Stored { name, desc: *desc, bytes }).collect();
        file.save(&stored)?;
        let (gm_read_bytes, gm_write_bytes) = run.moved();
        let made = lowered.and_then(|lowered| lowered.made.as_ref().ok());
        let report = Values {
            program: name,
            soc: soc.name().into(),
            model_hash: soc.model_hash(),
            scheme: made.map_or(Simulated::OWN, Made::scheme),
            tiling_key: made.and_then(|made| made.tiling_key),
            cores: program.source().cores,
            local_bytes: program.local_bytes(),
            gm_read_bytes,
            gm_write_bytes,
            outputs: results.iter().map(|(name, desc)| TensorReport::new(name, desc)).collect(),
            out: output.display().to_string(),
        };
        crate::output::print(format, &report)
    }
}

impl Report for Values {
    const SCHEMA: &'static str = "ubtile.sim.values.v1";

    fn text(&self) -> String {
        let Self { program, soc, cores, local_bytes, gm_read_bytes, gm_write_bytes, outputs, out, .. } = self;
        let cores = count(*cores, "core");
        format!(
            "{program} on {cores} of {soc}: {local_bytes} bytes of UB, {gm_read_bytes} bytes read, {gm_write_bytes} written\n\
             written to {out}:\n\n{}",
            TensorReport::table(outputs)
        )
    }
}
