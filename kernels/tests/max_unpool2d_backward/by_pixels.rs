//! Inputs whose channels lie side by side.

use ubtile_testkit::problems::{Layout, MaxUnpool};
use ubtile_testkit::{Fill, IndexFill, Rng, sizes_around};
use ubtile_tiling::Dtype;

use super::check;

/// Channels and elements around a line of 64 bytes, whatever the layout of `out`, on one and more threads.
#[test]
fn channels_and_elements_around_a_line() {
    let rng = &mut Rng::new(21);
    let inputs = Layout::ChannelsLast;
    let shapes = [(1, 1, 2, 3), (3, 5, 6, 10), (4, 4, 9, 7), (2, 33, 5, 41)];
    for (number, dtype) in [Dtype::U8, Dtype::F16, Dtype::F32, Dtype::I64].into_iter().enumerate() {
        for c in [2, 3].into_iter().chain(sizes_around(8, 16)).chain(sizes_around(32, 64)).filter(|&c| c > 1) {
            for (outputs, (h, w, out_h, out_w)) in
                Layout::OUTPUT.into_iter().zip(shapes.into_iter().cycle().skip(c % 4))
            {
                let index_dtype = [Dtype::I32, Dtype::I64][(c + number) % 2];
                let spec =
                    MaxUnpool { dtype, out_dtype: dtype, index_dtype, c, h, w, out_h, out_w, inputs, outputs, n: 2 };
                let has_one_row = !matches!(outputs, Layout::Pitched | Layout::Transposed) || h * w == 1;
                assert!(!has_one_row || spec.problem().by_pixels(), "{spec:?}");
                for index in [IndexFill::Permutation, IndexFill::Duplicates, IndexFill::OutOfRange] {
                    check(&spec, Fill::Specials, index, rng);
                }
            }
        }
    }
}

/// Not so where elements are converted, or rows of pixels do not lie one behind the other.
#[test]
fn not_by_pixels() {
    let spec = MaxUnpool { inputs: Layout::ChannelsLast, ..Default::default() };
    assert!(spec.problem().by_pixels());
    for other in [
        MaxUnpool { out_dtype: Dtype::F64, ..spec },
        MaxUnpool { outputs: Layout::Pitched, ..spec },
        MaxUnpool { inputs: Layout::Contiguous, ..spec },
        MaxUnpool { c: 1, ..spec },
    ] {
        assert!(!other.problem().by_pixels(), "{other:?}");
        check(&other, Fill::Specials, IndexFill::Duplicates, &mut Rng::new(22));
    }
}
