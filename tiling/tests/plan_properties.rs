//! What holds of every native plan: tiles partition the outputs and fit, shares and regions keep apart, limits are kept, and
//! more cores or memory never make less of them.

mod plan_common;
mod plan_machines;

use std::collections::HashMap;
use std::ops::Range;

use plan_common::{all, computed, planned, problems};
use plan_machines::{config, limits, targets};
use proptest::prelude::*;
use ubtile_testkit::problems::{GridSampler, Im2col, MaxUnpool, ReplicationPad};
use ubtile_tiling::{
    Capabilities, Dtype, Operator, PlanError, PlanOptions, Problem, TargetSpec, Tensor, TilingPlan,
    grid_sampler_2d_backward as grid_sampler, im2col_backward as im2col, max_unpool2d_backward as max_unpool, plan,
    replication_pad2d_backward as replication_pad,
};

/// Problems of any operator whose sizes are powers of two or around them, up to what memory can address.
fn huge_problems() -> impl Strategy<Value = Problem> {
    let size =
        |most: u32| (0..=most, 0..3usize).prop_map(|(bits, more)| ((1usize << bits) + more).saturating_sub(1).max(1));
    let sizes = (size(12), size(12), size(14), size(14), size(14), size(14));
    let window = (size(5), size(5), size(9), size(9));
    (sizes, window, 0..4usize).prop_map(|((n, c, h, w, y, x), (kh, kw, i, j), operator)| match operator {
        0 => {
            let spec = GridSampler { n, c, hi: h, wi: w, ho: y, wo: x, ..Default::default() };
            Problem::GridSampler2dBackward(spec.problem())
        }
        1 => {
            let spec = MaxUnpool { n, c, h, w, out_h: y, out_w: x, ..Default::default() };
            Problem::MaxUnpool2dBackward(spec.problem())
        }
        2 => {
            let padding = [x as i64, j as i64, i as i64, y as i64];
            let spec = ReplicationPad { dtype: Dtype::C128, n, c, h, w, padding, ..Default::default() };
            Problem::ReplicationPad2dBackward(spec.problem())
        }
        _ => {
            let spec = Im2col { n, c, h, w, kernel: [kh, kw], padding: [kh, kw], stride: [i, j], ..Default::default() };
            Problem::Im2colBackward(spec.problem())
        }
    })
}

fn times<const N: usize>(ranges: [[usize; 2]; N]) -> Vec<[usize; N]> {
    ranges.iter().enumerate().fold(vec![[0; N]], |indices, (axis, &[start, end])| {
        let with = |index: [usize; N], i| std::array::from_fn(|a| if a == axis { i } else { index[a] });
        indices.into_iter().flat_map(|index| (start..end).map(move |i| with(index, i))).collect()
    })
}

/// Counts what each tile does; everything must be done as often as `want` says, and nothing else.
fn counted<K: std::hash::Hash + Eq + std::fmt::Debug>(done: impl Iterator<Item = K>, want: impl Iterator<Item = K>) {
    let mut counts: HashMap<K, isize> = HashMap::new();
    done.for_each(|key| *counts.entry(key).or_default() += 1);
    want.for_each(|key| *counts.entry(key).or_default() -= 1);
    let wrong = counts.into_iter().find(|(_, count)| *count != 0);
    assert!(wrong.is_none(), "done too often (above 0) or not: {wrong:?}");
}

