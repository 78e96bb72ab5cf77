//! Elements as numbers: exact widening, one rounding to nearest even, distances in ulps.

use half::{bf16, f16};
use ubtile_tiling::Dtype;

/// The type of an element's components and how many it has: a complex number has two, everything else one.
#[must_use]
pub const fn component(dtype: Dtype) -> (Dtype, usize) {
    match dtype {
        Dtype::C64 => (Dtype::F32, 2),
        Dtype::C128 => (Dtype::F64, 2),
        other => (other, 1),
    }
}

/// What a floating-point format can say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Float {
    /// Explicit bits of the significand.
    pub fraction_bits: i32,
    /// Exponent of the smallest normal number.
    pub min_exponent: i32,
    /// The largest finite number.
    pub max: f64,
}

impl Float {
    /// The format of a real floating-point dtype.
    ///
    /// # Panics
    /// For any other dtype.
    #[must_use]
    pub const fn of(dtype: Dtype) -> Self {
        match dtype {
            Dtype::F16 => Self { fraction_bits: 10, min_exponent: -14, max: 65504.0 },
            Dtype::Bf16 => Self { fraction_bits: 7, min_exponent: -126, max: f32::from_bits(0x7f7f_0000) as f64 },
            Dtype::F32 => Self { fraction_bits: 23, min_exponent: -126, max: f32::MAX as f64 },
            Dtype::F64 => Self { fraction_bits: 52, min_exponent: -1022, max: f64::MAX },
            _ => panic!("not a real floating-point dtype"),
        }
    }

    /// The smallest number above 0.
    #[must_use]
    pub fn smallest(&self) -> f64 {
        2f64.powi(self.min_exponent) * 2f64.powi(-self.fraction_bits)
    }

    /// The nearest number of this format, ties to even, infinite beyond the largest.
    #[must_use]
    pub fn round(&self, x: f64) -> f64 {
        if self.fraction_bits == 52 || x == 0.0 || !x.is_finite() {
            return x;
        }
        let exponent = ((x.to_bits() >> 52 & 0x7ff) as i32 - 1023).max(self.min_exponent);
        // A power of two, so that the division and the product are exact.
        let ulp = f64::from_bits(((exponent - self.fraction_bits + 1023) as u64) << 52);
        let rounded = (x / ulp).round_ties_even() * ulp;
        if rounded.abs() > self.max { f64::INFINITY.copysign(x) } else { rounded }
    }
}

/// The type in which an operator computes. Single operations in f64 that are rounded to f32 after each step are those of f32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compute {
    /// For F16, BF16, F32 and C64.
    F32,
    /// For F64 and C128.
    F64,
}

impl Compute {
    /// What tensors of that dtype are computed in.
    #[must_use]
    pub const fn of(dtype: Dtype) -> Self {
        match dtype {
            Dtype::F64 | Dtype::C128 => Self::F64,
            _ => Self::F32,
        }
    }

    /// Rounds the result of one operation.
    #[must_use]
    pub fn round(self, x: f64) -> f64 {
        match self {
            Self::F32 => f64::from(x as f32),
            Self::F64 => x,
        }
    }

    /// The largest finite number.
    #[must_use]
    pub const fn max(self) -> f64 {
        match self {
            Self::F32 => f32::MAX as f64,
            Self::F64 => f64::MAX,
        }
    }

    /// The smallest number above 0.
    #[must_use]
    pub const fn smallest(self) -> f64 {
        match self {
            Self::F32 => f32::from_bits(1) as f64,
            Self::F64 => f64::from_bits(1),
        }
    }
}

/// The number that the low bits of `bits` are, of a component's dtype; exact but for I64 beyond 2^53.
///
/// # Panics
/// For a complex dtype, see [`component`].
#[must_use]
pub fn decode(dtype: Dtype, bits: u64) -> f64 {
    match dtype {
        Dtype::F16 => f16::from_bits(bits as u16).to_f64(),
        Dtype::Bf16 => bf16::from_bits(bits as u16).to_f64(),
        Dtype::F32 => f64::from(f32::from_bits(bits as u32)),
        Dtype::F64 => f64::from_bits(bits),
        Dtype::C64 | Dtype::C128 => panic!("a complex number has two components"),
        integer => decode_integer(integer, bits) as f64,
    }
}

/// The integer that the low bits of `bits` are.
///
/// # Panics
/// For any dtype but an integer or BOOL.
#[must_use]
pub(crate) fn decode_integer(dtype: Dtype, bits: u64) -> i64 {
    match dtype {
        Dtype::I8 => i64::from(bits as i8),
        Dtype::U8 => i64::from(bits as u8),
        Dtype::I16 => i64::from(bits as i16),
        Dtype::I32 => i64::from(bits as i32),
        Dtype::I64 => bits as i64,
        Dtype::Bool => i64::from(bits as u8 != 0),
        _ => panic!("not an integer"),
    }
}

