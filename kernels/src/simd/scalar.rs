//! One lane: for small cores, and the yardstick of the other levels.

use core::ops::{Add, Div, Mul, Sub};

use half::{bf16, f16};

use super::{Cache, Isa, Vector};

/// Needs nothing of the processor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scalar;

/// A vector of one lane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct One<T>(T);

impl<T: Add<Output = T>> Add for One<T> {
    type Output = Self;
    #[inline(always)]
    fn add(self, o: Self) -> Self {
        Self(self.0 + o.0)
    }
}
impl<T: Sub<Output = T>> Sub for One<T> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, o: Self) -> Self {
        Self(self.0 - o.0)
    }
}
impl<T: Mul<Output = T>> Mul for One<T> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, o: Self) -> Self {
        Self(self.0 * o.0)
    }
}
impl<T: Div<Output = T>> Div for One<T> {
    type Output = Self;
    #[inline(always)]
    fn div(self, o: Self) -> Self {
        Self(self.0 / o.0)
    }
}

/// What a lane needs beyond arithmetic: bit masks and floor.
pub(crate) trait Lane: super::Real<V<Scalar> = One<Self>> {
    /// All bits set or clear.
    fn mask(on: bool) -> Self;
    /// Whether any bit is set.
    fn is_set(self) -> bool;
    /// Bitwise and.
    fn bit_and(self, o: Self) -> Self;
    /// Bitwise or.
    fn bit_or(self, o: Self) -> Self;
    /// Clears the sign.
    fn magnitude(self) -> Self;
    /// Towards minus infinity, to +0 never to -0.
    fn floor(self) -> Self;
}

impl Lane for f32 {
    #[inline(always)]
    fn mask(on: bool) -> Self {
        Self::from_bits(if on { u32::MAX } else { 0 })
    }
    #[inline(always)]
    fn is_set(self) -> bool {
        self.to_bits() != 0
    }
    #[inline(always)]
    fn bit_and(self, o: Self) -> Self {
        Self::from_bits(self.to_bits() & o.to_bits())
    }
    #[inline(always)]
    fn bit_or(self, o: Self) -> Self {
        Self::from_bits(self.to_bits() | o.to_bits())
    }
    #[inline(always)]
    fn magnitude(self) -> Self {
        Self::from_bits(self.to_bits() & 0x7fff_ffff)
    }
    #[inline(always)]
    fn floor(self) -> Self {
        // From 2^23 on every f32 is an integer; the test is false for NaN.
        if self.magnitude() < 8_388_608.0 {
            let t = self as i32 as Self;
            if t > self { t - 1.0 } else { t }
        } else {
            self
        }
    }
}

impl Lane for f64 {
    #[inline(always)]
    fn mask(on: bool) -> Self {
        Self::from_bits(if on { u64::MAX } else { 0 })
    }
    #[inline(always)]
    fn is_set(self) -> bool {
        self.to_bits() != 0
    }
    #[inline(always)]
    fn bit_and(self, o: Self) -> Self {
        Self::from_bits(self.to_bits() & o.to_bits())
    }
    #[inline(always)]
    fn bit_or(self, o: Self) -> Self {
        Self::from_bits(self.to_bits() | o.to_bits())
    }
    #[inline(always)]
    fn magnitude(self) -> Self {
        Self::from_bits(self.to_bits() & 0x7fff_ffff_ffff_ffff)
    }
    #[inline(always)]
    fn floor(self) -> Self {
        if self.magnitude() < 4_503_599_627_370_496.0 {
            let t = self as i64 as Self;
            if t > self { t - 1.0 } else { t }
        } else {
            self
        }
    }
}

impl<T: Lane> Vector<Scalar> for One<T> {
    type Elem = T;
    const LANES: usize = 1;
    type Mask = Self;

    #[inline(always)]
    fn splat(_: Scalar, value: T) -> Self {
        Self(value)
    }
    #[inline(always)]
    fn load(_: Scalar, src: &[T]) -> Self {
        Self(src.first().copied().unwrap_or_default())
    }
    #[inline(always)]
    fn store(self, dst: &mut [T]) {
        if let Some(d) = dst.first_mut() {
            *d = self.0;
        }
    }
    #[inline(always)]
    fn abs(self) -> Self {
        Self(self.0.magnitude())
    }
    #[inline(always)]
    fn floor(self) -> Self {
        Self(self.0.floor())
    }
    #[inline(always)]
    fn lt(self, o: Self) -> Self {
        Self(T::mask(self.0 < o.0))
    }
    #[inline(always)]
    fn le(self, o: Self) -> Self {
        Self(T::mask(self.0 <= o.0))
    }
    #[inline(always)]
    fn eq(self, o: Self) -> Self {
        Self(T::mask(self.0 == o.0))
    }
    #[inline(always)]
    fn and(self, o: Self) -> Self {
        Self(self.0.bit_and(o.0))
    }
    #[inline(always)]
    fn or(self, o: Self) -> Self {
        Self(self.0.bit_or(o.0))
    }
    #[inline(always)]
    fn select(mask: Self, yes: Self, no: Self) -> Self {
        if mask.0.is_set() { yes } else { no }
    }
    #[inline(always)]
    fn any(mask: Self) -> bool {
        mask.0.is_set()
    }
    #[inline(always)]
    fn bits(mask: Self) -> u32 {
        u32::from(mask.0.is_set())
    }
    #[inline(always)]
    fn transpose(mut row: impl FnMut(usize) -> Self, mut column: impl FnMut(usize, Self)) {
        column(0, row(0));
    }
}

impl Isa for Scalar {
    type F32 = One<f32>;
    type F64 = One<f64>;
    type Eight = Self;
    type Quad = Self;

    #[inline(always)]
    fn eight(self) -> Self {
        self
    }
    #[inline(always)]
    fn quad(self) -> Self {
        self
    }
    #[inline(always)]
    fn prefetch<T>(self, _: Cache, _: &[T], _: usize) {}
    #[inline(always)]
    fn load_f16(self, src: &[f16]) -> One<f32> {
        One(src.first().map_or(0.0, |h| h.to_f32()))
    }
    #[inline(always)]
    fn store_f16(self, v: One<f32>, dst: &mut [f16]) {
        if let Some(d) = dst.first_mut() {
            *d = f16::from_f32(v.0);
        }
    }
    #[inline(always)]
    fn load_bf16(self, src: &[bf16]) -> One<f32> {
        One(src.first().map_or(0.0, |h| f32::from_bits(u32::from(h.to_bits()) << 16)))
    }
    #[inline(always)]
    fn store_bf16(self, v: One<f32>, dst: &mut [bf16]) {
        if let Some(d) = dst.first_mut() {
            *d = bf16::from_f32(crate::simd::Real::canonical(v.0));
        }
    }
}
