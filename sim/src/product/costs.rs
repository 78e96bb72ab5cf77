//! What the machine model charges for all that is no vector instruction.

use super::error::ProductError;
use super::graded::Fact;
use super::kinds::{Bytes, Rate};
use super::reader::Reader;

/// Cost of a function on vector registers, on products that have them.
#[derive(Clone, Debug)]
pub struct VectorFunction {
    /// Cycles until the first instruction runs.
    pub startup_cycles: Fact<f64>,
    /// Cycles after the last one.
    pub drain_cycles: Fact<f64>,
    /// Cycles from a load to its use.
    pub load_latency_cycles: Fact<f64>,
    /// Instructions that start in a cycle.
    pub issue_ports: Fact<u32>,
    /// Loads that start in a cycle.
    pub load_ports: Fact<u32>,
    /// Stores that start in a cycle.
    pub store_ports: Fact<u32>,
}

impl VectorFunction {
    pub(super) fn read(reader: &mut Reader) -> Result<Self, ProductError> {
        let mut table = reader.table("vector_function");
        let vector_function = Self {
            startup_cycles: table.fact("startup_cycles")?,
            drain_cycles: table.fact("drain_cycles")?,
            load_latency_cycles: table.fact("load_latency_cycles")?,
            issue_ports: table.fact("issue_ports")?,
            load_ports: table.fact("load_ports")?,
            store_ports: table.fact("store_ports")?,
        };
        table.finish(vector_function)
    }
}

/// Copies between global memory and UB.
#[derive(Clone, Debug)]
pub struct Dma {
    /// Least cycles between two copies of a pipe.
    pub issue_cycles: Fact<f64>,
    /// Nanoseconds from the start of a load to its first byte.
    pub load_latency_ns: Fact<f64>,
    /// Nanoseconds that a store takes beside its transfer.
    pub store_latency_ns: Fact<f64>,
    /// Fastest load of a core that is alone.
    pub load_bytes_per_cycle: Fact<Rate>,
    /// Fastest store of a core that is alone.
    pub store_bytes_per_cycle: Fact<Rate>,
    /// Extra cycles of each further block of a copy.
    pub block_cycles: Fact<f64>,
    /// Share by which a latency is longer or shorter, differently for each copy.
    pub latency_jitter: Fact<f64>,
    /// What a core can have stored before a store has to wait for main memory.
    pub write_buffer_bytes: Fact<Bytes>,
    /// Extra cycles of a store of blocks of 32 to 512 bytes of unaligned length.
    pub unaligned_store_cycles: Fact<f64>,
    /// Rate at which the bytes of one of its blocks come on top.
    pub unaligned_store_bytes_per_cycle: Fact<Rate>,
    /// Cycles of a store below 32 bytes, for each block.
    pub tiny_store_cycles: Fact<f64>,
    /// Cycles that each core of the program adds to them.
    pub tiny_store_cycles_per_core: Fact<f64>,
    /// Cycles that each byte of such a block takes off them.
    pub tiny_store_cycles_less_per_byte: Fact<f64>,
}

impl Dma {
    pub(super) fn read(reader: &mut Reader) -> Result<Self, ProductError> {
        let mut table = reader.table("dma");
        let dma = Self {
            issue_cycles: table.fact("issue_cycles")?,
            load_latency_ns: table.fact("load_latency_ns")?,
            store_latency_ns: table.fact("store_latency_ns")?,
            load_bytes_per_cycle: table.fact("load_bytes_per_cycle")?,
            store_bytes_per_cycle: table.fact("store_bytes_per_cycle")?,
            block_cycles: table.fact("block_cycles")?,
            latency_jitter: table.fact_where("latency_jitter", "a share from 0 to 1", |share| *share <= 1.0)?,
            write_buffer_bytes: table.fact("write_buffer_bytes")?,
            unaligned_store_cycles: table.fact("unaligned_store_cycles")?,
            unaligned_store_bytes_per_cycle: table.fact("unaligned_store_bytes_per_cycle")?,
            tiny_store_cycles: table.fact("tiny_store_cycles")?,
            tiny_store_cycles_per_core: table.fact("tiny_store_cycles_per_core")?,
            tiny_store_cycles_less_per_byte: table.fact("tiny_store_cycles_less_per_byte")?,
        };
        table.finish(dma)
    }
}

