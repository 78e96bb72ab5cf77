//! One step.

use super::lanes::{self, Row};
use super::memory::{Global, index};
use super::{cast, float, integer, movement, permute, reduce};
use crate::product::Element;
use crate::program::{
    Access, Action, FaultKind, OperandAt, Part, PlaceAt, Program, Relation, Step, UnaryOp, VectorOp, VectorStep,
    WriteStep, canonical, is_float, size_of,
};

/// Does to memory what a step does; `local` is the UB of its core. Flags, barriers and the like do nothing, and reads are the
/// walker's business.
///
/// # Errors
/// The step reaches where it must not. Nothing is changed then, unless data say so in the middle of a gather or scatter.
pub fn apply(program: &Program, step: &Step, local: &mut [u8], global: &mut Global) -> Result<(), FaultKind> {
    program.check_action(&step.action)?;
    match &step.action {
        Action::Transfer(transfer) => movement::transfer(transfer, local, global),
        Action::Move(step) => movement::move_blocks(step, local),
        Action::Vector(vector) => self::vector(program, vector, local)?,
        Action::Transpose(step) => permute::transpose(step, local),
        Action::Write(WriteStep { to, element, bits }) => {
            let size = size_of(*element) as usize;
            let (memory, at) = match to {
                PlaceAt::Local(at) => (local, at.address as usize),
                PlaceAt::Global(at) => (global.tensor_mut(at.tensor), index(at.offset)),
            };
            memory[at..at + size].copy_from_slice(&bits.to_le_bytes()[..size]);
        }
        _ => {}
    }
    Ok(())
}

fn vector(program: &Program, step: &VectorStep, local: &mut [u8]) -> Result<(), FaultKind> {
    match step.op {
        VectorOp::Reduce(..) | VectorOp::ReduceBlock(..) | VectorOp::ReducePair(_) => reduce::reduce(step, local),
        VectorOp::GatherMask(..) => permute::keep(step, local),
        VectorOp::GatherBits(_) => {
            permute::check_kept(program, step, local)?;
            permute::keep(step, local);
        }
        VectorOp::Broadcast(_) => permute::broadcast(step, local),
        VectorOp::Gather(_) => permute::gather(program, step, local)?,
        VectorOp::GatherBlocks(_) => permute::gather_blocks(program, step, local)?,
        VectorOp::Scatter(_) => permute::scatter(program, step, local)?,
        _ => lane_by_lane(step, local),
    }
    Ok(())
}

/// Instructions that make a lane, or a bit, of the same lane of their operands.
fn lane_by_lane(step: &VectorStep, local: &mut [u8]) {
    let parts = step.op.parts();
    let element = step.op.element();
    let mut rows = [Row::ZERO; 3];
    for repeat in 0..step.repeats {
        let operand = |i: usize| -> (&Part, &OperandAt) { (&parts[i], &step.operands[i]) };
        let load = |i: usize, row: &mut Row, local: &[u8]| {
            let (part, operand) = operand(i);
            lanes::load(step, part, operand, repeat, local, row);
        };
        let [to, a, b] = &mut rows;
        match step.op {
            VectorOp::Binary(op, _) => {
                load(0, to, local);
                load(1, a, local);
                load(2, b, local);
                if is_float(element) {
                    let updates = parts[0].access == Access::Update;
                    let mut target = if updates { float::widen(element, to) } else { [0.0; 128] };
                    float::binary(op, &mut target, &float::widen(element, a), &float::widen(element, b));
                    float::narrow(element, &target, to);
                } else {
                    integer::binary(element, op, to, a, b);
                }
            }
            VectorOp::Unary(UnaryOp::Copy, _) => load(1, to, local),
            VectorOp::Unary(op, _) => {
                load(1, a, local);
                if is_float(element) {
                    let mut target = [0.0; 128];
                    float::unary(op, &mut target, &float::widen(element, a));
                    float::narrow(element, &target, to);
                } else {
                    integer::unary(element, op, to, a);
                }
            }
            VectorOp::WithScalar(op, _) => {
                load(0, to, local);
                load(1, a, local);
                if is_float(element) {
                    let (mut target, scalar) = (float::widen(element, to), float::scalar(element, step.scalar));
                    float::with_scalar(op, &mut target, &float::widen(element, a), scalar);
                    float::narrow(element, &target, to);
                } else {
                    integer::with_scalar(element, op, to, a, step.scalar);
                }
            }
            VectorOp::Duplicate(_) => fill(element, step.scalar, to),
            VectorOp::Index(_) => index_lanes(step, element, repeat, to),
            VectorOp::Cast { to: target, from, rounding } => {
                load(1, a, local);
                cast::cast(target, from, rounding, step.op.lanes() as usize, a, to);
            }
            VectorOp::Compare(relation, _) | VectorOp::CompareScalar(relation, _) => {
                load(1, a, local);
                if parts.len() > 2 {
                    load(2, b, local);
                } else {
                    fill(element, step.scalar, b);
                }
                let bits = compare(relation, element, a, b);
                lanes::store_bits(step, &step.operands[0], repeat, bits, local);
                continue;
            }
            VectorOp::Select(_) | VectorOp::SelectScalar(_) => {
                load(2, a, local);
                if parts.len() > 3 {
                    load(3, b, local);
                } else {
                    fill(element, step.scalar, b);
                }
                let size = size_of(element) as usize;
                let bits = lanes::load_bits(step, &step.operands[1], repeat, local);
                let lanes = to.0.chunks_exact_mut(size).zip(a.0.chunks_exact(size).zip(b.0.chunks_exact(size)));
                for (lane, (to, (a, b))) in lanes.enumerate() {
                    to.copy_from_slice(if bits >> lane & 1 == 1 { a } else { b });
                }
            }
            // Handled by `vector`.
            _ => return,
        }
        let (part, operand) = operand(0);
        lanes::store(step, part, operand, repeat, to, local);
    }
}

fn compare(relation: Relation, element: Element, a: &Row, b: &Row) -> u128 {
    if is_float(element) {
        float::compare(relation, &float::widen(element, a), &float::widen(element, b))
    } else {
        integer::compare(element, relation, a, b)
    }
}

/// A number in each lane.
fn fill(element: Element, bits: u64, row: &mut Row) {
    let size = size_of(element) as usize;
    row.0.chunks_exact_mut(size).for_each(|lane| lane.copy_from_slice(&bits.to_le_bytes()[..size]));
}

#[expect(clippy::cast_precision_loss, reason = "as the lanes round it")]
fn index_lanes(step: &VectorStep, element: Element, repeat: u32, to: &mut Row) {
    let lanes = step.op.lanes();
    let first = u64::from(repeat) * u64::from(lanes);
    if is_float(element) {
        let mut wide = [0.0; 128];
        let start = float::scalar(element, step.scalar);
        for (lane, value) in (first..).zip(&mut wide) {
            *value = canonical(start + lane as f32);
        }
        float::narrow(element, &wide, to);
        return;
    }
    let size = size_of(element) as usize;
    for (lane, to) in (first..).zip(to.0.chunks_exact_mut(size)) {
        to.copy_from_slice(&step.scalar.wrapping_add(lane).to_le_bytes()[..size]);
    }
}
