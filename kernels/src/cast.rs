//! Conversions between dtypes that round once.

#[cfg(test)]
mod tests;

use half::{bf16, f16};

use crate::built::{BF16, F16, F32, F64, INTEGER};
use crate::element::Element;
use crate::simd::{Isa, Real, Vector};
use crate::values::{Values, ValuesMut};

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

/// An integer as an f64, those beyond 2^53 cut to 42 bits or more and rounded to odd, see [`to_odd_f32`].
fn to_odd_f64(x: i64) -> f64 {
    let magnitude = x.unsigned_abs();
    if magnitude < 1 << 53 {
        return x as f64;
    }
    let kept = magnitude >> 11 | u64::from(magnitude & 0x7ff != 0);
    let rounded = kept as f64 * 2048.0;
    if x < 0 { -rounded } else { rounded }
}

/// Elements that [`convert`] takes at once.
pub(crate) const CHUNK: usize = 32;

/// Converts elements, as many as both have and at most [`CHUNK`]: integers wrap, everything else is rounded once to nearest
/// even, a NaN becomes the canonical one, BOOL is 0 or 1. Does nothing for dtypes that the contract does not convert.
pub(crate) fn convert(from: &Values<'_>, to: &mut ValuesMut<'_>) {
    let (mut integers, mut floats) = ([0i64; CHUNK], [0f64; CHUNK]);
    match from {
        Values::F16(v) if F16 => from_floats(widen(v, &mut floats, |x| x.widen().into()), to),
        Values::Bf16(v) if BF16 => from_floats(widen(v, &mut floats, |x| x.widen().into()), to),
        Values::F32(v) if F32 => from_floats(widen(v, &mut floats, f64::from), to),
        Values::F64(v) if F64 => from_floats(widen(v, &mut floats, |x| x), to),
        Values::I8(v) if INTEGER => from_integers(widen(v, &mut integers, i64::from), to),
        Values::U8(v) if INTEGER => from_integers(widen(v, &mut integers, i64::from), to),
        Values::I16(v) if INTEGER => from_integers(widen(v, &mut integers, i64::from), to),
        Values::I32(v) if INTEGER => from_integers(widen(v, &mut integers, i64::from), to),
        Values::I64(v) if INTEGER => from_integers(widen(v, &mut integers, |x| x), to),
        Values::Bool(v) if INTEGER => from_integers(widen(v, &mut integers, |x| i64::from(x != 0)), to),
        _ => {}
    }
}

fn from_floats(from: &[f64], to: &mut ValuesMut<'_>) {
    match to {
        ValuesMut::F16(v) if F16 => each(from, v, |x| f16::narrow(to_odd_f32(x))),
        ValuesMut::Bf16(v) if BF16 => each(from, v, |x| bf16::narrow(to_odd_f32(x))),
        ValuesMut::F32(v) if F32 => each(from, v, |x| f32::narrow(x as f32)),
        ValuesMut::F64(v) if F64 => each(from, v, f64::narrow),
        _ => {}
    }
}

fn from_integers(from: &[i64], to: &mut ValuesMut<'_>) {
    match to {
        ValuesMut::F16(v) if F16 => each(from, v, |x| f16::narrow(to_odd_f32(to_odd_f64(x)))),
        ValuesMut::Bf16(v) if BF16 => each(from, v, |x| bf16::narrow(to_odd_f32(to_odd_f64(x)))),
        ValuesMut::F32(v) if F32 => each(from, v, |x| x as f32),
        ValuesMut::F64(v) if F64 => each(from, v, |x| x as f64),
        ValuesMut::I8(v) if INTEGER => each(from, v, |x| x as i8),
        ValuesMut::U8(v) if INTEGER => each(from, v, |x| x as u8),
        ValuesMut::I16(v) if INTEGER => each(from, v, |x| x as i16),
        ValuesMut::I32(v) if INTEGER => each(from, v, |x| x as i32),
        ValuesMut::I64(v) if INTEGER => each(from, v, |x| x),
        _ => {}
    }
}

fn widen<'a, T: Copy, W>(from: &[T], to: &'a mut [W], convert: impl Fn(T) -> W) -> &'a [W] {
    each(from, to, convert);
    to.get(..from.len()).unwrap_or(to)
}

fn each<T: Copy, W>(from: &[T], to: &mut [W], convert: impl Fn(T) -> W) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = convert(*from);
    }
}
