//! Shapes and strides as a caller states them.

use core::fmt;

use crate::Dtype;

/// The most dimensions a tensor may have (aclnn's limit).
pub const MAX_RANK: usize = 8;

/// Up to [`MAX_RANK`] sizes: a shape or the strides of one, in elements.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Dims {
    rank: u8,
    len: [usize; MAX_RANK],
}

/// A tensor with more than [`MAX_RANK`] dimensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyDims {
    /// How many it has.
    pub got: usize,
}

impl fmt::Display for TooManyDims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a tensor has {} dimensions: at most {MAX_RANK} are possible", self.got)
    }
}

impl core::error::Error for TooManyDims {}

impl Dims {
    /// None: the shape of a scalar.
    pub const NONE: Self = Self { rank: 0, len: [0; MAX_RANK] };

    /// Sizes from a slice.
    ///
    /// # Errors
    /// [`TooManyDims`] beyond [`MAX_RANK`].
    #[inline]
    pub fn new(sizes: &[usize]) -> Result<Self, TooManyDims> {
        let mut len = [0; MAX_RANK];
        let room = len.get_mut(..sizes.len()).ok_or(TooManyDims { got: sizes.len() })?;
        room.copy_from_slice(sizes);
        Ok(Self { rank: sizes.len() as u8, len })
    }

    /// The sizes.
    #[must_use]
    pub fn as_slice(&self) -> &[usize] {
        self.len.get(..self.rank()).unwrap_or(&[])
    }

    /// How many there are.
    #[must_use]
    pub const fn rank(&self) -> usize {
        self.rank as usize
    }

    /// Size `i`; 0 where there is none.
    #[must_use]
    pub fn get(&self, i: usize) -> usize {
        self.as_slice().get(i).copied().unwrap_or(0)
    }

    /// Product of the sizes, `None` when it does not fit `isize`. An empty tensor has 0 whatever its other sizes are.
    #[must_use]
    pub fn numel(&self) -> Option<usize> {
        if self.as_slice().contains(&0) {
            return Some(0);
        }
        let product = self.as_slice().iter().try_fold(1usize, |n, &d| n.checked_mul(d))?;
        isize::try_from(product).ok().map(|_| product)
    }

    /// Strides, in elements, of a contiguous tensor of this shape; `None` when they overflow.
    #[must_use]
    pub fn contiguous_strides(&self) -> Option<Self> {
        let mut strides = *self;
        let mut step = 1usize;
        let rank = self.rank();
        for (stride, &size) in strides.len.get_mut(..rank)?.iter_mut().zip(self.as_slice()).rev() {
            *stride = step;
            step = step.checked_mul(size.max(1))?;
        }
        Some(strides)
    }
}

impl fmt::Display for Dims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (i, size) in self.as_slice().iter().enumerate() {
            write!(f, "{}{size}", if i == 0 { "" } else { ", " })?;
        }
        f.write_str("]")
    }
}

impl fmt::Debug for Dims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A tensor as a caller describes it: dtype, shape, and strides in elements (0 repeats an element).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorDesc {
    /// Element type.
    pub dtype: Dtype,
    /// Sizes, outermost first.
    pub shape: Dims,
    /// Distance in elements between neighbours along each dimension; as many as there are sizes.
    pub strides: Dims,
}

impl TensorDesc {
    /// A contiguous tensor.
    ///
    /// # Errors
    /// [`TooManyDims`] beyond [`MAX_RANK`]. A shape whose sizes overflow gets strides of 0; the check refuses it by its size.
    pub fn contiguous(dtype: Dtype, shape: &[usize]) -> Result<Self, TooManyDims> {
        let shape = Dims::new(shape)?;
        let zeros = Dims { rank: shape.rank, len: [0; MAX_RANK] };
        Ok(Self { dtype, shape, strides: shape.contiguous_strides().unwrap_or(zeros) })
    }

    /// A tensor with given strides.
    ///
    /// # Errors
    /// [`TooManyDims`] beyond [`MAX_RANK`].
    #[inline]
    pub fn strided(dtype: Dtype, shape: &[usize], strides: &[usize]) -> Result<Self, TooManyDims> {
        Ok(Self { dtype, shape: Dims::new(shape)?, strides: Dims::new(strides)? })
    }

    /// Size and stride of each dimension.
    pub(crate) fn dims(&self) -> impl DoubleEndedIterator<Item = (usize, usize)> + ExactSizeIterator + Clone + '_ {
        self.shape.as_slice().iter().copied().zip(self.strides.as_slice().iter().copied())
    }

    /// Whether it has no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.shape.as_slice().contains(&0)
    }

    /// Elements from the first to one past the last that the strides reach; `None` when that overflows `isize` bytes.
    #[must_use]
    #[inline]
    pub fn span(&self) -> Option<usize> {
        if self.is_empty() {
            return Some(0);
        }
        let last = self.dims().try_fold(0usize, |n, (d, s)| n.checked_add((d - 1).checked_mul(s)?))?;
        let span = last.checked_add(1)?;
        isize::try_from(span.checked_mul(self.dtype.size())?).ok().map(|_| span)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_strides() {
        let dims = Dims::new(&[2, 3, 4]).unwrap();
        assert_eq!(dims.numel(), Some(24));
        assert_eq!(dims.contiguous_strides().unwrap().as_slice(), [12, 4, 1]);
        assert_eq!(Dims::new(&[usize::MAX, 0, 7]).unwrap().numel(), Some(0));
        assert_eq!(Dims::new(&[usize::MAX, 2]).unwrap().numel(), None);
        assert_eq!(Dims::new(&[0; 9]), Err(TooManyDims { got: 9 }));
        assert_eq!(format!("{dims}"), "[2, 3, 4]");
    }

    #[test]
    fn span_of_strided_tensors() {
        let t = TensorDesc::strided(Dtype::F32, &[2, 3], &[8, 2]).unwrap();
        assert_eq!(t.span(), Some(13));
        let broadcast = TensorDesc::strided(Dtype::F32, &[1000, 3], &[0, 1]).unwrap();
        assert_eq!(broadcast.span(), Some(3));
        let wild = TensorDesc::strided(Dtype::F64, &[2, 3], &[usize::MAX / 2, 2]).unwrap();
        assert_eq!(wild.span(), None);
    }
}
