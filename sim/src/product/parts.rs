//! What a product is made of.

use std::num::NonZeroU32;

use ubtile_tiling::Product;

use super::error::ProductError;
use super::graded::{Fact, Grade, Graded};
use super::kinds::{Bytes, Element};
use super::reader::Reader;

/// What the vendor calls it.
#[derive(Clone, Debug)]
pub struct Version {
    /// Architecture number that kernels are compiled for, as 2201.
    pub npu_arch: Fact<u32>,
    /// Short SoC version.
    pub short_soc: Fact<String>,
    /// AI Core version.
    pub aic: Fact<String>,
    /// Compiler target of the AI or cube cores.
    pub compiler_aic: Fact<String>,
    /// Compiler target of the vector cores.
    pub compiler_aiv: Fact<String>,
    /// Product lines that carry it, the usual one first.
    pub products: Fact<Vec<Product>>,
}

impl Version {
    pub(super) fn read(reader: &mut Reader) -> Result<Self, ProductError> {
        let mut table = reader.table("version");
        let version = Self {
            npu_arch: table.fact("npu_arch")?,
            short_soc: table.fact("short_soc")?,
            aic: table.fact("aic")?,
            compiler_aic: table.fact("compiler_aic")?,
            compiler_aiv: table.fact("compiler_aiv")?,
            products: table.fact("products")?,
        };
        table.finish(version)
    }
}

/// Clocks in MHz.
#[derive(Clone, Debug)]
pub struct Clock {
    /// Cores that run vector-only kernels.
    pub core_mhz: Fact<NonZeroU32>,
    /// Vector cores, where a source has them apart.
    pub vector_core_mhz: Fact<NonZeroU32>,
    /// What a board was seen to run at.
    pub board_mhz: Fact<NonZeroU32>,
    /// Counter that kernels read for the time.
    pub counter_mhz: Fact<NonZeroU32>,
}

impl Clock {
    pub(super) fn read(reader: &mut Reader) -> Result<Self, ProductError> {
        let mut table = reader.table("clock");
        let clock = Self {
            core_mhz: table.clock("core_mhz")?,
            vector_core_mhz: table.clock("vector_core_mhz")?,
            board_mhz: table.clock("board_mhz")?,
            counter_mhz: table.clock("counter_mhz")?,
        };
        table.finish(clock)
    }
}

/// The unified buffer of a core.
#[derive(Clone, Debug)]
pub struct Ub {
    /// What a kernel may use, as the vendor's tilings are told.
    pub bytes: Fact<Bytes>,
    /// What there is; `bytes`, where nothing else is stated.
    pub physical_bytes: Fact<Bytes>,
    /// What is left beside the framework's own.
    pub plan_bytes: Fact<Bytes>,
    /// Granularity of addresses and of copies.
    pub block_bytes: Fact<Bytes>,
    /// Size of a bank.
    pub bank_bytes: Fact<Bytes>,
    /// Banks.
    pub banks: Fact<NonZeroU32>,
    /// Groups of banks; neighbouring blocks are in neighbouring groups.
    pub bank_groups: Fact<NonZeroU32>,
    /// Reads of a group in a cycle.
    pub group_read_ports: Fact<NonZeroU32>,
}

impl Ub {
    pub(super) fn read(reader: &mut Reader) -> Result<Self, ProductError> {
        let mut table = reader.table("ub");
        let bytes: Fact<Bytes> = table.fact("bytes")?;
        let same = bytes.graded().map(|bytes| Graded {
            value: bytes.value,
            grade: Grade::Derived.max(bytes.grade),
            source: "ub.bytes, as nothing else is stated".into(),
        });
        let ub = Self {
            bytes,
            physical_bytes: table.fact_or("physical_bytes", same)?,
            plan_bytes: table.fact("plan_bytes")?,
            block_bytes: table.fact("block_bytes")?,
            bank_bytes: table.piece("bank_bytes")?,
            banks: table.fact("banks")?,
            bank_groups: table.fact("bank_groups")?,
            group_read_ports: table.fact("group_read_ports")?,
        };
        table.finish(ub)
    }
}

/// Buffers of the cube.
#[derive(Clone, Debug)]
pub struct Buffers {
    /// L1.
    pub l1_bytes: Fact<Bytes>,
    /// L0A.
    pub l0a_bytes: Fact<Bytes>,
    /// L0B.
    pub l0b_bytes: Fact<Bytes>,
    /// L0C.
    pub l0c_bytes: Fact<Bytes>,
}

