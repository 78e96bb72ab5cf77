//! Routes of the grid sampler's plans: which one a problem takes on how many cores, what each keeps in its workspace, and which
//! inputs are copied first.

#[path = "plan_grid_sampler_2d_backward/cut.rs"]
mod cut;
mod plan_machines;
#[path = "plan_grid_sampler_2d_backward/routes.rs"]
mod routes;

use plan_machines::{config, limits, targets};
use proptest::prelude::*;
use proptest::sample::select;
use ubtile_testkit::problems::{GridSampler, Layout};
use ubtile_tiling::grid_sampler_2d_backward::{Interpolation, Plan, Route, plan};
use ubtile_tiling::{ALIGN, Capabilities, Dtype, PlanOptions, TargetSpec, Tensor};

/// Bytes of a page, at whose distance a processor takes reads for others; and of images from which on that matters.
const PAGE: usize = 4096;
const PAGES: usize = 4 * PAGE;

fn planned(spec: &GridSampler, target: &TargetSpec) -> Plan {
    plan(&spec.problem(), target, &PlanOptions::default()).unwrap_or_else(|error| panic!("{spec:?}: {error}"))
}

/// Some images of ordinary size, of few channels or many.
fn images() -> impl Strategy<Value = GridSampler> {
    let modes = select(GridSampler::modes().collect::<Vec<_>>());
    let channels = prop_oneof![3 => 1..9usize, 1 => 9..33usize, 1 => 62..67usize, 1 => Just(130)];
    let widths = prop_oneof![4 => 1..40usize, 1 => 1000..9000usize];
    let sizes = (1..8usize, channels, 1..40usize, widths, 1..20usize, 1..20usize);
    let masks = select(&[[true, true], [true, false], [false, true]]);
    let layouts = (select(&Layout::INPUT), select(&Layout::OUTPUT));
    let dtypes = select(&[Dtype::F16, Dtype::Bf16, Dtype::F32, Dtype::F64]);
    (dtypes, modes, sizes, masks, layouts).prop_map(
        |(dtype, mode, (n, c, hi, wi, ho, wo), output_mask, (inputs, outputs))| GridSampler {
            dtype,
            n,
            c,
            hi,
            wi,
            ho,
            wo,
            output_mask,
            inputs,
            outputs,
            ..mode
        },
    )
}

fn any_plan() -> impl Strategy<Value = Plan> {
    (images(), targets(), limits()).prop_filter_map("too little memory", |(spec, target, workspace_limit)| {
        let target = TargetSpec { local_bytes: target.local_bytes + 16_384, ..target };
        plan(&spec.problem(), &target, &PlanOptions { workspace_limit, local_bytes: None }).ok()
    })
}

fn aligned(bytes: usize) -> usize {
    bytes.next_multiple_of(ALIGN)
}

/// What a share keeps: the staged image, its gradient's sums, a chunk of 64 points, the sums over blocks; 0 for what it does not.
fn kept(plan: &Plan, route: Route) -> [usize; 4] {
    let (p, size) = (plan.problem(), plan.sums_dtype().size());
    let reads = p.want_grid_grad && p.interpolation != Interpolation::Nearest;
    let adds = p.want_input_grad;
    let staged = |positions: usize| positions * plan.pitch() * size;
    let gaps = |[_, _, row, column]: [usize; 4]| column != 1 || row != p.wi;
    let when = |needed: bool, bytes: usize| if needed { bytes } else { 0 };
    let halves = p.dtype.size() == 2;
    match route {
        Route::Zero => [0; 4],
        // A few sums fit the stack.
        Route::Direct(window) => [0, when(adds && halves && window.sums() > 64, window.sums() * size), 0, 0],
        Route::PointLanes => {
            let planes = p.c * plan.pixels() * size;
            let copied = plan.stagings().any(|staging| staging.slot.tensor == Tensor::Input);
            let input = reads && (halves || !copied && gaps(p.input_strides));
            // Pairs of planes in a MiB, eight planes at least; all but for the nearest interpolation.
            let pairs = (1 << 20) / (plan.pixels() * size).max(1) / 2;
            let most = if p.interpolation == Interpolation::Nearest { (2 * pairs).max(8) } else { p.c };
            let sums = p.c.min(most) * plan.pixels() * size;
            [when(input, planes), when(adds && (halves || gaps(p.input_grad_strides)), sums), 0, 0]
        }
        Route::Images | Route::Blocks => {
            let image = staged(plan.pixels());
            let totals = route == Route::Images && p.c > 64 && reads;
            [when(reads, image), when(adds, image), staged(64), when(totals, plan.points() * 2 * size)]
        }
        Route::Channels => {
            // The parts of an image differ by a vector at most: of eight channels, or as many as are whole blocks.
            let parts = plan.phases().last().unwrap().shares / (p.n - plan.whole_images());
            let target = plan.target();
            let block = if target.capabilities.unaligned_copy { 1 } else { target.block_bytes };
            let whole = |lanes: &usize| (lanes * plan.pixels() * p.dtype.size()).is_multiple_of(block);
            let lanes = (3..).map(|i| 1 << i).find(whole).unwrap();
            let channels = p.c.div_ceil(lanes).div_ceil(parts) * lanes;
            [0, plan.pixels() * channels * size, staged(64), 0]
        }
        Route::Bands => [0, 0, staged(64), when(p.c > 64 && reads, plan.points() * 2 * size)],
        Route::PointBands => [0; 4],
    }
}

