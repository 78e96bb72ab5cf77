//! The vendor's kernels with its tilings: what the reference expects, as closely as it asks, without any finding of the sanitizer.

use ubtile_sim::aclnn::Device;
use ubtile_sim::lower::{LowerError, transposed, vendor};
use ubtile_sim::product::Soc;
use ubtile_sim::program::{Program, Role};
use ubtile_sim::sanitize::sanitize;
use ubtile_sim::text;
use ubtile_testkit::problems::{GridSampler, Im2col, MaxUnpool, ReplicationPad};
use ubtile_testkit::{Coordinates, Data, Fill, IndexFill, Inputs, Kinds, Rng, compare, expected};
use ubtile_tiling::grid_sampler_2d_backward::{Interpolation, PaddingMode};
use ubtile_tiling::{Dtype, Problem, Tensor, TensorDesc, VendorMachine, VendorPlan, vendor_plan};

use crate::both::{global, run};

const DTYPES: [Dtype; 3] = [Dtype::F32, Dtype::F16, Dtype::Bf16];

fn soc() -> Soc {
    Soc::builtin("Ascend910B1").unwrap()
}

/// The vendor's tiling for so many cores, with another `ubFactorElement` if it is given.
fn tiling(problem: &Problem, cores: usize, factor: Option<usize>, deterministic: bool) -> VendorPlan {
    let machine = Device::of(&soc()).unwrap().machine().unwrap();
    let plan = vendor_plan(problem, &VendorMachine { vector_cores: cores, deterministic, ..machine }).unwrap();
    factor.map_or(plan, |factor| plan.with_factor("ubFactorElement", factor).unwrap())
}

/// Values of one order in the other: all tensors of the grid sampler but the grid's have their channels last in the program.
fn reordered(problem: &Problem, tensor: Tensor, bytes: &[u8], last: bool) -> Vec<u8> {
    let Problem::GridSampler2dBackward(p) = problem else { return bytes.to_vec() };
    let positions = match tensor {
        Tensor::GradOutput => p.ho * p.wo,
        Tensor::Input | Tensor::InputGrad => p.hi * p.wi,
        _ => return bytes.to_vec(),
    };
    let shape = if last { [p.n, p.c, positions] } else { [p.n, positions, p.c] };
    transposed(bytes, shape, p.dtype.size())
}

/// The program, its results in three orders, and what the sanitizer finds.
fn check(problem: &Problem, plan: &VendorPlan, kinds: Kinds, rng: &mut Rng) -> Program {
    let program = vendor(problem, plan, &soc()).unwrap_or_else(|e| panic!("{problem:?}: {e}"));
    let inputs = Inputs::random(problem, kinds, rng);
    let wanted = expected(problem, &inputs).unwrap();
    let mut given = inputs;
    for (tensor, data) in given.tensors_mut() {
        let bytes = reordered(problem, tensor, data.bytes(), true);
        data.bytes_mut().copy_from_slice(&bytes);
    }
    let found = sanitize(&program, Some(global(&program, &given))).unwrap();
    assert!(found.is_empty(), "{problem:?} {plan:?}: {found:#?}\n{}", text::print(program.source()));
    for order in [None, Some(rng.next_u64()), Some(rng.next_u64())] {
        let got = run(&program, &given, order).unwrap_or_else(|e| panic!("{problem:?} {order:?}: {e}"));
        assert_eq!(got.len(), wanted.len());
        for (tensor, want) in &wanted {
            let (_, result) = got.iter().find(|(found, _)| found == tensor).unwrap();
            let shape = want.to_data().desc().shape;
            let mut data = Data::filled(TensorDesc::contiguous(result.dtype(), shape.as_slice()).unwrap(), 0);
            data.bytes_mut().copy_from_slice(&reordered(problem, *tensor, result.bytes(), false));
            if *tensor == Tensor::GridGrad {
                without_negative_zeros(&mut data);
            }
            if let Err(e) = compare(&data, want) {
                panic!("{problem:?} {kinds:?} order {order:?}: {tensor}: {e}\n{}", text::print(program.source()));
            }
        }
    }
    program
}

/// A point without pixels has the gradient 0 with the sign of its multiplier, which mirroring turns.
fn without_negative_zeros(data: &mut Data) {
    let size = data.dtype().size();
    for element in data.bytes_mut().chunks_exact_mut(size) {
        if let [rest @ .., last @ 0x80] = element
            && rest.iter().all(|byte| *byte == 0)
        {
            *last = 0;
        }
    }
}

