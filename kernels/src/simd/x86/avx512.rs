//! AVX-512: sixteen f32 or eight f64 a vector, and masks that an addition takes.

use core::arch::x86_64::*;

use half::{bf16, f16};

use super::f32x16::F32x16;
use super::f64x8::F64x8;
use super::{Avx2, Avx2Quad, Gains, has};
use crate::level::Kernel;
use crate::simd::{Cache, Isa, first_lanes};

/// Proof that AVX-512 F, BW, DQ and VL can be used, and what [`Avx2`] proves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Avx512 {
    avx2: Avx2,
    gains: Gains,
}

impl Avx512 {
    /// The token, where the processor has the instructions and the operating system keeps the registers; what is to take it.
    pub(crate) fn detect(avx2: Avx2, gains: Gains) -> Option<Self> {
        const F_DQ_BW_VL: u32 = 1 << 16 | 1 << 17 | 1 << 30 | 1 << 31;
        const MASKS_ZMM: u64 = 0b1110_0000;
        // SAFETY: there is a token, so XGETBV may be executed.
        let saved = unsafe { _xgetbv(0) };
        let can = has(__cpuid_count(7, 0).ebx, F_DQ_BW_VL) && saved & MASKS_ZMM == MASKS_ZMM;
        can.then_some(Self { avx2, gains })
    }

    /// What is to take it.
    pub(crate) const fn gains(self) -> Gains {
        self.gains
    }

    /// Its token of AVX2.
    pub(crate) const fn avx2(self) -> Avx2 {
        self.avx2
    }
}

/// As [`call`](super::call) for [`Avx2`].
#[target_feature(enable = "avx,avx2,f16c,avx512f,avx512bw,avx512dq,avx512vl")]
#[inline(never)]
fn call<K: Kernel>(isa: Avx512, kernel: K) -> K::Output {
    kernel.run(isa)
}

/// Transposes a square by memory, short rather than fast: what transposes has eight lanes at most.
#[inline(always)]
pub(super) fn transpose<T: Copy + Default, const N: usize>(
    mut row: impl FnMut(usize, &mut [T; N]),
    mut column: impl FnMut(usize, &[T; N]),
) {
    let (mut rows, mut columns) = ([[T::default(); N]; N], [[T::default(); N]; N]);
    for (i, lanes) in rows.iter_mut().enumerate() {
        row(i, lanes);
        for (column, lane) in columns.iter_mut().zip(lanes) {
            if let Some(to) = column.get_mut(i) {
                *to = *lane;
            }
        }
    }
    for (j, lanes) in columns.iter().enumerate() {
        column(j, lanes);
    }
}

/// Sixteen elements of two bytes; zeros where `src` ends.
#[inline(always)]
fn sixteen_halves<T: bytemuck::Pod>(src: &[T]) -> __m256i {
    const { assert!(size_of::<T>() == 2) };
    // SAFETY: called with a token; lanes that the mask leaves out, those from `src.len()` on, are not read.
    unsafe {
        match src.first_chunk::<16>() {
            Some(full) => _mm256_loadu_si256(full.as_ptr().cast()),
            None => _mm256_maskz_loadu_epi16(first_lanes(src.len()) as __mmask16, src.as_ptr().cast()),
        }
    }
}

/// Writes as many of sixteen elements of two bytes as `dst` has room for.
#[inline(always)]
fn put_halves<T: bytemuck::Pod>(halves: __m256i, dst: &mut [T]) {
    const { assert!(size_of::<T>() == 2) };
    // SAFETY: called with a token; lanes that the mask leaves out, those from `dst.len()` on, are not written.
    unsafe {
        match dst.first_chunk_mut::<16>() {
            Some(full) => _mm256_storeu_si256(full.as_mut_ptr().cast(), halves),
            None => _mm256_mask_storeu_epi16(dst.as_mut_ptr().cast(), first_lanes(dst.len()) as __mmask16, halves),
        }
    }
}

/// Rounds to bf16, whose bits are the upper half of each lane; what is in the lower half is rubbish.
#[inline(always)]
fn round_to_bf16(v: F32x16) -> __m512i {
    // SAFETY: made from a token.
    unsafe {
        let bits = _mm512_castps_si512(v.0);
        let odd = _mm512_and_si512(_mm512_srli_epi32::<16>(bits), _mm512_set1_epi32(1));
        let sum = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd);
        // The sum might carry a NaN over to infinity or zero.
        let nan = _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(v.0, v.0);
        _mm512_mask_blend_epi32(nan, sum, _mm512_set1_epi32(0x7fc0_0000))
    }
}

impl Isa for Avx512 {
    type F32 = F32x16;
    type F64 = F64x8;
    type Eight = Avx2;
    type Quad = Avx2Quad;

    #[inline(always)]
    fn eight(self) -> Avx2 {
        self.avx2
    }
    #[inline(always)]
    fn quad(self) -> Avx2Quad {
        self.avx2.quad()
    }
    #[inline(always)]
    fn call<K: Kernel>(self, kernel: K) -> K::Output {
        // SAFETY: there is a token.
        unsafe { call(self, kernel) }
    }
    #[inline(always)]
    fn later(self) -> Cache {
        self.avx2.later()
    }
    #[inline(always)]
    fn load_f16(self, src: &[f16]) -> F32x16 {
        let bits = sixteen_halves(src);
        // SAFETY: there is a token.
        F32x16(unsafe { _mm512_cvtph_ps(bits) })
    }
    #[inline(always)]
    fn store_f16(self, v: F32x16, dst: &mut [f16]) {
        // SAFETY: there is a token.
        put_halves(unsafe { _mm512_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(v.0) }, dst);
    }
    #[inline(always)]
    fn load_bf16(self, src: &[bf16]) -> F32x16 {
        let bits = sixteen_halves(src);
        // SAFETY: there is a token.
        F32x16(unsafe { _mm512_castsi512_ps(_mm512_slli_epi32::<16>(_mm512_cvtepu16_epi32(bits))) })
    }
    #[inline(always)]
    fn store_bf16(self, v: F32x16, dst: &mut [bf16]) {
        let rounded = round_to_bf16(v);
        // SAFETY: there is a token.
        put_halves(unsafe { _mm512_cvtepi32_epi16(_mm512_srli_epi32::<16>(rounded)) }, dst);
    }

    // Unlike AVX2 it widens sixteen at once as fast as it tells even ones from odd ones.
    #[inline(always)]
    fn store_woven_bf16(self, [even, odd]: [F32x16; 2], dst: &mut [bf16]) {
        const ODD: __mmask32 = 0xaaaa_aaaa;
        let (even, odd) = (round_to_bf16(even), round_to_bf16(odd));
        // SAFETY: there is a token; lanes that the mask leaves out, those from `dst.len()` on, are not written.
        unsafe {
            let words = _mm512_mask_blend_epi16(ODD, _mm512_srli_epi32::<16>(even), odd);
            match dst.first_chunk_mut::<32>() {
                Some(full) => _mm512_storeu_si512(full.as_mut_ptr().cast(), words),
                None => _mm512_mask_storeu_epi16(dst.as_mut_ptr().cast(), first_lanes(dst.len()), words),
            }
        }
    }
}
