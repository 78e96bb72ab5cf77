//! `ubtile compare`: two results, and whether the second is slower.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use ubtile_sim::report::{Folder, comparison as page};

use crate::args::CompareArgs;
use crate::error::Error;
use crate::invocation;
use crate::output::{self, Format, Report};
use crate::results::{NUMBERS, TASK, read};

/// Two results, and what differs.
#[derive(Serialize, JsonSchema)]
pub(super) struct Comparison {
    before: String,
    after: String,
    threshold_percent: f64,
    regression: bool,
    differences: Vec<Difference>,
    /// What two results of `sim` are of, where it is not the same: any of program, scheme, soc, product, model_hash, l2_start.
    conditions: Vec<Condition>,
}

/// What two results are of, and do not have in common.
#[derive(Serialize, JsonSchema)]
struct Condition {
    name: &'static str,
    /// `None` where it does not say.
    before: Option<String>,
    after: Option<String>,
}

/// What decides what was simulated, as JSON of `sim` names it.
const CONDITIONS: [&str; 6] = ["program", "scheme", "soc", "product", "model_hash", "l2_start"];

/// The conditions that differ.
fn conditions(before: &Value, after: &Value) -> Vec<Condition> {
    let text = |value: &Value, name| value.get(name).and_then(Value::as_str).map(str::to_owned);
    let all = CONDITIONS.map(|name| Condition { name, before: text(before, name), after: text(after, name) });
    all.into_iter().filter(|condition| condition.before != condition.after).collect()
}

/// A number of both results.
#[derive(Serialize, JsonSchema)]
struct Difference {
    name: &'static str,
    /// `None` where it does not say.
    before: Option<f64>,
    after: Option<f64>,
    /// From the one to the other, by the first.
    change: Option<f64>,
}

/// Compares, and fails when the second takes longer.
pub(crate) fn run(args: &CompareArgs, format: Format) -> Result<(), Error> {
    if !args.threshold.is_finite() || args.threshold < 0.0 {
        return Err(Error::Usage(format!("--threshold {}: expected a percentage from 0", args.threshold)));
    }
    let [(before, of_before), (after, of_after)] = [read(&args.before)?, read(&args.after)?];
    let differences = NUMBERS.map(|(name, _)| {
        let (before, after) = (before.get(name).copied(), after.get(name).copied());
        let change = before.zip(after).filter(|(before, _)| *before != 0.0).map(|(before, after)| after / before - 1.0);
        Difference { name, before, after, change }
    });
    let (was, is) = (before[TASK], after[TASK]);
    let regression = is > was * (1.0 + args.threshold / 100.0);
    let report = Comparison {
        before: args.before.display().to_string(),
        after: args.after.display().to_string(),
        threshold_percent: args.threshold,
        regression,
        differences: differences.into_iter().filter(|d| d.before.is_some() || d.after.is_some()).collect(),
        conditions: of_before.as_ref().zip(of_after.as_ref()).map_or_else(Vec::new, |(a, b)| conditions(a, b)),
    };
    if let Some(folder) = &args.folder {
        let files = Folder::create(folder)?;
        files.text("report.json", &output::json(&report)?)?;
        files.text("report.txt", &report.text())?;
        let page = page(&output::value(&report)?, of_before.as_ref(), of_after.as_ref(), &invocation::command());
        files.text("report.html", &page)?;
        files.keep()?;
    }
    output::print(format, &report)?;
    if regression {
        let longer = 100.0 * (is / was - 1.0);
        return Err(Error::Regression(format!(
            "{} takes {is:.2} us, {longer:.1} % longer than the {was:.2} us of {}; {} % are allowed",
            report.after, report.before, args.threshold
        )));
    }
    Ok(())
}

impl Report for Comparison {
    const SCHEMA: &'static str = "ubtile.compare.v1";

    fn text(&self) -> String {
        let number =
            |value: Option<f64>| {
                value.map_or("NA".into(), |value| {
                    if value.fract() == 0.0 { format!("{value:.0}") } else { format!("{value:.3}") }
                })
            };
        let change =
            |change: Option<f64>| change.map_or_else(String::new, |change| format!("{:+.1} %", 100.0 * change));
        let row = |d: &Difference| [d.name.to_owned(), number(d.before), number(d.after), change(d.change)];
        let mut text = output::table(["", &self.before, &self.after, "change"], self.differences.iter().map(row));
        if !self.conditions.is_empty() {
            text += "\nThe results are not of the same:\n\n";
        }
        for Condition { name, before, after } in &self.conditions {
            let [before, after] = [before, after].map(|value| value.as_deref().unwrap_or("none"));
            text += &format!("- {name}: {before} and {after}\n");
        }
        text
    }
}
