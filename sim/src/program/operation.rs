//! What vector instructions do.

use crate::product::{Element, Rounding};

use super::scalar::Relation;
use super::vector::REPEAT;

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

    pub(super) const fn reads_target(self) -> bool {
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
