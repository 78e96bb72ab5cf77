//! Im2colBackward: agreement with the reference, and the same bits whatever the level, threads, tiles and strides.

#[path = "im2col_backward/by_hand.rs"]
mod by_hand;
#[path = "im2col_backward/by_pixels.rs"]
mod by_pixels;
#[path = "im2col_backward/narrow.rs"]
mod narrow;
#[path = "im2col_backward/not_in_registers.rs"]
mod not_in_registers;
#[path = "im2col_backward/patches.rs"]
mod patches;

mod common;

use common::{Threads, values, values_mut};
use ubtile_kernels::im2col_backward::{Inputs, Outputs, run, run_parallel};
use ubtile_kernels::{Level, RunError, Values, ValuesMut};
use ubtile_testkit::problems::{Im2col, Layout, POISON, im2col_inputs, output};
use ubtile_testkit::{Data, Fill, Rng, bits_equal, compare, encode, pairwise, reference, sizes_around};
use ubtile_tiling::im2col_backward::{Plan, Problem, plan};
use ubtile_tiling::{Dims, Dtype, Edition, PlanError, PlanOptions, Status, TargetSpec, Tensor, TensorDesc};

const DTYPES: [Dtype; 4] = [Dtype::F32, Dtype::F16, Dtype::Bf16, Dtype::F64];

fn planned(problem: &Problem, cores: usize, local_bytes: Option<usize>) -> Plan {
    let options = PlanOptions { workspace_limit: Some(0), local_bytes };
    plan(problem, &TargetSpec::host(cores), &options).unwrap()
}

/// The law of `docs/numerics.md`, one cell after the other.
fn law(problem: &Problem, grad_output: &Data) -> Data {
    let p = problem;
    let [kh, kw] = p.kernel.map(usize::from);
    let round = |x: f64| if p.dtype == Dtype::F64 { x } else { f64::from(x as f32) };
    // The window whose tap `k` lies at a cell, if there is one.
    let window = |axis: usize, cell: usize, k: usize| {
        let at = (cell + p.padding[axis]).checked_sub(k * usize::from(p.dilation[axis]))?;
        let stride = usize::from(p.stride[axis]);
        (at % stride == 0 && at / stride < p.columns[axis]).then_some(at / stride)
    };
    let desc = TensorDesc::contiguous(p.out_dtype, &[p.n, p.c, p.h, p.w]).unwrap();
    Data::from_fn(desc, |cell| {
        let (x, y, plane) = (cell % p.w, cell / p.w % p.h, cell / p.w / p.h);
        let mut sum = 0.0;
        if p.columns[0] * p.columns[1] == 0 {
            return sum;
        }
        for (i, a) in (0..kh).filter_map(|i| Some((i, window(0, y, i)?))) {
            for (j, b) in (0..kw).filter_map(|j| Some((j, window(1, x, j)?))) {
                let index = [plane / p.c, (plane % p.c * kh + i) * kw + j, a * p.columns[1] + b];
                let at: usize = index.iter().zip(p.grad_output_strides).map(|(i, stride)| i * stride).sum();
                sum = round(sum + grad_output.number(at));
            }
        }
        sum
    })
}

/// Inputs, and the result they must have in bits.
fn prepare(spec: &Im2col, fill: Fill, rng: &mut Rng) -> (Problem, Data, Data) {
    let problem = spec.problem();
    let grad_output = im2col_inputs(&problem, fill, rng);
    let want = law(&problem, &grad_output);
    compare(&want, &reference::im2col_backward::run(&problem, &grad_output))
        .unwrap_or_else(|mismatch| panic!("{spec:?}: {mismatch}"));
    (problem, grad_output, want)
}

/// The problem of a case whose output has other strides.
fn with_out_strides(spec: &Im2col, strides: [usize; 4]) -> Problem {
    let mut desc = spec.desc();
    desc.out.strides = Dims::new(&strides).unwrap();
    desc.check(None, Edition::Any).unwrap()
}

