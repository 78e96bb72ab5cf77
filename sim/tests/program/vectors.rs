//! Vector instructions against a lane-by-lane reading of their definition: addresses by the formula, one lane at a time.

mod definition;

use std::sync::OnceLock;

use half::f16;
use proptest::prelude::*;
use ubtile_sim::exec::{Global, apply};
use ubtile_sim::product::{Element, Rounding, Soc};
use ubtile_sim::program::*;
use ubtile_testkit::strategies;

use definition::expected;

const SLOT: usize = 65536;

#[derive(Clone, Debug)]
struct Case {
    step: VectorStep,
    seed: u64,
}

/// Bytes that look like nothing in particular.
fn memory(seed: u64) -> Vec<u8> {
    let mut word = seed | 1;
    let words = (0..SLOT / 8).flat_map(|_| {
        word ^= word >> 12;
        word ^= word << 25;
        word ^= word >> 27;
        word.wrapping_mul(0x2545_f491_4f6c_dd1d).to_le_bytes()
    });
    words.collect()
}

/// The instructions that some product has.
fn available() -> &'static [VectorOp] {
    static OPS: OnceLock<Vec<VectorOp>> = OnceLock::new();
    OPS.get_or_init(|| {
        let socs = ["Ascend910A", "Ascend310P3", "Ascend910B1", "Ascend310B1", "Ascend910_95"];
        let socs = socs.map(|name| Soc::builtin(name).unwrap());
        let has = |op: &VectorOp| {
            let mut source = Source::new(1);
            let b = source.buffer("b", SLOT as u32, 1, None);
            let mut vector = Vector::new(*op, vec![b.at(0); op.parts().len()]);
            if op.takes_scalar() {
                vector = if op.takes_float() { vector.scalar(1.0) } else { vector.scalar(1) };
            }
            let statement = Statement { instruction: Instruction::Vector(vector), field: None };
            source.body.push(Node::Do(statement));
            socs.iter().any(|soc| Program::new(source.clone(), soc).is_ok())
        };
        mnemonic::all().filter(has).collect()
    })
}

/// Instructions on operands that lie anywhere in a slot, also on each other.
fn case() -> impl Strategy<Value = Case> {
    let ops = available().to_vec();
    let masks = (any::<u128>(), any::<u128>(), any::<bool>(), any::<bool>());
    let operands = proptest::array::uniform4((0u32..64, 0u16..6, 0u16..12));
    (proptest::sample::select(ops), operands, 0u32..5, masks, any::<u16>(), any::<u64>()).prop_map(
        |(op, operands, repeats, (mask, last, whole, counter), scalar, seed)| {
            let all = if op.lanes() >= 128 { u128::MAX } else { (1 << op.lanes()) - 1 };
            let (mask, last) = match (op.masking(), whole) {
                (Masking::Any, false) if !counter => {
                    let mask = mask & all | 1;
                    (mask, mask)
                }
                (Masking::Any | Masking::Count, _) if counter => (all, all >> (last % u128::from(op.lanes())) as u32),
                _ => (all, all),
            };
            let parts = op.parts();
            let operand = |i: usize, (block, block_stride, repeat_stride): (u32, u16, u16)| {
                let (b, r) = parts.get(i).map_or((1, 1), |part| part.default_strides(op.lanes()));
                let part = parts.get(i);
                OperandAt {
                    at: LocalAt { buffer: BufferId(0), slot: 0, address: block * 32 },
                    block_stride: if part.is_some_and(|p| p.block_stride) { block_stride } else { b },
                    repeat_stride: if part.is_some_and(|p| p.repeat_stride()) { repeat_stride } else { r },
                }
            };
            let operands = std::array::from_fn(|i| operand(i, operands[i]));
            let scalar = match op {
                VectorOp::WithScalar(ScalarOp::Shl | ScalarOp::Shr, _) => u64::from(scalar % 16),
                _ if op.element() == Element::F32 => f16::from_bits(scalar).to_f32().to_bits().into(),
                _ => scalar.into(),
            };
            Case { step: VectorStep { op, operands, scalar, repeats, mask, last, counter }, seed }
        },
    )
}

fn program() -> Program {
    let mut source = Source::new(1);
    source.buffer("b", SLOT as u32, 1, None);
    Program::new(source, &Soc::builtin("Ascend910B1").unwrap()).unwrap()
}

