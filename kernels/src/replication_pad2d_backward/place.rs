//! Where the cells of a box lie in memory.

use core::num::NonZeroUsize;

use crate::part::at_least_1;

/// The offsets of the cells of some planes in a slice of scalars. They wrap: a box need not hold the first cell of a plane.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    channels: NonZeroUsize,
    /// In scalars, as `[N, C, H, W]`.
    strides: [usize; 4],
    /// Offset of the slice's first scalar in the tensor.
    origin: usize,
}

impl Place {
    /// A tensor with these strides, in elements of `parts` scalars, seen from its element `origin` on.
    pub(super) fn tensor(parts: usize, channels: usize, strides: [usize; 4], origin: usize) -> Self {
        let channels = at_least_1(channels);
        Self { channels, strides: strides.map(|stride| stride.wrapping_mul(parts)), origin: origin.wrapping_mul(parts) }
    }

    /// A box without gaps, given by the first and one past the last of its planes, rows and columns.
    pub(super) fn cut(parts: usize, [p0, _]: [usize; 2], [y0, y1]: [usize; 2], [x0, x1]: [usize; 2]) -> Self {
        let row = x1.wrapping_sub(x0);
        let plane = y1.wrapping_sub(y0).wrapping_mul(row);
        let origin = p0.wrapping_mul(plane).wrapping_add(y0.wrapping_mul(row)).wrapping_add(x0);
        Self::tensor(parts, 1, [plane, plane, row, 1], origin)
    }

    /// Offset of the first cell of a plane.
    #[inline(always)]
    pub(super) fn plane(&self, plane: usize) -> usize {
        let [image, channel, _, _] = self.strides;
        // The usual case, without two divisions for each of what may be many small planes.
        if image == channel.wrapping_mul(self.channels.get()) {
            return plane.wrapping_mul(channel).wrapping_sub(self.origin);
        }
        let start = (plane / self.channels).wrapping_mul(image);
        start.wrapping_add((plane % self.channels).wrapping_mul(channel)).wrapping_sub(self.origin)
    }

    /// Offset of the first cell of an image.
    #[inline(always)]
    pub(super) fn image(&self, image: usize) -> usize {
        image.wrapping_mul(self.strides[0]).wrapping_sub(self.origin)
    }

    /// Scalars from a row to the next.
    #[inline(always)]
    pub(super) fn pitch(&self) -> usize {
        self.strides[2]
    }

    /// Scalars from an element of a row to the next.
    #[inline(always)]
    pub(super) fn step(&self) -> usize {
        self.strides[3]
    }
}
