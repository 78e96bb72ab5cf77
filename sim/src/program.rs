//! Tile programs: what each core of a kernel does, as structured code.
//!
//! Every core runs the same code on its own UB. The *scalar unit* walks through it in order. It computes registers itself, and hands
//! all other instructions to the queues of three *pipes* ([`Pipe`]), which run beside each other, each in order: loads (`mte2`), vector
//! instructions (`v`), and stores (`mte3`). Only flags, barriers and `sync_all` order one pipe against another.
//!
//! A program is made in two steps. [`Source`] is plain data that can say anything: a tree of loops, conditions, tiles and instructions
//! whose addresses and lengths are affine expressions ([`Expr`]) of registers. [`Program::new`] checks it against a product (types,
//! ranges of fields, registers set before they are used), so that a [`Program`] can only be sensible. Fields that depend on registers
//! are checked when the program runs.
//!
//! Whoever runs a program asks a [`Walker`] for the next [`Step`] of a core: the instruction with its operands evaluated, all of them
//! plain numbers in range. The same steps serve three questions, which know nothing of each other:
//!
//! * `exec` says what a step does to memory,
//! * a sanitizer, which bytes it touches ([`Action::touches`]) and whether it may ([`Program::check_action`]),
//! * a clock, how long it takes.
//!
//! A [`Walker`] is the scalar unit: it is asked for a step when the scalar unit gets to it. [`Action::pipe`] says whose queue the step
//! belongs to; what belongs to [`Pipe::S`] happens at once, and before the next step [`Walker::assign`] answers a read. `wait_flag`
//! with target `s`, a barrier of all pipes and `sync_all` hold the scalar unit, so whoever drives the walker asks no further until they
//! are over. Runs without data answer a read with what the program assumes ([`ReadStep::assumed`]).
//!
//! To blame somebody: [`Program::belongs`] names the tile, the plan's field and the loops of each node.
//!
//! All addresses, lengths and gaps are bytes; strides of vector operands are blocks of 32 bytes.
//!
//! ```
//! use ubtile_sim::product::{Element, Soc};
//! use ubtile_sim::program::*;
//! use ubtile_tiling::Dtype;
//!
//! // Each of 4 cores adds 1 to its 1024 elements, 256 at a time.
//! let mut source = Source::new(4);
//! let x = source.tensor("x", Dtype::F32, &[4096], Role::InOut);
//! let tile = source.buffer("tile", 1024, 1, Some("tile_elements"));
//! let i = source.register("i", Content::Int);
//! let at = || x.at(Reg::CORE * 4096 + i * 1024);
//! let granularity = Granularity::Blocks;
//! let flag = |from, to| Flag { from, to, id: 0.into() };
//! let add = VectorOp::WithScalar(ScalarOp::Adds, Element::F32);
//! let burst = Burst::of(1024);
//! let body = [
//!     Instruction::Load(Load { to: tile.at(0), from: at(), burst: burst.clone(), granularity, pad: None, bypass: false }),
//!     Instruction::SetFlag(flag(Pipe::Mte2, Pipe::V)),
//!     Instruction::WaitFlag(flag(Pipe::Mte2, Pipe::V)),
//!     Instruction::Vector(Vector::new(add, [tile.at(0), tile.at(0)]).scalar(1.0).repeats(4)),
//!     Instruction::SetFlag(flag(Pipe::V, Pipe::Mte3)),
//!     Instruction::WaitFlag(flag(Pipe::V, Pipe::Mte3)),
//!     Instruction::Store(Store { to: at(), from: tile.at(0), burst, granularity, add: None, bypass: false }),
//!     Instruction::SetFlag(flag(Pipe::Mte3, Pipe::Mte2)),
//!     Instruction::WaitFlag(flag(Pipe::Mte3, Pipe::Mte2)),
//! ];
//! let body = body.map(|instruction| Node::Do(Statement { instruction, field: None })).into();
//! source.body.push(Node::For(For { var: i, from: 0.into(), to: 4.into(), step: 1, body, field: Some("tiles".into()) }));
//!
//! let program = Program::new(source, &Soc::builtin("Ascend910B1")?)?;
//! let mut walker = Walker::new(&program, 2);
//! let mut loads = Vec::new();
//! while let Some(step) = walker.step()? {
//!     if let Action::Transfer(Transfer { load: true, global, .. }) = step.action {
//!         loads.push(global.offset);
//!     }
//! }
//! assert_eq!(loads, [8192, 9216, 10240, 11264]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod access;
mod belongs;
mod check;
mod code;
mod error;
mod expr;
mod fault;
mod instruction;
mod isa;
pub mod mnemonic;
mod operation;
mod parts;
mod scalar;
mod source;
mod step;
mod vector;
mod walk;

