//! ReplicationPad2dBackward.

use ubtile_testkit::problems::ReplicationPad;
use ubtile_testkit::{Coordinates, Fill, IndexFill, Kinds, Rng};
use ubtile_tiling::{Dtype, Problem};

use crate::both::{At, check, lower, steps};
use ubtile_sim::program::Action;

const DTYPES: [Dtype; 3] = [Dtype::F32, Dtype::F16, Dtype::Bf16];

fn kinds(values: Fill) -> Kinds {
    Kinds { values, coordinates: Coordinates::Random, indices: IndexFill::Permutation }
}

fn problem(dtype: Dtype, [n, c, h, w]: [usize; 4], padding: [i64; 4]) -> Problem {
    Problem::ReplicationPad2dBackward(
        ReplicationPad { dtype, n, c, h, w, padding, ..ReplicationPad::default() }.problem(),
    )
}

#[test]
fn sizes_around_lanes_and_blocks() {
    let mut rng = Rng::new(11);
    for dtype in DTYPES {
        for h in [1, 2, 3, 17] {
            for w in [1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 65] {
                let mut pad = || rng.below(9) as i64;
                let padding = [pad(), pad(), pad(), pad()];
                let cores = rng.pick(&[1, 2, 5, 48]);
                let problem = problem(dtype, [1, 3, h, w], padding);
                check(&problem, &At::cores(cores), kinds(rng.pick(&Fill::ALL)), rng.next_u64());
            }
        }
    }
}

#[test]
fn all_kinds_of_padding() {
    let mut rng = Rng::new(12);
    for _ in 0..120 {
        let [h, w] = [1 + rng.below(6), 1 + rng.below(20)];
        let mut pair = |size: usize| loop {
            let [a, b] = [rng.below(24) as i64 - 8, rng.below(30) as i64 - 8];
            if size as i64 + a + b > 0 {
                break [a, b];
            }
        };
        let ([left, right], [top, bottom]) = (pair(w), pair(h));
        let dtype = rng.pick(&DTYPES);
        let problem = problem(dtype, [1, 2, h, w], [left, right, top, bottom]);
        check(&problem, &At::cores(rng.pick(&[1, 3])), kinds(rng.pick(&Fill::ALL)), rng.next_u64());
    }
}

#[test]
fn rows_of_an_odd_number_of_halves() {
    let mut rng = Rng::new(14);
    for dtype in [Dtype::F16, Dtype::Bf16] {
        for w in [7, 15, 31] {
            let problem = problem(dtype, [2, 20, w, w], [1, 2, 2, 1]);
            let (_, program) = lower(&problem, &At::cores(2)).unwrap();
            let copies = steps(&program, |action| u64::from(matches!(action, Action::Transfer(_)))).iter().sum::<u64>();
            // Those of batches of 256 rows: the rows of a plane, what is folded from above and below, and what is stored.
            let batches = (40 * w).div_ceil(256) as u64 + 2;
            assert!(copies <= 3 * (40 + batches) + batches, "{dtype} {w}: {copies}");
            for at in [At::cores(rng.pick(&[1, 2, 3])), At::cores(2).tile("tile_rows", 128)] {
                check(&problem, &at, kinds(rng.pick(&Fill::ALL)), rng.next_u64());
            }
        }
    }
}

#[test]
fn deep_padding() {
    let mut rng = Rng::new(15);
    for dtype in DTYPES {
        for deep in [9, 12, 16, 17, 32, 33] {
            let mut pad = || rng.pick(&[0, 1, deep]);
            let problem = problem(dtype, [1, 9, 6, 10], [pad(), deep, pad(), pad()]);
            let soc = rng.pick(&["Ascend910B1", "Ascend910_95"]);
            check(&problem, &At::cores(rng.pick(&[1, 2])).on(soc), kinds(rng.pick(&Fill::ALL)), rng.next_u64());
        }
    }
}

#[test]
fn small_memory_and_small_tiles() {
    let mut rng = Rng::new(13);
    for dtype in DTYPES {
        for (h, w) in [(40, 19), (5, 700), (300, 3)] {
            let problem = problem(dtype, [2, 2, h, w], [3, 18, 2, 11]);
            for at in [
                At::cores(3).bytes(16 * 1024),
                At::cores(3).bytes(8 * 1024),
                At::cores(2).tile("tile_rows", 3),
                At::cores(2).tile("tile_columns", 3),
            ] {
                check(&problem, &at, kinds(Fill::Uniform), rng.next_u64());
            }
        }
    }
}

#[test]
fn cores_have_even_shares_and_large_copies() {
    let problem = problem(Dtype::F32, [8, 48, 56, 56], [1, 1, 1, 1]);
    let (_, program) = lower(&problem, &At::cores(48)).unwrap();
    let moved = |load: bool| {
        steps(&program, |action| match action {
            Action::Transfer(t) if t.load == load => t.moved(),
            _ => 0,
        })
    };
    // Nothing is read twice but the rows and columns that are folded, and what of the image lies beside them.
    let [image, padded] = [56 * 56 * 4, 58 * 58 * 4].map(|bytes: u64| bytes * 8);
    assert_eq!(moved(false), vec![image; 48]);
    for read in moved(true) {
        assert!(read >= padded && read < padded + padded / 20, "{read} of {padded}");
    }
    let copies = steps(&program, |action| u64::from(matches!(action, Action::Transfer(_))));
    assert!(copies.iter().all(|copies| *copies <= 12 * 8), "{copies:?}");
}

#[test]
fn copies_of_blocks_alone_take_hardly_more_steps() {
    for dtype in [Dtype::F32, Dtype::F16] {
        let problem = problem(dtype, [1, 16, 126, 126], [1; 4]);
        let [bytes, blocks] = ["Ascend910B1", "Ascend310P3"].map(|soc| {
            let (_, program) = lower(&problem, &At::cores(8).on(soc)).unwrap();
            steps(&program, |_| 1).iter().sum::<u64>()
        });
        assert!(10 * blocks <= 11 * bytes, "{dtype}: {blocks} and {bytes}");
    }
}

#[test]
fn rows_that_end_anywhere_take_no_step_for_each_element() {
    for (dtype, w) in [(Dtype::F32, 125), (Dtype::F16, 93), (Dtype::F16, 223)] {
        let problem = problem(dtype, [1, 16, w, w], [1; 4]);
        let (_, program) = lower(&problem, &At::cores(8).on("Ascend310P3")).unwrap();
        let steps = steps(&program, |_| 1).iter().sum::<u64>();
        let elements = 16 * (w * w) as u64;
        assert!(steps * 5 <= elements * 3, "{dtype}: {steps} for {elements} elements");
    }
}
