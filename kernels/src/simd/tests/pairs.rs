//! Pairs, split into two vectors and put together again; lanes of three and four vectors in turn; vectors one lane back; masks as
//! bits; and squares, gathered by index.

use half::bf16;

use super::everywhere;
use crate::level::Kernel;
use crate::simd::{Isa, Real, Vector};

/// Splits pairs and puts them together; gives the even and the odd lanes and what they make.
struct Split<'a, T>(&'a [T; 32]);

impl<T: Real> Kernel for Split<'_, T> {
    type Output = [Vec<T>; 3];

    #[inline(always)]
    fn run<S: Isa>(self, isa: S) -> [Vec<T>; 3] {
        let lanes = T::V::<S>::LANES;
        let load = |from: &[T]| T::V::<S>::load(isa, from);
        let store = |v: T::V<S>| {
            let mut to = vec![T::default(); lanes];
            v.store(&mut to);
            to
        };
        let [even, odd] = Vector::deinterleave(isa, [load(self.0), load(&self.0[lanes..])]);
        let [a, b] = Vector::interleave(isa, [even, odd]);
        [store(even), store(odd), [store(a), store(b)].concat()]
    }
}

/// Gives the lanes of three vectors in turn, and of four; and every third lane of three, and every fourth of four.
struct InTurn<'a, T>(&'a [T; 64]);

impl<T: Real> Kernel for InTurn<'_, T> {
    type Output = (usize, [[Vec<T>; 2]; 2]);

    #[inline(always)]
    fn run<S: Isa>(self, isa: S) -> Self::Output {
        let lanes = T::V::<S>::LANES;
        let [a, b, c, d] = [0, 1, 2, 3].map(|k| T::V::<S>::load(isa, &self.0[k * lanes..]));
        let store = |vectors: &[T::V<S>]| {
            let mut to = vec![T::default(); vectors.len() * lanes];
            vectors.iter().zip(to.chunks_mut(lanes)).for_each(|(v, to)| v.store(to));
            to
        };
        let three = [Vector::interleave_three(isa, [a, b, c]), Vector::deinterleave_three(isa, [a, b, c])];
        let four = [Vector::interleave_four(isa, [a, b, c, d]), Vector::deinterleave_four(isa, [a, b, c, d])];
        (lanes, [three.map(|vectors| store(&vectors)), four.map(|vectors| store(&vectors))])
    }
}

/// Reads woven bf16 and writes floats woven, as many as two vectors have lanes; gives the bits of the lanes in turn, and what was
/// written.
struct Weave<'a>(&'a [bf16], &'a [f32]);

impl Kernel for Weave<'_> {
    type Output = (Vec<u32>, Vec<u16>);

    #[inline(always)]
    fn run<S: Isa>(self, isa: S) -> Self::Output {
        let lanes = S::F32::LANES;
        let (mut read, mut written) = (Vec::new(), Vec::new());
        for (from, floats) in self.0.chunks(2 * lanes).zip(self.1.chunks(2 * lanes)) {
            let [mut evens, mut odds] = [[0_f32; 16]; 2];
            let [even, odd] = isa.load_woven_bf16(from);
            even.store(&mut evens);
            odd.store(&mut odds);
            let both = evens.into_iter().zip(odds).take(lanes).flat_map(|(even, odd)| [even, odd]);
            read.extend(both.take(from.len()).map(f32::to_bits));
            for (k, pair) in floats.chunks(2).enumerate() {
                (evens[k], odds[k]) = (pair[0], *pair.get(1).unwrap_or(&0.0));
            }
            let mut to = vec![bf16::ZERO; floats.len()];
            isa.store_woven_bf16([&evens, &odds].map(|lanes| S::F32::load(isa, lanes)), &mut to);
            written.extend(to.into_iter().map(bf16::to_bits));
        }
        (read, written)
    }
}

/// Gathers squares at indices that a vector holds, their second rows that far below.
struct Gather<'a, T>(&'a [T], &'a [T; 16], usize);

impl<T: Real> Kernel for Gather<'_, T> {
    type Output = (Vec<u32>, [Vec<T>; 4]);

    #[inline(always)]
    fn run<S: Isa>(self, isa: S) -> Self::Output {
        let lanes = T::V::<S>::LANES;
        let mut at = vec![u32::MAX; lanes];
        T::V::<S>::load(isa, self.1).store_indices(&mut at);
        let [[a, b], [c, d]] = T::V::<S>::squares(isa, self.0, &at, self.2);
        let square = [a, b, c, d].map(|v| {
            let mut to = vec![T::default(); lanes];
            v.store(&mut to);
            to
        });
        (at, square)
    }
}

/// Gives the second of two vectors one lane back, and which of its lanes are above a bound as bits.
struct Back<'a, T>(&'a [T; 32], T);

impl<T: Real> Kernel for Back<'_, T> {
    type Output = (Vec<T>, u32);

    #[inline(always)]
    fn run<S: Isa>(self, isa: S) -> Self::Output {
        let lanes = T::V::<S>::LANES;
        let [before, here] = [T::V::<S>::load(isa, self.0), T::V::<S>::load(isa, &self.0[lanes..])];
        let mut to = vec![T::default(); lanes];
        Vector::behind(isa, [before, here]).store(&mut to);
        (to, Vector::bits(T::V::<S>::splat(isa, self.1).lt(here)))
    }
}

/// Gives the last eight lanes of a vector, or all of fewer.
struct LastEight<'a, T>(&'a [T; 32]);

