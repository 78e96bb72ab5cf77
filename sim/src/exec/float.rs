//! Arithmetic of floating-point lanes: in f32, rounded once to the type of the lanes.

use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};

use super::lanes::Row;
use crate::product::Element;
use crate::program::{BinaryOp, Relation, ScalarOp, UnaryOp, canonical};

/// Lanes as f32.
pub(super) type Wide = [f32; 128];

/// The lanes of a row; 64 of f32, 128 of others.
#[inline]
pub(super) fn widen(element: Element, row: &Row) -> Wide {
    let mut wide = [0.0; 128];
    match element {
        Element::F16 => row.of::<f16>().convert_to_f32_slice(&mut wide),
        Element::Bf16 => {
            for (to, from) in wide.iter_mut().zip(row.of::<u16>()) {
                *to = f32::from_bits(u32::from(*from) << 16);
            }
        }
        _ => wide[..64].copy_from_slice(row.of::<f32>()),
    }
    wide
}

/// A row of lanes.
#[inline]
pub(super) fn narrow(element: Element, from: &Wide, row: &mut Row) {
    match element {
        Element::F16 => row.of_mut::<f16>().convert_from_f32_slice(from),
        Element::Bf16 => row.of_mut::<bf16>().convert_from_f32_slice(from),
        _ => row.of_mut::<f32>().copy_from_slice(&from[..64]),
    }
}

/// The number that the lowest bytes hold.
pub(super) fn scalar(element: Element, bits: u64) -> f32 {
    #[expect(clippy::cast_possible_truncation, reason = "the element is in the lowest bytes")]
    match element {
        Element::F16 => f16::from_bits(bits as u16).to_f32(),
        Element::Bf16 => bf16::from_bits(bits as u16).to_f32(),
        _ => f32::from_bits(bits as u32),
    }
}

/// The same number in the type of the lanes.
pub(super) fn round(element: Element, value: f32) -> f32 {
    match element {
        Element::F16 => f16::from_f32(value).to_f32(),
        Element::Bf16 => bf16::from_f32(value).to_f32(),
        _ => value,
    }
}

/// The larger one; of a number and a NaN the number, of equal ones the second.
#[inline]
pub(super) fn max(a: f32, b: f32) -> f32 {
    if a > b || b.is_nan() { a } else { b }
}

/// The smaller one; of a number and a NaN the number, of equal ones the second.
#[inline]
pub(super) fn min(a: f32, b: f32) -> f32 {
    if a < b || b.is_nan() { a } else { b }
}

#[inline]
fn relu(value: f32) -> f32 {
    if value > 0.0 || value.is_nan() { value } else { 0.0 }
}

/// `to` of an instruction that reads its target, and otherwise anything, becomes the result.
#[inline]
pub(super) fn binary(op: BinaryOp, to: &mut Wide, a: &Wide, b: &Wide) {
    #[inline]
    fn each(to: &mut Wide, a: &Wide, b: &Wide, f: impl Fn(f32, f32, f32) -> f32) {
        for ((to, a), b) in to.iter_mut().zip(a).zip(b) {
            *to = canonical(f(*to, *a, *b));
        }
    }
    match op {
        BinaryOp::Add => each(to, a, b, |_, a, b| a + b),
        BinaryOp::Sub => each(to, a, b, |_, a, b| a - b),
        BinaryOp::Mul => each(to, a, b, |_, a, b| a * b),
        BinaryOp::Div => each(to, a, b, |_, a, b| a / b),
        BinaryOp::Max => each(to, a, b, |_, a, b| max(a, b)),
        BinaryOp::Min => each(to, a, b, |_, a, b| min(a, b)),
        BinaryOp::AddRelu => each(to, a, b, |_, a, b| relu(a + b)),
        BinaryOp::SubRelu => each(to, a, b, |_, a, b| relu(a - b)),
        BinaryOp::MulAddDst => each(to, a, b, |d, a, b| d + a * b),
        BinaryOp::DstMulAdd => each(to, a, b, |d, a, b| d * a + b),
        BinaryOp::DstMulAddRelu => each(to, a, b, |d, a, b| relu(d * a + b)),
        // No product has them of floating-point lanes.
        BinaryOp::And | BinaryOp::Or => {}
    }
}

#[inline]
pub(super) fn unary(op: UnaryOp, to: &mut Wide, a: &Wide) {
    #[inline]
    fn each(to: &mut Wide, a: &Wide, f: impl Fn(f32) -> f32) {
        for (to, a) in to.iter_mut().zip(a) {
            *to = canonical(f(*a));
        }
    }
    match op {
        UnaryOp::Abs => each(to, a, f32::abs),
        UnaryOp::Relu => each(to, a, relu),
        UnaryOp::Rec => each(to, a, |a| 1.0 / a),
        UnaryOp::Rsqrt => each(to, a, |a| 1.0 / a.sqrt()),
        UnaryOp::Sqrt => each(to, a, f32::sqrt),
        UnaryOp::Exp => each(to, a, f32::exp),
        UnaryOp::Ln => each(to, a, f32::ln),
        // Of whole numbers and of bits only.
        UnaryOp::Not | UnaryOp::Copy => {}
    }
}

#[inline]
pub(super) fn with_scalar(op: ScalarOp, to: &mut Wide, a: &Wide, s: f32) {
    #[inline]
    fn each(to: &mut Wide, a: &Wide, f: impl Fn(f32, f32) -> f32) {
        for (to, a) in to.iter_mut().zip(a) {
            *to = canonical(f(*to, *a));
        }
    }
    match op {
        ScalarOp::Adds => each(to, a, |_, a| a + s),
        ScalarOp::Muls => each(to, a, |_, a| a * s),
        ScalarOp::Maxs => each(to, a, |_, a| max(a, s)),
        ScalarOp::Mins => each(to, a, |_, a| min(a, s)),
        ScalarOp::LeakyRelu => each(to, a, |_, a| if a < 0.0 { a * s } else { a }),
        ScalarOp::Axpy => each(to, a, |d, a| d + a * s),
        // Of whole numbers only.
        ScalarOp::Shl | ScalarOp::Shr => {}
    }
}

/// A bit for each lane.
pub(super) fn compare(relation: Relation, a: &Wide, b: &Wide) -> u128 {
    let pairs = a.iter().zip(b).enumerate();
    pairs.fold(0, |bits, (lane, (a, b))| bits | u128::from(relation.holds(a.partial_cmp(b))) << lane)
}