/// Checks one plan at one level against what it must give.
fn check_run(spec: &Im2col, plan: &Plan, level: Level, threads: usize, grad_output: &Data, want: &Data) {
    let mut got = output(plan.problem().slot(Tensor::Out));
    let inputs = Inputs { grad_output: values(grad_output) };
    run_parallel(plan, level, &Threads(threads), inputs, Outputs { out: values_mut(&mut got) }, &mut []).unwrap();
    let local = plan.target().local_bytes;
    if let Err(difference) = bits_equal(&got, want) {
        panic!("{spec:?} {level}, {threads} threads, {local} bytes: {difference}");
    }
    assert!(got.gaps_hold(POISON), "{spec:?} {level}, {threads} threads, {local} bytes: wrote between the rows");
}

/// Checks a problem at every level, with plans for so many threads and local bytes.
fn check_plans(spec: &Im2col, fill: Fill, plans: &[(usize, Option<usize>)], rng: &mut Rng) {
    let (problem, grad_output, want) = prepare(spec, fill, rng);
    for level in Level::available() {
        for &(threads, local_bytes) in plans {
            check_run(spec, &planned(&problem, threads, local_bytes), level, threads, &grad_output, &want);
        }
    }
}

/// Checks a problem at every level, on one and more threads, with some tile sizes.
fn check(spec: &Im2col, fill: Fill, rng: &mut Rng) {
    check_plans(spec, fill, &[(1, None), (2, Some(4096)), (3, Some(512))], rng);
}

/// Whether there is such a problem: a window may be much larger than the padded image.
fn exists(spec: &Im2col) -> bool {
    spec.desc().check(None, Edition::Any).is_ok()
}

#[test]
fn every_small_window_of_every_small_image() {
    let rng = &mut Rng::new(1);
    let axes: Vec<[usize; 5]> =
        (0..4 * 3 * 3 * 2 * 4).map(|i| [i % 4 + 1, i / 4 % 3 + 1, i / 12 % 3 + 1, i / 36 % 2 + 1, i / 72]).collect();
    for (number, [h, kh, sh, dh, ph]) in axes.iter().copied().enumerate() {
        // Every axis with itself and with some others.
        for [w, kw, sw, dw, pw] in axes.iter().copied().skip(number % 23).step_by(23).chain([axes[number]]) {
            let (kernel, stride, dilation, padding) = ([kh, kw], [sh, sw], [dh, dw], [ph, pw]);
            let spec = Im2col { n: 1, c: 2, h, w, kernel, stride, dilation, padding, ..Default::default() };
            if exists(&spec) {
                check_plans(&spec, Fill::Specials, &[(1, None)], rng);
            }
        }
    }
}

#[test]
fn widths_around_the_vectors() {
    let rng = &mut Rng::new(2);
    for dtype in DTYPES {
        let of_sixteen = if dtype.size() == 2 { sizes_around(64, 128) } else { vec![] };
        for w in sizes_around(4, 8).into_iter().chain(sizes_around(16, 32)).chain(of_sixteen).filter(|&w| w > 0) {
            for (k, s, d, p) in
                [(1, 1, 1, 0), (3, 1, 1, 1), (3, 2, 1, 1), (2, 1, 3, 9), (5, 3, 2, 20), (7, 4, 1, 3), (4, 2, 2, 3)]
                    .into_iter()
                    // As many columns as a class of cells takes, and more; with a dilation all of them reach one class.
                    .chain([(8, 1, 1, 5), (9, 1, 1, 5), (16, 2, 1, 9), (17, 2, 1, 9), (10, 2, 2, 9)])
            {
                let axis = |y, x| [y, x];
                let spec = Im2col {
                    dtype,
                    out_dtype: dtype,
                    h: 3,
                    w,
                    kernel: axis(2, k),
                    stride: axis(1, s),
                    dilation: axis(1, d),
                    padding: axis(1, p),
                    ..Default::default()
                };
                if spec.columns(1) > 0 {
                    check(&spec, Fill::Uniform, rng);
                }
            }
        }
    }
}

