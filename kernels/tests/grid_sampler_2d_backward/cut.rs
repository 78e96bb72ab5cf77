//! Images of which shares have parts.

use ubtile_kernels::Level;
use ubtile_testkit::problems::{GridSampler, Layout};
use ubtile_testkit::reference::grid_sampler_2d_backward::Inputs as Tensors;
use ubtile_testkit::{Coordinates, Data, Fill, Rng};
use ubtile_tiling::grid_sampler_2d_backward::{Interpolation, Plan, Route, plan};
use ubtile_tiling::{Dtype, PlanOptions, TargetSpec};

use super::law::law;
use super::{check_plan, in_blocks, plans, sample};

/// As many whole images for each share, and parts of those that are left over.
#[test]
fn images_left_over() {
    let rng = &mut Rng::new(24);
    let layouts = [
        (Layout::Contiguous, Layout::Contiguous),
        (Layout::Spread, Layout::Pitched),
        (Layout::Transposed, Layout::Spread),
    ];
    for (i, (n, cores)) in [(3_usize, 2_usize), (5, 4), (11, 8)].into_iter().enumerate() {
        for (j, (dtype, c)) in
            [(Dtype::F32, 1), (Dtype::F64, 2), (Dtype::Bf16, 3), (Dtype::F16, 5), (Dtype::F32, 9), (Dtype::F32, 28)]
                .into_iter()
                .enumerate()
        {
            for interpolation in [Interpolation::Bilinear, Interpolation::Nearest] {
                // Images that are large enough.
                let wi = (cores / (n % cores) * 128 * 1024).div_ceil(2 * c * 40);
                // More points than are found where they lie.
                let wo = 40 * wi / 64 / 9 + 1;
                let (inputs, outputs) = layouts[(i + j) % 3];
                let size = GridSampler { dtype, n, c, hi: 40, wi, ho: 9, wo, ..Default::default() };
                let spec = GridSampler { inputs, outputs, interpolation, ..size };
                let (problem, tensors, want) = sample(&spec, Fill::Uniform, Coordinates::Random, rng);
                let plan = plan(&problem, &TargetSpec::host(cores), &PlanOptions::default()).unwrap();
                // Shares may have channels of an image whose points add to the nearest pixels, which are fewer.
                if interpolation == Interpolation::Bilinear || c >= cores {
                    assert_eq!((plan.block_dim(), plan.whole_images()), (cores, n / cores * cores), "{plan:?}");
                }
                for level in Level::available() {
                    check_plan(&spec, &plan, level, 2, &tensors, &want);
                }
            }
        }
    }
}

/// Whether points have a phase of their own.
fn has_points(plan: &Plan) -> bool {
    plan.phases().any(|phase| phase.name == "points")
}

/// Points that have a phase of their own, as images end within blocks of a copy.
#[test]
fn points_apart() {
    let [nearest, bilinear, bicubic] = [Interpolation::Nearest, Interpolation::Bilinear, Interpolation::Bicubic];
    let rng = &mut Rng::new(27);
    for (dtype, c, [hi, wi], interpolation, route) in [
        (Dtype::F32, 24, [9, 7], bilinear, Route::Channels),
        (Dtype::F16, 32, [9, 7], bilinear, Route::Channels),
        (Dtype::Bf16, 48, [9, 7], bicubic, Route::Channels),
        (Dtype::F32, 40, [9, 7], nearest, Route::Channels),
        (Dtype::F32, 5, [16, 8], bilinear, Route::Bands),
        (Dtype::F16, 5, [16, 16], bicubic, Route::Bands),
        (Dtype::F32, 67, [32, 8], bilinear, Route::Bands),
        (Dtype::F32, 2, [8, 8], bilinear, Route::PointLanes),
        (Dtype::F16, 2, [8, 8], bilinear, Route::PointLanes),
        (Dtype::F32, 2, [8, 8], nearest, Route::PointLanes),
        (Dtype::F32, 2, [32, 8], bilinear, Route::PointBands),
        (Dtype::F16, 3, [32, 16], bilinear, Route::PointBands),
        (Dtype::F32, 2, [32, 8], nearest, Route::PointBands),
    ] {
        let spec = GridSampler { dtype, n: 3, c, hi, wi, ho: 25, wo: 13, interpolation, ..Default::default() };
        let (problem, tensors, want) = sample(&spec, Fill::Uniform, Coordinates::Random, rng);
        let plan = plan(&problem, &in_blocks(16), &PlanOptions::default()).unwrap();
        assert_eq!((plan.route(), has_points(&plan)), (route, true), "{plan:?}");
        for level in Level::available() {
            check_plan(&spec, &plan, level, 3, &tensors, &want);
        }
    }
}

/// The same of images that are left over behind whole ones, which end where blocks do.
#[test]
fn points_apart_behind_whole_images() {
    let rng = &mut Rng::new(28);
    for (dtype, c, [hi, wi], route) in [
        (Dtype::F32, 5, [32, 1704], Route::Bands),
        (Dtype::F16, 40, [8, 912], Route::Channels),
        (Dtype::F32, 2, [32, 4200], Route::PointBands),
        (Dtype::F32, 3, [4, 17_000], Route::PointLanes),
    ] {
        // More points than are found where they lie, those of an image a few blocks.
        let wo = (hi * wi / 640_usize).next_multiple_of(4) + 4;
        let spec = GridSampler { dtype, n: 4, c, hi, wi, ho: 10, wo, ..Default::default() };
        let (problem, tensors, want) = sample(&spec, Fill::Uniform, Coordinates::Random, rng);
        let plan = plan(&problem, &in_blocks(3), &PlanOptions::default()).unwrap();
        assert_eq!((plan.route(), plan.whole_images(), has_points(&plan)), (route, 3, true), "{plan:?}");
        for level in Level::available() {
            check_plan(&spec, &plan, level, 3, &tensors, &want);
        }
    }
}

/// An image upside down: no point of a share adds to the share's own band, and all have gradients.
#[test]
fn points_far_from_their_band() {
    let [nearest, bilinear, bicubic] = [Interpolation::Nearest, Interpolation::Bilinear, Interpolation::Bicubic];
    for (c, interpolation, route) in [
        (5, bilinear, Route::Bands),
        (5, bicubic, Route::Bands),
        (67, bilinear, Route::Bands),
        (130, bicubic, Route::Bands),
        (1, bilinear, Route::PointBands),
        (2, nearest, Route::PointBands),
        (3, bilinear, Route::PointBands),
    ] {
        let spec = GridSampler { n: 1, c, hi: 64, wi: 9, ho: 64, wo: 16, interpolation, ..Default::default() };
        let (problem, tensors, _) = sample(&spec, Fill::Uniform, Coordinates::Smooth, &mut Rng::new(13));
        let grid = Data::from_fn(spec.desc().grid, |i| {
            let (point, is_y) = (i / 2, i % 2 == 1);
            let [at, size] = if is_y { [point / 16, 64] } else { [point % 16, 16] };
            1.0 - (2 * at + 1) as f64 / size as f64
        });
        let tensors = Tensors { grid, ..tensors };
        let want = law(&problem, &tensors);
        let plans = plans(&problem);
        assert!(plans.iter().any(|plan| plan.route() == route));
        for plan in plans {
            for level in Level::available() {
                check_plan(&spec, &plan, level, 3, &tensors, &want);
            }
        }
    }
}
