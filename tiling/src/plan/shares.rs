//! What every plan needs to cut work: how much fits, and which elements a run of the work owns.

use core::num::NonZeroUsize;
use core::ops::Range;

use super::split;

/// The largest `n` of `1..=most` for which `bytes(n)` stays within `budget`; `None` when not even 1 does. `bytes` must never
/// fall, and is `None` where it overflows.
pub(crate) fn largest(most: usize, budget: usize, mut bytes: impl FnMut(usize) -> Option<usize>) -> Option<usize> {
    let mut fits = |n: usize| bytes(n).is_some_and(|b| b <= budget);
    if most == 0 || !fits(1) {
        return None;
    }
    let (mut fitting, mut beyond) = (1, most.saturating_add(1));
    while beyond - fitting > 1 {
        let middle = fitting + (beyond - fitting) / 2;
        if fits(middle) { fitting = middle } else { beyond = middle }
    }
    Some(fitting)
}

/// Bytes of a local buffer of `elements`, each of `size` bytes, in whole blocks of the target.
pub(crate) fn buffer_bytes(elements: usize, size: usize, block_bytes: usize) -> Option<usize> {
    elements.checked_mul(size)?.checked_next_multiple_of(block_bytes.max(1))
}

/// Length of a range that is given by its first and one past its last.
pub(crate) const fn length([start, end]: [usize; 2]) -> usize {
    end.saturating_sub(start)
}

/// For divisors: 1 in place of 0.
pub(crate) fn at_least_1(n: usize) -> NonZeroUsize {
    NonZeroUsize::new(n).unwrap_or(NonZeroUsize::MIN)
}

/// The quotient, rounded up.
pub(crate) fn ceil_div(n: usize, by: NonZeroUsize) -> usize {
    n / by + usize::from(n % by != 0)
}

/// Runs of at most `step` units, of which none goes over the end of a plane of so many.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunsOfPlanes {
    pub(crate) plane: NonZeroUsize,
    pub(crate) step: NonZeroUsize,
}

impl RunsOfPlanes {
    /// Where the run begins that is so many behind the one that begins at `at`; at the last address if that is beyond.
    pub(crate) fn begin(&self, at: usize, runs: usize) -> usize {
        let Self { plane, step } = *self;
        let left = plane.get().saturating_sub(at % plane);
        let Some(behind) = runs.checked_sub(ceil_div(left, step)) else {
            return at.saturating_add(runs.saturating_mul(step.get()));
        };
        let of_plane = at_least_1(ceil_div(plane.get(), step));
        let planes = (behind / of_plane).saturating_mul(plane.get());
        let rest = (behind % of_plane).saturating_mul(step.get());
        at.saturating_add(left).saturating_add(planes).saturating_add(rest)
    }
}

/// The largest number that divides both; `b` if `a` is 0.
fn common_divisor(a: usize, b: NonZeroUsize) -> NonZeroUsize {
    let (mut divisor, mut rest) = (b, a);
    while let Some(next) = NonZeroUsize::new(rest) {
        (rest, divisor) = (divisor.get() % next, next);
    }
    divisor
}

/// An output seen as *units*, the indices of its first `dims` dimensions in order: images (1), planes (2) or rows (3).
///
/// Runs of whole *grains* reach disjoint intervals of elements, in the order of the units, so that `split_at_mut` can hand
/// them to shares. A contiguous output has a grain of 1; where the strides are those of another order (NHWC, transposed),
/// a grain is as many units as are interleaved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Units {
    shape: [usize; 4],
    strides: [usize; 4],
    dims: usize,
    /// Dimensions in front of which a grain's index stands.
    outer: usize,
    /// Grains that only one share can own.
    together: NonZeroUsize,
}

impl Units {
    pub(crate) fn new(shape: [usize; 4], strides: [usize; 4], dims: usize) -> Self {
        let mut units = Self { shape, strides, dims: dims.min(4), outer: 0, together: NonZeroUsize::MIN };
        let nests = |d: &usize| {
            let stride = strides.get(*d).copied().unwrap_or(0);
            shape.get(*d).is_none_or(|&size| size <= 1) || stride > units.reach(*d + 1)
        };
        units.outer = (0..units.dims).take_while(nests).count();
        units
    }

