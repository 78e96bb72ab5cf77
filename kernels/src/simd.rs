//! The whole vector vocabulary of the kernels.
//!
//! An [`Isa`] is a token that proves the processor has the instructions; its vectors are made from it, so a vector
//! in hand is proof too. How many lanes a vector has is the level's choice: the order of every sum is fixed by
//! `docs/numerics.md`, never by a width. A slice shorter than a vector loads with zeros behind it and stores its part only, so
//! a tail is an ordinary call with a shorter slice.

use core::fmt::Debug;

use half::{bf16, f16};
use wide::{i16x16, u16x8, u16x16};

use crate::level::Kernel;

pub(crate) mod baseline;
mod cache;
mod habits;
mod real;
pub(crate) mod scalar;
#[cfg(test)]
mod tests;
mod vector;
#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
pub(crate) mod x86;

pub(crate) use self::cache::{CACHED, Cache, LINE, line_of, prefetch_run};
pub(crate) use self::habits::Habits;
pub(crate) use self::real::Real;
pub(crate) use self::vector::{Mask, Vector};

/// Lanes of the target's widest vector.
pub(crate) const MOST_LANES: usize = if cfg!(all(target_arch = "x86_64", target_feature = "sse2")) { 16 } else { 4 };

/// A token of an instruction set.
pub(crate) trait Isa: Copy + Debug + Send + Sync + 'static {
    /// Vector of f32.
    type F32: Vector<Self, Elem = f32>;
    /// Vector of f64.
    type F64: Vector<Self, Elem = f64>;
    /// The same or another instruction set of this processor, whose vectors have at most eight lanes.
    type Eight: Isa;
    /// The same or another one, whose vectors have at most four lanes.
    type Quad: Isa;

    /// Its token.
    fn eight(self) -> Self::Eight;
    /// Its token.
    fn quad(self) -> Self::Quad;
    /// Runs a kernel as a function of its own with these instructions, for what a larger function has no registers left for.
    #[inline(never)]
    fn call<K: Kernel>(self, kernel: K) -> K::Output {
        kernel.run(self)
    }
    /// Asks for the cache line of `data[at]`, which is read or written soon; nothing where there is none.
    #[inline(always)]
    fn prefetch<T>(self, to: Cache, data: &[T], at: usize) {
        #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
        x86::prefetch(to, data, at);
        #[cfg(not(all(target_arch = "x86_64", target_feature = "sse2")))]
        let _ = (to, data, at);
    }
    /// Where to ask for what is needed later than a level-1 cache keeps it, as [`Habits::later`] says.
    #[inline(always)]
    fn later(self) -> Cache {
        Habits::USUAL.later
    }
    /// Widens as many f16 as `F32` has lanes, exactly; a NaN keeps its sign and payload and becomes quiet.
    fn load_f16(self, src: &[f16]) -> Self::F32;
    /// As [`load_f16`](Self::load_f16), of elements that lie `step` apart.
    #[inline(always)]
    fn load_f16_apart(self, src: &[f16], step: usize) -> Self::F32 {
        self.load_f16(&apart::<_, MOST_LANES>(src, step, Self::F32::LANES))
    }
    /// As [`load_bf16`](Self::load_bf16), of elements that lie `step` apart.
    #[inline(always)]
    fn load_bf16_apart(self, src: &[bf16], step: usize) -> Self::F32 {
        self.load_bf16(&apart::<_, MOST_LANES>(src, step, Self::F32::LANES))
    }
    /// Rounds to f16, to nearest even; the canonical NaN becomes that of f16, any other NaN some NaN.
    fn store_f16(self, v: Self::F32, dst: &mut [f16]);
    /// Widens as many bf16 as `F32` has lanes, exactly; a NaN keeps all its bits, so it may be a signalling one.
    fn load_bf16(self, src: &[bf16]) -> Self::F32;
    /// Rounds to bf16, to nearest even; every NaN becomes the canonical one.
    fn store_bf16(self, v: Self::F32, dst: &mut [bf16]);

    /// Transposes the squares of eight 16-bit lanes that the first and the second halves of eight vectors are.
    #[inline(always)]
    fn transpose_halves(self, rows: [u16x16; 8]) -> [u16x16; 8] {
        let [mut firsts, mut seconds] = [[u16x8::ZERO; 8]; 2];
        for ((first, second), row) in firsts.iter_mut().zip(&mut seconds).zip(rows) {
            [*first, *second] = bytemuck::cast(row);
        }
        let [firsts, seconds] = [firsts, seconds].map(u16x8::transpose);
        let mut columns = rows;
        for ((column, first), second) in columns.iter_mut().zip(firsts).zip(seconds) {
            *column = bytemuck::cast([first, second]);
        }
        columns
    }

    /// Writes the first or the second eight of sixteen lanes.
    #[inline(always)]
    fn put_half(self, lanes: u16x16, second: bool, dst: &mut [u16; 8]) {
        let [front, back] = bytemuck::cast(lanes);
        *dst = if second { back } else { front };
    }

    /// Adds eight vectors of f16 or bf16 to +0.0, given as bits; with what to find a NaN by, the largest magnitudes.
    #[inline(always)]
    fn sums_of_halves(self, mut rows: [u16x16; 8]) -> ([u16x16; 8], i16x16) {
        let mut largest = i16x16::ZERO;
        for row in &mut rows {
            let bits: i16x16 = bytemuck::cast(*row);
            largest = largest.max(bits & i16x16::splat(i16::MAX));
            *row = bytemuck::cast(bits & !bits.simd_eq(i16x16::splat(i16::MIN)));
        }
        (rows, largest)
    }

    /// Whether two vectors of bf16 are faster read as [even and odd ones](Self::load_woven_bf16) than one after the other.
    const WEAVES_BF16: bool = false;
    /// Widens twice as many bf16 as `F32` has lanes: those with an even number, and those with an odd one.
    #[inline(always)]
    fn load_woven_bf16(self, src: &[bf16]) -> [Self::F32; 2] {
        let (front, back) = src.split_at_checked(Self::F32::LANES).unwrap_or((src, &[]));
        Vector::deinterleave(self, [self.load_bf16(front), self.load_bf16(back)])
    }
    /// Rounds lanes of two vectors in turn, to as many bf16.
    #[inline(always)]
    fn store_woven_bf16(self, pair: [Self::F32; 2], dst: &mut [bf16]) {
        let [front, back] = Vector::interleave(self, pair);
        self.store_bf16(front, dst);
        self.store_bf16(back, dst.get_mut(Self::F32::LANES..).unwrap_or(&mut []));
    }
}

