//! Images whose channels lie side by side in both tensors.

use ubtile_kernels::Level;
use ubtile_testkit::problems::{Layout, ReplicationPad, replication_pad_inputs};
use ubtile_testkit::{Fill, Rng, sizes_around};
use ubtile_tiling::{Dims, Edition};

use super::{DTYPES, check, check_run, law, planned};

/// Sides alike and not, cropped, and wider than the image.
const PADS: [[i64; 4]; 6] = [[0; 4], [1; 4], [2, 0, 0, 5], [0, 3, 4, 0], [-1, 2, 1, -1], [9, 7, 8, 6]];

#[test]
fn channels_around_the_vectors() {
    let rng = &mut Rng::new(21);
    let (inputs, outputs) = (Layout::ChannelsLast, Layout::ChannelsLast);
    for (dtype, padding) in DTYPES.into_iter().flat_map(|dtype| PADS.map(|padding| (dtype, padding))) {
        for c in sizes_around(4, 8).into_iter().chain(sizes_around(16, 33)).filter(|&c| c > 1) {
            let spec = ReplicationPad { dtype, c, h: 3, padding, inputs, outputs, ..Default::default() };
            assert!(spec.problem().by_pixels());
            check(&spec, Fill::Specials, rng);
        }
    }
}

/// Some of an image's channels, so that others lie between the pixels, of `grad_output`, of `grad_input` or of both.
#[test]
fn pixels_with_gaps() {
    let rng = &mut Rng::new(22);
    for (dtype, padding) in DTYPES.into_iter().flat_map(|dtype| PADS.map(|padding| (dtype, padding))) {
        for (c, from, to) in [(5, 5, 8), (5, 8, 5), (9, 11, 12)] {
            let spec = ReplicationPad { dtype, c, padding, ..Default::default() };
            let strides = |h: usize, w: usize, pixel: usize| Dims::new(&[h * w * pixel, 1, w * pixel, pixel]).unwrap();
            let mut desc = spec.desc();
            let [h, w] = [2, 3].map(|dim| desc.grad_output.shape.get(dim));
            desc.grad_output.strides = strides(h, w, from);
            desc.grad_input.strides = strides(spec.h, spec.w, to);
            let problem = desc.check(None, Edition::Any).unwrap();
            assert!(problem.by_pixels());
            let grad_output = replication_pad_inputs(&problem, Fill::Specials, rng);
            let want = law(&problem, &grad_output);
            for (level, threads) in Level::available().flat_map(|level| [1, 2].map(|threads| (level, threads))) {
                check_run(&spec, &planned(&problem, threads, None), level, threads, &grad_output, &want);
            }
        }
    }
}

/// Images of one pixel, of which a share may make some channels.
#[test]
fn shares_of_a_pixel() {
    let rng = &mut Rng::new(23);
    let (inputs, outputs) = (Layout::ChannelsLast, Layout::ChannelsLast);
    for (n, padding) in [1, 2, 3].into_iter().flat_map(|n| PADS.map(|padding| (n, padding))) {
        let padding = padding.map(|pad| pad.max(0));
        let spec = ReplicationPad { n, c: 7, h: 1, w: 1, padding, inputs, outputs, ..Default::default() };
        check(&spec, Fill::Uniform, rng);
    }
}
