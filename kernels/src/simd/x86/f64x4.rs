//! Four f64 in a register.

use core::arch::x86_64::*;
use core::ops::{Add, Div, Mul, Sub};

use super::{Avx2, all_apart, compressed, pick_words, read_each};
use crate::simd::vector::some_squares;
use crate::simd::{Vector, apart, put};

/// Four f64. One in hand was made from an [`Avx2`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct F64x4(__m256d);

impl Add for F64x4 {
    type Output = Self;
    #[inline(always)]
    fn add(self, o: Self) -> Self {
        // SAFETY: made from a token.
        Self(unsafe { _mm256_add_pd(self.0, o.0) })
    }
}
impl Sub for F64x4 {
    type Output = Self;
    #[inline(always)]
    fn sub(self, o: Self) -> Self {
        // SAFETY: made from a token.
        Self(unsafe { _mm256_sub_pd(self.0, o.0) })
    }
}
impl Mul for F64x4 {
    type Output = Self;
    #[inline(always)]
    fn mul(self, o: Self) -> Self {
        // SAFETY: made from a token.
        Self(unsafe { _mm256_mul_pd(self.0, o.0) })
    }
}
impl Div for F64x4 {
    type Output = Self;
    #[inline(always)]
    fn div(self, o: Self) -> Self {
        // SAFETY: made from a token.
        Self(unsafe { _mm256_div_pd(self.0, o.0) })
    }
}

impl Vector<Avx2> for F64x4 {
    type Elem = f64;
    const LANES: usize = 4;
    type Mask = Self;

