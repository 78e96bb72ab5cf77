//! Kinds of processors, and what was measured on each.

use core::arch::x86_64::CpuidResult;

use super::has;
use crate::simd::{Cache, Habits};

/// A kind of processor that differs from others in something that was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Processor {
    /// AMD's of family 1Ah, as Zen 5.
    Zen5,
    /// AMD's of other families; of these Zen 4 has AVX-512.
    Amd,
    /// Intel's from Sapphire Rapids on: those that have AVX512-FP16, and servers of known models, as hypervisors hide that.
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
    /// By what `CPUID` says in leaves 0, 1 and 7.
    pub(super) fn new(vendor: CpuidResult, features: CpuidResult, extended: CpuidResult) -> Self {
        // How `AuthenticAMD` begins, and its family 1Ah in the bits of the signature that no stepping or model changes.
        const AMD: u32 = u32::from_le_bytes(*b"Auth");
        const FAMILY: u32 = 0x0ff0_0f00;
        const ZEN5: u32 = 0x00b0_0f00;
        const AVX512_FP16: u32 = 1 << 23;
        const INTEL: u32 = u32::from_le_bytes(*b"Genu");
        const FAMILY_6: u32 = 0x0000_0600;
        // Sapphire Rapids, Emerald Rapids, Granite Rapids and Granite Rapids D.
        const SERVERS: [u32; 4] = [0x8f, 0xcf, 0xad, 0xae];

        let amd = vendor.ebx == AMD;
        let model = features.eax >> 4 & 0xf | features.eax >> 12 & 0xf0;
        let server = vendor.ebx == INTEL && features.eax & FAMILY == FAMILY_6 && SERVERS.contains(&model);
        if amd && features.eax & FAMILY == ZEN5 {
            Self::Zen5
        } else if amd {
            Self::Amd
        } else if server || has(extended.edx, AVX512_FP16) {
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
            // Waits for few enough lines that those which are not read cost more than they gain.
            Self::SapphireRapids => Habits { asks_most: false, keeps_four_planes: true, ..Habits::USUAL },
            // 1.4 MB are too much for a level-2 cache of 512 KiB either way: once takes 0.75 times as long on a Zen 3, of 2.8 MB 1.15 times.
            Self::Amd => Habits { goes_once: 2 << 20, ..Habits::USUAL },
            Self::Other => Habits::USUAL,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_by_vendor_family_and_fp16() {
        const NONE: CpuidResult = CpuidResult { eax: 0, ebx: 0, ecx: 0, edx: 0 };
        let kind = |vendor: &[u8; 4], signature, edx| {
            let vendor = CpuidResult { ebx: u32::from_le_bytes(*vendor), ..NONE };
            Processor::new(vendor, CpuidResult { eax: signature, ..NONE }, CpuidResult { edx, ..NONE })
        };
        let fp16 = 1 << 23;
        // Families 17h, 19h (Zen 4) and 1Ah, of which a later one may have FP16; family 6 of Intel's.
        assert_eq!(kind(b"Auth", 0x0083_0f10, 0), Processor::Amd);
        assert_eq!(kind(b"Auth", 0x00a1_0f11, 0), Processor::Amd);
        assert_eq!(kind(b"Auth", 0x00b0_0f21, 0), Processor::Zen5);
        assert_eq!(kind(b"Auth", 0x00b5_0f00, fp16), Processor::Zen5);
        assert_eq!(kind(b"Genu", 0x000c_06f2, fp16), Processor::SapphireRapids);
        // Where a hypervisor hides it; and an Ice Lake server, a client of Intel's with it, and another vendor's model.
        assert_eq!(kind(b"Genu", 0x000c_06f2, 0), Processor::SapphireRapids);
        assert_eq!(kind(b"Genu", 0x0008_06f8, 0), Processor::SapphireRapids);
        assert_eq!(kind(b"Genu", 0x000a_0671, fp16), Processor::SapphireRapids);
        assert_eq!(kind(b"Cent", 0x000c_06f2, 0), Processor::Other);
        assert_eq!(kind(b"Genu", 0x0006_06a6, !fp16), Processor::Other);
        // A signature alone tells nothing.
        assert_eq!(kind(b"Genu", 0x00b0_0f21, 0), Processor::Other);
    }
}
