//! Sixteen f32 in a register.

use core::arch::x86_64::*;
use core::ops::{Add, Div, Mul, Sub};

use super::avx512::{Avx512, transpose};
use crate::simd::vector::some_squares;
use crate::simd::{Mask, Vector, first_lanes};

/// Sixteen f32. One in hand was made from an [`Avx512`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct F32x16(pub(super) __m512);

impl F32x16 {
    /// All ones in the lanes of a mask.
    #[inline(always)]
    fn ones(mask: __mmask16) -> Self {
        // SAFETY: called with vectors in hand.
        Self(unsafe { _mm512_castsi512_ps(_mm512_movm_epi32(mask)) })
    }
    /// The lanes that are all ones, of a mask.
    #[inline(always)]
    fn mask(self) -> __mmask16 {
        // SAFETY: made from a token.
        unsafe { _mm512_movepi32_mask(_mm512_castps_si512(self.0)) }
    }
}

impl Add for F32x16 {
    type Output = Self;
    #[inline(always)]
    fn add(self, o: Self) -> Self {
        // SAFETY: made from a token.
        Self(unsafe { _mm512_add_ps(self.0, o.0) })
    }
}
impl Sub for F32x16 {
    type Output = Self;
    #[inline(always)]
    fn sub(self, o: Self) -> Self {
        // SAFETY: made from a token.
        Self(unsafe { _mm512_sub_ps(self.0, o.0) })
    }
}
impl Mul for F32x16 {
    type Output = Self;
    #[inline(always)]
    fn mul(self, o: Self) -> Self {
        // SAFETY: made from a token.
        Self(unsafe { _mm512_mul_ps(self.0, o.0) })
    }
}
impl Div for F32x16 {
    type Output = Self;
    #[inline(always)]
    fn div(self, o: Self) -> Self {
        // SAFETY: made from a token.
        Self(unsafe { _mm512_div_ps(self.0, o.0) })
    }
}

impl Mask<Avx512, F32x16> for __mmask16 {
    #[inline(always)]
    fn of(mask: F32x16) -> Self {
        mask.mask()
    }
    #[inline(always)]
    fn both(self, other: Self) -> Self {
        self & other
    }
    #[inline(always)]
    fn add_to(self, sum: F32x16, term: F32x16) -> F32x16 {
        // SAFETY: made from a token.
        F32x16(unsafe { _mm512_mask_add_ps(sum.0, self, sum.0, term.0) })
    }
}

impl Vector<Avx512> for F32x16 {
    type Elem = f32;
    const LANES: usize = 16;
    type Mask = __mmask16;

