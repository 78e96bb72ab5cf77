//! Tensors in memory, of any dtype and strides.

use std::fmt;

use ubtile_tiling::{Dtype, TensorDesc};

use crate::number::{component, decode, encode};

/// Alignment of a tensor's first byte: that of the widest vector and of a cache line.
const ALIGN: usize = 64;

/// A tensor with its elements, as many as its strides reach, in this machine's byte order.
///
/// Elements are addressed by their offset from the first, in *components*: an offset in elements times 1, or times 2 for complex
/// dtypes, whose imaginary part follows the real one.
pub struct Data {
    desc: TensorDesc,
    bytes: Vec<u8>,
    start: usize,
    len: usize,
}

impl Data {
    /// A tensor whose bytes, gaps between elements included, all have one value: to be written to, and to show what was not.
    ///
    /// # Panics
    /// If the strides reach further than memory does.
    #[must_use]
    pub fn filled(desc: TensorDesc, byte: u8) -> Self {
        let len = desc.span().expect("the span of a tensor fits isize") * desc.dtype.size();
        let bytes = vec![byte; len + ALIGN];
        let start = bytes.as_ptr().align_offset(ALIGN);
        Self { desc, bytes, start, len }
    }

    /// A tensor of numbers, rounded to its dtype: `number(i)` is component `i` of the elements in row-major order.
    #[must_use]
    pub fn from_fn(desc: TensorDesc, mut number: impl FnMut(usize) -> f64) -> Self {
        let dtype = component(desc.dtype).0;
        Self::from_bits_fn(desc, |i| encode(dtype, number(i)))
    }

    /// A tensor of bit patterns, see [`from_fn`](Self::from_fn).
    #[must_use]
    pub fn from_bits_fn(desc: TensorDesc, mut bits: impl FnMut(usize) -> u64) -> Self {
        let mut data = Self::filled(desc, 0);
        for (i, offset) in component_offsets(&desc).enumerate() {
            data.set_bits(offset, bits(i));
        }
        data
    }

    /// What it looks like.
    #[must_use]
    pub const fn desc(&self) -> &TensorDesc {
        &self.desc
    }

    /// Type of its elements.
    #[must_use]
    pub const fn dtype(&self) -> Dtype {
        self.desc.dtype
    }

    /// The bytes of its elements, aligned to 64.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[self.start..self.start + self.len]
    }

    /// The bytes of its elements, to write.
    #[must_use]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..self.start + self.len]
    }

    /// Offsets of all components, in row-major order of the elements.
    pub fn offsets(&self) -> impl Iterator<Item = usize> + use<> {
        component_offsets(&self.desc)
    }

    /// The bits of a component.
    #[must_use]
    pub fn bits(&self, offset: usize) -> u64 {
        let size = component(self.dtype()).0.size();
        from_ne_bytes(&self.bytes()[offset * size..][..size])
    }

    /// Writes the bits of a component.
    pub fn set_bits(&mut self, offset: usize, bits: u64) {
        let size = component(self.dtype()).0.size();
        let to = &mut self.bytes_mut()[offset * size..][..size];
        match size {
            1 => to.copy_from_slice(&(bits as u8).to_ne_bytes()),
            2 => to.copy_from_slice(&(bits as u16).to_ne_bytes()),
            4 => to.copy_from_slice(&(bits as u32).to_ne_bytes()),
            _ => to.copy_from_slice(&bits.to_ne_bytes()),
        }
    }

    /// A component as a number.
    #[must_use]
    pub fn number(&self, offset: usize) -> f64 {
        decode(component(self.dtype()).0, self.bits(offset))
    }

    /// All components as numbers, by offset; what lies in gaps is decoded too.
    #[must_use]
    pub fn numbers(&self) -> Vec<f64> {
        let dtype = component(self.dtype()).0;
        self.bytes().chunks_exact(dtype.size()).map(|bytes| decode(dtype, from_ne_bytes(bytes))).collect()
    }

    /// The same elements without gaps.
    #[must_use]
    pub fn to_contiguous(&self) -> Self {
        let desc = TensorDesc::contiguous(self.dtype(), self.desc.shape.as_slice()).expect("the rank is legal");
        let mut offsets = self.offsets();
        Self::from_bits_fn(desc, |_| self.bits(offsets.next().expect("the shapes are the same")))
    }

    /// Whether every byte that belongs to no element still has the value it was [`filled`](Self::filled) with.
    #[must_use]
    pub fn gaps_hold(&self, byte: u8) -> bool {
        let size = component(self.dtype()).0.size();
        let mut in_gap = vec![true; self.len / size];
        self.offsets().for_each(|offset| in_gap[offset] = false);
        let components = self.bytes().chunks_exact(size);
        components.zip(in_gap).all(|(bytes, gap)| !gap || bytes.iter().all(|&b| b == byte))
    }
}

impl Clone for Data {
    fn clone(&self) -> Self {
        // The new allocation may lie differently, so its first element need not.
        let mut copy = Self::filled(self.desc, 0);
        copy.bytes_mut().copy_from_slice(self.bytes());
        copy
    }
}

impl fmt::Debug for Data {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} strides {}", self.dtype(), self.desc.shape, self.desc.strides)
    }
}

