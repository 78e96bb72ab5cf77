//! Instructions, with their operands still expressions. Addresses, lengths and gaps are bytes.

use crate::product::Element;

use super::expr::{Expr, Reg};
use super::scalar::{Read, Scalar, Value, Write};
use super::source::{BufferId, TensorId};
use super::vector::{Transpose, Vector};

/// A queue of instructions that run in order, beside the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Pipe {
    /// The scalar unit, which also feeds the others.
    S,
    /// Vector instructions.
    V,
    /// Global memory to UB.
    Mte2,
    /// UB to global memory.
    Mte3,
}

impl Pipe {
    /// Every pipe with its name.
    pub const ALL: [(Self, &'static str); 4] =
        [(Self::S, "s"), (Self::V, "v"), (Self::Mte2, "mte2"), (Self::Mte3, "mte3")];

    /// The name in programs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::S => "s",
            Self::V => "v",
            Self::Mte2 => "mte2",
            Self::Mte3 => "mte3",
        }
    }
}

/// An address of the UB: so many bytes into a slot of a buffer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Local {
    /// The buffer.
    pub buffer: BufferId,
    /// The slot, from 0.
    pub slot: Expr,
    /// Bytes from the start of the slot.
    pub offset: Expr,
}

impl Local {
    /// So many bytes behind it.
    pub fn further(&self, bytes: impl Into<Expr>) -> Self {
        Self { offset: self.offset.clone() + bytes, ..self.clone() }
    }
}

impl BufferId {
    /// So many bytes into the first slot.
    pub fn at(self, offset: impl Into<Expr>) -> Local {
        Local { buffer: self, slot: Expr::default(), offset: offset.into() }
    }

    /// So many bytes into a slot.
    pub fn slot(self, slot: impl Into<Expr>, offset: impl Into<Expr>) -> Local {
        Local { buffer: self, slot: slot.into(), offset: offset.into() }
    }
}

/// An address of global memory: so many bytes into a tensor.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Global {
    /// The tensor.
    pub tensor: TensorId,
    /// Bytes from its start.
    pub offset: Expr,
}

impl TensorId {
    /// So many bytes into the tensor.
    pub fn at(self, offset: impl Into<Expr>) -> Global {
        Global { tensor: self, offset: offset.into() }
    }
}

/// An address of either memory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// In the UB.
    Local(Local),
    /// In global memory.
    Global(Global),
}

/// Blocks at regular distances in both memories.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Burst {
    /// Number of blocks.
    pub blocks: Expr,
    /// Bytes of a block, without padding.
    pub bytes: Expr,
    /// Bytes between the end of a block and the start of the next one where they come from.
    pub from_gap: Expr,
    /// The same where they go. In the UB, a block takes whole units of 32 bytes.
    pub to_gap: Expr,
}

impl Burst {
    /// One block.
    pub fn of(bytes: impl Into<Expr>) -> Self {
        Self { blocks: 1.into(), bytes: bytes.into(), from_gap: 0.into(), to_gap: 0.into() }
    }
}

/// What surrounds each block of a load in the UB. What is left up to a multiple of 32 bytes is undefined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pad {
    /// Bytes in front, whole elements, at most 32.
    pub left: Expr,
    /// Bytes behind, whole elements, at most 32.
    pub right: Expr,
    /// Type of the value.
    pub element: Element,
    /// The value.
    pub value: Scalar,
}

/// Which copy instruction it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Granularity {
    /// Lengths and gaps are multiples of 32 bytes; every product has it.
    Blocks,
    /// Lengths and gaps of global memory are any number of bytes; not every product has it.
    Bytes,
}

/// Global memory to UB, on [`Pipe::Mte2`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Load {
    /// Where it goes.
    pub to: Local,
    /// Where it comes from.
    pub from: Global,
    /// How much.
    pub burst: Burst,
    /// Which instruction.
    pub granularity: Granularity,
    /// What surrounds the blocks; only of [`Granularity::Bytes`].
    pub pad: Option<Pad>,
    /// Whether what is not in L2 stays out of it.
    pub bypass: bool,
}

/// UB to global memory, on [`Pipe::Mte3`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Store {
    /// Where it goes.
    pub to: Global,
    /// Where it comes from.
    pub from: Local,
    /// How much.
    pub burst: Burst,
    /// Which instruction.
    pub granularity: Granularity,
    /// Elements that are added to what is there, each at once, instead of replacing it.
    pub add: Option<Element>,
    /// Whether what is not in L2 stays out of it.
    pub bypass: bool,
}

/// UB to UB in multiples of 32 bytes, on [`Pipe::V`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// Where it goes.
    pub to: Local,
    /// Where it comes from.
    pub from: Local,
    /// How much.
    pub burst: Burst,
}

/// A flag between two pipes of a core.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flag {
    /// Which sets it, once all that it got before is done.
    pub from: Pipe,
    /// Which waits for it, clears it, and goes on.
    pub to: Pipe,
    /// Its number.
    pub id: Expr,
}

/// How all cores wait for each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SyncAll {
    /// By hardware.
    Hard,
    /// Through memory: 32 bytes for each core in a zeroed workspace, and as many in the UB.
    Soft {
        /// The workspace.
        workspace: Global,
        /// The UB that it uses.
        local: Local,
    },
}

/// An instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Instruction {
    /// Global memory to UB.
    Load(Load),
    /// UB to global memory.
    Store(Store),
    /// UB to UB.
    Move(Move),
    /// Arithmetic and the like.
    Vector(Vector),
    /// Rows become columns.
    Transpose(Transpose),
    /// A register gets a value.
    Let(Reg, Value),
    /// A register gets an element of memory.
    Read(Read),
    /// An element of memory gets a value.
    Write(Write),
    /// A flag is set.
    SetFlag(Flag),
    /// A flag is waited for.
    WaitFlag(Flag),
    /// The pipe's next instruction waits until those before have read and written everything; without a pipe, all of them do.
    Barrier(Option<Pipe>),
    /// Each core waits until all have come here and have done everything before.
    SyncAll(SyncAll),
}

impl Instruction {
    /// The pipe that runs it. A flag is set by the pipe that it comes from and waited for by the one that it goes to; a barrier of all
    /// pipes and of all cores holds the scalar unit.
    #[must_use]
    pub fn pipe(&self) -> Pipe {
        match self {
            Self::Load(_) => Pipe::Mte2,
            Self::Store(_) => Pipe::Mte3,
            Self::Move(_) | Self::Vector(_) | Self::Transpose(_) => Pipe::V,
            Self::Let(..) | Self::Read(_) | Self::Write(_) | Self::SyncAll(_) | Self::Barrier(None) => Pipe::S,
            Self::SetFlag(flag) => flag.from,
            Self::WaitFlag(flag) => flag.to,
            Self::Barrier(Some(pipe)) => *pipe,
        }
    }
}
