//! Pairs: split into two vectors, put together again, and gathered by index.

use crate::level::{Kernel, Level};
use crate::simd::{Isa, Real, Vector};

/// Splits pairs and puts them together; gives the even and the odd lanes and what they make.
struct Split<'a, T>(&'a [T; 16]);

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

/// Gathers pairs at indices that a vector holds.
struct Gather<'a, T>(&'a [T], &'a [T; 8]);

impl<T: Real> Kernel for Gather<'_, T> {
    type Output = (Vec<u32>, [Vec<T>; 2]);

    #[inline(always)]
    fn run<S: Isa>(self, isa: S) -> Self::Output {
        let lanes = T::V::<S>::LANES;
        let mut at = vec![u32::MAX; lanes];
        T::V::<S>::load(isa, self.1).store_indices(&mut at);
        let [a, b] = T::V::<S>::pairs(isa, self.0, &at);
        let (mut first, mut second) = (vec![T::default(); lanes], vec![T::default(); lanes]);
        a.store(&mut first);
        b.store(&mut second);
        (at, [first, second])
    }
}

fn splits<T: Real>() {
    let from = std::array::from_fn(T::from_usize);
    for level in Level::available() {
        let [even, odd, both] = level.dispatch(Split(&from));
        assert!(both == from[..both.len()], "{level}: {both:?}");
        for (k, (&even, &odd)) in even.iter().zip(&odd).enumerate() {
            assert!([even, odd] == [from[2 * k], from[2 * k + 1]], "{level}: {even:?} and {odd:?} at {k}");
        }
    }
}

fn gathers<T: Real>() {
    let data: Vec<T> = (0..20).map(|i| T::from_usize(i + 1)).collect();
    // All there, the last pair among them; one that has no second element; far beyond; nothing to read.
    for (indices, len) in [
        ([0, 18, 5, 5, 1, 17, 9, 2], 20),
        ([3, 0, 1, 18, 19, 2, 7, 5], 20),
        ([5, 1 << 20, 0, 1, 6, 4, 3, 2], 7),
        ([0; 8], 1),
    ] {
        let at = indices.map(T::from_usize);
        for level in Level::available() {
            let (got, [first, second]) = level.dispatch(Gather(&data[..len], &at));
            for (k, &index) in indices.iter().enumerate().take(got.len()) {
                assert_eq!(got[k] as usize, index, "{level}");
                let want = if index + 1 < len { [data[index], data[index + 1]] } else { [T::default(); 2] };
                assert!([first[k], second[k]] == want, "{level}: pair {index} of {len}");
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
fn pairs_are_gathered_where_they_are() {
    gathers::<f32>();
    gathers::<f64>();
}
