//! Vectors, and which lanes of them something is done to.

use core::fmt::Debug;
use core::ops::{Add, Div, Mul, Sub};

use super::{Isa, MOST_LANES, Real, apart};

/// A vector of floats. A comparison gives a mask: a vector whose lanes are all ones or all zeros in bits.
pub(crate) trait Vector<S: Isa>:
    Copy + Debug + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self>
{
    /// The lane type.
    type Elem: Real<V<S> = Self>;
    /// How many lanes: 1, 2, 4, 8 or 16.
    const LANES: usize;
    /// Which lanes something is done to, as the level keeps it best: a vector, or less.
    type Mask: Mask<S, Self>;

    /// The same value in every lane.
    fn splat(isa: S, value: Self::Elem) -> Self;
    /// The first lanes of `src`; zeros where it ends.
    fn load(isa: S, src: &[Self::Elem]) -> Self;
    /// Writes as many lanes as `dst` has room for.
    fn store(self, dst: &mut [Self::Elem]);
    /// Absolute value: clears the sign, of a NaN too.
    fn abs(self) -> Self;
    /// Rounds towards minus infinity, to +0 never to -0; an infinity comes back as it is, a NaN as a NaN.
    fn floor(self) -> Self;
    /// Mask of `self < other`.
    fn lt(self, other: Self) -> Self;
    /// Mask of `self <= other`.
    fn le(self, other: Self) -> Self;
    /// Mask of `self == other`; false for NaN.
    fn eq(self, other: Self) -> Self;
    /// Bitwise and, for masks.
    fn and(self, other: Self) -> Self;
    /// Bitwise or, for masks.
    fn or(self, other: Self) -> Self;
    /// `yes` where the mask is set, else `no`.
    fn select(mask: Self, yes: Self, no: Self) -> Self;
    /// Whether any lane of a mask is set.
    fn any(mask: Self) -> bool;

    /// A bit for each lane of a mask, the first one lowest.
    fn bits(mask: Self) -> u32;

    /// Writes the lanes of which `lanes` has the bits, side by side, and anything behind them, as far as `dst` has room.
    #[inline(always)]
    fn compress(self, lanes: u32, dst: &mut [Self::Elem]) {
        let mut all = [Self::Elem::default(); MOST_LANES];
        self.store(&mut all);
        let mut at = 0;
        for (k, lane) in (0..).zip(all).take(Self::LANES) {
            if let Some(to) = dst.get_mut(at) {
                *to = lane;
            }
            at = at.wrapping_add((lanes >> k & 1) as usize);
        }
    }

    /// Of sixteen lanes the last eight, in front of anything; of fewer the vector as it is.
    #[inline(always)]
    fn last_eight(self) -> Self {
        self
    }
    /// Transposes a square of `LANES` vectors: calls `row(i)` for each, then `column(j, v)` where lane `i` of `v` is lane `j` of
    /// row `i`.
    fn transpose(row: impl FnMut(usize) -> Self, column: impl FnMut(usize, Self));

    /// The lanes of `a` and then `b` that have an even number, and those that have an odd one.
    #[inline(always)]
    fn deinterleave(isa: S, [a, b]: [Self; 2]) -> [Self; 2] {
        let (mut all, mut even, mut odd) = (
            [Self::Elem::default(); 2 * MOST_LANES],
            [Self::Elem::default(); MOST_LANES],
            [Self::Elem::default(); MOST_LANES],
        );
        a.store(&mut all);
        b.store(all.get_mut(Self::LANES..).unwrap_or(&mut []));
        for ((even, odd), &[a, b]) in even.iter_mut().zip(&mut odd).zip(all.as_chunks::<2>().0) {
            (*even, *odd) = (a, b);
        }
        [Self::load(isa, &even), Self::load(isa, &odd)]
    }
    /// Undoes [`deinterleave`](Self::deinterleave).
    #[inline(always)]
    fn interleave(isa: S, [even, odd]: [Self; 2]) -> [Self; 2] {
        let (mut all, mut evens, mut odds) = (
            [Self::Elem::default(); 2 * MOST_LANES],
            [Self::Elem::default(); MOST_LANES],
            [Self::Elem::default(); MOST_LANES],
        );
        even.store(&mut evens);
        odd.store(&mut odds);
        for ((&even, &odd), pair) in evens.iter().zip(&odds).zip(all.as_chunks_mut::<2>().0) {
            *pair = [even, odd];
        }
        [Self::load(isa, &all), Self::load(isa, all.get(Self::LANES..).unwrap_or(&[]))]
    }
    /// Every third lane of three vectors one behind the other, beginning with the first lane, the second and the third.
    #[inline(always)]
    fn deinterleave_three(isa: S, each: [Self; 3]) -> [Self; 3] {
        let (mut all, mut lanes) = ([[Self::Elem::default(); 3]; MOST_LANES], [[Self::Elem::default(); MOST_LANES]; 3]);
        for (vector, lanes) in each.iter().zip(all.as_flattened_mut().chunks_exact_mut(Self::LANES)) {
            vector.store(lanes);
        }
        let [a, b, c] = &mut lanes;
        for (((from, a), b), c) in all.iter().zip(a).zip(b).zip(c) {
            [*a, *b, *c] = *from;
        }
        let mut split = each;
        for (vector, lanes) in split.iter_mut().zip(&lanes) {
            *vector = Self::load(isa, lanes);
        }
        split
    }
    /// Every fourth lane of four vectors one behind the other, beginning with each of the first four lanes.
    #[inline(always)]
    fn deinterleave_four(isa: S, [a, b, c, d]: [Self; 4]) -> [Self; 4] {
        let [even_front, odd_front] = Self::deinterleave(isa, [a, b]);
        let [even_back, odd_back] = Self::deinterleave(isa, [c, d]);
        let [first, third] = Self::deinterleave(isa, [even_front, even_back]);
        let [second, fourth] = Self::deinterleave(isa, [odd_front, odd_back]);
        [first, second, third, fourth]
    }
    /// The lanes of three vectors in turn.
    #[inline(always)]
    fn interleave_three(isa: S, each: [Self; 3]) -> [Self; 3] {
        let (mut all, mut lanes) = ([[Self::Elem::default(); 3]; MOST_LANES], [[Self::Elem::default(); MOST_LANES]; 3]);
        for (vector, lanes) in each.iter().zip(&mut lanes) {
            vector.store(lanes);
        }
        let [a, b, c] = &lanes;
        for (((to, a), b), c) in all.iter_mut().zip(a).zip(b).zip(c) {
            *to = [*a, *b, *c];
        }
        let mut woven = each;
        for (vector, lanes) in woven.iter_mut().zip(all.as_flattened().chunks_exact(Self::LANES)) {
            *vector = Self::load(isa, lanes);
        }
        woven
    }
    /// The lanes of four vectors in turn.
    #[inline(always)]
    fn interleave_four(isa: S, [a, b, c, d]: [Self; 4]) -> [Self; 4] {
        let [even_front, even_back] = Self::interleave(isa, [a, c]);
        let [odd_front, odd_back] = Self::interleave(isa, [b, d]);
        let [first, second] = Self::interleave(isa, [even_front, odd_front]);
        let [third, fourth] = Self::interleave(isa, [even_back, odd_back]);
        [first, second, third, fourth]
    }
    /// The last lane of `before`, and then all lanes of `here` but the last.
    #[inline(always)]
    fn behind(isa: S, [before, here]: [Self; 2]) -> Self {
        let mut both = [Self::Elem::default(); 2 * MOST_LANES];
        before.store(&mut both);
        here.store(both.get_mut(Self::LANES..).unwrap_or(&mut []));
        Self::load(isa, both.get(Self::LANES.wrapping_sub(1)..).unwrap_or(&[]))
    }
    /// Writes each lane, an integer of at least 0 that an `u32` holds, as an index, as many as `dst` has room for.
    #[inline(always)]
    fn store_indices(self, dst: &mut [u32]) {
        let mut lanes = [Self::Elem::default(); MOST_LANES];
        self.store(&mut lanes);
        for (to, lane) in dst.iter_mut().zip(lanes).take(Self::LANES) {
            *to = lane.to_index();
        }
    }
    /// For each lane the element `data[at]`, the one behind it, and the two that lie `below` further; all 0 where there are not
    /// all of them.
    #[inline(always)]
    fn squares(isa: S, data: &[Self::Elem], at: &[u32], below: usize) -> [[Self; 2]; 2] {
        some_squares(isa, data, at, below)
    }

    /// The first element and those that lie one, two and more `step` behind it; zeros where `src` ends.
    #[inline(always)]
    fn load_apart(isa: S, src: &[Self::Elem], step: usize) -> Self {
        Self::load(isa, &apart::<_, MOST_LANES>(src, step, Self::LANES))
    }

    /// Every NaN replaced by the canonical quiet NaN.
    #[inline(always)]
    fn canonical(self, isa: S) -> Self {
        Self::select(self.eq(self), self, Self::splat(isa, Self::Elem::NAN))
    }
}