/// The scalar unit, in cycles of the core.
#[derive(Clone, Debug)]
pub struct Scalar {
    /// Reading or writing one element of the UB.
    pub ub_access_cycles: Fact<f64>,
    /// An iteration of a loop.
    pub loop_cycles: Fact<f64>,
    /// Any other instruction of its own: arithmetic on registers, a branch.
    pub instruction_cycles: Fact<f64>,
    /// Building the descriptor of a copy or vector instruction.
    pub descriptor_cycles: Fact<f64>,
    /// Size of the data cache, through which it reaches global memory.
    pub dcache_bytes: Fact<Bytes>,
    /// Line of the data cache.
    pub dcache_line_bytes: Fact<Bytes>,
}

impl Scalar {
    pub(super) fn read(reader: &mut Reader) -> Result<Self, ProductError> {
        let mut table = reader.table("scalar");
        let scalar = Self {
            ub_access_cycles: table.fact("ub_access_cycles")?,
            loop_cycles: table.fact("loop_cycles")?,
            instruction_cycles: table.fact("instruction_cycles")?,
            descriptor_cycles: table.fact("descriptor_cycles")?,
            dcache_bytes: table.fact_where("dcache_bytes", "at most 16 MiB", |bytes| *bytes <= Bytes(16 << 20))?,
            dcache_line_bytes: table.piece("dcache_line_bytes")?,
        };
        table.finish(scalar)
    }
}

/// Start of a kernel.
#[derive(Clone, Debug)]
pub struct Launch {
    /// Task time without the slowest core.
    pub outside_core_us: Fact<f64>,
    /// Time of a core before its program runs.
    pub core_start_us: Fact<f64>,
    /// How much later than the one before a core starts.
    pub stagger_us: Fact<f64>,
    /// Start of a kernel on cube and vector cores.
    pub mix_start_us: Fact<f64>,
}

impl Launch {
    pub(super) fn read(reader: &mut Reader) -> Result<Self, ProductError> {
        let mut table = reader.table("launch");
        let launch = Self {
            outside_core_us: table.fact("outside_core_us")?,
            core_start_us: table.fact("core_start_us")?,
            stagger_us: table.fact("stagger_us")?,
            mix_start_us: table.fact("mix_start_us")?,
        };
        table.finish(launch)
    }
}

/// Sums that a copy makes in global memory.
#[derive(Clone, Debug)]
pub struct Atomics {
    /// Requests to the same granule wait for each other.
    pub granule_bytes: Fact<Bytes>,
    /// L2 traffic for each byte.
    pub l2_bytes_factor: Fact<Rate>,
    /// Cycles that a request waits for one before it.
    pub same_granule_cycles: Fact<f64>,
}

impl Atomics {
    pub(super) fn read(reader: &mut Reader) -> Result<Self, ProductError> {
        let mut table = reader.table("atomics");
        let atomics = Self {
            granule_bytes: table.piece("granule_bytes")?,
            l2_bytes_factor: table.fact("l2_bytes_factor")?,
            same_granule_cycles: table.fact("same_granule_cycles")?,
        };
        table.finish(atomics)
    }
}

/// How much longer a repeat takes when its accesses to the UB collide.
#[derive(Clone, Debug)]
pub struct Conflicts {
    /// Two operands in one group.
    pub read_read: Fact<Rate>,
    /// An operand in the bank of the result.
    pub read_write: Fact<Rate>,
}

impl Conflicts {
    pub(super) fn read(reader: &mut Reader) -> Result<Self, ProductError> {
        let mut table = reader.table("conflicts");
        let conflicts = Self { read_read: table.fact("read_read")?, read_write: table.fact("read_write")? };
        table.finish(conflicts)
    }
}
