//! What tiles take of the local memory, counted from their boxes, and what a plan says of them: each choice with the bound that
//! holds it, the value below and the value above.

mod plan_boxes;
mod plan_common;
mod plan_machines;

use plan_boxes::{boxed, largest, length, pad_bytes, summed};
use plan_common::{all, computed, planned, problems};
use plan_machines::{config, limits, targets};
use proptest::prelude::*;
use ubtile_testkit::problems::{Im2col, MaxUnpool};
use ubtile_tiling::{
    Bound, Choice, Dtype, Larger, Operator, PlanError, PlanOptions, Problem, TargetSpec, TilingPlan,
    im2col_backward as im2col, max_unpool2d_backward as max_unpool, plan,
    replication_pad2d_backward as replication_pad,
};

/// Cores beyond which none of these problems has more shares.
const MOST_CORES: usize = 400;

/// Bytes of a tile of the folding with so many taps, from its boxes.
fn fold_bytes(plan: &im2col::Plan, taps: usize, [rows, columns]: [usize; 2]) -> usize {
    let (target, p) = (plan.target(), plan.problem());
    let [a, b] = [rows.div_ceil(p.stride[0].get()), columns.div_ceil(p.stride[1].get())];
    let [i, j] = plan.taps().map(length);
    let sums = if p.dtype == Dtype::F64 { Dtype::F64 } else { Dtype::F32 };
    // A cut kernel leaves its sums behind: in `out`, unless that is of another type.
    let apart = if taps < i * j && p.out_dtype != sums { rows * summed(target, columns, sums) } else { 0 };
    boxed(target, taps * a, b, p.dtype) + boxed(target, rows, columns, p.out_dtype) + apart
}

/// Bytes of a tile of the unpooling, from its boxes.
fn pick_bytes(plan: &max_unpool::Plan, cells: usize, elements: usize) -> usize {
    let (target, p) = (plan.target(), plan.problem());
    let run = boxed(target, 1, elements, p.index_dtype) + boxed(target, 1, elements, p.out_dtype);
    run + boxed(target, 1, cells, p.dtype)
}

/// Whether tiles are found by their number, from wherever, as one after the other, and what comes behind them.
fn found_by_number<T: PartialEq + std::fmt::Debug>(
    tiles: impl Iterator<Item = T> + Clone,
) -> Result<(), TestCaseError> {
    let all: Vec<T> = tiles.clone().collect();
    for start in [0, 1, 2, 3, all.len() / 3, all.len() / 2 + 1, all.len().saturating_sub(2), all.len()] {
        let mut from = tiles.clone();
        for _ in 0..start {
            from.next();
        }
        let left = all.len().saturating_sub(start);
        for number in [0, 1, 2, 5, left / 4, left / 2, left.saturating_sub(1), left, left + 7, usize::MAX] {
            let mut from = from.clone();
            let at = start.saturating_add(number);
            let (found, next) = (from.nth(number), from.next());
            prop_assert_eq!(found.as_ref(), all.get(at), "{} behind {} of {}", number, start, all.len());
            prop_assert_eq!(next.as_ref(), all.get(at.saturating_add(1)), "behind {} and {}", number, start);
        }
    }
    Ok(())
}

