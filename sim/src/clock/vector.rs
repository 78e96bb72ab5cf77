//! What the instructions of the vector pipe cost.

use std::collections::{BTreeMap, BTreeSet};

use crate::product::{Element, InstructionCost, Soc, Unknown, VectorOp as Key};
use crate::program::{
    Access, Action, BLOCK, BinaryOp, Instruction, Layout, LocalAt, MoveStep, Node, NodeId, OperandAt, Part, Program,
    REPEAT, ReduceOp, ScalarOp, TransposeStep, UnaryOp, VectorOp, VectorStep, size_of, visit,
};

use super::banks::{Banks, Memo};
use super::evidence::Evidence;
use super::recall::Recall;
use super::tick::{CYCLE, Tick, cycles};

/// Ticks of an instruction and of each of its repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cost {
    overhead: Tick,
    repeat: Tick,
}

/// Costs of a program's vector instructions on a product.
#[derive(Clone, Debug)]
pub(super) struct Vectors {
    /// By node.
    costs: Vec<Cost>,
    memos: Vec<Memo>,
    pub(super) recall: Recall,
    keys: BTreeSet<Key>,
    /// `None` where they are not to collide, or little is known of them.
    banks: Option<Banks>,
    counter_mode: Tick,
}

/// An instruction of the vector pipe, in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Busy {
    /// All of it.
    pub(super) total: Tick,
    /// From the first repeat to the last one.
    pub(super) repeats: Tick,
    /// Of those, what bank conflicts take.
    pub(super) conflicts: Tick,
}

/// What an instruction does to the vector pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Timed {
    pub(super) busy: Busy,
    /// What the next instruction has to wait for if it reads it.
    pub(super) writes: Span,
    /// What it reads that way itself.
    pub(super) reads: [Span; 3],
}

impl Vectors {
    /// Looks up what a program uses.
    ///
    /// # Errors
    /// An instruction's cost is unknown.
    pub(super) fn new(program: &Program, soc: &Soc, counter_mode: Tick, banks: Option<Banks>) -> Result<Self, Unknown> {
        let mut costs = Vec::new();
        let mut result = Ok(());
        let mut known: BTreeMap<_, Result<Cost, Unknown>> = BTreeMap::new();
        visit(&program.source().body, &mut |NodeId(node), item| {
            let used = used(item);
            let cost =
                used.map(|(key, size)| known.entry((key, size)).or_insert_with(|| lookup(soc, key, size)).clone());
            costs.resize(node as usize + 1, Cost { overhead: 0, repeat: 0 });
            match cost.transpose() {
                Ok(Some(cost)) => costs[node as usize] = cost,
                Ok(None) => {}
                Err(unknown) => {
                    if result.is_ok() {
                        result = Err(unknown);
                    }
                }
            }
        });
        result?;
        let memos = vec![Memo::default(); costs.len()];
        let keys = known.keys().map(|(key, _)| *key).collect();
        let recall = Recall::of(program);
        Ok(Self { costs, memos, recall, keys, banks, counter_mode })
    }

    /// What the costs rest on.
    pub(super) fn evidence(&self, soc: &Soc) -> Vec<Evidence> {
        let fact = |key: &Key| {
            let graded = soc.vector.fact(*key)?.graded()?;
            let name = Key::ALL.iter().find(|(known, _)| known == key).map_or("", |(_, name)| name);
            Some(Evidence { key: format!("vector.{name}"), grade: graded.grade, source: graded.source.to_string() })
        };
        self.keys.iter().filter_map(fact).collect()
    }

    /// Leaves of each instruction its repeats alone.
    pub(super) fn without_overhead(&mut self) {
        self.costs.iter_mut().for_each(|cost| cost.overhead = 0);
        self.counter_mode = 0;
    }

    fn cost(&self, node: NodeId) -> Cost {
        self.costs.get(node.0 as usize).copied().unwrap_or(Cost { overhead: 0, repeat: 0 })
    }

    /// An instruction of the vector pipe. Others do nothing to it.
    pub(super) fn timed(&mut self, program: &Program, node: NodeId, action: &Action) -> Timed {
        match action {
            Action::Vector(step) => self.vector(program, node, step),
            Action::Move(step) => self.copy(node, step).into(),
            Action::Transpose(step) => self.transpose(node, step).into(),
            _ => Busy { total: 0, repeats: 0, conflicts: 0 }.into(),
        }
    }

