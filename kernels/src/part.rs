//! Which part of an output is made, and how it is walked.

use core::num::NonZeroUsize;
use core::ops::Range;

/// Rows of an output, or elements, of all planes or of a share.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    /// Counted over all planes.
    pub(crate) units: Range<usize>,
    /// Offset in the whole output of the first element of the slice that they are written to.
    pub(crate) first: usize,
}

impl Part {
    /// All of so many.
    pub(crate) fn whole(units: usize) -> Self {
        Self { units: 0..units, first: 0 }
    }

    /// Its runs, each of one plane of so many.
    pub(crate) fn planes(&self, each: usize) -> Planes {
        let each = NonZeroUsize::new(each).unwrap_or(NonZeroUsize::MIN);
        let Range { start, end } = self.units;
        Planes { each, plane: start / each, at: start % each, left: end.saturating_sub(start) }
    }
}

/// Runs of rows or elements, each of one plane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Planes {
    each: NonZeroUsize,
    plane: usize,
    at: usize,
    left: usize,
}

impl Iterator for Planes {
    /// The plane, the first of its rows or elements and one past the last.
    type Item = (usize, [usize; 2]);

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 {
            return None;
        }
        let end = self.each.get().min(self.at.wrapping_add(self.left));
        let run = (self.plane, [self.at, end]);
        self.left = self.left.wrapping_sub(end.wrapping_sub(self.at));
        (self.plane, self.at) = (self.plane.wrapping_add(1), 0);
        Some(run)
    }
}
