//! What the target has without asking: 128-bit vectors of `wide`, which are SSE2, NEON or SIMD128, or plain arrays elsewhere.

use half::{bf16, f16};
use wide::{f32x4, f64x2, i16x8, i32x8, u16x8, u32x4, u32x8};

use super::{Isa, Vector, lanes, put};

/// Needs nothing beyond the features that the crate is compiled for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Baseline;

impl<S: Isa<F32 = f32x4>> Vector<S> for f32x4 {
    type Elem = f32;
    const LANES: usize = 4;
    type Mask = Self;

    #[inline(always)]
    fn splat(_: S, value: f32) -> Self {
        Self::splat(value)
    }
    #[inline(always)]
    fn load(_: S, src: &[f32]) -> Self {
        Self::new(lanes(src))
    }
    #[inline(always)]
    fn store(self, dst: &mut [f32]) {
        put(self.to_array(), dst);
    }
    #[inline(always)]
    fn abs(self) -> Self {
        self & Self::splat(f32::from_bits(0x7fff_ffff))
    }
    #[inline(always)]
    fn floor(self) -> Self {
        // `wide`'s is scalar on SSE2. Adding 2^23 of the same sign rounds to an integer; from there on every f32 is one.
        let limit = Self::splat(8_388_608.0);
        let bias = limit | (self & Self::splat(-0.0));
        let nearest = (self + bias) - bias;
        let floor = nearest - (nearest.simd_gt(self) & Self::splat(1.0));
        <Self as Vector<S>>::abs(self).simd_lt(limit).bitselect(floor, self)
    }
    #[inline(always)]
    fn lt(self, o: Self) -> Self {
        self.simd_lt(o)
    }
    #[inline(always)]
    fn le(self, o: Self) -> Self {
        self.simd_le(o)
    }
    #[inline(always)]
    fn eq(self, o: Self) -> Self {
        self.simd_eq(o)
    }
    #[inline(always)]
    fn and(self, o: Self) -> Self {
        self & o
    }
    #[inline(always)]
    fn or(self, o: Self) -> Self {
        self | o
    }
    #[inline(always)]
    fn select(mask: Self, yes: Self, no: Self) -> Self {
        mask.bitselect(yes, no)
    }
    #[inline(always)]
    fn deinterleave(_: S, [a, b]: [Self; 2]) -> [Self; 2] {
        // Lanes 0 of both, then 1; lanes 2, then 3.
        let (front, back) = (a.unpack_lo(b), a.unpack_hi(b));
        [front.unpack_lo(back), front.unpack_hi(back)]
    }
    #[inline(always)]
    fn interleave(_: S, [even, odd]: [Self; 2]) -> [Self; 2] {
        [even.unpack_lo(odd), even.unpack_hi(odd)]
    }
    #[inline(always)]
    fn any(mask: Self) -> bool {
        Self::any(mask)
    }
    #[inline(always)]
    fn bits(mask: Self) -> u32 {
        mask.to_bitmask()
    }
    #[inline(always)]
    fn transpose(mut row: impl FnMut(usize) -> Self, mut column: impl FnMut(usize, Self)) {
        let [a, b, c, d] = Self::transpose([row(0), row(1), row(2), row(3)]);
        column(0, a);
        column(1, b);
        column(2, c);
        column(3, d);
    }
}

impl<S: Isa<F64 = f64x2>> Vector<S> for f64x2 {
    type Elem = f64;
    const LANES: usize = 2;
    type Mask = Self;

    #[inline(always)]
    fn splat(_: S, value: f64) -> Self {
        Self::splat(value)
    }
    #[inline(always)]
    fn load(_: S, src: &[f64]) -> Self {
        Self::new(lanes(src))
    }
    #[inline(always)]
    fn store(self, dst: &mut [f64]) {
        put(self.to_array(), dst);
    }
    #[inline(always)]
    fn abs(self) -> Self {
        self & Self::splat(f64::from_bits(0x7fff_ffff_ffff_ffff))
    }
    #[inline(always)]
    fn floor(self) -> Self {
        // As of f32, with 2^52.
        let limit = Self::splat(4_503_599_627_370_496.0);
        let bias = limit | (self & Self::splat(-0.0));
        let nearest = (self + bias) - bias;
        let floor = nearest - (nearest.simd_gt(self) & Self::splat(1.0));
        <Self as Vector<S>>::abs(self).simd_lt(limit).bitselect(floor, self)
    }
    #[inline(always)]
    fn lt(self, o: Self) -> Self {
        self.simd_lt(o)
    }
    #[inline(always)]
    fn le(self, o: Self) -> Self {
        self.simd_le(o)
    }
    #[inline(always)]
    fn eq(self, o: Self) -> Self {
        self.simd_eq(o)
    }
    #[inline(always)]
    fn and(self, o: Self) -> Self {
        self & o
    }
    #[inline(always)]
    fn or(self, o: Self) -> Self {
        self | o
    }
    #[inline(always)]
    fn select(mask: Self, yes: Self, no: Self) -> Self {
        mask.bitselect(yes, no)
    }
    #[inline(always)]
    fn any(mask: Self) -> bool {
        Self::any(mask)
    }
    #[inline(always)]
    fn bits(mask: Self) -> u32 {
        mask.to_bitmask()
    }
    #[inline(always)]
    fn transpose(mut row: impl FnMut(usize) -> Self, mut column: impl FnMut(usize, Self)) {
        let [a, b] = [row(0).to_bits(), row(1).to_bits()];
        column(0, Self::from_bits(a.unpack_lo(b)));
        column(1, Self::from_bits(a.unpack_hi(b)));
    }
}

