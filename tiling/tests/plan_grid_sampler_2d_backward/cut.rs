//! Which images are cut, into which parts, and that these take as long.

use proptest::prelude::*;
use proptest::sample::select;
use ubtile_testkit::problems::GridSampler;
use ubtile_tiling::grid_sampler_2d_backward::{Interpolation, Route, Work};
use ubtile_tiling::{Capabilities, Dtype, TargetSpec};

use super::plan_machines::config;
use super::{any_plan, planned};

/// So many cores whose copies take whole blocks.
fn in_blocks(block_bytes: usize, cores: usize) -> TargetSpec {
    let host = TargetSpec::host(cores);
    let capabilities = Capabilities { unaligned_copy: false, ..host.capabilities };
    TargetSpec { block_bytes, capabilities, ..host }
}

/// Images of which copies of whole blocks take neither the points nor the planes one by one keep all cores busy.
#[test]
fn cores_have_channels_and_points() {
    let mut target = in_blocks(32, 32);
    target.capabilities.caches = false;
    for (n, c, size, route, shares) in [
        (4, 64, 57, Route::Channels, 32),
        (4, 64, 56, Route::Channels, 32),
        (4, 64, 31, Route::Channels, 32),
        (1, 64, 57, Route::Channels, 8),
        (1, 64, 56, Route::Bands, 28),
        (2, 8, 64, Route::Bands, 32),
        (1, 3, 128, Route::PointBands, 32),
    ] {
        let spec = GridSampler { n, c, hi: size, wi: size, ho: size, wo: size, ..Default::default() };
        let plan = planned(&spec, &target);
        assert_eq!((plan.route(), plan.block_dim()), (route, shares), "{spec:?}");
    }
}

