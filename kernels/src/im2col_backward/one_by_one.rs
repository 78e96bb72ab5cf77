//! One cell after the other, its sum in a register: less code and stack than blocks of sums, for cores without vectors.

use half::{bf16, f16};

use super::tile::Job;
use crate::built::{BF16, F16, F32, F64};
use crate::cast::Round;
use crate::element::Element;
use crate::simd::Vector;
use crate::simd::scalar::Scalar;
use crate::values::{Values, ValuesMut};

impl Job<'_> {
    /// Adds everything up and writes it.
    pub(super) fn one_by_one(&self, grad: Values<'_>, out: &mut ValuesMut<'_>) {
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
            let mut at = row;
            for x in x0..x1 {
                let left = if self.accumulates { sum_at(out, at) } else { T::Acc::default() };
                write(self.sum(data, left, [y, x]), out, at);
                at = at.wrapping_add(self.out_strides[1]);
            }
            row = row.wrapping_add(self.out_strides[0]);
        }
    }

    /// What is left of a cell's sum with the windows that reach it.
    fn sum<T: Element>(&self, data: &[T], left: T::Acc, [y, x]: [usize; 2]) -> T::Acc {
        let [[i0, i1], [j0, j1]] = self.taps;
        let mut sum = left;
        for i in i0..i1 {
            let Some(row) = self.window(0, y, self.rows[0], i) else { continue };
            let row = self.windows.start.wrapping_add(row.wrapping_mul(self.windows.steps[0]));
            let row = row.wrapping_add(i.wrapping_mul(self.windows.taps[0]));
            for j in j0..j1 {
                let Some(column) = self.window(1, x, self.columns[0], j) else { continue };
                let at = row.wrapping_add(column.wrapping_mul(self.windows.steps[1]));
                let at = at.wrapping_add(j.wrapping_mul(self.windows.taps[1]));
                sum = sum + data.get(at).map_or(T::Acc::default(), |value| value.widen());
            }
        }
        sum
    }

    /// The window along an axis whose `tap` lies on the output cell `at`, where in the input that is; `first` is the tile's first
    /// cell.
    #[inline(always)]
    fn window(&self, axis: usize, at: usize, first: usize, tap: usize) -> Option<usize> {
        let [padding, dilation] = [self.problem.padding.get(axis)?, &self.problem.dilation.get(axis)?.get()];
        let stride = *self.problem.stride.get(axis)?;
        // A place in front of the first window is a huge number.
        let place = at.wrapping_add(*padding).wrapping_sub(tap.wrapping_mul(*dilation));
        let window = if stride.get() == 1 { place } else { place / stride };
        if window.wrapping_mul(stride.get()) != place || window >= *self.problem.columns.get(axis)? {
            return None;
        }
        Some(if self.windows.in_place { window } else { at.wrapping_sub(first) / stride })
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
