//! AVX2 and F16C: eight f32 or four f64 a vector. With AVX-512 there are twice as many.
//!
//! With its parts the only code of the crate that is `unsafe`. Every block of it rests on one thing: an [`Avx2`] or [`Avx512`] exists
//! only where the processor and the operating system have these instructions, and every vector here was made from one.
#![allow(unsafe_code)]

mod avx512;
mod f32x16;
mod f32x8;
mod f64x4;
mod f64x8;
mod processor;

use core::arch::x86_64::*;

use half::{bf16, f16};
use wide::{f32x4, f64x2, i16x16, u16x16};

pub(crate) use self::avx512::Avx512;
use self::f32x8::F32x8;
use self::f64x4::F64x4;
pub(crate) use self::processor::{Gains, Processor};
use super::baseline::Baseline;
use super::{Cache, Isa, apart, lanes, put};
use crate::level::Kernel;

/// Proof that AVX, AVX2 and F16C can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Avx2 {
    processor: Processor,
}

/// Whether a register of `CPUID` has all of some bits.
fn has(register: u32, bits: u32) -> bool {
    register & bits == bits
}

impl Avx2 {
    /// The token, where the processor has the instructions and the operating system keeps the registers.
    ///
    /// Needs no operating system. `CPUID` may trap to a hypervisor, so ask once.
    pub(crate) fn detect() -> Option<Self> {
        const F16C_AVX_OSXSAVE: u32 = 1 << 29 | 1 << 28 | 1 << 27;
        const AVX2: u32 = 1 << 5;
        const XMM_YMM: u64 = 0b110;

        let vendor = __cpuid(0);
        if vendor.eax < 7 {
            return None;
        }
        let (features, extended) = (__cpuid(1), __cpuid_count(7, 0));
        if !has(features.ecx, F16C_AVX_OSXSAVE) || !has(extended.ebx, AVX2) {
            return None;
        }
        // SAFETY: OSXSAVE is set, so XGETBV may be executed, and register 0 exists.
        let saved = unsafe { _xgetbv(0) };
        (saved & XMM_YMM == XMM_YMM).then_some(Self { processor: Processor::new(vendor, features, extended) })
    }

    /// The kind of processor that has them.
    pub(crate) const fn processor(self) -> Processor {
        self.processor
    }
}

/// For each set of lanes, a bit each, the numbers of their words one behind the other, of vectors of eight words and lanes of some.
const fn compressed<const SETS: usize>(lane: usize) -> [[u8; 8]; SETS] {
    let mut sets = [[0; 8]; SETS];
    let mut set = 0;
    while set < SETS {
        let (mut word, mut to) = (0, 0);
        while word < 8 {
            if set >> (word / lane) & 1 == 1 {
                sets[set][to] = word as u8;
                to += 1;
            }
            word += 1;
        }
        set += 1;
    }
    sets
}

/// The words of a vector with these numbers.
#[inline(always)]
fn pick_words(v: __m256, numbers: &[u8; 8]) -> __m256 {
    // SAFETY: called with a vector in hand; eight bytes are read, and there are eight.
    unsafe { _mm256_permutevar8x32_ps(v, _mm256_cvtepu8_epi32(_mm_loadl_epi64(numbers.as_ptr().cast()))) }
}

/// Runs a kernel that is compiled with the features of [`Avx2`], to which `isa` is a token.
#[target_feature(enable = "avx,avx2,f16c")]
#[inline(never)]
fn call<S: Isa, K: Kernel>(isa: S, kernel: K) -> K::Output {
    kernel.run(isa)
}

/// Asks for the cache line of `data[at]`; nothing where there is none.
#[inline(always)]
pub(super) fn prefetch<T>(to: Cache, data: &[T], at: usize) {
    let Some(element) = data.get(at) else { return };
    let line = core::ptr::from_ref(element).cast();
    // SAFETY: the crate is compiled with SSE, and a hint reads nothing.
    unsafe {
        match to {
            Cache::Level1 => _mm_prefetch::<_MM_HINT_T0>(line),
            Cache::Level2 => _mm_prefetch::<_MM_HINT_T1>(line),
        }
    }
}

/// Indices, each read from memory by itself. The compiler would rather take them from the vector that they were stored from or are
/// compared in, one by one, which takes twice as long.
#[inline(always)]
fn read_each<const N: usize>(at: &[u32; N]) -> [usize; N] {
    // SAFETY: a reference can be read through.
    at.each_ref().map(|at| unsafe { core::ptr::read_volatile(at) } as usize)
}

/// As many elements that lie `step` apart; `None` where `src` has fewer.
#[inline(always)]
fn all_apart<T: Copy, const N: usize>(src: &[T], step: usize) -> Option<[T; N]> {
    step.checked_mul(N.saturating_sub(1)).filter(|&last| last < src.len())?;
    // SAFETY: the last of them is in `src`, and so are all that lie before it.
    Some(core::array::from_fn(
        #[inline(always)]
        |k| unsafe { *src.get_unchecked(k * step) },
    ))
}