/// Lanes of a vector that something is done to.
pub(crate) trait Mask<S: Isa, V: Vector<S>>: Copy + Debug {
    /// Those that are set in a vector.
    fn of(mask: V) -> Self;
    /// Those that both have.
    fn both(self, other: Self) -> Self;
    /// Adds a term to a sum in these lanes. The sum is nowhere -0.0, so that adding +0.0 elsewhere would not change it.
    fn add_to(self, sum: V, term: V) -> V;
}

impl<S: Isa, V: Vector<S>> Mask<S, V> for V {
    #[inline(always)]
    fn of(mask: V) -> Self {
        mask
    }
    #[inline(always)]
    fn both(self, other: Self) -> Self {
        Vector::and(self, other)
    }
    #[inline(always)]
    fn add_to(self, sum: V, term: V) -> V {
        sum + Vector::and(term, self)
    }
}

/// As [`Vector::squares`], lane by lane.
#[inline(always)]
pub(super) fn some_squares<S: Isa, V: Vector<S>>(isa: S, data: &[V::Elem], at: &[u32], below: usize) -> [[V; 2]; 2] {
    let mut lanes = [[V::Elem::default(); MOST_LANES]; 4];
    let [a, b, c, d] = &mut lanes;
    let squares = a.iter_mut().zip(b).zip(c.iter_mut().zip(d));
    for (((a, b), (c, d)), &at) in squares.zip(at).take(V::LANES) {
        let rows =
            data.get(at as usize..).and_then(|data| Some((data.first_chunk(), data.get(below..)?.first_chunk())));
        if let Some((Some(&[first, second]), Some(&[third, fourth]))) = rows {
            (*a, *b, *c, *d) = (first, second, third, fourth);
        }
    }
    let [a, b, c, d] = lanes;
    [[V::load(isa, &a), V::load(isa, &b)], [V::load(isa, &c), V::load(isa, &d)]]
}
