//! Vector instructions.
//!
//! A repeat works on 256 bytes: eight blocks of 32. Lane `l` of repeat `r` of an operand with elements of `b` bytes is at
//! `address + 32 * (r * repeat_stride + (l * b / 32) * block_stride) + l * b % 32`, with as many lanes as its widest operand has in 256
//! bytes.

use std::ops::Deref;

use crate::product::{Element, Rounding};

use super::expr::Expr;
use super::instruction::Local;
use super::scalar::{Relation, Scalar};

/// Bytes of a block, in which strides are counted.
pub const BLOCK: u32 = 32;
/// Bytes that a repeat works on.
pub const REPEAT: u32 = 256;

/// Two operands lane by lane. Floating-point lanes compute in f32 and round once to their own type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "they are their names")]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    Div,
    Max,
    Min,
    And,
    Or,
    /// The sum, at least 0.
    AddRelu,
    /// The difference, at least 0.
    SubRelu,
    /// Adds the product to the target.
    MulAddDst,
    /// Multiplies the target by the first, adds the second.
    DstMulAdd,
    /// The same, at least 0.
    DstMulAddRelu,
}

impl BinaryOp {
    /// Every operation with its name in programs and in product files.
    pub const ALL: [(Self, &'static str, &'static str); 13] = [
        (Self::Add, "add", "vadd"),
        (Self::Sub, "sub", "vsub"),
        (Self::Mul, "mul", "vmul"),
        (Self::Div, "div", "vdiv"),
        (Self::Max, "max", "vmax"),
        (Self::Min, "min", "vmin"),
        (Self::And, "and", "vand"),
        (Self::Or, "or", "vor"),
        (Self::AddRelu, "add_relu", "vaddrelu"),
        (Self::SubRelu, "sub_relu", "vsubrelu"),
        (Self::MulAddDst, "mul_add_dst", "vmla"),
        (Self::DstMulAdd, "dst_mul_add", "vmadd"),
        (Self::DstMulAddRelu, "dst_mul_add_relu", "vmaddrelu"),
    ];

    const fn reads_target(self) -> bool {
        matches!(self, Self::MulAddDst | Self::DstMulAdd | Self::DstMulAddRelu)
    }
}

/// One operand lane by lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "they are their names")]
pub enum UnaryOp {
    Abs,
    Relu,
    /// The reciprocal, correctly rounded; devices approximate.
    Rec,
    /// The reciprocal square root from two correctly rounded steps; devices approximate.
    Rsqrt,
    Sqrt,
    Exp,
    Ln,
    Not,
    Copy,
}

impl UnaryOp {
    /// Every operation with its name in programs and in product files.
    pub const ALL: [(Self, &'static str, &'static str); 9] = [
        (Self::Abs, "abs", "vabs"),
        (Self::Relu, "relu", "vrelu"),
        (Self::Rec, "rec", "vrec"),
        (Self::Rsqrt, "rsqrt", "vrsqrt"),
        (Self::Sqrt, "sqrt", "vsqrt"),
        (Self::Exp, "exp", "vexp"),
        (Self::Ln, "ln", "vln"),
        (Self::Not, "not", "vnot"),
        (Self::Copy, "copy", "vcopy"),
    ];
}

/// An operand and a number lane by lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "they are their names")]
pub enum ScalarOp {
    Adds,
    Muls,
    Maxs,
    Mins,
    /// Negative lanes times the number.
    LeakyRelu,
    /// Adds the product to the target.
    Axpy,
    /// To the left by so many bits.
    Shl,
    /// To the right by so many bits; signed lanes keep the sign.
    Shr,
}

impl ScalarOp {
    /// Every operation with its name in programs and in product files.
    pub const ALL: [(Self, &'static str, &'static str); 8] = [
        (Self::Adds, "adds", "vadds"),
        (Self::Muls, "muls", "vmuls"),
        (Self::Maxs, "maxs", "vmaxs"),
        (Self::Mins, "mins", "vmins"),
        (Self::LeakyRelu, "leaky_relu", "vlrelu"),
        (Self::Axpy, "axpy", "vaxpy"),
        (Self::Shl, "shl", "vshl"),
        (Self::Shr, "shr", "vshr"),
    ];
}

