//! What a core does next: an instruction with its operands evaluated to numbers in range.

use crate::product::Element;

use super::expr::Reg;
use super::instruction::{Granularity, Pipe};
use super::operation::VectorOp;
use super::operation::size_of;
use super::scalar::Numbers;
use super::source::{BufferId, NodeId, TensorId};
use super::vector::BLOCK;

/// An address of the UB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalAt {
    /// The buffer that it is meant to be in.
    pub buffer: BufferId,
    /// The slot that it is meant to be in.
    pub slot: u16,
    /// The address, from the start of the UB.
    pub address: u32,
}

/// An address of global memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GlobalAt {
    /// The tensor that it is meant to be in.
    pub tensor: TensorId,
    /// Bytes from its start.
    pub offset: u64,
}

/// An address of either memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaceAt {
    /// In the UB.
    Local(LocalAt),
    /// In global memory.
    Global(GlobalAt),
}

/// Padding of each block of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PadBytes {
    /// Bytes in front.
    pub left: u32,
    /// Bytes behind.
    pub right: u32,
    /// Type of the value.
    pub element: Element,
    /// The value, in the lowest bytes.
    pub bits: u64,
}

/// A load or a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Whether it is a load.
    pub load: bool,
    /// The side in the UB.
    pub local: LocalAt,
    /// The side in global memory.
    pub global: GlobalAt,
    /// Number of blocks.
    pub blocks: u32,
    /// Bytes of a block in global memory.
    pub bytes: u32,
    /// Bytes between whole units of 32 in the UB.
    pub local_gap: u32,
    /// Bytes between blocks in global memory.
    pub global_gap: u32,
    /// Which instruction.
    pub granularity: Granularity,
    /// What surrounds the blocks in the UB.
    pub pad: Option<PadBytes>,
    /// Elements that are added to global memory.
    pub add: Option<Element>,
    /// Whether what is not in L2 stays out of it.
    pub bypass: bool,
}

impl Transfer {
    /// Bytes of a block in the UB, padding included, without what is left up to a multiple of 32.
    #[must_use]
    pub fn local_bytes(&self) -> u32 {
        self.bytes + self.pad.map_or(0, |pad| pad.left + pad.right)
    }

    /// Bytes from a block to the next one in the UB.
    #[must_use]
    pub fn local_pitch(&self) -> u32 {
        self.local_bytes().next_multiple_of(BLOCK) + self.local_gap
    }

    /// Bytes from a block to the next one in global memory.
    #[must_use]
    pub fn global_pitch(&self) -> u64 {
        u64::from(self.bytes) + u64::from(self.global_gap)
    }

    /// Bytes that go over.
    #[must_use]
    pub fn moved(&self) -> u64 {
        u64::from(self.blocks) * u64::from(self.bytes)
    }
}

/// A copy inside the UB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MoveStep {
    /// Where it goes.
    pub to: LocalAt,
    /// Where it comes from.
    pub from: LocalAt,
    /// Number of blocks.
    pub blocks: u32,
    /// Bytes of a block.
    pub bytes: u32,
    /// Bytes between blocks where it comes from.
    pub from_gap: u32,
    /// Bytes between blocks where it goes.
    pub to_gap: u32,
}

/// An operand of a vector instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperandAt {
    /// Where it begins.
    pub at: LocalAt,
    /// From a block to the next one, in blocks.
    pub block_stride: u16,
    /// From a repeat to the next one, in blocks, or in what [`VectorOp`] says.
    pub repeat_stride: u16,
}

/// A vector instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VectorStep {
    /// What it does.
    pub op: VectorOp,
    /// Its operands; as many as [`VectorOp::parts`] count.
    pub operands: [OperandAt; 4],
    /// The number, as an element in the lowest bytes; of a shift, the distance.
    pub scalar: u64,
    /// Repeats; in counter mode, as many as the count needs.
    pub repeats: u32,
    /// Lanes of each repeat but the last, the lowest bit for the first lane.
    pub mask: u128,
    /// Lanes of the last repeat.
    pub last: u128,
    /// Whether it is in counter mode.
    pub counter: bool,
}