/// Bits of the first lanes, as many as there are elements; all of 32 where there are more.
#[inline(always)]
pub(crate) fn first_lanes(elements: usize) -> u32 {
    !u32::MAX.checked_shl(elements as u32).unwrap_or(0)
}

/// Reads up to `N` elements; zeros (all bits) where `src` ends.
#[inline(always)]
pub(crate) fn lanes<T: Copy + bytemuck::Zeroable, const N: usize>(src: &[T]) -> [T; N] {
    match src.first_chunk::<N>() {
        Some(full) => *full,
        None => {
            let mut read = [T::zeroed(); N];
            // Not a copy of `src.len()` elements, which would be a call; nor `from_fn`, of which the compiler has much to inline.
            for (k, to) in read.iter_mut().enumerate() {
                if let Some(&element) = src.get(k) {
                    *to = element;
                }
            }
            read
        }
    }
}

/// Reads `count` elements that lie `step` apart; zeros (all bits) behind them and where `src` ends.
#[inline(always)]
pub(crate) fn apart<T: Copy + bytemuck::Zeroable, const N: usize>(src: &[T], step: usize, count: usize) -> [T; N] {
    let mut read = [T::zeroed(); N];
    for (k, to) in read.iter_mut().enumerate().take(count) {
        *to = src.get(k.wrapping_mul(step)).copied().unwrap_or(T::zeroed());
    }
    read
}

/// Writes up to `N` elements; those beyond `dst` are dropped.
#[inline(always)]
pub(crate) fn put<T: Copy, const N: usize>(values: [T; N], dst: &mut [T]) {
    if let Some(full) = dst.first_chunk_mut::<N>() {
        *full = values;
        return;
    }
    for (k, &value) in values.iter().enumerate() {
        if let Some(to) = dst.get_mut(k) {
            *to = value;
        }
    }
}