/// Of an image of 4096 pixels: up to how many points it is not staged.
#[test]
fn few_points_are_found_where_they_lie() {
    let image = |dtype, output_mask, mode: GridSampler| GridSampler {
        dtype,
        n: 1,
        c: 16,
        hi: 64,
        wi: 64,
        ho: 1,
        output_mask,
        ..mode
    };
    let modes: Vec<_> = GridSampler::modes().collect();
    let mode = |wanted| *modes.iter().find(|mode| mode.interpolation == wanted).unwrap();
    let [bilinear, bicubic] = [Interpolation::Bilinear, Interpolation::Bicubic].map(mode);
    let both = [true, true];
    for (spec, cores, few) in [
        (image(Dtype::F32, both, bilinear), 1, 64),
        (image(Dtype::F32, both, bilinear), 2, 32),
        (image(Dtype::F64, [false, true], bilinear), 1, 64),
        (image(Dtype::F32, both, bicubic), 1, 16),
        (image(Dtype::F16, [false, true], bilinear), 1, 16),
    ] {
        let workspace = |wo| planned(&GridSampler { wo, ..spec }, &TargetSpec::host(cores)).workspace_bytes();
        assert!(workspace(few) == 0 && workspace(few + 1) > 0, "{spec:?}: {} {}", workspace(few), workspace(few + 1));
    }
    // As many images as cores: none waits for another core. Sums of halves are made apart anyway.
    let images = GridSampler { n: 2, wo: 64, ..image(Dtype::F32, both, bilinear) };
    assert_eq!(planned(&images, &TargetSpec::host(2)).workspace_bytes(), 0);
    let halves = GridSampler { wo: 1, ..image(Dtype::F16, both, bilinear) };
    assert!(planned(&halves, &TargetSpec::host(1)).workspace_bytes() > 0);
    // Nor are points found at once where nothing caches what they lie in.
    let host = TargetSpec::host(1);
    let uncached = TargetSpec { capabilities: Capabilities { caches: false, ..host.capabilities }, ..host };
    let point = GridSampler { wo: 1, ..image(Dtype::F32, both, bilinear) };
    assert!(planned(&point, &host).workspace_bytes() == 0 && planned(&point, &uncached).workspace_bytes() > 0);
}