proptest! {
    #![proptest_config(config())]

    /// Bands are as high as pays, and no higher than it takes to keep the cores busy.
    #[test]
    fn bands_have_eight_rows(plan in any_plan()) {
        if !matches!(plan.route(), Route::Bands | Route::PointBands) {
            return Ok(());
        }
        let (phase, compute) = plan.phases().enumerate().find(|(_, phase)| phase.name == "compute").unwrap();
        for share in 0..compute.shares {
            let Work::Band { rows, .. } = plan.work(phase, share) else { panic!("{plan:?}") };
            prop_assert!(rows.len() >= 8, "{rows:?}");
        }
    }

    /// With points side by side the shares of an image take as long, but for a point that cannot be halved.
    #[test]
    fn shares_of_an_image_take_as_long(
        (n, c, points) in (1..4usize, 1..5usize, 1..200usize), cores in 1..40usize, mode in 0..2usize, adds: bool,
    ) {
        let interpolation = [Interpolation::Bilinear, Interpolation::Nearest][mode];
        let size = GridSampler { n, c, ho: 1, wo: points, interpolation, output_mask: [adds, true], ..Default::default() };
        let plan = planned(&size, &TargetSpec::host(cores));
        prop_assert_eq!(plan.route(), Route::PointLanes);
        // A share for each channel and one for the grid's gradient alone; without channels to add to, one for each point.
        let most = match (adds, interpolation) {
            (true, Interpolation::Nearest) => c,
            (true, _) => c + 1,
            (false, _) => points,
        };
        let parts = (cores / n).clamp(1, most);
        prop_assert_eq!(plan.block_dim(), if cores < n { cores } else { n * parts });
        if parts == 1 {
            return Ok(());
        }
        let times: Vec<_> = (0..plan.block_dim()).map(|share| {
            let Work::PointLanes { channels, points: own, .. } = plan.work(0, share) else { panic!("{plan:?}") };
            // Adding a point to a channel takes as long as its gradient of a channel.
            (if adds { channels.len() * points } else { 0 }) + own.len() * c
        }).collect();
        let (least, most) = (times.iter().min().unwrap(), times.iter().max().unwrap());
        prop_assert!(most - least <= 2 * c, "{times:?}");
    }

    /// Images that are left over, where each core has as many whole ones, are cut as they are where there are fewer than cores.
    #[test]
    fn images_left_over_are_cut(
        (n, c, cores) in (1..40usize, prop_oneof![1..6usize, 62..67usize, Just(130)], 1..20usize),
        (wi, adds) in (prop_oneof![2..100usize, 1000..20_000usize], any::<bool>()),
    ) {
        // Not so few points that no image is staged for them.
        let (ho, wo) = (250, 251);
        let size = GridSampler { n, c, hi: 200, wi, ho, wo, output_mask: [adds, true], ..Default::default() };
        let plan = planned(&size, &TargetSpec::host(cores));
        let left = n % cores;
        let pays = n > cores && left > 0 && n / cores < 4;
        prop_assert!(plan.block_dim() == cores || n <= cores);
        if c > 64 {
            let bands = n < cores && plan.block_dim() > n * c.div_ceil(64);
            prop_assert_eq!(plan.route() == Route::Bands, bands, "{:?}", plan);
            prop_assert_eq!(plan.route() == Route::Blocks, pays || n < cores && !bands, "{:?}", plan);
            prop_assert!(plan.block_dim() * 2 > cores || n >= cores || plan.block_dim() == 25 * n, "{plan:?}");
            prop_assert_eq!(plan.whole_images(), 0);
            return Ok(());
        }
        let elements = ho * wo * (c + 4) + 2 * 200 * wi * c;
        let cuts = pays && 2 * left <= cores && elements >= (cores / left) << 17;
        prop_assert_eq!(plan.whole_images(), if cuts { n - left } else { 0 });
        if !cuts {
            return Ok(());
        }
        let names: Vec<_> = plan.phases().map(|phase| (phase.name, phase.shares)).collect();
        prop_assert_eq!(names[0], ("images", cores));
        let (compute, _) = names.iter().enumerate().find(|(_, phase)| phase.0 == "compute").unwrap();
        let parts = cores / left;
        for share in 0..cores {
            let whole = n / cores * share..n / cores * (share + 1);
            match plan.work(0, share) {
                Work::Images { images } => prop_assert_eq!(images, whole),
                Work::PointLanes { images, channels, points } => {
                    prop_assert_eq!((images, channels, points), (whole, 0..c, 0..ho * wo));
                }
                work => panic!("{work:?}"),
            }
            let (image, of_image) = (n - left + share / parts, share % parts);
            match plan.work(compute, share) {
                // The images cannot be cut into as many parts.
                Work::Nothing => prop_assert!(share / parts >= left && share >= names[compute].1),
                Work::Band { image: cut, rows, .. } => {
                    prop_assert_eq!(cut, image);
                    prop_assert!(rows.len() == 200 / parts || rows.len() == 200 / parts + 1, "{:?}", rows);
                }
                Work::PointLanes { images, .. } => {
                    prop_assert_eq!(images, image..image + 1);
                    prop_assert!(!adds && of_image < parts);
                }
                Work::Channels { image: cut, channels, points } => {
                    prop_assert_eq!(cut, image);
                    prop_assert!(c > 24 && adds && !channels.is_empty() && points.end <= ho * wo);
                    prop_assert!(channels.start % 8 == 0 && (channels.end % 8 == 0 || channels.end == c));
                }
                work => panic!("{work:?}"),
            }
        }
    }

    /// Where copies take whole blocks, which neither points nor images begin with, all cores have channels of an image, and as many points
    /// as any other, wherever images end.
    #[test]
    fn points_are_cut_apart_from_channels((n, c) in (1..8usize, 1..9usize), size in 3..70usize, dtype in select(&[Dtype::F16, Dtype::F32])) {
        let target = in_blocks(32, 32);
        let (lanes, block) = (32 / dtype.size(), 16 / dtype.size());
        let size = GridSampler { dtype, n, c: c * lanes, hi: size, wi: size | 1, ho: size, wo: size, ..Default::default() };
        let plan = planned(&size, &target);
        if c * lanes > 64 || plan.block_dim() <= n {
            return Ok(());
        }
        let names: Vec<_> = plan.phases().map(|phase| phase.name).collect();
        let (compute, points) = (names.iter().position(|name| *name == "compute").unwrap(), names.len() - 1);
        if plan.route() == Route::Channels {
            prop_assert_eq!(names[points], "points");
            let (mut channels_seen, mut points_seen) = (0, 0);
            for share in 0..plan.block_dim() {
                let Work::Channels { channels, points: none, .. } = plan.work(compute, share) else { panic!("{plan:?}") };
                prop_assert!(none.is_empty() && !channels.is_empty() && channels.start % 8 == 0, "{channels:?}");
                let Work::Points { points } = plan.work(points, share) else { panic!("{plan:?}") };
                let begins = points.is_empty() || points.start % block == 0;
                prop_assert!(points.start == points_seen && begins, "{points:?}");
                let fair = (n * plan.points()).div_ceil(block).div_ceil(plan.block_dim()) * block;
                prop_assert!(points.len() <= fair, "{points:?}");
                (channels_seen, points_seen) = (channels_seen + channels.len(), points.end);
            }
            prop_assert_eq!((channels_seen, points_seen), (n * c * lanes, n * plan.points()));
        }
    }

    /// Cuts between images are those of both outputs at once, where copies take whole blocks; of any size, as the next power of two is
    /// taken.
    #[test]
    fn images_are_cut_where_blocks_of_both_outputs_begin(
        (n, c, hi, wi, ho, wo) in (1..40usize, 1..4usize, 1..4usize, 1..4usize, 1..4usize, 1..4usize),
        (dtype, block_bytes, cores) in (select(&[Dtype::F16, Dtype::F32]), select(&[32usize, 48, 64, 200, 512]), 1..40usize),
    ) {
        let size = GridSampler { dtype, n, c, hi, wi, ho, wo, ..Default::default() };
        let target = in_blocks(block_bytes, cores);
        let plan = planned(&size, &target);
        prop_assert_eq!(plan.target().block_bytes, block_bytes.next_power_of_two());
        let elements = plan.target().block_bytes / dtype.size();
        let cuts = (1..n).filter(|image| [c * hi * wi, ho * wo * 2].iter().all(|size| image * size % elements == 0));
        prop_assert!(plan.block_dim() <= 1 + cuts.count() || plan.block_dim() > n, "{plan:?}");
        for share in 1..plan.block_dim() {
            let range = plan.share_range(plan.phases().count() - 1, share);
            let starts = [(range.input_grad.get(0), n * c * hi * wi), (range.grid_grad, n * ho * wo * 2)];
            for (range, all) in starts.into_iter().filter(|(range, _)| !range.is_empty()) {
                prop_assert!(range.start % elements == 0 || range.start == all, "{range:?} in blocks of {elements}");
            }
        }
    }
}
