//! MaxUnpool2dBackward.

use ubtile_sim::lower::LowerError;
use ubtile_testkit::problems::MaxUnpool;
use ubtile_testkit::{Coordinates, Fill, IndexFill, Kinds, Rng};
use ubtile_tiling::{Dtype, Problem};

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

#[test]
fn a_conversion_is_no_gather() {
    let spec = MaxUnpool { dtype: Dtype::F32, out_dtype: Dtype::F16, ..MaxUnpool::default() };
    let lowered = lower(&Problem::MaxUnpool2dBackward(spec.problem()), &At::cores(1)).map(|_| ());
    assert_eq!(lowered, Err(LowerError::NotLowered("an out of another dtype than grad_output")));
}
