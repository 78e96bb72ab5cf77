//! Im2colBackward.

use ubtile_sim::lower::LowerError;
use ubtile_testkit::problems::Im2col;
use ubtile_testkit::{Coordinates, Fill, IndexFill, Kinds, Rng};
use ubtile_tiling::{Dtype, Problem};

use ubtile_sim::program::Action;

use crate::both::{At, check, lower, steps};

const DTYPES: [Dtype; 3] = [Dtype::F32, Dtype::F16, Dtype::Bf16];

fn kinds(values: Fill) -> Kinds {
    Kinds { values, coordinates: Coordinates::Random, indices: IndexFill::Permutation }
}

fn of(spec: Im2col) -> Problem {
    Problem::Im2colBackward(spec.problem())
}

/// Any window that fits the padded image.
fn random(rng: &mut Rng, most: usize) -> Im2col {
    loop {
        let [h, w] = [1 + rng.below(most / 2), 1 + rng.below(most)];
        let mut pair = |below: usize| [rng.below(below), rng.below(below)];
        let (kernel, dilation) = (pair(4).map(|k| k + 1), pair(3).map(|d| d + 1));
        let (padding, stride) = (pair(9), pair(4).map(|s| s + 1));
        let fits = |i: usize, size: usize| size + 2 * padding[i] > dilation[i] * (kernel[i] - 1);
        if fits(0, h) && fits(1, w) {
            let (dtype, out_dtype) = (rng.pick(&DTYPES), rng.pick(&DTYPES));
            let [n, c] = [1 + rng.below(2), 1 + rng.below(3)];
            return Im2col { dtype, out_dtype, n, c, h, w, kernel, dilation, padding, stride, ..Im2col::default() };
        }
    }
}

#[test]
fn all_kinds_of_windows() {
    let mut rng = Rng::new(21);
    for _ in 0..150 {
        let problem = of(random(&mut rng, 24));
        check(&problem, &At::cores(rng.pick(&[1, 2, 48])), kinds(rng.pick(&Fill::ALL)), rng.next_u64());
    }
}

#[test]
fn sizes_around_lanes_and_blocks() {
    let mut rng = Rng::new(22);
    for dtype in DTYPES {
        for w in [1, 7, 8, 9, 15, 16, 17, 63, 64, 65, 129] {
            let stride = [1 + rng.below(2), 1 + rng.below(3)];
            let spec = Im2col {
                dtype,
                out_dtype: dtype,
                h: 5,
                w,
                kernel: [3, 3],
                padding: [1, 1],
                stride,
                ..random(&mut rng, 4)
            };
            let problem = of(Im2col { dilation: [1, 1], ..spec });
            check(&problem, &At::cores(rng.pick(&[1, 3])), kinds(Fill::Uniform), rng.next_u64());
        }
    }
}

#[test]
fn small_memory_and_small_tiles() {
    let mut rng = Rng::new(23);
    for _ in 0..25 {
        let problem = of(random(&mut rng, 90));
        let at = At::cores(2);
        let Problem::Im2colBackward(p) = &problem else { unreachable!() };
        for at in [
            at.clone().bytes(16 * 1024),
            at.clone().tile("tile_rows", p.h.div_ceil(3)),
            at.tile("tile_columns", p.w.div_ceil(3)),
        ] {
            check(&problem, &at, kinds(Fill::Uniform), rng.next_u64());
        }
    }
}

#[test]
fn strides_wider_than_instructions_reach() {
    let mut rng = Rng::new(24);
    for stride in [[300, 1], [1, 40], [40, 40], [300, 300]] {
        let spec =
            Im2col { h: 310, w: 50, kernel: [3, 3], dilation: [1, 1], padding: [0, 1], stride, ..Im2col::default() };
        check(&of(spec), &At::cores(2), kinds(Fill::Uniform), rng.next_u64());
    }
}