/// How lanes become one value. Sums add neighbours, then neighbouring sums, and so on, each rounded; lanes that are off do not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "they are their names")]
pub enum ReduceOp {
    Sum,
    Max,
    Min,
}

impl ReduceOp {
    /// Every reduction with its name in programs, and in product files over a repeat and over a block.
    pub const ALL: [(Self, &'static str, &'static str, &'static str); 3] = [
        (Self::Sum, "sum", "vcadd", "vcgadd"),
        (Self::Max, "max", "vcmax", "vcgmax"),
        (Self::Min, "min", "vcmin", "vcgmin"),
    ];
}

/// Which elements [`VectorOp::GatherMask`] keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "they are their names")]
pub enum Pattern {
    Even,
    Odd,
    FirstOf4,
    SecondOf4,
    ThirdOf4,
    FourthOf4,
    All,
}

impl Pattern {
    /// Every pattern with its number in the vendor's interface: its position and 1.
    pub const ALL: [Self; 7] =
        [Self::Even, Self::Odd, Self::FirstOf4, Self::SecondOf4, Self::ThirdOf4, Self::FourthOf4, Self::All];

    /// Of how many elements it keeps one, and the position of that one.
    #[must_use]
    pub const fn one_of(self) -> (usize, usize) {
        match self {
            Self::Even => (2, 0),
            Self::Odd => (2, 1),
            Self::FirstOf4 => (4, 0),
            Self::SecondOf4 => (4, 1),
            Self::ThirdOf4 => (4, 2),
            Self::FourthOf4 => (4, 3),
            Self::All => (1, 0),
        }
    }
}

/// What a vector instruction does. The first operand is the target; the others follow in the order of the text form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VectorOp {
    /// Two operands lane by lane.
    Binary(BinaryOp, Element),
    /// One operand lane by lane.
    Unary(UnaryOp, Element),
    /// An operand and a number lane by lane.
    WithScalar(ScalarOp, Element),
    /// A number into each lane.
    Duplicate(Element),
    /// A number, and one more in each lane, over all repeats.
    Index(Element),
    /// Another type.
    Cast {
        /// Of the result.
        to: Element,
        /// Of the operand.
        from: Element,
        /// How it rounds.
        rounding: Rounding,
    },
    /// A bit for each lane of two operands, the lowest of a byte first; the bits of a repeat follow those of the one before.
    Compare(Relation, Element),
    /// The same with a number.
    CompareScalar(Relation, Element),
    /// By such bits (second operand), the third operand or the fourth.
    Select(Element),
    /// By such bits (second operand), the third operand or a number.
    SelectScalar(Element),
    /// One element for each repeat; repeat strides of the target count elements.
    Reduce(ReduceOp, Element),
    /// One element for each block, the eight of a repeat together; repeat strides of the target count such groups.
    ReduceBlock(ReduceOp, Element),
    /// Sums of neighbours, those of a repeat together; repeat strides of the target count such groups, 128 bytes.
    ReducePair(Element),
    /// The elements of a pattern, without gaps.
    GatherMask(Element, Pattern),
    /// The elements whose bit is set in the third operand, without gaps; its repeat stride counts blocks.
    GatherBits(Element),
    /// Each of eight elements of a repeat fills a block.
    Broadcast(Element),
    /// Elements of the second operand, anywhere in its slot, at the byte offsets (u32) in the third; offsets of repeats follow each
    /// other.
    Gather(Element),
    /// Blocks likewise, eight offsets to a repeat.
    GatherBlocks(Element),
    /// Elements of the third operand to byte offsets (second operand) of the target.
    Scatter(Element),
}

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
        matches!(self.layout, Layout::Lanes | Layout::PerRepeat { .. })
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

