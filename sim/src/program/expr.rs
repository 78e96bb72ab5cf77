//! Whole numbers that a core computes from its registers.

use std::ops::{Add, Mul, Sub};

/// A register of the scalar unit, by its position in [`Source::registers`](super::Source::registers). It holds an `i64`, or the bits of
/// an `f32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reg(pub u16);

impl Reg {
    /// The index of the core, from 0.
    pub const CORE: Self = Self(0);

    pub(super) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// An affine expression: a constant and a multiple of each of some registers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Expr {
    constant: i64,
    // In the order of the registers, each once, none with factor 0: equal expressions are equal values.
    terms: Vec<(Reg, i64)>,
}

impl Expr {
    /// The value, when no register takes part.
    #[must_use]
    pub fn as_constant(&self) -> Option<i64> {
        self.terms.is_empty().then_some(self.constant)
    }

    /// What is added to the multiples.
    #[must_use]
    pub const fn constant(&self) -> i64 {
        self.constant
    }

    /// The registers with their factors, in order, none with factor 0.
    #[must_use]
    pub fn terms(&self) -> &[(Reg, i64)] {
        &self.terms
    }

    /// The factor of a register, 0 for one that takes no part.
    #[must_use]
    pub fn factor(&self, reg: Reg) -> i64 {
        self.terms.iter().find(|(r, _)| *r == reg).map_or(0, |(_, factor)| *factor)
    }

    /// The value, modulo 2^64.
    #[inline]
    #[must_use]
    pub fn eval(&self, registers: &[i64]) -> i64 {
        self.terms.iter().fold(self.constant, |sum, (reg, factor)| {
            sum.wrapping_add(registers.get(reg.index()).copied().unwrap_or(0).wrapping_mul(*factor))
        })
    }

    /// The sum of this and a multiple of another; `None` where a coefficient leaves the range of `i64`.
    #[must_use]
    pub fn checked_add_scaled(&self, other: &Self, by: i64) -> Option<Self> {
        let mut sum = self.clone();
        sum.constant = sum.constant.checked_add(other.constant.checked_mul(by)?)?;
        for (reg, factor) in &other.terms {
            let more = factor.checked_mul(by)?;
            match sum.terms.binary_search_by_key(reg, |(r, _)| *r) {
                Ok(at) => sum.terms[at].1 = sum.terms[at].1.checked_add(more)?,
                Err(at) => sum.terms.insert(at, (*reg, more)),
            }
        }
        sum.terms.retain(|(_, factor)| *factor != 0);
        Some(sum)
    }
}

impl From<i64> for Expr {
    fn from(constant: i64) -> Self {
        Self { constant, terms: Vec::new() }
    }
}

impl From<Reg> for Expr {
    fn from(reg: Reg) -> Self {
        Self { constant: 0, terms: vec![(reg, 1)] }
    }
}

/// # Panics
/// A coefficient leaves the range of `i64`.
impl<T: Into<Expr>> Add<T> for Expr {
    type Output = Self;

    fn add(self, other: T) -> Self {
        self.checked_add_scaled(&other.into(), 1).expect("coefficients fit in 64 bits")
    }
}

/// # Panics
/// A coefficient leaves the range of `i64`.
impl<T: Into<Expr>> Sub<T> for Expr {
    type Output = Self;

    fn sub(self, other: T) -> Self {
        self.checked_add_scaled(&other.into(), -1).expect("coefficients fit in 64 bits")
    }
}

/// # Panics
/// A coefficient leaves the range of `i64`.
impl Mul<i64> for Expr {
    type Output = Self;

    fn mul(self, by: i64) -> Self {
        Self::default().checked_add_scaled(&self, by).expect("coefficients fit in 64 bits")
    }
}

impl Mul<i64> for Reg {
    type Output = Expr;

    fn mul(self, by: i64) -> Expr {
        Expr::from(self) * by
    }
}

impl<T: Into<Expr>> Add<T> for Reg {
    type Output = Expr;

    fn add(self, other: T) -> Expr {
        Expr::from(self) + other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_expressions_are_equal_values() {
        let (a, b) = (Reg(1), Reg(2));
        let sum = a * 3 + b * 5 + 7;
        assert_eq!(sum, Expr::from(7) + b * 5 + a * 3);
        assert_eq!(sum.clone() - b * 5 - a * 3, Expr::from(7));
        assert_eq!((sum.factor(a), sum.factor(Reg(9)), sum.eval(&[0, 10, 100])), (3, 0, 537));
        assert_eq!(Expr::from(i64::MAX).checked_add_scaled(&Expr::from(1), 1), None);
    }
}
