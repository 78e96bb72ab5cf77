//! Vector instructions.
//!
//! A repeat works on 256 bytes: eight blocks of 32. Lane `l` of repeat `r` of an operand with elements of `b` bytes is at
//! `address + 32 * (r * repeat_stride + (l * b / 32) * block_stride) + l * b % 32`, with as many lanes as its widest operand has in 256
//! bytes.

use crate::product::Element;

use super::expr::Expr;
use super::instruction::Local;
use super::operation::VectorOp;
use super::parts::Part;
use super::scalar::Scalar;

/// Bytes of a block, in which strides are counted.
pub const BLOCK: u32 = 32;
/// Bytes that a repeat works on.
pub const REPEAT: u32 = 256;

/// An operand in the UB.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operand {
    /// Where it begins.
    pub at: Local,
    /// From a block to the next one, in blocks.
    pub block_stride: u16,
    /// From a repeat to the next one, in blocks, or in what [`VectorOp`] says.
    pub repeat_stride: u16,
}

/// Lanes that take part in each repeat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mask {
    /// All.
    All,
    /// So many, from the first one; at least 1.
    First(Expr),
    /// Those whose bit is set, the lowest bit for the first lane; not none.
    Bits(u128),
}

/// How much a vector instruction works on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Normal mode.
    Repeats {
        /// Repeats, 0 to 255.
        repeats: Expr,
        /// Lanes of each.
        mask: Mask,
    },
    /// Counter mode: so many lanes in all, from the first one.
    Count(Expr),
}

/// A vector instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vector {
    /// What it does.
    pub op: VectorOp,
    /// Its operands, in the order of [`VectorOp::parts`].
    pub operands: Vec<Operand>,
    /// The number of those that take one.
    pub scalar: Option<Scalar>,
    /// On how much.
    pub extent: Extent,
}

impl Vector {
    /// One whole repeat on operands without gaps.
    #[must_use]
    pub fn new(op: VectorOp, operands: impl IntoIterator<Item = Local>) -> Self {
        let strides = |part: &Part| part.default_strides(op.lanes());
        let defaults = op.parts().iter().map(strides).chain(std::iter::repeat((1, 1))).take(8).collect::<Vec<_>>();
        let operand = |(at, (block_stride, repeat_stride))| Operand { at, block_stride, repeat_stride };
        Self {
            op,
            operands: operands.into_iter().zip(defaults).map(operand).collect(),
            scalar: None,
            extent: Extent::Repeats { repeats: 1.into(), mask: Mask::All },
        }
    }

    /// With a number.
    #[must_use]
    pub fn scalar(mut self, scalar: impl Into<Scalar>) -> Self {
        self.scalar = Some(scalar.into());
        self
    }

    /// With the strides of an operand.
    #[must_use]
    pub fn strides(mut self, operand: usize, block_stride: u16, repeat_stride: u16) -> Self {
        if let Some(operand) = self.operands.get_mut(operand) {
            (operand.block_stride, operand.repeat_stride) = (block_stride, repeat_stride);
        }
        self
    }

    /// On so many whole repeats.
    #[must_use]
    pub fn repeats(mut self, repeats: impl Into<Expr>) -> Self {
        self.extent = Extent::Repeats { repeats: repeats.into(), mask: Mask::All };
        self
    }

    /// On some lanes of so many repeats.
    #[must_use]
    pub fn masked(mut self, repeats: impl Into<Expr>, mask: Mask) -> Self {
        self.extent = Extent::Repeats { repeats: repeats.into(), mask };
        self
    }

    /// On so many lanes, in counter mode.
    #[must_use]
    pub fn count(mut self, lanes: impl Into<Expr>) -> Self {
        self.extent = Extent::Count(lanes.into());
        self
    }
}

/// Sixteen blocks: block `i` of repeat `r` is `32 * (r * repeat + i / 2 * pair + i % 2 * row)` bytes from the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rows {
    /// Where the first one is.
    pub at: Local,
    /// From an even one to the odd one behind it, in blocks.
    pub row: u16,
    /// From an even one to the next even one, in blocks.
    pub pair: u16,
    /// From a repeat to the next one, in blocks.
    pub repeat: u16,
}

/// Transposes sixteen blocks as rows into sixteen blocks as columns: element `c` of row `r` goes to element `r` of column `c`, where
/// sixteen elements are a column: half a block of 8-bit elements, a block of 16-bit ones, two consecutive blocks of 32-bit ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transpose {
    /// Type of the elements.
    pub element: Element,
    /// Where columns go.
    pub to: Rows,
    /// Where rows come from.
    pub from: Rows,
    /// Repeats, 0 to 255.
    pub repeats: Expr,
    /// Of 8-bit elements: whether columns go to the second half of their blocks.
    pub to_high: bool,
    /// Of 8-bit elements: whether the second sixteen of each row are taken.
    pub from_high: bool,
}