/// Which lanes of a repeat an instruction can leave out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Masking {
    /// Any.
    Any,
    /// None, except at the end of a count.
    Count,
    /// None.
    None,
}

/// Bytes of an element.
#[must_use]
pub const fn size_of(element: Element) -> u32 {
    match element {
        Element::I8 | Element::U8 => 1,
        Element::F16 | Element::Bf16 | Element::I16 | Element::U16 => 2,
        Element::F32 | Element::I32 | Element::U32 => 4,
        Element::I64 => 8,
    }
}

/// Whether an element is a floating-point number.
#[must_use]
pub const fn is_float(element: Element) -> bool {
    matches!(element, Element::F16 | Element::Bf16 | Element::F32)
}

impl VectorOp {
    /// The type of the lanes that it computes; of a cast, the wider one.
    #[must_use]
    pub const fn element(self) -> Element {
        match self {
            Self::Binary(_, e)
            | Self::Unary(_, e)
            | Self::WithScalar(_, e)
            | Self::Duplicate(e)
            | Self::Index(e)
            | Self::Compare(_, e)
            | Self::CompareScalar(_, e)
            | Self::Select(e)
            | Self::SelectScalar(e)
            | Self::Reduce(_, e)
            | Self::ReduceBlock(_, e)
            | Self::ReducePair(e)
            | Self::GatherMask(e, _)
            | Self::GatherBits(e)
            | Self::Broadcast(e)
            | Self::Gather(e)
            | Self::GatherBlocks(e)
            | Self::Scatter(e) => e,
            Self::Cast { to, from, .. } => {
                if size_of(to) >= size_of(from) {
                    to
                } else {
                    from
                }
            }
        }
    }

    /// Lanes of a repeat.
    #[must_use]
    pub const fn lanes(self) -> u32 {
        REPEAT / size_of(self.element())
    }

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
            Self::GatherBits(_) => {
                let layout = Layout::PerRepeat { bytes: self.lanes() / 8, unit: BLOCK };
                Parts::new(&[kept, read, Part::with(Read, 1, layout, BLOCK)])
            }
            Self::Broadcast(_) => {
                Parts::new(&[write, Part::with(Read, size, Layout::Packed { bytes: 8 * size }, BLOCK)])
            }
            Self::Gather(_) => Parts::new(&[rows(Write), table(Read), offsets(self.lanes())]),
            Self::GatherBlocks(_) => Parts::new(&[write, table(Read), offsets(8)]),
            Self::Scatter(_) => Parts::new(&[table(Write), offsets(self.lanes()), rows(Read)]),
        }
    }

    /// Whether a number follows the operands.
    #[must_use]
    pub const fn takes_scalar(self) -> bool {
        matches!(
            self,
            Self::WithScalar(..)
                | Self::Duplicate(_)
                | Self::Index(_)
                | Self::CompareScalar(..)
                | Self::SelectScalar(_)
        )
    }

    /// Whether that number is a floating-point one.
    #[must_use]
    pub const fn takes_float(self) -> bool {
        is_float(self.element())
    }

    /// Which lanes it can leave out.
    #[must_use]
    pub const fn masking(self) -> Masking {
        match self {
            Self::Binary(..)
            | Self::Unary(..)
            | Self::WithScalar(..)
            | Self::Duplicate(_)
            | Self::Index(_)
            | Self::Cast { .. }
            | Self::Reduce(..)
            | Self::ReduceBlock(..)
            | Self::ReducePair(_)
            | Self::Gather(_)
            | Self::Scatter(_) => Masking::Any,
            Self::Compare(..)
            | Self::CompareScalar(..)
            | Self::Select(_)
            | Self::SelectScalar(_)
            | Self::GatherMask(..)
            | Self::GatherBits(_) => Masking::Count,
            Self::Broadcast(_) | Self::GatherBlocks(_) => Masking::None,
        }
    }
}

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
