//! MaxUnpool2dBackward.

use ubtile_sim::lower::LowerError;
use ubtile_testkit::problems::MaxUnpool;
use ubtile_testkit::{Coordinates, Fill, IndexFill, Kinds, Rng};
use ubtile_tiling::{Dtype, Problem, can_cast};

use crate::both::{At, check, lower};

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
            if out_dtype == Dtype::Bf16 && matches!(dtype, Dtype::I32 | Dtype::I64) {
                let refused = lower(&problem, &at.on(soc)).map(|_| ());
                assert_eq!(refused, Err(LowerError::NotLowered("BF16 from integers of 32 and 64 bits")));
                continue;
            }
            let kinds = kinds(&mut rng);
            check(&problem, &at.on(soc), kinds, rng.next_u64());
        }
    }
}
