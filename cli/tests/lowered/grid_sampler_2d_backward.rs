//! GridSampler2DBackward.

use ubtile_sim::clock::{Options, simulate};
use ubtile_sim::product::Soc;
use ubtile_sim::text;
use ubtile_testkit::problems::GridSampler;
use ubtile_testkit::{Coordinates, Fill, IndexFill, Kinds, Rng};
use ubtile_tiling::grid_sampler_2d_backward::Interpolation;
use ubtile_tiling::{Dtype, Problem};

use crate::both::{At, check, lower};

const DTYPES: [Dtype; 3] = [Dtype::F32, Dtype::F16, Dtype::Bf16];

fn of(spec: GridSampler) -> Problem {
    Problem::GridSampler2dBackward(spec.problem())
}

fn kinds(rng: &mut Rng) -> Kinds {
    let (values, coordinates) = (rng.pick(&Fill::ALL), rng.pick(&Coordinates::ALL));
    Kinds { values, coordinates, indices: IndexFill::Permutation }
}

fn modes() -> Vec<GridSampler> {
    GridSampler::modes().collect()
}

#[test]
fn all_modes_and_dtypes() {
    let mut rng = Rng::new(41);
    for mode in modes() {
        for dtype in DTYPES {
            for output_mask in [[true, true], [true, false], [false, true]] {
                let [hi, wi, ho, wo] = [1 + rng.below(9), 1 + rng.below(18), 1 + rng.below(9), 1 + rng.below(9)];
                let [n, c] = [1 + rng.below(3), rng.pick(&[1, 3, 9, 17])];
                let problem = of(GridSampler { dtype, n, c, hi, wi, ho, wo, output_mask, ..mode });
                let kinds = kinds(&mut rng);
                check(&problem, &At::cores(rng.pick(&[1, 2, 5, 48])), kinds, rng.next_u64());
            }
        }
    }
}

#[test]
fn channels_around_blocks_and_points_around_chunks() {
    let mut rng = Rng::new(42);
    for c in [8, 15, 16, 63, 64, 65, 130] {
        for (ho, wo) in [(1, 1), (1, 31), (4, 8), (3, 11), (19, 27)] {
            let (dtype, mode) = (rng.pick(&DTYPES), modes()[rng.below(modes().len())]);
            let problem = of(GridSampler { dtype, n: 1, c, hi: 9, wi: 7, ho, wo, ..mode });
            let kinds = kinds(&mut rng);
            check(&problem, &At::cores(rng.pick(&[1, 2, 48])), kinds, rng.next_u64());
        }
    }
}

#[test]
fn small_memory_and_small_tiles() {
    let mut rng = Rng::new(43);
    for mode in modes() {
        let dtype = rng.pick(&DTYPES);
        let problem = of(GridSampler { dtype, n: 1, c: 70, hi: 23, wi: 13, ho: 9, wo: 17, ..mode });
        for at in [
            At::cores(3).bytes(40 * 1024),
            At::cores(1).bytes(80 * 1024),
            At::cores(2).tile("tile_points", 50),
            At::cores(2).tile("tile_input_points", 50),
            At::cores(2).tile("tile_input_rows", 5),
            At::cores(1).tile("tile_input_columns", 4),
        ] {
            let kinds = kinds(&mut rng);
            check(&problem, &at, kinds, rng.next_u64());
        }
    }
}

#[test]
fn positions_of_every_kind() {
    let mut rng = Rng::new(44);
    for mode in modes() {
        for (hi, wi) in [(1, 1), (1, 5), (7, 2), (6, 11)] {
            for coordinates in Coordinates::ALL {
                let problem = of(GridSampler { c: 2, hi, wi, ho: 8, wo: 9, ..mode });
                let kinds = Kinds { values: Fill::Uniform, coordinates, indices: IndexFill::Permutation };
                check(&problem, &At::cores(2), kinds, rng.next_u64());
            }
        }
    }
}

#[test]
fn images_that_the_memory_does_not_hold() {
    let mut rng = Rng::new(45);
    let sizes = [(111, 130), (4, 3000), (2100, 5)];
    for (i, mode) in modes().into_iter().enumerate() {
        let ((hi, wi), dtype) = (sizes[i % 3], DTYPES[i / 3 % 3]);
        // One chunk of points, or several.
        let ho = [5, 19][i / 9 % 2];
        let problem = of(GridSampler { dtype, n: 1, c: 2, hi, wi, ho, wo: 13, ..mode });
        let at = At::cores(1 + i % 2).bytes((36 + 8 * (i % 4)) * 1024);
        let at = if i % 2 == 0 { at.tile("tile_input_points", 32) } else { at };
        if mode.interpolation != Interpolation::Nearest && i % 4 == 0 {
            let (_, program) = lower(&problem, &at).unwrap();
            assert!(text::print(program.source()).contains("for slice in"), "{problem:?}: the plane is whole");
        }
        let kinds = kinds(&mut rng);
        check(&problem, &at, kinds, rng.next_u64());
    }
}

/// Chunks, channels and windows are cut so that a point costs not much more than where all of an image is in the UB.
#[test]
fn parts_of_an_image_cost_a_few_times_what_whole_ones_do() {
    let soc = Soc::builtin("Ascend910B1").unwrap();
    let cycles_of_a_point = |n: usize, c: usize, [h, w]: [usize; 2], cores: usize| {
        let spec =
            GridSampler { n, c, hi: h, wi: w, ho: h, wo: w, output_mask: [true, false], ..GridSampler::default() };
        let (_, program) = lower(&of(spec), &At::cores(cores)).unwrap();
        let timing = simulate(&program, &soc, &Options::default()).unwrap();
        timing.cycles * u64::from(program.source().cores) / (n * h * w) as u64
    };
    for c in [3, 64] {
        let (whole, parts) = (cycles_of_a_point(48, c, [24, 24], 48), cycles_of_a_point(1, c, [180, 320], 22));
        assert!((whole..6 * whole).contains(&parts), "{c} channels: {whole} cycles and {parts}");
    }
}

/// As many whole images for each core, and parts of the last one: bands of its rows, or runs of its channels.
#[test]
fn images_left_over() {
    let mut rng = Rng::new(46);
    for (i, mode) in modes().into_iter().enumerate() {
        let (c, hi, wi) = [(2, 64, 1024), (25, 61, 87)][i % 2];
        let problem = of(GridSampler { dtype: DTYPES[i % 3], n: 3, c, hi, wi, ho: 5, wo: 13, ..mode });
        let (plan, _) = lower(&problem, &At::cores(2)).unwrap();
        let images = plan.phases().filter(|phase| phase.name == "images").count();
        assert_eq!(images, 1, "{problem:?}");
        let kinds = kinds(&mut rng);
        check(&problem, &At::cores(2), kinds, rng.next_u64());
    }
}
