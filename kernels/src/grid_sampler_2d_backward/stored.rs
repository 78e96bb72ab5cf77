//! From elements of any dtype to slices of one.

use half::{bf16, f16};

use super::share::Share;
use crate::element::Element;
use crate::values::{Values, ValuesMut};

/// An element type that this operator computes.
pub(crate) trait Stored: Element {
    /// The elements; none where they are of another type.
    fn read(values: Values<'_>) -> &[Self];
    /// The elements; none where they are of another type.
    fn write(values: ValuesMut<'_>) -> &mut [Self];
    /// Elements as what sums are made in, where they are of the same type.
    fn as_acc(elements: &[Self]) -> Option<&[Self::Acc]> {
        if !Self::IS_HALF { bytemuck::try_cast_slice(elements).ok() } else { None }
    }
    /// The same to be written.
    fn as_sums(elements: &mut [Self]) -> Option<&mut [Self::Acc]> {
        if !Self::IS_HALF { bytemuck::try_cast_slice_mut(elements).ok() } else { None }
    }
    /// Runs a share. Not generic in each dtype, so that crates that bring their own `Parallel` need not compile the kernels again.
    fn run(share: Share<'_, Self>);
}

impl Stored for f32 {
    fn read(values: Values<'_>) -> &[Self] {
        if let Values::F32(v) = values { v } else { &[] }
    }
    fn write(values: ValuesMut<'_>) -> &mut [Self] {
        if let ValuesMut::F32(v) = values { v } else { &mut [] }
    }
    #[inline(never)]
    fn run(share: Share<'_, Self>) {
        share.run();
    }
}

impl Stored for f64 {
    fn read(values: Values<'_>) -> &[Self] {
        if let Values::F64(v) = values { v } else { &[] }
    }
    fn write(values: ValuesMut<'_>) -> &mut [Self] {
        if let ValuesMut::F64(v) = values { v } else { &mut [] }
    }
    #[inline(never)]
    fn run(share: Share<'_, Self>) {
        share.run();
    }
}

impl Stored for f16 {
    fn read(values: Values<'_>) -> &[Self] {
        if let Values::F16(v) = values { v } else { &[] }
    }
    fn write(values: ValuesMut<'_>) -> &mut [Self] {
        if let ValuesMut::F16(v) = values { v } else { &mut [] }
    }
    #[inline(never)]
    fn run(share: Share<'_, Self>) {
        share.run();
    }
}

impl Stored for bf16 {
    fn read(values: Values<'_>) -> &[Self] {
        if let Values::Bf16(v) = values { v } else { &[] }
    }
    fn write(values: ValuesMut<'_>) -> &mut [Self] {
        if let ValuesMut::Bf16(v) = values { v } else { &mut [] }
    }
    #[inline(never)]
    fn run(share: Share<'_, Self>) {
        share.run();
    }
}