/// Beyond the caches what comes next is asked for: of small planes that of the next one, of large ones some rows ahead, of many taps the
/// next tap, of patches the next taps and the rows that these make, also behind the last one.
#[test]
fn tensors_that_no_cache_holds() {
    let rng = &mut Rng::new(12);
    for (dtype, c, size, [kernel, stride, padding]) in [
        (Dtype::F32, 2100, 13, [3, 1, 1]),
        (Dtype::F64, 12, 128, [3, 1, 1]),
        (Dtype::F32, 44, 160, [3, 2, 1]),
        (Dtype::F32, 9, 128, [5, 1, 2]),
        (Dtype::F32, 60, 252, [6, 6, 0]),
    ] {
        let [kernel, stride, padding] = [kernel, stride, padding].map(|each| [each; 2]);
        let spec = Im2col {
            dtype,
            out_dtype: dtype,
            n: 1,
            c,
            h: size,
            w: size,
            kernel,
            stride,
            padding,
            ..Default::default()
        };
        let (problem, grad_output, want) = prepare(&spec, Fill::Uniform, rng);
        assert!(grad_output.bytes().len() + want.bytes().len() > 13 << 20);
        for level in Level::available() {
            check_run(&spec, &planned(&problem, 1, None), level, 1, &grad_output, &want);
        }
    }
}

/// Rows of many vectors whose first cells, last ones or both some taps do not reach: as many of them as are masked, and more.
#[test]
fn ends_that_not_all_taps_reach() {
    let rng = &mut Rng::new(11);
    for dtype in DTYPES {
        let masked = if dtype == Dtype::F64 { 6 } else { 12 };
        for reach in [masked, masked + 1, masked + masked / 2 - 1, 2 * masked] {
            for (d, p) in [(reach, 0), (1, reach), (2 * reach, reach)] {
                for (w, s) in
                    [(62, 1), (64, 1), (65, 1), (71, 1), (72, 1), (73, 1), (104, 1), (131, 1), (137, 2), (300, 3)]
                {
                    let (kernel, stride) = ([2, 2], [1, s]);
                    let (dilation, padding) = ([1, d * s], [0, p * s]);
                    let spec = Im2col {
                        dtype,
                        out_dtype: dtype,
                        n: 1,
                        h: 3,
                        w,
                        kernel,
                        stride,
                        dilation,
                        padding,
                        ..Default::default()
                    };
                    assert!(spec.columns(1) > 0);
                    check(&spec, Fill::Specials, rng);
                }
            }
        }
    }
}

/// The same for every number of vectors that is summed in a way of its own, with as many cells at the ends as one vector has, or
/// two.
#[test]
fn few_vectors_with_ends() {
    let rng = &mut Rng::new(13);
    let sixteen = [Dtype::F16, Dtype::Bf16].map(|dtype| (16, dtype));
    for (lanes, dtype) in [2, 4, 8].into_iter().flat_map(|lanes| DTYPES.map(|dtype| (lanes, dtype))).chain(sixteen) {
        for (vectors, s) in (3..=10).flat_map(|vectors| (1..=4).map(move |s| (vectors, s))) {
            for (missing, reach) in [0, lanes - 1].into_iter().flat_map(|m| [lanes - 1, lanes + 1].map(|r| (m, r))) {
                for (d, p) in [(reach, 0), (1, reach), (2 * reach, reach)] {
                    let w = (vectors * lanes - missing) * s;
                    let (kernel, stride, dilation, padding) = ([1, 2], [1, s], [1, d * s], [0, p * s]);
                    let shape = Im2col { dtype, out_dtype: dtype, n: 1, h: 1, w, ..Default::default() };
                    let spec = Im2col { kernel, stride, dilation, padding, ..shape };
                    if exists(&spec) {
                        check_plans(&spec, Fill::Uniform, &[(1, None)], rng);
                    }
                }
            }
        }
    }
}

/// Rows that are no multiple of the cells that the scalar level sums together: what is behind them stays as it was.
#[test]
fn nothing_is_written_behind_a_row() {
    let rng = &mut Rng::new(10);
    for (w, outputs) in [33, 63, 65].into_iter().flat_map(|w| Layout::OUTPUT.map(|outputs| (w, outputs))) {
        check(&Im2col { h: 2, w, kernel: [2, 3], outputs, ..Default::default() }, Fill::Uniform, rng);
    }
}