/// A component in which two tensors differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirstDifference {
    /// Index of the element.
    pub index: Vec<usize>,
    /// Its bits in the first tensor (of the component that differs).
    pub left: u64,
    /// Its bits in the second.
    pub right: u64,
    /// How many components differ.
    pub count: usize,
}

impl fmt::Display for FirstDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} differ, first at {:?}: {:#x} and {:#x}", self.count, self.index, self.left, self.right)
    }
}

impl std::error::Error for FirstDifference {}

/// Compares the elements of two tensors bit by bit, wherever their strides put them.
///
/// # Errors
/// The first difference in row-major order.
///
/// # Panics
/// If dtype or shape differ.
pub fn bits_equal(left: &Data, right: &Data) -> Result<(), FirstDifference> {
    assert_eq!((left.dtype(), left.desc.shape), (right.dtype(), right.desc.shape), "tensors of one kind");
    if left.desc == right.desc && left.bytes() == right.bytes() {
        return Ok(());
    }
    let parts = component(left.dtype()).1;
    let pairs = left.offsets().zip(right.offsets()).map(|(l, r)| (left.bits(l), right.bits(r)));
    let mut differing = pairs.enumerate().filter(|(_, (l, r))| l != r);
    let Some((i, (l, r))) = differing.next() else { return Ok(()) };
    let index = index_of(left.desc.shape.as_slice(), i / parts);
    Err(FirstDifference { index, left: l, right: r, count: 1 + differing.count() })
}

/// The index of element number `i` in row-major order.
pub(crate) fn index_of(shape: &[usize], mut i: usize) -> Vec<usize> {
    let mut index = vec![0; shape.len()];
    for (at, &size) in index.iter_mut().zip(shape).rev() {
        (*at, i) = (i % size, i / size);
    }
    index
}

/// Row by row, as to find a place from an element's number takes longer than what tests do with it.
fn component_offsets(desc: &TensorDesc) -> impl Iterator<Item = usize> + use<> {
    let (desc, parts) = (*desc, component(desc.dtype).1);
    let width = desc.shape.as_slice().last().copied().unwrap_or(1);
    let step = desc.strides.as_slice().last().copied().unwrap_or(0);
    let elements = desc.shape.numel().expect("the size of a tensor fits isize");
    (0..elements.checked_div(width).unwrap_or(0)).flat_map(move |row| {
        let index = desc.shape.as_slice().iter().zip(desc.strides.as_slice()).rev().skip(1);
        let start = index.fold((0, row), |(start, i), (&size, &stride)| (start + i % size * stride, i / size)).0;
        (0..width * parts).map(move |at| (start + at / parts * step) * parts + at % parts)
    })
}

fn from_ne_bytes(bytes: &[u8]) -> u64 {
    match *bytes {
        [a] => u64::from(a),
        [a, b] => u64::from(u16::from_ne_bytes([a, b])),
        [a, b, c, d] => u64::from(u32::from_ne_bytes([a, b, c, d])),
        _ => u64::from_ne_bytes(bytes.try_into().expect("a component has at most 8 bytes")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strided_elements_and_their_gaps() {
        let desc = TensorDesc::strided(Dtype::F16, &[2, 3], &[1, 4]).unwrap();
        let mut data = Data::filled(desc, 0xa5);
        assert_eq!(data.bytes().len(), 2 * (1 + 8 + 1));
        assert_eq!(data.bytes().as_ptr().align_offset(64), 0);
        assert_eq!(data.offsets().collect::<Vec<_>>(), [0, 4, 8, 1, 5, 9]);
        for (i, offset) in data.offsets().enumerate() {
            data.set_bits(offset, encode(Dtype::F16, i as f64));
        }
        assert!(data.gaps_hold(0xa5));
        assert_eq!(data.number(5), 4.0);
        assert_eq!(data.to_contiguous().numbers(), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
        assert!(bits_equal(&data, &data.to_contiguous().clone()).is_ok());
        data.set_bits(2, 7);
        assert!(!data.gaps_hold(0xa5));
    }

    #[test]
    fn complex_components_and_differences() {
        let desc = TensorDesc::contiguous(Dtype::C64, &[2, 2]).unwrap();
        let data = Data::from_fn(desc, |i| i as f64);
        assert_eq!(data.numbers(), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
        let mut other = data.clone();
        other.set_bits(5, 1);
        other.set_bits(6, 1);
        let difference = bits_equal(&data, &other).unwrap_err();
        assert_eq!((difference.index, difference.count, difference.right), (vec![1, 0], 2, 1));
    }

    #[test]
    fn tensors_without_elements_or_dimensions() {
        let data = Data::filled(TensorDesc::contiguous(Dtype::F32, &[3, 0, 2]).unwrap(), 1);
        assert_eq!((data.bytes().len(), data.offsets().count()), (0, 0));
        let data = Data::filled(TensorDesc::contiguous(Dtype::F32, &[3, 0]).unwrap(), 1);
        assert_eq!(data.offsets().count(), 0);
        let data = Data::filled(TensorDesc::contiguous(Dtype::C64, &[]).unwrap(), 1);
        assert_eq!(data.offsets().collect::<Vec<_>>(), [0, 1]);
    }
}
