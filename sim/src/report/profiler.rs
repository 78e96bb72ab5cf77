//! The tables of the vendor's profiler, with its names. `NA` is what the clock does not model.
//!
//! Where vector cores are cores of their own, each has a row that begins with its place, and columns begin with `aiv_`. Where they are
//! not, columns begin with `aic_`, and one row has the mean of the cores, or of bytes and counts the sum.

mod columns;

use std::io::Write;

use ubtile_tiling::Dtype;

use crate::clock::Profile;
use crate::program::{Program, Tensor};

use super::{Gathered, Lanes};
use columns::{ARITHMETIC, CONFLICTS, Column, DATAS, L2, MEMORY, PIPES, Row, UB};

/// What is not modelled.
const NA: &str = "NA";

/// Names of the tables.
pub const TABLES: [&str; 8] = [
    "OpBasicInfo",
    "PipeUtilization",
    "ArithmeticUtilization",
    "Memory",
    "MemoryUB",
    "L2Cache",
    "ResourceConflictRatio",
    "op_summary",
];

/// What the tables say of a run beside its numbers.
#[derive(Clone, Debug)]
pub struct Described<'a> {
    /// The operator's name.
    pub name: &'a str,
    /// The clock that the product has when nothing is changed.
    pub rated_mhz: Option<u32>,
}

/// A run whose tables are written.
#[derive(Debug)]
pub struct Profiler<'a> {
    /// The program.
    pub program: &'a Program,
    /// What its cores are called.
    pub lanes: Lanes,
    /// The run.
    pub profile: &'a Profile,
    /// What its instructions did.
    pub gathered: &'a Gathered,
    /// What else the tables say.
    pub described: Described<'a>,
}

