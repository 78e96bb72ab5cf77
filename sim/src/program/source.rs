//! A program as somebody writes it: plain data that can say anything, until [`Program`](super::Program) has checked it.

use std::fmt;

use ubtile_tiling::Dtype;

use super::expr::{Expr, Reg};
use super::instruction::Instruction;
use super::scalar::Condition;

/// A program before it is checked. Names are of letters, digits and `_`, not beginning with a digit, all different.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// Cores that run it, from 1. All run the same code.
    pub cores: u32,
    /// Arguments and workspace in global memory.
    pub tensors: Vec<Tensor>,
    /// Parts of each core's UB.
    pub buffers: Vec<Buffer>,
    /// What the scalar unit holds; the first one is [`Reg::CORE`].
    pub registers: Vec<Register>,
    /// What each core does.
    pub body: Vec<Node>,
}

/// A tensor by its position in [`Source::tensors`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TensorId(pub u16);

/// A buffer by its position in [`Source::buffers`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BufferId(pub u16);

/// What a tensor is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Read.
    Input,
    /// Written; undefined before.
    Output,
    /// Written; zero before, as the framework makes an output that kernels add to.
    ZeroedOutput,
    /// Given, changed, and a result.
    InOut,
    /// Undefined before, and nobody looks at it afterwards.
    Workspace,
    /// Zero before, and nobody looks at it afterwards.
    ZeroedWorkspace,
}

impl Role {
    /// Every role with its words in the text form; of workspace, what follows the size.
    pub const ALL: [(Self, &'static str); 6] = [
        (Self::Input, "in"),
        (Self::Output, "out"),
        (Self::ZeroedOutput, "zeroed out"),
        (Self::InOut, "inout"),
        (Self::Workspace, "workspace"),
        (Self::ZeroedWorkspace, "zeroed workspace"),
    ];

    /// Whether its values are given.
    #[must_use]
    pub const fn is_given(self) -> bool {
        matches!(self, Self::Input | Self::InOut)
    }

    /// Whether its values are a result.
    #[must_use]
    pub const fn is_result(self) -> bool {
        matches!(self, Self::Output | Self::ZeroedOutput | Self::InOut)
    }

    /// Whether it is zero before.
    #[must_use]
    pub const fn is_zeroed(self) -> bool {
        matches!(self, Self::ZeroedOutput | Self::ZeroedWorkspace)
    }
}

/// A contiguous tensor in global memory. It begins at a multiple of 512 bytes, and no two overlap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    /// Its name, also in tensor files.
    pub name: String,
    /// Type of its elements.
    pub dtype: Dtype,
    /// Its shape.
    pub shape: Vec<u64>,
    /// What it is for.
    pub role: Role,
}

impl Tensor {
    /// Its elements.
    #[must_use]
    pub fn elements(&self) -> u64 {
        self.shape.iter().product()
    }

    /// Its size in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.elements() * self.dtype.size() as u64
    }
}

/// A part of the UB: `slots` pieces of `bytes`, one after the other. An instruction names a slot and reaches nothing else.
///
/// Buffers may share memory: what lives when is the program's business, and the sanitizer's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// Its name.
    pub name: String,
    /// Size of a slot, a multiple of 32.
    pub bytes: u32,
    /// Pieces, at least 1; two are a double buffer.
    pub slots: u32,
    /// Where it begins, a multiple of 32.
    pub address: u32,
    /// The field of the plan that its size follows from.
    pub field: Option<String>,
}

/// What a register holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// The core's index. Only the first register does.
    Core,
    /// A constant of each core, in their order.
    PerCore(Vec<i64>),
    /// A whole number.
    Int,
    /// A floating-point number.
    Float,
}

/// A register of the scalar unit. The model has as many as a program names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Register {
    /// Its name.
    pub name: String,
    /// What it holds.
    pub content: Content,
}

/// A piece of structured code.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "most nodes are instructions")]
pub enum Node {
    /// An instruction.
    Do(Statement),
    /// A loop.
    For(For),
    /// Code under a condition.
    If(If),
    /// Code that belongs to a tile. Findings name the innermost one around an instruction, with the variables of the loops around it.
    Tile(Tile),
}

