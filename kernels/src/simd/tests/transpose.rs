//! Squares of vectors, transposed in registers.

use std::array;

use wide::u16x16;

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
    let from = array::from_fn(|i| T::from_usize(i + 1));
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

/// Two squares of halves, and what they become.
struct Halves([[u16; 16]; 8]);

impl Kernel for Halves {
    /// Transposed; added to +0.0; the largest magnitudes.
    type Output = ([[u16; 16]; 8], [[u16; 16]; 8], [i16; 16]);

    #[inline(always)]
    fn run<S: Isa>(self, isa: S) -> Self::Output {
        let rows = self.0.map(u16x16::new);
        let (sums, largest) = isa.sums_of_halves(rows);
        (isa.transpose_halves(rows).map(u16x16::to_array), sums.map(u16x16::to_array), largest.to_array())
    }
}

#[test]
fn squares_of_halves_transpose_and_are_summed() {
    // All bits of the sign, the exponent and some of the fraction, two lanes of negative zeros and numbers around them.
    let rows: [[u16; 16]; 8] = array::from_fn(|i| {
        array::from_fn(|j| match j {
            0 => 0x8000,
            1 => 0x7fff + i as u16 % 3,
            _ => ((i * 16 + j) as u16).wrapping_mul(517),
        })
    });
    for (level, (transposed, sums, largest)) in everywhere(|| Halves(rows)) {
        for (i, j) in (0..8).flat_map(|i| (0..16).map(move |j| (i, j))) {
            assert_eq!(transposed[j % 8][j / 8 * 8 + i], rows[i][j], "{level}: {i}, {j}");
            assert_eq!(sums[i][j], if rows[i][j] == 0x8000 { 0 } else { rows[i][j] }, "{level}: {i}, {j}");
        }
        let magnitudes: [i16; 16] = array::from_fn(|j| rows.iter().map(|row| (row[j] & 0x7fff) as i16).max().unwrap());
        assert_eq!(largest, magnitudes, "{level}");
    }
}