/// What a share's tiles say that they take, and what that is counted from their boxes.
fn said_and_counted(any: &TilingPlan, phase: usize, share: usize) -> Vec<(usize, usize)> {
    match any {
        TilingPlan::ReplicationPad2dBackward(plan) => {
            let bytes = |tile: replication_pad::Tile| {
                let source = [length(tile.source_rows), length(tile.source_columns)];
                let out = [length(tile.rows), length(tile.columns)];
                pad_bytes(plan, length(tile.planes), source, out, tile.is_part())
            };
            plan.tiles(phase, share).map(|tile| (tile.local_bytes(), bytes(tile))).collect()
        }
        TilingPlan::Im2colBackward(plan) => {
            let bytes = |tile: im2col::Tile| {
                let [rows, columns] = [length(tile.rows), length(tile.columns)];
                let [sh, sw] = plan.problem().stride.map(usize::from);
                let taps = tile.taps.map(length);
                if taps != [0, 0] {
                    assert_eq!(tile.windows, [rows.div_ceil(sh), columns.div_ceil(sw)], "{tile:?}");
                    assert_eq!(tile.input_cells(), taps[0] * taps[1] * tile.windows[0] * tile.windows[1]);
                }
                fold_bytes(plan, taps[0] * taps[1], [rows, columns])
            };
            plan.tiles(phase, share).map(|tile| (tile.local_bytes(), bytes(tile))).collect()
        }
        TilingPlan::MaxUnpool2dBackward(plan) => {
            let bytes = |tile: max_unpool::Tile| pick_bytes(plan, length(tile.cells), length(tile.elements));
            plan.tiles(phase, share).map(|tile| (tile.local_bytes(), bytes(tile))).collect()
        }
        TilingPlan::GridSampler2dBackward(plan) => {
            let (target, p) = (plan.target(), plan.problem());
            // The last block of channels may be smaller; its tiles are of the same size.
            let bytes = |points| {
                let totals = if p.c > 64 { summed(target, 2 * points, plan.sums_dtype()) } else { 0 };
                boxed(target, 2, 2 * points, p.dtype) + boxed(target, p.c.min(64), points, p.dtype) + totals
            };
            plan.tiles(phase, share).map(|tile| (tile.local_bytes(), bytes(length(tile.points)))).collect()
        }
    }
}

/// Of what there is, the most that a tile can have of it.
fn most(problem: &Problem, name: &str) -> usize {
    match (problem, name) {
        (Problem::ReplicationPad2dBackward(p), "tile_planes") => p.n * p.c,
        (Problem::ReplicationPad2dBackward(p), "tile_rows") => p.h,
        (Problem::ReplicationPad2dBackward(p), _) => p.w,
        (Problem::Im2colBackward(p), "tile_rows") => p.h,
        (Problem::Im2colBackward(p), "tile_columns") => p.w,
        (Problem::Im2colBackward(p), _) => p.kernel[0].get() * p.kernel[1].get(),
        (Problem::MaxUnpool2dBackward(p), "tile_elements") => p.h * p.w,
        (Problem::MaxUnpool2dBackward(p), _) => p.out_h * p.out_w,
        (Problem::GridSampler2dBackward(p), "tile_points") => p.ho * p.wo,
        (Problem::GridSampler2dBackward(p), _) => p.c,
    }
}

fn sizes(plan: &TilingPlan) -> Vec<(&'static str, usize)> {
    plan.choices().filter(|choice| choice.name.starts_with("tile_")).map(|choice| (choice.name, choice.value)).collect()
}

