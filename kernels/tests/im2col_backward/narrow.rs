//! Narrow images, whose rows are summed together.

use ubtile_testkit::problems::{Im2col, Layout};
use ubtile_testkit::{Fill, Rng};
use ubtile_tiling::Dtype;

use super::{DTYPES, check_plans, exists};

/// Widths up to the largest, for dtypes of two bytes, of which a vector may have twice as many, some up to twice of it, and the
/// cells that are summed at once.
fn widths(most: usize) -> impl Iterator<Item = (usize, Dtype, usize)> {
    let each = move |w: usize| DTYPES.map(|dtype| (w, dtype, if dtype.size() == 2 { 128 } else { 64 }));
    (1..=2 * most).flat_map(each).filter(move |&(w, _, cells)| w <= most || cells == 128 && w % 3 == 1)
}

/// Narrow images with as many windows as cells in a row, whose rows are summed together: of each width that this is done for and a
/// few more, with heights of one block of rows, a part of one, and a row more, reached by all kernel rows or by some.
#[test]
fn rows_side_by_side() {
    let rng = &mut Rng::new(14);
    for (w, dtype, cells) in widths(34) {
        let rows = (cells / w).max(1);
        for h in [1, 2, 3, 5, rows, rows + 1, rows / 2 + 1] {
            // The third has no column that all taps reach unless it is wide, the fourth a row more of windows, the fifth a row less.
            for (kernel, dilation, padding) in [
                ([3, 3], [1, 1], [1, 1]),
                ([1, 5], [1, 1], [0, 2]),
                ([2, 3], [3, 4], [2, 4]),
                ([2, 3], [1, 1], [1, 1]),
                ([4, 3], [1, 1], [1, 1]),
                ([8, 7], [1, 1], [5, 3]),
            ] {
                // Rows with gaps between them are summed one by one.
                let outputs = if h == 3 { Layout::Pitched } else { Layout::Contiguous };
                let shape = Im2col { dtype, out_dtype: dtype, n: 1, c: 3, h, w, outputs, ..Default::default() };
                let spec = Im2col { kernel, dilation, padding, ..shape };
                if exists(&spec) {
                    check_plans(&spec, Fill::Specials, &[(1, None), (2, None)], rng);
                }
            }
        }
    }
}

/// The same with strides: as many windows in a row as every stride-th cell of it, with classes and rows that no tap reaches, and
/// shares that begin at any row.
#[test]
fn rows_and_columns_a_stride_apart() {
    let rng = &mut Rng::new(15);
    for (w, dtype, cells) in widths(50) {
        for (k, s, d, p) in [
            (1, 2, 1, 0),
            (2, 2, 1, 0),
            (3, 2, 1, 1),
            (3, 2, 2, 2),
            (6, 2, 1, 2),
            (5, 3, 1, 2),
            (2, 3, 1, 0),
            (4, 4, 1, 0),
        ] {
            let together = s * (cells / w.div_ceil(s)).max(1);
            for h in [1, 4, 7, together - 1, together + s + 1] {
                let outputs = if h == 4 { Layout::Pitched } else { Layout::Contiguous };
                let shape = Im2col { dtype, out_dtype: dtype, n: 1, c: 3, h, w, outputs, ..Default::default() };
                let spec = Im2col { kernel: [k; 2], stride: [s; 2], dilation: [d; 2], padding: [p; 2], ..shape };
                if exists(&spec) {
                    check_plans(&spec, Fill::Specials, &[(1, None), (3, None)], rng);
                }
            }
        }
    }
}

/// Planes of more rows than places are kept for, of which the last block has fewer rows than the others, and of as many.
#[test]
fn tall_planes() {
    let rng = &mut Rng::new(16);
    for (w, dtype) in [25, 32].into_iter().flat_map(|w| DTYPES.map(|dtype| (w, dtype))) {
        for (h, s) in [64, 65, 131].into_iter().flat_map(|h| [(h, 1), (3 * h, 2)]) {
            let shape = Im2col { dtype, out_dtype: dtype, n: 1, c: 2, h, w, ..Default::default() };
            let spec = Im2col { kernel: [3; 2], stride: [s; 2], padding: [1; 2], ..shape };
            assert!(exists(&spec));
            check_plans(&spec, Fill::Uniform, &[(1, None), (3, None)], rng);
        }
    }
}

/// Taps that lie closer together in memory than a row of windows is long, as those of an expanded tensor do: with a padding their
/// windows begin in front of the data.
#[test]
fn taps_that_are_the_same() {
    let rng = &mut Rng::new(17);
    for (w, dtype) in [3, 8, 13, 24, 33].into_iter().flat_map(|w| DTYPES.map(|dtype| (w, dtype))) {
        for (k, s, d, p) in [(3, 1, 1, 1), (2, 1, 4, 2), (3, 2, 1, 1), (3, 2, 2, 2), (3, 3, 3, 2), (5, 3, 1, 2)] {
            for h in [1, 4, 9] {
                let shape = Im2col {
                    dtype,
                    out_dtype: dtype,
                    n: 2,
                    c: 2,
                    h,
                    w,
                    inputs: Layout::Expanded,
                    ..Default::default()
                };
                let spec = Im2col { kernel: [k; 2], stride: [s; 2], dilation: [d; 2], padding: [p; 2], ..shape };
                if exists(&spec) {
                    check_plans(&spec, Fill::Uniform, &[(1, None), (3, None)], rng);
                }
            }
        }
    }
}
