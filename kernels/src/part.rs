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
    pub(crate) fn planes(&self, each: usize) -> PlaneRuns {
        let each = at_least_1(each);
        let Range { start, end } = self.units;
        PlaneRuns { each, plane: start / each, at: start % each, left: end.saturating_sub(start) }
    }

    /// Its pieces, each of one image of so many channels: whole planes of so many units, or some units of one plane.
    pub(crate) fn pieces(&self, channels: usize, each: usize) -> Pieces {
        let [channels, each] = [channels, each].map(at_least_1);
        Pieces { channels, each, units: self.units.clone() }
    }
}

/// Rows or elements of some channels of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) image: usize,
    pub(crate) channels: Range<usize>,
    /// Counted over a plane.
    pub(crate) units: Range<usize>,
}

/// The pieces of a part.
#[derive(Clone, Debug)]
pub(crate) struct Pieces {
    channels: NonZeroUsize,
    each: NonZeroUsize,
    units: Range<usize>,
}

impl Iterator for Pieces {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        let Self { channels, each, units } = self;
        if units.start >= units.end {
            return None;
        }
        let (plane, first) = (units.start / *each, units.start % *each);
        let (image, channel) = (plane / *channels, plane % *channels);
        let whole = (units.len() / *each).min(channels.get().wrapping_sub(channel));
        let (count, end) = if first == 0 && whole > 0 {
            (whole, each.get())
        } else {
            (1, each.get().min(first.wrapping_add(units.len())))
        };
        let piece = Piece { image, channels: channel..channel.wrapping_add(count), units: first..end };
        units.start = units.start.wrapping_add(count.wrapping_mul(end.wrapping_sub(first)));
        Some(piece)
    }
}

/// Runs of rows or elements, each of one plane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlaneRuns {
    each: NonZeroUsize,
    plane: usize,
    at: usize,
    left: usize,
}

impl PlaneRuns {
    /// Goes on behind all whole planes that come next: these.
    #[inline(always)]
    pub(crate) fn whole(&mut self) -> Range<usize> {
        let count = if self.at == 0 { self.left / self.each } else { 0 };
        let whole = self.plane..self.plane.wrapping_add(count);
        (self.plane, self.left) = (whole.end, self.left.wrapping_sub(count.wrapping_mul(self.each.get())));
        whole
    }
}

impl Iterator for PlaneRuns {
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

/// A divisor, where what it counts makes no difference if there is none.
#[inline(always)]
pub(crate) fn at_least_1(n: usize) -> NonZeroUsize {
    NonZeroUsize::new(n).unwrap_or(NonZeroUsize::MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_have_each_unit_once_and_whole_planes_together() {
        let part = |units| Part { units, first: 0 };
        let piece = |image, channels, units| Piece { image, channels, units };
        let pieces: Vec<_> = part(3..41).pieces(3, 5).collect();
        let expected = [
            piece(0, 0..1, 3..5),
            piece(0, 1..3, 0..5),
            piece(1, 0..3, 0..5),
            piece(2, 0..2, 0..5),
            piece(2, 2..3, 0..1),
        ];
        assert_eq!(pieces, expected);
        assert_eq!(part(7..9).pieces(3, 5).collect::<Vec<_>>(), [piece(0, 1..2, 2..4)]);
        assert_eq!(part(4..4).pieces(3, 5).next(), None);
        assert_eq!(part(0..2).pieces(0, 0).count(), 2);
    }
}
