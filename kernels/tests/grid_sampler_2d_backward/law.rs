//! The section of `docs/numerics.md` on this operator, one element after the other. Single operations are computed in f64 and
//! rounded, which for f32 gives the same bits as f32 arithmetic.

use ubtile_testkit::reference::grid_sampler_2d_backward::Inputs;
use ubtile_testkit::{Compute, Data, encode};
use ubtile_tiling::TensorDesc;
use ubtile_tiling::grid_sampler_2d_backward::{Interpolation, PaddingMode, Problem};

/// Arithmetic of a problem.
struct Law<'a> {
    p: &'a Problem,
    compute: Compute,
}

/// Where a point lies along an axis.
struct Position {
    cell: f64,
    before: f64,
    after: f64,
    multiplier: f64,
}

/// Both outputs, contiguous.
pub(crate) fn law(problem: &Problem, inputs: &Inputs) -> [Data; 2] {
    let p = problem;
    let law = Law { p, compute: Compute::of(p.dtype) };
    let (grad_output, input, grid) = (inputs.grad_output.numbers(), inputs.input.numbers(), inputs.grid.numbers());
    let offset = |index: [usize; 4], strides: [usize; 4]| index.iter().zip(strides).map(|(i, s)| i * s).sum::<usize>();
    let number = |numbers: &[f64], index: [usize; 4], strides| numbers[offset(index, strides)];
    let mut input_grad = vec![0.0; p.n * p.c * p.hi * p.wi];
    let mut grid_grad = Vec::new();
    for n in 0..p.n {
        for (h, w) in (0..p.ho).flat_map(|h| (0..p.wo).map(move |w| (h, w))) {
            let coordinate = |axis| number(&grid, [n, h, w, axis], p.grid_strides);
            let positions = [law.position(coordinate(0), p.wi), law.position(coordinate(1), p.hi)];
            let [Some(x), Some(y)] = positions else {
                grid_grad.extend([0.0, 0.0]);
                continue;
            };
            let (columns, rows) = (law.pixels(&x, p.wi), law.pixels(&y, p.hi));
            let mut lanes = vec![[[0.0; 8]; 2]; p.c.div_ceil(64)];
            let touches = columns.iter().any(|c| c.0.is_some()) && rows.iter().any(|r| r.0.is_some());
            for c in 0..p.c {
                let go = number(&grad_output, [n, c, h, w], p.grad_output_strides);
                let mut values = vec![vec![0.0; columns.len()]; rows.len()];
                for (values, &(row, along_y, _)) in values.iter_mut().zip(&rows) {
                    for (value, &(column, along_x, _)) in values.iter_mut().zip(&columns) {
                        if let (Some(row), Some(column)) = (row, column) {
                            let weight = law.mul(along_x, along_y);
                            let sum = &mut input_grad[((n * p.c + c) * p.hi + row) * p.wi + column];
                            *sum = law.add(*sum, law.mul(weight, go));
                            *value = number(&input, [n, c, row, column], p.input_strides);
                        }
                    }
                }
                let slopes = law.slopes(&values, &columns, &rows, &x, &y);
                for (lanes, slope) in lanes[c / 64].iter_mut().zip(slopes) {
                    lanes[c % 8] = law.add(lanes[c % 8], law.mul(go, slope));
                }
            }
            for (axis, position) in [&x, &y].into_iter().enumerate() {
                let mut total = 0.0;
                for block in &lanes {
                    let l = block[axis];
                    let four: Vec<f64> = (0..4).map(|i| law.add(l[i], l[i + 4])).collect();
                    total = law.add(total, law.add(law.add(four[0], four[2]), law.add(four[1], four[3])));
                }
                let none = !touches || p.interpolation == Interpolation::Nearest;
                grid_grad.push(if none { 0.0 } else { law.mul(position.multiplier, total) });
            }
        }
    }
    let data = |shape: &[usize], numbers: Vec<f64>| {
        let desc = TensorDesc::contiguous(p.dtype, shape).unwrap();
        Data::from_bits_fn(desc, |i| encode(p.dtype, numbers[i]))
    };
    [data(&[p.n, p.c, p.hi, p.wi], input_grad), data(&[p.n, p.ho, p.wo, 2], grid_grad)]
}

/// A pixel along an axis if it is there, its weight, and the slope of its weight.
type Pixel = (Option<usize>, f64, f64);

