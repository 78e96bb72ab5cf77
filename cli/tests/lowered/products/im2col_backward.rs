//! Im2col's gradient on products that lack what Atlas A2 has.

use ubtile_sim::clock::{Options, simulate};
use ubtile_sim::product::Soc;
use ubtile_testkit::Rng;
use ubtile_testkit::problems::Im2col;
use ubtile_tiling::{Dtype, Problem};

use super::{at, dtypes, kinds};
use crate::both::{At, check, lower};

const SOCS: [&str; 2] = ["Ascend310P3", "Ascend910A"];

/// Planes, their sizes, and of windows the kernel, stride, padding and dilation.
type Windows = (usize, [usize; 2], [usize; 2], [usize; 2], [usize; 2], [usize; 2]);

/// Checks them on each product in each type that it computes.
fn check_each(seed: u64, cases: &[Windows]) {
    let mut rng = Rng::new(seed);
    for soc in SOCS {
        for &dtype in dtypes(soc) {
            for &(c, [h, w], kernel, stride, padding, dilation) in cases {
                let windows = Im2col { kernel, stride, padding, dilation, ..Im2col::default() };
                let spec = Im2col { dtype, out_dtype: dtype, n: 1, c, h, w, ..windows };
                let kinds = kinds(&mut rng);
                check(&Problem::Im2colBackward(spec.problem()), &at(soc, &mut rng), kinds, rng.next_u64());
            }
        }
    }
}

/// Planes, windows and paddings of every kind: fewer planes than sixteen and more, whole ones for a core or not, taps in one chunk and in
/// several, windows of every stride and dilation, and padding that no window lies in.
#[test]
fn sixteen_planes_at_once() {
    check_each(
        81,
        &[
            (16, [15, 15], [3, 3], [1, 1], [1, 1], [1, 1]),
            (35, [7, 9], [3, 3], [1, 1], [1, 1], [1, 1]),
            (19, [8, 16], [2, 2], [2, 2], [0, 0], [1, 1]),
            (5, [31, 31], [3, 3], [1, 1], [1, 1], [1, 1]),
            (1, [13, 17], [5, 3], [2, 1], [2, 2], [1, 1]),
            (17, [5, 7], [7, 7], [3, 3], [3, 3], [1, 1]),
            (33, [4, 5], [3, 2], [1, 4], [0, 1], [1, 3]),
            (2, [3, 300], [1, 3], [1, 2], [0, 1], [1, 5]),
            (3, [200, 3], [3, 1], [2, 1], [3, 0], [2, 1]),
            (16, [1, 16], [1, 2], [1, 1], [0, 0], [1, 1]),
        ],
    );
}

/// Planes too large or too few for one to be a lane: strips that begin in front of windows and end behind them, in one piece of the plane
/// and in several, and whose last one is not whole.
#[test]
fn sixteen_strips_of_a_plane() {
    check_each(
        83,
        &[
            (2, [57, 57], [3, 3], [1, 1], [1, 1], [1, 1]),
            (1, [127, 63], [3, 3], [2, 2], [1, 1], [1, 1]),
            (3, [64, 33], [5, 5], [2, 1], [0, 2], [1, 1]),
            (2, [90, 21], [3, 2], [3, 2], [4, 1], [2, 1]),
            (1, [200, 40], [7, 1], [1, 1], [0, 0], [1, 1]),
            (1, [40, 255], [2, 2], [2, 2], [0, 0], [1, 1]),
            (2, [48, 64], [3, 3], [1, 1], [1, 1], [1, 1]),
        ],
    );
}

/// Whatever there is, of both types on both sides.
#[test]
fn planes_of_every_size() {
    let mut rng = Rng::new(82);
    for soc in SOCS {
        for round in 0..60 {
            let dtype = rng.pick(dtypes(soc));
            let out_dtype = if round % 4 == 0 { rng.pick(dtypes(soc)) } else { dtype };
            let mut two = |most: usize, least: usize| [least + rng.below(most), least + rng.below(most)];
            let (kernel, stride, dilation, padding) = (two(5, 1), two(3, 1), two(3, 1), two(4, 0));
            let c = [1, 3, 8, 16, 21, 40][rng.below(6)];
            let per_block = 32 / dtype.size();
            let w = [per_block - 1, per_block, per_block + 1, 2 * per_block + 1, 1 + rng.below(70)][rng.below(5)];
            let h = 1 + [rng.below(8), rng.below(20), rng.below(40)][rng.below(3)];
            // Of a window that is wider than the padded image there is none.
            let fits = |size: usize, k: usize, d: usize, p: usize| d * (k - 1) < size + 2 * p;
            if !(fits(h, kernel[0], dilation[0], padding[0]) && fits(w, kernel[1], dilation[1], padding[1])) {
                continue;
            }
            let n = 1 + rng.below(2);
            let spec = Im2col { dtype, out_dtype, n, c, h, w, kernel, stride, padding, dilation, ..Im2col::default() };
            let kinds = kinds(&mut rng);
            let local_bytes = rng.pick(&[None, None, Some(184 << 10), Some(110 << 10)]);
            let at = At { local_bytes, ..At::cores(rng.pick(&[1, 2, 8])).on(soc) };
            check(&Problem::Im2colBackward(spec.problem()), &at, kinds, rng.next_u64());
        }
    }
}

/// An odd number of columns takes longer than the even one behind it, as planes or strips begin within blocks, but not by much.
#[test]
fn odd_columns_are_not_much_slower() {
    let soc = Soc::builtin("Ascend310P3").unwrap();
    let task_us = |dtype, w, kernel, stride, padding| {
        let spec = Im2col {
            dtype,
            out_dtype: dtype,
            n: 2,
            c: 64,
            h: w,
            w,
            kernel: [kernel; 2],
            stride: [stride; 2],
            padding: [padding; 2],
            ..Im2col::default()
        };
        let problem = Problem::Im2colBackward(spec.problem());
        let (_, program) = lower(&problem, &At::cores(8).on("Ascend310P3")).unwrap();
        simulate(&program, &soc, &Options::default()).unwrap().task_us
    };
    for dtype in [Dtype::F16, Dtype::F32] {
        for w in [7, 15, 31, 57] {
            for (kernel, stride, padding) in [(3, 1, 1), (2, 2, 0), (5, 2, 2), (3, 3, 1)] {
                let [odd, even] = [w, w + 1].map(|w| task_us(dtype, w, kernel, stride, padding));
                assert!(odd < 2.0 * even, "{dtype} {w} {kernel} {stride} {padding}: {odd} and {even}");
            }
        }
    }
}
