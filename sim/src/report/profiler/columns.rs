//! What the columns of the profiler's tables are of a core, or of all cores as one.

use crate::clock::{Accesses, PipeTicks, Profile};

use super::super::Counted;

fn by(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

/// What a row is of: a core, or all of them as one.
pub(super) struct Row {
    pub(super) place: Option<(u32, u32)>,
    /// Cycles of the core; of several, the mean.
    pub(super) cycles: f64,
    pub(super) us: f64,
    pub(super) vector: PipeTicks,
    pub(super) scalar: PipeTicks,
    pub(super) mte2: PipeTicks,
    pub(super) mte3: PipeTicks,
    pub(super) counted: Counted,
    /// As many as are in it.
    pub(super) cores: f64,
}

/// Column without its prefix, and what it is of a row.
pub(super) type Column = (&'static str, fn(&Row) -> Option<f64>);

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

    /// Two as one.
    pub(super) fn and(self, other: Self) -> Self {
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

pub(super) const PIPES: [Column; 13] = [
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

pub(super) const ARITHMETIC: [Column; 7] = [
    ("vec_ratio", |row| row.ratio(row.vector.busy)),
    ("vec_fp32_ratio", |row| row.ratio(row.counted.fp32)),
    ("vec_fp16_ratio", |row| row.ratio(row.counted.fp16)),
    ("vec_int32_ratio", |row| row.ratio(row.counted.int32)),
    ("vec_int16_ratio", |row| row.ratio(row.counted.int16)),
    ("vec_misc_ratio", |row| row.ratio(row.counted.misc)),
    ("vec_fops", |row| Some(row.counted.float_lanes as f64)),
];

pub(super) const MEMORY: [Column; 6] = [
    ("ub_to_gm_bw(GB/s)", |row| row.bandwidth(row.counted.writes.written)),
    ("gm_to_ub_bw(GB/s)", |row| row.bandwidth(row.counted.reads.read)),
    ("main_mem_read_bw(GB/s)", |row| row.bandwidth(row.accesses().map(|a| a.memory_read).iter().sum())),
    ("main_mem_write_bw(GB/s)", |row| row.bandwidth(row.accesses().map(|a| a.memory_written).iter().sum())),
    ("mte2_instructions", |row| Some(row.mte2.instructions as f64)),
    ("mte3_instructions", |row| Some(row.mte3.instructions as f64)),
];

/// Those that have no prefix.
pub(super) const DATAS: [Column; 6] = [
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

pub(super) const UB: [Column; 4] = [
    ("ub_read_bw_vector(GB/s)", |row| row.bandwidth(row.counted.vector_read)),
    ("ub_write_bw_vector(GB/s)", |row| row.bandwidth(row.counted.vector_written)),
    ("ub_read_bw_scalar(GB/s)", |row| row.bandwidth(row.counted.scalar_read)),
    ("ub_write_bw_scalar(GB/s)", |row| row.bandwidth(row.counted.scalar_written)),
];

/// The model has one way to L2, so there is no second one to read through.
pub(super) const L2: [Column; 9] = [
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
pub(super) const CONFLICTS: [Column; 8] = [
    ("vec_total_cflt_ratio", |row| row.ratio(row.counted.conflicts)),
    ("vec_bankgroup_cflt_ratio", |_| None),
    ("vec_bank_cflt_ratio", |_| None),
    ("vec_resc_cflt_ratio", |_| None),
    ("vec_mte_cflt_ratio", |_| None),
    ("vec_wait_ratio", |row| row.ratio(row.vector.waited)),
    ("mte2_wait_ratio", |row| row.ratio(row.mte2.waited)),
    ("mte3_wait_ratio", |row| row.ratio(row.mte3.waited)),
];
