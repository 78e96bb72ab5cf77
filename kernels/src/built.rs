//! What is in this build: the crate's features.
//!
//! Code asks by constants in ordinary conditions, so all of it is compiled and checked in every build; the optimiser drops what
//! a build leaves out.

use core::fmt;

use ubtile_tiling::{Dtype, Operator};

use crate::RunError;

/// A part of the kernels that a build may leave out, by the cargo feature of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Feature {
    /// F16.
    F16,
    /// BF16.
    Bf16,
    /// F32.
    F32,
    /// F64.
    F64,
    /// I8, U8, I16, I32, I64 and BOOL.
    Integer,
    /// C64 and C128.
    Complex,
    /// Bicubic grid sampling.
    Bicubic,
    /// Grid sampling with an image's channels staged side by side, or a few channels with points side by side, which plans for
    /// machines with vectors choose.
    ChannelsLast,
    /// Copies of strided inputs, which plans for machines with caches make, and kernels that go from pixel to pixel in their place
    /// where channels lie side by side.
    Copies,
}

pub(crate) const F16: bool = Feature::F16.is_built();
pub(crate) const BF16: bool = Feature::Bf16.is_built();
pub(crate) const F32: bool = Feature::F32.is_built();
pub(crate) const F64: bool = Feature::F64.is_built();
pub(crate) const INTEGER: bool = Feature::Integer.is_built();
pub(crate) const COMPLEX: bool = Feature::Complex.is_built();
pub(crate) const BICUBIC: bool = Feature::Bicubic.is_built();
pub(crate) const CHANNELS_LAST: bool = Feature::ChannelsLast.is_built();
pub(crate) const COPIES: bool = Feature::Copies.is_built();

impl Feature {
    /// Whether this build has it.
    #[must_use]
    pub const fn is_built(self) -> bool {
        match self {
            Self::F16 => cfg!(feature = "f16"),
            Self::Bf16 => cfg!(feature = "bf16"),
            Self::F32 => cfg!(feature = "f32"),
            Self::F64 => cfg!(feature = "f64"),
            Self::Integer => cfg!(feature = "integer"),
            Self::Complex => cfg!(feature = "complex"),
            Self::Bicubic => cfg!(feature = "bicubic"),
            Self::ChannelsLast => cfg!(feature = "channels-last"),
            Self::Copies => cfg!(feature = "copies"),
        }
    }

    /// What tensors of that dtype need.
    #[must_use]
    pub const fn of(dtype: Dtype) -> Self {
        match dtype {
            Dtype::F16 => Self::F16,
            Dtype::Bf16 => Self::Bf16,
            Dtype::F32 => Self::F32,
            Dtype::F64 => Self::F64,
            Dtype::I8 | Dtype::U8 | Dtype::I16 | Dtype::I32 | Dtype::I64 | Dtype::Bool => Self::Integer,
            Dtype::C64 | Dtype::C128 => Self::Complex,
        }
    }

    /// Its name in `Cargo.toml`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::Integer => "integer",
            Self::Complex => "complex",
            Self::Bicubic => "bicubic",
            Self::ChannelsLast => "channels-last",
            Self::Copies => "copies",
        }
    }

    /// Refuses what this build lacks.
    pub(crate) fn need(self, operator: Operator) -> Result<(), RunError> {
        if self.is_built() { Ok(()) } else { Err(RunError::NotBuilt { operator, feature: self }) }
    }
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
