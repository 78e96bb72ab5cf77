use core::ops::Range;

use super::*;
use crate::grid_sampler_2d_backward::{Desc, check};
use crate::{Capabilities, Edition, TensorDesc};

fn problem(dtype: Dtype, [n, c, hi, wi]: [usize; 4], [ho, wo]: [usize; 2], interpolation: i64) -> Problem {
    let tensor = |shape: &[usize]| TensorDesc::contiguous(dtype, shape).unwrap();
    let desc = Desc {
        grad_output: tensor(&[n, c, ho, wo]),
        input: tensor(&[n, c, hi, wi]),
        grid: tensor(&[n, ho, wo, 2]),
        input_grad: tensor(&[n, c, hi, wi]),
        grid_grad: tensor(&[n, ho, wo, 2]),
        interpolation,
        padding_mode: 0,
        align_corners: false,
        output_mask: &[true, true],
    };
    check(&desc, None, Edition::Any).unwrap()
}

/// The same machine whose copies take whole blocks.
fn in_blocks(host: TargetSpec) -> TargetSpec {
    let capabilities = Capabilities { unaligned_copy: false, ..host.capabilities };
    TargetSpec { block_bytes: 32, capabilities, ..host }
}

/// Plans of all routes and cuts.
fn plans() -> Vec<Plan> {
    let mut plans = Vec::new();
    let images = [
        [1, 3, 40, 20],
        [1, 1, 60, 1],
        [1, 1, 30, 9],
        [1, 1, 60, 7],
        [3, 1, 9, 7],
        [2, 64, 16, 5],
        [1, 65, 4, 6],
        [2, 200, 3, 3],
        [1, 5, 90, 1],
        // Large enough to be cut where they are left over.
        [3, 2, 16, 4200],
        [3, 2, 8, 8400],
        [5, 7, 16, 1200],
        [3, 25, 2, 2700],
        [3, 70, 9, 3],
        [1, 28, 9, 3],
        // Of rows that are whole blocks, and of planes that are not.
        [3, 5, 16, 8],
        [3, 2, 32, 8],
        [3, 64, 3, 3],
    ];
    for (i, image) in images.into_iter().enumerate() {
        for (dtype, points) in [(Dtype::F32, [7, 9]), (Dtype::Bf16, [1, 40]), (Dtype::F64, [40, 1])] {
            let problem = problem(dtype, image, points, i as i64 % 3);
            let machines = [1, 2, 3, 7, 64].map(TargetSpec::host);
            for target in machines.into_iter().flat_map(|host| [host, in_blocks(host)]) {
                for workspace_limit in [None, Some(0), Some(300), Some(3000), Some(30_000)] {
                    for local_bytes in [None, Some(700), Some(3000)] {
                        let options = PlanOptions { workspace_limit, local_bytes };
                        plans.extend(plan(&problem, &target, &options));
                    }
                }
            }
        }
    }
    assert!(plans.len() > 700, "{}", plans.len());
    for route in [Route::PointLanes, Route::PointBands, Route::Channels, Route::Bands] {
        assert!(plans.iter().any(|plan| plan.route == route && plan.whole_images() > 0), "{route:?}");
        assert!(plans.iter().any(|plan| plan.route == route && plan.has_points_apart()), "{route:?}");
    }
    assert!(plans.iter().any(|plan| plan.whole_images() > 0 && plan.has_points_apart()));
    plans
}

#[test]
fn the_limit_and_the_local_memory_hold() {
    for plan in plans() {
        assert!(plan.common.options.workspace_limit.is_none_or(|limit| plan.workspace_bytes() <= limit), "{plan:?}");
        assert!((1..=plan.target().cores).contains(&plan.block_dim()), "{plan:?}");
        for (phase, shares) in plan.phases().map(|phase| phase.shares).enumerate() {
            for tile in (0..shares).flat_map(|share| plan.tiles(phase, share)) {
                assert!(tile.local_bytes() <= plan.target().local_bytes, "{plan:?}: {tile:?}");
            }
        }
        for choice in plan.choices() {
            assert!(choice.used <= choice.limit && choice.value > 0, "{plan:?}: {choice:?}");
        }
    }
}

/// Marks a range and insists that nothing of it was marked.
fn mark(cells: &mut [bool], range: Range<usize>, plan: &Plan) {
    for cell in &mut cells[range] {
        assert!(!core::mem::replace(cell, true), "twice: {plan:?}");
    }
}

#[test]
fn shares_write_each_element_once() {
    for plan in plans() {
        let p = plan.problem();
        let mut input_grad = vec![false; p.n * p.c * plan.pixels()];
        let mut grid_grad = vec![false; p.n * plan.points() * 2];
        for (phase, shares) in plan.phases().map(|phase| phase.shares).enumerate() {
            let mut behind = ShareRange::default();
            for share in 0..shares {
                let range = plan.share_range(phase, share);
                assert!(range.grid_grad.start >= behind.grid_grad.end || range.grid_grad.is_empty(), "{plan:?}");
                for (i, run) in range.input_grad.iter().enumerate() {
                    let above = behind.input_grad.get(i).end;
                    assert!(run.start >= above && run == range.input_grad.get(i), "{plan:?}");
                    mark(&mut input_grad, run, &plan);
                }
                mark(&mut grid_grad, range.grid_grad.clone(), &plan);
                behind = range;
            }
            assert_eq!(plan.work(phase, shares), Work::Nothing);
        }
        assert!(input_grad.iter().chain(&grid_grad).all(|&written| written), "{plan:?}");
    }
}

