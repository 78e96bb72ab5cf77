//! Squares of vectors, transposed in registers.

use crate::level::{Kernel, Level};
use crate::simd::{Isa, Real, Vector};

/// Transposes the first square of a matrix of 8 columns; tells its size.
struct Transpose<'a, T>(&'a [T; 64], &'a mut [T; 64]);

impl<T: Real> Kernel for Transpose<'_, T> {
    type Output = usize;

    #[inline(always)]
    fn run<S: Isa>(self, isa: S) -> usize {
        let Self(from, to) = self;
        T::V::<S>::transpose(
            #[inline(always)]
            |row| T::V::<S>::load(isa, &from[row * 8..]),
            #[inline(always)]
            |column, v| v.store(&mut to[column * 8..]),
        );
        T::V::<S>::LANES
    }
}

fn transposes<T: Real>() {
    let from = std::array::from_fn(|i| T::from_usize(i + 1));
    for level in Level::available() {
        let mut to = [T::default(); 64];
        let lanes = level.dispatch(Transpose(&from, &mut to));
        for (i, &got) in to.iter().enumerate() {
            let (column, row) = (i / 8, i % 8);
            let inside = column < lanes && row < lanes;
            let want = if inside { from[row * 8 + column] } else { T::default() };
            assert!(got == want, "{level}: lane {row} of column {column} is {got:?}, not {want:?}");
        }
    }
}

#[test]
fn squares_transpose() {
    transposes::<f32>();
    transposes::<f64>();
}