impl VectorStep {
    /// Lanes that take part in a repeat.
    #[inline]
    #[must_use]
    pub const fn active(&self, repeat: u32) -> u128 {
        if repeat + 1 == self.repeats { self.last } else { self.mask }
    }
}

/// Sixteen blocks for each repeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowsAt {
    /// Where the first one is.
    pub at: LocalAt,
    /// From an even one to the odd one behind it, in blocks.
    pub row: u16,
    /// From an even one to the next even one, in blocks.
    pub pair: u16,
    /// From a repeat to the next one, in blocks.
    pub repeat: u16,
}

impl RowsAt {
    /// Address of a block, counted from the first, in bytes.
    #[must_use]
    pub fn offset(&self, repeat: u32, block: u32) -> u32 {
        let blocks =
            repeat * u32::from(self.repeat) + block / 2 * u32::from(self.pair) + block % 2 * u32::from(self.row);
        blocks * BLOCK
    }
}

/// A transposition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransposeStep {
    /// Type of the elements.
    pub element: Element,
    /// Where columns go.
    pub to: RowsAt,
    /// Where rows come from.
    pub from: RowsAt,
    /// Repeats.
    pub repeats: u32,
    /// Whether columns of 8-bit elements go to the second half of their blocks.
    pub to_high: bool,
    /// Whether the second sixteen 8-bit elements of each row are taken.
    pub from_high: bool,
}

impl TransposeStep {
    /// Bytes that a repeat reads, and that it writes: sixteen blocks, of 8-bit elements the halves of so many.
    #[must_use]
    pub fn repeat_bytes(&self) -> u64 {
        16 * u64::from(BLOCK.min(16 * size_of(self.element)))
    }
}

/// A flag of a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlagAt {
    /// Which pipe sets it.
    pub from: Pipe,
    /// Which pipe waits for it.
    pub to: Pipe,
    /// Its number.
    pub id: u8,
}

/// A read of the scalar unit. Whoever takes the step must give the register its value with
/// [`Walker::assign`](super::Walker::assign) before the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadStep {
    /// The register.
    pub into: Reg,
    /// Type of the element.
    pub element: Element,
    /// Where it is.
    pub from: PlaceAt,
    /// What a run without data puts there: any of these.
    pub assume: Option<Numbers>,
}

/// A write of the scalar unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteStep {
    /// Where it goes.
    pub to: PlaceAt,
    /// Type of the element.
    pub element: Element,
    /// The element, in the lowest bytes.
    pub bits: u64,
}

/// What a core does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A copy between global memory and UB.
    Transfer(Transfer),
    /// A copy inside the UB.
    Move(MoveStep),
    /// Arithmetic and the like.
    Vector(VectorStep),
    /// A transposition.
    Transpose(TransposeStep),
    /// A flag is set.
    SetFlag(FlagAt),
    /// A flag is waited for.
    WaitFlag(FlagAt),
    /// A pipe, or without one all of them, finish what they have.
    Barrier(Option<Pipe>),
    /// All cores wait for each other: by hardware, or through these two.
    SyncAll(Option<(GlobalAt, LocalAt)>),
    /// A register was set.
    Compute,
    /// An element goes to a register.
    Read(ReadStep),
    /// An element goes to memory.
    Write(WriteStep),
    /// An iteration of the innermost loop began.
    Iterate,
    /// A condition was looked at.
    Branch,
}

impl Action {
    /// The pipe that runs it.
    #[must_use]
    pub const fn pipe(&self) -> Pipe {
        match self {
            Self::Transfer(Transfer { load: true, .. }) => Pipe::Mte2,
            Self::Transfer(_) => Pipe::Mte3,
            Self::Move(_) | Self::Vector(_) | Self::Transpose(_) => Pipe::V,
            Self::SetFlag(flag) => flag.from,
            Self::WaitFlag(flag) => flag.to,
            Self::Barrier(Some(pipe)) => *pipe,
            Self::Barrier(None)
            | Self::SyncAll(_)
            | Self::Compute
            | Self::Read(_)
            | Self::Write(_)
            | Self::Iterate
            | Self::Branch => Pipe::S,
        }
    }
}

/// What a core does, and which node of the program says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The node.
    pub node: NodeId,
    /// What it does.
    pub action: Action,
}