/// An instruction, and whose fault it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// The instruction.
    pub instruction: Instruction,
    /// The field of the plan that its extents follow from.
    pub field: Option<String>,
}

/// `var` takes `from`, `from + step`, ... below `to`. Both bounds are evaluated once, before the first iteration.
#[derive(Clone, Debug, PartialEq)]
pub struct For {
    /// The variable; the body cannot change it.
    pub var: Reg,
    /// The first value.
    pub from: Expr,
    /// Where it ends: no iteration reaches this.
    pub to: Expr,
    /// What is added, above 0.
    pub step: i64,
    /// What is repeated.
    pub body: Vec<Node>,
    /// The field of the plan that the bounds follow from.
    pub field: Option<String>,
}

/// Code under a condition.
#[derive(Clone, Debug, PartialEq)]
pub struct If {
    /// The condition.
    pub condition: Condition,
    /// What happens when it holds.
    pub then: Vec<Node>,
    /// What happens otherwise.
    pub otherwise: Vec<Node>,
}

/// Code of a tile.
#[derive(Clone, Debug, PartialEq)]
pub struct Tile {
    /// What tiles of this kind are called.
    pub name: String,
    /// Its code.
    pub body: Vec<Node>,
}

/// A loop, condition, tile or instruction by its position in the text: outer ones before inner ones, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

/// A place in a text; both numbers count from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The line.
    pub line: u32,
    /// The character of the line.
    pub column: u32,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// Calls `visit` for each node in the order of [`NodeId`].
pub fn visit<'a>(body: &'a [Node], visit_one: &mut impl FnMut(NodeId, &'a Node)) {
    fn go<'a>(body: &'a [Node], next: &mut u32, visit_one: &mut impl FnMut(NodeId, &'a Node)) {
        for node in body {
            visit_one(NodeId(*next), node);
            *next += 1;
            match node {
                Node::Do(_) => {}
                Node::For(For { body, .. }) | Node::Tile(Tile { body, .. }) => go(body, next, visit_one),
                Node::If(If { then, otherwise, .. }) => {
                    go(then, next, visit_one);
                    go(otherwise, next, visit_one);
                }
            }
        }
    }
    go(body, &mut 0, visit_one);
}

impl Source {
    /// A program for `cores` cores that does nothing.
    #[must_use]
    pub fn new(cores: u32) -> Self {
        let core = Register { name: "core".into(), content: Content::Core };
        Self { cores, tensors: Vec::new(), buffers: Vec::new(), registers: vec![core], body: Vec::new() }
    }

    /// Adds a tensor.
    pub fn tensor(&mut self, name: &str, dtype: Dtype, shape: &[u64], role: Role) -> TensorId {
        self.tensors.push(Tensor { name: name.into(), dtype, shape: shape.into(), role });
        TensorId(id(self.tensors.len()))
    }

    /// Adds a buffer behind those that are there, its slots rounded up to whole blocks.
    pub fn buffer(&mut self, name: &str, bytes: u32, slots: u32, field: Option<&str>) -> BufferId {
        let end = |buffer: &Buffer| buffer.address.saturating_add(buffer.bytes.saturating_mul(buffer.slots));
        let address = self.buffers.iter().map(end).max().unwrap_or(0);
        let bytes = bytes.checked_next_multiple_of(super::BLOCK).unwrap_or(u32::MAX);
        self.buffers.push(Buffer { name: name.into(), bytes, slots, address, field: field.map(Into::into) });
        BufferId(id(self.buffers.len()))
    }

    /// Adds a register.
    pub fn register(&mut self, name: &str, content: Content) -> Reg {
        self.registers.push(Register { name: name.into(), content });
        Reg(id(self.registers.len()))
    }
}

/// The position of the last of so many. One too many is caught by the check of the number.
fn id(len: usize) -> u16 {
    u16::try_from(len - 1).unwrap_or(u16::MAX)
}