#[test]
fn rows_of_less_than_a_block() {
    let mut rng = Rng::new(26);
    for dtype in DTYPES {
        for out_dtype in DTYPES {
            for w in [1, 2, 3, 7, 8, 9, 15, 16] {
                let stride = rng.pick(&[[1, 1], [2, 1], [1, 2], [2, 3], [5, 20]]);
                let h = rng.pick(&[1, 2, 7, 8, 9, 33]);
                let spec = Im2col { dtype, out_dtype, n: 1, c: 5, h, w, stride, ..random(&mut rng, 4) };
                let problem = of(Im2col { kernel: [3, 2], dilation: [1, 1], padding: [2, 1], ..spec });
                for at in [At::cores(rng.pick(&[1, 3])), At::cores(2).tile("tile_rows", 3), At::cores(1).bytes(4096)] {
                    check(&problem, &at, kinds(rng.pick(&Fill::ALL)), rng.next_u64());
                }
            }
        }
    }
}

/// Copies between memories of a kind.
fn copies(problem: &Problem, load: bool) -> u64 {
    let (_, program) = lower(problem, &At::cores(1)).unwrap();
    let bursts = |action: &Action| match action {
        Action::Transfer(transfer) if transfer.load == load => u64::from(transfer.blocks),
        _ => 0,
    };
    steps(&program, bursts).iter().sum()
}

#[test]
fn rows_of_less_than_a_block_leave_as_one_piece() {
    for (dtype, w) in [(Dtype::F32, 7), (Dtype::F16, 14), (Dtype::Bf16, 1)] {
        let spec = Im2col { dtype, out_dtype: dtype, n: 1, c: 6, h: 14, w, kernel: [3, 1], ..Im2col::default() };
        assert_eq!(copies(&of(spec), false), 6, "{spec:?}");
    }
    let wider = Im2col { dtype: Dtype::F32, n: 1, c: 6, h: 14, w: 8, kernel: [3, 1], ..Im2col::default() };
    assert_eq!(copies(&of(wider), false), 6 * 14);
}

#[test]
fn rows_that_windows_reach_far_apart() {
    let mut rng = Rng::new(27);
    for dtype in DTYPES {
        for stride in [[16, 16], [13, 13], [3, 90], [20, 7]] {
            let spec = Im2col { dtype, out_dtype: rng.pick(&DTYPES), n: 1, c: 2, h: 45, w: 300, ..Im2col::default() };
            let spec = Im2col { stride, kernel: [7, 4], dilation: [3, 1], padding: [5, 2], ..spec };
            for at in [
                At::cores(rng.pick(&[1, 3])),
                At::cores(2).bytes(64 * 1024),
                At::cores(1).tile("tile_rows", 19),
                At::cores(1).tile("tile_columns", 180),
            ] {
                check(&of(spec), &at, kinds(rng.pick(&Fill::ALL)), rng.next_u64());
            }
        }
    }
}

#[test]
fn patches_are_loaded_a_tap_at_a_time() {
    // As the first layer of a vision transformer has them.
    let patches = Im2col { n: 1, c: 1, h: 112, w: 112, kernel: [16, 16], stride: [16, 16], ..Im2col::default() };
    let (_, program) = lower(&of(patches), &At::cores(1)).unwrap();
    let loads = steps(&program, |action| u64::from(matches!(action, Action::Transfer(t) if t.load)));
    assert_eq!(loads, [256]);
}

#[test]
fn the_largest_windows() {
    let mut rng = Rng::new(25);
    let most = i32::MAX.unsigned_abs() as usize;
    let spec = Im2col { h: 9, w: 20, kernel: [1, 1], dilation: [1, 1], padding: [0, 0], ..Im2col::default() };
    let stride = [most, most];
    let specs = [
        Im2col { stride, ..spec },
        Im2col { stride: [1, most], ..spec },
        Im2col { stride: [most, 1], ..spec },
        Im2col { stride, padding: [most, most], ..spec },
        Im2col { stride, padding: [most, most], kernel: [2, 3], dilation: [most, most / 2], ..spec },
    ];
    for spec in specs {
        check(&of(spec), &At::cores(2), kinds(Fill::Uniform), rng.next_u64());
    }
    let what = LowerError::NotLowered("strides, dilations and paddings above 2147483647");
    for spec in [
        Im2col { stride: [1, most + 1], ..spec },
        Im2col { stride: [usize::MAX / 2, 1], ..spec },
        Im2col { dilation: [most + 1, 1], ..spec },
        Im2col { stride, padding: [0, most + 1], ..spec },
    ] {
        assert_eq!(lower(&of(spec), &At::cores(2)).map(|_| ()), Err(what.clone()));
    }
}
