//! Windows that share no cell, beyond the strides of the usual case.

use ubtile_testkit::problems::{Im2col, Layout};
use ubtile_testkit::{Fill, Rng, sizes_around};
use ubtile_tiling::Dtype;

use super::{DTYPES, check};

/// Kernels and strides around the vectors, windows of a row around them too, cells behind the last window.
#[test]
fn taps_and_windows_around_the_vectors() {
    let rng = &mut Rng::new(31);
    let sizes = [
        (1, 5),
        (2, 7),
        (5, 5),
        (5, 7),
        (7, 7),
        (8, 8),
        (8, 9),
        (9, 9),
        (3, 16),
        (15, 16),
        (16, 16),
        (17, 17),
        (33, 35),
    ];
    for (number, (kernel, stride)) in sizes.into_iter().enumerate() {
        // Of halves sixteen windows are a vector.
        let counts = |dtype: Dtype| if dtype.size() == 2 { sizes_around(8, 16) } else { sizes_around(4, 8) };
        for (dtype, windows) in DTYPES.into_iter().flat_map(|dtype| counts(dtype).into_iter().map(move |w| (dtype, w)))
        {
            for behind in [0, 1, stride - 1] {
                let (w, outputs) =
                    (windows * stride + kernel + behind, Layout::OUTPUT[(number + windows + behind) % 3]);
                let shape =
                    Im2col { dtype, out_dtype: dtype, n: 1, c: 2, h: 2 * 5 + 3, w, outputs, ..Default::default() };
                // A NaN among halves takes another way than numbers alone.
                for (rows, fill) in [(3, Fill::Specials), (5, Fill::Specials), (5, Fill::Uniform)] {
                    check(&Im2col { kernel: [rows, kernel], stride: [5, stride], ..shape }, fill, rng);
                }
            }
        }
    }
}

/// Rows that windows share, or that a padding moves: not such a case, but as right.
#[test]
fn almost_patches() {
    let rng = &mut Rng::new(32);
    let spec = Im2col { n: 1, c: 2, h: 23, w: 37, kernel: [6, 6], stride: [6, 6], ..Default::default() };
    for spec in [
        spec,
        Im2col { stride: [5, 6], ..spec },
        Im2col { stride: [6, 5], ..spec },
        Im2col { padding: [1, 0], ..spec },
        Im2col { padding: [0, 1], ..spec },
        Im2col { dilation: [2, 1], ..spec },
        Im2col { dilation: [1, 2], ..spec },
        Im2col { kernel: [1, 6], dilation: [2, 1], ..spec },
        Im2col { kernel: [6, 1], dilation: [1, 3], ..spec },
        Im2col { inputs: Layout::Spread, ..spec },
        Im2col { inputs: Layout::Pitched, outputs: Layout::Transposed, ..spec },
    ] {
        check(&spec, Fill::Specials, rng);
    }
}
