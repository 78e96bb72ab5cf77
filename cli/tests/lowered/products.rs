//! All four operators on products that lack what Atlas A2 has.

mod grid_sampler_2d_backward;
mod im2col_backward;
mod replication_pad2d_backward;

use ubtile_sim::clock::{Options, simulate};
use ubtile_sim::lower::LowerError;
use ubtile_sim::product::{Grade, Soc};
use ubtile_sim::program::Action;
use ubtile_testkit::problems::{GridSampler, Im2col, MaxUnpool, ReplicationPad};
use ubtile_testkit::{Coordinates, Fill, IndexFill, Kinds, Rng};
use ubtile_tiling::{Dtype, Problem};

use crate::both::{At, check, lower, steps};

/// One of each family; the second two have neither copies of single bytes nor BF16, the last of them no gather either.
const SOCS: [&str; 4] = ["Ascend310B1", "Ascend910_95", "Ascend310P3", "Ascend910A"];

fn dtypes(soc: &str) -> &'static [Dtype] {
    const ALL: [Dtype; 3] = [Dtype::F32, Dtype::F16, Dtype::Bf16];
    if matches!(soc, "Ascend310P3" | "Ascend910A") { &ALL[..2] } else { &ALL }
}

fn kinds(rng: &mut Rng) -> Kinds {
    let (values, coordinates) = (rng.pick(&Fill::ALL), rng.pick(&Coordinates::ALL));
    Kinds { values, coordinates, indices: rng.pick(&[IndexFill::Permutation, IndexFill::Duplicates]) }
}

/// Planes `[h, w]` of one image from planes `[out_h, out_w]`.
fn unpool([dtype, out_dtype, index_dtype]: [Dtype; 3], c: usize, [h, w, out_h, out_w]: [usize; 4]) -> Problem {
    let spec = MaxUnpool { dtype, out_dtype, index_dtype, n: 1, c, h, w, out_h, out_w, ..MaxUnpool::default() };
    Problem::MaxUnpool2dBackward(spec.problem())
}

fn at(soc: &'static str, rng: &mut Rng) -> At {
    At::cores(if soc == "Ascend310B1" { 1 } else { rng.pick(&[1, 2, 8]) }).on(soc)
}

/// Rows that no copy of blocks takes, more and longer ones than are shifted at a time: of each distance from a block.
#[test]
fn many_rows_between_blocks() {
    let mut rng = Rng::new(65);
    for soc in ["Ascend310P3", "Ascend910A"] {
        for (h, w) in
            [(70, 126), (20, 127), (95, 125), (37, 62), (200, 9), (20, 260), (9, 1001), (5, 2100), (3, 4099), (1, 9001)]
        {
            for dtype in dtypes(soc) {
                let padding = [0; 4].map(|_| rng.pick(&[0, 1, 1, 2, 8]));
                let pad = ReplicationPad { dtype: *dtype, n: 1, c: 1, h, w, padding, ..ReplicationPad::default() };
                let local_bytes = rng.pick(&[None, None, None, Some(60 << 10), Some(34 << 10)]);
                let at = At { local_bytes, ..At::cores(rng.pick(&[1, 2])).on(soc) };
                let kinds = kinds(&mut rng);
                check(&Problem::ReplicationPad2dBackward(pad.problem()), &at, kinds, rng.next_u64());
                let (kernel, padding) = ([1, 1 + rng.below(3)], [0, rng.below(3)]);
                let im2col =
                    Im2col { dtype: *dtype, out_dtype: *dtype, n: 1, c: 1, h, w, kernel, padding, ..Im2col::default() };
                let kinds = self::kinds(&mut rng);
                check(&Problem::Im2colBackward(im2col.problem()), &at, kinds, rng.next_u64());
            }
        }
    }
}