    fn vector(&mut self, program: &Program, node: NodeId, step: &VectorStep) -> Timed {
        let Cost { overhead, repeat } = self.cost(node);
        let plain = repeat * u64::from(step.repeats);
        let repeats = match (&self.banks, self.memos.get_mut(node.0 as usize)) {
            (Some(banks), Some(memo)) => banks.ticks(step, repeat, memo),
            _ => plain,
        };
        let counter = if step.counter { self.counter_mode } else { 0 };
        let busy = Busy { total: overhead + counter + repeats, repeats, conflicts: repeats - plain };
        let parts = step.op.parts();
        let (mut writes, mut reads) = (Span::default(), [Span::default(); 3]);
        let mut read = reads.iter_mut();
        for (part, operand) in parts.iter().zip(&step.operands) {
            let span = Span::of(program, step, part, operand);
            if part.access != Access::Read {
                writes = span;
            }
            if part.access != Access::Write
                && let Some(read) = read.next()
            {
                *read = span;
            }
        }
        Timed { busy, writes, reads }
    }

    fn copy(&self, node: NodeId, step: &MoveStep) -> Busy {
        let Cost { overhead, repeat } = self.cost(node);
        // Without gaps blocks are one.
        let [blocks, bytes] = [step.blocks, step.bytes].map(u64::from);
        let [blocks, bytes] =
            if (step.from_gap, step.to_gap) == (0, 0) { [blocks.min(1), blocks * bytes] } else { [blocks, bytes] };
        let repeats = repeat * blocks * bytes.div_ceil(u64::from(REPEAT));
        Busy { total: overhead + repeats, repeats, conflicts: 0 }
    }

    fn transpose(&self, node: NodeId, step: &TransposeStep) -> Busy {
        let Cost { overhead, repeat } = self.cost(node);
        // Sixteen blocks are two repeats' worth of bytes, of 8-bit elements one.
        let one = repeat * (step.repeat_bytes() / u64::from(REPEAT));
        let plain = one * u64::from(step.repeats);
        let repeats = match &self.banks {
            None => plain,
            Some(banks) => {
                let one = one.max(banks.rows(&step.from)).max(banks.rows(&step.to));
                one * u64::from(step.repeats)
            }
        };
        Busy { total: overhead + repeats, repeats, conflicts: repeats - plain }
    }
}

impl From<Busy> for Timed {
    /// Copies and transpositions wait for nothing, and nothing waits for them.
    fn from(busy: Busy) -> Self {
        Self { busy, writes: Span::default(), reads: [Span::default(); 3] }
    }
}

fn lookup(soc: &Soc, key: Key, size: u32) -> Result<Cost, Unknown> {
    let InstructionCost { overhead_cycles, cycles_8, cycles_16, cycles_32, .. } = soc.vector.cost(key)?;
    let repeat = match size {
        1 => cycles_8.or(cycles_16),
        2 => cycles_16,
        _ => cycles_32,
    };
    let missing = || {
        let name = Key::ALL.iter().find(|(known, _)| *known == key).map_or("", |(_, name)| name);
        Unknown { key: format!("vector.{name}.cycles_{}", size * 8).into() }
    };
    Ok(Cost { overhead: cycles(overhead_cycles), repeat: cycles(repeat.ok_or_else(missing)?) })
}

/// Under which name a product file has the cost of an instruction, and the size of its elements.
fn used(node: &Node) -> Option<(Key, u32)> {
    let Node::Do(statement) = node else { return None };
    match &statement.instruction {
        Instruction::Vector(vector) => Some((key(vector.op), size_of(vector.op.element()))),
        Instruction::Move(_) => Some((Key::UbToUb, 2)),
        Instruction::Transpose(transpose) => Some((Key::Transpose, size_of(transpose.element))),
        _ => None,
    }
}