/// Zero-extends. By eight, half of them unused, because `wide` has an instruction for that.
#[inline(always)]
fn widen_bits(bits: [u16; 4]) -> u32x4 {
    let eight: u16x8 = bytemuck::cast([bytemuck::cast::<_, u64>(bits), 0]);
    let [low, _]: [u32x4; 2] = bytemuck::cast(u32x8::from(eight));
    low
}

/// The lower half of each lane.
#[inline(always)]
fn narrow_bits(v: u32x4) -> [u16; 4] {
    let wide: i32x8 = bytemuck::cast([v, v]);
    let [a, b, c, d, ..]: [u16; 8] = bytemuck::cast(i16x8::from_i32x8_truncate(wide));
    [a, b, c, d]
}

impl Isa for Baseline {
    type F32 = f32x4;
    type F64 = f64x2;
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
    fn load_f16(self, src: &[f16]) -> f32x4 {
        let bits = widen_bits(lanes(src).map(f16::to_bits));
        let magnitude = bits & u32x4::splat(0x7fff);
        let sign = (bits ^ magnitude) << 16_u32;
        // The exponent moves from bias 15 to 127.
        let normal = (magnitude << 13_u32) + u32x4::splat((127 - 15) << 23);
        // As 2^-14 * (1 + fraction), less 2^-14: no subnormal is computed with.
        let tiny = f32x4::from_bits(normal + u32x4::splat(1 << 23)) - f32x4::splat(f32::from_bits((127 - 14) << 23));
        // Infinities and NaN: the largest exponent again, and the quiet bit.
        let huge = normal + u32x4::splat((127 - 15) << 23);
        let quiet = magnitude.simd_gt(u32x4::splat(0x7c00)) & u32x4::splat(1 << 22);
        let finite = magnitude.simd_lt(u32x4::splat(0x0400)).bitselect(tiny.to_bits(), normal);
        let magnitude = magnitude.simd_gt(u32x4::splat(0x7bff)).bitselect(huge | quiet, finite);
        f32x4::from_bits(magnitude | sign)
    }
    #[inline(always)]
    fn store_f16(self, v: f32x4, dst: &mut [f16]) {
        let bits = v.to_bits();
        let magnitude = bits & u32x4::splat(0x7fff_ffff);
        let sign = (bits ^ magnitude) >> 16_u32;
        // To nearest even: half a unit less one, and one more where the last kept bit is set. A carry may reach infinity.
        let odd = (magnitude >> 13_u32) & u32x4::splat(1);
        let normal = (magnitude + u32x4::splat(0x0fff) + odd - u32x4::splat((127 - 15) << 23)) >> 13_u32;
        // Below 2^-14: adding 1/2, whose last bit is 2^-24, rounds to a multiple of the smallest f16.
        let half = f32x4::splat(0.5);
        let tiny = (f32x4::from_bits(magnitude) + half).to_bits() - half.to_bits();
        let huge = magnitude.simd_gt(u32x4::splat(0x7f80_0000)).bitselect(u32x4::splat(0x7e00), u32x4::splat(0x7c00));
        let finite = magnitude.simd_lt(u32x4::splat((127 - 14) << 23)).bitselect(tiny, normal);
        let magnitude = magnitude.simd_lt(u32x4::splat((127 + 16) << 23)).bitselect(finite, huge);
        put(narrow_bits(magnitude | sign).map(f16::from_bits), dst);
    }
    #[inline(always)]
    fn load_bf16(self, src: &[bf16]) -> f32x4 {
        f32x4::from_bits(widen_bits(lanes(src).map(bf16::to_bits)) << 16_u32)
    }
    #[inline(always)]
    fn store_bf16(self, v: f32x4, dst: &mut [bf16]) {
        let bits = v.to_bits();
        let odd = (bits >> 16_u32) & u32x4::splat(1);
        let rounded = (bits + u32x4::splat(0x7fff) + odd) >> 16_u32;
        // The sum might carry a NaN over to infinity or zero.
        let number = v.simd_eq(v).to_bits();
        let rounded = number.bitselect(rounded, u32x4::splat(0x7fc0));
        put(narrow_bits(rounded).map(bf16::from_bits), dst);
    }
}