fn kinds(rng: &mut Rng) -> Kinds {
    let coordinates = rng.pick(&Coordinates::ALL);
    Kinds { values: Fill::Uniform, coordinates, indices: IndexFill::Permutation }
}

/// A key in f32, sizes of `grad_input`, paddings, and how many elements at a time.
type Case = (usize, [usize; 2], [i64; 4], Option<usize>);

fn pad(dtype: Dtype, [n, c]: [usize; 2], [h, w]: [usize; 2], padding: [i64; 4]) -> Problem {
    let spec = ReplicationPad { dtype, n, c, h, w, padding, ..ReplicationPad::default() };
    Problem::ReplicationPad2dBackward(spec.problem())
}

#[test]
fn every_kernel_of_replication_padding() {
    let mut rng = Rng::new(51);
    let cases: &[Case] = &[
        (1000, [1, 1], [7, 7, 7, 7], None),
        (1000, [1, 17], [2, 0, 0, 1], None),
        (1000, [16, 15], [1, 1, 1, 1], None),
        (1000, [31, 50], [7, 7, 7, 7], None),
        (1000, [64, 64], [0, 0, 0, 0], None),
        (1000, [62, 33], [0, 3, 2, 0], None),
        (1100, [3, 65], [1, 1, 1, 1], None),
        (1100, [50, 66], [7, 7, 7, 7], None),
        (1100, [9, 159], [3, 4, 5, 6], Some(32)),
        (1100, [1, 210], [0, 7, 7, 0], Some(64)),
        (1100, [17, 81], [0, 0, 0, 0], Some(48)),
        (1010, [65, 1], [1, 1, 1, 1], None),
        (1010, [66, 50], [7, 7, 7, 7], None),
        (1010, [159, 9], [4, 3, 6, 5], Some(32)),
        (1010, [210, 2], [7, 0, 0, 7], Some(64)),
        (1111, [51, 51], [7, 7, 7, 7], None),
        (1111, [64, 300], [1, 2, 3, 4], Some(64)),
        (1111, [301, 65], [7, 0, 0, 7], Some(64)),
        (1111, [70, 70], [0, 0, 0, 0], None),
        (1101, [3, 1], [5, 6, 0, 0], None),
        (1101, [2, 1], [0, 40, 0, 0], None),
        (1101, [4, 130], [1, 0, 0, 0], Some(64)),
        (1101, [2, 9], [33, 7, 0, 0], None),
        (1110, [1, 5], [0, 0, 3, 4], None),
        (1110, [2, 130], [0, 0, 1, 0], Some(64)),
        (1110, [9, 70], [0, 0, 7, 7], Some(64)),
        (1000, [9, 9], [15, 15, 15, 15], None),
        (1111, [70, 70], [15, 15, 15, 15], None),
    ];
    for (i, &(key, size, padding, factor)) in cases.iter().enumerate() {
        for (dtype, more) in DTYPES.into_iter().zip([0, 1000, 2000]) {
            let problem = pad(dtype, [1 + i % 2, 3], size, padding);
            let factor = factor.map(|factor| if key == 1111 && more > 0 { 2 * factor } else { factor });
            let factor = factor.map(|factor| if matches!(key, 1101 | 1110) && more > 0 { 128 } else { factor });
            let plan = tiling(&problem, rng.pick(&[1, 2, 48]), factor, false);
            assert_eq!(plan.tiling_key(), key + more, "{problem:?}");
            let kinds = kinds(&mut rng);
            check(&problem, &plan, kinds, &mut rng);
        }
    }
}

#[test]
fn grid_sampling_with_each_mode() {
    let mut rng = Rng::new(52);
    for mode in GridSampler::modes().filter(|mode| mode.interpolation != Interpolation::Bicubic) {
        for dtype in DTYPES {
            let [hi, wi, ho, wo] = [1 + rng.below(9), 1 + rng.below(18), 1 + rng.below(9), 1 + rng.below(9)];
            let (n, c) = (1 + rng.below(3), rng.pick(&[1, 3, 17, 64, 65, 130, 300, 520]));
            let problem = Problem::GridSampler2dBackward(GridSampler { dtype, n, c, hi, wi, ho, wo, ..mode }.problem());
            let plan = tiling(&problem, rng.pick(&[1, 5, 48]), None, rng.below(2) == 0);
            let kinds = kinds(&mut rng);
            check(&problem, &plan, kinds, &mut rng);
        }
    }
}