/// Column names and rows.
struct Table {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// A number, or [`NA`] where there is none.
fn number(value: Option<f64>) -> String {
    value.map_or_else(
        || NA.into(),
        |value| if value.fract() == 0.0 { format!("{value:.0}") } else { format!("{value:.6}") },
    )
}

impl Profiler<'_> {
    /// Writes one of [`TABLES`].
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, name: &str, to: impl Write) -> csv::Result<()> {
        let table = match name {
            "OpBasicInfo" => self.basic(),
            "op_summary" => self.summary(),
            "PipeUtilization" => self.pipes(),
            "ArithmeticUtilization" => self.table(&ARITHMETIC, &[]),
            "Memory" => self.table(&MEMORY, &DATAS),
            "MemoryUB" => self.table(&UB, &[]),
            "L2Cache" => self.table(&L2, &[]),
            _ => self.table(&CONFLICTS, &[]),
        };
        let mut writer = csv::Writer::from_writer(to);
        writer.write_record(&table.header)?;
        table.rows.iter().try_for_each(|row| writer.write_record(row))?;
        Ok(writer.flush()?)
    }

    fn rows(&self) -> Vec<Row> {
        let counted = |core: u32| self.gathered.cores.get(core as usize).cloned().unwrap_or_default();
        let one = |core: &crate::clock::CoreTime| Row {
            place: self.lanes.are_separate().then(|| self.lanes.place(core.core)),
            cycles: Profile::cycles(core.ticks),
            us: self.profile.us(core.ticks),
            vector: core.vector,
            scalar: core.scalar,
            mte2: core.mte2,
            mte3: core.mte3,
            counted: counted(core.core),
            cores: 1.0,
        };
        let rows: Vec<Row> = self.profile.cores.iter().map(one).collect();
        if self.lanes.are_separate() { rows } else { rows.into_iter().reduce(Row::and).into_iter().collect() }
    }

    fn table(&self, prefixed: &[Column], plain: &[Column]) -> Table {
        let (prefix, places): (_, &[&str]) =
            if self.lanes.are_separate() { ("aiv_", &["block_id", "sub_block_id"]) } else { ("aic_", &[]) };
        let places = places.iter().map(|name| (*name).to_owned());
        let names = prefixed.iter().map(|(name, _)| format!("{prefix}{name}"));
        let header = places.chain(names).chain(plain.iter().map(|(name, _)| (*name).to_owned())).collect();
        let row = |row: &Row| {
            let place = row.place.into_iter().flat_map(|(core, vector)| [core.to_string(), format!("vector{vector}")]);
            place.chain(prefixed.iter().chain(plain).map(|(_, of)| number(of(row)))).collect()
        };
        Table { header, rows: self.rows().iter().map(row).collect() }
    }

    /// Where vector cores are separate, with what the cube cores did: nothing that is modelled.
    fn pipes(&self) -> Table {
        let mut table = self.table(&PIPES, &[]);
        if self.lanes.are_separate() {
            table.header.splice(2..2, ["aic_time(us)", "aic_total_cycles"].map(str::to_owned));
            for row in &mut table.rows {
                row.splice(2..2, [NA, NA].map(str::to_owned));
            }
        }
        table
    }

    fn basic(&self) -> Table {
        let Described { name, rated_mhz } = &self.described;
        let rated = rated_mhz.map_or_else(|| NA.into(), |mhz| mhz.to_string());
        let duration = number(Some(self.profile.timing.task_us));
        let cores = self.program.source().cores.to_string();
        Table::of([
            ("Op Name", (*name).to_owned()),
            ("Op Type", (*name).to_owned()),
            ("Task Duration(us)", duration),
            ("Block Dim", cores),
            ("Mix Block Dim", NA.into()),
            ("Device ID", NA.into()),
            ("PID", NA.into()),
            ("Current Freq", self.profile.mhz.to_string()),
            ("Rated Freq", rated),
        ])
    }

    fn summary(&self) -> Table {
        let tensors = &self.program.source().tensors;
        let some = |which: fn(&Tensor) -> bool| tensors.iter().filter(move |tensor| which(tensor));
        let (given, results) = (|t: &Tensor| t.role.is_given(), |t: &Tensor| t.role.is_result());
        let shapes = |which| join(some(which).map(|tensor| join(tensor.shape.iter().map(u64::to_string), ",")), ";");
        let dtypes = |which| join(some(which).map(|tensor| dtype(tensor.dtype)), ";");
        let formats = |which| join(some(which).map(|_| "ND".to_owned()), ";");
        let kind = if self.lanes.are_separate() { "AI_VECTOR_CORE" } else { "AI_CORE" };
        Table::of([
            ("Op Name", self.described.name.into()),
            ("OP Type", self.described.name.into()),
            ("Task Type", kind.into()),
            ("Task Start Time(us)", NA.into()),
            ("Task Duration(us)", number(Some(self.profile.timing.task_us))),
            ("Task Wait Time(us)", NA.into()),
            ("Block Dim", self.program.source().cores.to_string()),
            ("Input Shapes", shapes(given)),
            ("Input Data Types", dtypes(given)),
            ("Input Formats", formats(given)),
            ("Output Shapes", shapes(results)),
            ("Output Data Types", dtypes(results)),
            ("Output Formats", formats(results)),
        ])
    }
}

impl Table {
    /// With one row.
    fn of<const N: usize>(columns: [(&str, String); N]) -> Self {
        let (header, row) = columns.into_iter().map(|(name, value)| (name.to_owned(), value)).unzip();
        Self { header, rows: vec![row] }
    }
}

fn join(parts: impl Iterator<Item = String>, separator: &str) -> String {
    parts.collect::<Vec<_>>().join(separator)
}

/// A dtype as profilers write it.
fn dtype(dtype: Dtype) -> String {
    match dtype {
        Dtype::F16 => "FLOAT16".into(),
        Dtype::Bf16 => "DT_BF16".into(),
        Dtype::F32 => "FLOAT".into(),
        Dtype::F64 => "DOUBLE".into(),
        Dtype::C64 => "COMPLEX64".into(),
        Dtype::C128 => "COMPLEX128".into(),
        Dtype::I8 => "INT8".into(),
        Dtype::U8 => "UINT8".into(),
        Dtype::I16 => "INT16".into(),
        Dtype::I32 => "INT32".into(),
        Dtype::I64 => "INT64".into(),
        Dtype::Bool => "BOOL".into(),
    }
}
