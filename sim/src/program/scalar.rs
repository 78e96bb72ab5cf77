//! What the scalar unit computes.

use std::cmp::Ordering;

use crate::product::{Element, Rounding};

use super::expr::{Expr, Reg};
use super::instruction::Place;

/// An `f32` constant or the value of a float register. NaN constants are canonical, so that equal programs are equal values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Float {
    /// A constant, as its bits.
    Bits(u32),
    /// A register.
    Reg(Reg),
}

/// The value, or the one NaN that arithmetic makes.
///
/// The bits are asked, as compilers may take the NaN of a square root for any other, and drop what replaces it.
#[inline]
pub(crate) fn canonical(value: f32) -> f32 {
    let bits = value.to_bits();
    f32::from_bits(if bits << 1 > f32::INFINITY.to_bits() << 1 { 0x7fc0_0000 } else { bits })
}

impl From<f32> for Float {
    fn from(value: f32) -> Self {
        Self::Bits(canonical(value).to_bits())
    }
}

impl Float {
    /// The bits of the value.
    #[must_use]
    pub fn eval(self, registers: &[i64]) -> u32 {
        match self {
            Self::Bits(bits) => bits,
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "float registers hold 32 bits")]
            Self::Reg(reg) => registers.get(reg.index()).copied().unwrap_or(0) as u32,
        }
    }
}

/// A number of either kind.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Scalar {
    /// A whole number.
    Int(Expr),
    /// A floating-point number; narrower types are rounded to nearest even where it is used.
    Float(Float),
}

impl From<Float> for Scalar {
    fn from(value: Float) -> Self {
        Self::Float(value)
    }
}

impl From<f32> for Scalar {
    fn from(value: f32) -> Self {
        Self::Float(value.into())
    }
}

impl From<Expr> for Scalar {
    fn from(expr: Expr) -> Self {
        Self::Int(expr)
    }
}

impl From<i64> for Scalar {
    fn from(value: i64) -> Self {
        Self::Int(value.into())
    }
}

/// An operation on two whole numbers, modulo 2^64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "they are their names")]
pub enum IntOp {
    Mul,
    /// Rounded down; by 0 it is 0.
    Div,
    /// What is left of [`IntOp::Div`]; by 0 it is 0.
    Mod,
    Min,
    Max,
    And,
    Or,
    Xor,
    /// By the lowest six bits.
    Shl,
    /// By the lowest six bits, keeping the sign.
    Shr,
}

impl IntOp {
    /// Every operation with its name.
    pub const ALL: [(Self, &'static str); 10] = [
        (Self::Mul, "mul"),
        (Self::Div, "div"),
        (Self::Mod, "mod"),
        (Self::Min, "min"),
        (Self::Max, "max"),
        (Self::And, "and"),
        (Self::Or, "or"),
        (Self::Xor, "xor"),
        (Self::Shl, "shl"),
        (Self::Shr, "shr"),
    ];

    /// The result of two constants; `None` where it does not fit in 64 bits, or the second one is no number of bits to shift by.
    #[must_use]
    pub fn checked(self, a: i64, b: i64) -> Option<i64> {
        let bits = u32::try_from(b).ok().filter(|bits| *bits < 64);
        match self {
            Self::Mul => a.checked_mul(b),
            Self::Div if (a, b) == (i64::MIN, -1) => None,
            Self::Shl => i64::try_from(i128::from(a) << bits?).ok(),
            Self::Shr => Some(a >> bits?),
            _ => Some(self.eval(a, b)),
        }
    }

    /// The result of the scalar unit, which wraps.
    #[must_use]
    pub fn eval(self, a: i64, b: i64) -> i64 {
        match self {
            Self::Mul => a.wrapping_mul(b),
            Self::Div if b == 0 => 0,
            Self::Div => {
                let quotient = a.wrapping_div(b);
                let down = a.wrapping_rem(b) != 0 && (a < 0) != (b < 0);
                quotient.wrapping_sub(down.into())
            }
            Self::Mod => a.wrapping_sub(Self::Div.eval(a, b).wrapping_mul(b)).wrapping_mul((b != 0).into()),
            Self::Min => a.min(b),
            Self::Max => a.max(b),
            Self::And => a & b,
            Self::Or => a | b,
            Self::Xor => a ^ b,
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "only six bits count")]
            Self::Shl => a.wrapping_shl(b as u32),
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "only six bits count")]
            Self::Shr => a.wrapping_shr(b as u32),
        }
    }
}

/// An operation on two `f32`, as vector lanes have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "they are their names")]
pub enum FloatOp {
    Add,
    Sub,
    Mul,
    Div,
    Min,
    Max,
}