proptest! {
    #![proptest_config(config())]

    /// The workspace holds what the route needs and nothing else.
    #[test]
    fn each_route_keeps_what_it_needs(plan in any_plan()) {
        let p = plan.problem();
        let few = p.c.min(64);
        // Four channels of F64 are a vector of 32 bytes.
        let fours = p.dtype == Dtype::F64 && p.interpolation != Interpolation::Bicubic && (9..=28).contains(&few);
        prop_assert_eq!(plan.pitch(), few.max(1).next_multiple_of(if few <= 4 || fours { 4 } else { 8 }));
        // Whole images are computed otherwise than those that are cut.
        let whole_route = match plan.route() {
            Route::Channels | Route::Bands if plan.whole_images() > 0 => Route::Images,
            Route::PointBands if plan.whole_images() > 0 => Route::PointLanes,
            route => route,
        };
        for (scratch, route) in [(plan.scratch(), whole_route), (plan.part_scratch(), plan.route())] {
            let kept = kept(&plan, route);
            let parts = [&scratch.input, &scratch.input_grad, &scratch.tile, &scratch.totals];
            let mut end = 0;
            for (i, (part, bytes)) in parts.into_iter().zip(kept).enumerate() {
                prop_assert_eq!(part.start, end);
                if i == 0 && bytes >= PAGES && kept[1] > 0 && route != Route::PointLanes {
                    prop_assert!(part.len() >= bytes && part.len() < bytes + 2 * PAGE, "{bytes} bytes in {part:?}");
                    prop_assert_eq!(part.len() % PAGE, PAGE / 2);
                } else {
                    prop_assert_eq!(part.len(), aligned(bytes));
                }
                end = part.end;
            }
            prop_assert_eq!(scratch.bytes(), end);
        }

        let reads = plan.reads_input();
        prop_assert_eq!(reads, p.want_grid_grad && p.interpolation != Interpolation::Nearest);
        let size = plan.sums_dtype().size();
        let cut = p.n - plan.whole_images();
        let image = cut * p.c.div_ceil(64).max(1) * plan.pixels() * plan.pitch() * size;
        let regions: Vec<_> = match plan.route() {
            Route::Blocks if reads => vec![("partial_grid_grad", p.n * p.c.div_ceil(64) * plan.points() * 2 * size)],
            Route::Bands => {
                let both = [("input_staged", reads), ("input_grad_staged", p.want_input_grad)];
                both.into_iter().filter(|&(_, needed)| needed).map(|(name, _)| (name, image)).collect()
            }
            Route::Channels if reads => vec![("input_staged", image)],
            Route::PointBands => {
                // Rows do not lie side by side where planes have gaps.
                let gaps = |[_, _, row, column]: [usize; 4]| column != 1 || row != p.wi;
                let copied = plan.stagings().any(|staging| staging.slot.tensor == Tensor::Input);
                let input = reads && (p.dtype.size() == 2 || !copied && gaps(p.input_strides));
                // Where copies are of whole blocks, a share's rows must be, too.
                let (target, packed) = (plan.target(), [p.c * plan.pixels(), plan.pixels(), p.wi, 1]);
                let whole_blocks =
                    p.input_grad_strides == packed && (p.wi * p.dtype.size()).is_multiple_of(target.block_bytes);
                let cuts = target.capabilities.unaligned_copy || whole_blocks;
                let sums = p.dtype.size() == 2 || gaps(p.input_grad_strides) || !cuts;
                prop_assert_eq!(sums, plan.stages_bands());
                let both = [("input_staged", input), ("input_grad_staged", sums)];
                let planes = cut * p.c * plan.pixels() * size;
                both.into_iter().filter(|&(_, needed)| needed).map(|(name, _)| (name, planes)).collect()
            }
            _ => Vec::new(),
        };
        let copies = plan.stagings().map(|staging| (staging.region.name, staging.region.bytes));
        let part = (plan.whole_images() > 0).then_some(("part_scratch", plan.part_scratch().bytes()));
        let scratch = [("scratch", plan.scratch().bytes())].into_iter().chain(part).filter(|(_, bytes)| *bytes > 0);
        let scratch = scratch.map(|(name, bytes)| (name, bytes * plan.block_dim()));
        let wanted: Vec<_> = copies.chain(scratch).chain(regions).collect();
        let got = plan.workspace().regions();
        prop_assert_eq!(got.iter().map(|r| r.name).collect::<Vec<_>>(), wanted.iter().map(|r| r.0).collect::<Vec<_>>());
        let staged = ["input_staged", "input_grad_staged"].map(|name| plan.workspace().region(name));
        for (region, &(_, bytes)) in got.iter().zip(&wanted) {
            match staged {
                [Some(input), Some(input_grad)]
                    if *region == input && image >= PAGES && plan.route() == Route::Bands =>
                {
                    prop_assert!(region.bytes >= bytes && region.bytes < bytes + 2 * PAGE, "{region:?}");
                    let apart = input_grad.offset.abs_diff(input.offset) % PAGE;
                    prop_assert!(apart == PAGE / 2, "{input:?} {input_grad:?}");
                }
                _ => prop_assert_eq!(region.bytes, aligned(bytes), "{:?}", region),
            }
        }
    }

    /// Where sums of 16-bit gradients have a window of an image, it is the largest of whole planes that the limit leaves, else of
    /// whole rows of a plane, else of a row; where there is no limit, or sums are made in place, all of it.
    #[test]
    fn windows_are_the_largest(
        (spec, wi, cores) in (images(), prop_oneof![1..40usize, 65..300usize], 1..4usize),
        limit in prop_oneof![1 => Just(None), 2 => (0..1000usize).prop_map(Some), 2 => (0..9000usize).prop_map(Some)],
    ) {
        let target = TargetSpec { vector_bytes: 4, ..TargetSpec::host(cores) };
        let options = PlanOptions { workspace_limit: limit, local_bytes: None };
        let spec = GridSampler { wi, inputs: Layout::Contiguous, ..spec };
        let plan = plan(&spec.problem(), &target, &options).unwrap();
        let Route::Direct(window) = plan.route() else { panic!("{plan:?}") };
        let p = plan.problem();
        let fits = |sums: usize| {
            let scratch = if sums <= 64 { 0 } else { aligned(4 * sums) * plan.block_dim() + ALIGN - 1 };
            limit.is_none_or(|limit| scratch <= limit)
        };
        let most = |all: usize, of: usize| (1..=all).take_while(|n| fits(n * of)).last();
        let wanted = if !p.want_input_grad || p.dtype.size() > 2 {
            [p.c, p.hi, p.wi]
        } else if let Some(channels) = most(p.c, p.hi * p.wi) {
            [channels, p.hi, p.wi]
        } else if let Some(rows) = most(p.hi, p.wi) {
            [1, rows, p.wi]
        } else {
            [1, 1, most(p.wi, 1).unwrap_or(1)]
        };
        prop_assert_eq!([window.channels, window.rows, window.columns], wanted);
        let passes: usize = [p.c, p.hi, p.wi].iter().zip(wanted).map(|(all, part)| all.div_ceil(part)).product();
        let price = plan.prices().find(|price| price.name == "grid_passes").unwrap();
        prop_assert_eq!((price.paid, price.unlimited), (if p.want_input_grad { passes } else { 1 }, 1));
    }

    /// A tile has all points, else whole chunks of 64 if it holds one, else what fits.
    #[test]
    fn tiles_are_whole_chunks(spec in images(), local_bytes in prop_oneof![64..2000usize, 2000..40_000usize]) {
        let target = TargetSpec { local_bytes, ..TargetSpec::host(1) };
        let Ok(plan) = plan(&spec.problem(), &target, &PlanOptions::default()) else { return Ok(()) };
        // As many as can be asked for.
        let fit = (1..=plan.points()).take_while(|&points| plan.with_tile("tile_points", points).is_ok()).last().unwrap_or(0);
        let whole = if fit == plan.points() || fit < 64 { fit } else { fit / 64 * 64 };
        let choice = plan.choices().find(|choice| choice.name == "tile_points").unwrap();
        prop_assert_eq!(choice.value, whole, "{}", fit);
    }
}

