//! Kinds of processors, and what was measured on each.

use core::arch::x86_64::{__cpuid, __cpuid_count};

use super::has;
use crate::simd::{Cache, Habits};

/// A kind of processor that differs from others in something that was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Processor {
    /// AMD's of family 1Ah, as Zen 5.
    Zen5,
    /// AMD's of other families; of these Zen 4 has AVX-512.
    Amd,
    /// Others that have AVX512-FP16, as Intel's from Sapphire Rapids on.
    SapphireRapids,
    /// All others.
    Other,
}

/// What was measured to gain by AVX-512 on a processor that has it, or is asked to take it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gains {
    /// Im2col of F16 and BF16.
    Halves,
    /// Im2col.
    Im2col,
    /// The grid sampler as well.
    All,
}

impl Processor {
    /// The kind of this one, which is known to have leaf 7 of `CPUID`.
    pub(super) fn detect() -> Self {
        // How `AuthenticAMD` begins, and its family 1Ah in the bits of the signature that no stepping or model changes.
        const AMD: u32 = u32::from_le_bytes(*b"Auth");
        const FAMILY: u32 = 0x0ff0_0f00;
        const ZEN5: u32 = 0x00b0_0f00;
        const AVX512_FP16: u32 = 1 << 23;

        let amd = __cpuid(0).ebx == AMD;
        if amd && __cpuid(1).eax & FAMILY == ZEN5 {
            Self::Zen5
        } else if amd {
            Self::Amd
        } else if has(__cpuid_count(7, 0).edx, AVX512_FP16) {
            Self::SapphireRapids
        } else {
            Self::Other
        }
    }

    /// What gains by AVX-512. Zen 4 splits its vectors in two, so that only what takes many instructions is faster; Zen 5 was not
    /// asked about the grid sampler. Others than these may gain as well.
    pub(crate) const fn gains_by_avx512(self) -> Option<Gains> {
        match self {
            Self::Zen5 => Some(Gains::Im2col),
            Self::Amd => Some(Gains::Halves),
            Self::SapphireRapids => Some(Gains::All),
            Self::Other => None,
        }
    }

    /// What else it likes.
    pub(crate) const fn habits(self) -> Habits {
        match self {
            // Brings lines faster to level 1, which drops them to level 2: im2col 1.05 to 1.3 times as fast.
            Self::Zen5 => Habits { later: Cache::Level1, keeps_four_planes: true, ..Habits::USUAL },
            Self::SapphireRapids => Habits { asks_most: false, keeps_four_planes: true, ..Habits::USUAL },
            Self::Amd | Self::Other => Habits::USUAL,
        }
    }
}
