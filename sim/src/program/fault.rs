//! What can go wrong when a program runs.

use std::fmt;

use super::Program;
use super::isa::Field;
use super::source::{BufferId, NodeId, TensorId};
use super::step::FlagAt;

/// An instruction that cannot be carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The core.
    pub core: u32,
    /// The instruction.
    pub node: NodeId,
    /// What is wrong.
    pub kind: FaultKind,
}

/// What is wrong with an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// A field got a value that it cannot take.
    Field {
        /// The field and its range.
        field: Field,
        /// The value.
        value: i64,
    },
    /// It reaches beyond a slot of a buffer.
    OutsideBuffer {
        /// The buffer.
        buffer: BufferId,
        /// The first byte of the piece that it reaches, counted from the slot.
        first: i64,
        /// One past the last byte.
        end: i64,
    },
    /// It reaches beyond a tensor.
    OutsideTensor {
        /// The tensor.
        tensor: TensorId,
        /// The first byte of the piece that it reaches.
        first: i64,
        /// One past the last byte.
        end: i64,
    },
    /// An address in the UB is no multiple of what it must be.
    MisalignedLocal {
        /// The buffer.
        buffer: BufferId,
        /// The address, counted from the start of the UB.
        address: u32,
        /// What it must be a multiple of.
        align: u32,
    },
    /// An address of global memory is no multiple of what it must be.
    MisalignedGlobal {
        /// The tensor.
        tensor: TensorId,
        /// The address, counted from the tensor.
        offset: u64,
        /// What it must be a multiple of.
        align: u32,
    },
    /// A flag is set again that nobody has waited for yet.
    FlagSetTwice(FlagAt),
    /// A run without data got to a read that states no assumption.
    NoAssumption,
}

impl FaultKind {
    /// What is wrong, with the names of the program.
    #[must_use]
    pub fn describe(&self, program: &Program) -> String {
        let buffer = |id: BufferId| program.source().buffers.get(usize::from(id.0));
        let tensor = |id: TensorId| program.source().tensors.get(usize::from(id.0)).map_or("", |t| &t.name);
        match *self {
            Self::Field { field: Field { name, min, max, multiple }, value } => {
                let unit = if multiple == 1 { String::new() } else { format!(" in multiples of {multiple}") };
                format!("{name} is {value}, and takes {min} to {max}{unit}")
            }
            Self::OutsideBuffer { buffer: id, first, end } => {
                let (name, bytes) = buffer(id).map_or(("", 0), |b| (&b.name, b.bytes));
                format!("reaches {} of {name}, of which a slot has {bytes}", reached(first, end))
            }
            Self::OutsideTensor { tensor: id, first, end } => {
                format!("reaches {} of {}, which has {}", reached(first, end), tensor(id), program.tensor_bytes(id))
            }
            Self::MisalignedLocal { buffer: id, address, align } => {
                let name = buffer(id).map_or("", |b| &b.name);
                format!("address {address} of the UB, in {name}, is no multiple of {align}")
            }
            Self::MisalignedGlobal { tensor: id, offset, align } => {
                format!("offset {offset} of {} is no multiple of {align}", tensor(id))
            }
            Self::FlagSetTwice(FlagAt { from, to, id }) => {
                format!("flag {} {} {id} is set again before anybody waited for it", from.name(), to.name())
            }
            Self::NoAssumption => "a run without data needs to know what this reads: state `assume`".into(),
        }
    }
}

/// Bytes in words. Of an address that there is not, only the first is known.
fn reached(first: i64, end: i64) -> String {
    if end.saturating_sub(first) == 1 { format!("byte {first}") } else { format!("bytes {first} to {end}") }
}

impl Fault {
    /// What happened where, with the names of the program.
    #[must_use]
    pub fn describe(&self, program: &Program) -> String {
        format!("core {}, {}: {}", self.core, program.locate(self.node), self.kind.describe(program))
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "core {}, statement {}: {:?}", self.core, self.node.0, self.kind)
    }
}

impl std::error::Error for Fault {}
