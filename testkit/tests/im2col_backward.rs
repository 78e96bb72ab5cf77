//! The reference of Im2colBackward is the adjoint of unfolding, and what it says of rounding holds.

use ubtile_testkit::problems::{Im2col, Layout, im2col_inputs};
use ubtile_testkit::reference::im2col_backward::run;
use ubtile_testkit::{Fill, Rng, bits_equal, compare, fill, pairwise};
use ubtile_tiling::Dtype;

/// Unfolding, written from the output's side: row (c, i, j), column (a, b).
fn unfold(p: &Im2col, image: &[f64]) -> Vec<f64> {
    let [kh, kw] = p.kernel;
    let mut columns = Vec::new();
    for n in 0..p.n {
        for (c, i, j) in (0..p.c * kh * kw).map(|row| (row / kw / kh, row / kw % kh, row % kw)) {
            for (a, b) in (0..p.columns(0)).flat_map(|a| (0..p.columns(1)).map(move |b| (a, b))) {
                let y = (a * p.stride[0] + i * p.dilation[0]).checked_sub(p.padding[0]).filter(|&y| y < p.h);
                let x = (b * p.stride[1] + j * p.dilation[1]).checked_sub(p.padding[1]).filter(|&x| x < p.w);
                let pixel = |(y, x)| image[((n * p.c + c) * p.h + y) * p.w + x];
                columns.push(y.zip(x).map_or(0.0, pixel));
            }
        }
    }
    columns
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[test]
fn it_is_the_adjoint_of_unfolding() {
    let (mut rng, mut tested) = (Rng::new(1), 0);
    for row in pairwise(&[3, 3, 3, 3, 3, 3, 3, 3, 3, 3]) {
        let spec = Im2col {
            c: 2,
            h: [1, 5, 8][row[0]],
            w: [1, 6, 9][row[1]],
            kernel: [[1, 2, 3][row[2]], [1, 2, 4][row[3]]],
            dilation: [[1, 2, 3][row[4]], [1, 2, 3][row[5]]],
            padding: [[0, 1, 3][row[6]], [0, 2, 3][row[7]]],
            stride: [[1, 2, 3][row[8]], [1, 2, 5][row[9]]],
            ..Default::default()
        };
        if spec.columns(0) * spec.columns(1) == 0 {
            continue;
        }
        tested += 1;
        let problem = spec.problem();
        let columns = im2col_inputs(&problem, Fill::Integers, &mut rng);
        let image = fill(spec.desc().out, Fill::Integers, &mut rng);
        let folded = run(&problem, &columns).to_data();
        // Small integers: every product and sum is exact.
        let (image, columns) = (image.numbers(), columns.numbers());
        assert_eq!(dot(&unfold(&spec, &image), &columns), dot(&image, &folded.numbers()), "{spec:?}");
    }
    assert!(tested > 8, "the window fits {tested} times only");
}

#[test]
fn windows_that_do_not_fit_leave_zeros() {
    let spec = Im2col { h: 2, kernel: [4, 1], stride: [2, 1], ..Default::default() };
    let problem = spec.problem();
    assert_eq!(problem.columns, [0, 6]);
    let out = run(&problem, &im2col_inputs(&problem, Fill::Uniform, &mut Rng::new(1))).to_data();
    assert!(out.bytes().iter().all(|&b| b == 0));
}

#[test]
fn strides_and_dtypes_do_not_change_the_sums() {
    let mut rng = Rng::new(2);
    for inputs in Layout::INPUT {
        let spec = Im2col { padding: [1, 1], kernel: [3, 2], inputs, ..Default::default() };
        let problem = spec.problem();
        let columns = im2col_inputs(&problem, Fill::Integers, &mut rng);
        let plain = Im2col { inputs: Layout::Contiguous, ..spec };
        let want = run(&plain.problem(), &columns.to_contiguous()).to_data();
        assert!(bits_equal(&want, &run(&problem, &columns).to_data()).is_ok(), "{inputs:?}");
        for dtype in [Dtype::F16, Dtype::Bf16, Dtype::F64] {
            let narrow = Im2col { dtype, out_dtype: dtype, ..plain };
            let values: Vec<_> = columns.offsets().map(|o| columns.number(o)).collect();
            let columns = ubtile_testkit::Data::from_fn(narrow.desc().grad_output, |i| values[i]);
            let got = run(&narrow.problem(), &columns).to_data();
            assert_eq!(got.numbers(), want.numbers(), "{dtype}");
        }
    }
}

#[test]
fn a_sum_in_f32_passes_the_comparison_and_a_wrong_one_does_not() {
    let spec = Im2col { h: 20, w: 20, kernel: [5, 5], padding: [2, 2], ..Default::default() };
    let problem = spec.problem();
    let columns = im2col_inputs(&problem, Fill::Uniform, &mut Rng::new(3));
    let expected = run(&problem, &columns);
    let report = compare(&expected.to_data(), &expected).unwrap();
    assert!(
        report.max_ulps == 0 && report.relative > 2000 && report.worst.unwrap().error < Some(6e-8),
        "{}",
        report.mean
    );
    let mut wrong = expected.to_data();
    let term = columns.number(0);
    let changed = (0..400).find(|&o| wrong.number(o).abs() > 0.5).unwrap();
    wrong.set_bits(changed, u64::from(((wrong.number(changed) + term) as f32).to_bits()));
    assert!(compare(&wrong, &expected).is_err());
}
