//! AVX2 and F16C: eight f32 or four f64 a vector.
//!
//! The only file of the crate with `unsafe` in it. Every block of it rests on one thing: an [`Avx2`] exists only where the
//! processor and the operating system have AVX, AVX2 and F16C, and every vector here was made from one.
#![allow(unsafe_code)]

use core::arch::x86_64::*;
use core::ops::{Add, Div, Mul, Sub};

use half::{bf16, f16};

use super::baseline::Baseline;
use super::{Isa, Vector, lanes, put};
use crate::level::Kernel;

/// Proof that AVX, AVX2 and F16C can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Avx2 {
    _proof: (),
}

impl Avx2 {
    /// The token, where the processor has the instructions and the operating system keeps the registers.
    ///
    /// Needs no operating system. `CPUID` may trap to a hypervisor, so ask once.
    pub(crate) fn detect() -> Option<Self> {
        const F16C_AVX_OSXSAVE: u32 = 1 << 29 | 1 << 28 | 1 << 27;
        const AVX2: u32 = 1 << 5;
        const XMM_YMM: u64 = 0b110;
        let has = |register: u32, bits: u32| register & bits == bits;

        if __cpuid(0).eax < 7 || !has(__cpuid(1).ecx, F16C_AVX_OSXSAVE) || !has(__cpuid_count(7, 0).ebx, AVX2) {
            return None;
        }
        // SAFETY: OSXSAVE is set, so XGETBV may be executed, and register 0 exists.
        let saved = unsafe { _xgetbv(0) };
        (saved & XMM_YMM == XMM_YMM).then_some(Self { _proof: () })
    }

    /// Runs a kernel that is compiled with the features `detect` asks for.
    #[inline(always)]
    pub(crate) fn run<K: Kernel>(self, kernel: K) -> K::Output {
        #[target_feature(enable = "avx,avx2,f16c")]
        fn go<K: Kernel>(isa: Avx2, kernel: K) -> K::Output {
            kernel.run(isa)
        }
        // SAFETY: the token proves the features.
        unsafe { go(self, kernel) }
    }
}

/// Eight f32.
#[derive(Clone, Copy, Debug)]
pub(crate) struct F32x8(__m256);

/// Four f64.
#[derive(Clone, Copy, Debug)]
pub(crate) struct F64x4(__m256d);

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
    fn min(self, o: Self) -> Self {
        // SAFETY: made from a token.
        Self(unsafe { _mm256_min_ps(self.0, o.0) })
    }
    #[inline(always)]
    fn max(self, o: Self) -> Self {
        // SAFETY: made from a token.
        Self(unsafe { _mm256_max_ps(self.0, o.0) })
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
}

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
    fn min(self, o: Self) -> Self {
        // SAFETY: made from a token.
        Self(unsafe { _mm256_min_pd(self.0, o.0) })
    }
    #[inline(always)]
    fn max(self, o: Self) -> Self {
        // SAFETY: made from a token.
        Self(unsafe { _mm256_max_pd(self.0, o.0) })
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
}

impl Isa for Avx2 {
    type F32 = F32x8;
    type F64 = F64x4;
    type Quad = Baseline;

    #[inline(always)]
    fn quad(self) -> Baseline {
        Baseline
    }
    #[inline(always)]
    fn load_f16(self, src: &[f16]) -> F32x8 {
        let bits: __m128i = wide::u16x8::new(lanes(src).map(f16::to_bits)).into();
        // SAFETY: there is a token.
        F32x8(unsafe { _mm256_cvtph_ps(bits) })
    }
    #[inline(always)]
    fn store_f16(self, v: F32x8, dst: &mut [f16]) {
        // SAFETY: there is a token.
        let bits = unsafe { _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(v.0) };
        put(wide::u16x8::from(bits).to_array().map(f16::from_bits), dst);
    }
    #[inline(always)]
    fn load_bf16(self, src: &[bf16]) -> F32x8 {
        let bits: __m128i = wide::u16x8::new(lanes(src).map(bf16::to_bits)).into();
        // SAFETY: there is a token.
        F32x8(unsafe { _mm256_castsi256_ps(_mm256_slli_epi32::<16>(_mm256_cvtepu16_epi32(bits))) })
    }
    #[inline(always)]
    fn store_bf16(self, v: F32x8, dst: &mut [bf16]) {
        // SAFETY: there is a token.
        let bits = unsafe {
            let bits = _mm256_castps_si256(v.0);
            let odd = _mm256_and_si256(_mm256_srli_epi32::<16>(bits), _mm256_set1_epi32(1));
            let sum = _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), odd);
            // The sum might carry a NaN over to infinity or zero.
            let nan = _mm256_castps_si256(_mm256_cmp_ps::<_CMP_UNORD_Q>(v.0, v.0));
            let rounded = _mm256_blendv_epi8(_mm256_srli_epi32::<16>(sum), _mm256_set1_epi32(0x7fc0), nan);
            // Packing works in each half of the register.
            let packed = _mm256_packus_epi32(rounded, rounded);
            _mm256_castsi256_si128(_mm256_permute4x64_epi64::<0b1000>(packed))
        };
        put(wide::u16x8::from(bits).to_array().map(bf16::from_bits), dst);
    }
}
