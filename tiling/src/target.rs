//! The machine that a plan is for, as far as a tiling depends on it.

/// What a tiling needs to know of a machine. A product's SoC becomes one too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TargetSpec {
    /// Name for reports, as on the command line.
    pub name: &'static str,
    /// Cores (threads) that may run shares at the same time; at least 1.
    pub cores: usize,
    /// Bytes of memory that a tile should fit: the unified buffer (UB), or a share of a cache.
    pub local_bytes: usize,
    /// Granularity of local buffers in bytes (32 on every Ascend).
    pub block_bytes: usize,
    /// Bytes that a vector register holds.
    pub vector_bytes: usize,
}

impl TargetSpec {
    /// An ordinary computer with that many threads. A tile should fit half of a small level-2 cache.
    #[must_use]
    pub const fn host(threads: usize) -> Self {
        let cores = if threads == 0 { 1 } else { threads };
        Self { name: "host", cores, local_bytes: 256 * 1024, block_bytes: 64, vector_bytes: 32 }
    }

    /// Small bare-metal hosts by their command-line names; a tile takes a quarter of a usual part's RAM.
    pub const BARE_METAL: [Self; 5] = [
        Self { name: "cortex-m3", cores: 1, local_bytes: 16 * 1024, block_bytes: 4, vector_bytes: 4 },
        Self { name: "cortex-m4", cores: 1, local_bytes: 32 * 1024, block_bytes: 4, vector_bytes: 4 },
        Self { name: "cortex-m33", cores: 1, local_bytes: 64 * 1024, block_bytes: 4, vector_bytes: 4 },
        Self { name: "riscv32imac", cores: 1, local_bytes: 16 * 1024, block_bytes: 4, vector_bytes: 4 },
        Self { name: "cortex-a53", cores: 4, local_bytes: 128 * 1024, block_bytes: 64, vector_bytes: 16 },
    ];

    /// The bare-metal target of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::BARE_METAL.into_iter().find(|t| t.name == name)
    }
}

/// What a caller may ask of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct PlanOptions {
    /// Most bytes of workspace, alignment slack included; `None` for no limit. 0 always works.
    pub workspace_limit: Option<usize>,
    /// Overrides the target's local memory, for other tile sizes.
    pub local_bytes: Option<usize>,
}