impl Buffers {
    pub(super) fn read(reader: &mut Reader) -> Result<Self, ProductError> {
        let mut table = reader.table("buffers");
        let buffers = Self {
            l1_bytes: table.fact("l1_bytes")?,
            l0a_bytes: table.fact("l0a_bytes")?,
            l0b_bytes: table.fact("l0b_bytes")?,
            l0c_bytes: table.fact("l0c_bytes")?,
        };
        table.finish(buffers)
    }
}

/// What cores that run vector-only kernels can do.
#[derive(Clone, Debug)]
pub struct Capabilities {
    /// Copies of any length at any address of global memory, padded in the UB.
    pub data_copy_pad: Fact<bool>,
    /// Smallest piece of global memory that a copy may address.
    pub copy_granule_bytes: Fact<NonZeroU32>,
    /// Elements of the UB from computed offsets.
    pub gather: Fact<bool>,
    /// Blocks of the UB from computed offsets.
    pub gather_blocks: Fact<bool>,
    /// Elements of the UB to computed offsets.
    pub scatter: Fact<bool>,
    /// Types that a copy to global memory can add.
    pub atomic_add: Fact<Vec<Element>>,
    /// Memories from which it can.
    pub atomic_add_from: Fact<Vec<String>>,
}

impl Capabilities {
    pub(super) fn read(reader: &mut Reader) -> Result<Self, ProductError> {
        let mut table = reader.table("capabilities");
        let capabilities = Self {
            data_copy_pad: table.fact("data_copy_pad")?,
            copy_granule_bytes: table.fact("copy_granule_bytes")?,
            gather: table.fact("gather")?,
            gather_blocks: table.fact("gather_blocks")?,
            scatter: table.fact("scatter")?,
            atomic_add: table.fact("atomic_add")?,
            atomic_add_from: table.fact("atomic_add_from")?,
        };
        table.finish(capabilities)
    }
}

/// Queues, flags and barriers.
#[derive(Clone, Debug)]
pub struct Sync {
    /// Instructions that wait in front of a pipe.
    pub queue_depth: Fact<NonZeroU32>,
    /// Flags between two pipes.
    pub event_ids: Fact<NonZeroU32>,
    /// How many of them the framework keeps.
    pub event_ids_reserved: Fact<u32>,
    /// Cycles to set or wait for a flag that is ready.
    pub flag_cycles: Fact<f64>,
    /// A barrier of all cores by software.
    pub sync_all_soft: Fact<bool>,
    /// A barrier of all cores by hardware.
    pub sync_all_hard: Fact<bool>,
    /// What the one by software takes.
    pub sync_all_soft_us: Fact<f64>,
    /// What the one by hardware takes.
    pub sync_all_hard_us: Fact<f64>,
    /// Flags between cores.
    pub cross_core_flags: Fact<bool>,
    /// How many.
    pub cross_core_flag_ids: Fact<u32>,
    /// How often one can be set without a wait.
    pub cross_core_flag_limit: Fact<u32>,
}

impl Sync {
    pub(super) fn read(reader: &mut Reader) -> Result<Self, ProductError> {
        let mut table = reader.table("sync");
        let sync = Self {
            queue_depth: table.fact_where("queue_depth", "1 to 65536", |depth: &NonZeroU32| depth.get() <= 1 << 16)?,
            event_ids: table.fact_where("event_ids", "at most 16", |ids: &NonZeroU32| ids.get() <= 16)?,
            event_ids_reserved: table.fact("event_ids_reserved")?,
            flag_cycles: table.fact("flag_cycles")?,
            sync_all_soft: table.fact("sync_all_soft")?,
            sync_all_hard: table.fact("sync_all_hard")?,
            sync_all_soft_us: table.fact("sync_all_soft_us")?,
            sync_all_hard_us: table.fact("sync_all_hard_us")?,
            cross_core_flags: table.fact("cross_core_flags")?,
            cross_core_flag_ids: table.fact("cross_core_flag_ids")?,
            cross_core_flag_limit: table.fact("cross_core_flag_limit")?,
        };
        table.finish(sync)
    }
}

/// Workspace that the vendor's libraries keep for themselves.
#[derive(Clone, Debug)]
pub struct LibraryWorkspace {
    /// What the host's query answers.
    pub library_bytes: Fact<Bytes>,
    /// What the kernel's header reserves.
    pub kernel_bytes: Fact<Bytes>,
}

impl LibraryWorkspace {
    pub(super) fn read(reader: &mut Reader) -> Result<Self, ProductError> {
        let mut table = reader.table("workspace");
        let workspace = Self { library_bytes: table.fact("library_bytes")?, kernel_bytes: table.fact("kernel_bytes")? };
        table.finish(workspace)
    }
}
