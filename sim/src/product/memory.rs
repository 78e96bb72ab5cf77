//! Cores, memory, and the rates between them.

use std::num::NonZeroU32;

use super::error::ProductError;
use super::graded::{Fact, Grade, Graded};
use super::kinds::{Bytes, Rate};
use super::parts::Clock;
use super::reader::Reader;

/// How many cores there are.
#[derive(Clone, Debug)]
pub struct Cores {
    /// AI cores; where vector cores are separate, cube cores.
    pub ai: Fact<NonZeroU32>,
    /// Vector cores.
    pub vector: Fact<u32>,
    /// Cores of a kernel that runs on AI and vector cores at once.
    pub mix: Fact<u32>,
    /// Cores that run AICPU operators.
    pub ai_cpu: Fact<u32>,
    /// Whether vector-only kernels run on vector cores, beside the cube cores.
    pub separate: Fact<bool>,
    /// Cores that run vector-only kernels; follows from the others.
    pub vector_units: Fact<NonZeroU32>,
}

impl Cores {
    pub(super) fn read(reader: &mut Reader) -> Result<Self, ProductError> {
        let mut table = reader.table("cores");
        let separate = table.fact("separate")?;
        let are_separate = separate.graded().is_some_and(|graded| graded.value);
        let ai = table.fact("ai")?;
        let vector = table.fact_where("vector", "a whole number from 1, as vector cores are separate", |vector| {
            !are_separate || *vector > 0
        })?;
        let cores = Self {
            mix: table.fact("mix")?,
            ai_cpu: table.fact("ai_cpu")?,
            vector_units: table.fact_or("vector_units", vector_units(&ai, &vector, &separate))?,
            ai,
            vector,
            separate,
        };
        table.finish(cores)
    }
}

fn vector_units(ai: &Fact<NonZeroU32>, vector: &Fact<u32>, separate: &Fact<bool>) -> Option<Graded<NonZeroU32>> {
    let separate = separate.graded()?;
    let (value, grade, source) = if separate.value {
        let vector = vector.graded()?;
        (NonZeroU32::new(vector.value)?, vector.grade, "cores.vector, as they are separate")
    } else {
        let ai = ai.graded()?;
        (ai.value, ai.grade, "cores.ai, as vector cores are not separate")
    };
    Some(Graded { value, grade: Grade::Derived.max(grade).max(separate.grade), source: source.into() })
}

/// Rates of a core in bytes a cycle, as the vendor plans with them: nominal, not measured.
#[derive(Clone, Debug)]
pub struct Rates {
    /// Main memory to the core.
    pub ddr_read: Fact<Rate>,
    /// The core to main memory.
    pub ddr_write: Fact<Rate>,
    /// L2 to the core.
    pub l2_read: Fact<Rate>,
    /// The core to L2.
    pub l2_write: Fact<Rate>,
    /// UB to L2.
    pub ub_to_l2: Fact<Rate>,
    /// UB to main memory.
    pub ub_to_ddr: Fact<Rate>,
    /// UB to L1.
    pub ub_to_l1: Fact<Rate>,
    /// L1 to UB.
    pub l1_to_ub: Fact<Rate>,
    /// L0C to UB.
    pub l0c_to_ub: Fact<Rate>,
}

impl Rates {
    /// Reads `rates` or `vector_core_rates`.
    pub(super) fn read(reader: &mut Reader, name: &'static str) -> Result<Self, ProductError> {
        let mut table = reader.table(name);
        let rates = Self {
            ddr_read: table.fact("ddr_read")?,
            ddr_write: table.fact("ddr_write")?,
            l2_read: table.fact("l2_read")?,
            l2_write: table.fact("l2_write")?,
            ub_to_l2: table.fact("ub_to_l2")?,
            ub_to_ddr: table.fact("ub_to_ddr")?,
            ub_to_l1: table.fact("ub_to_l1")?,
            l1_to_ub: table.fact("l1_to_ub")?,
            l0c_to_ub: table.fact("l0c_to_ub")?,
        };
        table.finish(rates)
    }
}

