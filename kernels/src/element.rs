//! What a tensor's elements are stored as, and what sums of them are made in.

use half::{bf16, f16};

use crate::simd::{Isa, Mask, Real, Vector};

/// A float as it lies in memory. F16 and BF16 widen to f32 and round once at the end.
pub(crate) trait Element: bytemuck::Pod + Send + Sync {
    /// The type that sums are made in.
    type Acc: Real;
    /// What tells the lanes of sums that take a term: for halves a vector, as they are widened to a register; others are read by the
    /// addition, under a mask of the level.
    type Mask<S: Isa>: Mask<S, <Self::Acc as Real>::V<S>>;
    /// Whether sums are made in another type.
    const IS_HALF: bool = size_of::<Self>() < size_of::<Self::Acc>();

    /// Widens a vector's worth of elements, exactly; zeros where `src` ends.
    fn load<S: Isa>(isa: S, src: &[Self]) -> <Self::Acc as Real>::V<S>;
    /// As [`load`](Self::load), of elements that lie `step` apart.
    fn load_apart<S: Isa>(isa: S, src: &[Self], step: usize) -> <Self::Acc as Real>::V<S>;
    /// Rounds and writes a vector's worth of results, every NaN as the canonical one.
    fn store<S: Isa>(isa: S, v: <Self::Acc as Real>::V<S>, dst: &mut [Self]);
    /// Whether two vectors' worth of elements are faster read [woven](Self::load_woven) than one after the other, where
    /// [`Isa::WEAVES_BF16`] says so.
    const IS_BF16: bool = false;
    /// Widens two vectors' worth of elements: those with an even number, and those with an odd one.
    #[inline(always)]
    fn load_woven<S: Isa>(isa: S, src: &[Self]) -> [<Self::Acc as Real>::V<S>; 2] {
        let (front, back) = src.split_at_checked(<Self::Acc as Real>::V::<S>::LANES).unwrap_or((src, &[]));
        Vector::deinterleave(isa, [Self::load(isa, front), Self::load(isa, back)])
    }
    /// Rounds and writes lanes of two vectors of results in turn.
    #[inline(always)]
    fn store_woven<S: Isa>(isa: S, pair: [<Self::Acc as Real>::V<S>; 2], dst: &mut [Self]) {
        let [front, back] = Vector::interleave(isa, pair);
        Self::store(isa, front, dst);
        Self::store(isa, back, dst.get_mut(<Self::Acc as Real>::V::<S>::LANES..).unwrap_or(&mut []));
    }
    /// Widens one element, exactly.
    fn widen(self) -> Self::Acc;
    /// Rounds one result, a NaN to the canonical one.
    fn narrow(sum: Self::Acc) -> Self;
}

/// Rounds and writes lanes of vectors one behind the other, as many as `dst` has room for.
#[inline(always)]
pub(crate) fn store_each<S: Isa, T: Element, const COUNT: usize>(
    isa: S,
    vectors: [<T::Acc as Real>::V<S>; COUNT],
    dst: &mut [T],
) {
    for (vector, dst) in vectors.into_iter().zip(dst.chunks_mut(<T::Acc as Real>::V::<S>::LANES)) {
        T::store(isa, vector, dst);
    }
}

/// Makes every NaN the canonical one. Where there is none nothing is written: of a store to where a vector came from, with some lanes
/// replaced, compilers make a masked one, which takes some processors a dozen cycles.
#[inline(always)]
pub(crate) fn make_canonical<S: Isa, T: Element>(isa: S, values: &mut [T]) {
    let lanes = <T::Acc as Real>::V::<S>::LANES;
    let zero = <T::Acc as Real>::V::<S>::splat(isa, T::Acc::default());
    for values in values.chunks_mut(lanes.wrapping_mul(4)) {
        // What is not finite times 0 is NaN.
        let defect = values.chunks(lanes).fold(zero, |defect, values| defect + T::load(isa, values) * zero);
        if Vector::any(Vector::select(defect.eq(defect), zero, zero.eq(zero))) {
            values.chunks_mut(lanes).for_each(|values| T::store(isa, T::load(isa, values), values));
        }
    }
}

