//! Squares of vectors, transposed in registers.

use super::everywhere;
use crate::level::Kernel;
use crate::simd::{Isa, Real, Vector};

/// Columns of the matrix.
const SIDE: usize = 16;

/// Transposes the first square of a matrix; gives its size and the columns.
struct Transpose<'a, T>(&'a [T; SIDE * SIDE]);

impl<T: Real> Kernel for Transpose<'_, T> {
    type Output = (usize, [T; SIDE * SIDE]);

    #[inline(always)]
    fn run<S: Isa>(self, isa: S) -> Self::Output {
        let mut to = [T::default(); SIDE * SIDE];
        T::V::<S>::transpose(
            #[inline(always)]
            |row| T::V::<S>::load(isa, &self.0[row * SIDE..]),
            #[inline(always)]
            |column, v| v.store(&mut to[column * SIDE..]),
        );
        (T::V::<S>::LANES, to)
    }
}

fn transposes<T: Real>() {
    let from = std::array::from_fn(|i| T::from_usize(i + 1));
    for (level, (lanes, to)) in everywhere(|| Transpose(&from)) {
        for (i, &got) in to.iter().enumerate() {
            let (column, row) = (i / SIDE, i % SIDE);
            let inside = column < lanes && row < lanes;
            let want = if inside { from[row * SIDE + column] } else { T::default() };
            assert!(got == want, "{level}: lane {row} of column {column} is {got:?}, not {want:?}");
        }
    }
}

#[test]
fn squares_transpose() {
    transposes::<f32>();
    transposes::<f64>();
}
