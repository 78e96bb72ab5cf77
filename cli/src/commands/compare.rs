//! `ubtile compare`: two results, and whether the second is slower.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use ubtile_sim::report::{Folder, comparison as page};

use crate::args::CompareArgs;
use crate::error::Error;
use crate::invocation;
use crate::output::{self, Format, Report};

/// Two results, and what differs.
#[derive(Serialize, JsonSchema)]
pub(super) struct Comparison {
    before: String,
    after: String,
    threshold_percent: f64,
    regression: bool,
    differences: Vec<Difference>,
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

/// What is compared: its name, and how it is found in JSON of `sim`.
const NUMBERS: [(&str, &str); 11] = [
    (TASK, "/task_us"),
    ("cycles", "/cycles"),
    ("cores_used", "/cores_used"),
    ("vector ratio", "/pipes/vector/ratio"),
    ("scalar ratio", "/pipes/scalar/ratio"),
    ("mte2 ratio", "/pipes/mte2/ratio"),
    ("mte3 ratio", "/pipes/mte3/ratio"),
    (READ, "/gm_read_bytes"),
    (WRITTEN, "/gm_write_bytes"),
    ("hbm_bytes", "/hbm/bytes"),
    ("l2_hit_ratio", "/l2_hit_ratio"),
];
const TASK: &str = "task_us";
const READ: &str = "gm_read_bytes";
const WRITTEN: &str = "gm_write_bytes";

/// Compares, and fails when the second takes longer.
pub(crate) fn run(args: &CompareArgs, format: Format) -> Result<(), Error> {
    if args.threshold.is_nan() || args.threshold < 0.0 {
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

/// The numbers of a result by name, and its JSON where it has one; [`TASK`] is always there.
fn read(path: &Path) -> Result<(BTreeMap<&'static str, f64>, Option<Value>), Error> {
    let report = path.join("report.json");
    let file = if path.is_dir() { Some(report.as_path()).filter(|report| report.is_file()) } else { Some(path) };
    let (numbers, json) = match file {
        None => (profile(path)?, None),
        Some(file) => {
            let json = json(file)?;
            let number = |(name, pointer): &(&'static str, &str)| Some((*name, json.pointer(pointer)?.as_f64()?));
            (NUMBERS.iter().filter_map(number).collect(), Some(json))
        }
    };
    match numbers.get(TASK) {
        Some(time) if *time > 0.0 => Ok((numbers, json)),
        _ => Err(Error::file(path, "says no time")),
    }
}

fn json(path: &Path) -> Result<Value, Error> {
    let text = fs::read_to_string(path).map_err(|e| Error::file(path, e))?;
    let value: Value = serde_json::from_str(&text).map_err(|e| Error::file(path, e))?;
    if value.is_array() {
        return Err(Error::file(path, "has several results; one is compared with one"));
    }
    Ok(value)
}

/// A table of the vendor's profiler: its columns by name.
type Columns = BTreeMap<String, Vec<f64>>;

/// A folder of the vendor's profiler, as it writes on a device.
fn profile(folder: &Path) -> Result<BTreeMap<&'static str, f64>, Error> {
    let mut numbers = BTreeMap::new();
    let basic = table(folder, "OpBasicInfo")?.ok_or_else(|| Error::file(folder, "has no OpBasicInfo.csv"))?;
    let first = |columns: &Columns, name: &str| columns.get(name)?.first().copied();
    numbers.extend(first(&basic, "Task Duration(us)").map(|time| (TASK, time)));
    if let Some(pipes) = table(folder, "PipeUtilization")? {
        // On the inference series the cores' columns have another prefix.
        let column = |name: &str| ["aiv_", "aic_"].iter().find_map(|prefix| pipes.get(&format!("{prefix}{name}")));
        let mean = |name: &str| column(name).map(|all| all.iter().sum::<f64>() / all.len().max(1) as f64);
        numbers.extend(column("total_cycles").map(|all| ("cycles", all.iter().copied().fold(0.0, f64::max))));
        numbers.extend(column("total_cycles").map(|all| ("cores_used", all.len() as f64)));
        for (name, from) in [
            ("vector ratio", "vec_ratio"),
            ("scalar ratio", "scalar_ratio"),
            ("mte2 ratio", "mte2_ratio"),
            ("mte3 ratio", "mte3_ratio"),
        ] {
            numbers.extend(mean(from).map(|ratio| (name, ratio)));
        }
    }
    if let Some(memory) = table(folder, "Memory")? {
        for (name, from) in [(READ, "GM_to_UB_datas(KB)"), (WRITTEN, "UB_to_GM_datas(KB)")] {
            numbers.extend(memory.get(from).map(|all| (name, all.iter().sum::<f64>() * 1024.0)));
        }
    }
    Ok(numbers)
}

/// A table of a folder, which may have something behind its name; `None` where there is none. What is no number is left out.
fn table(folder: &Path, name: &str) -> Result<Option<Columns>, Error> {
    let entries = fs::read_dir(folder).map_err(|e| Error::file(folder, e))?;
    let is_it = |path: &PathBuf| {
        let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let rest = stem.strip_prefix(name);
        path.extension().is_some_and(|extension| extension == "csv")
            && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
    };
    let mut found: Vec<_> = entries.flatten().map(|entry| entry.path()).filter(is_it).collect();
    found.sort();
    let Some(path) = found.first() else { return Ok(None) };
    let file = File::open(path).map_err(|e| Error::file(path, e))?;
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).flexible(true).from_reader(file);
    let header = reader.headers().map_err(|e| Error::file(path, e))?.clone();
    let mut columns = Columns::new();
    for record in reader.records() {
        let record = record.map_err(|e| Error::file(path, e))?;
        for (name, field) in header.iter().zip(&record) {
            if let Ok(number) = field.parse() {
                columns.entry(name.into()).or_default().push(number);
            }
        }
    }
    Ok(Some(columns))
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
        output::table(["", &self.before, &self.after, "change"], self.differences.iter().map(row))
    }
}