/// Eight elements of two bytes; zeros where `src` ends.
#[inline(always)]
fn eight_halves<T: bytemuck::Pod>(src: &[T]) -> __m128i {
    // Not one array for both: the compiler would put every vector together element by element, as it must the last one.
    let eight: wide::u16x8 = match src.first_chunk::<8>() {
        Some(full) => bytemuck::cast(*full),
        None => bytemuck::cast(lanes::<T, 8>(src)),
    };
    eight.into()
}

/// Writes as many of eight elements of two bytes as `dst` has room for. All of them by one instruction: the compiler would write the
/// last ones apart, as it must those that there is no room for all of.
#[inline(always)]
fn put_eight<T: bytemuck::Pod>(halves: __m128i, dst: &mut [T]) {
    const { assert!(size_of::<T>() == 2) };
    match dst.first_chunk_mut::<8>() {
        // SAFETY: the crate is compiled with SSE2; there is room for all.
        Some(full) => unsafe { _mm_storeu_si128(full.as_mut_ptr().cast(), halves) },
        None => put::<T, 8>(bytemuck::cast(wide::u16x8::from(halves)), dst),
    }
}

/// Transposes the squares of eight lanes that the first and the second halves of eight vectors are.
#[target_feature(enable = "avx,avx2,f16c")]
#[inline]
fn transpose_halves([a, b, c, d, e, f, g, h]: [u16x16; 8]) -> [u16x16; 8] {
    let pairs =
        |a: u16x16, b: u16x16| [_mm256_unpacklo_epi16(a.into(), b.into()), _mm256_unpackhi_epi16(a.into(), b.into())];
    let quads = |[low_a, high_a]: [__m256i; 2], [low_b, high_b]: [__m256i; 2]| {
        [
            _mm256_unpacklo_epi32(low_a, low_b),
            _mm256_unpackhi_epi32(low_a, low_b),
            _mm256_unpacklo_epi32(high_a, high_b),
            _mm256_unpackhi_epi32(high_a, high_b),
        ]
    };
    let columns = |a, b| [_mm256_unpacklo_epi64(a, b).into(), _mm256_unpackhi_epi64(a, b).into()];
    let [a, b, c, d] = quads(pairs(a, b), pairs(c, d));
    let [e, f, g, h] = quads(pairs(e, f), pairs(g, h));
    let ([a, b], [c, d], [e, f], [g, h]) = (columns(a, e), columns(b, f), columns(c, g), columns(d, h));
    [a, b, c, d, e, f, g, h]
}

/// Rounds to bf16, whose bits are the upper half of each lane; what is in the lower half is rubbish.
#[inline(always)]
fn round_to_bf16(v: F32x8) -> __m256i {
    // SAFETY: made from a token.
    unsafe {
        let bits = _mm256_castps_si256(v.0);
        let odd = _mm256_and_si256(_mm256_srli_epi32::<16>(bits), _mm256_set1_epi32(1));
        let sum = _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), odd);
        // The sum might carry a NaN over to infinity or zero.
        let nan = _mm256_castps_si256(_mm256_cmp_ps::<_CMP_UNORD_Q>(v.0, v.0));
        _mm256_blendv_epi8(sum, _mm256_set1_epi32(0x7fc0_0000), nan)
    }
}

impl Isa for Avx2 {
    type F32 = F32x8;
    type F64 = F64x4;
    type Eight = Self;
    type Quad = Avx2Quad;

    #[inline(always)]
    fn eight(self) -> Self {
        self
    }
    #[inline(always)]
    fn quad(self) -> Avx2Quad {
        Avx2Quad { avx2: self }
    }
    #[inline(always)]
    fn call<K: Kernel>(self, kernel: K) -> K::Output {
        // SAFETY: there is a token.
        unsafe { call(self, kernel) }
    }
    #[inline(always)]
    fn later(self) -> Cache {
        self.processor.habits().later
    }
    #[inline(always)]
    fn load_f16(self, src: &[f16]) -> F32x8 {
        let bits = eight_halves(src);
        // SAFETY: there is a token.
        F32x8(unsafe { _mm256_cvtph_ps(bits) })
    }
    #[inline(always)]
    fn load_f16_apart(self, src: &[f16], step: usize) -> F32x8 {
        match all_apart::<_, 8>(src, step) {
            Some(full) => self.load_f16(&full),
            None => self.load_f16(&apart::<_, 8>(src, step, 8)),
        }
    }
    #[inline(always)]
    fn load_bf16_apart(self, src: &[bf16], step: usize) -> F32x8 {
        match all_apart::<_, 8>(src, step) {
            Some(full) => self.load_bf16(&full),
            None => self.load_bf16(&apart::<_, 8>(src, step, 8)),
        }
    }
    #[inline(always)]
    fn store_f16(self, v: F32x8, dst: &mut [f16]) {
        // SAFETY: there is a token.
        let bits = unsafe { _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(v.0) };
        put_eight(bits, dst);
    }
    #[inline(always)]
    fn load_bf16(self, src: &[bf16]) -> F32x8 {
        let bits = eight_halves(src);
        // SAFETY: there is a token.
        F32x8(unsafe { _mm256_castsi256_ps(_mm256_slli_epi32::<16>(_mm256_cvtepu16_epi32(bits))) })
    }
    #[inline(always)]
    fn store_bf16(self, v: F32x8, dst: &mut [bf16]) {
        let rounded = round_to_bf16(v);
        // SAFETY: there is a token.
        let bits = unsafe {
            let rounded = _mm256_srli_epi32::<16>(rounded);
            // Packing works in each half of the register.
            let packed = _mm256_packus_epi32(rounded, rounded);
            _mm256_castsi256_si128(_mm256_permute4x64_epi64::<0b1000>(packed))
        };
        put_eight(bits, dst);
    }

