//! The only place where an instruction set is chosen.

use crate::simd::Isa;
use crate::simd::scalar::Scalar;

/// Code that is written once and compiled for each instruction set.
pub(crate) trait Kernel {
    /// What it returns.
    type Output;
    /// Runs it. `#[inline(always)]`, as everything below it, so that it is compiled with the instruction set's features.
    fn run<S: Isa>(self, isa: S) -> Self::Output;
}

/// An instruction set that this processor has. A value is proof of it, so only this module makes one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level(Kind);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Scalar,
}

impl Level {
    /// One lane at a time.
    #[must_use]
    pub const fn scalar() -> Self {
        Self(Kind::Scalar)
    }

    #[inline(always)]
    pub(crate) fn dispatch<K: Kernel>(self, kernel: K) -> K::Output {
        match self.0 {
            Kind::Scalar => kernel.run(Scalar),
        }
    }
}