impl Law<'_> {
    fn add(&self, a: f64, b: f64) -> f64 {
        self.compute.round(a + b)
    }

    fn mul(&self, a: f64, b: f64) -> f64 {
        self.compute.round(a * b)
    }

    /// `None` where the point mixes nothing.
    fn position(&self, g: f64, size: usize) -> Option<Position> {
        let r = |x| self.compute.round(x);
        let (s, last) = (r(size as f64), r((size - 1) as f64));
        let align = self.p.align_corners;
        let (mut i, mut multiplier) = if align {
            (self.mul(self.mul(self.add(g, 1.0), 0.5), last), self.mul(last, 0.5))
        } else {
            (self.mul(self.add(self.mul(self.add(g, 1.0), s), -1.0), 0.5), self.mul(s, 0.5))
        };
        if self.p.interpolation == Interpolation::Bicubic {
            if !(-2f64.powi(31)..2f64.powi(31)).contains(&i) {
                return None;
            }
        } else {
            if self.p.padding_mode == PaddingMode::Reflection {
                if !i.is_finite() {
                    return None;
                }
                (i, multiplier) =
                    self.reflect(i, multiplier, if align { 0.0 } else { -0.5 }, if align { last } else { s });
            }
            if self.p.padding_mode != PaddingMode::Zeros {
                if i <= 0.0 {
                    (i, multiplier) = (0.0, 0.0);
                } else if i >= last {
                    (i, multiplier) = (last, 0.0);
                }
            }
            if !(-1.0..s).contains(&i) {
                return None;
            }
        }
        let cell = if self.p.interpolation == Interpolation::Nearest { i.round_ties_even() } else { i.floor() };
        Some(Position { cell, before: self.add(r(cell + 1.0), -i), after: self.add(i, -cell), multiplier })
    }

    fn reflect(&self, i: f64, multiplier: f64, min: f64, span: f64) -> (f64, f64) {
        if span == 0.0 {
            return (0.0, 0.0);
        }
        let d = self.add(i, -min);
        let multiplier = if d < 0.0 { -multiplier } else { multiplier };
        let (extra, flips) = (d.abs() % span, self.compute.round(d.abs() / span).floor());
        if flips >= 2f64.powi(24) || flips % 2.0 == 0.0 {
            (self.add(extra, min), multiplier)
        } else {
            (self.add(self.add(span, -extra), min), -multiplier)
        }
    }

    fn pixels(&self, at: &Position, size: usize) -> Vec<Pixel> {
        let inside = |i: f64| (i >= 0.0 && i < size as f64).then_some(i as usize);
        match self.p.interpolation {
            Interpolation::Nearest => vec![(inside(at.cell), 1.0, 0.0)],
            Interpolation::Bilinear => {
                vec![(inside(at.cell), at.before, -1.0), (inside(self.add(at.cell, 1.0)), at.after, 1.0)]
            }
            Interpolation::Bicubic => {
                let (t, first) = (at.after, at.cell as i64 - 1);
                let distances = [self.add(t, 1.0), t, self.add(1.0, -t), self.add(2.0, -t)];
                let pixel = |i: usize| {
                    let (d, sign) = (distances[i], if i < 2 { 1.0 } else { -1.0 });
                    let (weight, slope) = if i == 0 || i == 3 {
                        (self.polynomial(d, &[-0.75, 3.75, -6.0, 3.0]), self.polynomial(d, &[-2.25, 7.5, -6.0]))
                    } else {
                        (self.polynomial(d, &[1.25, -2.25, 0.0, 1.0]), self.polynomial(d, &[3.75, -4.5, 0.0]))
                    };
                    (self.continued(first + i as i64, size as i64), weight, sign * slope)
                };
                (0..4).map(pixel).collect()
            }
        }
    }

    /// By Horner; adding 0 changes nothing that matters.
    fn polynomial(&self, d: f64, coefficients: &[f64]) -> f64 {
        coefficients.iter().copied().reduce(|sum, c| self.add(self.mul(sum, d), c)).unwrap()
    }

    fn continued(&self, i: i64, size: i64) -> Option<usize> {
        let i = match self.p.padding_mode {
            PaddingMode::Zeros => i,
            PaddingMode::Border => i.clamp(0, size - 1),
            PaddingMode::Reflection if self.p.align_corners && size == 1 => 0,
            PaddingMode::Reflection if self.p.align_corners => {
                let i = i.rem_euclid(2 * size - 2);
                i.min(2 * size - 2 - i)
            }
            PaddingMode::Reflection => {
                let i = i.rem_euclid(2 * size);
                i.min(2 * size - 1 - i)
            }
        };
        usize::try_from(i).ok().filter(|_| i < size)
    }

    /// What one channel changes by along x and y, from the values of its pixels, row by row.
    fn slopes(&self, values: &[Vec<f64>], columns: &[Pixel], rows: &[Pixel], x: &Position, y: &Position) -> [f64; 2] {
        match self.p.interpolation {
            Interpolation::Nearest => [0.0, 0.0],
            Interpolation::Bilinear => {
                let (north, south) = (&values[0], &values[1]);
                let difference = |a: f64, b: f64, weight: f64| self.mul(self.add(b, -a), weight);
                [
                    self.add(difference(north[0], north[1], y.before), difference(south[0], south[1], y.after)),
                    self.add(difference(north[0], south[0], x.before), difference(north[1], south[1], x.after)),
                ]
            }
            Interpolation::Bicubic => {
                let line = |values: &[f64], factor: fn(&Pixel) -> f64| {
                    let terms = values.iter().zip(columns).map(|(v, column)| self.mul(*v, factor(column)));
                    terms.reduce(|sum, term| self.add(sum, term)).unwrap()
                };
                let (mut along_x, mut along_y) = (0.0, 0.0);
                for (values, row) in values.iter().zip(rows) {
                    along_x = self.add(along_x, self.mul(row.1, line(values, |column| column.2)));
                    along_y = self.add(along_y, self.mul(row.2, line(values, |column| column.1)));
                }
                [along_x, along_y]
            }
        }
    }
}
