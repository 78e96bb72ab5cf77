//! Coordinates that are not finite, or beyond what an index can be.

use ubtile_kernels::Level;
use ubtile_testkit::problems::GridSampler;
use ubtile_testkit::{Data, Inputs, reference};
use ubtile_tiling::grid_sampler_2d_backward::{Interpolation, PaddingMode, Problem as GridProblem};
use ubtile_tiling::{Dtype, Problem, Tensor, TensorDesc};

use crate::run::{Way, numbers, run};

/// Odd sizes: the middle of the grid, 0, is the centre of a pixel for either value of `align_corners`.
const SIZE: usize = 5;
const MIDDLE: usize = 2;

/// All of `grad_output`; whole numbers, so that sums of them are exact.
const GRADIENT: f64 = 3.0;

/// One point at `coordinates`, where every channel of the image holds its column's number times 4 plus its row's.
fn one_point(spec: &GridSampler, coordinates: [f64; 2]) -> (Problem, Inputs) {
    let problem: GridProblem = spec.problem();
    let tensor = |shape: &[usize]| TensorDesc::contiguous(spec.dtype, shape).unwrap();
    let image = tensor(&[1, spec.c, SIZE, SIZE]);
    let inputs = reference::grid_sampler_2d_backward::Inputs {
        grad_output: Data::from_fn(tensor(&[1, spec.c, 1, 1]), |_| GRADIENT),
        input: Data::from_fn(image, |i| (i % SIZE * 4 + i / SIZE % SIZE) as f64),
        grid: Data::from_fn(tensor(&[1, 1, 1, 2]), |i| coordinates[i]),
    };
    (Problem::GridSampler2dBackward(problem), Inputs::GridSampler2dBackward(inputs))
}

/// Where a coordinate ends up.
#[derive(Debug, PartialEq)]
enum Fate {
    /// Outside: nothing is touched, and the gradients of the grid are 0.
    Nothing,
    /// On that pixel, whose edge it was moved to: the gradient along this axis is 0.
    Edge(usize),
    /// Somewhere in the image.
    Inside,
}

fn fate(spec: &GridSampler, coordinate: f64) -> Fate {
    // The centre of a bicubic point is neither clipped nor reflected.
    if coordinate.is_nan() || spec.interpolation == Interpolation::Bicubic {
        return Fate::Nothing;
    }
    match spec.padding_mode {
        PaddingMode::Zeros => Fate::Nothing,
        PaddingMode::Border => Fate::Edge(if coordinate < 0.0 { 0 } else { SIZE - 1 }),
        PaddingMode::Reflection if coordinate.is_infinite() => Fate::Nothing,
        PaddingMode::Reflection => Fate::Inside,
    }
}

#[test]
fn infinite_and_nan_and_huge_coordinates() {
    let finite = [3e9, -3e9, 1e30, -1e30];
    let specials = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY].into_iter().chain(finite);
    for (coordinate, dtype) in specials.flat_map(|x| [Dtype::F32, Dtype::F64, Dtype::Bf16].map(|d| (x, d))) {
        for (mode, axis) in GridSampler::modes().flat_map(|mode| [(mode, 0), (mode, 1)]) {
            // One channel, and enough for every vector with some left over.
            for c in [1, 19] {
                let spec = GridSampler { dtype, n: 1, c, hi: SIZE, wi: SIZE, ho: 1, wo: 1, ..mode };
                let mut coordinates = [0.0; 2];
                coordinates[axis] = coordinate;
                let (problem, inputs) = one_point(&spec, coordinates);
                for level in Level::available() {
                    let outputs = run(&problem, &inputs, Way::plain(level)).unwrap();
                    let what = format!("{coordinate} on axis {axis}, {level}, {spec:?}");
                    let (dx, dg) = (numbers(&outputs, Tensor::InputGrad), numbers(&outputs, Tensor::GridGrad));
                    judge(&fate(&spec, coordinate), &spec, axis, &dx, &dg, &what);
                }
            }
        }
    }
}

fn judge(fate: &Fate, spec: &GridSampler, axis: usize, dx: &[f64], dg: &[f64], what: &str) {
    assert!(dx.iter().chain(dg).all(|x| x.is_finite()), "{what}: {dx:?} {dg:?}");
    for plane in dx.chunks_exact(SIZE * SIZE) {
        match *fate {
            Fate::Nothing => assert!(plane.iter().all(|&x| x == 0.0), "{what}: {plane:?}"),
            Fate::Edge(pixel) => {
                let (x, y) = if axis == 0 { (pixel, MIDDLE) } else { (MIDDLE, pixel) };
                for (i, &got) in plane.iter().enumerate() {
                    assert_eq!(got, if i == y * SIZE + x { GRADIENT } else { 0.0 }, "{what}: pixel {i}");
                }
            }
            Fate::Inside => {
                // The weights of a point inside add up to 1.
                let sum: f64 = plane.iter().sum();
                assert!((sum - GRADIENT).abs() <= GRADIENT * 2f64.powi(-7), "{what}: {sum} of {plane:?}");
            }
        }
    }
    let flat = spec.interpolation == Interpolation::Nearest;
    assert!(!(flat || *fate == Fate::Nothing) || dg == [0.0, 0.0], "{what}: {dg:?}");
    assert!(!matches!(fate, Fate::Edge(_)) || dg[axis] == 0.0, "{what}: {dg:?}");
}

/// A grid of nothing but NaN and infinities between ordinary points leaves the ordinary ones' gradients as they are.
#[test]
fn a_special_coordinate_leaves_its_neighbours_alone() {
    for mode in GridSampler::modes() {
        let spec = GridSampler { n: 1, c: 9, hi: SIZE, wi: SIZE, ho: 3, wo: 11, ..mode };
        let (problem, Inputs::GridSampler2dBackward(mut inputs)) = one_point(&spec, [0.0; 2]) else { unreachable!() };
        let points = |first: f64| {
            let grid = TensorDesc::contiguous(spec.dtype, &[1, 3, 11, 2]).unwrap();
            // Every third point is as said; the others lie everywhere.
            Data::from_fn(grid, |i| if i / 2 % 3 == 0 { first } else { (i * 7 % 33) as f64 / 16.0 - 1.0 })
        };
        inputs.grad_output =
            Data::from_fn(TensorDesc::contiguous(spec.dtype, &[1, 9, 3, 11]).unwrap(), |i| (i % 8) as f64);
        let mut with = |first: f64, level: Level| {
            inputs.grid = points(first);
            run(&problem, &Inputs::GridSampler2dBackward(inputs.clone()), Way::plain(level)).unwrap()
        };
        for level in Level::available() {
            let ordinary = numbers(&with(0.25, level), Tensor::GridGrad);
            for special in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                let got = numbers(&with(special, level), Tensor::GridGrad);
                for (i, (got, ordinary)) in got.into_iter().zip(&ordinary).enumerate() {
                    let want = if i / 2 % 3 == 0 { 0.0 } else { *ordinary };
                    assert_eq!(got, want, "{level} {spec:?} {special}, value {i}");
                }
            }
        }
    }
}
