//! Where the cells of a box lie in memory.

use core::num::NonZeroUsize;

/// The offset of each cell of some planes in a slice of scalars, `P` to an element.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<const P: usize> {
    channels: NonZeroUsize,
    /// In scalars, as `[N, C, H, W]`.
    strides: [usize; 4],
    /// Offset of the slice's first scalar; wraps, because a box need not hold the first cell of a plane.
    origin: usize,
}

impl<const P: usize> Place<P> {
    /// A tensor with these strides, in elements, seen from its element `origin` on.
    #[inline(always)]
    pub(super) fn tensor(channels: usize, strides: [usize; 4], origin: usize) -> Self {
        let channels = NonZeroUsize::new(channels).unwrap_or(NonZeroUsize::MIN);
        Self { channels, strides: strides.map(|stride| stride.wrapping_mul(P)), origin: origin.wrapping_mul(P) }
    }

    /// A box without gaps, given by the first and one past the last of its planes, rows and columns.
    #[inline(always)]
    pub(super) fn cut([p0, _]: [usize; 2], [y0, y1]: [usize; 2], [x0, x1]: [usize; 2]) -> Self {
        let row = x1.wrapping_sub(x0);
        let plane = y1.wrapping_sub(y0).wrapping_mul(row);
        let place = Self::tensor(1, [plane, 0, row, 1], 0);
        Self { origin: place.offset(p0, y0, x0), ..place }
    }

    /// Offset of the first scalar of a cell, in scalars.
    #[inline(always)]
    pub(super) fn offset(&self, plane: usize, row: usize, column: usize) -> usize {
        let [n, c, h, w] = self.strides;
        let image = (plane / self.channels).wrapping_mul(n).wrapping_add((plane % self.channels).wrapping_mul(c));
        let cell = row.wrapping_mul(h).wrapping_add(column.wrapping_mul(w));
        image.wrapping_add(cell).wrapping_sub(self.origin)
    }

    /// Scalars from a row to the next.
    #[inline(always)]
    pub(super) fn pitch(&self) -> usize {
        let [_, _, pitch, _] = self.strides;
        pitch
    }

    /// Whether the elements of a row lie side by side.
    #[inline(always)]
    pub(super) fn is_dense(&self) -> bool {
        let [_, _, _, stride] = self.strides;
        stride == P
    }
}