#[test]
fn grid_sampling_in_several_chunks() {
    let mut rng = Rng::new(53);
    for (interpolation, dtype) in [
        (Interpolation::Bilinear, Dtype::F32),
        (Interpolation::Bilinear, Dtype::Bf16),
        (Interpolation::Nearest, Dtype::F32),
        (Interpolation::Nearest, Dtype::F16),
    ] {
        let mode = GridSampler { interpolation, padding_mode: PaddingMode::Reflection, ..GridSampler::default() };
        let problem = GridSampler { dtype, n: 3, c: 5, hi: 7, wi: 6, ho: 11, wo: 13, ..mode }.problem();
        let problem = Problem::GridSampler2dBackward(problem);
        let plan = tiling(&problem, 2, Some(64), false);
        let kinds = kinds(&mut rng);
        check(&problem, &plan, kinds, &mut rng);
    }
}

#[test]
fn grid_sampling_in_chunks_of_more_repeats_than_a_block_has_lanes() {
    let mut rng = Rng::new(55);
    for [ho, wo] in [[16, 33], [25, 41], [61, 67]] {
        let (interpolation, padding_mode) = (Interpolation::Nearest, PaddingMode::Reflection);
        let mode = GridSampler { interpolation, padding_mode, ..GridSampler::default() };
        let problem = Problem::GridSampler2dBackward(GridSampler { hi: 3, wi: 3, ho, wo, ..mode }.problem());
        let kinds = kinds(&mut rng);
        check(&problem, &tiling(&problem, 1, None, false), kinds, &mut rng);
    }
}

#[test]
fn what_nobody_wants_is_computed_too() {
    let mut rng = Rng::new(54);
    for (output_mask, dtype) in [([true, false], Dtype::F32), ([false, true], Dtype::F32), ([false, true], Dtype::F16)]
    {
        let problem =
            Problem::GridSampler2dBackward(GridSampler { output_mask, dtype, ..GridSampler::default() }.problem());
        let kinds = kinds(&mut rng);
        let program = check(&problem, &tiling(&problem, 48, None, false), kinds, &mut rng);
        let tensors = program.source().tensors.iter();
        let results: Vec<_> = tensors.filter(|tensor| tensor.role.is_result()).map(|tensor| &tensor.name).collect();
        assert_eq!(results, [if output_mask[0] { "input_grad" } else { "grid_grad" }]);
    }
}

#[test]
fn only_f16_and_bf16_have_sums_in_the_workspace() {
    for (dtype, cores) in [(Dtype::F32, 48), (Dtype::F16, 1)] {
        let problem = GridSampler { dtype, hi: 9, wi: 9, ho: 9, wo: 9, ..GridSampler::default() }.problem();
        let problem = Problem::GridSampler2dBackward(problem);
        let program = vendor(&problem, &tiling(&problem, 48, None, false), &soc()).unwrap();
        let sums = program.source().tensors.iter().filter(|tensor| tensor.role == Role::Workspace).count();
        assert_eq!((program.source().cores, sums), (cores, usize::from(dtype == Dtype::F16)));
    }
}

#[test]
fn what_is_not_lowered_says_so() {
    let bicubic = GridSampler { interpolation: Interpolation::Bicubic, ..GridSampler::default() }.problem();
    let bicubic = Problem::GridSampler2dBackward(bicubic);
    let one_row = pad(Dtype::F32, [1, 1], [1, 80], [1, 1, 40, 40]);
    let deep = |size, padding| {
        (pad(Dtype::F32, [1, 1], size, padding), "padding of 16 or more together with the other direction's")
    };
    for (problem, what) in [
        (bicubic, "the vendor's bicubic interpolation"),
        (one_row, "the vendor's kernel for one row of large planes"),
        deep([100, 100], [17, 0, 1, 0]),
        deep([9, 9], [0, 1, 0, 16]),
        deep([9, 100], [0, 16, 1, 0]),
    ] {
        let lowered = vendor(&problem, &tiling(&problem, 48, None, false), &soc()).map(|_| ());
        assert_eq!(lowered, Err(LowerError::NotLowered(what)));
    }
    let plan = tiling(&pad(Dtype::F32, [1, 1], [4, 4], [1, 1, 1, 1]), 48, None, false);
    for problem in [
        Problem::Im2colBackward(Im2col::default().problem()),
        Problem::MaxUnpool2dBackward(MaxUnpool::default().problem()),
    ] {
        assert!(matches!(vendor(&problem, &plan, &soc()), Err(LowerError::NotLowered(_))));
    }
}
