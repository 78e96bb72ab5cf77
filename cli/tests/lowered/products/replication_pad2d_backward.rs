//! Replication padding on products that lack what Atlas A2 has.

use ubtile_sim::clock::{Options, simulate};
use ubtile_sim::product::Soc;
use ubtile_testkit::Rng;
use ubtile_testkit::problems::ReplicationPad;
use ubtile_tiling::{Dtype, Problem};

use super::{SOCS, at, dtypes, kinds};
use crate::both::{At, check, lower};

fn problem(dtype: Dtype, [c, h, w]: [usize; 3], padding: [i64; 4]) -> Problem {
    Problem::ReplicationPad2dBackward(
        ReplicationPad { dtype, n: 1, c, h, w, padding, ..ReplicationPad::default() }.problem(),
    )
}

#[test]
fn replication_pad() {
    let mut rng = Rng::new(61);
    for soc in SOCS {
        for round in 0..20 {
            let dtype = dtypes(soc)[round % dtypes(soc).len()];
            // Rows of whole blocks, of halves of them, and of anything.
            let w = [16, 8, 24, 1 + rng.below(40)][rng.below(4)];
            let padding = [0; 4].map(|_| rng.pick(&[0, 8, 1, 2, 5]));
            let spec = ReplicationPad {
                dtype,
                n: 1,
                c: 1 + rng.below(3),
                h: 1 + rng.below(9),
                w,
                padding,
                ..ReplicationPad::default()
            };
            let kinds = kinds(&mut rng);
            check(&Problem::ReplicationPad2dBackward(spec.problem()), &at(soc, &mut rng), kinds, rng.next_u64());
        }
    }
}

/// Planes that batches of rows hold several of, and that take several batches: of padded rows that are whole blocks and of others, with
/// an output that ends with a block or does not.
#[test]
fn batches_of_padded_rows() {
    let mut rng = Rng::new(66);
    for soc in ["Ascend310P3", "Ascend910A", "Ascend910B1"] {
        for dtype in dtypes(soc) {
            for (c, h, w, padding) in [
                (3, 126, 126, [1; 4]),
                (5, 62, 62, [1; 4]),
                (9, 7, 30, [1, 1, 2, 0]),
                (31, 2, 13, [3, 0, 0, 1]),
                (4, 50, 128, [1; 4]),
                (7, 21, 57, [7, 0, 5, 8]),
                (3, 40, 60, [2, 2, 9, 0]),
                (16, 28, 28, [8; 4]),
                (9, 5, 9, [17, 20, 2, 0]),
                (6, 4, 2, [0, 35, 0, 1]),
                (20, 15, 15, [1; 4]),
                (9, 31, 31, [1; 4]),
                (6, 48, 57, [1; 4]),
                (3, 90, 113, [1; 4]),
                (2, 129, 129, [2, 1, 1, 3]),
            ] {
                let pad = ReplicationPad { dtype: *dtype, n: 1, c, h, w, padding, ..ReplicationPad::default() };
                let kinds = kinds(&mut rng);
                let at = At::cores(rng.pick(&[1, 2, 8])).on(soc);
                check(&Problem::ReplicationPad2dBackward(pad.problem()), &at, kinds, rng.next_u64());
            }
            for _ in 0..20 {
                let mut pad = |most: usize| [rng.below(most) as i64, rng.below(most) as i64];
                let ([left, right], [top, bottom]) = (pad(20), pad(9));
                let per_block = 32 / dtype.size() as i64;
                let whole = per_block * (1 + rng.below(6) as i64) - (left + right) % per_block;
                let widths = [rng.below(70) as i64 + 2, whole];
                let w = rng.pick(&widths) as usize;
                let padding = [left, right, top, bottom];
                let (c, h) = (1 + rng.below(12), 2 + rng.below(40));
                let pad =
                    ReplicationPad { dtype: *dtype, n: 1, c, h, w: w.max(2), padding, ..ReplicationPad::default() };
                let kinds = kinds(&mut rng);
                let local_bytes = rng.pick(&[None, None, Some(184 << 10), Some(150 << 10)]);
                let at = At { local_bytes, ..At::cores(rng.pick(&[1, 2, 8])).on(soc) };
                check(&Problem::ReplicationPad2dBackward(pad.problem()), &at, kinds, rng.next_u64());
            }
        }
    }
}

/// Rows of which no batch is transposed at once, or none at all: columns are added to a part of the rows at a time, and rows are stored
/// from where they are loaded.
#[test]
fn rows_of_which_few_fit() {
    let mut rng = Rng::new(70);
    for soc in ["Ascend310P3", "Ascend910A"] {
        for dtype in dtypes(soc) {
            for (h, w, padding) in [
                (11, 113, [1; 4]),
                (9, 127, [1; 4]),
                (40, 127, [2, 1, 0, 3]),
                (7, 143, [1; 4]),
                (6, 175, [1, 2, 2, 1]),
                (5, 192, [1; 4]),
                (9, 201, [8, 8, 2, 1]),
                (4, 255, [1; 4]),
                (20, 256, [3, 1, 1, 0]),
                (3, 301, [0, 5, 1, 2]),
                (2, 640, [16, 2, 1, 1]),
            ] {
                let problem = problem(*dtype, [3, h, w], padding);
                for local_bytes in [None, Some(rng.pick(&[200 << 10, 150 << 10, 110 << 10, 70 << 10]))] {
                    let at = At { local_bytes, ..At::cores(rng.pick(&[1, 2])).on(soc) };
                    let kinds = kinds(&mut rng);
                    check(&problem, &at, kinds, rng.next_u64());
                }
            }
        }
    }
}

/// An odd number of columns takes longer than the even one behind it, as rows have to be shifted, but not by much.
#[test]
fn odd_rows_are_not_much_slower() {
    let soc = Soc::builtin("Ascend310P3").unwrap();
    let task_us = |dtype, w| {
        let (_, program) = lower(&problem(dtype, [64, w, w], [1; 4]), &At::cores(8).on("Ascend310P3")).unwrap();
        simulate(&program, &soc, &Options::default()).unwrap().task_us
    };
    for dtype in [Dtype::F16, Dtype::F32] {
        for w in [57, 127, 143, 175, 201, 255] {
            let [odd, even] = [w, w + 1].map(|w| task_us(dtype, w));
            assert!(odd < 2.5 * even, "{dtype} {w}: {odd} and {even}");
        }
    }
}
