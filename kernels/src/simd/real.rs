//! The numbers that sums are made of.

use core::fmt::Debug;
use core::ops::{Add, Div, Mul, Sub};

use super::{Isa, Vector};

/// A type that sums are made in: f32 or f64.
pub(crate) trait Real:
    Copy
    + Debug
    + Default
    + PartialOrd
    + Send
    + Sync
    + bytemuck::Pod
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + core::ops::Neg<Output = Self>
{
    /// Its vector at a level.
    type V<S: Isa>: Vector<S, Elem = Self>;
    /// The canonical quiet NaN, sign 0.
    const NAN: Self;
    /// 1.
    const ONE: Self;
    /// 1/2.
    const HALF: Self;
    /// The nearest value.
    fn from_usize(n: usize) -> Self;
    /// Towards zero, saturating; 0 for NaN.
    fn to_isize(self) -> isize;
    /// Towards zero, saturating; 0 for NaN.
    fn to_index(self) -> u32;
    /// The canonical NaN for every NaN.
    #[inline(always)]
    fn canonical(self) -> Self {
        // Only a NaN has no order with itself.
        if self.partial_cmp(&self).is_none() { Self::NAN } else { self }
    }
}

impl Real for f32 {
    type V<S: Isa> = S::F32;
    const NAN: Self = Self::from_bits(0x7fc0_0000);
    const ONE: Self = 1.0;
    const HALF: Self = 0.5;
    #[inline(always)]
    fn from_usize(n: usize) -> Self {
        n as Self
    }
    #[inline(always)]
    fn to_isize(self) -> isize {
        self as isize
    }
    #[inline(always)]
    fn to_index(self) -> u32 {
        self as u32
    }
}

impl Real for f64 {
    type V<S: Isa> = S::F64;
    const NAN: Self = Self::from_bits(0x7ff8_0000_0000_0000);
    const ONE: Self = 1.0;
    const HALF: Self = 0.5;
    #[inline(always)]
    fn from_usize(n: usize) -> Self {
        n as Self
    }
    #[inline(always)]
    fn to_isize(self) -> isize {
        self as isize
    }
    #[inline(always)]
    fn to_index(self) -> u32 {
        self as u32
    }
}
