//! Why there is no vendor tiling.

use core::fmt;

use super::VendorArch;
use crate::{Dtype, Operator};

/// Why there is no vendor tiling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VendorError {
    /// No tiling is published for the operator on this generation.
    NotPublished {
        /// The operator.
        operator: Operator,
        /// The generation.
        arch: VendorArch,
    },
    /// The dtype has no AI Core kernel there.
    NoKernel {
        /// The operator.
        operator: Operator,
        /// The dtype.
        dtype: Dtype,
    },
    /// A padding below 0, which no kernel takes.
    Padding {
        /// The padding.
        got: isize,
    },
    /// The unified buffer does not hold one tile: the vendor's tiling fails (561002).
    UbInsufficient {
        /// Bytes of the unified buffer.
        got: usize,
        /// Bytes it would take.
        want: usize,
    },
    /// A number beyond what the vendor's tiling takes, which fails (561002), or beyond the 32 bits of its field.
    Beyond {
        /// The vendor's name of it.
        name: &'static str,
        /// The number.
        got: usize,
        /// The most that it may be.
        most: usize,
    },
    /// A size of 0 that the vendor's tiling refuses (561002).
    Empty {
        /// The vendor's name of it.
        name: &'static str,
    },
    /// The problem is solved without a kernel: an empty tensor, or nothing wanted.
    NoWork,
    /// Sizes beyond what the vendor's tiling counts.
    TooLarge,
}

impl fmt::Display for VendorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotPublished { operator, arch } => {
                write!(f, "the vendor has published no tiling of {} for {}", operator.vendor_name(), arch.name())
            }
            Self::NoKernel { operator, dtype } => {
                write!(
                    f,
                    "the vendor has no AI Core kernel of {} in {dtype}: there is no tiling",
                    operator.vendor_name()
                )
            }
            Self::Padding { got } => {
                write!(f, "the vendor runs a padding of {got} on the AICPU: its AI Core kernel takes no less than 0")
            }
            Self::UbInsufficient { got, want } => {
                let short = want.saturating_sub(*got);
                write!(
                    f,
                    "the unified buffer of {got} bytes does not hold one tile, which takes {want} bytes: {short} more"
                )
            }
            Self::Beyond { name, got, most } => {
                let over = got.saturating_sub(*most);
                write!(f, "{name} {got} is {over} more than the {most} that the vendor's tiling counts to")
            }
            Self::Empty { name } => write!(f, "{name} is 0: the vendor's tiling takes no less than 1"),
            Self::NoWork => f.write_str("nothing is computed: the vendor launches no kernel"),
            Self::TooLarge => f.write_str("the sizes are beyond what the vendor's tiling counts"),
        }
    }
}

impl core::error::Error for VendorError {}