#[test]
fn tiles_make_each_gradient_once_and_add_each_point_once() {
    for plan in plans() {
        let p = plan.problem();
        let mut points_made = vec![0; p.n * plan.points() * plan.blocks().get()];
        let mut rows_seen = vec![0; p.n * p.c * p.hi * plan.points()];
        for (phase, shares) in plan.phases().map(|phase| phase.shares).enumerate() {
            for share in 0..shares {
                let mut open = None;
                for tile in plan.tiles(phase, share) {
                    let ([c0, c1], [p0, p1], [y0, y1]) = (tile.channels, tile.points, tile.rows);
                    // Points ascend within the same image and channels, and begin and end once.
                    let of = (tile.image, c0);
                    assert_eq!(open, if tile.first_points { None } else { Some((of, p0)) }, "{plan:?}");
                    open = if tile.last_points { None } else { Some((of, p1)) };
                    assert!(c0 % 64 == 0 && (c1 - c0 == 64 || c1 == p.c), "{plan:?}");
                    for point in p0..p1 {
                        let block = tile.image * plan.blocks().get() + c0 / 64;
                        points_made[block * plan.points() + point] += usize::from(tile.makes_grid_grad);
                        for (c, y) in (c0..c1).flat_map(|c| (y0..y1).map(move |y| (c, y))) {
                            rows_seen[((tile.image * p.c + c) * p.hi + y) * plan.points() + point] += 1;
                        }
                    }
                }
                assert_eq!(open, None, "{plan:?}");
            }
        }
        assert!(points_made.iter().chain(&rows_seen).all(|&times| times == 1), "{plan:?}");
    }
}

#[test]
fn shares_use_disjoint_workspace() {
    for plan in plans() {
        let aligned = plan.workspace_bytes().saturating_sub(crate::ALIGN - 1);
        let scratch = plan.scratch();
        for part in [&scratch.input, &scratch.input_grad, &scratch.tile, &scratch.totals] {
            assert!(part.start % crate::ALIGN == 0 && part.end <= scratch.bytes(), "{plan:?}");
        }
        let mut written_before = vec![false; aligned];
        for (phase, shares) in plan.phases().map(|phase| phase.shares).enumerate() {
            let mut used = vec![false; aligned];
            let mut written = vec![false; aligned];
            for share in 0..shares {
                let parts = plan.share_workspace(phase, share);
                assert_eq!(parts.scratch.start % crate::ALIGN, 0);
                mark(&mut used, parts.scratch, &plan);
                mark(&mut used, parts.write.clone(), &plan);
                mark(&mut written, parts.write, &plan);
            }
            for share in 0..shares {
                let read = plan.share_workspace(phase, share).read;
                assert!(read.clone().all(|byte| !used[byte] && written_before[byte]), "{plan:?}, {phase}: {read:?}");
            }
            for (before, now) in written_before.iter_mut().zip(written) {
                *before |= now;
            }
        }
    }
}

/// A core more, of which no image gets a part, changes nothing.
#[test]
fn cores_that_nobody_uses_change_no_route() {
    for (n, c) in [(2, 32), (3, 40), (2, 64), (5, 48)] {
        let problem = problem(Dtype::F32, [n, c, 64, 64], [48, 48], 0);
        let of = |cores| plan(&problem, &TargetSpec::host(cores), &PlanOptions::default()).unwrap();
        for cores in n + 1..=64 {
            let (fewer, more) = (of(cores - 1), of(cores));
            if fewer.block_dim() == more.block_dim() {
                assert_eq!(fewer.route(), more.route(), "{n} images of {c} channels on {cores} cores");
            }
        }
    }
}

#[test]
fn planes_at_once_fit_a_cache() {
    let planes = |c, width, interpolation| {
        let problem = problem(Dtype::F32, [1, c, 250, width], [9, 9], interpolation);
        plan(&problem, &TargetSpec::host(1), &PlanOptions::default()).unwrap().planes_at_once()
    };
    // Of 1 MiB, planes of 100 000 bytes, of 90 000 and of 250 000: an even number, and at least eight.
    assert_eq!([100, 90, 250].map(|width| planes(64, width, 1)), [10, 10, 8]);
    assert_eq!((planes(5, 250, 1), planes(64, 100, 0)), (5, 64));
}

#[test]
fn a_limit_has_a_price() {
    let halves = problem(Dtype::F16, [1, 4, 8, 32], [10, 10], 0);
    let passes = |limit: usize| {
        let options = PlanOptions { workspace_limit: Some(limit), local_bytes: None };
        let price = plan(&halves, &TargetSpec::host(1), &options).unwrap().prices().next().unwrap();
        assert_eq!((price.name, price.unlimited), ("grid_passes", 1));
        price.paid
    };
    // All planes of 1 KiB, two of them, half of one, and two rows of 128 bytes on the stack.
    assert_eq!([4096, 2048, 512, 0].map(|sums| passes(sums + if sums > 0 { 63 } else { 0 })), [1, 2, 8, 16]);
    let limited = PlanOptions { workspace_limit: Some(20_000), local_bytes: None };
    let images = problem(Dtype::F32, [4, 5, 8, 32], [10, 10], 0);
    let choice = plan(&images, &TargetSpec::host(4), &limited)
        .unwrap()
        .choices()
        .find(|choice| choice.name == "block_dim")
        .unwrap();
    assert_eq!((choice.value, choice.bound, choice.limit), (1, Bound::WorkspaceLimit, 20_000));
}

#[test]
fn too_small_a_local_memory_is_refused() {
    let problem = problem(Dtype::F32, [1, 64, 4, 4], [4, 4], 0);
    let options = PlanOptions { workspace_limit: None, local_bytes: Some(100) };
    let error = plan(&problem, &TargetSpec { block_bytes: 4, ..TargetSpec::host(1) }, &options).unwrap_err();
    assert_eq!(error, PlanError::LocalBytes { got: 100, want: 66 * 4 + 2 * 4 });
}
