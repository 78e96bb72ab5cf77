//! `ubtile` alone: all four operators on this machine, timed and checked against the naive reference, and simulated on every product.

mod case;
mod on_product;

use std::fmt::Write as _;
use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;
use ubtile_kernels::Level;
use ubtile_sim::report::{Folder, tour as page};
use ubtile_testkit::{Data, compare, problems};
use ubtile_tiling::{Operator, PlanOptions, Problem, Product, TargetSpec, TensorSlot};

use crate::commands::plan::count_tiles;
use crate::compute::compute;
use crate::error::Error;
use crate::invocation;
use crate::output::{self, Format, Report, sizes};
use crate::progress::Progress;
use crate::stopwatch::{Times, time};
use crate::threads::Threads;

use case::{Case, case};
use on_product::{OnProduct, on_every_product};

/// Timed calls, of which the fastest counts.
const CALLS: usize = 20;

/// All operators on this machine and on every product.
#[derive(Serialize, JsonSchema)]
pub(super) struct Tour {
    level: &'static str,
    threads: usize,
    operators: Vec<Row>,
}

#[derive(Serialize, JsonSchema)]
struct Row {
    operator: &'static str,
    problem: String,
    /// The fastest of twenty calls, after a tenth of a second of untimed ones.
    time_ms: f64,
    /// Of the inputs and outputs, each counted once.
    bytes: usize,
    gb_per_s: f64,
    workspace_bytes: usize,
    tiles: Option<usize>,
    agrees: bool,
    agreement: String,
    /// On the usual SoC of each product line, in their order.
    products: Vec<OnProduct>,
}

/// Computes, checks, simulates, prints; and saves the report to a folder.
pub(crate) fn run(folder: Option<&Path>, format: Format) -> Result<(), Error> {
    let (level, threads) = (Level::detect(), Threads::available());
    let mut operators = Vec::new();
    for operator in Operator::ALL {
        let _progress = Progress::new(format!("checking {operator}"));
        operators.push(row(&case(operator)?, level, threads)?);
    }
    let wrong: Vec<_> = operators.iter().filter(|row| !row.agrees).map(|row| row.operator).collect();
    let wrong = (!wrong.is_empty()).then(|| wrong.join(", "));
    let tour = Tour { level: level.name(), threads: threads.0.get(), operators };
    if let Some(path) = folder {
        let (report, folder) = (output::json(&tour)?, Folder::create(path)?);
        folder.text("report.json", &report)?;
        folder.text("report.html", &page(&output::value(&tour)?, &invocation::command()))?;
        folder.keep()?;
    }
    output::print(format, &tour)?;
    match wrong {
        Some(wrong) => Err(Error::Check(format!("{wrong}: the result disagrees with the reference"))),
        None => Ok(()),
    }
}

fn row(case: &Case, level: Level, threads: Threads) -> Result<Row, Error> {
    let Case { problem, inputs, expected } = case;
    let plan = ubtile_tiling::plan(problem, &TargetSpec::host(threads.0.get()), &PlanOptions::default())
        .map_err(|e| Error::Unusable(e.to_string()))?;
    let slots: Vec<_> = problem.tensors().collect();
    let mut results: Vec<(TensorSlot, Data)> =
        slots.iter().filter(|slot| slot.output).map(|slot| (*slot, problems::output(Some(*slot)))).collect();
    let workspace_bytes = plan.workspace_bytes();
    let mut workspace = vec![0; workspace_bytes];

    let inputs: Vec<_> = slots
        .iter()
        .filter_map(|slot| Some((*slot, inputs.iter().find(|(tensor, _)| *tensor == slot.tensor)?.1.bytes())))
        .collect();
    let mut outputs: Vec<_> = results.iter_mut().map(|(slot, data)| (*slot, data.bytes_mut())).collect();
    let Times { min: time_ms, .. } = threads.sharing(&plan).awake(|team| {
        time(CALLS, || compute(&plan, level, team, &inputs, &mut outputs, &mut workspace).map_err(Error::from))
    })?;
    let bytes = slots.iter().map(|slot| slot.span.saturating_mul(slot.dtype.size())).sum();

    let (mut agrees, mut agreement) = (true, Vec::new());
    for (tensor, expected) in expected {
        let Some((_, result)) = results.iter().find(|(slot, _)| slot.tensor == *tensor) else { continue };
        let verdict = match compare(result, expected) {
            Ok(report) if report.relative + report.small == 0 => format!("{tensor} equal in bits"),
            Ok(report) => {
                let error = report.worst.and_then(|worst| worst.error).unwrap_or(0.0);
                format!("{tensor} max error {error:.1e}")
            }
            Err(mismatch) => {
                agrees = false;
                format!("{tensor} DISAGREES: {mismatch}")
            }
        };
        agreement.push(verdict);
    }
    Ok(Row {
        operator: problem.operator().name(),
        problem: describe(problem),
        time_ms,
        bytes,
        gb_per_s: bytes as f64 / time_ms / 1e6,
        workspace_bytes,
        tiles: count_tiles(&plan),
        agrees,
        agreement: agreement.join(", "),
        products: on_every_product(problem)?,
    })
}

/// Dtype and shapes: `f32 grad_output 2x32x64x64 -> out 2x3x4x5`.
fn describe(problem: &Problem) -> String {
    let slots: Vec<_> = problem.tensors().collect();
    let list = |output: bool| {
        let of = slots.iter().filter(|slot| slot.output == output);
        of.map(|slot| format!("{} {}", slot.tensor, sizes(slot.shape.as_slice()))).collect::<Vec<_>>().join(", ")
    };
    format!("{} -> {}", list(false), list(true))
}

impl Report for Tour {
    const SCHEMA: &'static str = "ubtile.tour.v1";

    fn text(&self) -> String {
        let here = self.operators.iter().map(|row| format!("{:.1}", row.time_ms * 1e3));
        let mut rows =
            vec![[format!("this one: {}, threads {}", self.level, self.threads)].into_iter().chain(here).collect()];
        for (at, product) in Product::ALL.into_iter().enumerate() {
            let runs = || self.operators.iter().filter_map(|row| row.products.get(at));
            let soc = runs().next().map_or("", |run| run.soc);
            rows.push([format!("{product}: {soc}")].into_iter().chain(runs().map(OnProduct::cell)).collect::<Vec<_>>());
        }
        let header = ["us"].into_iter().chain(self.operators.iter().map(|row| row.operator));
        let mut text = String::from(
            "The four operators in f32: computed on this machine and held against the reference, simulated on Ascends.\n\n",
        );
        text += &output::table(header.collect::<Vec<_>>(), rows);
        let _ = writeln!(
            text,
            "\nHere it is the fastest of {CALLS} calls, after a tenth of a second of untimed ones, on data that fits a cache. On an Ascend it is\n\
             ubtile's own program, not the vendor's kernel, and beside the time stands what bounds it (docs/command.md); in brackets where the\n\
             vendor has no AI Core kernel. The numbers behind these times are guesses in part (docs/accuracy.md).\n"
        );
        for row in &self.operators {
            let Row { operator, problem, agreement, bytes, gb_per_s, workspace_bytes, .. } = row;
            let _ = writeln!(text, "- {operator}: {problem}");
            let mb = *bytes as f64 / 1e6;
            let _ =
                writeln!(text, "  {mb:.1} MB at {gb_per_s:.1} GB/s, workspace {workspace_bytes} bytes; {agreement}");
        }
        text += "\nNext: ubtile ops, ubtile plan OP --help, ubtile run OP --help, ubtile sim OP --help.\n";
        text
    }
}