/// An input is copied where the route would read it column by column, from far apart if it need not be widened.
#[test]
fn copies_are_made_where_columns_are_far_apart() {
    use Layout::{ChannelsLast, Contiguous, Spread, Transposed};
    // Half a megabyte or more, and less than 16 KiB of each plane.
    let (large, small) = ([256, 256], [32, 64]);
    let copied = |dtype, c, [h, w]: [usize; 2], inputs, vector_bytes| {
        let spec = GridSampler { dtype, n: 1, c, hi: h, wi: w, ho: h, wo: w, inputs, ..Default::default() };
        let plan = planned(&spec, &TargetSpec { vector_bytes, ..TargetSpec::host(1) });
        plan.stagings().count()
    };
    for (dtype, c, size, inputs, vector_bytes, count) in [
        (Dtype::F32, 8, large, Transposed, 32, 2),
        (Dtype::F32, 8, small, Transposed, 32, 0),
        (Dtype::F16, 8, small, Transposed, 32, 2),
        (Dtype::F32, 8, large, Contiguous, 32, 0),
        // A pixel's channels side by side are what the route is after.
        (Dtype::F16, 8, small, ChannelsLast, 32, 0),
        // Points side by side read any columns that do not lie so one by one.
        (Dtype::F32, 3, large, Spread, 32, 2),
        (Dtype::F32, 3, small, Spread, 32, 2),
        (Dtype::F16, 3, small, Spread, 32, 2),
        // Staged, those that need not be widened share a line; one by one their widening costs more than a copy.
        (Dtype::F32, 8, large, Spread, 32, 0),
        (Dtype::F16, 8, small, Spread, 32, 2),
        (Dtype::F16, 3, small, Contiguous, 32, 0),
        // In place, columns that share a line are as good as any.
        (Dtype::F16, 8, small, Spread, 4, 0),
        (Dtype::F16, 8, small, Transposed, 4, 2),
        (Dtype::F16, 8, small, ChannelsLast, 4, 2),
        (Dtype::F32, 8, small, Transposed, 4, 0),
        (Dtype::F32, 8, large, Transposed, 4, 2),
    ] {
        assert_eq!(
            copied(dtype, c, size, inputs, vector_bytes),
            count,
            "{dtype} {c} {size:?} {inputs:?} {vector_bytes}"
        );
    }
    // A plane of 256 KiB is large where it is sampled in place, one of 16 KiB where it is staged; one row less is not.
    for (size, vector_bytes) in [(256, 4), (64, 32)] {
        assert_eq!(copied(Dtype::F32, 8, [size, size], Transposed, vector_bytes), 2);
        assert_eq!(copied(Dtype::F32, 8, [size - 1, size], Transposed, vector_bytes), 0);
    }
    // The nearest pixel's points have no gradient, so `input` is not read.
    let nearest = GridSampler { interpolation: Interpolation::Nearest, inputs: Transposed, ..Default::default() };
    let nearest = GridSampler { dtype: Dtype::F16, c: 8, hi: 64, wi: 64, ho: 64, wo: 64, ..nearest };
    let plan = planned(&nearest, &TargetSpec::host(1));
    assert_eq!(plan.stagings().map(|staging| staging.slot.tensor).collect::<Vec<_>>(), [Tensor::GradOutput]);
}
