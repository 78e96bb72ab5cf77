//! The elements of a tensor, of any dtype.

use half::{bf16, f16};
use ubtile_tiling::{Dtype, Tensor, TensorSlot};

use crate::RunError;
use crate::built::{BF16, COMPLEX, F16, F32, F64, INTEGER};

/// Indices are I32 or I64.
const INDICES: bool = INTEGER || cfg!(feature = "max-unpool2d-backward");

/// Sums of short types are F32.
const SINGLE: bool = F32 || F16 || BF16;

/// The elements of an input, as many as its strides reach.
#[derive(Clone, Copy, Debug)]
pub enum Values<'a> {
    /// IEEE 754 binary16.
    F16(&'a [f16]),
    /// bfloat16.
    Bf16(&'a [bf16]),
    /// IEEE 754 binary32.
    F32(&'a [f32]),
    /// IEEE 754 binary64.
    F64(&'a [f64]),
    /// Signed 8-bit integers.
    I8(&'a [i8]),
    /// Unsigned 8-bit integers.
    U8(&'a [u8]),
    /// Signed 16-bit integers.
    I16(&'a [i16]),
    /// Signed 32-bit integers.
    I32(&'a [i32]),
    /// Signed 64-bit integers.
    I64(&'a [i64]),
    /// Booleans, one byte each, 0 or 1.
    Bool(&'a [u8]),
    /// Real and imaginary f32.
    C64(&'a [[f32; 2]]),
    /// Real and imaginary f64.
    C128(&'a [[f64; 2]]),
}

/// The elements of an output, as many as its strides reach.
#[derive(Debug)]
pub enum ValuesMut<'a> {
    /// IEEE 754 binary16.
    F16(&'a mut [f16]),
    /// bfloat16.
    Bf16(&'a mut [bf16]),
    /// IEEE 754 binary32.
    F32(&'a mut [f32]),
    /// IEEE 754 binary64.
    F64(&'a mut [f64]),
    /// Signed 8-bit integers.
    I8(&'a mut [i8]),
    /// Unsigned 8-bit integers.
    U8(&'a mut [u8]),
    /// Signed 16-bit integers.
    I16(&'a mut [i16]),
    /// Signed 32-bit integers.
    I32(&'a mut [i32]),
    /// Signed 64-bit integers.
    I64(&'a mut [i64]),
    /// Booleans, one byte each, 0 or 1.
    Bool(&'a mut [u8]),
    /// Real and imaginary f32.
    C64(&'a mut [[f32; 2]]),
    /// Real and imaginary f64.
    C128(&'a mut [[f64; 2]]),
}

impl<'a> Values<'a> {
    /// The elements in `bytes`, in this machine's byte order; `None` when the bytes are not aligned for the dtype or end inside
    /// an element, or when this build left the dtype out.
    #[must_use]
    pub fn from_bytes(dtype: Dtype, bytes: &'a [u8]) -> Option<Self> {
        fn cast<T: bytemuck::Pod>(bytes: &[u8]) -> Option<&[T]> {
            // No elements are aligned wherever they are.
            if bytes.is_empty() { Some(&[]) } else { bytemuck::try_cast_slice(bytes).ok() }
        }
        Some(match dtype {
            Dtype::F16 if F16 => Self::F16(cast(bytes)?),
            Dtype::Bf16 if BF16 => Self::Bf16(cast(bytes)?),
            Dtype::F32 if SINGLE => Self::F32(cast(bytes)?),
            Dtype::F64 if F64 => Self::F64(cast(bytes)?),
            Dtype::I8 if INTEGER => Self::I8(cast(bytes)?),
            Dtype::U8 if INTEGER => Self::U8(bytes),
            Dtype::I16 if INTEGER => Self::I16(cast(bytes)?),
            Dtype::I32 if INDICES => Self::I32(cast(bytes)?),
            Dtype::I64 if INDICES => Self::I64(cast(bytes)?),
            Dtype::Bool if INTEGER => Self::Bool(bytes),
            Dtype::C64 if COMPLEX => Self::C64(cast(bytes)?),
            Dtype::C128 if COMPLEX => Self::C128(cast(bytes)?),
            _ => return None,
        })
    }

    /// Their dtype.
    #[must_use]
    pub const fn dtype(&self) -> Dtype {
        match self {
            Self::F16(_) => Dtype::F16,
            Self::Bf16(_) => Dtype::Bf16,
            Self::F32(_) => Dtype::F32,
            Self::F64(_) => Dtype::F64,
            Self::I8(_) => Dtype::I8,
            Self::U8(_) => Dtype::U8,
            Self::I16(_) => Dtype::I16,
            Self::I32(_) => Dtype::I32,
            Self::I64(_) => Dtype::I64,
            Self::Bool(_) => Dtype::Bool,
            Self::C64(_) => Dtype::C64,
            Self::C128(_) => Dtype::C128,
        }
    }

    /// How many there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        match self {
            Self::F16(v) => v.len(),
            Self::Bf16(v) => v.len(),
            Self::F32(v) => v.len(),
            Self::F64(v) => v.len(),
            Self::I8(v) => v.len(),
            Self::U8(v) | Self::Bool(v) => v.len(),
            Self::I16(v) => v.len(),
            Self::I32(v) => v.len(),
            Self::I64(v) => v.len(),
            Self::C64(v) => v.len(),
            Self::C128(v) => v.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Their bytes.
    pub(crate) fn bytes(&self) -> &'a [u8] {
        fn of<T: bytemuck::Pod>(v: &[T]) -> &[u8] {
            bytemuck::try_cast_slice(v).unwrap_or(&[])
        }
        match self {
            Self::F16(v) => of(v),
            Self::Bf16(v) => of(v),
            Self::F32(v) => of(v),
            Self::F64(v) => of(v),
            Self::I8(v) => of(v),
            Self::U8(v) | Self::Bool(v) => v,
            Self::I16(v) => of(v),
            Self::I32(v) => of(v),
            Self::I64(v) => of(v),
            Self::C64(v) => of(v),
            Self::C128(v) => of(v),
        }
    }

    /// Whether they can be the elements of a tensor: of its dtype, and at least as many as its strides reach.
    pub(crate) fn check(&self, slot: Option<TensorSlot>) -> Result<(), RunError> {
        // Every plan has a slot for each tensor of its operator.
        slot.map_or(Ok(()), |slot| self.check_box(slot.tensor, slot.dtype, slot.span))
    }

    /// Whether they can be a box of a tensor: of its dtype, and at least `cells`.
    pub(crate) fn check_box(&self, tensor: Tensor, dtype: Dtype, cells: usize) -> Result<(), RunError> {
        if self.dtype() != dtype {
            return Err(RunError::Dtype { tensor, got: self.dtype(), want: dtype });
        }
        if self.len() < cells {
            return Err(RunError::Length { tensor, got: self.len(), want: cells });
        }
        Ok(())
    }
}

impl<'a> ValuesMut<'a> {
    /// The elements in `bytes`, in this machine's byte order; `None` when the bytes are not aligned for the dtype or end inside
    /// an element, or when this build left the dtype out.
    #[must_use]
    pub fn from_bytes(dtype: Dtype, bytes: &'a mut [u8]) -> Option<Self> {
        fn cast<T: bytemuck::Pod>(bytes: &mut [u8]) -> Option<&mut [T]> {
            if bytes.is_empty() { Some(&mut []) } else { bytemuck::try_cast_slice_mut(bytes).ok() }
        }
        Some(match dtype {
            Dtype::F16 if F16 => Self::F16(cast(bytes)?),
            Dtype::Bf16 if BF16 => Self::Bf16(cast(bytes)?),
            Dtype::F32 if SINGLE => Self::F32(cast(bytes)?),
            Dtype::F64 if F64 => Self::F64(cast(bytes)?),
            Dtype::I8 if INTEGER => Self::I8(cast(bytes)?),
            Dtype::U8 if INTEGER => Self::U8(bytes),
            Dtype::I16 if INTEGER => Self::I16(cast(bytes)?),
            Dtype::I32 if INDICES => Self::I32(cast(bytes)?),
            Dtype::I64 if INDICES => Self::I64(cast(bytes)?),
            Dtype::Bool if INTEGER => Self::Bool(bytes),
            Dtype::C64 if COMPLEX => Self::C64(cast(bytes)?),
            Dtype::C128 if COMPLEX => Self::C128(cast(bytes)?),
            _ => return None,
        })
    }

    /// The same elements, to read.
    #[must_use]
    pub const fn as_values(&self) -> Values<'_> {
        match self {
            Self::F16(v) => Values::F16(v),
            Self::Bf16(v) => Values::Bf16(v),
            Self::F32(v) => Values::F32(v),
            Self::F64(v) => Values::F64(v),
            Self::I8(v) => Values::I8(v),
            Self::U8(v) => Values::U8(v),
            Self::I16(v) => Values::I16(v),
            Self::I32(v) => Values::I32(v),
            Self::I64(v) => Values::I64(v),
            Self::Bool(v) => Values::Bool(v),
            Self::C64(v) => Values::C64(v),
            Self::C128(v) => Values::C128(v),
        }
    }
}

impl<'a> ValuesMut<'a> {
    /// Their bytes.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        fn of<T: bytemuck::Pod>(v: &mut [T]) -> &mut [u8] {
            bytemuck::try_cast_slice_mut(v).unwrap_or_default()
        }
        match self {
            Self::F16(v) => of(v),
            Self::Bf16(v) => of(v),
            Self::F32(v) => of(v),
            Self::F64(v) => of(v),
            Self::I8(v) => of(v),
            Self::U8(v) | Self::Bool(v) => v,
            Self::I16(v) => of(v),
            Self::I32(v) => of(v),
            Self::I64(v) => of(v),
            Self::C64(v) => of(v),
            Self::C128(v) => of(v),
        }
    }

    /// The first `count` elements and the rest; all and none where there are fewer.
    pub(crate) fn split_at(self, count: usize) -> (Self, Self) {
        fn halves<T>(v: &mut [T], count: usize) -> (&mut [T], &mut [T]) {
            let count = count.min(v.len());
            v.split_at_mut_checked(count).unwrap_or_default()
        }
        fn both<'a, T>(
            (a, b): (&'a mut [T], &'a mut [T]),
            of: fn(&'a mut [T]) -> ValuesMut<'a>,
        ) -> (ValuesMut<'a>, ValuesMut<'a>) {
            (of(a), of(b))
        }
        match self {
            Self::F16(v) => both(halves(v, count), ValuesMut::F16),
            Self::Bf16(v) => both(halves(v, count), ValuesMut::Bf16),
            Self::F32(v) => both(halves(v, count), ValuesMut::F32),
            Self::F64(v) => both(halves(v, count), ValuesMut::F64),
            Self::I8(v) => both(halves(v, count), ValuesMut::I8),
            Self::U8(v) => both(halves(v, count), ValuesMut::U8),
            Self::I16(v) => both(halves(v, count), ValuesMut::I16),
            Self::I32(v) => both(halves(v, count), ValuesMut::I32),
            Self::I64(v) => both(halves(v, count), ValuesMut::I64),
            Self::Bool(v) => both(halves(v, count), ValuesMut::Bool),
            Self::C64(v) => both(halves(v, count), ValuesMut::C64),
            Self::C128(v) => both(halves(v, count), ValuesMut::C128),
        }
    }
}

impl<'a> From<&'a [f32]> for Values<'a> {
    fn from(v: &'a [f32]) -> Self {
        Self::F32(v)
    }
}

impl<'a> From<&'a mut [f32]> for ValuesMut<'a> {
    fn from(v: &'a mut [f32]) -> Self {
        Self::F32(v)
    }
}
