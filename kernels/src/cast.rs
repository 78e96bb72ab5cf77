//! Conversions between dtypes that round once.

use half::{bf16, f16};

use crate::element::Element;
use crate::simd::{Isa, Real, Vector};

/// Sums of this type stored as `O`, rounded once to nearest even, a NaN as the canonical one.
pub(crate) trait Round<O>: Real {
    /// Rounds and writes as many lanes as `dst` has room for.
    fn round<S: Isa>(isa: S, v: Self::V<S>, dst: &mut [O]);
}

impl Round<f32> for f32 {
    #[inline(always)]
    fn round<S: Isa>(isa: S, v: S::F32, dst: &mut [f32]) {
        Element::store(isa, v, dst);
    }
}

impl Round<f16> for f32 {
    #[inline(always)]
    fn round<S: Isa>(isa: S, v: S::F32, dst: &mut [f16]) {
        Element::store(isa, v, dst);
    }
}

impl Round<bf16> for f32 {
    #[inline(always)]
    fn round<S: Isa>(isa: S, v: S::F32, dst: &mut [bf16]) {
        Element::store(isa, v, dst);
    }
}

impl Round<f64> for f64 {
    #[inline(always)]
    fn round<S: Isa>(isa: S, v: S::F64, dst: &mut [f64]) {
        Element::store(isa, v, dst);
    }
}

impl Round<f64> for f32 {
    #[inline(always)]
    fn round<S: Isa>(isa: S, v: S::F32, dst: &mut [f64]) {
        lane_by_lane::<S, f32, _>(v, dst, |sum| f64::narrow(sum.into()), isa);
    }
}

impl Round<f32> for f64 {
    #[inline(always)]
    fn round<S: Isa>(isa: S, v: S::F64, dst: &mut [f32]) {
        lane_by_lane::<S, f64, _>(v, dst, |sum| f32::narrow(sum as f32), isa);
    }
}

impl Round<f16> for f64 {
    #[inline(always)]
    fn round<S: Isa>(isa: S, v: S::F64, dst: &mut [f16]) {
        lane_by_lane::<S, f64, _>(v, dst, |sum| f16::narrow(to_odd_f32(sum)), isa);
    }
}

impl Round<bf16> for f64 {
    #[inline(always)]
    fn round<S: Isa>(isa: S, v: S::F64, dst: &mut [bf16]) {
        lane_by_lane::<S, f64, _>(v, dst, |sum| bf16::narrow(to_odd_f32(sum)), isa);
    }
}

#[inline(always)]
fn lane_by_lane<S: Isa, A: Real, O>(v: A::V<S>, dst: &mut [O], convert: impl Fn(A) -> O, _: S) {
    let mut lanes = [A::default(); 8];
    v.store(&mut lanes);
    for (to, lane) in dst.iter_mut().zip(lanes).take(A::V::<S>::LANES) {
        *to = convert(lane);
    }
}

/// Rounds to f32 *to odd*: towards zero, with the last bit set if anything was lost. Rounding the result to F16 or BF16 gives
/// what one rounding of `x` would give, as f32 has more than two bits beyond theirs; `half`'s own conversion drops bits.
pub(crate) fn to_odd_f32(x: f64) -> f32 {
    let nearest = x as f32;
    if x.is_nan() || f64::from(nearest) == x {
        return nearest;
    }
    let away = u32::from(f64::from(nearest).abs() > x.abs());
    f32::from_bits(nearest.to_bits().wrapping_sub(away) | 1)
}
