//! Element types and which of them convert.

use core::fmt;

/// An element type of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dtype {
    /// IEEE 754 binary16.
    F16,
    /// bfloat16: the upper half of an F32.
    Bf16,
    /// IEEE 754 binary32.
    F32,
    /// IEEE 754 binary64.
    F64,
    /// Signed 8-bit integer.
    I8,
    /// Unsigned 8-bit integer.
    U8,
    /// Signed 16-bit integer.
    I16,
    /// Signed 32-bit integer.
    I32,
    /// Signed 64-bit integer.
    I64,
    /// One byte, 0 or 1.
    Bool,
    /// Two F32: real, imaginary.
    C64,
    /// Two F64: real, imaginary.
    C128,
}

/// Bytes of each dtype's elements, in the order of the dtypes. One table: of a `match`, an image has one for each use.
static SIZES: [u8; Dtype::ALL.len()] = [2, 2, 4, 8, 1, 1, 2, 4, 8, 1, 8, 16];

impl Dtype {
    /// Every dtype, in the order of the support tables.
    pub const ALL: [Self; 12] = [
        Self::F16,
        Self::Bf16,
        Self::F32,
        Self::F64,
        Self::I8,
        Self::U8,
        Self::I16,
        Self::I32,
        Self::I64,
        Self::Bool,
        Self::C64,
        Self::C128,
    ];

    /// Size of an element in bytes.
    #[must_use]
    pub const fn size(self) -> usize {
        // It always is, but of a dtype that comes from memory the compiler does not know.
        if (self as usize) < SIZES.len() { SIZES[self as usize] as usize } else { 0 }
    }

    /// The name on the command line and in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::I8 => "i8",
            Self::U8 => "u8",
            Self::I16 => "i16",
            Self::I32 => "i32",
            Self::I64 => "i64",
            Self::Bool => "bool",
            Self::C64 => "c64",
            Self::C128 => "c128",
        }
    }

    /// The dtype of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|d| d.name() == name)
    }

    /// The value of `aclDataType` in `acl/acl_base.h`.
    #[must_use]
    pub const fn acl(self) -> i32 {
        match self {
            Self::F32 => 0,
            Self::F16 => 1,
            Self::I8 => 2,
            Self::I32 => 3,
            Self::U8 => 4,
            Self::I16 => 6,
            Self::I64 => 9,
            Self::F64 => 11,
            Self::Bool => 12,
            Self::C64 => 16,
            Self::C128 => 17,
            Self::Bf16 => 27,
        }
    }

    /// The dtype of that value of `aclDataType`.
    #[must_use]
    pub const fn from_acl(number: i32) -> Option<Self> {
        Some(match number {
            0 => Self::F32,
            1 => Self::F16,
            2 => Self::I8,
            3 => Self::I32,
            4 => Self::U8,
            6 => Self::I16,
            9 => Self::I64,
            11 => Self::F64,
            12 => Self::Bool,
            16 => Self::C64,
            17 => Self::C128,
            27 => Self::Bf16,
            _ => return None,
        })
    }

    const fn is_complex(self) -> bool {
        matches!(self, Self::C64 | Self::C128)
    }

    const fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::Bf16 | Self::F32 | Self::F64)
    }

    const fn is_integer(self) -> bool {
        matches!(self, Self::I8 | Self::U8 | Self::I16 | Self::I32 | Self::I64)
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Whether the contract lets a result of type `from` be stored as `to` (`CanCast` of its op API): not from complex to anything
/// else, not from a float to an integer, and to BOOL only from BOOL.
#[must_use]
pub const fn can_cast(from: Dtype, to: Dtype) -> bool {
    !(from.is_complex() && !to.is_complex()
        || from.is_float() && to.is_integer()
        || !matches!(from, Dtype::Bool) && matches!(to, Dtype::Bool))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for dtype in Dtype::ALL {
            assert_eq!(Dtype::from_name(dtype.name()), Some(dtype));
        }
        assert_eq!(Dtype::from_name("f8"), None);
    }

    #[test]
    fn sizes_are_those_of_the_types() {
        let sizes = Dtype::ALL.map(|dtype| match dtype {
            Dtype::I8 | Dtype::U8 | Dtype::Bool => size_of::<u8>(),
            Dtype::F16 | Dtype::Bf16 | Dtype::I16 => size_of::<u16>(),
            Dtype::F32 | Dtype::I32 => size_of::<f32>(),
            Dtype::F64 | Dtype::I64 => size_of::<f64>(),
            Dtype::C64 => size_of::<[f32; 2]>(),
            Dtype::C128 => size_of::<[f64; 2]>(),
        });
        assert_eq!(Dtype::ALL.map(Dtype::size), sizes);
    }

    #[test]
    fn acl_numbers_round_trip() {
        let known = (-1..64)
            .filter_map(Dtype::from_acl)
            .inspect(|dtype| assert_eq!(Dtype::from_acl(dtype.acl()), Some(*dtype)));
        assert_eq!(known.count(), Dtype::ALL.len());
    }

    #[test]
    fn cast_rules() {
        assert!(can_cast(Dtype::F64, Dtype::F16));
        assert!(can_cast(Dtype::I64, Dtype::I8));
        assert!(can_cast(Dtype::I32, Dtype::F16));
        assert!(can_cast(Dtype::Bool, Dtype::F32));
        assert!(can_cast(Dtype::F32, Dtype::C64));
        assert!(!can_cast(Dtype::F32, Dtype::I32));
        assert!(!can_cast(Dtype::C64, Dtype::F32));
        assert!(!can_cast(Dtype::F32, Dtype::Bool));
        assert!(!can_cast(Dtype::I8, Dtype::Bool));
    }
}