#[test]
fn im2col() {
    let mut rng = Rng::new(62);
    for soc in SOCS {
        for round in 0..20 {
            let dtype = dtypes(soc)[round % dtypes(soc).len()];
            let w = [16, 32, 3 + rng.below(30)][rng.below(3)];
            let (kernel, stride) = ([1 + rng.below(3), 1 + rng.below(3)], [1 + rng.below(2), 1 + rng.below(3)]);
            let padding = [rng.below(2), rng.below(9)];
            let (n, c, h) = (1, 1 + rng.below(3), 3 + rng.below(8));
            let spec = Im2col { dtype, out_dtype: dtype, n, c, h, w, kernel, stride, padding, ..Im2col::default() };
            let kinds = kinds(&mut rng);
            check(&Problem::Im2colBackward(spec.problem()), &at(soc, &mut rng), kinds, rng.next_u64());
        }
    }
}

/// More rows than transpositions take at once, in one piece and in several, and rows of windows that lie side by side by their remainder.
#[test]
fn columns_of_im2col_in_order() {
    let mut rng = Rng::new(67);
    for soc in SOCS {
        for dtype in dtypes(soc) {
            for (h, w, kernel, stride) in
                [(40, 30, [3, 3], [2, 2]), (37, 13, [2, 3], [1, 5]), (3, 5, [2, 2], [2, 7]), (35, 1100, [2, 2], [2, 2])]
            {
                let spec = Im2col {
                    dtype: *dtype,
                    out_dtype: *dtype,
                    n: 1,
                    c: 1,
                    h,
                    w,
                    kernel,
                    stride,
                    padding: [1, 1],
                    ..Im2col::default()
                };
                let kinds = kinds(&mut rng);
                check(&Problem::Im2colBackward(spec.problem()), &at(soc, &mut rng), kinds, rng.next_u64());
            }
        }
    }
}

#[test]
fn max_unpool() {
    const ALL: [Dtype; 7] = [Dtype::F32, Dtype::F16, Dtype::I8, Dtype::U8, Dtype::I32, Dtype::I64, Dtype::Bool];
    let mut rng = Rng::new(63);
    for soc in SOCS {
        for dtype in ALL {
            for index_dtype in [Dtype::I32, Dtype::I64] {
                let [h, w] = [1 + rng.below(9), [8, 16, 1 + rng.below(20)][rng.below(3)]];
                let problem = unpool([dtype, dtype, index_dtype], 1 + rng.below(3), [h, w, 2 * h, 2 * w]);
                let at = if rng.below(4) == 0 { at(soc, &mut rng).bytes(4096) } else { at(soc, &mut rng) };
                let kinds = kinds(&mut rng);
                check(&problem, &at, kinds, rng.next_u64());
            }
        }
    }
}

#[test]
fn runs_of_indices_that_memory_cuts_end_with_a_block() {
    let mut rng = Rng::new(66);
    for (dtype, index_dtype) in [(Dtype::F16, Dtype::I64), (Dtype::F32, Dtype::I32), (Dtype::I8, Dtype::I64)] {
        let problem = unpool([dtype, dtype, index_dtype], 2, [32, 48, 64, 96]);
        let at = At::cores(2).on("Ascend310P3").bytes(64 << 10);
        let (_, program) = lower(&problem, &at).unwrap();
        let written = steps(&program, |action| u64::from(matches!(action, Action::Write(_))));
        // Offsets that are made one by one, and no element of the output.
        assert!(written.iter().all(|written| *written < 64), "{dtype}: {written:?}");
        let kinds = kinds(&mut rng);
        check(&problem, &at, kinds, rng.next_u64());
    }
}

