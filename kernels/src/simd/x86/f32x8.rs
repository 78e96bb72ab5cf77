//! Eight f32 in a register.

use core::arch::x86_64::*;
use core::ops::{Add, Div, Mul, Sub};

use super::{Avx2, all_apart, compressed, pick_words, read_each};
use crate::simd::vector::some_squares;
use crate::simd::{Vector, apart, put};

/// Eight f32. One in hand was made from an [`Avx2`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct F32x8(pub(super) __m256);

impl Add for F32x8 {
    type Output = Self;
    #[inline(always)]
    fn add(self, o: Self) -> Self {
        // SAFETY: made from a token.
        Self(unsafe { _mm256_add_ps(self.0, o.0) })
    }
}
impl Sub for F32x8 {
    type Output = Self;
    #[inline(always)]
    fn sub(self, o: Self) -> Self {
        // SAFETY: made from a token.
        Self(unsafe { _mm256_sub_ps(self.0, o.0) })
    }
}
impl Mul for F32x8 {
    type Output = Self;
    #[inline(always)]
    fn mul(self, o: Self) -> Self {
        // SAFETY: made from a token.
        Self(unsafe { _mm256_mul_ps(self.0, o.0) })
    }
}
impl Div for F32x8 {
    type Output = Self;
    #[inline(always)]
    fn div(self, o: Self) -> Self {
        // SAFETY: made from a token.
        Self(unsafe { _mm256_div_ps(self.0, o.0) })
    }
}

impl Vector<Avx2> for F32x8 {
    type Elem = f32;
    const LANES: usize = 8;
    type Mask = Self;

