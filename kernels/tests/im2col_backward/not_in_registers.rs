//! Kernels, rows and strides whose sums are not made in registers, but in a buffer on the stack or where they are written.

use ubtile_kernels::Level;
use ubtile_kernels::im2col_backward::{Inputs, Outputs, run};
use ubtile_testkit::problems::{Im2col, output};
use ubtile_testkit::{Data, Fill, Rng, sizes_around};
use ubtile_tiling::{Dtype, Tensor};

use super::common::{values, values_mut};
use super::{check, check_plans, check_run, planned, prepare, with_out_strides};

/// Rows longer than the buffer that sums are made in, and strides of which no two cells share a vector.
#[test]
fn long_rows_and_large_strides() {
    let rng = &mut Rng::new(3);
    let rows = [
        (4095, 3, 1, 1),
        (4096, 3, 1, 2),
        (4097, 3, 2, 1),
        (8200, 2, 3, 1),
        (4700, 2, 512, 300),
        (1300, 3, 600, 500),
        (5000, 2, 513, 4000),
    ];
    for dtype in [Dtype::F32, Dtype::F16, Dtype::F64] {
        for (w, k, s, d) in rows {
            let (kernel, stride, dilation) = ([1, k], [1, s], [1, d]);
            let spec = Im2col { dtype, n: 1, c: 1, h: 2, w, kernel, stride, dilation, ..Default::default() };
            assert!(spec.columns(1) > 0);
            check_plans(&spec, Fill::Uniform, &[(1, None), (1, Some(1 << 20)), (1, Some(20_000))], rng);
        }
    }
}

/// As many kernel rows as are summed in registers, and more.
#[test]
fn tall_kernels() {
    for kh in [8, 9, 16, 17] {
        let spec = Im2col { h: 11, kernel: [kh, 2], padding: [9, 0], ..Default::default() };
        check(&spec, Fill::Specials, &mut Rng::new(9));
    }
}

/// Sums of kernels that are too tall for registers are made where they are written, if rows and planes have no gaps and a plane is larger
/// than the buffer: some rows at a time, the last vector of a row beyond it, but not beyond a share.
#[test]
fn tall_kernels_without_gaps() {
    let rng = &mut Rng::new(14);
    for dtype in [Dtype::F32, Dtype::F64] {
        let narrow = sizes_around(4, 8).into_iter().filter(|&w| w > 0).map(|w| (4100 / w + 1, w));
        let shapes = narrow.map(|shape| (shape, 2, 3)).chain([((21, 3001), 2, 3), ((45, 3001), 1, 1)]);
        for ((h, w), n, c) in shapes {
            let kernel = [9, if w > 2 { 3 } else { 1 }];
            let spec = Im2col { dtype, out_dtype: dtype, n, c, h, w, kernel, padding: [4, 1], ..Default::default() };
            check(&spec, Fill::Specials, rng);
            let (_, grad_output, want) = prepare(&spec, Fill::Specials, rng);
            // Of each row, plane and image something else is behind.
            for [row, plane, image] in [[1, 0, 0], [0, 1, 0], [0, 0, 1]] {
                let pitch = w + row;
                let plane = h * pitch + plane;
                let problem = with_out_strides(&spec, [c * plane + image, plane, pitch, 1]);
                for level in Level::available() {
                    check_run(&spec, &planned(&problem, 2, None), level, 2, &grad_output, &want);
                }
            }
        }
    }
}

/// Cells whose numbers are no f32 any more.
#[test]
fn rows_longer_than_a_lane_counts() {
    let (w, far) = ((1 << 24) + 8, 1 << 24);
    let spec = Im2col {
        dtype: Dtype::F16,
        out_dtype: Dtype::F16,
        n: 1,
        c: 1,
        h: 1,
        w,
        kernel: [1, 2],
        dilation: [1, far],
        ..Default::default()
    };
    let problem = spec.problem();
    assert_eq!(problem.columns, [1, 8]);
    let grad_output = Data::from_fn(spec.desc().grad_output, |at| at as f64 + 1.0);
    for level in Level::available() {
        let mut got = output(problem.slot(Tensor::Out));
        let (inputs, outputs) = (Inputs { grad_output: values(&grad_output) }, Outputs { out: values_mut(&mut got) });
        run(&planned(&problem, 1, None), level, inputs, outputs, &mut []).unwrap();
        let (front, back) = got.bytes().split_at(far * 2);
        assert_eq!([&front[..16], back].concat(), grad_output.bytes(), "{level}");
        assert!(front[16..].iter().all(|&byte| byte == 0), "{level}");
    }
}
