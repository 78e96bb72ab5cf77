//! From the caller's pointers to references.

use core::ops::Range;

use ubtile_kernels::{Values, ValuesMut};
use ubtile_tiling::{Dtype, Status};

use crate::types::{Input, Output};

/// What a pointer points to.
///
/// # Safety
/// It is NULL or points to a valid `T` that nothing writes while the reference is used.
pub(crate) unsafe fn read<'a, T>(from: *const T) -> Result<&'a T, Status> {
    // SAFETY: the caller's promise.
    unsafe { from.as_ref() }.ok_or(Status::ParamNullptr)
}

/// Overwrites what a pointer points to.
///
/// # Safety
/// It is NULL or points to memory for a `T`.
pub(crate) unsafe fn write<T>(to: *mut T, value: T) -> Result<(), Status> {
    if to.is_null() {
        return Err(Status::ParamNullptr);
    }
    // SAFETY: the caller's promise.
    unsafe { to.write(value) };
    Ok(())
}

/// Some bytes of the caller's memory.
#[derive(Clone, Copy)]
pub(crate) struct Bytes {
    start: *mut u8,
    len: usize,
}

impl Bytes {
    /// How many there are.
    pub(crate) const fn len(self) -> usize {
        self.len
    }

    /// A part of them, counted in bytes; what lies beyond is cut off.
    pub(crate) fn part(self, range: Range<usize>) -> Self {
        let (start, end) = (range.start.min(self.len), range.end.min(self.len));
        Self { start: self.start.wrapping_add(start), len: end.saturating_sub(start) }
    }

    /// What lies behind the first address that is a multiple of `align`.
    pub(crate) fn aligned(self, align: usize) -> Self {
        let slack = self.start.align_offset(align);
        self.part(slack..self.len)
    }

    fn range(self) -> Range<usize> {
        let start = self.start.addr();
        start..start.saturating_add(self.len)
    }

    fn meets(self, other: Self) -> bool {
        let (a, b) = (self.range(), other.range());
        a.start < b.end && b.start < a.end && self.len > 0 && other.len > 0
    }

    /// The bytes, to read.
    ///
    /// # Safety
    /// They are valid, and nothing writes them while the slice is used.
    pub(crate) unsafe fn shared<'a>(self) -> &'a [u8] {
        if self.len == 0 {
            return &[];
        }
        // SAFETY: the caller's promise; not NULL and not too many, as `Input::bytes` has seen.
        unsafe { core::slice::from_raw_parts(self.start, self.len) }
    }

    /// The bytes, to write.
    ///
    /// # Safety
    /// They are valid, and nothing else reads or writes them while the slice is used.
    pub(crate) unsafe fn own<'a>(self) -> &'a mut [u8] {
        if self.len == 0 {
            return &mut [];
        }
        // SAFETY: as for `shared`.
        unsafe { core::slice::from_raw_parts_mut(self.start, self.len) }
    }

    /// Elements, to read.
    ///
    /// # Safety
    /// As for [`shared`](Self::shared).
    pub(crate) unsafe fn values<'a>(self, dtype: Dtype) -> Result<Values<'a>, Status> {
        // SAFETY: the caller's promise. A part of an element at the end is nobody's.
        let bytes = unsafe { self.part(0..self.len - self.len % size(dtype)).shared() };
        Values::from_bytes(dtype, bytes).ok_or(Status::ParamInvalid)
    }

    /// Elements, to write.
    ///
    /// # Safety
    /// As for [`own`](Self::own).
    pub(crate) unsafe fn values_mut<'a>(self, dtype: Dtype) -> Result<ValuesMut<'a>, Status> {
        // SAFETY: the caller's promise.
        let bytes = unsafe { self.part(0..self.len - self.len % size(dtype)).own() };
        ValuesMut::from_bytes(dtype, bytes).ok_or(Status::ParamInvalid)
    }

    /// The elements `range`, to write.
    ///
    /// # Safety
    /// As for [`own`](Self::own), of those elements.
    pub(crate) unsafe fn elements_mut<'a>(self, dtype: Dtype, range: &Range<usize>) -> Result<ValuesMut<'a>, Status> {
        let at = |element: usize| element.saturating_mul(dtype.size());
        let end = at(range.end);
        if !range.is_empty() && self.len < end {
            return Err(Status::ParamInvalid);
        }
        // SAFETY: the caller's promise.
        unsafe { self.part(at(range.start)..end).values_mut(dtype) }
    }
}

/// A divisor that the compiler can see is not 0.
fn size(dtype: Dtype) -> usize {
    dtype.size().max(1)
}

/// A pointer and a length, checked as far as they can be. Not inlined, as code counts more than calls.
#[inline(never)]
fn bytes(start: *mut u8, len: usize) -> Result<Bytes, Status> {
    if start.is_null() && len > 0 {
        return Err(Status::ParamNullptr);
    }
    if isize::try_from(len).is_err() || start.addr().checked_add(len).is_none() {
        return Err(Status::ParamInvalid);
    }
    Ok(Bytes { start, len })
}

impl Input {
    pub(crate) fn bytes(&self) -> Result<Bytes, Status> {
        bytes(self.data.cast_mut().cast(), self.bytes)
    }
}

impl Output {
    pub(crate) fn bytes(&self) -> Result<Bytes, Status> {
        bytes(self.data.cast(), self.bytes)
    }
}

/// Refuses outputs that overlap each other or an input: Rust's references must not.
pub(crate) fn disjoint(outputs: &[Bytes], inputs: &[Bytes]) -> Result<(), Status> {
    let mut rest = outputs;
    while let [output, others @ ..] = rest {
        for all in [others, inputs] {
            if all.iter().any(|other| output.meets(*other)) {
                return Err(Status::ParamInvalid);
            }
        }
        rest = others;
    }
    Ok(())
}
