//! Eight f64 in a register.

use core::arch::x86_64::*;
use core::ops::{Add, Div, Mul, Sub};

use super::avx512::{Avx512, transpose};
use crate::simd::vector::some_squares;
use crate::simd::{Mask, Vector, first_lanes, put};

/// Eight f64. One in hand was made from an [`Avx512`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct F64x8(pub(super) __m512d);

impl F64x8 {
    /// All ones in the lanes of a mask.
    #[inline(always)]
    fn ones(mask: __mmask8) -> Self {
        // SAFETY: called with vectors in hand.
        Self(unsafe { _mm512_castsi512_pd(_mm512_movm_epi64(mask)) })
    }
    /// The lanes that are all ones, of a mask.
    #[inline(always)]
    fn mask(self) -> __mmask8 {
        // SAFETY: made from a token.
        unsafe { _mm512_movepi64_mask(_mm512_castpd_si512(self.0)) }
    }
}

impl Add for F64x8 {
    type Output = Self;
    #[inline(always)]
    fn add(self, o: Self) -> Self {
        // SAFETY: made from a token.
        Self(unsafe { _mm512_add_pd(self.0, o.0) })
    }
}
impl Sub for F64x8 {
    type Output = Self;
    #[inline(always)]
    fn sub(self, o: Self) -> Self {
        // SAFETY: made from a token.
        Self(unsafe { _mm512_sub_pd(self.0, o.0) })
    }
}
impl Mul for F64x8 {
    type Output = Self;
    #[inline(always)]
    fn mul(self, o: Self) -> Self {
        // SAFETY: made from a token.
        Self(unsafe { _mm512_mul_pd(self.0, o.0) })
    }
}
impl Div for F64x8 {
    type Output = Self;
    #[inline(always)]
    fn div(self, o: Self) -> Self {
        // SAFETY: made from a token.
        Self(unsafe { _mm512_div_pd(self.0, o.0) })
    }
}

impl Mask<Avx512, F64x8> for __mmask8 {
    #[inline(always)]
    fn of(mask: F64x8) -> Self {
        mask.mask()
    }
    #[inline(always)]
    fn both(self, other: Self) -> Self {
        self & other
    }
    #[inline(always)]
    fn add_to(self, sum: F64x8, term: F64x8) -> F64x8 {
        // SAFETY: made from a token.
        F64x8(unsafe { _mm512_mask_add_pd(sum.0, self, sum.0, term.0) })
    }
}

impl Vector<Avx512> for F64x8 {
    type Elem = f64;
    const LANES: usize = 8;
    type Mask = __mmask8;

