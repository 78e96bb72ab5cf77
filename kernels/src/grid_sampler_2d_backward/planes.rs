//! One image of a tensor: planes of positions, addressed by one flat index.

use core::num::NonZeroUsize;
use core::ops::Range;

use crate::element::Element;

/// Channels (or axes) of positions in rows and columns. `D` is a slice of elements, to read or to write.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Planes<D> {
    /// From the image's first element on.
    pub(crate) data: D,
    /// Elements from one channel to the next.
    pub(crate) channel: usize,
    /// Elements from one row to the next.
    row: usize,
    /// Elements from one column to the next.
    pub(crate) column: usize,
    /// Columns of a row; all positions where rows follow each other like columns.
    columns: NonZeroUsize,
}

impl<D> Planes<D> {
    /// Planes of `height` rows of `width` columns, with the distances from a channel, a row and a column to the next.
    pub(crate) fn new(data: D, [height, width]: [usize; 2], [channel, row, column]: [usize; 3]) -> Self {
        let merged = row == width.wrapping_mul(column);
        let columns = if merged { width.saturating_mul(height) } else { width };
        Self { data, channel, row, column, columns: NonZeroUsize::new(columns).unwrap_or(NonZeroUsize::MIN) }
    }

    /// Where position `at` lies in the first channel.
    #[inline(always)]
    pub(crate) fn offset(&self, at: usize) -> usize {
        (at / self.columns).wrapping_mul(self.row).wrapping_add((at % self.columns).wrapping_mul(self.column))
    }

    /// The longest beginning of `positions` whose elements are `column` apart, at most `most` of them: its offset and length.
    #[inline(always)]
    pub(crate) fn run(&self, positions: &Range<usize>, most: usize) -> (usize, usize) {
        let left = self.columns.get().wrapping_sub(positions.start % self.columns);
        (self.offset(positions.start), positions.len().min(most).min(left))
    }
}

impl<T: Element> Planes<&[T]> {
    /// The element at an offset, widened; zero where there is none.
    #[inline(always)]
    pub(crate) fn widen(&self, offset: usize) -> T::Acc {
        match self.data.get(offset) {
            Some(v) => v.widen(),
            None => T::Acc::default(),
        }
    }
}
