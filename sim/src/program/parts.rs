//! Which bytes the operands of vector instructions are.

use std::ops::Deref;

use super::operation::{ScalarOp, VectorOp, size_of};
use super::vector::{BLOCK, REPEAT};

/// How an instruction uses an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Reads it.
    Read,
    /// Overwrites it.
    Write,
    /// Reads it before it overwrites it.
    Update,
}

/// Which bytes an operand is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layout {
    /// A lane each, in blocks at the operand's strides.
    Lanes,
    /// `bytes` for each repeat, at multiples of the repeat stride of `unit` bytes.
    PerRepeat {
        /// Bytes of a repeat.
        bytes: u32,
        /// What a repeat stride of 1 is.
        unit: u32,
    },
    /// A bit for each lane up to the last active one of each repeat, at multiples of the repeat stride of blocks.
    Bits,
    /// `bytes` for each whole repeat, the repeats without gaps. Of lanes in front of the last active one, where not all are.
    Packed {
        /// Bytes of a repeat.
        bytes: u32,
    },
    /// As many elements as the instruction keeps, without gaps.
    Kept,
    /// Wherever the offsets say, in the operand's slot.
    Table,
}

/// What an operand is to an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Part {
    /// How it is used.
    pub access: Access,
    /// Bytes of an element.
    pub size: u32,
    /// Which bytes it is.
    pub layout: Layout,
    /// What its address is a multiple of.
    pub align: u32,
    /// Whether its blocks can be apart.
    pub block_stride: bool,
}

impl Part {
    const fn lanes(access: Access, size: u32) -> Self {
        Self { access, size, layout: Layout::Lanes, align: BLOCK, block_stride: true }
    }

    const fn with(access: Access, size: u32, layout: Layout, align: u32) -> Self {
        Self { access, size, layout, align, block_stride: false }
    }

    /// Whether its repeats can be apart.
    #[must_use]
    pub const fn repeat_stride(&self) -> bool {
        matches!(self.layout, Layout::Lanes | Layout::PerRepeat { .. } | Layout::Bits)
    }

    /// The block and the repeat stride when the text says nothing: no gaps.
    #[must_use]
    pub fn default_strides(&self, lanes: u32) -> (u16, u16) {
        match self.layout {
            #[expect(clippy::cast_possible_truncation, reason = "256 at most")]
            Layout::Lanes => (1, (lanes * self.size / BLOCK) as u16),
            _ => (1, 1),
        }
    }
}

/// The operands of an instruction.
#[derive(Clone, Copy, Debug)]
pub struct Parts([Part; 4], usize);

impl Parts {
    fn new(parts: &[Part]) -> Self {
        let mut all = [Part::lanes(Access::Read, 1); 4];
        all[..parts.len()].copy_from_slice(parts);
        Self(all, parts.len())
    }
}

impl Deref for Parts {
    type Target = [Part];

    fn deref(&self) -> &[Part] {
        &self.0[..self.1]
    }
}

impl VectorOp {
    /// Its operands, the target first.
    #[must_use]
    pub fn parts(self) -> Parts {
        use Access::{Read, Update, Write};
        let size = size_of(self.element());
        let (read, write) = (Part::lanes(Read, size), Part::lanes(Write, size));
        let bits = |access| Part::with(access, 1, Layout::Packed { bytes: self.lanes() / 8 }, BLOCK);
        let per_repeat = |bytes, align| Part::with(Write, size, Layout::PerRepeat { bytes, unit: bytes }, align);
        let offsets = |n| Part::with(Read, 4, Layout::Packed { bytes: n * 4 }, BLOCK);
        let table = |access| Part::with(access, size, Layout::Table, BLOCK);
        let kept = Part::with(Write, size, Layout::Kept, BLOCK);
        let rows = |access| Part { block_stride: false, ..Part::lanes(access, size) };
        match self {
            Self::Binary(op, _) if op.reads_target() => Parts::new(&[Part::lanes(Update, size), read, read]),
            Self::Binary(..) => Parts::new(&[write, read, read]),
            Self::WithScalar(ScalarOp::Axpy, _) => Parts::new(&[Part::lanes(Update, size), read]),
            Self::Unary(..) | Self::WithScalar(..) => Parts::new(&[write, read]),
            Self::Duplicate(_) | Self::Index(_) => Parts::new(&[write]),
            Self::Cast { to, from, .. } => {
                Parts::new(&[Part::lanes(Write, size_of(to)), Part::lanes(Read, size_of(from))])
            }
            Self::Compare(..) => Parts::new(&[bits(Write), read, read]),
            Self::CompareScalar(..) => Parts::new(&[bits(Write), read]),
            Self::Select(_) => Parts::new(&[write, bits(Read), read, read]),
            Self::SelectScalar(_) => Parts::new(&[write, bits(Read), read]),
            Self::Reduce(..) => Parts::new(&[per_repeat(size, size), read]),
            Self::ReduceBlock(..) => Parts::new(&[per_repeat(8 * size, 8 * size), read]),
            Self::ReducePair(_) => Parts::new(&[per_repeat(REPEAT / 2, BLOCK), read]),
            Self::GatherMask(..) => Parts::new(&[kept, read]),
            Self::GatherBits(_) => Parts::new(&[kept, read, Part::with(Read, 1, Layout::Bits, BLOCK)]),
            Self::Broadcast(_) => {
                Parts::new(&[write, Part::with(Read, size, Layout::Packed { bytes: 8 * size }, BLOCK)])
            }
            Self::Gather(_) => Parts::new(&[rows(Write), table(Read), offsets(self.lanes())]),
            Self::GatherBlocks(_) => Parts::new(&[write, table(Read), offsets(8)]),
            Self::Scatter(_) => Parts::new(&[table(Write), offsets(self.lanes()), rows(Read)]),
        }
    }
}