/// Planes of `grad_output` come as the blocks that they lie in, also the last one of a tensor that ends within a block; runs begin with a
/// block, and what a plane leaves of one waits for the next plane.
#[test]
fn unpooled_planes_that_begin_within_blocks() {
    let mut rng = Rng::new(67);
    for soc in ["Ascend310P3", "Ascend910A"] {
        for (dtype, out_dtype) in [
            (Dtype::F16, Dtype::F16),
            (Dtype::F32, Dtype::F32),
            (Dtype::I8, Dtype::I8),
            (Dtype::I64, Dtype::I64),
            (Dtype::U8, Dtype::F32),
            (Dtype::I64, Dtype::I8),
        ] {
            for (c, sizes) in [
                (5, [3, 5, 7, 9]),
                (3, [37, 45, 75, 91]),
                (2, [61, 57, 121, 113]),
                (1, [1, 1, 3, 1]),
                (67, [1, 1, 1, 3]),
                (35, [1, 3, 3, 5]),
                (11, [7, 7, 14, 14]),
            ] {
                let problem = unpool([dtype, out_dtype, rng.pick(&[Dtype::I32, Dtype::I64])], c, sizes);
                let local_bytes = rng.pick(&[None, None, Some(64 << 10), Some(40 << 10), Some(8 << 10)]);
                let at = At { local_bytes, ..At::cores(rng.pick(&[1, 2, 8])).on(soc) };
                let kinds = kinds(&mut rng);
                check(&problem, &at, kinds, rng.next_u64());
            }
        }
        for _ in 0..60 {
            let dtype = rng.pick(&[Dtype::F16, Dtype::F32, Dtype::U8, Dtype::Bool, Dtype::I16, Dtype::I64]);
            let [h, w] = [1 + rng.below(12), 1 + rng.below(40)];
            let sizes = [h, w, h + rng.below(30), 1 + rng.below(2 * w + 9)];
            let problem = unpool([dtype, dtype, rng.pick(&[Dtype::I32, Dtype::I64])], 1 + rng.below(9), sizes);
            let at = At::cores(rng.pick(&[1, 2, 8])).on(soc);
            let at = match rng.below(6) {
                0 => at.tile("tile_elements", 33.min(h * w)),
                1 => at.bytes(8 << 10),
                2 => at.tile("tile_cells", 70.min(sizes[2] * sizes[3])),
                _ => at,
            };
            let kinds = kinds(&mut rng);
            check(&problem, &at, kinds, rng.next_u64());
        }
    }
    for dtype in [Dtype::F16, Dtype::F32, Dtype::I8] {
        let problem = unpool([dtype, dtype, Dtype::I64], 3, [61, 57, 121, 113]);
        let (_, program) = lower(&problem, &At::cores(1).on("Ascend310P3")).unwrap();
        let written = steps(&program, |action| u64::from(matches!(action, Action::Write(_))));
        // Offsets of every second word, and what tensors have behind their last whole block.
        assert!(written.iter().all(|written| *written < 96), "{dtype}: {written:?}");
    }
}

#[test]
fn every_soc_has_a_time_and_says_how_well_founded() {
    for soc in Soc::names() {
        for problem in [
            Problem::GridSampler2dBackward(
                GridSampler { hi: 9, wi: 7, ho: 5, wo: 5, ..GridSampler::default() }.problem(),
            ),
            Problem::MaxUnpool2dBackward(
                MaxUnpool { h: 4, w: 8, out_h: 8, out_w: 16, ..MaxUnpool::default() }.problem(),
            ),
            Problem::ReplicationPad2dBackward(
                ReplicationPad { h: 9, w: 7, padding: [1; 4], ..ReplicationPad::default() }.problem(),
            ),
            Problem::Im2colBackward(
                Im2col { h: 9, w: 7, kernel: [3; 2], padding: [1; 2], ..Im2col::default() }.problem(),
            ),
        ] {
            let (_, program) =
                lower(&problem, &At::cores(1).on(soc)).unwrap_or_else(|e| panic!("{soc} {problem:?}: {e}"));
            let on = Soc::builtin(soc).unwrap();
            let timing =
                simulate(&program, &on, &Options::default()).unwrap_or_else(|e| panic!("{soc} {problem:?}: {e}"));
            assert!(timing.task_us > 1.0 && timing.grade == Grade::Guess, "{soc} {problem:?}");
        }
    }
}

#[test]
fn what_no_unit_computes_says_so() {
    for soc in ["Ascend310P3", "Ascend910A"] {
        let spec = Im2col { dtype: Dtype::Bf16, out_dtype: Dtype::Bf16, ..Im2col::default() };
        let lowered = lower(&Problem::Im2colBackward(spec.problem()), &At::cores(1).on(soc)).map(|_| ());
        assert_eq!(lowered, Err(LowerError::NotOnCore(Dtype::Bf16)));
    }
}