use crate::product::Soc;

pub(crate) use access::bytes_of_bits;
pub use access::{Space, Touch};
pub use belongs::Belongs;
pub use error::{At, Problem, ProgramError, rounding_name};
pub use expr::{Expr, Reg};
pub use fault::{Fault, FaultKind};
pub use instruction::{
    Burst, Flag, Global, Granularity, Instruction, Load, Local, Move, Pad, Pipe, Place, Store, SyncAll,
};
pub use isa::{Field, Limits, Missing};
pub(crate) use isa::{lacks, lacks_transpose, lacks_vector};
pub use operation::{BinaryOp, Masking, Pattern, ReduceOp, ScalarOp, UnaryOp, VectorOp, is_float, size_of};
pub use parts::{Access, Layout, Part, Parts};
pub(crate) use scalar::canonical;
pub use scalar::{Assume, Condition, Float, FloatOp, IntOp, Numbers, Read, Relation, Scalar, Value, Write};
pub use source::{
    Buffer, BufferId, Content, For, If, Node, NodeId, Position, Register, Role, Source, Statement, Tensor, TensorId,
    Tile, visit,
};
pub use step::{
    Action, FlagAt, GlobalAt, LocalAt, MoveStep, OperandAt, PadBytes, PlaceAt, ReadStep, RowsAt, Step, Transfer,
    TransposeStep, VectorStep, WriteStep,
};
pub use vector::{BLOCK, Extent, Mask, Operand, REPEAT, Rows, Transpose, Vector};
pub(crate) use walk::Next;
pub use walk::{LoopState, Walker};

/// A program that a product can run.
#[derive(Clone, Debug)]
pub struct Program {
    source: Source,
    limits: Limits,
    code: Vec<code::Op>,
    /// Of each node, where a text says it.
    positions: Vec<Position>,
}

impl Program {
    /// Checks a source against a product.
    ///
    /// # Errors
    /// The product cannot run it, or it makes no sense.
    pub fn new(source: Source, soc: &Soc) -> Result<Self, ProgramError> {
        let limits = check::check(&source, soc)?;
        let code = code::flatten(&source.body);
        Ok(Self { source, limits, code, positions: Vec::new() })
    }

    /// The same program, whose nodes stand at these positions of a text.
    pub(crate) fn with_positions(self, positions: Vec<Position>) -> Self {
        Self { positions, ..self }
    }

    /// Where a node stands, for people: a line of its text, or a number where there is no text.
    #[must_use]
    pub fn locate(&self, NodeId(node): NodeId) -> String {
        let position = self.positions.get(node as usize);
        position.map_or_else(|| format!("statement {node}"), Position::to_string)
    }

    /// Where a node stands, if it was read from a text.
    #[must_use]
    pub fn position(&self, NodeId(node): NodeId) -> Option<Position> {
        self.positions.get(node as usize).copied()
    }

    /// What it says.
    #[must_use]
    pub const fn source(&self) -> &Source {
        &self.source
    }

    /// Numbers of the product that it was checked against.
    #[must_use]
    pub const fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Bytes of a tensor; 0 where there is none.
    #[must_use]
    pub fn tensor_bytes(&self, tensor: TensorId) -> u64 {
        self.source.tensors.get(usize::from(tensor.0)).map_or(0, Tensor::bytes)
    }

    /// Bytes of UB from the start to the end of the last buffer.
    #[must_use]
    pub fn local_bytes(&self) -> u32 {
        self.source.buffers.iter().map(|b| b.address + b.bytes * b.slots).max().unwrap_or(0)
    }

    /// The buffers that end behind the UB that there is, each with its end.
    pub fn beyond_ub(&self) -> impl Iterator<Item = (BufferId, &Buffer, u32)> {
        let ends = (0..).map(BufferId).zip(&self.source.buffers).map(|(id, b)| (id, b, b.address + b.bytes * b.slots));
        ends.filter(|(_, _, end)| *end > self.limits.ub_bytes)
    }

    fn code(&self) -> &[code::Op] {
        &self.code
    }
}