#[test]
fn the_definition_knows_every_instruction() {
    // Bytes that are small positive numbers in every type.
    let memory = [0, 0x3c].repeat(SLOT / 2);
    for op in available() {
        let operand = |part: &Part| {
            let (block_stride, repeat_stride) = part.default_strides(op.lanes());
            let at = LocalAt { buffer: BufferId(0), slot: 0, address: 0 };
            OperandAt { at, block_stride, repeat_stride }
        };
        let parts = op.parts();
        let operands = std::array::from_fn(|i| operand(&parts[i.min(parts.len() - 1)]));
        let all = u128::MAX >> (128 - op.lanes());
        let step = VectorStep { op: *op, operands, scalar: 1, repeats: 1, mask: all, last: all, counter: false };
        let elsewhere = match op {
            VectorOp::Gather(_) | VectorOp::GatherBlocks(_) | VectorOp::GatherBits(_) | VectorOp::Scatter(_) => true,
            // Their values are tested where they are computed.
            VectorOp::Cast { to, rounding, .. } => {
                *rounding != if is_float(*to) { Rounding::Even } else { Rounding::Floor }
            }
            _ => false,
        };
        assert!(elsewhere || expected(&step, &memory).is_some(), "{}", mnemonic::of(*op));
    }
}

proptest! {
    #![proptest_config(strategies::cases(3000))]

    #[test]
    fn lanes_are_what_the_definition_says(case in case()) {
        let program = program();
        let Some(expected) = expected(&case.step, &memory(case.seed)) else { return Ok(()) };
        let mut memory = memory(case.seed);
        let step = Step { node: NodeId(0), action: Action::Vector(case.step) };
        let mut global = Global::new(&program).unwrap();
        prop_assume!(program.check_action(&step.action).is_ok());
        apply(&program, &step, &mut memory, &mut global).unwrap();
        let difference = memory.iter().zip(&expected).position(|(a, b)| a != b);
        prop_assert!(difference.is_none(), "{} at byte {difference:?}: {:?}", mnemonic::of(case.step.op), case.step);
    }

    /// What a step touches is what it needs and what it changes.
    #[test]
    fn touches_are_exact(case in case()) {
        let program = program();
        let step = Step { node: NodeId(0), action: Action::Vector(case.step) };
        prop_assume!(program.check_action(&step.action).is_ok());
        let (mut read, mut written, mut by_data, mut bytes) = (vec![false; SLOT], vec![false; SLOT], false, 0);
        step.action.touches(|touch| {
            by_data |= touch.by_data;
            bytes += u64::from(touch.rows) * u64::from(touch.bytes);
            for row in 0..u64::from(touch.rows) {
                let start = (touch.start + row * touch.pitch) as usize;
                for at in start..start + touch.bytes as usize {
                    read[at] |= touch.access != Access::Write;
                    written[at] |= touch.access != Access::Read;
                }
            }
        });
        // Of operands that are lanes, the active ones and nothing else.
        let (parts, VectorStep { repeats, mask, last, .. }) = (case.step.op.parts(), case.step);
        let active = u64::from(repeats.saturating_sub(1) * mask.count_ones() + last.count_ones() * repeats.min(1));
        if parts.iter().all(|part| part.layout == Layout::Lanes) {
            prop_assert_eq!(bytes, parts.iter().map(|part| active * u64::from(part.size)).sum::<u64>());
        }
        if by_data {
            return Ok(());
        }
        let mut global = Global::new(&program).unwrap();
        let before = memory(case.seed);
        let mut memory = before.clone();
        apply(&program, &step, &mut memory, &mut global).unwrap();
        for (at, (a, b)) in memory.iter().zip(&before).enumerate() {
            prop_assert!(a == b || written[at], "{} changes byte {at}", mnemonic::of(case.step.op));
        }
        // Other bytes where nothing is read leave all that is written as it is.
        let mut other: Vec<u8> = before.iter().zip(&read).map(|(byte, read)| if *read { *byte } else { !byte }).collect();
        apply(&program, &step, &mut other, &mut global).unwrap();
        for (at, written) in written.iter().enumerate().filter(|(_, written)| **written) {
            prop_assert!(memory[at] == other[at], "{} {written} at byte {at} depends on what it does not read", mnemonic::of(case.step.op));
        }
    }
}
