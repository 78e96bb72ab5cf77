//! The machine that a plan is for, as far as a tiling depends on it.

use crate::Dtype;

/// What a tiling needs to know of a machine. A product's SoC becomes one too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TargetSpec {
    /// Cores (threads) that may run shares at the same time; 0 counts as 1. A plan is for 65536 at most.
    pub cores: usize,
    /// Bytes of memory that a tile should fit: the unified buffer (UB), or a share of a cache.
    pub local_bytes: usize,
    /// Granularity of local buffers in bytes (32 on every Ascend); of what is no power of two, the next one is taken.
    pub block_bytes: usize,
    /// Bytes that a vector instruction takes at once: a vector register, or a repeat of 256 bytes on an Ascend.
    pub vector_bytes: usize,
    /// What it can do beyond arithmetic.
    pub capabilities: Capabilities,
}

/// What a machine can do, where machines differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Dtypes that a copy to global memory can add to what is there, atomically.
    pub atomic_add: Dtypes,
    /// Whether a copy between global and local memory may start and end at any byte. Otherwise both are multiples of
    /// [`TargetSpec::block_bytes`].
    pub unaligned_copy: bool,
    /// Whether one instruction loads vector elements from computed local addresses.
    pub gather: bool,
    /// Whether BF16 can be read and written, by conversion to F32 at least.
    pub bf16: bool,
    /// Whether memory is read by lines into a cache, so that elements far apart cost a line each.
    pub caches: bool,
}

impl Capabilities {
    /// An ordinary processor with caches: everything but atomic sums, which its shares do not need as they own their outputs.
    pub const HOST: Self =
        Self { atomic_add: Dtypes::NONE, unaligned_copy: true, gather: true, bf16: true, caches: true };
}

/// A set of dtypes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dtypes(u16);

impl Dtypes {
    /// No dtype.
    pub const NONE: Self = Self(0);

    /// The same set with that dtype in it.
    #[must_use]
    pub const fn with(self, dtype: Dtype) -> Self {
        Self(self.0 | bit(dtype))
    }

    /// Whether the dtype is in the set.
    #[must_use]
    pub const fn contains(self, dtype: Dtype) -> bool {
        self.0 & bit(dtype) != 0
    }
}

impl FromIterator<Dtype> for Dtypes {
    fn from_iter<I: IntoIterator<Item = Dtype>>(dtypes: I) -> Self {
        dtypes.into_iter().fold(Self::NONE, Self::with)
    }
}

const fn bit(dtype: Dtype) -> u16 {
    1 << dtype as u16
}

impl TargetSpec {
    /// An ordinary computer with that many threads. A tile should fit half of a small level-2 cache.
    #[must_use]
    pub const fn host(threads: usize) -> Self {
        let cores = if threads == 0 { 1 } else { threads };
        Self { cores, local_bytes: 256 * 1024, block_bytes: 64, vector_bytes: 32, capabilities: Capabilities::HOST }
    }

    /// Small bare-metal hosts by their command-line names; a tile takes a quarter of a usual part's RAM.
    pub const BARE_METAL: [(&'static str, Self); 5] = [
        ("cortex-m3", Self::bare_metal(1, 16, 4, 4)),
        ("cortex-m4", Self::bare_metal(1, 32, 4, 4)),
        ("cortex-m33", Self::bare_metal(1, 64, 4, 4)),
        ("riscv32imac", Self::bare_metal(1, 16, 4, 4)),
        ("cortex-a53", Self::bare_metal(4, 128, 64, 16)),
    ];

    const fn bare_metal(cores: usize, local_kib: usize, block_bytes: usize, vector_bytes: usize) -> Self {
        // Of these, only the ones with several cores have a data cache.
        let capabilities = Capabilities { caches: cores > 1, ..Capabilities::HOST };
        Self { cores, local_bytes: local_kib * 1024, block_bytes, vector_bytes, capabilities }
    }

    /// The bare-metal target of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::BARE_METAL.into_iter().find_map(|(known, target)| (known == name).then_some(target))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_what_was_put_in() {
        let set: Dtypes = [Dtype::F32, Dtype::C128].into_iter().collect();
        for dtype in Dtype::ALL {
            assert_eq!(set.contains(dtype), dtype == Dtype::F32 || dtype == Dtype::C128, "{dtype}");
            assert!(!Dtypes::NONE.contains(dtype) && Dtypes::NONE.with(dtype).contains(dtype), "{dtype}");
            assert_eq!(Dtypes::NONE.with(dtype).with(dtype), Dtypes::NONE.with(dtype), "{dtype} twice");
        }
    }

    #[test]
    fn bare_metal_targets_have_names() {
        assert_eq!(TargetSpec::from_name("cortex-m4").map(|target| target.local_bytes), Some(32 << 10));
        assert_eq!(TargetSpec::from_name("host"), None);
        let cached = TargetSpec::BARE_METAL.into_iter().filter(|(_, target)| target.capabilities.caches);
        assert_eq!(cached.map(|(name, _)| name).collect::<Vec<_>>(), ["cortex-a53"]);
    }
}
