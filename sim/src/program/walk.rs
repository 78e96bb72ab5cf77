//! The scalar unit of a core: walks through the program.

mod evaluate;

use half::{bf16, f16};

use crate::product::Element;

use super::Program;
use super::code::{Head, Op};
use super::expr::Reg;
use super::fault::Fault;
use super::instruction::Instruction;
use super::operation::is_float;
use super::source::{Content, NodeId};
use super::step::{Action, ReadStep, Step};

pub(super) use evaluate::first_lanes;

/// A loop that a core is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LoopState {
    /// The loop.
    pub node: NodeId,
    /// Its variable.
    pub var: Reg,
    /// What the variable is now.
    pub value: i64,
    /// No iteration reaches this.
    pub end: i64,
    /// What is added for the next iteration.
    pub step: i64,
    body: usize,
}

impl LoopState {
    /// Iterations behind this one.
    #[must_use]
    pub fn remaining(&self) -> u64 {
        let left = i128::from(self.end) - i128::from(self.value) - 1;
        u64::try_from(left.max(0) / i128::from(self.step)).unwrap_or(u64::MAX)
    }
}

/// What comes next in a program, as its text says it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Next<'p> {
    /// An instruction, whose operands are yet to be evaluated.
    Instruction(NodeId, &'p Instruction),
    /// An iteration of a loop, which is the innermost one, begins.
    Iterate(NodeId),
    /// A condition was looked at.
    Branch(NodeId),
}

/// A core on its way through the program. Small: registers and loops, no instructions.
#[derive(Clone, Debug)]
pub struct Walker<'p> {
    program: &'p Program,
    core: u32,
    at: usize,
    registers: Vec<i64>,
    loops: Vec<LoopState>,
}

impl<'p> Walker<'p> {
    /// A core that has not begun.
    #[must_use]
    pub fn new(program: &'p Program, core: u32) -> Self {
        let value = |content: &Content| match content {
            Content::Core => core.into(),
            Content::PerCore(values) => values.get(core as usize).copied().unwrap_or(0),
            Content::Int | Content::Float => 0,
        };
        let registers = program.source().registers.iter().map(|register| value(&register.content)).collect();
        Self { program, core, at: 0, registers, loops: Vec::new() }
    }

    /// The core's index.
    #[must_use]
    pub const fn core(&self) -> u32 {
        self.core
    }

    /// The program that it walks through.
    #[must_use]
    pub const fn program(&self) -> &'p Program {
        self.program
    }

    /// The loops that it is in, outermost first.
    #[must_use]
    pub fn loops(&self) -> &[LoopState] {
        &self.loops
    }

    /// Whether it has come to its end.
    #[must_use]
    pub fn ended(&self) -> bool {
        self.at >= self.program.code().len()
    }

    /// What the registers hold.
    #[must_use]
    pub fn registers(&self) -> &[i64] {
        &self.registers
    }

    /// Gives a register the element that a [`ReadStep`] asks for, in the lowest bytes of `bits`.
    pub fn assign(&mut self, read: &ReadStep, bits: u64) {
        if let Some(register) = self.registers.get_mut(read.into.index()) {
            *register = widen(read.element, bits);
        }
    }

    /// Leaves out so many iterations of the innermost loop, at most those that remain. Right after [`Action::Iterate`], and only where
    /// registers that the body sets are set anew before they are used.
    pub fn skip(&mut self, iterations: u64) {
        if let Some(innermost) = self.loops.last_mut() {
            let iterations = iterations.min(innermost.remaining());
            innermost.value += i64::try_from(iterations).unwrap_or(0) * innermost.step;
            self.registers[innermost.var.index()] = innermost.value;
        }
    }

    /// What the core does next; `None` at the end.
    ///
    /// # Errors
    /// A field of the instruction got a value out of range. The instruction counts as done: the next call goes on behind it.
    #[inline]
    pub fn step(&mut self) -> Result<Option<Step>, Fault> {
        let Some(next) = self.fetch() else { return Ok(None) };
        let (node, action) = match next {
            Next::Instruction(node, instruction) => (node, self.evaluate(instruction)),
            Next::Iterate(node) => (node, Ok(Action::Iterate)),
            Next::Branch(node) => (node, Ok(Action::Branch)),
        };
        match action {
            Ok(action) => Ok(Some(Step { node, action })),
            Err(kind) => Err(Fault { core: self.core, node, kind }),
        }
    }

    /// Goes on to what comes next; `None` at the end. An instruction is yet to be [evaluated](Self::evaluate).
    #[inline]
    pub(crate) fn fetch(&mut self) -> Option<Next<'p>> {
        if let Some(Op::Do(node, instruction)) = self.program.code().get(self.at) {
            self.at += 1;
            return Some(Next::Instruction(*node, instruction));
        }
        self.branch()
    }

    /// The same where it depends on loops and conditions what comes next.
    fn branch(&mut self) -> Option<Next<'p>> {
        let program = self.program;
        while let Some(op) = program.code().get(self.at) {
            self.at += 1;
            match op {
                Op::Do(node, instruction) => return Some(Next::Instruction(*node, instruction)),
                Op::For(node, Head { var, from, to, step, exit }) => {
                    let (value, end) = (self.int(from), self.int(to));
                    if value < end {
                        self.registers[var.index()] = value;
                        let (node, var, step) = (*node, *var, *step);
                        self.loops.push(LoopState { node, var, value, end, step, body: self.at });
                        return Some(Next::Iterate(node));
                    }
                    self.at = *exit;
                }
                Op::Next => {
                    let Some(innermost) = self.loops.last_mut() else { continue };
                    match innermost.value.checked_add(innermost.step) {
                        Some(value) if value < innermost.end => {
                            innermost.value = value;
                            self.registers[innermost.var.index()] = value;
                            self.at = innermost.body;
                            return Some(Next::Iterate(innermost.node));
                        }
                        _ => {
                            self.loops.pop();
                        }
                    }
                }
                Op::If(node, condition, otherwise) => {
                    if !self.holds(condition) {
                        self.at = *otherwise;
                    }
                    return Some(Next::Branch(*node));
                }
                Op::Jump(to) => self.at = *to,
            }
        }
        None
    }
}

/// What a register holds of an element: its value, or of a floating-point one the bits of the same `f32`.
#[expect(clippy::cast_possible_truncation, reason = "the element is in the lowest bytes")]
fn widen(element: Element, bits: u64) -> i64 {
    match element {
        Element::F16 => f16::from_bits(bits as u16).to_f32().to_bits().into(),
        Element::Bf16 => bf16::from_bits(bits as u16).to_f32().to_bits().into(),
        Element::F32 => (bits as u32).into(),
        Element::I8 => (bits as u8).cast_signed().into(),
        Element::U8 => (bits as u8).into(),
        Element::I16 => (bits as u16).cast_signed().into(),
        Element::U16 => (bits as u16).into(),
        Element::I32 => (bits as u32).cast_signed().into(),
        Element::U32 => (bits as u32).into(),
        Element::I64 => bits.cast_signed(),
    }
}

impl ReadStep {
    /// What a run without data reads, as an element; `random` picks one of the assumed values.
    #[must_use]
    pub fn assumed(&self, random: u64) -> Option<u64> {
        let value = self.assume?.pick(random);
        #[expect(clippy::cast_precision_loss, reason = "the nearest is meant")]
        Some(match self.element {
            e if !is_float(e) => value.cast_unsigned(),
            Element::F16 => f16::from_f32(value as f32).to_bits().into(),
            Element::Bf16 => bf16::from_f32(value as f32).to_bits().into(),
            _ => (value as f32).to_bits().into(),
        })
    }
}
