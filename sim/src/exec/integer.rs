//! Arithmetic of whole-number lanes, which wraps.

use bytemuck::Pod;

use super::lanes::Row;
use crate::product::Element;
use crate::program::{BinaryOp, Relation, ScalarOp, UnaryOp};

/// A whole number of lanes.
trait Whole: Pod + Into<i64> {}
impl<T: Pod + Into<i64>> Whole for T {}

/// The lowest bits of a number.
#[inline]
fn low<T: Whole>(value: i64) -> T {
    bytemuck::pod_read_unaligned(&value.to_le_bytes()[..size_of::<T>()])
}

/// What a number is in the type of the lanes.
#[inline]
fn wrap<T: Whole>(value: i64) -> i64 {
    low::<T>(value).into()
}

#[inline]
fn each<T: Whole>(to: &mut Row, a: &Row, b: &Row, f: impl Fn(i64, i64, i64) -> i64) {
    for ((to, a), b) in to.of_mut::<T>().iter_mut().zip(a.of::<T>()).zip(b.of::<T>()) {
        *to = low(f((*to).into(), (*a).into(), (*b).into()));
    }
}

pub(super) fn binary(element: Element, op: BinaryOp, to: &mut Row, a: &Row, b: &Row) {
    match element {
        Element::I16 => binary_of::<i16>(op, to, a, b),
        Element::U16 => binary_of::<u16>(op, to, a, b),
        Element::U32 => binary_of::<u32>(op, to, a, b),
        _ => binary_of::<i32>(op, to, a, b),
    }
}

fn binary_of<T: Whole>(op: BinaryOp, to: &mut Row, a: &Row, b: &Row) {
    match op {
        BinaryOp::Add => each::<T>(to, a, b, |_, a, b| a + b),
        BinaryOp::Sub => each::<T>(to, a, b, |_, a, b| a - b),
        BinaryOp::Mul => each::<T>(to, a, b, |_, a, b| a.wrapping_mul(b)),
        BinaryOp::Div => each::<T>(to, a, b, |_, a, b| if b == 0 { 0 } else { a / b }),
        BinaryOp::Max => each::<T>(to, a, b, |_, a, b| a.max(b)),
        BinaryOp::Min => each::<T>(to, a, b, |_, a, b| a.min(b)),
        BinaryOp::And => each::<T>(to, a, b, |_, a, b| a & b),
        BinaryOp::Or => each::<T>(to, a, b, |_, a, b| a | b),
        BinaryOp::AddRelu => each::<T>(to, a, b, |_, a, b| wrap::<T>(a + b).max(0)),
        BinaryOp::SubRelu => each::<T>(to, a, b, |_, a, b| wrap::<T>(a - b).max(0)),
        BinaryOp::MulAddDst => each::<T>(to, a, b, |d, a, b| d.wrapping_add(a.wrapping_mul(b))),
        BinaryOp::DstMulAdd => each::<T>(to, a, b, |d, a, b| d.wrapping_mul(a).wrapping_add(b)),
        BinaryOp::DstMulAddRelu => each::<T>(to, a, b, |d, a, b| wrap::<T>(d.wrapping_mul(a).wrapping_add(b)).max(0)),
    }
}

pub(super) fn unary(element: Element, op: UnaryOp, to: &mut Row, a: &Row) {
    match element {
        Element::I16 => unary_of::<i16>(op, to, a),
        Element::U16 => unary_of::<u16>(op, to, a),
        Element::U32 => unary_of::<u32>(op, to, a),
        _ => unary_of::<i32>(op, to, a),
    }
}

fn unary_of<T: Whole>(op: UnaryOp, to: &mut Row, a: &Row) {
    match op {
        UnaryOp::Abs => each::<T>(to, a, a, |_, a, _| a.abs()),
        UnaryOp::Relu => each::<T>(to, a, a, |_, a, _| a.max(0)),
        UnaryOp::Not => each::<T>(to, a, a, |_, a, _| !a),
        UnaryOp::Copy => *to = *a,
        // Of floating-point lanes only.
        UnaryOp::Rec | UnaryOp::Rsqrt | UnaryOp::Sqrt | UnaryOp::Exp | UnaryOp::Ln => {}
    }
}

pub(super) fn with_scalar(element: Element, op: ScalarOp, to: &mut Row, a: &Row, bits: u64) {
    match element {
        Element::I16 => with_scalar_of::<i16>(op, to, a, bits),
        Element::U16 => with_scalar_of::<u16>(op, to, a, bits),
        Element::U32 => with_scalar_of::<u32>(op, to, a, bits),
        _ => with_scalar_of::<i32>(op, to, a, bits),
    }
}

fn with_scalar_of<T: Whole>(op: ScalarOp, to: &mut Row, a: &Row, bits: u64) {
    let s = wrap::<T>(bits.cast_signed());
    match op {
        ScalarOp::Adds => each::<T>(to, a, a, |_, a, _| a + s),
        ScalarOp::Muls => each::<T>(to, a, a, |_, a, _| a.wrapping_mul(s)),
        ScalarOp::Maxs => each::<T>(to, a, a, |_, a, _| a.max(s)),
        ScalarOp::Mins => each::<T>(to, a, a, |_, a, _| a.min(s)),
        ScalarOp::LeakyRelu => each::<T>(to, a, a, |_, a, _| if a < 0 { a.wrapping_mul(s) } else { a }),
        ScalarOp::Axpy => each::<T>(to, a, a, |d, a, _| d.wrapping_add(a.wrapping_mul(s))),
        ScalarOp::Shl => each::<T>(to, a, a, |_, a, _| a << s),
        ScalarOp::Shr => each::<T>(to, a, a, |_, a, _| a >> s),
    }
}

/// A bit for each lane.
pub(super) fn compare(element: Element, relation: Relation, a: &Row, b: &Row) -> u128 {
    match element {
        Element::I16 => compare_of::<i16>(relation, a, b),
        Element::U16 => compare_of::<u16>(relation, a, b),
        Element::U32 => compare_of::<u32>(relation, a, b),
        _ => compare_of::<i32>(relation, a, b),
    }
}

fn compare_of<T: Whole>(relation: Relation, a: &Row, b: &Row) -> u128 {
    let pairs = a.of::<T>().iter().zip(b.of::<T>()).enumerate();
    pairs.fold(0, |bits, (lane, (a, b))| {
        let order = Into::<i64>::into(*a).cmp(&(*b).into());
        bits | u128::from(relation.holds(Some(order))) << lane
    })
}
