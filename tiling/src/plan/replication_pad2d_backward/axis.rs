//! Which rows fold into a row, and columns into a column.

use crate::plan::shares::length;

/// One direction of the padding: which of its positions fold into a position of the image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axis {
    /// Positions of the image.
    pub size: usize,
    /// Positions of `grad_output`.
    pub padded: usize,
    /// Positions in front of the image; negative where it is cropped.
    pub before: isize,
}

impl Axis {
    /// First position, and one past the last, of `grad_output` that folds into position `at` of the image. Empty where the
    /// forward pass cropped it.
    #[must_use]
    #[inline]
    pub fn sources(&self, at: usize) -> [usize; 2] {
        self.sources_of([at, at.saturating_add(1)])
    }

    /// The same for the positions from the first to one past the last of a run that is not empty.
    #[must_use]
    #[inline]
    pub fn sources_of(&self, [start, end]: [usize; 2]) -> [usize; 2] {
        let first = if start == 0 { 0 } else { self.moved(start) };
        let last = if end >= self.size { self.padded } else { self.moved(end) };
        [first, last]
    }

    /// The positions of a run that have one source each, `before` further on, whatever else folds into the outermost of
    /// them; the others of the run were cropped or are the outermost.
    #[must_use]
    #[inline]
    pub fn copied(&self, [start, end]: [usize; 2]) -> [usize; 2] {
        let cropped = self.before.min(0).unsigned_abs();
        let reached = self.padded.saturating_add_signed(self.before.saturating_neg());
        let first = start.max(cropped).min(end);
        [first, reached.min(end).max(first)]
    }

    /// Where a position of the image lies in `grad_output`, moved into it.
    #[inline]
    fn moved(&self, at: usize) -> usize {
        // The check keeps the sum within `isize`.
        (at as isize).saturating_add(self.before).max(0).unsigned_abs().min(self.padded)
    }

    /// The most positions that fold into one.
    pub(super) fn most_sources(&self) -> usize {
        // All but the outermost have at most one.
        length(self.sources(0)).max(length(self.sources(self.size.saturating_sub(1)))).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every axis of few positions, with the positions of `grad_output` that are clamped to each of the image's.
    fn small() -> impl Iterator<Item = (Axis, Vec<Vec<usize>>)> {
        let axes = (1..6usize)
            .flat_map(|size| (-7..8isize).flat_map(move |before| (1..14).map(move |padded| (size, before, padded))));
        axes.map(|(size, before, padded)| {
            let clamped = |i: &usize| (*i as isize - before).clamp(0, size as isize - 1) as usize;
            let sources = |at| (0..padded).filter(|i| clamped(i) == at).collect();
            (Axis { size, padded, before }, (0..size).map(sources).collect())
        })
    }

    #[test]
    fn sources_are_what_is_clamped() {
        for (axis, want) in small() {
            for start in 0..axis.size {
                let [first, last] = axis.sources(start);
                assert_eq!((first..last).collect::<Vec<_>>(), want[start], "{axis:?} {start}");
                for end in start + 1..=axis.size {
                    let [first, last] = axis.sources_of([start, end]);
                    assert_eq!((first..last).collect::<Vec<_>>(), want[start..end].concat(), "{axis:?} {start}..{end}");
                }
            }
            assert_eq!(axis.most_sources(), want.iter().map(Vec::len).max().unwrap(), "{axis:?}");
        }
    }

    #[test]
    fn copied_positions_lie_inside() {
        for (axis, _) in small() {
            for (start, end) in (0..axis.size).flat_map(|start| (start..=axis.size).map(move |end| (start, end))) {
                let [first, last] = axis.copied([start, end]);
                assert!(start <= first && first <= last && last <= end, "{axis:?} {start}..{end}");
                for at in start..end {
                    let inside = (0..axis.padded as isize).contains(&(at as isize + axis.before));
                    assert_eq!((first..last).contains(&at), inside, "{axis:?} {start}..{end}: {at}");
                }
            }
        }
    }
}