/// Buffers that are longer than the tensor: what is behind it is the caller's, bit by bit. To add +0.0 would change -0.0 and a
/// signalling NaN.
#[test]
fn nothing_is_written_behind_the_tensor() {
    for (dtype, behind) in [
        (Dtype::F16, [0x8000, 0x7d5a]),
        (Dtype::Bf16, [0x8000, 0x7fa5]),
        (Dtype::F32, [0x8000_0000, 0x7fa5_a5a5]),
        (Dtype::F64, [1 << 63, 0x7ff5_a5a5_a5a5_a5a5]),
    ] {
        for (kernel, w) in [[9, 1], [3, 3], [1, 2]].into_iter().flat_map(|k| [60, 61, 64, 67].map(|w| (k, w))) {
            let shape = Im2col { dtype, out_dtype: dtype, n: 1, c: 1, h: 80, w, ..Default::default() };
            let spec = Im2col { kernel, padding: [kernel[0] / 2, 0], ..shape };
            let (problem, grad_output, want) = prepare(&spec, Fill::Uniform, &mut Rng::new(14));
            let (plan, cells) = (planned(&problem, 1, None), spec.h * w);
            for (level, behind) in Level::available().flat_map(|level| behind.map(|behind| (level, behind))) {
                let desc = TensorDesc::contiguous(dtype, &[cells + 40]).unwrap();
                let mut out = Data::from_bits_fn(desc, |_| behind);
                let outputs = Outputs { out: values_mut(&mut out) };
                run(&plan, level, Inputs { grad_output: values(&grad_output) }, outputs, &mut []).unwrap();
                for at in 0..cells + 40 {
                    let wanted = if at < cells { want.bits(at) } else { behind };
                    assert_eq!(out.bits(at), wanted, "{level} {dtype:?} {kernel:?} {w}: element {at} of {cells}");
                }
            }
        }
    }
}

/// Rows that lie one behind the other in planes, or planes in images, that do not.
#[test]
fn gaps_between_planes_or_images() {
    for [image, plane] in [[3 * 40, 40], [3 * 33 + 7, 33]] {
        let spec = Im2col { h: 3, w: 11, kernel: [3, 3], padding: [1, 1], ..Default::default() };
        let (_, grad_output, want) = prepare(&spec, Fill::Uniform, &mut Rng::new(12));
        let problem = with_out_strides(&spec, [image, plane, 11, 1]);
        for level in Level::available() {
            check_run(&spec, &planned(&problem, 1, None), level, 1, &grad_output, &want);
        }
    }
}

/// Windows of a plane that no level-2 cache holds are asked for row by row.
#[test]
fn planes_larger_than_a_cache() {
    let rng = &mut Rng::new(9);
    let spec = Im2col { n: 1, c: 2, h: 131, w: 133, kernel: [3, 3], padding: [1, 1], ..Default::default() };
    assert!(9 * spec.h * spec.w * 4 > 256 << 10);
    check(&spec, Fill::Uniform, rng);
}

#[test]
fn dtypes_layouts_and_shapes() {
    let rng = &mut Rng::new(4);
    let shapes = [(1, 1, 9, 5), (2, 3, 4, 17), (3, 2, 1, 33), (2, 2, 12, 12)];
    let windows = [(3, 1, 1, 1), (2, 2, 1, 0), (3, 3, 2, 4), (1, 2, 1, 1)];
    let axes = [4, 4, Layout::INPUT.len(), Layout::OUTPUT.len(), Fill::ALL.len(), shapes.len(), windows.len()];
    for row in pairwise(&axes) {
        let &[dtype, out_dtype, inputs, outputs, fill, shape, window] = &row[..] else { unreachable!() };
        let (n, c, h, w) = shapes[shape];
        let (k, s, d, p) = windows[window];
        let spec = Im2col {
            dtype: DTYPES[dtype],
            out_dtype: DTYPES[out_dtype],
            n,
            c,
            h,
            w,
            kernel: [k, k],
            stride: [s, s],
            dilation: [d, d],
            padding: [p, p],
            inputs: Layout::INPUT[inputs],
            outputs: Layout::OUTPUT[outputs],
        };
        if spec.columns(0) * spec.columns(1) > 0 {
            check(&spec, Fill::ALL[fill], rng);
        }
    }
}

