//! Channels around those of a vector, of a block, and of what a cache holds of an image.

use ubtile_kernels::Level;
use ubtile_testkit::problems::{GridSampler, Layout, grid_sampler_inputs};
use ubtile_testkit::{Coordinates, Data, Fill, Rng};
use ubtile_tiling::grid_sampler_2d_backward::{Interpolation, PaddingMode, Route, plan};
use ubtile_tiling::{Dtype, PlanOptions, TargetSpec, Tensor};

use super::{DTYPES, check_plan, law, plans, sample};

#[test]
fn channels_around_lanes_and_blocks() {
    let rng = &mut Rng::new(2);
    for (i, c) in [1, 2, 7, 15, 16, 17, 31, 63, 64, 65, 72, 127, 128, 129, 200].into_iter().enumerate() {
        let interpolation = [Interpolation::Bilinear, Interpolation::Bicubic, Interpolation::Bilinear][i % 3];
        let spec = GridSampler { n: 1 + i % 3, c, dtype: DTYPES[i % 4], interpolation, ..Default::default() };
        let (problem, tensors, want) = sample(&spec, Fill::Uniform, Coordinates::Random, rng);
        for plan in plans(&problem) {
            for level in Level::available() {
                check_plan(&spec, &plan, level, 1 + i % 3, &tensors, &want);
            }
        }
    }
}

/// F64 has pixels of 12, 20 and 28 channels, too, which are no whole number of the longest vectors: in images, in the last block of
/// channels, in bands of rows, and in parts of an image's channels.
#[test]
fn doubles_of_odd_numbers_of_fours() {
    let rng = &mut Rng::new(25);
    for c in [8, 9, 12, 13, 17, 20, 21, 25, 28, 29, 73, 84, 89] {
        for (coordinates, interpolation) in [
            (Coordinates::Smooth, Interpolation::Bilinear),
            (Coordinates::Random, Interpolation::Bilinear),
            (Coordinates::Random, Interpolation::Nearest),
            (Coordinates::Random, Interpolation::Bicubic),
        ] {
            let size = GridSampler { dtype: Dtype::F64, n: 1, c, hi: 33, wi: 9, ho: 9, wo: 15, ..Default::default() };
            // Of the nearest interpolation such channels stay side by side.
            let inputs =
                if c % 2 == 0 || interpolation == Interpolation::Nearest { Layout::ChannelsLast } else { size.inputs };
            let spec = GridSampler { interpolation, inputs, ..size };
            let (problem, tensors, want) = sample(&spec, Fill::Specials, coordinates, rng);
            for cores in [1, 2, 4] {
                let plan = plan(&problem, &TargetSpec::host(cores), &PlanOptions::default()).unwrap();
                let packed = [9, 12, 17, 20, 25, 28].contains(&c) && interpolation != Interpolation::Bicubic;
                assert_eq!(plan.pitch() % 8 == 4, packed, "{plan:?}");
                let route = match (cores, c) {
                    (1, _) => Route::Images,
                    (2, 65..) => Route::Blocks,
                    (2, 25..) => Route::Channels,
                    _ => Route::Bands,
                };
                assert_eq!(plan.route(), route, "{plan:?}");
                for level in Level::available() {
                    check_plan(&spec, &plan, level, cores, &tensors, &want);
                }
            }
        }
    }
}

/// Whole pixels of a few channels are read as they are and written as they are, points around those of a run, rows with and without
/// gaps.
#[test]
fn pixels_of_a_few_channels() {
    let rng = &mut Rng::new(33);
    for (i, c) in (1..=5).flat_map(|c| (0..6).map(move |i| (i, c))) {
        let (dtype, wo) = (DTYPES[i % 4], [1, 15, 63, 64, 65, 131][i]);
        let interpolation = [Interpolation::Bilinear, Interpolation::Nearest][(c + i / 2) % 2];
        let outputs = [Layout::ChannelsLast, Layout::Pitched, Layout::ChannelsLast][i % 3];
        let inputs = Layout::ChannelsLast;
        let size = GridSampler { n: 2, c, hi: 9, wi: 7, ho: 3, wo, ..Default::default() };
        let spec = GridSampler { dtype, interpolation, inputs, outputs, ..size };
        for (fill, coordinates) in [(Fill::Uniform, Coordinates::Smooth), (Fill::Specials, Coordinates::Random)] {
            let (problem, tensors, want) = sample(&spec, fill, coordinates, rng);
            for plan in plans(&problem) {
                let few = matches!(plan.route(), Route::PointLanes | Route::PointBands) && c <= 4;
                let copied = plan.stagings().any(|staging| staging.slot.tensor == Tensor::GradOutput);
                assert!(!(few && copied), "{plan:?}");
                for level in Level::available() {
                    check_plan(&spec, &plan, level, 1 + i % 2, &tensors, &want);
                }
            }
        }
    }
}

