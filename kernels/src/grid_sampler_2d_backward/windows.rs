//! Where the pixels of points lie in an image, or in a rectangle of it.

use super::cells::{CHUNK, Cells, Each, lanes, lanes_of};
use super::coordinates::splat;
use crate::level::Kernel;
use crate::simd::{Isa, Real, Vector};

#[cfg(test)]
mod tests;

/// The offset of a row or column that is not there. Two of them and a channel's offset are beyond every slice and do not wrap.
pub(crate) const ABSENT: usize = usize::MAX >> 2;

/// Rows and columns that f32 counts exactly, and one more.
const COUNTABLE: usize = 1 << 24;
/// No number of a pixel, but larger than all: of a point's pixels only some are in the window, or none.
pub(crate) const PARTLY: u32 = 1 << 30;
pub(crate) const NONE: u32 = 1 << 29;

/// The pixels of an image, or of a rectangle of it, in a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    /// First row and column.
    pub(crate) first: [usize; 2],
    /// Rows and columns.
    pub(crate) size: [usize; 2],
    /// Elements from one row, and from one column, to the next.
    pub(crate) strides: [usize; 2],
}

impl Window {
    /// Offset of a row; at least [`ABSENT`] outside.
    #[inline(always)]
    pub(crate) fn row(&self, y: isize) -> usize {
        // A negative index wraps to a huge one.
        let y = (y as usize).wrapping_sub(self.first[0]);
        if y < self.size[0] { y.wrapping_mul(self.strides[0]) } else { ABSENT }
    }

    /// Offset of a column in its row; at least [`ABSENT`] outside.
    #[inline(always)]
    pub(crate) fn column(&self, x: isize) -> usize {
        let x = (x as usize).wrapping_sub(self.first[1]);
        if x < self.size[1] { x.wrapping_mul(self.strides[1]) } else { ABSENT }
    }

    /// Whether it has any of four rows of the image.
    #[inline(always)]
    pub(crate) fn has_any_of_four(&self, first: isize) -> bool {
        let end = self.first[0].wrapping_add(self.size[0]);
        (first as usize) < end && self.first[0] < (first as usize).wrapping_add(4)
    }

    /// Offset of a pixel that three more follow in its row and in its column.
    #[inline(always)]
    pub(crate) fn sixteen(&self, [y, x]: [isize; 2]) -> Option<usize> {
        let (y, x) = ((y as usize).wrapping_sub(self.first[0]), (x as usize).wrapping_sub(self.first[1]));
        let inside = y < self.size[0].saturating_sub(3) && x < self.size[1].saturating_sub(3);
        inside.then(|| y.wrapping_mul(self.strides[0]).wrapping_add(x.wrapping_mul(self.strides[1])))
    }
}

/// Finds the squares of a chunk of points: of each the number of its first pixel in a window if the window has all four of them, else
/// [`PARTLY`] or [`NONE`]. For nearest one pixel is all. Gives whether the window has any pixel of any point.
#[derive(Debug)]
pub(crate) struct FindSquares<'a, A> {
    pub(crate) cells: &'a Cells<A>,
    pub(crate) window: &'a Window,
    pub(crate) to: &'a mut Each<u32>,
}

impl<A: Real> Kernel for FindSquares<'_, A> {
    type Output = bool;

    #[inline(always)]
    fn run<S: Isa>(self, isa: S) -> bool {
        let Self { cells, window: Window { first, size, .. }, to } = self;
        let pixels = size[0].saturating_mul(size[1]);
        if [first[0], first[1], size[0], size[1]].into_iter().any(|n| n >= COUNTABLE) || pixels >= NONE as usize {
            to.fill(PARTLY);
            return true;
        }
        let number = |number: usize| splat(isa, A::from_usize(number));
        let (zero, one) = (splat(isa, A::default()), splat(isa, A::ONE));
        let (partly, none) = (number(PARTLY as usize), number(NONE as usize));
        let ([top, left], [height, width]) = ([number(first[0]), number(first[1])], [number(size[0]), number(size[1])]);
        let more = if cells.nearest { zero } else { one };
        let (rows, columns) = (height - more, width - more);
        let (mut any, mut above) = (zero, [0; CHUNK]);
        for k in (0..cells.count).step_by(lanes_of::<S, A>()) {
            let (y, x) = (lanes(isa, &cells.y.cell, k) - top, lanes(isa, &cells.x.cell, k) - left);
            let (begun, ended) = (zero.le(y).and(zero.le(x)), y.lt(height).and(x.lt(width)));
            let all = begun.and(y.lt(rows)).and(x.lt(columns));
            let some = zero.le(y + more).and(zero.le(x + more)).and(ended);
            any = any.or(some);
            let k = k & (CHUNK - lanes_of::<S, A>());
            Vector::select(all, y, zero).store_indices(above.get_mut(k..).unwrap_or(&mut []));
            Vector::select(all, x, Vector::select(some, partly, none))
                .store_indices(to.get_mut(k..).unwrap_or(&mut []));
        }
        for (to, row) in to.iter_mut().zip(above) {
            *to = row.wrapping_mul(size[1] as u32).wrapping_add(*to);
        }
        Vector::any(any)
    }
}