/// The bits of the number nearest to `x` in a component's dtype: floats by one rounding to nearest even and with the canonical
/// NaN, integers without their fraction and wrapped, BOOL as 1 unless `x` is 0.
///
/// # Panics
/// For a complex dtype, see [`component`].
#[must_use]
pub fn encode(dtype: Dtype, x: f64) -> u64 {
    if matches!(dtype, Dtype::F16 | Dtype::Bf16 | Dtype::F32 | Dtype::F64) && x.is_nan() {
        return canonical_nan(dtype);
    }
    match dtype {
        // `half` may round twice on its way from f64, so what it gets is a number of the format already.
        Dtype::F16 => u64::from(f16::from_f64(Float::of(dtype).round(x)).to_bits()),
        Dtype::Bf16 => u64::from((Float::of(dtype).round(x) as f32).to_bits() >> 16),
        Dtype::F32 => u64::from((x as f32).to_bits()),
        Dtype::F64 => x.to_bits(),
        Dtype::Bool => u64::from(x != 0.0),
        Dtype::C64 | Dtype::C128 => panic!("a complex number has two components"),
        integer => encode_integer(integer, x as i64),
    }
}

/// The low bits of an integer, as many as the dtype has.
pub(crate) fn encode_integer(dtype: Dtype, x: i64) -> u64 {
    x as u64 & (u64::MAX >> (64 - 8 * dtype.size()))
}

/// The NaN that arithmetic leaves behind: quiet, no payload, sign 0.
///
/// # Panics
/// For a dtype without NaN and for complex ones.
#[must_use]
pub const fn canonical_nan(dtype: Dtype) -> u64 {
    match dtype {
        Dtype::F16 => 0x7e00,
        Dtype::Bf16 => 0x7fc0,
        Dtype::F32 => 0x7fc0_0000,
        Dtype::F64 => 0x7ff8_0000_0000_0000,
        _ => panic!("this dtype has no NaN"),
    }
}

/// How many numbers of the format lie between two of them, counting one end; 0 for +0 and -0. `None` with a NaN.
///
/// # Panics
/// For a dtype that is not a real floating-point one.
#[must_use]
pub fn ulp_distance(dtype: Dtype, a: u64, b: u64) -> Option<u64> {
    let sign = 1u64 << (8 * dtype.size() - 1);
    let infinity = encode(dtype, f64::INFINITY);
    let (below, above) = (a & (sign - 1), b & (sign - 1));
    if below > infinity || above > infinity {
        return None;
    }
    Some(if a & sign == b & sign { below.abs_diff(above) } else { below + above })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOATS: [Dtype; 4] = [Dtype::F16, Dtype::Bf16, Dtype::F32, Dtype::F64];

    #[test]
    fn every_16_bit_float_round_trips() {
        for dtype in [Dtype::F16, Dtype::Bf16] {
            for bits in 0..=u64::from(u16::MAX) {
                let x = decode(dtype, bits);
                assert_eq!(encode(dtype, x), if x.is_nan() { canonical_nan(dtype) } else { bits });
            }
        }
    }

    #[test]
    fn rounding_is_to_nearest_even_and_happens_once() {
        for dtype in [Dtype::F16, Dtype::Bf16] {
            let infinity = encode(dtype, f64::INFINITY);
            for bits in 0..infinity - 1 {
                let (low, high) = (decode(dtype, bits), decode(dtype, bits + 1));
                let middle = (low + high) / 2.0;
                let even = bits + (bits & 1);
                assert_eq!(encode(dtype, middle), even);
                assert_eq!(encode(dtype, middle.next_down()), bits);
                // Just above a tie, by less than f32 can tell: a detour over f32 would end on `bits` when that is even.
                assert_eq!(encode(dtype, middle.next_up()), bits + 1);
                assert_eq!(encode(dtype, -middle.next_up()), (bits + 1) | 0x8000);
            }
        }
        assert_eq!(encode(Dtype::F16, 65519.99), 0x7bff);
        assert_eq!(encode(Dtype::F16, 65520.0), 0x7c00);
        assert_eq!(encode(Dtype::F16, -1e-30), 0x8000);
    }

    #[test]
    fn format_rounding_of_f32_is_the_machine_s() {
        let mut rng = crate::Rng::new(3);
        for _ in 0..20_000 {
            let x = f64::from_bits(rng.next_u64());
            let narrow = f64::from((x as f32).to_bits());
            if !x.is_nan() {
                assert_eq!(f64::from((Float::of(Dtype::F32).round(x) as f32).to_bits()), narrow, "{x:e}");
            }
        }
    }

    #[test]
    fn integers_wrap() {
        assert_eq!(encode_integer(Dtype::I8, -1), 0xff);
        assert_eq!(decode_integer(Dtype::I8, 0x1ff), -1);
        assert_eq!(encode_integer(Dtype::U8, 300), 44);
        assert_eq!(encode_integer(Dtype::I64, -2), u64::MAX - 1);
    }

    #[test]
    fn distances() {
        for dtype in FLOATS {
            let one = encode(dtype, 1.0);
            let sign = 1 << (8 * dtype.size() - 1);
            assert_eq!(ulp_distance(dtype, one, one + 3), Some(3));
            assert_eq!(ulp_distance(dtype, 0, sign), Some(0));
            assert_eq!(ulp_distance(dtype, 2, sign | 1), Some(3));
            assert_eq!(ulp_distance(dtype, one, canonical_nan(dtype)), None);
        }
    }
}