    #[inline(always)]
    fn splat(_: Avx512, value: f64) -> Self {
        // SAFETY: there is a token.
        Self(unsafe { _mm512_set1_pd(value) })
    }
    #[inline(always)]
    fn load(_: Avx512, src: &[f64]) -> Self {
        // SAFETY: there is a token; lanes that the mask leaves out, those from `src.len()` on, are not read.
        Self(unsafe {
            match src.first_chunk::<8>() {
                Some(full) => _mm512_loadu_pd(full.as_ptr()),
                None => _mm512_maskz_loadu_pd(first_lanes(src.len()) as __mmask8, src.as_ptr()),
            }
        })
    }
    #[inline(always)]
    fn store(self, dst: &mut [f64]) {
        // SAFETY: made from a token; lanes that the mask leaves out, those from `dst.len()` on, are not written.
        unsafe {
            match dst.first_chunk_mut::<8>() {
                Some(full) => _mm512_storeu_pd(full.as_mut_ptr(), self.0),
                None => _mm512_mask_storeu_pd(dst.as_mut_ptr(), first_lanes(dst.len()) as __mmask8, self.0),
            }
        }
    }
    #[inline(always)]
    fn abs(self) -> Self {
        // SAFETY: made from a token.
        Self(unsafe { _mm512_andnot_pd(_mm512_set1_pd(-0.0), self.0) })
    }
    #[inline(always)]
    fn floor(self) -> Self {
        const DOWN: i32 = _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC;
        // The sum turns -0 into +0.
        // SAFETY: made from a token.
        Self(unsafe { _mm512_add_pd(_mm512_roundscale_pd::<DOWN>(self.0), _mm512_setzero_pd()) })
    }
    #[inline(always)]
    fn lt(self, o: Self) -> Self {
        // SAFETY: made from a token.
        Self::ones(unsafe { _mm512_cmp_pd_mask::<_CMP_LT_OQ>(self.0, o.0) })
    }
    #[inline(always)]
    fn le(self, o: Self) -> Self {
        // SAFETY: made from a token.
        Self::ones(unsafe { _mm512_cmp_pd_mask::<_CMP_LE_OQ>(self.0, o.0) })
    }
    #[inline(always)]
    fn eq(self, o: Self) -> Self {
        // SAFETY: made from a token.
        Self::ones(unsafe { _mm512_cmp_pd_mask::<_CMP_EQ_OQ>(self.0, o.0) })
    }
    #[inline(always)]
    fn and(self, o: Self) -> Self {
        // SAFETY: made from a token.
        Self(unsafe { _mm512_and_pd(self.0, o.0) })
    }
    #[inline(always)]
    fn or(self, o: Self) -> Self {
        // SAFETY: made from a token.
        Self(unsafe { _mm512_or_pd(self.0, o.0) })
    }
    #[inline(always)]
    fn select(mask: Self, yes: Self, no: Self) -> Self {
        // SAFETY: made from a token.
        Self(unsafe { _mm512_mask_blend_pd(mask.mask(), no.0, yes.0) })
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
        Self(unsafe { _mm512_maskz_compress_pd(lanes as __mmask8, self.0) }).store(dst);
    }
    #[inline(always)]
    fn transpose(mut row: impl FnMut(usize) -> Self, mut column: impl FnMut(usize, Self)) {
        transpose::<_, 8>(
            |i, lanes| row(i).store(lanes),
            // SAFETY: called with vectors in hand.
            |j, lanes| column(j, Self(unsafe { _mm512_loadu_pd(lanes.as_ptr()) })),
        );
    }
    #[inline(always)]
    fn deinterleave(_: Avx512, [a, b]: [Self; 2]) -> [Self; 2] {
        // SAFETY: there is a token.
        unsafe {
            let even = _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14);
            let odd = _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15);
            [even, odd].map(|lanes| Self(_mm512_permutex2var_pd(a.0, lanes, b.0)))
        }
    }
    #[inline(always)]
    fn interleave(_: Avx512, [even, odd]: [Self; 2]) -> [Self; 2] {
        // SAFETY: there is a token.
        unsafe {
            let low = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11);
            let high = _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15);
            [low, high].map(|lanes| Self(_mm512_permutex2var_pd(even.0, lanes, odd.0)))
        }
    }
    #[inline(always)]
    fn deinterleave_three(_: Avx512, [a, b, c]: [Self; 3]) -> [Self; 3] {
        // SAFETY: there is a token.
        unsafe {
            // What comes from different vectors comes from different lanes of them: every third lane from the second, beginning with
            // lane 1, and from the third, beginning with lane 2.
            let blend =
                |a: Self, b: Self, c: Self| _mm512_mask_blend_pd(0x24, _mm512_mask_blend_pd(0x92, a.0, b.0), c.0);
            let first = _mm512_setr_epi64(0, 3, 6, 1, 4, 7, 2, 5);
            let second = _mm512_setr_epi64(1, 4, 7, 2, 5, 0, 3, 6);
            let third = _mm512_setr_epi64(2, 5, 0, 3, 6, 1, 4, 7);
            let first = _mm512_permutexvar_pd(first, blend(a, b, c));
            let second = _mm512_permutexvar_pd(second, blend(c, a, b));
            let third = _mm512_permutexvar_pd(third, blend(b, c, a));
            [Self(first), Self(second), Self(third)]
        }
    }
    #[inline(always)]
    fn interleave_three(_: Avx512, [a, b, c]: [Self; 3]) -> [Self; 3] {
        // SAFETY: there is a token.
        unsafe {
            // What goes to different vectors goes to different lanes of them, so one permutation serves all three.
            let to_a = _mm512_setr_epi64(0, 3, 6, 1, 4, 7, 2, 5);
            let to_b = _mm512_setr_epi64(5, 0, 3, 6, 1, 4, 7, 2);
            let to_c = _mm512_setr_epi64(2, 5, 0, 3, 6, 1, 4, 7);
            let a = _mm512_permutexvar_pd(to_a, a.0);
            let b = _mm512_permutexvar_pd(to_b, b.0);
            let c = _mm512_permutexvar_pd(to_c, c.0);
            // Every third lane from the second, beginning with lane 1, and from the third, beginning with lane 2.
            let blend = |a, b, c| Self(_mm512_mask_blend_pd(0x24, _mm512_mask_blend_pd(0x92, a, b), c));
            [blend(a, b, c), blend(c, a, b), blend(b, c, a)]
        }
    }
    #[inline(always)]
    fn behind(_: Avx512, [before, here]: [Self; 2]) -> Self {
        // SAFETY: there is a token.
        unsafe {
            let [before, here] = [_mm512_castpd_si512(before.0), _mm512_castpd_si512(here.0)];
            Self(_mm512_castsi512_pd(_mm512_alignr_epi64::<7>(here, before)))
        }
    }
    #[inline(always)]
    fn store_indices(self, dst: &mut [u32]) {
        // SAFETY: made from a token.
        put(wide::u32x8::from(unsafe { _mm512_cvttpd_epu32(self.0) }).to_array(), dst);
    }
    #[inline(always)]
    fn squares(isa: Avx512, data: &[f64], at: &[u32], below: usize) -> [[Self; 2]; 2] {
        let last = below.checked_add(2).and_then(|reach| data.len().checked_sub(reach));
        let (Some(at), Some(last)) = (at.first_chunk::<8>(), last) else {
            return some_squares(isa, data, at, below);
        };
        // A gather takes indices for signed ones.
        let last = i32::try_from(last).unwrap_or(i32::MAX);
        // SAFETY: there is a token, and where no index is larger than `last`, `data` has pairs at all of them and `below` them.
        unsafe {
            let at_all = _mm256_loadu_si256(at.as_ptr().cast());
            if _mm256_cmpgt_epu32_mask(at_all, _mm256_set1_epi32(last)) != 0 {
                return some_squares(isa, data, at, below);
            }
            let gather = |data: *const f64| Self(_mm512_i32gather_pd::<8>(at_all, data));
            let row = |data: *const f64| [gather(data), gather(data.add(1))];
            [row(data.as_ptr()), row(data.as_ptr().add(below))]
        }
    }
}
