//! Results that runs have left: JSON of `sim`, a folder of `sim --output`, or a folder of the vendor's profiler.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use serde_json::Value;
use ubtile_sim::report::Simulated;

use crate::error::Error;

/// What a result may say: its name, and how it is found in JSON of `sim`.
pub(crate) const NUMBERS: [(&str, &str); 11] = [
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
/// How long it took, from the launch to the end.
pub(crate) const TASK: &str = "task_us";
const READ: &str = "gm_read_bytes";
const WRITTEN: &str = "gm_write_bytes";

/// The numbers of a result by name, and its JSON where it has one; [`TASK`] is always there.
pub(crate) fn read(path: &Path) -> Result<(BTreeMap<&'static str, f64>, Option<Value>), Error> {
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
        Some(time) if *time > 0.0 && time.is_finite() => Ok((numbers, json)),
        _ => Err(Error::file(path, "says no time")),
    }
}

fn json(path: &Path) -> Result<Value, Error> {
    let text = fs::read_to_string(path).map_err(|e| Error::file(path, e))?;
    let value: Value = serde_json::from_str(&text).map_err(|e| Error::file(path, e))?;
    if value.is_array() {
        return Err(Error::file(path, "has several results; one is compared with one"));
    }
    let reads = Simulated::SCHEMA;
    match value.get("schema").and_then(Value::as_str) {
        Some(schema) if schema == reads => Ok(value),
        Some(schema) => Err(Error::file(path, format_args!("has the schema '{schema}': this version reads '{reads}'"))),
        None => Err(Error::file(path, format_args!("has no schema: this version reads '{reads}'"))),
    }
}

/// The column of how long a task took.
const DURATION: &str = "Task Duration(us)";

/// The numbers of a table of the vendor's profiler, by the name of their column.
type Columns = BTreeMap<String, Vec<f64>>;

/// A folder of the vendor's profiler, as it writes on a device.
fn profile(folder: &Path) -> Result<BTreeMap<&'static str, f64>, Error> {
    let mut numbers = BTreeMap::new();
    let (basic, tasks) = table(folder, "OpBasicInfo")?.ok_or_else(|| Error::file(folder, "has no OpBasicInfo.csv"))?;
    if tasks > 1 {
        return Err(Error::file(folder, format!("has {tasks} tasks: a folder of one is compared")));
    }
    numbers.extend(basic.get(DURATION).and_then(|times| times.first()).map(|time| (TASK, *time)));
    if let Some((pipes, _)) = table(folder, "PipeUtilization")? {
        // On the inference series the cores' columns have another prefix.
        let column = |name: &str| ["aiv_", "aic_"].iter().find_map(|prefix| pipes.get(&format!("{prefix}{name}")));
        // A core's share of its own cycles, so that of all cores together is a mean by these.
        let cycles = pipes.get("aiv_total_cycles");
        let mean = |name: &str| {
            let shares = column(name)?;
            let weights = cycles.filter(|cycles| cycles.len() == shares.len() && cycles.iter().sum::<f64>() > 0.0);
            let weight = |core: usize| weights.map_or(1.0, |cycles| cycles[core]);
            let sum: f64 = shares.iter().enumerate().map(|(core, share)| share * weight(core)).sum();
            Some(sum / (0..shares.len()).map(weight).sum::<f64>())
        };
        // Where a row has the means of all cores, nothing says how long the slowest one took, or how many did anything.
        if let Some(all) = cycles {
            let slowest = all.iter().copied().fold(0.0, f64::max);
            numbers.extend([("cycles", slowest), ("cores_used", all.len() as f64)]);
        }
        for (name, from) in [
            ("vector ratio", "vec_ratio"),
            ("scalar ratio", "scalar_ratio"),
            ("mte2 ratio", "mte2_ratio"),
            ("mte3 ratio", "mte3_ratio"),
        ] {
            numbers.extend(mean(from).map(|ratio| (name, ratio)));
        }
    }
    if let Some((memory, _)) = table(folder, "Memory")? {
        for (name, from) in [(READ, "GM_to_UB_datas(KB)"), (WRITTEN, "UB_to_GM_datas(KB)")] {
            // Of thousandths of a kilobyte; bytes are whole.
            numbers.extend(memory.get(from).map(|all| (name, (all.iter().sum::<f64>() * 1024.0).round())));
        }
    }
    Ok(numbers)
}

/// A table of a folder, which may have something behind its name, and how many rows it has; `None` where there is none. What is no
/// number is left out.
fn table(folder: &Path, name: &str) -> Result<Option<(Columns, usize)>, Error> {
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
    let (mut columns, mut rows) = (Columns::new(), 0);
    for record in reader.records() {
        let record = record.map_err(|e| Error::file(path, e))?;
        if record.len() < header.len() {
            let line = record.position().map_or(0, csv::Position::line);
            return Err(Error::file(path, format!("line {line} has {} of {} fields", record.len(), header.len())));
        }
        rows += 1;
        for (name, field) in header.iter().zip(&record) {
            if let Some(number) = field.parse().ok().filter(|number: &f64| number.is_finite()) {
                columns.entry(name.into()).or_default().push(number);
            }
        }
    }
    Ok(Some((columns, rows)))
}
