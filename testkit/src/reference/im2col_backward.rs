//! Im2colBackward: every column is added back to where it was taken from.

use ubtile_tiling::im2col_backward::Problem;

use super::{Cell, Expected, Sum, at};
use crate::data::Data;
use crate::number::{Compute, encode};

/// `out[n, c, y, x] = Σ grad_output[n, (c*kh + i)*kw + j, a*Lw + b]` with `y = a*sh - ph + i*dh` and `x = b*sw - pw + j*dw`.
///
/// A cell that one column element reaches is that element, rounded once if the dtypes differ.
#[must_use]
pub fn run(problem: &Problem, grad_output: &Data) -> Expected {
    let p = problem;
    let columns = grad_output.numbers();
    let [kh, kw] = p.kernel.map(usize::from);
    let [dh, dw] = p.dilation.map(usize::from);
    let [sh, sw] = p.stride.map(usize::from);
    let [ph, pw] = p.padding;
    let [lh, lw] = p.columns;
    let mut out = vec![Sum::default(); p.n * p.c * p.h * p.w];
    for n in 0..p.n {
        for row in 0..p.c * kh * kw {
            let (c, i, j) = (row / (kh * kw), row / kw % kh, row % kw);
            for l in 0..lh * lw {
                let (a, b) = (l / lw, l % lw);
                // Positions in the padded image.
                let (y, x) = (a * sh + i * dh, b * sw + j * dw);
                if (ph..ph + p.h).contains(&y) && (pw..pw + p.w).contains(&x) {
                    let value = columns[at([n, row, l], p.grad_output_strides)];
                    out[((n * p.c + c) * p.h + y - ph) * p.w + x - pw].add(1.0, 1.0, value);
                }
            }
        }
    }
    let cells = out.into_iter().map(|sum| match sum.terms {
        1 => Cell::Bits(encode(p.out_dtype, sum.value)),
        _ => sum.cell(),
    });
    Expected::new(p.out_dtype, &[p.n, p.c, p.h, p.w], Compute::of(p.dtype), cells)
}

#[cfg(test)]
mod tests {
    use ubtile_tiling::Dtype;

    use super::*;
    use crate::{Fill, Rng, problems};

    #[test]
    fn a_kernel_of_one_with_a_stride_is_a_scatter() {
        let spec = problems::Im2col { n: 1, c: 1, h: 3, w: 4, kernel: [1, 1], stride: [2, 3], ..Default::default() };
        let problem = spec.problem();
        let mut grad_output = problems::im2col_inputs(&problem, Fill::Uniform, &mut Rng::new(1));
        let values = [1.5, -0.0, f64::NAN, -4.0];
        (0..4).for_each(|i| grad_output.set_bits(i, encode(Dtype::F32, values[i])));
        let out = run(&problem, &grad_output).to_data();
        // -0 is added to +0, so it loses its sign.
        let expected = [1.5f32, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, f32::NAN, 0.0, 0.0, -4.0];
        for (i, value) in expected.into_iter().enumerate() {
            assert_eq!(out.bits(i), encode(Dtype::F32, f64::from(value)), "cell {i}");
        }
    }

    #[test]
    fn overlapping_windows_add_up() {
        // Ones in all columns: a cell's sum is the number of windows over it, (1 2 3 2 1) along an axis of 5 with 3 positions.
        let spec = problems::Im2col { n: 2, c: 3, h: 5, w: 5, kernel: [3, 3], ..Default::default() };
        let problem = spec.problem();
        let ones = Data::from_fn(spec.desc().grad_output, |_| 1.0);
        let out = run(&problem, &ones).to_data().numbers();
        let windows = [1.0, 2.0, 3.0, 2.0, 1.0];
        for (i, value) in out.into_iter().enumerate() {
            assert_eq!(value, windows[i / 5 % 5] * windows[i % 5]);
        }
    }

    #[test]
    fn decoding_follows_the_strides() {
        let spec = problems::Im2col { kernel: [2, 3], padding: [1, 0], dilation: [2, 1], ..Default::default() };
        let plain = spec.problem();
        let problem = problems::Im2col { inputs: problems::Layout::ChannelsLast, ..spec }.problem();
        let grad_output = problems::im2col_inputs(&problem, Fill::Uniform, &mut Rng::new(2));
        assert_eq!(run(&problem, &grad_output).cells, run(&plain, &grad_output.to_contiguous()).cells);
    }
}