    #[inline(always)]
    fn splat(_: Avx2, value: f64) -> Self {
        // SAFETY: there is a token.
        Self(unsafe { _mm256_set1_pd(value) })
    }
    #[inline(always)]
    fn load(_: Avx2, src: &[f64]) -> Self {
        match src.first_chunk::<4>() {
            Some(full) => Self(wide::f64x4::new(*full).into()),
            // SAFETY: there is a token; lanes that the mask leaves out, those from `src.len()` on, are not read.
            None => Self(unsafe {
                let mask = _mm256_cmpgt_epi64(_mm256_set1_epi64x(src.len() as i64), _mm256_setr_epi64x(0, 1, 2, 3));
                _mm256_maskload_pd(src.as_ptr(), mask)
            }),
        }
    }
    #[inline(always)]
    fn store(self, dst: &mut [f64]) {
        put(wide::f64x4::from(self.0).to_array(), dst);
    }
    #[inline(always)]
    fn abs(self) -> Self {
        // SAFETY: made from a token.
        Self(unsafe { _mm256_andnot_pd(_mm256_set1_pd(-0.0), self.0) })
    }
    #[inline(always)]
    fn floor(self) -> Self {
        // The sum turns -0 into +0.
        // SAFETY: made from a token.
        Self(unsafe { _mm256_add_pd(_mm256_floor_pd(self.0), _mm256_setzero_pd()) })
    }
    #[inline(always)]
    fn lt(self, o: Self) -> Self {
        // SAFETY: made from a token.
        Self(unsafe { _mm256_cmp_pd::<_CMP_LT_OQ>(self.0, o.0) })
    }
    #[inline(always)]
    fn le(self, o: Self) -> Self {
        // SAFETY: made from a token.
        Self(unsafe { _mm256_cmp_pd::<_CMP_LE_OQ>(self.0, o.0) })
    }
    #[inline(always)]
    fn eq(self, o: Self) -> Self {
        // SAFETY: made from a token.
        Self(unsafe { _mm256_cmp_pd::<_CMP_EQ_OQ>(self.0, o.0) })
    }
    #[inline(always)]
    fn and(self, o: Self) -> Self {
        // SAFETY: made from a token.
        Self(unsafe { _mm256_and_pd(self.0, o.0) })
    }
    #[inline(always)]
    fn or(self, o: Self) -> Self {
        // SAFETY: made from a token.
        Self(unsafe { _mm256_or_pd(self.0, o.0) })
    }
    #[inline(always)]
    fn select(mask: Self, yes: Self, no: Self) -> Self {
        // SAFETY: made from a token.
        Self(unsafe { _mm256_blendv_pd(no.0, yes.0, mask.0) })
    }
    #[inline(always)]
    fn any(mask: Self) -> bool {
        // SAFETY: made from a token.
        unsafe { _mm256_movemask_pd(mask.0) != 0 }
    }
    #[inline(always)]
    fn bits(mask: Self) -> u32 {
        // SAFETY: made from a token.
        unsafe { _mm256_movemask_pd(mask.0) }.cast_unsigned()
    }
    #[inline(always)]
    fn compress(self, lanes: u32, dst: &mut [Self::Elem]) {
        const WORDS: [[u8; 8]; 16] = compressed(2);
        // SAFETY: made from a token.
        let words = unsafe { _mm256_castpd_ps(self.0) };
        let compressed = pick_words(words, &WORDS[lanes as usize % WORDS.len()]);
        // SAFETY: as above.
        Self(unsafe { _mm256_castps_pd(compressed) }).store(dst);
    }
    #[inline(always)]
    fn transpose(mut row: impl FnMut(usize) -> Self, mut column: impl FnMut(usize, Self)) {
        let [a, b, c, d] = [row(0).0, row(1).0, row(2).0, row(3).0];
        // SAFETY: made from a token.
        let columns = unsafe {
            let [ab0, ab1] = [_mm256_unpacklo_pd(a, b), _mm256_unpackhi_pd(a, b)];
            let [cd0, cd1] = [_mm256_unpacklo_pd(c, d), _mm256_unpackhi_pd(c, d)];
            [
                _mm256_permute2f128_pd::<0x20>(ab0, cd0),
                _mm256_permute2f128_pd::<0x20>(ab1, cd1),
                _mm256_permute2f128_pd::<0x31>(ab0, cd0),
                _mm256_permute2f128_pd::<0x31>(ab1, cd1),
            ]
        };
        for (j, v) in columns.into_iter().enumerate() {
            column(j, Self(v));
        }
    }
    #[inline(always)]
    fn deinterleave(_: Avx2, [a, b]: [Self; 2]) -> [Self; 2] {
        // SAFETY: there is a token.
        unsafe {
            // Halves first: shuffles stay inside of them.
            let front = _mm256_permute2f128_pd::<0x20>(a.0, b.0);
            let back = _mm256_permute2f128_pd::<0x31>(a.0, b.0);
            let [even, odd] = [_mm256_unpacklo_pd(front, back), _mm256_unpackhi_pd(front, back)];
            [Self(even), Self(odd)]
        }
    }
    #[inline(always)]
    fn interleave(_: Avx2, [even, odd]: [Self; 2]) -> [Self; 2] {
        // SAFETY: there is a token.
        unsafe {
            let [low, high] = [_mm256_unpacklo_pd(even.0, odd.0), _mm256_unpackhi_pd(even.0, odd.0)];
            [Self(_mm256_permute2f128_pd::<0x20>(low, high)), Self(_mm256_permute2f128_pd::<0x31>(low, high))]
        }
    }
    #[inline(always)]
    fn deinterleave_three(_: Avx2, [a, b, c]: [Self; 3]) -> [Self; 3] {
        // SAFETY: there is a token.
        unsafe {
            // What comes from different vectors comes from different lanes of them. Lane 1 from the second, 2 from the third.
            let blend = |a: Self, b: Self, c: Self| _mm256_blend_pd::<0b0100>(_mm256_blend_pd::<0b0010>(a.0, b.0), c.0);
            [
                Self(_mm256_permute4x64_pd::<0b01_10_11_00>(blend(a, c, b))),
                Self(_mm256_permute4x64_pd::<0b10_11_00_01>(blend(b, a, c))),
                Self(_mm256_permute4x64_pd::<0b11_00_01_10>(blend(c, b, a))),
            ]
        }
    }
    #[inline(always)]
    fn interleave_three(_: Avx2, [a, b, c]: [Self; 3]) -> [Self; 3] {
        // SAFETY: there is a token.
        unsafe {
            // What goes to different vectors goes to different lanes of them, so one permutation serves all three.
            let a = _mm256_permute4x64_pd::<0b01_10_11_00>(a.0);
            let b = _mm256_permute4x64_pd::<0b10_11_00_01>(b.0);
            let c = _mm256_permute4x64_pd::<0b11_00_01_10>(c.0);
            // Lane 1 from the second, 2 from the third.
            let blend = |a, b, c| Self(_mm256_blend_pd::<0b0100>(_mm256_blend_pd::<0b0010>(a, b), c));
            [blend(a, b, c), blend(b, c, a), blend(c, a, b)]
        }
    }
    #[inline(always)]
    fn store_indices(self, dst: &mut [u32]) {
        // SAFETY: made from a token.
        put(wide::u32x4::from(unsafe { _mm256_cvttpd_epi32(self.0) }).to_array(), dst);
    }
    #[inline(always)]
    fn load_apart(isa: Avx2, src: &[f64], step: usize) -> Self {
        match all_apart(src, step) {
            Some(full) => Self(wide::f64x4::new(full).into()),
            None => Self::load(isa, &apart::<_, 4>(src, step, 4)),
        }
    }
    #[inline(always)]
    fn squares(isa: Avx2, data: &[f64], at: &[u32], below: usize) -> [[Self; 2]; 2] {
        let last = below.checked_add(2).and_then(|reach| data.len().checked_sub(reach));
        let (Some(at), Some(last)) = (at.first_chunk::<4>(), last) else {
            return some_squares(isa, data, at, below);
        };
        if at.iter().any(|&at| at as usize > last) {
            return some_squares(isa, data, at, below);
        }
        let at = read_each(at);
        // SAFETY: there is a token, and `data` has pairs at the largest index and `below` it.
        unsafe {
            let gather = |data: *const f64| {
                let pair = |k: usize| _mm_loadu_pd(data.add(at[k]));
                let (even, odd) = (_mm256_set_m128d(pair(2), pair(0)), _mm256_set_m128d(pair(3), pair(1)));
                [Self(_mm256_unpacklo_pd(even, odd)), Self(_mm256_unpackhi_pd(even, odd))]
            };
            [gather(data.as_ptr()), gather(data.as_ptr().add(below))]
        }
    }
}