fn choice_is_true(plan: &TilingPlan, choice: &Choice) -> Result<(), TestCaseError> {
    let Choice { name, value, bound, limit, used, alternative, larger } = *choice;
    let all = most(&plan.problem(), name);
    if value == all {
        prop_assert_eq!((bound, limit, used), (Bound::Work, all, all), "{:?}", choice);
    } else if name == "tile_channels" {
        prop_assert_eq!((bound, value, limit, used), (Bound::Numerics, 64, 64, 64));
    } else {
        prop_assert_eq!((bound, limit), (Bound::LocalBytes, plan.target().local_bytes), "{:?}", choice);
    }
    prop_assert!(value > 0 && used <= limit && larger.value > value, "{choice:?}");
    prop_assert_eq!(choice.slack(), limit - used);
    if let ("tile_taps", TilingPlan::Im2colBackward(plan)) = (name, plan) {
        // Whole rows of the kernel, or a part of one.
        let row = plan.problem().kernel[1].get();
        let above = if value < row { value + 1 } else { value + row };
        prop_assert_eq!(larger.value, above);
        if bound == Bound::LocalBytes {
            let tile = plan.tiles(plan.phases().count() - 1, 0).next().unwrap();
            let out = [length(tile.rows), length(tile.columns)];
            prop_assert_eq!(larger.needs, fold_bytes(plan, above, out), "{:?}", choice);
        }
        // A part of a kernel may need sums that all of it does not.
        let [(_, rows), (_, columns), _] = plan.tile_sizes();
        let fits = |&taps: &usize| fold_bytes(plan, taps, [rows, columns]) <= plan.target().local_bytes;
        let below = (1..value).filter(|taps| *taps <= row || taps.is_multiple_of(row)).filter(fits).max();
        prop_assert_eq!(alternative, below, "{:?}", choice);
        return Ok(());
    }
    prop_assert_eq!(larger.value, value + 1);
    if name == "tile_channels" {
        prop_assert!(alternative.is_none() && larger.over() > 0, "{choice:?}");
        return Ok(());
    }
    // The smaller value is legal, and the larger one just where it is said to be.
    prop_assert_eq!(alternative, Some(value - 1).filter(|&less| less > 0));
    prop_assert!(alternative.is_none_or(|less| plan.with_tile(name, less).is_ok()), "{choice:?}");
    let with = |size: (&'static str, usize)| if size.0 == name { (name, value + 1) } else { size };
    let wanted: Vec<_> = sizes(plan).into_iter().map(with).collect();
    let legal = plan.with_tile(name, value + 1).is_ok_and(|cut| sizes(&cut) == wanted);
    prop_assert_eq!(legal, larger.over() == 0, "{:?}", choice);
    Ok(())
}

proptest! {
    #![proptest_config(config())]

    /// Tiles take what their boxes do, and a plan of any operator says of its tiles what the operator's own does.
    #[test]
    fn tiles_take_what_their_boxes_do(problem in problems(), target in targets(), limit in limits()) {
        let plan = planned(&problem, &target, limit);
        for (number, phase) in plan.phases().enumerate() {
            for share in 0..phase.shares {
                let tiles = said_and_counted(&plan, number, share);
                for &(said, counted) in &tiles {
                    prop_assert_eq!(said, counted);
                }
                prop_assert_eq!(plan.tile_count(number, share), tiles.len());
                prop_assert!(plan.tile_bytes(number, share).eq(tiles.iter().map(|&(said, _)| said)));
            }
        }
        let counted = all(&plan, |phase, share| said_and_counted(&plan, phase, share).into_iter());
        prop_assert_eq!(plan.largest_tile_bytes(), counted.map(|(_, counted)| counted).max().unwrap_or(0));
        // All cores are busy in the last phase, and none has more shares.
        prop_assert_eq!(plan.phases().last().map(|phase| phase.shares), Some(plan.block_dim()));
        prop_assert!(plan.phases().all(|phase| phase.shares <= plan.block_dim()));
    }

    /// Every choice names the bound that holds it; what it says of smaller and larger values is so.
    #[test]
    fn tiles_have_numbers(problem in problems(), target in targets(), limit in limits()) {
        let any = planned(&problem, &target, limit);
        for (phase, shares) in any.phases().map(|phase| phase.shares).enumerate() {
            for share in 0..shares {
                match &any {
                    TilingPlan::GridSampler2dBackward(plan) => found_by_number(plan.tiles(phase, share))?,
                    TilingPlan::MaxUnpool2dBackward(plan) => found_by_number(plan.tiles(phase, share))?,
                    TilingPlan::ReplicationPad2dBackward(plan) => found_by_number(plan.tiles(phase, share))?,
                    TilingPlan::Im2colBackward(plan) => found_by_number(plan.tiles(phase, share))?,
                }
            }
        }
    }

    #[test]
    fn choices_are_true(problem in computed(), target in targets(), limit in limits()) {
        let plan = planned(&problem, &target, limit);
        let mut names = Vec::new();
        for choice in plan.choices() {
            names.push(choice.name);
            if choice.name != "block_dim" {
                choice_is_true(&plan, &choice)?;
                continue;
            }
            let Choice { value, bound, limit: most, alternative, larger, .. } = choice;
            prop_assert_eq!(value, plan.block_dim());
            // The same by planning for each number of cores.
            let of = |cores| planned(&problem, &TargetSpec { cores, ..target }, limit).block_dim();
            prop_assert_eq!(alternative, (1..target.cores).map(of).filter(|&less| less < value).max());
            let more = (target.cores + 1..MOST_CORES).find(|&cores| of(cores) > value);
            let unlimited = planned(&problem, &target, None);
            match (bound, more) {
                (Bound::Cores, Some(more)) => {
                    prop_assert_eq!((most, choice.used), (target.cores, value));
                    prop_assert_eq!(larger, Larger { value: of(more), bound, limit: most, needs: more });
                }
                (Bound::Cores | Bound::Work, None) => {
                    prop_assert_eq!((most, choice.used, bound == Bound::Cores), (value, value, value == target.cores));
                    prop_assert_eq!(unlimited.block_dim(), value);
                    // Whether more cores would do more with more workspace.
                    let with = |cores, limit| planned(&problem, &TargetSpec { cores, ..target }, limit).block_dim();
                    let more = (target.cores + 1..MOST_CORES).find(|&cores| with(cores, None) > value);
                    if let (Bound::Cores, Some(limit), Some(more)) = (bound, limit, more) {
                        prop_assert_eq!((larger.bound, larger.limit), (Bound::WorkspaceLimit, limit), "{:?}", choice);
                        prop_assert_eq!(larger.value, with(more, None), "{:?}", choice);
                        prop_assert_eq!(with(more, Some(larger.needs)), larger.value, "{:?}", choice);
                        continue;
                    }
                    prop_assert_eq!(larger, Larger { value: value + 1, bound: Bound::Work, limit: value, needs: value + 1 });
                }
                (Bound::Work, Some(more)) => prop_assert!(false, "{more} cores give more: {choice:?}"),
                (bound, _) => {
                    prop_assert_eq!((bound, Some(most)), (Bound::WorkspaceLimit, limit));
                    prop_assert_eq!(choice.used, plan.workspace_bytes());
                    prop_assert_eq!((larger.value, larger.limit), (unlimited.block_dim(), most));
                    let regions = unlimited.workspace().regions();
                    let copies = regions.iter().any(|region| ["grad_output", "input"].contains(&region.name));
                    prop_assert!(copies || larger.needs == unlimited.workspace_bytes(), "{choice:?}");
                    // So many bytes give it and one fewer does not, whatever copies there are: these are made of what is left.
                    let with = |bytes| planned(&problem, &target, Some(bytes)).block_dim();
                    prop_assert_eq!(with(larger.needs), larger.value, "{:?}", choice);
                    prop_assert!(with(larger.needs - 1) < larger.value, "{choice:?}");
                }
            }
            prop_assert!(larger.over() > 0, "{choice:?}");
        }
        names.dedup();
        prop_assert_eq!(names.len(), plan.choices().count());
    }

    /// What the bytes of a choice are, the largest tile takes: but for the padding's sizes inside an image, where nothing folds.
    #[test]
    fn the_largest_tile_takes_what_is_said(problem in computed(), target in targets()) {
        let plan = planned(&problem, &TargetSpec { cores: 1, ..target }, None);
        for choice in plan.choices().filter(|choice| choice.bound == Bound::LocalBytes) {
            let used = match (&plan, choice.name) {
                (TilingPlan::ReplicationPad2dBackward(plan), "tile_rows") => {
                    let rows = [choice.value, plan.problem().w];
                    pad_bytes(plan, 1, rows, rows, false)
                }
                (TilingPlan::ReplicationPad2dBackward(plan), "tile_columns") => {
                    pad_bytes(plan, 1, [1, choice.value], [1, choice.value], false)
                }
                _ => plan.largest_tile_bytes(),
            };
            // Not even one column without a part of its sums may fit.
            prop_assert!(choice.used == used || used > choice.limit, "{choice:?} {used}");
        }
    }

    /// The other size of a tile shrinks as far as it must, to 1: what is asked for is refused only where even then it does not fit.
    #[test]
    fn the_other_size_shrinks_as_it_must(problem in computed(), target in targets(), value in 1..40usize, which: bool) {
        let any = planned(&problem, &target, None);
        let (local, old) = (any.target().local_bytes, sizes(&any));
        let names = match any.operator() {
            Operator::Im2colBackward => ["tile_rows", "tile_columns"],
            Operator::MaxUnpool2dBackward => ["tile_elements", "tile_cells"],
            _ => return Ok(()),
        };
        let names = if which { names } else { [names[1], names[0]] };
        let size = |name| old.iter().find(|size| size.0 == name).map(|size| size.1).unwrap();
        let bytes = |asked: usize, other: usize| {
            let [first, second] = if which { [asked, other] } else { [other, asked] };
            match &any {
                TilingPlan::Im2colBackward(plan) => fold_bytes(plan, size("tile_taps"), [first, second]),
                TilingPlan::MaxUnpool2dBackward(plan) => pick_bytes(plan, second, first),
                _ => unreachable!("two operators"),
            }
        };
        let fits = value <= most(&problem, names[0]) && bytes(value, 1) <= local;
        let cut = any.with_tile(names[0], value);
        prop_assert_eq!(cut.is_ok(), fits, "{:?}", cut);
        if let Ok(cut) = cut {
            let other = largest(size(names[1]), |n| bytes(value, n) <= local);
            let wanted = old.iter().map(|&(name, size)| (name, if name == names[0] { value } else if name == names[1] { other } else { size }));
            prop_assert_eq!(sizes(&cut), wanted.collect::<Vec<_>>());
        }
    }

}

/// Two taps together take less than one and its sums where the blocks are small: then the kernel is not cut.
#[test]
fn a_kernel_is_not_cut_where_its_parts_take_more() {
    for kernel in [[1, 2], [2, 1]] {
        let spec = Im2col { dtype: Dtype::F16, out_dtype: Dtype::F16, w: 7, kernel, ..Default::default() };
        let planned = |local_bytes| {
            let target = TargetSpec { local_bytes, block_bytes: 1, ..TargetSpec::host(1) };
            plan(&Problem::Im2colBackward(spec.problem()), &target, &PlanOptions::default())
        };
        // Two taps and a cell of two bytes each; a tap, a cell and a sum of four bytes would be eight.
        let sizes = |plan: TilingPlan| plan.choices().skip(1).map(|choice| choice.value).collect::<Vec<_>>();
        assert_eq!(planned(6).map(sizes), Ok(vec![1, 1, 2]));
        assert_eq!(planned(5), Err(PlanError::LocalBytes { got: 5, want: 6 }));
    }
}

/// Of a kernel of one row, too, parts leave their sums behind in a box of their own where `out` is of another type.
#[test]
fn parts_of_a_row_keep_their_sums_apart() {
    for (out_dtype, apart) in [(Dtype::F16, true), (Dtype::F32, false)] {
        let spec = Im2col { out_dtype, h: 1, w: 100, kernel: [1, 90], ..Default::default() };
        let target = TargetSpec { local_bytes: 400, ..TargetSpec::host(1) };
        let plan = im2col::plan(&spec.problem(), &target, &PlanOptions::default()).unwrap();
        assert!(plan.tiles(0, 0).all(|tile| tile.accumulates || !tile.last), "{plan:?}");
        assert_eq!(plan.sums(), (Dtype::F32, apart));
    }
}

/// Runs beside all of a plane are taken where these are fewer tiles than runs beside slices of it, and only there.
#[test]
fn a_plane_is_cut_into_the_fewest_tiles() {
    let target = TargetSpec { local_bytes: 8192, ..TargetSpec::host(1) };
    // Runs of 4096 elements, 8 bytes each: beside 5184 or 6400 bytes of cells are 368 or 224 in whole blocks of 64 bytes, half of the
    // memory holds 512.
    for (out_h, wanted) in [(36, vec![368, 1296]), (40, vec![512, 1024])] {
        let plane = MaxUnpool { index_dtype: Dtype::I32, n: 1, c: 1, h: 64, w: 64, ..Default::default() };
        let problem = Problem::MaxUnpool2dBackward(MaxUnpool { out_h, out_w: out_h, ..plane }.problem());
        let sizes = sizes(&planned(&problem, &target, None)).into_iter().map(|(_, size)| size);
        assert_eq!(sizes.collect::<Vec<_>>(), wanted, "{out_h} x {out_h} cells");
    }
}