/// Main memory and L2.
#[derive(Clone, Debug)]
pub struct Memory {
    /// Size of main memory.
    pub bytes: Fact<Bytes>,
    /// Size of L2.
    pub l2_bytes: Fact<Bytes>,
    /// Line of L2.
    pub l2_line_bytes: Fact<Bytes>,
    /// Pieces into which copies are cut.
    pub request_bytes: Fact<Bytes>,
    /// L2 bandwidth of all cores together, in 1e9 bytes a second.
    pub l2_gbps: Fact<Rate>,
    /// Bandwidth of main memory that kernels reach, reads and writes together, in 1e9 bytes a second.
    pub hbm_gbps: Fact<Rate>,
    /// Bandwidth of main memory by its data sheet, in 1e9 bytes a second.
    pub hbm_peak_gbps: Fact<Rate>,
    /// Cycles that a read takes longer when it hits L2.
    pub l2_hit_extra_cycles: Fact<f64>,
    /// Cycles that a read takes longer when it misses L2.
    pub l2_miss_extra_cycles: Fact<f64>,
    /// [`Rates::ddr_read`] of all AI cores, in 1e9 bytes a second.
    pub nominal_ddr_gbps: Fact<Rate>,
    /// [`Rates::l2_read`] of all AI cores, in 1e9 bytes a second.
    pub nominal_l2_read_gbps: Fact<Rate>,
    /// [`Rates::l2_write`] of all AI cores, in 1e9 bytes a second.
    pub nominal_l2_write_gbps: Fact<Rate>,
}

impl Memory {
    pub(super) fn read(reader: &mut Reader, cores: &Cores, clock: &Clock, rates: &Rates) -> Result<Self, ProductError> {
        let mut table = reader.table("memory");
        let nominal_ddr_gbps = table.fact_or("nominal_ddr_gbps", nominal(cores, clock, &rates.ddr_read))?;
        let nominal_l2_read_gbps = table.fact_or("nominal_l2_read_gbps", nominal(cores, clock, &rates.l2_read))?;
        let memory = Self {
            bytes: table.fact("bytes")?,
            l2_bytes: table.fact("l2_bytes")?,
            l2_line_bytes: table.piece("l2_line_bytes")?,
            request_bytes: table.piece("request_bytes")?,
            l2_gbps: table.fact_or("l2_gbps", assumed(&nominal_l2_read_gbps))?,
            hbm_gbps: table.fact_or("hbm_gbps", assumed(&nominal_ddr_gbps))?,
            hbm_peak_gbps: table.fact("hbm_peak_gbps")?,
            l2_hit_extra_cycles: table.fact("l2_hit_extra_cycles")?,
            l2_miss_extra_cycles: table.fact("l2_miss_extra_cycles")?,
            nominal_l2_write_gbps: table.fact_or("nominal_l2_write_gbps", nominal(cores, clock, &rates.l2_write))?,
            nominal_ddr_gbps,
            nominal_l2_read_gbps,
        };
        table.finish(memory)
    }
}

/// What kernels reach, where nobody measured it.
fn assumed(nominal: &Fact<Rate>) -> Option<Graded<Rate>> {
    let value = nominal.graded()?.value;
    Some(Graded { value, grade: Grade::Guess, source: format!("{}: nothing measured", nominal.key()).into() })
}

/// A rate of one core, times the AI cores and the clock.
fn nominal(cores: &Cores, clock: &Clock, rate: &Fact<Rate>) -> Option<Graded<Rate>> {
    let (ai, mhz, one) = (cores.ai.graded()?, clock.core_mhz.graded()?, rate.graded()?);
    let gbps = one.value.get() * f64::from(ai.value.get()) * f64::from(mhz.value.get()) / 1000.0;
    let source = format!("{} x cores.ai x clock.core_mhz", rate.key());
    let grade = Grade::Derived.max(ai.grade).max(mhz.grade).max(one.grade);
    Some(Graded { value: Rate::new(gbps)?, grade, source: source.into() })
}
