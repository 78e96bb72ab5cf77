//! Conversions to the 16-bit floats next to midpoints of two of them, where rounding twice, or once from what has lost bits,
//! goes the wrong way.

use half::{bf16, f16};

use super::convert;
use crate::values::{Values, ValuesMut};

/// Rounds what lies between a number with these bits and the next one, `mid` half way: to the nearer one, of two that are as near
/// to the even one.
fn nearest<N: PartialOrd>(x: &N, mid: &N, low: u16) -> u16 {
    if x < mid || x == mid && low.is_multiple_of(2) { low } else { low + 1 }
}

/// Numbers of an f64 next to `mid`: one bit of every size up and down, and two of them together.
fn around(mid: f64) -> Vec<f64> {
    let bits = mid.to_bits();
    let steps: Vec<u64> = (0..30).flat_map(|a| (0..=a).map(move |b| 1u64 << a | 1 << b)).chain([0]).collect();
    steps.iter().flat_map(|step| [bits + step, bits - step]).map(f64::from_bits).collect()
}

fn from_f64(x: f64) -> (f16, bf16) {
    let (mut half, mut brain) = ([f16::ZERO], [bf16::ZERO]);
    convert(&Values::F64(&[x]), &mut ValuesMut::F16(&mut half));
    convert(&Values::F64(&[x]), &mut ValuesMut::Bf16(&mut brain));
    (half[0], brain[0])
}

#[test]
fn an_f64_next_to_a_midpoint_goes_to_its_own_side() {
    // Normal and subnormal numbers, even and odd ones.
    for low in [0x0001, 0x0002, 0x03ff, 0x0400, 0x1234, 0x3c00, 0x3c01, 0x5abd, 0x7bfe] {
        let mid = (f64::from(f16::from_bits(low)) + f64::from(f16::from_bits(low + 1))) / 2.0;
        for x in around(mid) {
            let want = nearest(&x, &mid, low);
            assert_eq!(from_f64(x).0.to_bits(), want, "{x:e} to f16");
            assert_eq!(from_f64(-x).0.to_bits(), want | 0x8000, "-{x:e} to f16");
        }
    }
    for low in [0x0080, 0x0081, 0x1234, 0x3f80, 0x3f81, 0x5abd, 0x7f7e] {
        let mid = (f64::from(bf16::from_bits(low)) + f64::from(bf16::from_bits(low + 1))) / 2.0;
        for x in around(mid) {
            let want = nearest(&x, &mid, low);
            assert_eq!(from_f64(x).1.to_bits(), want, "{x:e} to bf16");
            assert_eq!(from_f64(-x).1.to_bits(), want | 0x8000, "-{x:e} to bf16");
        }
    }
}

/// Integers that f64 does not hold, too.
#[test]
fn an_integer_next_to_a_midpoint_goes_to_its_own_side() {
    let rounded = |x: i64| {
        let mut to = [bf16::ZERO];
        convert(&Values::I64(&[x]), &mut ValuesMut::Bf16(&mut to));
        to[0].to_bits()
    };
    for (exponent, mantissa) in (24..63).flat_map(|e| [0x80, 0x81, 0xa5, 0xfe].map(|m| (e, m))) {
        let unit = 1i64 << (exponent - 7);
        let mid = mantissa * unit + unit / 2;
        let low = bf16::from_f64((mantissa * unit) as f64).to_bits();
        let bits = || (0..exponent - 8).map(|bit| 1i64 << bit);
        let steps = bits().flat_map(|a| bits().take_while(move |&b| b <= a).map(move |b| a | b)).chain([0]);
        for x in steps.flat_map(|step| [mid - step, mid + step]) {
            let want = nearest(&x, &mid, low);
            assert_eq!(rounded(x), want, "{x} to bf16");
            assert_eq!(rounded(-x), want | 0x8000, "-{x} to bf16");
        }
    }
}
