//! The only place where an instruction set is chosen.

use core::fmt;

use crate::simd::baseline::Baseline;
use crate::simd::scalar::Scalar;
#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
use crate::simd::x86::{Avx2, Avx512, Gains};
use crate::simd::{Habits, Isa};

/// Code that is written once and compiled for each instruction set.
pub(crate) trait Kernel {
    /// What it returns.
    type Output;
    /// Runs it. `#[inline(always)]`, as everything below it, so that it is compiled with the instruction set's features.
    fn run<S: Isa>(self, isa: S) -> Self::Output;
}

/// Whether the target has vectors without asking. Where it has none, the baseline would only be the scalar level compiled again.
pub(crate) const VECTORS: bool = cfg!(any(
    target_feature = "sse2",
    all(target_arch = "aarch64", target_feature = "neon"),
    target_feature = "simd128"
));

/// An instruction set that this processor has. A value is proof of it, so only this module makes one.
///
/// Every level computes the same bits. [`detect`](Self::detect) asks the processor, which may cost microseconds under a
/// hypervisor: call it once and pass the value on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level(Kind);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Scalar,
    Baseline,
    #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
    Avx2(Avx2),
    #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
    Avx512(Avx512),
}

impl Level {
    /// The names of all levels, slowest first, also of those that this processor or target lacks.
    pub const NAMES: [&str; 4] = ["scalar", "baseline", "avx2", "avx512"];

    /// One lane at a time.
    #[must_use]
    pub const fn scalar() -> Self {
        Self(Kind::Scalar)
    }

    /// The 128-bit vectors that the crate is compiled for (SSE2, NEON, SIMD128); the scalar level where there are none.
    #[must_use]
    pub const fn baseline() -> Self {
        Self(if VECTORS { Kind::Baseline } else { Kind::Scalar })
    }

    /// Whether it has one lane; known when the crate is compiled where the target has no vectors.
    pub(crate) const fn is_scalar(self) -> bool {
        !VECTORS || matches!(self.0, Kind::Scalar)
    }

    /// The fastest level of this processor; AVX-512 only where it was measured to be that. Needs no operating system.
    #[must_use]
    pub fn detect() -> Self {
        #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
        if let Some(avx2) = Avx2::detect() {
            let avx512 = avx2.processor().gains_by_avx512().and_then(|gains| Avx512::detect(avx2, gains));
            return Self(avx512.map_or(Kind::Avx2(avx2), Kind::Avx512));
        }
        Self::baseline()
    }

    /// Every level of this processor, slowest first.
    pub fn available() -> impl Iterator<Item = Self> {
        Self::NAMES.into_iter().filter_map(Self::from_name)
    }

    /// The level of that name; `None` where this processor lacks it or the name is not one of [`NAMES`](Self::NAMES).
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "scalar" => Some(Self::scalar()),
            "baseline" => VECTORS.then_some(Self::baseline()),
            #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
            "avx2" => Avx2::detect().map(|isa| Self(Kind::Avx2(isa))),
            #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
            "avx512" => {
                Avx2::detect().and_then(|avx2| Avx512::detect(avx2, Gains::All)).map(|isa| Self(Kind::Avx512(isa)))
            }
            _ => None,
        }
    }

    /// Its name, one of [`NAMES`](Self::NAMES).
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self.0 {
            Kind::Scalar => "scalar",
            Kind::Baseline => "baseline",
            #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
            Kind::Avx2(_) => "avx2",
            #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
            Kind::Avx512(_) => "avx512",
        }
    }

    /// Whether the grid sampler is to have as many lanes as there are: where that was measured to gain, or the level was asked for.
    pub(crate) const fn wide_points(self) -> bool {
        match self.0 {
            #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
            Kind::Avx512(isa) => matches!(isa.gains(), Gains::All),
            _ => false,
        }
    }

    /// Whether im2col of F32 and F64 is to have as many, too.
    pub(crate) const fn wide_sums(self) -> bool {
        match self.0 {
            #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
            Kind::Avx512(isa) => !matches!(isa.gains(), Gains::Halves),
            _ => false,
        }
    }

    /// What the processor likes, as far as the level knows it.
    pub(crate) const fn habits(self) -> Habits {
        match self.eight().0 {
            #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
            Kind::Avx2(isa) => isa.processor().habits(),
            _ => Habits::USUAL,
        }
    }

    /// This level, or the one with at most eight lanes that its processor has as well.
    pub(crate) const fn eight(self) -> Self {
        match self.0 {
            #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
            Kind::Avx512(isa) => Self(Kind::Avx2(isa.avx2())),
            kind => Self(kind),
        }
    }

    /// Runs a kernel with this level's instructions, with eight lanes at most. Call it around the whole loop over tiles, not inside.
    #[inline(always)]
    pub(crate) fn dispatch<K: Kernel>(self, kernel: K) -> K::Output {
        match self.0 {
            // Each by itself: where functions are not optimized, the stack of several levels at once would be a megabyte and more.
            Kind::Baseline if VECTORS => Baseline.call(kernel),
            Kind::Scalar if VECTORS => Scalar.call(kernel),
            Kind::Scalar | Kind::Baseline => kernel.run(Scalar),
            #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
            Kind::Avx2(isa) => isa.call(kernel),
            #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
            Kind::Avx512(isa) => isa.avx2().call(kernel),
        }
    }

    /// As [`dispatch`](Self::dispatch), but with as many lanes as there are, where the kernel `gains` by them.
    #[inline(always)]
    pub(crate) fn dispatch_widest<K: Kernel>(self, gains: bool, kernel: K) -> K::Output {
        #[cfg(not(all(target_arch = "x86_64", target_feature = "sse2")))]
        let _ = gains;
        match self.0 {
            #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
            Kind::Avx512(isa) if gains => isa.call(kernel),
            _ => self.dispatch(kernel),
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
