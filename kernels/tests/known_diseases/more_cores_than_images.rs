//! Sums whose order follows the number of cores: with fewer images than cores some implementations share an image out.

use ubtile_kernels::Level;
use ubtile_testkit::problems::{GridSampler, Im2col, MaxUnpool, ReplicationPad};
use ubtile_testkit::{Coordinates, Fill, IndexFill, Inputs, Kinds, Rng};
use ubtile_tiling::{Dtype, PlanOptions, Problem};

use crate::run::{Way, run, same_bits};

/// Collisions and cancellation: any other order of the sums shows.
const KINDS: Kinds = Kinds { values: Fill::Uniform, coordinates: Coordinates::Collide, indices: IndexFill::Duplicates };

const FLOATS: [Dtype; 4] = [Dtype::F32, Dtype::F16, Dtype::Bf16, Dtype::F64];
const COMPLEX: [Dtype; 2] = [Dtype::C64, Dtype::C128];
const INTEGERS: [Dtype; 6] = [Dtype::I8, Dtype::U8, Dtype::I16, Dtype::I32, Dtype::I64, Dtype::Bool];

/// Of one dtype, where an operator has it.
fn problems(dtype: Dtype, n: usize) -> Vec<Problem> {
    let pad = ReplicationPad { dtype, n, padding: [9, 20, 30, 5], ..Default::default() };
    let pad = || Problem::ReplicationPad2dBackward(pad.problem());
    let unpool = MaxUnpool { dtype, n, out_dtype: dtype, ..Default::default() };
    let unpool = || Problem::MaxUnpool2dBackward(unpool.problem());
    if COMPLEX.contains(&dtype) {
        return vec![pad()];
    }
    if INTEGERS.contains(&dtype) {
        return vec![unpool()];
    }
    let mut problems: Vec<_> = GridSampler::modes()
        .step_by(5)
        .flat_map(|mode| [1, 9, 70, 200].map(|c| GridSampler { dtype, n, c, ho: 9, wo: 9, ..mode }))
        .map(|spec| Problem::GridSampler2dBackward(spec.problem()))
        .collect();
    let fold = Im2col { dtype, n, out_dtype: dtype, kernel: [3, 3], padding: [1, 1], ..Default::default() };
    problems.extend([pad(), Problem::Im2colBackward(fold.problem()), unpool()]);
    problems
}

#[test]
fn determinism_with_more_cores_than_images() {
    for dtype in FLOATS.into_iter().chain(COMPLEX).chain(INTEGERS) {
        for n in 1..=3 {
            determinism(dtype, n);
        }
    }
}

fn determinism(dtype: Dtype, n: usize) {
    for problem in problems(dtype, n) {
        let inputs = Inputs::random(&problem, KINDS, &mut Rng::new(n as u64));
        let plain = run(&problem, &inputs, Way::plain(Level::scalar())).unwrap();
        for cores in [n, n + 1, 2 * n + 1, 24, 48] {
            for workspace_limit in [None, Some(0)] {
                let options = PlanOptions { workspace_limit, ..Default::default() };
                let way = Way { level: Level::detect(), cores, options };
                same_bits(&run(&problem, &inputs, way).unwrap(), &plain, &format!("{problem:?} {way:?}"));
            }
        }
    }
}