impl FloatOp {
    /// Every operation with its name.
    pub const ALL: [(Self, &'static str); 6] = [
        (Self::Add, "add"),
        (Self::Sub, "sub"),
        (Self::Mul, "mul"),
        (Self::Div, "div"),
        (Self::Min, "min"),
        (Self::Max, "max"),
    ];

    pub(super) fn eval(self, a: f32, b: f32) -> f32 {
        canonical(match self {
            Self::Add => a + b,
            Self::Sub => a - b,
            Self::Mul => a * b,
            Self::Div => a / b,
            Self::Min if a < b || b.is_nan() => a,
            Self::Max if a > b || b.is_nan() => a,
            Self::Min | Self::Max => b,
        })
    }
}

/// What a register is set to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// An affine expression.
    Int(Expr),
    /// Another whole number.
    IntOp(IntOp, Expr, Expr),
    /// A floating-point number.
    Float(Float),
    /// A result of two floating-point numbers.
    FloatOp(FloatOp, Float, Float),
    /// The nearest `f32`, ties to even.
    FromInt(Expr),
    /// A whole number by [`Rounding`] other than `Plain` and `Odd`; saturates, and NaN gives 0.
    ToInt(Rounding, Float),
}

/// A comparison of two numbers of the same kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "they are their names")]
pub enum Relation {
    Lt,
    Le,
    Gt,
    Ge,
    Eq,
    Ne,
}

impl Relation {
    /// Every relation with its name on vectors and its sign on scalars.
    pub const ALL: [(Self, &'static str, &'static str); 6] = [
        (Self::Lt, "lt", "<"),
        (Self::Le, "le", "<="),
        (Self::Gt, "gt", ">"),
        (Self::Ge, "ge", ">="),
        (Self::Eq, "eq", "=="),
        (Self::Ne, "ne", "!="),
    ];

    /// Whether it holds; `None` compares with a NaN.
    #[must_use]
    pub fn holds(self, order: Option<Ordering>) -> bool {
        match self {
            Self::Lt => order == Some(Ordering::Less),
            Self::Le => matches!(order, Some(Ordering::Less | Ordering::Equal)),
            Self::Gt => order == Some(Ordering::Greater),
            Self::Ge => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
            Self::Eq => order == Some(Ordering::Equal),
            Self::Ne => order != Some(Ordering::Equal),
        }
    }
}

/// When a branch is taken. Both sides are of the same kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// What is compared.
    pub left: Scalar,
    /// How.
    pub relation: Relation,
    /// With what.
    pub right: Scalar,
}

/// What a run without data assumes that a read finds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Assume {
    /// Each of these equally often.
    Each(Numbers),
    /// What the program knows itself.
    Quotient {
        /// Of this,
        of: Expr,
        /// by this, above 0, rounded down.
        by: i64,
    },
}

impl Assume {
    /// Whether it is but one number, the same each time.
    #[must_use]
    pub fn is_constant(&self) -> bool {
        match self {
            Self::Each(values) => values.count() == 1,
            Self::Quotient { of, .. } => of.as_constant().is_some(),
        }
    }
}

impl From<Numbers> for Assume {
    fn from(values: Numbers) -> Self {
        Self::Each(values)
    }
}

/// The numbers `from`, `from + step`, ... below `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Numbers {
    /// The lowest value.
    pub from: i64,
    /// Where it ends, above `from`.
    pub to: i64,
    /// Distance of neighbours, above 0.
    pub step: i64,
}

impl Numbers {
    /// A single one.
    #[must_use]
    pub const fn one(value: i64) -> Self {
        Self { from: value, to: value.saturating_add(1), step: 1 }
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.to.abs_diff(self.from).div_ceil(self.step.unsigned_abs().max(1))
    }

    /// The one that a random number picks.
    #[must_use]
    pub fn pick(&self, random: u64) -> i64 {
        let at = ((u128::from(random) * u128::from(self.count())) >> 64).cast_signed();
        i64::try_from(i128::from(self.from) + at * i128::from(self.step)).unwrap_or(self.from)
    }
}

/// One element from memory into a register.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read {
    /// The register; of floating-point elements a float register.
    pub into: Reg,
    /// Type of the element.
    pub element: Element,
    /// Where it is.
    pub from: Place,
    /// What a run without data puts there.
    pub assume: Option<Assume>,
}

/// One element from the scalar unit to memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// Where it goes.
    pub to: Place,
    /// Type of the element.
    pub element: Element,
    /// What is written.
    pub value: Scalar,
}
