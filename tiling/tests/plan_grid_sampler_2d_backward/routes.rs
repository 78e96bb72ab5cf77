//! Which route a problem takes.

use ubtile_testkit::problems::{GridSampler, Layout};
use ubtile_tiling::grid_sampler_2d_backward::{Interpolation, Route, plan};
use ubtile_tiling::{Dtype, PlanOptions, TargetSpec};

use super::planned;

/// Which route is faster depends on sizes; on each side of every threshold.
#[test]
fn routes_by_size() {
    let few = GridSampler { n: 1, c: 3, hi: 40, wi: 40, ho: 600, wo: 700, ..Default::default() };
    let route = |spec: GridSampler, cores| planned(&spec, &TargetSpec::host(cores)).route();
    assert_eq!(route(few, 1), Route::PointLanes);
    // One pixel next to another is what they are for, and weights of two.
    assert_eq!(route(GridSampler { hi: 1, ..few }, 1), Route::Images);
    assert_eq!(route(GridSampler { wi: 1, ..few }, 1), Route::Images);
    assert_eq!(route(GridSampler { hi: 2, wi: 2, ..few }, 1), Route::PointLanes);
    assert_eq!(route(GridSampler { interpolation: Interpolation::Bicubic, ..few }, 1), Route::Images);
    // Positions that f32 counts.
    assert_eq!(route(GridSampler { hi: 1 << 12, wi: 1 << 12, ..few }, 1), Route::PointLanes);
    assert_eq!(route(GridSampler { hi: 1 << 12, wi: 1 + (1 << 12), ..few }, 1), Route::Images);
    // Image and gradient of four channels take a megabyte.
    let (bilinear, nearest) = (Interpolation::Bilinear, Interpolation::Nearest);
    for (dtype, pixels) in [(Dtype::F32, 1 << 15), (Dtype::F16, 1 << 15)] {
        let four = GridSampler { dtype, interpolation: bilinear, c: 4, hi: 2, ..few };
        assert_eq!(route(GridSampler { wi: pixels / 2, ..four }, 1), Route::PointLanes, "{dtype}");
        assert_eq!(route(GridSampler { wi: pixels / 2 + 1, ..four }, 1), Route::Images, "{dtype}");
    }
    let four = GridSampler { interpolation: nearest, c: 4, hi: 2, wi: 1 << 17, ..few };
    assert_eq!(route(four, 1), Route::PointLanes);
    assert_eq!(route(GridSampler { interpolation: bilinear, ..four }, 1), Route::Images);
    // Of the nearest interpolation a plane of the gradient does, and channels lie apart.
    for (dtype, c, pixels) in [(Dtype::F64, 64, 1 << 17), (Dtype::F32, 16, 1 << 18), (Dtype::F16, 8, 1 << 18)] {
        let many = GridSampler { dtype, interpolation: nearest, c, hi: 2, wi: pixels / 2, ..few };
        for (inputs, outputs, wanted) in [
            (Layout::Contiguous, Layout::Contiguous, Route::PointLanes),
            (Layout::ChannelsLast, Layout::Contiguous, Route::Images),
            (Layout::Contiguous, Layout::ChannelsLast, Route::Images),
        ] {
            assert_eq!(route(GridSampler { inputs, outputs, ..many }, 1), wanted, "{dtype} {inputs:?} {outputs:?}");
        }
        assert_eq!(route(GridSampler { wi: pixels / 2 + 1, ..many }, 1), Route::Images, "{dtype}");
        assert_eq!(route(GridSampler { c: c + 1, ..many }, 1), Route::Images, "{dtype}");
    }
    // Of F64 they are a vector.
    let doubles = GridSampler { dtype: Dtype::F64, interpolation: bilinear, ..few };
    assert_eq!(route(doubles, 1), Route::PointLanes);
    assert_eq!(route(GridSampler { c: 4, ..doubles }, 1), Route::Images);
    // Of three, image and gradient take sixteen megabytes.
    let pixels = (16 << 20) / (2 * 3 * 8);
    for (interpolation, c, beyond) in
        [(bilinear, 3, Route::Images), (bilinear, 2, Route::PointLanes), (nearest, 3, Route::PointLanes)]
    {
        let doubles = GridSampler { interpolation, c, hi: 2, ..doubles };
        assert_eq!(route(GridSampler { wi: pixels / 2, ..doubles }, 1), Route::PointLanes, "{c}");
        assert_eq!(route(GridSampler { wi: pixels / 2 + 1, ..doubles }, 1), beyond, "{c}");
    }
    // So do those of three that are widened with four megabytes, but for cores that share an image.
    let pixels = (4 << 20) / (2 * 3 * 4);
    for (interpolation, c, beyond) in
        [(bilinear, 3, Route::Images), (bilinear, 2, Route::PointLanes), (nearest, 3, Route::PointLanes)]
    {
        let halves = GridSampler { dtype: Dtype::Bf16, interpolation, c, hi: 2, ..few };
        assert_eq!(route(GridSampler { wi: pixels / 2, ..halves }, 1), Route::PointLanes, "{c}");
        assert_eq!(route(GridSampler { wi: pixels / 2 + 1, ..halves }, 1), beyond, "{c}");
        assert_eq!(route(GridSampler { hi: 16, wi: pixels / 2, ..halves }, 2), Route::PointBands, "{c}");
    }
    assert_eq!(route(GridSampler { c: 5, hi: 2, wi: 2, ..few }, 1), Route::Images);
    // Where nothing need be staged for it, bands of a larger image of four channels have points side by side.
    let four = GridSampler { interpolation: bilinear, c: 4, hi: 32, wi: 1 << 11, ..few };
    for (spec, wanted) in [
        (four, Route::PointBands),
        (GridSampler { dtype: Dtype::F64, ..four }, Route::PointBands),
        (GridSampler { inputs: Layout::Pitched, ..four }, Route::Bands),
        (GridSampler { outputs: Layout::Pitched, ..four }, Route::Bands),
        (GridSampler { dtype: Dtype::F16, ..four }, Route::Bands),
        (GridSampler { interpolation: Interpolation::Bicubic, ..four }, Route::Bands),
        (GridSampler { c: 5, ..four }, Route::Bands),
        // Whole images stay as they are.
        (GridSampler { n: 2, ..four }, Route::Images),
        (GridSampler { n: 3, ho: 40, wo: 40, ..four }, Route::Bands),
    ] {
        let plan = planned(&spec, &TargetSpec::host(2));
        assert_eq!(plan.route(), wanted, "{spec:?}");
        assert_eq!(plan.workspace_bytes() == 0, wanted == Route::PointBands, "{spec:?}");
    }
    // Cores beyond the images: blocks of channels, two vectors of them, or bands of eight rows; of few channels otherwise one and the
    // gradient of the grid.
    for (c, hi, cores, wanted, shares) in [
        (1, 40, 4, Route::PointBands, 4),
        (3, 40, 9, Route::PointBands, 5),
        (3, 16, 2, Route::PointBands, 2),
        (3, 15, 2, Route::PointLanes, 2),
        (3, 15, 9, Route::PointLanes, 4),
        (65, 5, 4, Route::Blocks, 2),
        (200, 5, 3, Route::Blocks, 3),
        (65, 40, 2, Route::Blocks, 2),
        (65, 40, 3, Route::Bands, 3),
        (130, 40, 3, Route::Blocks, 3),
        (130, 40, 9, Route::Bands, 5),
        (64, 40, 4, Route::Channels, 4),
        (64, 40, 9, Route::Bands, 5),
        (64, 39, 5, Route::Channels, 4),
        (25, 40, 2, Route::Channels, 2),
        (24, 40, 2, Route::Bands, 2),
        (24, 16, 2, Route::Bands, 2),
        (24, 15, 2, Route::Images, 1),
        (25, 15, 2, Route::Channels, 2),
    ] {
        let plan = planned(&GridSampler { c, hi, ..few }, &TargetSpec::host(cores));
        assert_eq!((plan.route(), plan.block_dim()), (wanted, shares), "{c} {hi} {cores}");
        // Rows of a channel lie side by side, so that bands of points side by side are summed up in place.
        let staged = plan.workspace().region("input_grad_staged").is_some();
        assert_eq!(staged, wanted == Route::Bands, "{c} {hi} {cores}");
    }
    // Without enough workspace to stage as many images at once as there are cores, four channels are not staged.
    let images = GridSampler { n: 2, ..four };
    let limited = |spec: GridSampler, workspace_limit| {
        let options = PlanOptions { workspace_limit: Some(workspace_limit), local_bytes: None };
        let plan = plan(&spec.problem(), &TargetSpec::host(2), &options).unwrap();
        (plan.route(), plan.block_dim())
    };
    let needs = planned(&images, &TargetSpec::host(2)).workspace_bytes();
    assert_eq!(limited(images, needs), (Route::Images, 2));
    assert_eq!(limited(images, needs - 1), (Route::PointLanes, 2));
    assert_eq!(limited(images, 0), (Route::PointLanes, 2));
    assert_eq!(limited(GridSampler { c: 5, ..images }, needs), (Route::Images, 1));
    // Without vectors nothing is staged.
    for (vector_bytes, direct) in [(16, false), (15, true), (4, true)] {
        for c in [3, 30, 300] {
            let plan = planned(&GridSampler { c, ..few }, &TargetSpec { vector_bytes, ..TargetSpec::host(4) });
            assert_eq!(matches!(plan.route(), Route::Direct(_)), direct, "{c} channels, vectors of {vector_bytes}");
        }
    }
}
