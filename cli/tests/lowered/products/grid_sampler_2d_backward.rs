//! The grid sampler on products that lack what Atlas A2 has.

use ubtile_sim::clock::{Options, simulate};
use ubtile_sim::product::Soc;
use ubtile_sim::sanitize::sanitize;
use ubtile_testkit::Rng;
use ubtile_testkit::problems::GridSampler;
use ubtile_tiling::grid_sampler_2d_backward::Interpolation;
use ubtile_tiling::{Dtype, Problem};

use super::{SOCS, at, dtypes, kinds};
use crate::both::{At, check, lower};

fn problem(spec: GridSampler) -> Problem {
    Problem::GridSampler2dBackward(spec.problem())
}

#[test]
fn every_mode() {
    let mut rng = Rng::new(64);
    for soc in SOCS {
        for mode in GridSampler::modes() {
            let dtype = rng.pick(dtypes(soc));
            let [hi, wi, ho, wo] = [1 + rng.below(7), 1 + rng.below(9), 1 + rng.below(5), 1 + rng.below(9)];
            let (n, c) = (1 + rng.below(2), rng.pick(&[1, 5, 17]));
            let output_mask = rng.pick(&[[true, true], [true, false], [false, true]]);
            let problem = problem(GridSampler { dtype, n, c, hi, wi, ho, wo, output_mask, ..mode });
            let kinds = kinds(&mut rng);
            check(&problem, &at(soc, &mut rng), kinds, rng.next_u64());
        }
    }
}

/// Channels and points are exchanged as often as there are sixteens of them, and rows of odd planes are shifted.
#[test]
fn many_channels() {
    let mut rng = Rng::new(68);
    for soc in SOCS {
        for dtype in dtypes(soc) {
            for (c, [hi, wi], [ho, wo]) in [(64, [9, 17], [7, 11]), (33, [31, 15], [5, 13]), (70, [4, 8], [3, 16])] {
                let problem = problem(GridSampler { dtype: *dtype, n: 1, c, hi, wi, ho, wo, ..GridSampler::default() });
                let kinds = kinds(&mut rng);
                check(&problem, &At::cores(1).on(soc), kinds, rng.next_u64());
            }
        }
    }
}

/// Each core has channels or rows of an image, and points of any images.
#[test]
fn points_apart() {
    let mut rng = Rng::new(69);
    for (dtype, c, [hi, wi], [ho, wo]) in [
        (Dtype::F32, 24, [9, 7], [5, 7]),
        (Dtype::F16, 32, [9, 7], [5, 7]),
        (Dtype::F32, 5, [16, 8], [7, 9]),
        (Dtype::F32, 2, [8, 8], [13, 5]),
        (Dtype::F32, 2, [32, 8], [13, 5]),
    ] {
        let problem = problem(GridSampler { dtype, n: 3, c, hi, wi, ho, wo, ..GridSampler::default() });
        let at = At::cores(16).on("Ascend910A");
        let (plan, _) = lower(&problem, &at).unwrap();
        assert!(plan.phases().any(|phase| phase.name == "points"), "{plan:?}");
        let kinds = kinds(&mut rng);
        check(&problem, &at, kinds, rng.next_u64());
    }
}

#[test]
fn images_that_the_memory_does_not_hold() {
    // In parts, of which only those are visited that the points mix: whoever has no instruction that finds them looks point by point.
    let mut rng = Rng::new(65);
    for soc in ["Ascend310P3", "Ascend910A"] {
        for (i, mode) in GridSampler::modes().enumerate().step_by(6) {
            let ([hi, wi], dtype) = ([[111, 130], [2100, 5]][i / 2 % 2], dtypes(soc)[i / 4 % 2]);
            let problem = problem(GridSampler { dtype, n: 1, c: 2, hi, wi, ho: 5, wo: 13, ..mode });
            let kinds = kinds(&mut rng);
            check(&problem, &At::cores(1).bytes(44 * 1024).on(soc), kinds, rng.next_u64());
        }
    }
}

/// Pixels in slices, of which points mix some rows: where nobody knows the points, a pixel behind them may be meant.
#[test]
fn slices_that_are_not_whole() {
    for (dtype, c, [hi, wi], [ho, wo], interpolation) in [
        (Dtype::F32, 32, [96, 96], [64, 64], Interpolation::Bilinear),
        (Dtype::F16, 16, [100, 32], [15, 17], Interpolation::Bicubic),
    ] {
        let output_mask = [false, true];
        let spec = GridSampler { dtype, n: 1, c, hi, wi, ho, wo, output_mask, interpolation, ..GridSampler::default() };
        let (_, program) = lower(&problem(spec), &At::cores(1).on("Ascend910A")).unwrap();
        assert_eq!(sanitize(&program, None).unwrap(), [], "{interpolation:?}");
    }
}

/// Rows of pixels and of points that begin within blocks, planes of more than sixteen blocks among them.
#[test]
fn rows_between_blocks() {
    let mut rng = Rng::new(71);
    for mode in GridSampler::modes() {
        for dtype in dtypes("Ascend310P3") {
            let (c, [hi, wi], [ho, wo]) = rng.pick(&[
                (3, [33, 47], [5, 7]),
                (9, [21, 35], [9, 13]),
                (20, [14, 14], [7, 33]),
                (2, [5, 16], [31, 37]),
                (40, [3, 9], [2, 5]),
            ]);
            let output_mask = rng.pick(&[[true, true], [true, false], [false, true]]);
            let problem = problem(GridSampler { dtype: *dtype, n: 2, c, hi, wi, ho, wo, output_mask, ..mode });
            let local_bytes = rng.pick(&[None, Some(128 << 10), Some((128 << 10) - 1)]);
            let at = At { local_bytes, ..At::cores(rng.pick(&[1, 2, 8])).on("Ascend310P3") };
            let kinds = kinds(&mut rng);
            check(&problem, &at, kinds, rng.next_u64());
        }
    }
}

/// Rows that are no whole blocks take longer, as they have to be shifted, but not by much.
#[test]
fn rows_between_blocks_are_not_much_slower() {
    let soc = Soc::builtin("Ascend310P3").unwrap();
    let task_us = |dtype, c, [h, w]: [usize; 2]| {
        let spec = GridSampler { dtype, n: 2, c, hi: h, wi: w, ho: h, wo: w, ..GridSampler::default() };
        let (_, program) = lower(&problem(spec), &At::cores(8).on("Ascend310P3")).unwrap();
        simulate(&program, &soc, &Options::default()).unwrap().task_us
    };
    for dtype in [Dtype::F16, Dtype::F32] {
        for (c, h, odd, even) in [(32, 57, 57, 64), (16, 14, 14, 16), (64, 28, 28, 32)] {
            let [odd_us, even_us] = [odd, even].map(|w| task_us(dtype, c, [h, w]));
            assert!(odd_us < 3.0 * even_us, "{dtype} {c} channels, {odd} and {even}: {odd_us} and {even_us}");
        }
    }
}