    #[inline(always)]
    fn transpose_halves(self, rows: [u16x16; 8]) -> [u16x16; 8] {
        // SAFETY: there is a token.
        unsafe { transpose_halves(rows) }
    }

    #[inline(always)]
    fn put_half(self, lanes: u16x16, second: bool, dst: &mut [u16; 8]) {
        // SAFETY: there is a token.
        let half = unsafe {
            if second { _mm256_extracti128_si256::<1>(lanes.into()) } else { _mm256_castsi256_si128(lanes.into()) }
        };
        put_eight(half, dst);
    }

    #[inline(always)]
    fn sums_of_halves(self, mut rows: [u16x16; 8]) -> ([u16x16; 8], i16x16) {
        // SAFETY: there is a token.
        unsafe {
            let (magnitude, negative_zero) = (_mm256_set1_epi16(i16::MAX), _mm256_set1_epi16(i16::MIN));
            let mut largest = _mm256_setzero_si256();
            for row in &mut rows {
                let bits = (*row).into();
                largest = _mm256_max_epi16(largest, _mm256_and_si256(bits, magnitude));
                *row = _mm256_andnot_si256(_mm256_cmpeq_epi16(bits, negative_zero), bits).into();
            }
            (rows, largest.into())
        }
    }

    // An f32 has the bits of a bf16 in its upper half, so two of them share a word, and nothing is shuffled.
    const WEAVES_BF16: bool = true;
    #[inline(always)]
    fn load_woven_bf16(self, src: &[bf16]) -> [F32x8; 2] {
        let words: wide::u32x8 = match src.first_chunk::<16>() {
            Some(full) => bytemuck::cast(*full),
            None => bytemuck::cast(lanes::<bf16, 16>(src)),
        };
        // SAFETY: there is a token.
        unsafe {
            let odd = _mm256_and_si256(words.into(), _mm256_set1_epi32(!0xffff));
            [_mm256_slli_epi32::<16>(words.into()), odd].map(|bits| F32x8(_mm256_castsi256_ps(bits)))
        }
    }
    #[inline(always)]
    fn store_woven_bf16(self, [even, odd]: [F32x8; 2], dst: &mut [bf16]) {
        let (even, odd) = (round_to_bf16(even), round_to_bf16(odd));
        // SAFETY: there is a token.
        let words = unsafe { _mm256_blend_epi16::<0b1010_1010>(_mm256_srli_epi32::<16>(even), odd) };
        match dst.first_chunk_mut::<16>() {
            // SAFETY: there is a token, and room for all.
            Some(full) => unsafe { _mm256_storeu_si256(full.as_mut_ptr().cast(), words) },
            None => put::<bf16, 16>(bytemuck::cast(wide::u32x8::from(words)), dst),
        }
    }
}

/// The vectors of [`Baseline`] where the processor has the instructions of [`Avx2`], which convert f16.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx2Quad {
    avx2: Avx2,
}

impl Isa for Avx2Quad {
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
    fn call<K: Kernel>(self, kernel: K) -> K::Output {
        // SAFETY: there is a token.
        unsafe { call(self, kernel) }
    }
    #[inline(always)]
    fn later(self) -> Cache {
        self.avx2.later()
    }
    #[inline(always)]
    fn load_f16(self, src: &[f16]) -> f32x4 {
        let four: [f16; 4] = lanes(src);
        let bits = bytemuck::cast([bytemuck::cast::<_, u64>(four), 0]);
        // SAFETY: there is a token.
        bytemuck::cast(unsafe { _mm_cvtph_ps(bits) })
    }
    #[inline(always)]
    fn store_f16(self, v: f32x4, dst: &mut [f16]) {
        // SAFETY: there is a token.
        let bits = unsafe { _mm_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(bytemuck::cast(v)) };
        let [four, _]: [[f16; 4]; 2] = bytemuck::cast(bits);
        put(four, dst);
    }
    #[inline(always)]
    fn load_bf16(self, src: &[bf16]) -> f32x4 {
        Baseline.load_bf16(src)
    }
    #[inline(always)]
    fn store_bf16(self, v: f32x4, dst: &mut [bf16]) {
        Baseline.store_bf16(v, dst);
    }
}