/// A sum begins with +0, which negative zeros do not change.
#[test]
fn sums_of_negative_zeros_alone() {
    let rng = &mut Rng::new(31);
    for (i, c) in [1, 3, 4, 5, 8, 9, 12, 16, 17, 20, 24, 33, 64, 65, 72].into_iter().enumerate() {
        for interpolation in [Interpolation::Bilinear, Interpolation::Bicubic] {
            let padding_mode = PaddingMode::Border;
            let spec = GridSampler { c, dtype: DTYPES[i % 4], interpolation, padding_mode, ..Default::default() };
            let (problem, desc) = (spec.problem(), spec.desc());
            let mut tensors = grid_sampler_inputs(&problem, Fill::Uniform, Coordinates::Smooth, rng);
            tensors.grad_output = Data::from_fn(desc.grad_output, |_| -0.0);
            // Rows and columns rise, so that what a channel adds is -0 too.
            tensors.input = Data::from_fn(desc.input, |at| (at % (spec.hi * spec.wi)) as f64);
            let want = law(&problem, &tensors);
            for plan in plans(&problem) {
                for level in Level::available() {
                    check_plan(&spec, &plan, level, 1 + i % 3, &tensors, &want);
                }
            }
        }
    }
}

/// The nearest pixel needs no gradient of the grid, so channels of images beyond a cache are staged a part at a time.
#[test]
fn channels_of_a_large_image_in_parts() {
    let (interpolation, mut rng) = (Interpolation::Nearest, Rng::new(8));
    // Parts of 32 and 32 channels, and in the second block 32 and 7; the same, and 32 and 1.
    for (dtype, n, c, hi, wi) in [(Dtype::F64, 1, 103, 61, 60), (Dtype::F32, 2, 97, 90, 91)] {
        for output_mask in [[true, true], [true, false], [false, true]] {
            let spec =
                GridSampler { dtype, n, c, hi, wi, ho: 9, wo: 15, interpolation, output_mask, ..Default::default() };
            let (problem, tensors, want) = sample(&spec, Fill::Specials, Coordinates::Random, &mut rng);
            let plan = plan(&problem, &TargetSpec::host(1), &PlanOptions::default()).unwrap();
            assert_eq!(plan.route(), Route::Images);
            for level in Level::available() {
                check_plan(&spec, &plan, level, 1, &tensors, &want);
            }
        }
    }
}

/// Where a few planes are added to at a time: one, two, an odd number and those behind a group, from points around a part and a run.
#[test]
fn planes_of_a_large_image_some_at_a_time() {
    let (interpolation, mut rng) = (Interpolation::Nearest, Rng::new(13));
    for (i, (dtype, c, hi, wi)) in [
        (Dtype::F64, 8, 61, 160),
        (Dtype::F64, 12, 61, 160),
        (Dtype::F64, 19, 61, 160),
        (Dtype::F32, 16, 200, 155),
        (Dtype::F32, 15, 200, 155),
        (Dtype::F16, 7, 19, 20),
        (Dtype::Bf16, 8, 20, 21),
    ]
    .into_iter()
    .enumerate()
    {
        for [ho, wo] in [[1, 1], [3, 21], [8, 8], [5, 13], [7, 73], [16, 32], [19, 27], [32, 40]] {
            let padding_mode = [PaddingMode::Zeros, PaddingMode::Border, PaddingMode::Reflection][(i + ho) % 3];
            let n = 1 + i % 2;
            let spec = GridSampler { dtype, n, c, hi, wi, ho, wo, interpolation, padding_mode, ..Default::default() };
            let (problem, tensors, want) = sample(&spec, Fill::Specials, Coordinates::Random, &mut rng);
            for cores in [1, 3] {
                let plan = plan(&problem, &TargetSpec::host(cores), &PlanOptions::default()).unwrap();
                assert_eq!(plan.route(), Route::PointLanes);
                for level in Level::available() {
                    check_plan(&spec, &plan, level, cores, &tensors, &want);
                }
            }
        }
    }
}