    /// The same, cut only where blocks of so many elements begin.
    pub(crate) fn in_blocks(mut self, block: NonZeroUsize) -> Self {
        if block.get() > 1 {
            let contiguous = (1..4).all(|d| {
                let [size, stride, outer] =
                    [self.shape.get(d), self.strides.get(d), self.strides.get(d - 1)].map(|n| n.copied().unwrap_or(1));
                size.checked_mul(stride) == Some(outer)
            }) && self.strides.last() == Some(&1);
            // Of a tensor with gaps nobody knows where blocks begin.
            self.together = if contiguous {
                let grain =
                    self.shape.iter().skip(self.dims).fold(self.grain().get(), |n, &size| n.saturating_mul(size));
                at_least_1(block.get() / common_divisor(grain, block))
            } else {
                NonZeroUsize::MAX
            };
        }
        self
    }

    /// Whether shares may be cut between any two units.
    pub(crate) fn cuts_anywhere(&self) -> bool {
        self.grain().get() == 1 && self.together.get() == 1
    }

    /// How many units there are.
    pub(crate) fn count(&self) -> usize {
        self.shape.iter().take(self.dims).fold(1, |n, &size| n.saturating_mul(size))
    }

    /// Units that only one share can own.
    pub(crate) fn grain(&self) -> NonZeroUsize {
        let inner = self.shape.iter().take(self.dims).skip(self.outer);
        at_least_1(inner.fold(1, |n, &size| n.saturating_mul(size)))
    }

    /// Units that only one share can own, whole blocks included.
    pub(crate) fn run(&self) -> usize {
        self.grain().get().saturating_mul(self.together.get())
    }

    /// How many shares `cores` cores make of it: at least 1, at most one per grain.
    pub(crate) fn shares(&self, cores: usize) -> NonZeroUsize {
        at_least_1(cores.min(ceil_div(self.count() / self.grain(), self.together)))
    }

    /// The units of share `i` of `shares`, whole grains.
    pub(crate) fn share(&self, shares: NonZeroUsize, i: usize) -> Range<usize> {
        self.share_from(0, shares, i)
    }

    /// The same of the units from `first` on, where they may be cut.
    pub(crate) fn share_from(&self, first: usize, shares: NonZeroUsize, i: usize) -> Range<usize> {
        let (grain, count) = (self.grain(), self.count().saturating_sub(first));
        let runs = split(ceil_div(count / grain, self.together), shares, i);
        let unit = |run: usize| {
            first.saturating_add(run.saturating_mul(self.together.get()).saturating_mul(grain.get()).min(count))
        };
        unit(runs.start)..unit(runs.end)
    }

    /// The elements that a run of whole grains reaches, from the first to one past the last.
    pub(crate) fn elements(&self, units: &Range<usize>) -> Range<usize> {
        let start = self.offset(units.start);
        if units.is_empty() || self.shape.contains(&0) {
            return start..start;
        }
        let last_grain = units.end.saturating_sub(self.grain().get());
        start..self.offset(last_grain).saturating_add(self.reach(self.outer)).saturating_add(1)
    }

    /// The index of unit `unit`, with zeros for the dimensions inside it.
    pub(crate) fn index(&self, unit: usize) -> [usize; 4] {
        let (mut index, mut rest) = ([0; 4], unit);
        for (i, &size) in index.iter_mut().zip(&self.shape).take(self.dims).rev() {
            let size = at_least_1(size);
            (*i, rest) = (rest % size, rest / size);
        }
        index
    }

    /// Where a unit starts.
    fn offset(&self, unit: usize) -> usize {
        let pairs = self.index(unit).into_iter().zip(self.strides);
        pairs.fold(0, |n, (i, stride)| n.saturating_add(i.saturating_mul(stride)))
    }

