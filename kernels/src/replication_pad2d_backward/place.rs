//! Where the cells of a box lie in memory, and its rows plane by plane.

use core::num::NonZeroUsize;
use core::ops::Range;

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
        let channels = NonZeroUsize::new(channels).unwrap_or(NonZeroUsize::MIN);
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

/// Runs of rows, each of one plane.
#[derive(Clone, Copy, Debug)]
pub(super) struct Planes {
    height: NonZeroUsize,
    plane: usize,
    row: usize,
    left: usize,
}

impl Planes {
    /// Those of the rows from the first to one past the last, counted over all planes of so many rows.
    pub(super) fn new(height: usize, rows: Range<usize>) -> Self {
        let height = NonZeroUsize::new(height).unwrap_or(NonZeroUsize::MIN);
        Self { height, plane: rows.start / height, row: rows.start % height, left: rows.len() }
    }
}

impl Iterator for Planes {
    /// The plane, the first of its rows and one past the last.
    type Item = (usize, [usize; 2]);

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 {
            return None;
        }
        let end = self.height.get().min(self.row.wrapping_add(self.left));
        let run = (self.plane, [self.row, end]);
        self.left = self.left.wrapping_sub(end.wrapping_sub(self.row));
        (self.plane, self.row) = (self.plane.wrapping_add(1), 0);
        Some(run)
    }
}