/// The tiles do each step of the computation once.
fn tiles_partition(any: &TilingPlan) {
    match any {
        TilingPlan::ReplicationPad2dBackward(plan) => {
            let p = plan.problem();
            let tiles = || all(any, |phase, share| plan.tiles(phase, share));
            let outputs = tiles().filter(|t| t.last).flat_map(|t| times([t.planes, t.rows, t.columns]));
            counted(outputs, times([[0, p.n * p.c], [0, p.h], [0, p.w]]).into_iter());
            // Every cell of `grad_output` folds into one cell.
            let sources = tiles().flat_map(|t| times([t.planes, t.source_rows, t.source_columns]));
            counted(sources, times([[0, p.n * p.c], [0, p.padded_h], [0, p.padded_w]]).into_iter());
        }
        TilingPlan::Im2colBackward(plan) => {
            let p = plan.problem();
            let tiles = || all(any, |phase, share| plan.tiles(phase, share));
            let planes = p.n * p.c;
            let outputs = tiles().filter(|t| t.last).flat_map(|t| times([[t.plane, t.plane + 1], t.rows, t.columns]));
            counted(outputs, times([[0, planes], [0, p.h], [0, p.w]]).into_iter());
            let [i, j] = plan.taps();
            let added = tiles().flat_map(|t| times([[t.plane, t.plane + 1], t.rows, t.columns, t.taps[0], t.taps[1]]));
            counted(added, times([[0, planes], [0, p.h], [0, p.w], i, j]).into_iter());
        }
        TilingPlan::MaxUnpool2dBackward(plan) => {
            let p = plan.problem();
            let picked = all(any, |phase, share| plan.tiles(phase, share))
                .flat_map(|t| times([[t.plane, t.plane + 1], t.elements, t.cells]));
            let cells = if p.early_success().is_some() { 0 } else { p.out_h * p.out_w };
            counted(picked, times([[0, p.n * p.c], [0, p.h * p.w], [0, cells]]).into_iter());
        }
        TilingPlan::GridSampler2dBackward(plan) => {
            let p = plan.problem();
            let tiles = || all(any, |phase, share| plan.tiles(phase, share));
            let images = if p.early_success().is_some() { 0 } else { p.n };
            if p.want_grid_grad {
                let made = tiles().filter(|t| t.makes_grid_grad);
                let made = made.flat_map(|t| times([[t.image, t.image + 1], t.channels, t.points]));
                counted(made, times([[0, images], [0, p.c], [0, p.ho * p.wo]]).into_iter());
            }
            if p.want_input_grad {
                let added = tiles().flat_map(|t| times([[t.image, t.image + 1], t.channels, t.rows, t.points]));
                counted(added, times([[0, images], [0, p.c], [0, p.hi], [0, p.ho * p.wo]]).into_iter());
            }
        }
    }
}

