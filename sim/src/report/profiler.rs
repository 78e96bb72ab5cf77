//! The tables of the vendor's profiler, with its names. `NA` is what the clock does not model.
//!
//! Where vector cores are cores of their own, each has a row that begins with its place, and columns begin with `aiv_`. Where they are
//! not, columns begin with `aic_`, and one row has the mean of the cores, or of bytes and counts the sum.

use std::io::Write;

use ubtile_tiling::Dtype;

use crate::clock::{Accesses, PipeTicks, Profile};
use crate::program::{Program, Tensor};

use super::{Counted, Gathered, Lanes};

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

fn by(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

/// What a row is of: a core, or all of them as one.
struct Row {
    place: Option<(u32, u32)>,
    /// Cycles of the core; of several, the mean.
    cycles: f64,
    us: f64,
    vector: PipeTicks,
    scalar: PipeTicks,
    mte2: PipeTicks,
    mte3: PipeTicks,
    counted: Counted,
    /// As many as are in it.
    cores: f64,
}

/// Column without its prefix, and what it is of a row.
type Column = (&'static str, fn(&Row) -> Option<f64>);

impl Row {
    /// A time as a mean of the cores, by that of the core.
    fn ratio(&self, ticks: u64) -> Option<f64> {
        by(Profile::cycles(ticks) / self.cores, self.cycles)
    }

    /// A time as a mean of the cores.
    fn time(&self, ticks: u64) -> Option<f64> {
        by(Profile::cycles(ticks) / self.cores * self.us, self.cycles)
    }

    /// 1e9 bytes a second of a core while it runs.
    fn bandwidth(&self, bytes: u64) -> Option<f64> {
        by(bytes as f64 / self.cores / 1000.0, self.us)
    }

    /// The same while a pipe is busy.
    fn active(&self, bytes: u64, pipe: &PipeTicks) -> Option<f64> {
        by(bytes as f64 / self.cores / 1000.0, self.time(pipe.busy)?)
    }

    /// Memory accesses, both ways.
    fn accesses(&self) -> [&Accesses; 2] {
        [&self.counted.reads, &self.counted.writes]
    }
}

const PIPES: [Column; 13] = [
    ("time(us)", |row| Some(row.us)),
    ("total_cycles", |row| Some(row.cycles)),
    ("vec_time(us)", |row| row.time(row.vector.busy)),
    ("vec_ratio", |row| row.ratio(row.vector.busy)),
    ("scalar_time(us)", |row| row.time(row.scalar.busy)),
    ("scalar_ratio", |row| row.ratio(row.scalar.busy)),
    ("mte2_time(us)", |row| row.time(row.mte2.busy)),
    ("mte2_ratio", |row| row.ratio(row.mte2.busy)),
    ("mte3_time(us)", |row| row.time(row.mte3.busy)),
    ("mte3_ratio", |row| row.ratio(row.mte3.busy)),
    ("icache_miss_rate", |_| None),
    ("mte2_active_bw(GB/s)", |row| row.active(row.counted.reads.read, &row.mte2)),
    ("mte3_active_bw(GB/s)", |row| row.active(row.counted.writes.written, &row.mte3)),
];

const ARITHMETIC: [Column; 7] = [
    ("vec_ratio", |row| row.ratio(row.vector.busy)),
    ("vec_fp32_ratio", |row| row.ratio(row.counted.fp32)),
    ("vec_fp16_ratio", |row| row.ratio(row.counted.fp16)),
    ("vec_int32_ratio", |row| row.ratio(row.counted.int32)),
    ("vec_int16_ratio", |row| row.ratio(row.counted.int16)),
    ("vec_misc_ratio", |row| row.ratio(row.counted.misc)),
    ("vec_fops", |row| Some(row.counted.float_lanes as f64)),
];

const MEMORY: [Column; 6] = [
    ("ub_to_gm_bw(GB/s)", |row| row.bandwidth(row.counted.writes.written)),
    ("gm_to_ub_bw(GB/s)", |row| row.bandwidth(row.counted.reads.read)),
    ("main_mem_read_bw(GB/s)", |row| row.bandwidth(row.accesses().map(|a| a.memory_read).iter().sum())),
    ("main_mem_write_bw(GB/s)", |row| row.bandwidth(row.accesses().map(|a| a.memory_written).iter().sum())),
    ("mte2_instructions", |row| Some(row.mte2.instructions as f64)),
    ("mte3_instructions", |row| Some(row.mte3.instructions as f64)),
];

/// Those that have no prefix.
const DATAS: [Column; 6] = [
    ("read_main_memory_datas(KB)", |row| Some(kilobytes(row.accesses().map(|a| a.memory_read).iter().sum()))),
    ("write_main_memory_datas(KB)", |row| Some(kilobytes(row.accesses().map(|a| a.memory_written).iter().sum()))),
    ("GM_to_UB_datas(KB)", |row| Some(kilobytes(row.counted.reads.read))),
    ("UB_to_GM_datas(KB)", |row| Some(kilobytes(row.counted.writes.written))),
    ("GM_to_UB_bw_usage_rate(%)", |_| None),
    ("UB_to_GM_bw_usage_rate(%)", |_| None),
];

fn kilobytes(bytes: u64) -> f64 {
    bytes as f64 / 1024.0
}

const UB: [Column; 4] = [
    ("ub_read_bw_vector(GB/s)", |row| row.bandwidth(row.counted.vector_read)),
    ("ub_write_bw_vector(GB/s)", |row| row.bandwidth(row.counted.vector_written)),
    ("ub_read_bw_scalar(GB/s)", |row| row.bandwidth(row.counted.scalar_read)),
    ("ub_write_bw_scalar(GB/s)", |row| row.bandwidth(row.counted.scalar_written)),
];

/// The model has one way to L2, so there is no second one to read through.
const L2: [Column; 9] = [
    ("write_cache_hit", |row| Some(row.counted.writes.hits as f64)),
    ("write_cache_miss_allocate", |row| Some(row.counted.writes.misses as f64)),
    ("r0_read_cache_hit", |row| Some(row.counted.reads.hits as f64)),
    ("r0_read_cache_miss_allocate", |row| Some(row.counted.reads.misses as f64)),
    ("r1_read_cache_hit", |_| None),
    ("r1_read_cache_miss_allocate", |_| None),
    ("write_hit_rate(%)", |row| hit_rate(&[&row.counted.writes])),
    ("read_hit_rate(%)", |row| hit_rate(&[&row.counted.reads])),
    ("total_hit_rate(%)", |row| hit_rate(&row.accesses())),
];

fn hit_rate(of: &[&Accesses]) -> Option<f64> {
    let hits: u64 = of.iter().map(|a| a.hits).sum();
    let all: u64 = of.iter().map(|a| a.hits + a.misses).sum();
    by(100.0 * hits as f64, all as f64)
}

/// The model counts conflicts of groups and of banks together, and has no others.
const CONFLICTS: [Column; 8] = [
    ("vec_total_cflt_ratio", |row| row.ratio(row.counted.conflicts)),
    ("vec_bankgroup_cflt_ratio", |_| None),
    ("vec_bank_cflt_ratio", |_| None),
    ("vec_resc_cflt_ratio", |_| None),
    ("vec_mte_cflt_ratio", |_| None),
    ("vec_wait_ratio", |row| row.ratio(row.vector.waited)),
    ("mte2_wait_ratio", |row| row.ratio(row.mte2.waited)),
    ("mte3_wait_ratio", |row| row.ratio(row.mte3.waited)),
];

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

impl Row {
    /// Two as one.
    fn and(self, other: Self) -> Self {
        let cores = self.cores + other.cores;
        let mean = |a: f64, b: f64| (a * self.cores + b * other.cores) / cores;
        let (cycles, us) = (mean(self.cycles, other.cycles), mean(self.us, other.us));
        let pipe = |a: PipeTicks, b: PipeTicks| PipeTicks {
            busy: a.busy + b.busy,
            waited: a.waited + b.waited,
            instructions: a.instructions + b.instructions,
        };
        Self {
            place: None,
            cycles,
            us,
            vector: pipe(self.vector, other.vector),
            scalar: pipe(self.scalar, other.scalar),
            mte2: pipe(self.mte2, other.mte2),
            mte3: pipe(self.mte3, other.mte3),
            counted: self.counted.and(&other.counted),
            cores,
        }
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
