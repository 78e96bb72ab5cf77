//! `ubtile run OP`: compute on this machine.

use schemars::JsonSchema;
use serde::Serialize;
use ubtile_tiling::TensorSlot;

use crate::args::{Attributes, RunArgs};
use crate::compute::compute;
use crate::error::Error;
use crate::output::{self, Format, Report, TensorReport, count};
use crate::planning;
use crate::problem::{Known, problem};
use crate::progress::Progress;
use crate::stopwatch::{Times, time};
use crate::tensors::{Buffer, Bytes, Input, Output, Stored};
use crate::threads::Threads;

/// What was computed.
#[derive(Serialize, JsonSchema)]
pub(super) struct Run {
    operator: &'static str,
    target: String,
    product: Option<&'static str>,
    edition: &'static str,
    level: &'static str,
    /// Those that have had work.
    threads: usize,
    block_dim: usize,
    workspace_bytes: usize,
    outputs: Vec<TensorReport>,
    /// Where the outputs are.
    out: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    time_ms: Option<Times>,
}

/// Reads, computes, writes.
pub(crate) fn run(attributes: &Attributes, args: &RunArgs, format: Format) -> Result<(), Error> {
    let operator = attributes.operator();
    let threads = args.threads.map_or_else(Threads::available, Threads);
    let mut file = Input::open(&args.input)?;
    let described = problem(attributes, &Known::in_file(operator, &mut file)?, &args.contract)?;
    let slots: Vec<_> = described.problem.tensors().collect();
    let busy = threads.busy_with(&described.problem);
    let plan = planning::plan(&described.problem, &args.planning, busy.0)?;
    let output = args.output.as_deref().map(|path| {
        let dtypes = described.outputs.iter().map(|(tensor, desc)| (tensor.name(), desc.dtype));
        Output::create(path, dtypes)
    });
    let output = output.transpose()?;

    let inputs = read(&mut file, slots.iter().filter(|slot| !slot.output))?;
    let inputs: Vec<_> = inputs.iter().map(|(slot, bytes)| (*slot, &**bytes)).collect();
    let mut outputs: Vec<(TensorSlot, Buffer)> = Vec::new();
    for slot in slots.iter().filter(|slot| slot.output) {
        outputs.push((*slot, memory(slot.span.saturating_mul(slot.dtype.size()))?));
    }
    let mut workspace = memory(plan.workspace_bytes())?;

    let (time_ms, threads) = {
        let _progress = Progress::new(format!("computing {operator}"));
        let mut outputs: Vec<_> = outputs.iter_mut().map(|(slot, bytes)| (*slot, &mut **bytes)).collect();
        busy.sharing(&plan).awake(|team| {
            let mut call =
                || compute(&plan, args.level, team, &inputs, &mut outputs, &mut workspace).map_err(Error::from);
            let time_ms = match args.time {
                Some(calls) => Some(time(calls.get(), call)?),
                None => call().map(|()| None)?,
            };
            Ok::<_, Error>((time_ms, team.threads()))
        })?
    };

    if let Some(output) = output {
        let _progress = Progress::new("writing the results");
        let stored = described.outputs.iter().filter_map(|&(tensor, desc)| {
            let (_, bytes) = outputs.iter().find(|(slot, _)| slot.tensor == tensor)?;
            Some(Stored { name: tensor.name(), desc, bytes })
        });
        output.save(&stored.collect::<Vec<_>>())?;
    }
    let report = Run {
        operator: operator.name(),
        target: args.planning.target.clone(),
        product: args.contract.product.map(|product| product.name()),
        edition: args.contract.edition.name(),
        level: args.level.name(),
        threads,
        block_dim: plan.block_dim(),
        workspace_bytes: workspace.len(),
        outputs: described.outputs.iter().map(|(tensor, desc)| TensorReport::new(tensor.name(), desc)).collect(),
        out: args.output.as_ref().map(|path| path.display().to_string()),
        time_ms,
    };
    output::print(format, &report)
}

fn read<'a>(file: &mut Input, slots: impl Iterator<Item = &'a TensorSlot>) -> Result<Vec<(TensorSlot, Bytes)>, Error> {
    let _progress = Progress::new(format!("reading {}", file.path().display()));
    slots.map(|slot| Ok((*slot, file.read(slot.tensor.name())?))).collect()
}

fn memory(bytes: usize) -> Result<Buffer, Error> {
    Buffer::zeroed(bytes).ok_or_else(|| Error::Unusable(format!("there is no memory for {bytes} bytes")))
}

impl Report for Run {
    const SCHEMA: &'static str = "ubtile.run.v1";

    fn text(&self) -> String {
        let Self { operator, target, level, threads, block_dim, workspace_bytes, .. } = self;
        let mut text = format!(
            "{operator}: tiling for {target}, block dim {block_dim}, level {level}, threads {threads}, workspace {workspace_bytes} bytes\n"
        );
        if let Some(Times { calls, min, median, max }) = &self.time_ms {
            let calls = count(*calls as u64, "call");
            // The smallest kernels take some ten nanoseconds.
            let digits = if *min < 0.1 { 6 } else { 3 };
            let [min, median, max] = [min, median, max].map(|time| format!("{time:.digits$} ms"));
            text += &format!("time of {calls}: min {min}, median {median}, max {max}\n");
        }
        if let Some(out) = &self.out {
            text += &format!("written to {out}:\n\n{}", TensorReport::table(&self.outputs));
        }
        text
    }
}