/// What the tiles of a plan hold, as far as it was chosen; of the unpooling, the fewer the tiles of a plane, the larger.
fn tile_size(plan: &TilingPlan) -> usize {
    let (h, w) = match plan.problem() {
        Problem::ReplicationPad2dBackward(p) => (p.h, p.w),
        Problem::MaxUnpool2dBackward(p) => {
            let of = |name| plan.choices().find(|choice| choice.name == name).map_or(1, |choice| choice.value);
            let [runs, slices] = [(p.h * p.w, "tile_elements"), (p.out_h * p.out_w, "tile_cells")]
                .map(|(all, name)| all.div_ceil(of(name)));
            return usize::MAX - runs * slices;
        }
        _ => (1, 1),
    };
    let sizes = plan.choices().map(|choice| match choice.name {
        // Planes and rows are whole ones.
        "tile_planes" => choice.value * h * w,
        "tile_rows" if plan.operator() == Operator::ReplicationPad2dBackward => choice.value * w,
        name if name.starts_with("tile_") => choice.value,
        _ => 1,
    });
    sizes.product()
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn tiles_partition_the_work_and_fit(problem in problems(), target in targets(), limit in limits()) {
        let plan = planned(&problem, &target, limit);
        tiles_partition(&plan);
        prop_assert!(plan.largest_tile_bytes() <= plan.target().local_bytes);
        let counted: usize = all(&plan, |phase, share| std::iter::once(plan.tile_count(phase, share))).sum();
        prop_assert!(counted > 0 || problem.early_success().is_some());
    }

    #[test]
    fn shares_own_disjoint_runs(problem in problems(), target in targets(), limit in limits()) {
        let plan = planned(&problem, &target, limit);
        prop_assert!((1..=target.cores).contains(&plan.block_dim()));
        prop_assert!(plan.phases().count() > 0);
        let mut owned: HashMap<_, Vec<bool>> = HashMap::new();
        for (number, phase) in plan.phases().enumerate() {
            prop_assert!((1..=target.cores).contains(&phase.shares));
            for (tensor, ranges) in ranges(&plan, number) {
                let slot = problem.slot(tensor).unwrap();
                prop_assert!(slot.output && ranges.iter().all(|range| range.end <= slot.span), "{tensor} {ranges:?}");
                prop_assert!(ranges.is_sorted_by(|a, b| a.end <= b.start), "{tensor} {ranges:?}");
                let owned = owned.entry(tensor).or_insert_with(|| vec![false; slot.span]);
                ranges.into_iter().for_each(|range| owned[range].fill(true));
            }
            prop_assert_eq!(plan.share_ranges(number, phase.shares).count(), 0);
        }
        // Every element of an output belongs to a share.
        for slot in problem.tensors().filter(|slot| slot.output && slot.span > 0 && problem.early_success().is_none()) {
            let owned = owned.remove(&slot.tensor).unwrap_or_default();
            let ranges: Vec<_> = slot.shape.as_slice().iter().map(|&size| [0, size]).collect();
            let Ok(ranges) = <[[usize; 2]; 4]>::try_from(ranges) else { panic!("four dimensions") };
            for index in times(ranges) {
                let at: usize = index.iter().zip(slot.strides.as_slice()).map(|(i, stride)| i * stride).sum();
                prop_assert!(owned.get(at) == Some(&true), "{} {index:?}", slot.tensor);
            }
        }
    }

    /// Where copies take whole blocks alone, no two shares of a phase write to the same one.
    #[test]
    fn shares_begin_where_blocks_do(problem in computed(), target in targets(), limit in limits()) {
        let capabilities = Capabilities { unaligned_copy: false, ..Capabilities::HOST };
        let plan = planned(&problem, &TargetSpec { capabilities, ..target }, limit);
        for number in 0..plan.phases().count() {
            for (tensor, ranges) in ranges(&plan, number) {
                let slot = problem.slot(tensor).unwrap();
                let block = |element: usize| element * slot.dtype.size() / target.block_bytes;
                let apart = ranges.is_sorted_by(|a, b| block(a.end - 1) < block(b.start));
                prop_assert!(apart, "{tensor} {ranges:?}");
            }
        }
    }

    /// An output without gaps has a share for each core, as far as there are places to cut it: between rows, or between the
    /// elements of the unpooling, where blocks begin, also of its indices, if copies take whole blocks alone.
    #[test]
    fn shares_are_as_many_as_there_are_cuts(problem in computed(), target in targets()) {
        let plan = planned(&problem, &target, None);
        let slot = problem.tensors().last().unwrap();
        let (shape, strides) = (slot.shape.as_slice(), slot.strides.as_slice());
        let apart = match plan.operator() {
            Operator::GridSampler2dBackward => return Ok(()),
            Operator::MaxUnpool2dBackward => 1,
            _ => shape[3],
        };
        if (0..4).all(|dim| strides[dim] == shape[dim + 1..].iter().product::<usize>()) {
            let block = if target.capabilities.unaligned_copy { 1 } else { target.block_bytes };
            let indices = problem.slot(Tensor::Indices).map_or(usize::MAX, |indices| indices.dtype.size());
            let size = slot.dtype.size().min(indices);
            let begins = |cut: &usize| (cut * apart * size).is_multiple_of(block);
            let cuts = (1..slot.span / apart).filter(begins).count();
            prop_assert_eq!(plan.block_dim(), target.cores.min(1 + cuts));
        }
    }

    /// A size of a tile that a caller asks for is what the tiles have, or is refused with numbers that are true.
    #[test]
    fn tiles_have_the_size_that_was_asked_for(
        problem in problems(), target in targets(), which in 0..3usize, value in 0..40usize,
    ) {
        let names = ["tile_points", "tile_elements", "tile_cells", "tile_planes", "tile_rows", "tile_columns"];
        let plan = planned(&problem, &target, None);
        let mut possible = names.into_iter().filter(|name| !matches!(plan.with_tile(name, 1), Err(PlanError::NoTile { .. })));
        let Some(name) = possible.nth(which) else { return Ok(()) };
        match plan.with_tile(name, value) {
            Ok(cut) => {
                tiles_partition(&cut);
                prop_assert!(cut.largest_tile_bytes() <= target.local_bytes.max(plan.target().local_bytes));
                let choice = cut.choices().find(|choice| choice.name == name);
                prop_assert!(problem.early_success().is_some() || choice.is_some_and(|c| c.value == value), "{choice:?}");
            }
            Err(PlanError::Tile { name: named, got, bound, used, limit, fits }) => {
                prop_assert!(named == name && got == value && (used > limit || value == 0), "{bound:?} {used} {limit}");
                prop_assert!(fits < value || value == 0);
                prop_assert!(fits == 0 || plan.with_tile(name, fits).is_ok(), "{fits}");
                prop_assert!(plan.with_tile(name, fits + 1).is_err(), "{fits}");
            }
            Err(error) => prop_assert!(false, "{error}"),
        }
    }

    #[test]
    fn regions_that_live_together_lie_apart(problem in problems(), target in targets(), limit in limits()) {
        let plan = planned(&problem, &target, limit);
        prop_assert!(limit.is_none_or(|limit| plan.workspace_bytes() <= limit));
        let (regions, phases) = (plan.workspace().regions(), plan.phases().count());
        for (i, a) in regions.iter().enumerate() {
            prop_assert!(a.bytes > 0 && a.first_phase <= a.last_phase && a.last_phase < phases, "{a:?}");
            prop_assert!(a.end() <= plan.workspace_bytes(), "{a:?}");
            for b in &regions[..i] {
                let together = a.first_phase <= b.last_phase && b.first_phase <= a.last_phase;
                let apart = a.end() <= b.offset || b.end() <= a.offset;
                prop_assert!(apart || !together, "{a:?} {b:?}");
                prop_assert!(a.name != b.name, "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn a_smaller_limit_costs_more_and_none_nothing(problem in problems(), target in targets(), limit in limits()) {
        let plan = planned(&problem, &target, limit);
        for price in plan.prices() {
            prop_assert!(price.paid >= price.unlimited, "{price:?}");
            prop_assert!(limit.is_some() || price.paid == price.unlimited, "{price:?}");
        }
        for choice in plan.choices().filter(|_| problem.early_success().is_none()) {
            prop_assert!(choice.used <= choice.limit, "{choice:?}");
        }
    }

    #[test]
    fn more_cores_are_never_fewer_shares(problem in computed(), target in targets(), more in 1..20usize, limit in limits()) {
        let few = planned(&problem, &target, limit);
        let many = planned(&problem, &TargetSpec { cores: target.cores + more, ..target }, limit);
        prop_assert!(few.block_dim() <= many.block_dim(), "{} {}", few.block_dim(), many.block_dim());
    }

    #[test]
    fn more_memory_is_never_a_smaller_tile(problem in computed(), target in targets(), more in 1..5000usize) {
        let small = planned(&problem, &target, None);
        let local_bytes = small.target().local_bytes;
        // The unpooling halves its memory, where one element more may take the room of several cells.
        let doubled = matches!(problem, Problem::MaxUnpool2dBackward(_));
        let local_bytes = if doubled { 2 * local_bytes } else { local_bytes } + more;
        let large = planned(&problem, &TargetSpec { local_bytes, ..target }, None);
        prop_assert!(tile_size(&small) <= tile_size(&large), "{} {}", tile_size(&small), tile_size(&large));
    }

    #[test]
    fn plans_are_made_again_the_same(problem in problems(), target in targets(), limit in limits()) {
        prop_assert_eq!(planned(&problem, &target, limit), planned(&problem, &target, limit));
    }

    #[test]
    fn huge_sizes_do_not_overflow(problem in huge_problems(), target in targets(), limit in limits(), cores in any::<usize>()) {
        for target in [target, TargetSpec { cores, ..target }, TargetSpec { local_bytes: usize::MAX, ..target }] {
            let options = PlanOptions { workspace_limit: limit, local_bytes: None };
            let plan = match plan(&problem, &target, &options) {
                Ok(plan) => plan,
                Err(PlanError::LocalBytes { got, want }) => { prop_assert!(got < want); continue }
                Err(error) => { prop_assert_eq!(error, PlanError::TooLarge); continue }
            };
            prop_assert!(limit.is_none_or(|limit| plan.workspace_bytes() <= limit));
            prop_assert!(plan.block_dim() <= target.cores.max(1));
            for (number, phase) in plan.phases().enumerate() {
                for share in [0, phase.shares / 2, phase.shares - 1, phase.shares, usize::MAX] {
                    for (tensor, range) in plan.share_ranges(number, share) {
                        prop_assert!(range.end <= problem.slot(tensor).unwrap().span);
                    }
                    prop_assert!(plan.tile_bytes(number, share).take(100).all(|bytes| bytes <= target.local_bytes));
                }
            }
            let _ = (plan.choices().count(), plan.prices().count());
        }
    }
}

/// The elements of the outputs that the shares of a phase write, ascending.
fn ranges(plan: &TilingPlan, phase: usize) -> HashMap<Tensor, Vec<Range<usize>>> {
    let mut all = HashMap::<_, Vec<_>>::new();
    let shares = plan.phases().nth(phase).map_or(0, |phase| phase.shares);
    for (tensor, range) in (0..shares).flat_map(|share| plan.share_ranges(phase, share)) {
        all.entry(tensor).or_default().push(range);
    }
    all.values_mut().for_each(|ranges| ranges.sort_by_key(|range| range.start));
    all
}

/// Sizes that fit memory by themselves may not with what a plan adds to them: an error, not a wrong plan.
#[test]
fn sizes_at_the_end_of_the_address_space() {
    let most = isize::MAX as usize / 4;
    let target = TargetSpec::host(4);
    let options = PlanOptions::default();
    let pad = ReplicationPad { n: 1, c: 1, h: 1, w: most, padding: [0; 4], ..Default::default() };
    let plan = replication_pad::plan(&pad.problem(), &target, &options).unwrap();
    assert!(plan.tiles(0, 0).take(10).all(|tile| tile.local_bytes() <= target.local_bytes));
    let fold = Im2col { n: 1, c: 1, h: 1, w: most, kernel: [1, 1], ..Default::default() };
    let plan = im2col::plan(&fold.problem(), &target, &options).unwrap();
    assert!(plan.tiles(0, 0).take(10).all(|tile| tile.local_bytes() <= target.local_bytes));
    let unpool = MaxUnpool { n: 1, c: 1, h: 1, w: most / 2, out_h: 1, out_w: 1, ..Default::default() };
    let plan = max_unpool::plan(&unpool.problem(), &target, &options).unwrap();
    assert!(plan.tiles(0, 0).take(10).all(|tile| tile.local_bytes() <= target.local_bytes));
    let sample = GridSampler { dtype: Dtype::F16, n: 1, c: 1, hi: 1, wi: most * 2, ..Default::default() };
    // Sums of F16 are twice as large as the image, which is more than there can be: without a limit too, the plan does with less.
    if let Ok(plan) = grid_sampler::plan(&sample.problem(), &target, &options) {
        assert!(plan.workspace_bytes() <= isize::MAX as usize);
    }
}

/// Shares are tried one number after the other where a limit of the workspace is hard to meet: that ends however many cores,
/// images and channels there are, as a damaged description may have it.
#[test]
fn any_number_of_cores_is_planned_for() {
    let options = PlanOptions { workspace_limit: Some(883), local_bytes: None };
    for (n, c) in [(3, 1 << 36), (1 << 36, 3), (1 << 36, 130)] {
        let spec = GridSampler { dtype: Dtype::F64, n, c, hi: 9, wi: 4, ho: 3, wo: 3, ..Default::default() };
        let problem = Problem::GridSampler2dBackward(spec.problem());
        let planned = |cores| plan(&problem, &TargetSpec::host(cores), &options);
        assert_eq!(planned(usize::MAX), planned(1 << 16));
        assert!(planned(1 << 40).is_ok_and(|plan| plan.block_dim() <= 1 << 16));
    }
}
