//! ReplicationPad2dBackward: every cell of the padded image is added to the cell it is a copy of.

use ubtile_tiling::replication_pad2d_backward::Problem;

use super::{Cell, Expected, Sum, at};
use crate::data::Data;
use crate::number::{Compute, component};

/// `grad_input[n, c, h, w] = Σ grad_output[n, c, i, j]` over all `(i, j)` with `clamp(i - top, 0, H - 1) = h` and
/// `clamp(j - left, 0, W - 1) = w`; complex numbers by component.
///
/// A cell that is copied once only is that copy, in bits.
#[must_use]
pub fn run(problem: &Problem, grad_output: &Data) -> Expected {
    let p = problem;
    let parts = component(p.dtype).1;
    let numbers = grad_output.numbers();
    let mut cells = vec![(Sum::default(), 0); p.n * p.c * p.h * p.w * parts];
    for plane in 0..p.n * p.c {
        let (n, c) = (plane / p.c, plane % p.c);
        for i in 0..p.padded_h {
            let h = (i as isize - p.top).clamp(0, p.h as isize - 1) as usize;
            for j in 0..p.padded_w {
                let w = (j as isize - p.left).clamp(0, p.w as isize - 1) as usize;
                for part in 0..parts {
                    let from = at([n, c, i, j], p.grad_output_strides) * parts + part;
                    let (sum, bits) = &mut cells[((plane * p.h + h) * p.w + w) * parts + part];
                    sum.add(1.0, 1.0, numbers[from]);
                    *bits = grad_output.bits(from);
                }
            }
        }
    }
    let cells = cells.into_iter().map(|(sum, bits)| if sum.terms == 1 { Cell::Bits(bits) } else { sum.cell() });
    Expected::new(p.dtype, &[p.n, p.c, p.h, p.w], Compute::of(p.dtype), cells)
}

#[cfg(test)]
mod tests {
    use ubtile_tiling::Dtype;

    use super::*;
    use crate::number::encode;
    use crate::problems::ReplicationPad;

    fn ones(spec: &ReplicationPad) -> Vec<f64> {
        let data = Data::from_fn(spec.desc().grad_output, |_| 1.0);
        run(&spec.problem(), &data).to_data().numbers()
    }

    #[test]
    fn ones_count_the_copies() {
        let spec = ReplicationPad { n: 1, c: 1, h: 2, w: 3, padding: [2, 1, 0, 3], ..Default::default() };
        assert_eq!(ones(&spec), [3.0, 1.0, 2.0, 12.0, 4.0, 8.0]);
    }

    #[test]
    fn cropped_cells_get_nothing() {
        let spec = ReplicationPad { n: 1, c: 1, h: 3, w: 4, padding: [-1, -2, 1, -1], ..Default::default() };
        assert_eq!(ones(&spec), [0.0, 2.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn a_single_copy_keeps_its_bits() {
        let spec =
            ReplicationPad { n: 1, c: 1, h: 1, w: 3, padding: [1, 0, 0, 0], dtype: Dtype::C64, ..Default::default() };
        let problem = spec.problem();
        let payload = 0xffa0_1234;
        let grad_output = Data::from_bits_fn(spec.desc().grad_output, |i| match i {
            0..4 => encode(Dtype::F32, i as f64),
            _ => payload,
        });
        let expected = run(&problem, &grad_output);
        let (re, im) = (expected.cells[0], expected.cells[1]);
        let value = |cell| if let Cell::Sum(sum) = cell { sum.value } else { f64::NAN };
        assert_eq!((value(re), value(im)), (2.0, 4.0));
        assert_eq!(expected.cells[2..], [Cell::Bits(payload); 4]);
    }

    #[test]
    fn a_row_of_one_takes_both_pads() {
        let spec = ReplicationPad { n: 2, c: 2, h: 1, w: 1, padding: [3, 2, 1, 4], ..Default::default() };
        assert_eq!(ones(&spec), [36.0; 4]);
    }
}
