//! MaxUnpool2dBackward.

use ubtile_testkit::problems::MaxUnpool;
use ubtile_testkit::{Coordinates, Fill, IndexFill, Inputs, Kinds, Rng, bits_equal};
use ubtile_tiling::{Dtype, Problem, Tensor, can_cast};

use crate::both::{At, check, kernels, lower, run};

const DTYPES: [Dtype; 9] =
    [Dtype::F32, Dtype::F16, Dtype::Bf16, Dtype::I8, Dtype::U8, Dtype::I16, Dtype::I32, Dtype::I64, Dtype::Bool];

fn problem(dtype: Dtype, index_dtype: Dtype, [n, c, h, w]: [usize; 4], [out_h, out_w]: [usize; 2]) -> Problem {
    let spec = MaxUnpool { dtype, out_dtype: dtype, index_dtype, n, c, h, w, out_h, out_w, ..MaxUnpool::default() };
    Problem::MaxUnpool2dBackward(spec.problem())
}

fn kinds(rng: &mut Rng) -> Kinds {
    let indices = rng.pick(&[IndexFill::Permutation, IndexFill::Duplicates]);
    Kinds { values: rng.pick(&Fill::ALL), coordinates: Coordinates::Random, indices }
}

#[test]
fn sizes_around_lanes_and_blocks() {
    let mut rng = Rng::new(31);
    for dtype in DTYPES {
        for (h, w) in [(1, 1), (1, 7), (2, 4), (3, 3), (4, 4), (1, 33), (8, 8), (5, 13), (9, 15)] {
            let index = rng.pick(&[Dtype::I32, Dtype::I64]);
            let problem = problem(dtype, index, [1, 3, h, w], [2 * h, 2 * w + 1]);
            let kinds = kinds(&mut rng);
            check(&problem, &At::cores(rng.pick(&[1, 2, 48])), kinds, rng.next_u64());
        }
    }
}

#[test]
fn planes_in_slices() {
    let mut rng = Rng::new(32);
    for dtype in DTYPES {
        for index in [Dtype::I32, Dtype::I64] {
            let problem = problem(dtype, index, [1, 2, 31, 29], [61, 57]);
            for at in [
                At::cores(3).bytes(12 * 1024),
                At::cores(1).bytes(4 * 1024),
                At::cores(2).tile("tile_cells", 500),
                At::cores(2).tile("tile_elements", 100),
            ] {
                let kinds = kinds(&mut rng);
                check(&problem, &at, kinds, rng.next_u64());
            }
        }
    }
}

/// However small a slice is asked for, a plane of one block is not cut, and one of a little more is.
#[test]
fn slices_of_planes_around_a_block() {
    let mut rng = Rng::new(35);
    for dtype in DTYPES {
        let block = 32 / dtype.size();
        for width in [1, block.div_ceil(2), block.div_ceil(2) + 1, block + 1] {
            let problem = problem(dtype, Dtype::I32, [1, 2, 1, width], [2, width]);
            for tile in (1..=3).filter(|&tile| tile <= 2 * width) {
                let kinds = kinds(&mut rng);
                check(&problem, &At::cores(2).tile("tile_cells", tile), kinds, rng.next_u64());
            }
        }
    }
}

/// From each dtype to each that the contract converts it to.
#[test]
fn another_dtype_of_out() {
    let mut rng = Rng::new(33);
    let pairs = DTYPES.iter().flat_map(|from| DTYPES.iter().map(move |to| (*from, *to)));
    for (dtype, out_dtype) in pairs.filter(|(from, to)| from != to && can_cast(*from, *to)) {
        for (soc, at) in [
            ("Ascend910B1", At::cores(2)),
            ("Ascend910B1", At::cores(1).tile("tile_cells", 40)),
            ("Ascend910A", At::cores(1)),
        ] {
            let [h, w] = [2 + rng.below(8), 14 + rng.below(30)];
            let spec = MaxUnpool { dtype, out_dtype, c: 2, h, w, out_h: 2 * h, out_w: w + 3, ..MaxUnpool::default() };
            let problem = Problem::MaxUnpool2dBackward(spec.problem());
            let bf16 = [dtype, out_dtype].contains(&Dtype::Bf16);
            if soc == "Ascend910A" && bf16 {
                continue;
            }
            let kinds = kinds(&mut rng);
            check(&problem, &at.on(soc), kinds, rng.next_u64());
        }
    }
}

/// Beside the middle between two BF16, by less than F32 shows: rounded to F32 first, they would be the middle.
#[test]
fn integers_beside_a_tie() {
    for (dtype, tie) in [(Dtype::I32, (1i64 << 30) + (1 << 22)), (Dtype::I64, (1 << 60) + (1 << 52))] {
        let numbers = [tie, tie + 1, tie - 1, -tie, -tie - 1, 1 - tie, tie + (tie & -tie) * 2 - 1, 3];
        let spec =
            MaxUnpool { dtype, out_dtype: Dtype::Bf16, h: 4, w: 16, out_h: 8, out_w: 16, ..MaxUnpool::default() };
        let problem = Problem::MaxUnpool2dBackward(spec.problem());
        let kinds = Kinds { values: Fill::Integers, coordinates: Coordinates::Random, indices: IndexFill::Permutation };
        let mut inputs = Inputs::random(&problem, kinds, &mut Rng::new(34));
        for (tensor, data) in inputs.tensors_mut() {
            for offset in data.offsets().filter(|_| tensor == Tensor::GradOutput) {
                data.set_bits(offset, numbers[offset % numbers.len()].cast_unsigned());
            }
        }
        let (_, program) = lower(&problem, &At::cores(1)).unwrap();
        let got = run(&program, &inputs, None).unwrap();
        for ((_, got), (_, expected)) in got.iter().zip(kernels(&problem, &inputs)) {
            bits_equal(got, &expected).unwrap_or_else(|e| panic!("{dtype}: {e}"));
        }
    }
}