    /// The largest offset that the dimensions from `dim` on reach together.
    fn reach(&self, dim: usize) -> usize {
        let pairs = self.shape.iter().zip(&self.strides).skip(dim);
        pairs.fold(0, |n, (&size, &stride)| n.saturating_add(size.saturating_sub(1).saturating_mul(stride)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn largest_is_the_last_that_fits() {
        for most in 0..20 {
            for budget in 0..40 {
                let got = largest(most, budget, |n| Some(2 * n + 3));
                assert_eq!(got, (1..=most).rev().find(|n| 2 * n + 3 <= budget), "{most} {budget}");
            }
        }
        assert_eq!(largest(usize::MAX, usize::MAX, |n| n.checked_mul(8)), Some(usize::MAX / 8));
        assert_eq!(buffer_bytes(5, 2, 32), Some(32));
        assert_eq!(buffer_bytes(usize::MAX / 2, 4, 32), None);
    }

    #[test]
    fn runs_begin_where_those_before_them_end() {
        for (plane, step) in (1..9).flat_map(|plane| (1..11).map(move |step| (plane, step))) {
            let runs = RunsOfPlanes { plane: at_least_1(plane), step: at_least_1(step) };
            for start in 0..2 * plane {
                let mut at = start;
                for count in 0..20 {
                    assert_eq!(runs.begin(start, count), at, "{plane} {step}: {count} from {start}");
                    at += step.min(plane - at % plane);
                }
            }
            assert!(runs.begin(1, usize::MAX - 1) >= usize::MAX / plane, "{plane} {step}");
        }
        let one = RunsOfPlanes { plane: at_least_1(usize::MAX), step: at_least_1(2) };
        assert_eq!((one.begin(3, usize::MAX), one.begin(0, 0)), (usize::MAX, 0));
    }

    #[test]
    fn grains_reach_disjoint_intervals() {
        let shape = [2, 3, 4, 5];
        // Contiguous, padded rows, NHWC, transposed planes, N innermost; with the grain in rows.
        let layouts = [
            ([60, 20, 5, 1], 1),
            ([200, 50, 8, 1], 1),
            ([60, 1, 15, 3], 12),
            ([60, 20, 1, 4], 4),
            ([1, 40, 10, 2], 24),
        ];
        for (strides, grain) in layouts {
            let units = Units::new(shape, strides, 3);
            assert_eq!((units.count(), units.grain().get()), (24, grain), "{strides:?}");
            for cores in 1..30 {
                let shares = units.shares(cores);
                let (mut unit, mut element) = (0, 0);
                for i in 0..shares.get() {
                    let run = units.share(shares, i);
                    assert!(run.start == unit && run.end > unit, "{strides:?} {cores}: {run:?}");
                    let reached = units.elements(&run);
                    assert!(reached.start >= element, "{strides:?} {cores}: {reached:?} after {element}");
                    for u in run.clone() {
                        let [n, c, h, _] = units.index(u);
                        for w in 0..5 {
                            let at = n * strides[0] + c * strides[1] + h * strides[2] + w * strides[3];
                            assert!(reached.contains(&at), "{strides:?} {cores}: {at} of {reached:?}");
                        }
                    }
                    (unit, element) = (run.end, reached.end);
                }
                assert_eq!(unit, 24);
            }
        }
    }

    /// A contiguous tensor is cut wherever a block begins between two units, and nowhere else; one with gaps in grains, or where
    /// blocks count not at all.
    #[test]
    fn cuts_are_where_blocks_begin() {
        for (shape, block) in [[5, 2, 3, 2], [7, 1, 1, 1], [2, 3, 4, 5], [4, 4, 4, 4], [9, 1, 2, 3]]
            .into_iter()
            .flat_map(|shape| [1, 2, 3, 4, 6, 8, 16, 64].map(|block| (shape, block)))
        {
            let [_, c, h, w] = shape;
            for dims in 1..=4 {
                let inner: usize = shape.iter().skip(dims).product();
                let contiguous = Units::new(shape, [c * h * w, h * w, w, 1], dims).in_blocks(at_least_1(block));
                let cuts = (1..contiguous.count()).filter(|unit| (unit * inner).is_multiple_of(block)).count();
                assert_eq!(contiguous.shares(usize::MAX).get(), 1 + cuts, "{shape:?} {dims} {block}");
                assert_eq!(contiguous.cuts_anywhere(), cuts + 1 == contiguous.count(), "{shape:?} {dims} {block}");
                let first = contiguous.share(contiguous.shares(usize::MAX), 0);
                assert_eq!(first.len(), contiguous.run().min(contiguous.count()), "{shape:?} {dims} {block}");
                // A gap behind each row.
                let pitched = Units::new(shape, [c * h * (w + 1), h * (w + 1), w + 1, 1], dims);
                let runs = if block == 1 { pitched.count() / pitched.grain() } else { 1 };
                assert_eq!(pitched.in_blocks(at_least_1(block)).shares(usize::MAX).get(), runs, "{shape:?} {dims}");
            }
        }
    }

    #[test]
    fn nothing_has_no_units_and_one_empty_share() {
        let units = Units::new([0, 3, 4, 5], [60, 20, 5, 1], 3);
        let shares = units.shares(8);
        assert_eq!((units.count(), shares.get(), units.share(shares, 0)), (0, 1, 0..0));
        assert_eq!(units.elements(&(0..0)), 0..0);
        let without_columns = Units::new([2, 3, 4, 0], [1, 1, 1, 1], 3);
        assert_eq!((without_columns.count(), without_columns.elements(&(0..24))), (24, 0..0));
    }
}
