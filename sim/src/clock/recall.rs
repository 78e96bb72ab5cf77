//! Vector instructions that were timed before.
//!
//! How long one takes, and what it reads and writes, follows from the registers that its addresses and its extent name. Where these
//! hold what they held another time, nothing is evaluated again. No instruction faults that did not fault then.

use crate::program::{
    Expr, Extent, Instruction, Local, Mask, Move, Node, NodeId, Program, Reg, Scalar, ScalarOp, Transpose, Vector,
    VectorOp, visit,
};

use super::vector::Timed;

/// Most registers that an instruction is remembered by.
const REGISTERS: usize = 3;
/// Times of an instruction that are kept: at first, and once that has been too few so often.
const FEW: usize = 4;
const MANY: usize = 64;

/// What a program's vector instructions took, whichever core ran them.
#[derive(Clone, Debug)]
pub(super) struct Recall(Vec<Option<Known>>);

/// What is known of an instruction.
#[derive(Clone, Debug)]
struct Known {
    registers: Vec<Reg>,
    /// By what the registers held, each in the place that these values share with others.
    times: Vec<Option<([i64; REGISTERS], Timed)>>,
    missed: usize,
}

impl Recall {
    /// Nothing yet, of a program.
    pub(super) fn of(program: &Program) -> Self {
        let mut all = Vec::new();
        visit(&program.source().body, &mut |NodeId(node), item| {
            all.resize_with(node as usize + 1, || None);
            if let Node::Do(statement) = item {
                let registers = registers(&statement.instruction).filter(|some| some.len() <= REGISTERS);
                all[node as usize] = registers.map(|registers| Known { registers, times: Vec::new(), missed: 0 });
            }
        });
        Self(all)
    }

    /// What an instruction took when the registers held the same.
    #[inline]
    pub(super) fn get(&self, node: NodeId, registers: &[i64]) -> Option<&Timed> {
        let known = self.0.get(node.0 as usize)?.as_ref()?;
        let key = known.key(registers);
        match known.times.get(place(&key, known.times.len())) {
            Some(Some((same, timed))) if *same == key => Some(timed),
            _ => None,
        }
    }

    /// Remembers what an instruction takes.
    pub(super) fn put(&mut self, node: NodeId, registers: &[i64], timed: Timed) {
        let Some(Some(known)) = self.0.get_mut(node.0 as usize) else { return };
        known.missed += 1;
        let places = if known.missed > MANY { MANY } else { FEW };
        if known.times.len() != places {
            known.times = vec![None; places];
        }
        let key = known.key(registers);
        known.times[place(&key, places)] = Some((key, timed));
    }
}

impl Known {
    #[inline]
    fn key(&self, registers: &[i64]) -> [i64; REGISTERS] {
        let mut key = [0; REGISTERS];
        for (value, register) in key.iter_mut().zip(&self.registers) {
            *value = registers.get(usize::from(register.0)).copied().unwrap_or(0);
        }
        key
    }
}

/// Where the times of some registers are kept.
#[inline]
fn place(key: &[i64; REGISTERS], places: usize) -> usize {
    let mixed = key.iter().fold(0u64, |sum, value| sum.wrapping_mul(5).wrapping_add(value.cast_unsigned()));
    // Both numbers of places are powers of two.
    mixed as usize & places.wrapping_sub(1)
}

/// The registers that decide what a vector instruction does to its pipe, and whether it can be carried out; `None` of others.
fn registers(instruction: &Instruction) -> Option<Vec<Reg>> {
    let mut all = Vec::new();
    let mut add = |expr: &Expr| all.extend(expr.terms().iter().map(|(reg, _)| *reg));
    let local = |Local { slot, offset, .. }: &Local, add: &mut dyn FnMut(&Expr)| {
        add(slot);
        add(offset);
    };
    match instruction {
        Instruction::Vector(Vector { op, operands, scalar, extent }) => {
            operands.iter().for_each(|operand| local(&operand.at, &mut add));
            match extent {
                Extent::Count(count) => add(count),
                Extent::Repeats { repeats, mask } => {
                    add(repeats);
                    if let Mask::First(lanes) = mask {
                        add(lanes);
                    }
                }
            }
            // Any number takes as long; but not by any distance can be shifted.
            if let (VectorOp::WithScalar(ScalarOp::Shl | ScalarOp::Shr, _), Some(Scalar::Int(distance))) = (op, scalar)
            {
                add(distance);
            }
        }
        Instruction::Move(Move { to, from, burst }) => {
            local(to, &mut add);
            local(from, &mut add);
            [&burst.blocks, &burst.bytes, &burst.from_gap, &burst.to_gap].into_iter().for_each(add);
        }
        Instruction::Transpose(Transpose { to, from, repeats, .. }) => {
            local(&to.at, &mut add);
            local(&from.at, &mut add);
            add(repeats);
        }
        _ => return None,
    }
    all.sort_unstable();
    all.dedup();
    Some(all)
}
