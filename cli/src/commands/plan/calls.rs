//! `ubtile plan --calls`: every call of the four operators in a profiler's list, each distinct one planned once.

use clap::Parser;
use schemars::JsonSchema;
use serde::Serialize;
use ubtile_sim::report::Folder;

use super::make::make;
use super::report::Plan;
use crate::args::{CallsArgs, Cli, Command, Products};
use crate::error::Error;
use crate::invocation;
use crate::op_summary::{Call, Summary};
use crate::output::{self, Format, Report};
use crate::place::Place;
use crate::problem::Known;
use crate::progress::Progress;
use crate::threads::Threads;

/// The plans of a list of calls.
#[derive(Serialize, JsonSchema)]
pub(in crate::commands) struct Calls {
    soc: Option<String>,
    /// Rows of the list that call something else.
    skipped_rows: usize,
    calls: Vec<Planned>,
}

/// A call that appears at least once.
#[derive(Serialize, JsonSchema)]
struct Planned {
    /// Its first row, counted as lines of the file.
    line: u64,
    name: String,
    /// How often it is called.
    count: usize,
    /// What its rows took on the device together, if the list says it.
    device_us: Option<f64>,
    /// The same plan by hand.
    command: String,
    /// What the list does not say and was assumed.
    assumed: Vec<String>,
    error: Option<String>,
    plan: Option<Plan>,
}

/// Reads, plans, prints.
pub(crate) fn run(args: &CallsArgs, format: Format) -> Result<(), Error> {
    let Some(path) = &args.calls else { return Err(Error::Usage("--calls FILE.csv is missing".into())) };
    if args.place.product == Some(Products::All) {
        return Err(Error::Usage("--product all compares one problem: plan a list for one product".into()));
    }
    let progress = Progress::new(format!("reading {}", path.display()));
    let summary = Summary::read(path)?;
    let place = Place::one(&args.place, Threads::available().0)?;
    let total = summary.calls.len();
    let mut calls = Vec::new();
    for (i, call) in summary.calls.into_iter().enumerate() {
        progress.say(format!("planning call {} of {total}", i + 1));
        calls.push(planned(call, &place, args));
    }
    drop(progress);
    if calls.is_empty() {
        let rows = summary.skipped_rows;
        let none = match rows {
            1 => "its row does not call one of the four operators".to_owned(),
            _ => format!("none of its {rows} rows calls one of the four operators"),
        };
        return Err(Error::file(path, none));
    }
    let soc = if let Place::Soc(on) = &place { Some(on.soc.name().into()) } else { None };
    let report = Calls { soc, skipped_rows: summary.skipped_rows, calls };
    if let Some(folder) = &args.output {
        let files = Folder::create(folder)?;
        files.text("plan.json", &output::json(&report)?)?;
        files.text("plan.txt", &report.text())?;
        files.keep()?;
    }
    output::print(format, &report)?;
    // Some lines are of use without the others; none is a list that is not usable.
    let first = report.calls.first().filter(|_| report.calls.iter().all(|call| call.plan.is_none()));
    first.map_or(Ok(()), |Planned { line, error, .. }| {
        let (calls, error) = (report.calls.len(), error.as_deref().unwrap_or_default());
        Err(Error::file(path, format_args!("none of its {calls} calls can be planned; line {line}: {error}")))
    })
}

fn planned(call: Call, place: &Place, args: &CallsArgs) -> Planned {
    let Call { line, name, count, device_us, words, assumed } = call;
    let command = words.as_ref().map_or_else(
        |_| String::new(),
        |words| invocation::line(&words.iter().cloned().chain(args.place.words()).collect::<Vec<_>>()),
    );
    let plan = words.and_then(|words| plan(&words, place, args).map_err(|e| e.to_string()));
    let (plan, error) = match plan {
        Ok(plan) => (Some(plan), None),
        Err(error) => (None, Some(error)),
    };
    Planned { line, name, count, device_us, command, assumed, error, plan }
}

/// Plans what a command line says, on the list's machine.
fn plan(words: &[String], place: &Place, args: &CallsArgs) -> Result<Plan, Error> {
    let usage = |e: clap::Error| {
        let text = e.render().to_string();
        Error::Usage(text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned())
    };
    let of_list = |word: &&String| matches!(word.split('=').next(), Some("--format" | "--output" | "--help" | "-h"));
    if let Some(word) = words.iter().find(of_list) {
        return Err(Error::Usage(format!("{word} is no attribute: it is said of the whole list")));
    }
    let cli = Cli::try_parse_from(words).map_err(usage)?;
    let Some(Command::Plan { operator: Some(operator), .. }) = cli.command else {
        return Err(Error::Usage("no operator".into()));
    };
    let (attributes, own) = operator.split();
    if let Some(word) = own.place.words().first() {
        return Err(Error::Usage(format!("{word} is no attribute: it is said of the whole list")));
    }
    let known = Known::new(attributes.operator(), &own.inputs)?;
    make(&attributes, &known, place, &args.place, false)
}

impl Report for Calls {
    const SCHEMA: &'static str = "ubtile.plan.calls.v1";

    fn text(&self) -> String {
        let number = |n: Option<String>| n.unwrap_or_else(|| "-".into());
        let rows = self.calls.iter().map(|call| {
            let plan = call.plan.as_ref();
            let shapes = plan.map_or_else(
                || "-".to_owned(),
                |plan| plan.tensors.iter().map(|t| output::sizes(t.shape())).take(3).collect::<Vec<_>>().join(" "),
            );
            vec![
                call.line.to_string(),
                call.count.to_string(),
                plan.map_or_else(|| call.name.clone(), |plan| plan.operator.to_owned()),
                shapes,
                number(plan.and_then(|p| p.tensors.first()).map(|t| t.dtype().to_owned())),
                number(plan.and_then(|p| p.vendor_route).map(String::from)),
                number(plan.and_then(|p| p.scheme).map(String::from)),
                number(plan.and_then(|p| p.tiling_key).map(|n| n.to_string())),
                number(plan.and_then(|p| p.block_dim).map(|n| n.to_string())),
                number(plan.and_then(|p| p.workspace_bytes).map(|n| n.to_string())),
                number(plan.and_then(|p| p.aclnn_workspace_bytes).map(|n| n.to_string())),
            ]
        });
        let header = [
            "line",
            "calls",
            "operator",
            "tensors",
            "dtype",
            "vendor",
            "scheme",
            "key",
            "block dim",
            "workspace",
            "aclnn",
        ];
        let mut text = output::table(header, rows);
        let mut notes = String::new();
        for call in &self.calls {
            for assumed in &call.assumed {
                notes += &format!("- line {}: assumed {assumed}\n", call.line);
            }
            if let Some(error) = &call.error {
                notes += &format!("- line {}: {error}\n", call.line);
            }
        }
        if !notes.is_empty() {
            text += &format!("\n{notes}");
        }
        if self.skipped_rows > 0 {
            let rows = if self.skipped_rows == 1 { "row calls" } else { "rows call" };
            text += &format!("\n{} {rows} something else\n", self.skipped_rows);
        }
        text
    }
}
