//! A `grad_output` whose channels and taps lie side by side.

use ubtile_testkit::problems::{Im2col, Layout};
use ubtile_testkit::{Fill, Rng, sizes_around};
use ubtile_tiling::Dtype;

use super::{DTYPES, check, exists};

/// Widths around a block of cells, channels around the vectors, windows that overlap and that do not.
#[test]
fn widths_and_channels_around_the_blocks() {
    let rng = &mut Rng::new(21);
    let windows = [
        // Kernel, stride, dilation, padding.
        ([3, 3], [1, 1], [1, 1], [1, 1]),
        ([2, 2], [1, 1], [1, 1], [0, 0]),
        ([4, 5], [2, 1], [1, 1], [2, 0]),
        ([3, 4], [1, 1], [2, 3], [3, 5]),
        ([5, 3], [2, 1], [3, 1], [6, 1]),
        ([16, 1], [4, 1], [1, 1], [9, 0]),
    ];
    let mut count = 0;
    for (number, (kernel, stride, dilation, padding)) in windows.into_iter().enumerate() {
        for (dtype, w) in DTYPES.into_iter().flat_map(|d| sizes_around(16, 32).into_iter().map(move |w| (d, w))) {
            for c in sizes_around(8, 16).into_iter().filter(|&c| c * dtype.size() >= 32) {
                let outputs = Layout::OUTPUT[(number + w + c) % 5];
                let shape = Im2col { dtype, out_dtype: dtype, n: 2, c, h: 5, w, ..Default::default() };
                let layouts = Im2col { inputs: Layout::ChannelsLast, outputs, ..shape };
                let spec = Im2col { kernel, stride, dilation, padding, ..layouts };
                if w > 0 && exists(&spec) && spec.columns(0) * spec.columns(1) > 1 {
                    assert!(spec.problem().by_pixels(), "{spec:?}");
                    check(&spec, Fill::Specials, rng);
                    count += 1;
                }
            }
        }
    }
    assert!(count > 300, "{count}");
}

/// Where windows do not overlap, channels must lie side by side in `out` too; a kernel has 16 taps along an axis at most.
#[test]
fn where_it_pays() {
    let many = Im2col { c: 8, h: 37, w: 36, kernel: [2, 2], inputs: Layout::ChannelsLast, ..Default::default() };
    let last = Im2col { outputs: Layout::ChannelsLast, ..many };
    for (spec, by_pixels) in [
        (many, true),
        (Im2col { stride: [2, 1], ..many }, false),
        (Im2col { stride: [2, 1], ..last }, true),
        (Im2col { stride: [5, 5], ..last }, true),
        (Im2col { kernel: [16, 16], ..many }, true),
        (Im2col { kernel: [17, 16], ..many }, false),
        (Im2col { kernel: [16, 17], ..many }, false),
        (Im2col { c: 7, ..many }, false),
        (Im2col { out_dtype: Dtype::F64, ..many }, false),
        (Im2col { inputs: Layout::Contiguous, ..many }, false),
        (Im2col { inputs: Layout::Spread, ..many }, false),
    ] {
        assert_eq!(spec.problem().by_pixels(), by_pixels, "{spec:?}");
        check(&spec, Fill::Uniform, &mut Rng::new(22));
    }
}
