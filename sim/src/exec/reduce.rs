//! Reductions.

use super::float::{self, Wide};
use super::lanes::{self, Row};
use crate::product::Element;
use crate::program::{ReduceOp, VectorOp, VectorStep, canonical};

/// Carries out a reduction. Only floating-point lanes have them.
pub(super) fn reduce(step: &VectorStep, local: &mut [u8]) {
    let parts = step.op.parts();
    let element = step.op.element();
    let size = parts[0].size as usize;
    let lanes = step.op.lanes() as usize;
    for repeat in 0..step.repeats {
        let mut row = Row::ZERO;
        lanes::load(step, &parts[1], &step.operands[1], repeat, local, &mut row);
        let mut wide = float::widen(element, &row);
        let (op, group) = match step.op {
            VectorOp::Reduce(op, _) => (op, lanes),
            VectorOp::ReduceBlock(op, _) => (op, 32 / size),
            _ => (ReduceOp::Sum, 2),
        };
        let active = step.active(repeat);
        for (number, values) in wide[..lanes].chunks_exact_mut(group).enumerate() {
            let active = active >> (number * group);
            let none = (0..group).all(|lane| active >> lane & 1 == 0);
            for (lane, value) in values.iter_mut().enumerate().filter(|(lane, _)| active >> lane & 1 == 0) {
                *value = if none && lane == 0 { of_nothing(op) } else { neutral(op) };
            }
        }
        let count = lanes / group;
        let mut results: Wide = [0.0; 128];
        for (result, values) in results.iter_mut().zip(wide[..lanes].chunks_exact_mut(group)) {
            *result = canonical(of(op, element, values));
        }
        let mut row = Row::ZERO;
        float::narrow(element, &results, &mut row);
        let bytes = count * size;
        let to = &step.operands[0];
        let start = to.at.address as usize + repeat as usize * usize::from(to.repeat_stride) * bytes;
        local[start..start + bytes].copy_from_slice(&row.0[..bytes]);
    }
}

/// What does not change a result, not even the sign of a zero, or a NaN: of that and a number the number is taken.
const fn neutral(op: ReduceOp) -> f32 {
    match op {
        ReduceOp::Sum => -0.0,
        ReduceOp::Max | ReduceOp::Min => f32::NAN,
    }
}

/// The result without any lane.
const fn of_nothing(op: ReduceOp) -> f32 {
    match op {
        ReduceOp::Sum => -0.0,
        ReduceOp::Max => f32::NEG_INFINITY,
        ReduceOp::Min => f32::INFINITY,
    }
}

/// Of a power of two values.
fn of(op: ReduceOp, element: Element, values: &mut [f32]) -> f32 {
    let mut count = values.len();
    while count > 1 {
        count /= 2;
        for i in 0..count {
            let (a, b) = (values[2 * i], values[2 * i + 1]);
            values[i] = match op {
                ReduceOp::Sum => float::round(element, a + b),
                ReduceOp::Max => float::max(a, b),
                ReduceOp::Min => float::min(a, b),
            };
        }
    }
    values[0]
}