/// A sum of F64 is rounded to F16 or BF16 in one step: just beside a tie, a detour over F32 would go wrong.
#[test]
fn a_sum_is_rounded_once() {
    for (out_dtype, ulp) in [(Dtype::F16, 2f64.powi(-10)), (Dtype::Bf16, 2f64.powi(-7))] {
        let spec =
            Im2col { dtype: Dtype::F64, out_dtype, n: 1, c: 1, h: 1, w: 9, kernel: [1, 1], ..Default::default() };
        let problem = spec.problem();
        let tie = 1.0 + ulp / 2.0;
        let grad_output = Data::from_fn(spec.desc().grad_output, |i| [tie, tie.next_up(), tie.next_down()][i % 3]);
        for level in Level::available() {
            let mut got = output(problem.slot(Tensor::Out));
            let inputs = Inputs { grad_output: values(&grad_output) };
            let plan = planned(&problem, 1, None);
            run(&plan, level, inputs, Outputs { out: values_mut(&mut got) }, &mut []).unwrap();
            for (i, want) in [1.0, 1.0 + ulp, 1.0].into_iter().cycle().take(9).enumerate() {
                assert_eq!(got.bits(i), encode(out_dtype, want), "{out_dtype} {level} {i}");
            }
        }
    }
}

/// Without a window position nothing is added, whatever the sizes of the window.
#[test]
fn no_window_gives_zeros() {
    let huge = 1 << 16;
    let windows = [([3, 3], 1, 1), ([9, 1], 8, 1), ([1, 7], 30, 1), ([4, 5], huge, huge / 9), ([huge, 1], huge, 1)];
    for (kernel, s, d) in windows {
        let (stride, dilation) = ([s, s], [d, d]);
        for dtype in DTYPES {
            let spec = Im2col { dtype, out_dtype: dtype, h: 2, w: 5, kernel, stride, dilation, ..Default::default() };
            assert_eq!(spec.columns(0) * spec.columns(1), 0);
            check(&spec, Fill::Uniform, &mut Rng::new(5));
        }
    }
    for (n, c) in [(0, 3), (2, 0)] {
        check(&Im2col { n, c, ..Default::default() }, Fill::Uniform, &mut Rng::new(5));
    }
    // All windows lie in the padding: an image without rows.
    check(&Im2col { h: 0, padding: [2, 2], ..Default::default() }, Fill::Uniform, &mut Rng::new(5));
}

#[test]
fn wrong_buffers_are_refused() {
    let spec = Im2col::default();
    let problem = spec.problem();
    let plan = planned(&problem, 1, None);
    let grad_output = im2col_inputs(&problem, Fill::Uniform, &mut Rng::new(8));
    let (mut out, level) = (vec![0f32; 180], Level::detect());
    let attempt = |grad_output: Values<'_>, out: ValuesMut<'_>| {
        run(&plan, level, Inputs { grad_output }, Outputs { out }, &mut []).unwrap_err()
    };
    let (tensor, got, want) = (Tensor::GradOutput, Dtype::I32, Dtype::F32);
    assert_eq!(attempt(Values::I32(&[]), ValuesMut::F32(&mut out)), RunError::Dtype { tensor, got, want });
    let short = &[0.0; 479];
    let error = attempt(Values::F32(short), ValuesMut::F32(&mut out));
    assert_eq!(error, RunError::Length { tensor, got: 479, want: 480 });
    assert_eq!(error.status(), Status::ParamInvalid);
    let error = attempt(values(&grad_output), ValuesMut::F32(&mut out[..179]));
    assert_eq!(error, RunError::Length { tensor: Tensor::Out, got: 179, want: 180 });

    let options = PlanOptions { local_bytes: Some(10), ..Default::default() };
    let error = ubtile_tiling::im2col_backward::plan(&problem, &TargetSpec::host(1), &options).unwrap_err();
    assert_eq!(error, PlanError::LocalBytes { got: 10, want: 128 });
}