    #[inline(always)]
    fn splat(_: Avx2, value: f32) -> Self {
        // SAFETY: there is a token.
        Self(unsafe { _mm256_set1_ps(value) })
    }
    #[inline(always)]
    fn load(_: Avx2, src: &[f32]) -> Self {
        match src.first_chunk::<8>() {
            Some(full) => Self(wide::f32x8::new(*full).into()),
            // SAFETY: there is a token; lanes that the mask leaves out, those from `src.len()` on, are not read.
            None => Self(unsafe {
                let number = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
                let mask = _mm256_cmpgt_epi32(_mm256_set1_epi32(src.len() as i32), number);
                _mm256_maskload_ps(src.as_ptr(), mask)
            }),
        }
    }
    #[inline(always)]
    fn store(self, dst: &mut [f32]) {
        put(wide::f32x8::from(self.0).to_array(), dst);
    }
    #[inline(always)]
    fn abs(self) -> Self {
        // SAFETY: made from a token.
        Self(unsafe { _mm256_andnot_ps(_mm256_set1_ps(-0.0), self.0) })
    }
    #[inline(always)]
    fn floor(self) -> Self {
        // The sum turns -0 into +0.
        // SAFETY: made from a token.
        Self(unsafe { _mm256_add_ps(_mm256_floor_ps(self.0), _mm256_setzero_ps()) })
    }
    #[inline(always)]
    fn lt(self, o: Self) -> Self {
        // SAFETY: made from a token.
        Self(unsafe { _mm256_cmp_ps::<_CMP_LT_OQ>(self.0, o.0) })
    }
    #[inline(always)]
    fn le(self, o: Self) -> Self {
        // SAFETY: made from a token.
        Self(unsafe { _mm256_cmp_ps::<_CMP_LE_OQ>(self.0, o.0) })
    }
    #[inline(always)]
    fn eq(self, o: Self) -> Self {
        // SAFETY: made from a token.
        Self(unsafe { _mm256_cmp_ps::<_CMP_EQ_OQ>(self.0, o.0) })
    }
    #[inline(always)]
    fn and(self, o: Self) -> Self {
        // SAFETY: made from a token.
        Self(unsafe { _mm256_and_ps(self.0, o.0) })
    }
    #[inline(always)]
    fn or(self, o: Self) -> Self {
        // SAFETY: made from a token.
        Self(unsafe { _mm256_or_ps(self.0, o.0) })
    }
    #[inline(always)]
    fn select(mask: Self, yes: Self, no: Self) -> Self {
        // SAFETY: made from a token.
        Self(unsafe { _mm256_blendv_ps(no.0, yes.0, mask.0) })
    }
    #[inline(always)]
    fn any(mask: Self) -> bool {
        // SAFETY: made from a token.
        unsafe { _mm256_movemask_ps(mask.0) != 0 }
    }
    #[inline(always)]
    fn bits(mask: Self) -> u32 {
        // SAFETY: made from a token.
        unsafe { _mm256_movemask_ps(mask.0) }.cast_unsigned()
    }
    #[inline(always)]
    fn compress(self, lanes: u32, dst: &mut [Self::Elem]) {
        const WORDS: [[u8; 8]; 256] = compressed(1);
        Self(pick_words(self.0, &WORDS[lanes as usize % WORDS.len()])).store(dst);
    }
    #[inline(always)]
    fn transpose(mut row: impl FnMut(usize) -> Self, mut column: impl FnMut(usize, Self)) {
        let [a, b, c, d] = [row(0).0, row(1).0, row(2).0, row(3).0];
        let [e, f, g, h] = [row(4).0, row(5).0, row(6).0, row(7).0];
        // Squares of 2, then of 4 in each half of the register, then the halves.
        // SAFETY: made from a token.
        let columns = unsafe {
            let [ab0, ab2, cd0, cd2] = [
                _mm256_unpacklo_ps(a, b),
                _mm256_unpackhi_ps(a, b),
                _mm256_unpacklo_ps(c, d),
                _mm256_unpackhi_ps(c, d),
            ];
            let [ef0, ef2, gh0, gh2] = [
                _mm256_unpacklo_ps(e, f),
                _mm256_unpackhi_ps(e, f),
                _mm256_unpacklo_ps(g, h),
                _mm256_unpackhi_ps(g, h),
            ];
            let ad0 = _mm256_shuffle_ps::<0b01_00_01_00>(ab0, cd0);
            let ad1 = _mm256_shuffle_ps::<0b11_10_11_10>(ab0, cd0);
            let ad2 = _mm256_shuffle_ps::<0b01_00_01_00>(ab2, cd2);
            let ad3 = _mm256_shuffle_ps::<0b11_10_11_10>(ab2, cd2);
            let eh0 = _mm256_shuffle_ps::<0b01_00_01_00>(ef0, gh0);
            let eh1 = _mm256_shuffle_ps::<0b11_10_11_10>(ef0, gh0);
            let eh2 = _mm256_shuffle_ps::<0b01_00_01_00>(ef2, gh2);
            let eh3 = _mm256_shuffle_ps::<0b11_10_11_10>(ef2, gh2);
            [
                _mm256_permute2f128_ps::<0x20>(ad0, eh0),
                _mm256_permute2f128_ps::<0x20>(ad1, eh1),
                _mm256_permute2f128_ps::<0x20>(ad2, eh2),
                _mm256_permute2f128_ps::<0x20>(ad3, eh3),
                _mm256_permute2f128_ps::<0x31>(ad0, eh0),
                _mm256_permute2f128_ps::<0x31>(ad1, eh1),
                _mm256_permute2f128_ps::<0x31>(ad2, eh2),
                _mm256_permute2f128_ps::<0x31>(ad3, eh3),
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
            let front = _mm256_permute2f128_ps::<0x20>(a.0, b.0);
            let back = _mm256_permute2f128_ps::<0x31>(a.0, b.0);
            let [even, odd] = [_mm256_shuffle_ps::<0x88>(front, back), _mm256_shuffle_ps::<0xdd>(front, back)];
            [Self(even), Self(odd)]
        }
    }
    #[inline(always)]
    fn interleave(_: Avx2, [even, odd]: [Self; 2]) -> [Self; 2] {
        // SAFETY: there is a token.
        unsafe {
            let [low, high] = [_mm256_unpacklo_ps(even.0, odd.0), _mm256_unpackhi_ps(even.0, odd.0)];
            [Self(_mm256_permute2f128_ps::<0x20>(low, high)), Self(_mm256_permute2f128_ps::<0x31>(low, high))]
        }
    }
    #[inline(always)]
    fn deinterleave_three(_: Avx2, [a, b, c]: [Self; 3]) -> [Self; 3] {
        // SAFETY: there is a token.
        unsafe {
            // What comes from different vectors comes from different lanes of them. Lanes 1, 4, 7 from the second, 2, 5 from the third.
            let blend = |a: Self, b: Self, c: Self| {
                _mm256_blend_ps::<0b0010_0100>(_mm256_blend_ps::<0b1001_0010>(a.0, b.0), c.0)
            };
            let first = _mm256_permutevar8x32_ps(blend(a, b, c), _mm256_setr_epi32(0, 3, 6, 1, 4, 7, 2, 5));
            let second = _mm256_permutevar8x32_ps(blend(c, a, b), _mm256_setr_epi32(1, 4, 7, 2, 5, 0, 3, 6));
            let third = _mm256_permutevar8x32_ps(blend(b, c, a), _mm256_setr_epi32(2, 5, 0, 3, 6, 1, 4, 7));
            [Self(first), Self(second), Self(third)]
        }
    }
    #[inline(always)]
    fn interleave_three(_: Avx2, [a, b, c]: [Self; 3]) -> [Self; 3] {
        // SAFETY: there is a token.
        unsafe {
            // What goes to different vectors goes to different lanes of them, so one permutation serves all three.
            let a = _mm256_permutevar8x32_ps(a.0, _mm256_setr_epi32(0, 3, 6, 1, 4, 7, 2, 5));
            let b = _mm256_permutevar8x32_ps(b.0, _mm256_setr_epi32(5, 0, 3, 6, 1, 4, 7, 2));
            let c = _mm256_permutevar8x32_ps(c.0, _mm256_setr_epi32(2, 5, 0, 3, 6, 1, 4, 7));
            // Lanes 1, 4, 7 from the second, 2, 5 from the third.
            let blend = |a, b, c| Self(_mm256_blend_ps::<0b0010_0100>(_mm256_blend_ps::<0b1001_0010>(a, b), c));
            [blend(a, b, c), blend(c, a, b), blend(b, c, a)]
        }
    }
    #[inline(always)]
    fn behind(_: Avx2, [before, here]: [Self; 2]) -> Self {
        // SAFETY: there is a token.
        unsafe {
            // The upper half of the one and the lower of the other: shuffles stay inside of halves.
            let middle = _mm256_permute2f128_ps::<0x21>(before.0, here.0);
            let [middle, here] = [_mm256_castps_si256(middle), _mm256_castps_si256(here.0)];
            Self(_mm256_castsi256_ps(_mm256_alignr_epi8::<12>(here, middle)))
        }
    }
    #[inline(always)]
    fn store_indices(self, dst: &mut [u32]) {
        // SAFETY: made from a token.
        put(wide::u32x8::from(unsafe { _mm256_cvttps_epi32(self.0) }).to_array(), dst);
    }
    #[inline(always)]
    fn load_apart(isa: Avx2, src: &[f32], step: usize) -> Self {
        match all_apart(src, step) {
            Some(full) => Self(wide::f32x8::new(full).into()),
            None => Self::load(isa, &apart::<_, 8>(src, step, 8)),
        }
    }
    #[inline(always)]
    fn squares(isa: Avx2, data: &[f32], at: &[u32], below: usize) -> [[Self; 2]; 2] {
        let last = below.checked_add(2).and_then(|reach| data.len().checked_sub(reach));
        let (Some(at), Some(last)) = (at.first_chunk::<8>(), last) else {
            return some_squares(isa, data, at, below);
        };
        let last = u32::try_from(last).unwrap_or(u32::MAX).cast_signed();
        // SAFETY: there is a token, and where no index is larger than `last`, `data` has pairs at all of them and `below` them.
        // A pair is as large as an f64, of which all bits are valid; its address need not be one of an f64.
        unsafe {
            let last = _mm256_set1_epi32(last);
            let numbers = _mm256_loadu_si256(at.as_ptr().cast());
            let beyond = _mm256_xor_si256(_mm256_max_epu32(numbers, last), last);
            if _mm256_testz_si256(beyond, beyond) == 0 {
                return some_squares(isa, data, at, below);
            }
            let at = read_each(at);
            let gather = |data: *const f32| {
                let pair = |k: usize| data.add(at[k]).cast::<f64>().read_unaligned();
                let two = |j: usize, k: usize| _mm_set_pd(pair(k), pair(j));
                let four = |low: __m128d, high: __m128d| _mm256_castpd_ps(_mm256_set_m128d(high, low));
                // Shuffles work in each half of the register.
                let (front, back) = (four(two(0, 1), two(4, 5)), four(two(2, 3), two(6, 7)));
                let first = _mm256_shuffle_ps::<0b10_00_10_00>(front, back);
                let second = _mm256_shuffle_ps::<0b11_01_11_01>(front, back);
                [Self(first), Self(second)]
            };
            [gather(data.as_ptr()), gather(data.as_ptr().add(below))]
        }
    }
}