impl Element for f32 {
    type Acc = Self;
    type Mask<S: Isa> = <S::F32 as Vector<S>>::Mask;
    #[inline(always)]
    fn load<S: Isa>(isa: S, src: &[Self]) -> S::F32 {
        Vector::load(isa, src)
    }
    #[inline(always)]
    fn load_apart<S: Isa>(isa: S, src: &[Self], step: usize) -> S::F32 {
        Vector::load_apart(isa, src, step)
    }
    #[inline(always)]
    fn store<S: Isa>(isa: S, v: S::F32, dst: &mut [Self]) {
        v.canonical(isa).store(dst);
    }
    #[inline(always)]
    fn widen(self) -> Self {
        self
    }
    #[inline(always)]
    fn narrow(sum: Self) -> Self {
        sum.canonical()
    }
}

impl Element for f64 {
    type Acc = Self;
    type Mask<S: Isa> = <S::F64 as Vector<S>>::Mask;
    #[inline(always)]
    fn load<S: Isa>(isa: S, src: &[Self]) -> S::F64 {
        Vector::load(isa, src)
    }
    #[inline(always)]
    fn load_apart<S: Isa>(isa: S, src: &[Self], step: usize) -> S::F64 {
        Vector::load_apart(isa, src, step)
    }
    #[inline(always)]
    fn store<S: Isa>(isa: S, v: S::F64, dst: &mut [Self]) {
        v.canonical(isa).store(dst);
    }
    #[inline(always)]
    fn widen(self) -> Self {
        self
    }
    #[inline(always)]
    fn narrow(sum: Self) -> Self {
        sum.canonical()
    }
}

impl Element for f16 {
    type Acc = f32;
    type Mask<S: Isa> = S::F32;
    #[inline(always)]
    fn load<S: Isa>(isa: S, src: &[Self]) -> S::F32 {
        isa.load_f16(src)
    }
    #[inline(always)]
    fn load_apart<S: Isa>(isa: S, src: &[Self], step: usize) -> S::F32 {
        isa.load_f16_apart(src, step)
    }
    #[inline(always)]
    fn store<S: Isa>(isa: S, v: S::F32, dst: &mut [Self]) {
        isa.store_f16(v.canonical(isa), dst);
    }
    #[inline(always)]
    fn widen(self) -> f32 {
        self.to_f32()
    }
    #[inline(always)]
    fn narrow(sum: f32) -> Self {
        Self::from_f32(sum.canonical())
    }
}

impl Element for bf16 {
    type Acc = f32;
    type Mask<S: Isa> = S::F32;
    #[inline(always)]
    fn load<S: Isa>(isa: S, src: &[Self]) -> S::F32 {
        isa.load_bf16(src)
    }
    #[inline(always)]
    fn load_apart<S: Isa>(isa: S, src: &[Self], step: usize) -> S::F32 {
        isa.load_bf16_apart(src, step)
    }
    #[inline(always)]
    fn store<S: Isa>(isa: S, v: S::F32, dst: &mut [Self]) {
        isa.store_bf16(v, dst);
    }
    const IS_BF16: bool = true;
    #[inline(always)]
    fn load_woven<S: Isa>(isa: S, src: &[Self]) -> [S::F32; 2] {
        isa.load_woven_bf16(src)
    }
    #[inline(always)]
    fn store_woven<S: Isa>(isa: S, pair: [S::F32; 2], dst: &mut [Self]) {
        isa.store_woven_bf16(pair, dst);
    }
    #[inline(always)]
    fn widen(self) -> f32 {
        self.to_f32()
    }
    #[inline(always)]
    fn narrow(sum: f32) -> Self {
        Self::from_f32(sum.canonical())
    }
}