impl<T: Real> Kernel for LastEight<'_, T> {
    type Output = (usize, Vec<T>);

    #[inline(always)]
    fn run<S: Isa>(self, isa: S) -> Self::Output {
        let lanes = T::V::<S>::LANES;
        let mut to = vec![T::default(); lanes.min(8)];
        T::V::<S>::load(isa, self.0).last_eight().store(&mut to);
        (lanes, to)
    }
}

fn last_eight<T: Real>() {
    let from = std::array::from_fn(T::from_usize);
    for (level, (lanes, last)) in everywhere(|| LastEight(&from)) {
        assert!(last == from[lanes - last.len()..lanes], "{level}: {last:?}");
    }
}

fn one_lane_back<T: Real>() {
    let from = std::array::from_fn(T::from_usize);
    for bound in 0..32 {
        for (level, (back, bits)) in everywhere(|| Back(&from, T::from_usize(bound))) {
            let lanes = back.len();
            assert!(back == from[lanes - 1..2 * lanes - 1], "{level}: {back:?}");
            let want = (0..lanes).filter(|lane| lanes + lane > bound).fold(0, |bits, lane| bits | 1 << lane);
            assert_eq!(bits, want, "{level}: above {bound}");
        }
    }
}

fn splits<T: Real>() {
    let from = std::array::from_fn(T::from_usize);
    for (level, [even, odd, both]) in everywhere(|| Split(&from)) {
        assert!(both == from[..both.len()], "{level}: {both:?}");
        for (k, (&even, &odd)) in even.iter().zip(&odd).enumerate() {
            assert!([even, odd] == [from[2 * k], from[2 * k + 1]], "{level}: {even:?} and {odd:?} at {k}");
        }
    }
}

fn in_turn<T: Real>() {
    let from = std::array::from_fn(T::from_usize);
    for (level, (lanes, each)) in everywhere(|| InTurn(&from)) {
        for (vectors, [woven, split]) in [3, 4].into_iter().zip(each) {
            let all = 0..vectors * lanes;
            let want: Vec<T> = all.clone().map(|i| from[i % vectors * lanes + i / vectors]).collect();
            assert!(woven == want, "{level}: {vectors} vectors of {lanes} in turn are {woven:?}");
            let want: Vec<T> = all.map(|i| from[i % lanes * vectors + i / lanes]).collect();
            assert!(split == want, "{level}: {vectors} vectors of {lanes} are split into {split:?}");
        }
    }
}

fn gathers<T: Real>() {
    let data: Vec<T> = (0..20).map(|i| T::from_usize(i + 1)).collect();
    // All there, the last square among them; some that have no second row, or none whose second pixel is there; far beyond; rows
    // of two; nothing to read.
    for (indices, len, below) in [
        ([0, 14, 5, 5, 1, 13, 9, 2], 20, 4),
        ([3, 0, 1, 15, 14, 2, 7, 5], 20, 4),
        ([5, 1 << 20, 0, 1, 6, 4, 3, 2], 7, 3),
        ([0, 2, 4, 6, 8, 10, 12, 14], 18, 2),
        ([0; 8], 3, 2),
        ([0; 8], 8, usize::MAX),
    ] {
        // A vector of sixteen has them twice.
        let at = std::array::from_fn(|k| T::from_usize(indices[k % 8]));
        for (level, (got, square)) in everywhere(|| Gather(&data[..len], &at, below)) {
            for (k, &index) in indices.iter().cycle().enumerate().take(got.len()) {
                assert_eq!(got[k] as usize, index, "{level}");
                let there = below.checked_add(index + 1).is_some_and(|last| last < len);
                let want = [index, index + 1, index.wrapping_add(below), index.wrapping_add(below).wrapping_add(1)]
                    .map(|at| if there { data[at] } else { T::default() });
                assert!([0, 1, 2, 3].map(|i| square[i][k]) == want, "{level}: square {index} of {len}");
            }
        }
    }
}

#[test]
fn pairs_split_and_join() {
    splits::<f32>();
    splits::<f64>();
}

#[test]
fn three_and_four_vectors_take_turns() {
    in_turn::<f32>();
    in_turn::<f64>();
}

#[test]
fn vectors_move_back_and_masks_are_bits() {
    one_lane_back::<f32>();
    one_lane_back::<f64>();
}

#[test]
fn the_last_eight_lanes_come_in_front() {
    last_eight::<f32>();
    last_eight::<f64>();
}

#[test]
fn squares_are_gathered_where_they_are() {
    gathers::<f32>();
    gathers::<f64>();
}

#[test]
fn bf16_are_woven_as_they_are_read_and_written_alone() {
    // All of them, and each with something in the lower half that rounds up, down or to even; the last vectors are cut.
    let all: Vec<bf16> = (0..u16::MAX).map(bf16::from_bits).collect();
    for below in [0, 1, 0x7fff, 0x8000, 0x8001, 0xffff] {
        let floats: Vec<f32> = all.iter().map(|h| f32::from_bits(u32::from(h.to_bits()) << 16 | below)).collect();
        let rounded = floats.iter().map(|&x| if x.is_nan() { 0x7fc0 } else { bf16::from_f32(x).to_bits() });
        let rounded: Vec<u16> = rounded.collect();
        for (level, (read, written)) in everywhere(|| Weave(&all, &floats)) {
            assert!(read.iter().zip(&all).all(|(read, h)| *read == u32::from(h.to_bits()) << 16), "{level}");
            assert_eq!((read.len(), &written), (all.len(), &rounded), "{level}, {below:#x} below");
        }
    }
}