    #[inline(always)]
    fn splat(_: Avx512, value: f32) -> Self {
        // SAFETY: there is a token.
        Self(unsafe { _mm512_set1_ps(value) })
    }
    #[inline(always)]
    fn load(_: Avx512, src: &[f32]) -> Self {
        // SAFETY: there is a token; lanes that the mask leaves out, those from `src.len()` on, are not read.
        Self(unsafe {
            match src.first_chunk::<16>() {
                Some(full) => _mm512_loadu_ps(full.as_ptr()),
                None => _mm512_maskz_loadu_ps(first_lanes(src.len()) as __mmask16, src.as_ptr()),
            }
        })
    }
    #[inline(always)]
    fn store(self, dst: &mut [f32]) {
        // SAFETY: made from a token; lanes that the mask leaves out, those from `dst.len()` on, are not written.
        unsafe {
            match dst.first_chunk_mut::<16>() {
                Some(full) => _mm512_storeu_ps(full.as_mut_ptr(), self.0),
                None => _mm512_mask_storeu_ps(dst.as_mut_ptr(), first_lanes(dst.len()) as __mmask16, self.0),
            }
        }
    }
    #[inline(always)]
    fn abs(self) -> Self {
        // SAFETY: made from a token.
        Self(unsafe { _mm512_andnot_ps(_mm512_set1_ps(-0.0), self.0) })
    }
    #[inline(always)]
    fn floor(self) -> Self {
        const DOWN: i32 = _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC;
        // The sum turns -0 into +0.
        // SAFETY: made from a token.
        Self(unsafe { _mm512_add_ps(_mm512_roundscale_ps::<DOWN>(self.0), _mm512_setzero_ps()) })
    }
    #[inline(always)]
    fn lt(self, o: Self) -> Self {
        // SAFETY: made from a token.
        Self::ones(unsafe { _mm512_cmp_ps_mask::<_CMP_LT_OQ>(self.0, o.0) })
    }
    #[inline(always)]
    fn le(self, o: Self) -> Self {
        // SAFETY: made from a token.
        Self::ones(unsafe { _mm512_cmp_ps_mask::<_CMP_LE_OQ>(self.0, o.0) })
    }
    #[inline(always)]
    fn eq(self, o: Self) -> Self {
        // SAFETY: made from a token.
        Self::ones(unsafe { _mm512_cmp_ps_mask::<_CMP_EQ_OQ>(self.0, o.0) })
    }
    #[inline(always)]
    fn and(self, o: Self) -> Self {
        // SAFETY: made from a token.
        Self(unsafe { _mm512_and_ps(self.0, o.0) })
    }
    #[inline(always)]
    fn or(self, o: Self) -> Self {
        // SAFETY: made from a token.
        Self(unsafe { _mm512_or_ps(self.0, o.0) })
    }
    #[inline(always)]
    fn select(mask: Self, yes: Self, no: Self) -> Self {
        // SAFETY: made from a token.
        Self(unsafe { _mm512_mask_blend_ps(mask.mask(), no.0, yes.0) })
    }
    #[inline(always)]
    fn any(mask: Self) -> bool {
        mask.mask() != 0
    }
    #[inline(always)]
    fn bits(mask: Self) -> u32 {
        mask.mask().into()
    }
    #[inline(always)]
    fn compress(self, lanes: u32, dst: &mut [Self::Elem]) {
        // SAFETY: made from a token.
        Self(unsafe { _mm512_maskz_compress_ps(lanes as __mmask16, self.0) }).store(dst);
    }
    #[inline(always)]
    fn last_eight(self) -> Self {
        // SAFETY: made from a token.
        Self(unsafe { _mm512_castps256_ps512(_mm512_extractf32x8_ps::<1>(self.0)) })
    }
    #[inline(always)]
    fn transpose(mut row: impl FnMut(usize) -> Self, mut column: impl FnMut(usize, Self)) {
        transpose::<_, 16>(
            |i, lanes| row(i).store(lanes),
            // SAFETY: called with vectors in hand.
            |j, lanes| column(j, Self(unsafe { _mm512_loadu_ps(lanes.as_ptr()) })),
        );
    }
    #[inline(always)]
    fn deinterleave(_: Avx512, [a, b]: [Self; 2]) -> [Self; 2] {
        // SAFETY: there is a token.
        unsafe {
            let even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
            let odd = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
            [even, odd].map(|lanes| Self(_mm512_permutex2var_ps(a.0, lanes, b.0)))
        }
    }
    #[inline(always)]
    fn interleave(_: Avx512, [even, odd]: [Self; 2]) -> [Self; 2] {
        // SAFETY: there is a token.
        unsafe {
            let low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
            let high = _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
            [low, high].map(|lanes| Self(_mm512_permutex2var_ps(even.0, lanes, odd.0)))
        }
    }
    #[inline(always)]
    fn deinterleave_three(_: Avx512, [a, b, c]: [Self; 3]) -> [Self; 3] {
        // SAFETY: there is a token.
        unsafe {
            // What comes from different vectors comes from different lanes of them: every third lane from the second, beginning with
            // lane 1, and from the third, beginning with lane 2.
            let blend =
                |a: Self, b: Self, c: Self| _mm512_mask_blend_ps(0x4924, _mm512_mask_blend_ps(0x2492, a.0, b.0), c.0);
            let first = _mm512_setr_epi32(0, 3, 6, 9, 12, 15, 2, 5, 8, 11, 14, 1, 4, 7, 10, 13);
            let second = _mm512_setr_epi32(1, 4, 7, 10, 13, 0, 3, 6, 9, 12, 15, 2, 5, 8, 11, 14);
            let third = _mm512_setr_epi32(2, 5, 8, 11, 14, 1, 4, 7, 10, 13, 0, 3, 6, 9, 12, 15);
            let first = _mm512_permutexvar_ps(first, blend(a, c, b));
            let second = _mm512_permutexvar_ps(second, blend(b, a, c));
            let third = _mm512_permutexvar_ps(third, blend(c, b, a));
            [Self(first), Self(second), Self(third)]
        }
    }
    #[inline(always)]
    fn interleave_three(_: Avx512, [a, b, c]: [Self; 3]) -> [Self; 3] {
        // SAFETY: there is a token.
        unsafe {
            // What goes to different vectors goes to different lanes of them, so one permutation serves all three.
            let to_a = _mm512_setr_epi32(0, 11, 6, 1, 12, 7, 2, 13, 8, 3, 14, 9, 4, 15, 10, 5);
            let to_b = _mm512_setr_epi32(5, 0, 11, 6, 1, 12, 7, 2, 13, 8, 3, 14, 9, 4, 15, 10);
            let to_c = _mm512_setr_epi32(10, 5, 0, 11, 6, 1, 12, 7, 2, 13, 8, 3, 14, 9, 4, 15);
            let a = _mm512_permutexvar_ps(to_a, a.0);
            let b = _mm512_permutexvar_ps(to_b, b.0);
            let c = _mm512_permutexvar_ps(to_c, c.0);
            // Every third lane from the second, beginning with lane 1, and from the third, beginning with lane 2.
            let blend = |a, b, c| Self(_mm512_mask_blend_ps(0x4924, _mm512_mask_blend_ps(0x2492, a, b), c));
            [blend(a, b, c), blend(b, c, a), blend(c, a, b)]
        }
    }
    #[inline(always)]
    fn behind(_: Avx512, [before, here]: [Self; 2]) -> Self {
        // SAFETY: there is a token.
        unsafe {
            let [before, here] = [_mm512_castps_si512(before.0), _mm512_castps_si512(here.0)];
            Self(_mm512_castsi512_ps(_mm512_alignr_epi32::<15>(here, before)))
        }
    }
    #[inline(always)]
    fn store_indices(self, dst: &mut [u32]) {
        // SAFETY: made from a token; lanes that the mask leaves out, those from `dst.len()` on, are not written.
        unsafe {
            let numbers = _mm512_cvttps_epu32(self.0);
            match dst.first_chunk_mut::<16>() {
                Some(full) => _mm512_storeu_si512(full.as_mut_ptr().cast(), numbers),
                None => _mm512_mask_storeu_epi32(dst.as_mut_ptr().cast(), first_lanes(dst.len()) as __mmask16, numbers),
            }
        }
    }
    #[inline(always)]
    fn squares(isa: Avx512, data: &[f32], at: &[u32], below: usize) -> [[Self; 2]; 2] {
        let last = below.checked_add(2).and_then(|reach| data.len().checked_sub(reach));
        let (Some(at), Some(last)) = (at.first_chunk::<16>(), last) else {
            return some_squares(isa, data, at, below);
        };
        // A gather takes indices for signed ones.
        let last = i32::try_from(last).unwrap_or(i32::MAX);
        // SAFETY: there is a token, and where no index is larger than `last`, `data` has pairs at all of them and `below` them.
        // A pair is as large as an f64.
        unsafe {
            let at_all = _mm512_loadu_si512(at.as_ptr().cast());
            if _mm512_cmpgt_epu32_mask(at_all, _mm512_set1_epi32(last)) != 0 {
                return some_squares(isa, data, at, below);
            }
            let (front, back) = (_mm512_castsi512_si256(at_all), _mm512_extracti64x4_epi64::<1>(at_all));
            let gather = |data: *const f32| {
                let pairs = |at| Self(_mm512_castpd_ps(_mm512_i32gather_pd::<4>(at, data.cast())));
                Self::deinterleave(isa, [pairs(front), pairs(back)])
            };
            [gather(data.as_ptr()), gather(data.as_ptr().add(below))]
        }
    }
}
