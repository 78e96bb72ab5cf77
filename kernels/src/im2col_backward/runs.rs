//! A short run of a row's cells after the other: less code and stack than blocks of rows, for cores without vectors.

use half::{bf16, f16};

use super::tile::Job;
use crate::built::{BF16, F16, F32, F64};
use crate::cast::Round;
use crate::element::Element;
use crate::simd::Vector;
use crate::simd::scalar::Scalar;
use crate::values::{Values, ValuesMut};

/// Cells whose sums are made together: what a tap takes to begin is shared by so many.
const RUN: usize = 32;

impl Job<'_> {
    /// Adds everything up and writes it.
    pub(super) fn run_by_run(&self, grad: Values<'_>, out: &mut ValuesMut<'_>) {
        match grad {
            Values::F16(data) if F16 => self.cells(data, out),
            Values::Bf16(data) if BF16 => self.cells(data, out),
            Values::F32(data) if F32 => self.cells(data, out),
            Values::F64(data) if F64 => self.cells(data, out),
            // The contract has no other, and what is not built has been refused.
            _ => {}
        }
    }

    fn cells<T>(&self, data: &[T], out: &mut ValuesMut<'_>)
    where
        T: Element<Acc: Round<f16> + Round<bf16> + Round<f32> + Round<f64>>,
    {
        let ([y0, y1], [x0, x1]) = (self.rows, self.columns);
        let mut row = self.out_start;
        for y in y0..y1 {
            let (mut x, mut at) = (x0, row);
            while x < x1 {
                let mut run = [T::Acc::default(); RUN];
                let count = RUN.min(x1 - x);
                if self.accumulates {
                    for (k, sum) in run.iter_mut().enumerate().take(count) {
                        *sum = sum_at(out, at.wrapping_add(k.wrapping_mul(self.out_strides[1])));
                    }
                }
                self.add(data, run.get_mut(..count).unwrap_or_default(), [y, x]);
                for sum in run.into_iter().take(count) {
                    write(sum, out, at);
                    at = at.wrapping_add(self.out_strides[1]);
                }
                x += count;
            }
            row = row.wrapping_add(self.out_strides[0]);
        }
    }

    /// Adds the windows that reach a run of cells, which begins at `(y, x)`: tap by tap.
    fn add<T: Element>(&self, data: &[T], run: &mut [T::Acc], [y, x]: [usize; 2]) {
        let [[i0, i1], [j0, j1]] = self.taps;
        let [padding, dilation] = [self.problem.padding[1], self.problem.dilation[1].get()];
        let (stride, columns) = (self.problem.stride[1], self.problem.columns[1]);
        for i in i0..i1 {
            let Some(row) = self.window_row(y, i) else { continue };
            let row = self.windows.start.wrapping_add(row.wrapping_mul(self.windows.steps[0]));
            let row = row.wrapping_add(i.wrapping_mul(self.windows.taps[0]));
            for j in j0..j1 {
                // The first window whose tap lies on a cell of the run, and that cell.
                let tap = j.wrapping_mul(dilation);
                let place = x.wrapping_add(padding).saturating_sub(tap);
                let first = if stride.get() == 1 { place } else { place.div_ceil(stride.get()) };
                let cell = first.wrapping_mul(stride.get()).wrapping_add(tap).wrapping_sub(padding);
                let column = if self.windows.in_place { first } else { cell.wrapping_sub(self.columns[0]) / stride };
                let at = row.wrapping_add(column.wrapping_mul(self.windows.steps[1]));
                let at = at.wrapping_add(j.wrapping_mul(self.windows.taps[1]));
                let mut sums = run.get_mut(cell.wrapping_sub(x)..).unwrap_or_default();
                let mut windows = data.get(at..).unwrap_or_default();
                let mut left = columns.saturating_sub(first);
                if stride.get() == 1 && self.windows.steps[1] == 1 {
                    for (sum, value) in sums.iter_mut().zip(windows).take(left) {
                        *sum = *sum + value.widen();
                    }
                    continue;
                }
                while let ([sum, ..], [value, ..], 1..) = (&mut *sums, windows, left) {
                    *sum = *sum + value.widen();
                    sums = sums.get_mut(stride.get()..).unwrap_or_default();
                    windows = windows.get(self.windows.steps[1]..).unwrap_or_default();
                    left -= 1;
                }
            }
        }
    }

    /// The row of windows whose row `i` of taps lies on the output row `y`, where in the input that is.
    fn window_row(&self, y: usize, i: usize) -> Option<usize> {
        let stride = self.problem.stride[0];
        // A place in front of the first window is a huge number.
        let place =
            y.wrapping_add(self.problem.padding[0]).wrapping_sub(i.wrapping_mul(self.problem.dilation[0].get()));
        let window = place / stride;
        if window.wrapping_mul(stride.get()) != place || window >= self.problem.columns[0] {
            return None;
        }
        Some(if self.windows.in_place { window } else { (y - self.rows[0]) / stride })
    }
}

/// A sum that was left in the output box.
fn sum_at<A: bytemuck::Pod + Default>(out: &ValuesMut<'_>, at: usize) -> A {
    let sums: &[A] = match out {
        ValuesMut::F32(sums) => bytemuck::try_cast_slice(sums).unwrap_or_default(),
        ValuesMut::F64(sums) if F64 => bytemuck::try_cast_slice(sums).unwrap_or_default(),
        _ => &[],
    };
    sums.get(at).copied().unwrap_or_default()
}

/// Rounds and writes a sum.
fn write<A>(sum: A, out: &mut ValuesMut<'_>, at: usize)
where
    A: Round<f16> + Round<bf16> + Round<f32> + Round<f64>,
{
    fn to<A: Round<O>, O>(sum: A, out: &mut [O], at: usize) {
        if let Some(cell) = out.get_mut(at..) {
            A::round(Scalar, Vector::splat(Scalar, sum), cell);
        }
    }
    match out {
        ValuesMut::F16(out) if F16 => to(sum, out, at),
        ValuesMut::Bf16(out) if BF16 => to(sum, out, at),
        ValuesMut::F32(out) if F32 => to(sum, out, at),
        ValuesMut::F64(out) if F64 => to(sum, out, at),
        _ => {}
    }
}