/// Instructions that no table lists cost what the closest one does.
fn key(op: VectorOp) -> Key {
    match op {
        VectorOp::Binary(op, _) => match op {
            BinaryOp::Add | BinaryOp::AddRelu => Key::Add,
            BinaryOp::Sub | BinaryOp::SubRelu => Key::Sub,
            BinaryOp::Mul => Key::Mul,
            BinaryOp::Div => Key::Div,
            BinaryOp::Max => Key::Max,
            BinaryOp::Min => Key::Min,
            BinaryOp::And => Key::And,
            BinaryOp::Or => Key::Or,
            BinaryOp::MulAddDst => Key::MulAddDst,
            // The throughput table has them with axpy.
            BinaryOp::DstMulAdd | BinaryOp::DstMulAddRelu => Key::Axpy,
        },
        VectorOp::Unary(op, _) => match op {
            UnaryOp::Abs => Key::Abs,
            UnaryOp::Relu => Key::Relu,
            UnaryOp::Rec => Key::Rec,
            UnaryOp::Rsqrt => Key::Rsqrt,
            UnaryOp::Sqrt => Key::Sqrt,
            UnaryOp::Exp => Key::Exp,
            UnaryOp::Ln => Key::Ln,
            UnaryOp::Not => Key::Not,
            UnaryOp::Copy => Key::Copy,
        },
        VectorOp::WithScalar(op, _) => match op {
            ScalarOp::Adds => Key::Adds,
            ScalarOp::Muls => Key::Muls,
            ScalarOp::Maxs => Key::Maxs,
            ScalarOp::Mins => Key::Mins,
            ScalarOp::LeakyRelu => Key::Relu,
            ScalarOp::Axpy => Key::Axpy,
            ScalarOp::Shl | ScalarOp::Shr => Key::Shift,
        },
        // The throughput table has the index vector with it.
        VectorOp::Duplicate(_) | VectorOp::Index(_) => Key::Dup,
        VectorOp::Cast { to, from, .. } => cast(to, from),
        VectorOp::Compare(..) => Key::Compare,
        VectorOp::CompareScalar(..) => Key::CompareScalar,
        VectorOp::Select(_) | VectorOp::SelectScalar(_) => Key::Select,
        VectorOp::Reduce(ReduceOp::Sum, _) => Key::ReduceRepeat,
        VectorOp::Reduce(ReduceOp::Max | ReduceOp::Min, _) => Key::ReduceMinmaxRepeat,
        VectorOp::ReduceBlock(..) => Key::ReduceBlock,
        VectorOp::ReducePair(_) => Key::ReducePair,
        VectorOp::GatherMask(..) | VectorOp::GatherBits(_) => Key::GatherMask,
        VectorOp::Broadcast(_) => Key::Brcb,
        VectorOp::Gather(_) => Key::Gather,
        VectorOp::GatherBlocks(_) => Key::GatherBlocks,
        VectorOp::Scatter(_) => Key::Scatter,
    }
}

fn cast(to: Element, from: Element) -> Key {
    match (size_of(from), size_of(to)) {
        (8, _) | (_, 8) => Key::Cast64,
        (1, 2) => Key::CastU8F16,
        (narrow, 4) if narrow < 4 => Key::CastWiden,
        _ => Key::CastNarrow,
    }
}

/// Bytes of the UB from the first to the last that an operand has something to do with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: u32,
    pub(super) end: u32,
}

impl Span {
    /// All lanes of all repeats, whichever are active; of a table all that there is.
    fn of(program: &Program, step: &VectorStep, part: &Part, operand: &OperandAt) -> Self {
        let (lanes, LocalAt { buffer, slot, address }) = (step.op.lanes(), operand.at);
        let Some(before) = step.repeats.checked_sub(1) else { return Self { start: address, end: address } };
        let behind = |pitch: u32, last: u32| before.saturating_mul(pitch).saturating_add(last);
        let (block, repeat) = (u32::from(operand.block_stride), u32::from(operand.repeat_stride));
        let bytes = match part.layout {
            Layout::Lanes => {
                let blocks = (lanes * part.size).div_ceil(BLOCK);
                behind(repeat * BLOCK, (blocks.saturating_sub(1) * block + 1) * BLOCK)
            }
            Layout::PerRepeat { bytes, unit } => behind(repeat * unit, bytes),
            Layout::Bits => behind(repeat * BLOCK, lanes / 8),
            Layout::Packed { bytes } => behind(bytes, bytes),
            Layout::Kept => behind(lanes * part.size, lanes * part.size),
            Layout::Table => program.slot(buffer, slot).end.saturating_sub(address),
        };
        Self { start: address, end: address.saturating_add(bytes) }
    }

    /// Whether it shares a byte with another one.
    #[inline]
    pub(super) const fn meets(&self, other: &Self) -> bool {
        self.start < other.end && other.start < self.end
    }
}

/// Ticks by which an instruction has to wait for the one before, whose result it reads: what is left of the way of a repeat through the
/// pipe when the repeats behind the first have gone in.
pub(super) const fn dependence(latency: Tick, before: Busy) -> Tick {
    latency.saturating_sub(before.repeats.saturating_sub(CYCLE))
}
