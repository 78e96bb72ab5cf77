//! One image of a tensor: planes of positions, addressed by one flat index.

use core::num::NonZeroUsize;
use core::ops::Range;

use crate::element::{Element, make_canonical};
use crate::level::{Kernel, VECTORS};
use crate::part::at_least_1;
use crate::simd::Isa;

/// Channels (or axes) of positions in rows and columns. `D` is a slice of elements, to read or to write.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Planes<D> {
    /// The tensor, or a share of it.
    pub(crate) data: D,
    /// Where the first position of the first channel lies; wraps where it lies before a share.
    pub(crate) base: usize,
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
    #[inline(never)]
    pub(crate) fn new(data: D, base: usize, [height, width]: [usize; 2], strides: [usize; 3]) -> Self {
        let [channel, row, column] = strides;
        let merged = row == width.wrapping_mul(column);
        let columns = if merged { width.saturating_mul(height) } else { width };
        Self { data, base, channel, row, column, columns: at_least_1(columns) }
    }

    /// Where position `at` lies in the first channel.
    #[inline(always)]
    pub(crate) fn offset(&self, at: usize) -> usize {
        let in_row = (at % self.columns).wrapping_mul(self.column);
        self.base.wrapping_add((at / self.columns).wrapping_mul(self.row)).wrapping_add(in_row)
    }

    /// The longest beginning of `positions` whose elements are `column` apart, at most `most` of them: its offset and length.
    #[inline(always)]
    pub(crate) fn run(&self, positions: &Range<usize>, most: usize) -> (usize, usize) {
        let left = self.columns.get().wrapping_sub(positions.start % self.columns);
        (self.offset(positions.start), positions.len().min(most).min(left))
    }
}

impl<D> Planes<D> {
    fn pair_range(&self, at: usize, count: usize) -> Option<Range<usize>> {
        let (offset, run) = self.run(&(at..at.wrapping_add(count)), count);
        let packed = self.column == 2 && self.channel == 1 && run == count;
        packed.then(|| offset..offset.wrapping_add(count.wrapping_mul(2)))
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

impl<T: Copy> Planes<&[T]> {
    /// Positions `at..at + count` of the first two channels where they lie one after the other.
    pub(crate) fn pairs(&self, at: usize, count: usize) -> Option<&[[T; 2]]> {
        let range = self.pair_range(at, count)?;
        self.data.get(range).map(|pairs| pairs.as_chunks::<2>().0)
    }
}

impl<T: Copy> Planes<&mut [T]> {
    /// Positions `at..at + count` of the first two channels where they lie one after the other.
    pub(crate) fn pairs_mut(&mut self, at: usize, count: usize) -> Option<&mut [[T; 2]]> {
        let range = self.pair_range(at, count)?;
        self.data.get_mut(range).map(|pairs| pairs.as_chunks_mut::<2>().0)
    }

    /// Writes a position of the first two channels.
    #[inline(always)]
    pub(crate) fn set_pair(&mut self, at: usize, first: T, second: T) {
        let offset = self.offset(at);
        for (offset, value) in [(offset, first), (offset.wrapping_add(self.channel), second)] {
            if let Some(to) = self.data.get_mut(offset) {
                *to = value;
            }
        }
    }
}

impl<T: Element> Planes<&mut [T]> {
    /// Writes a value to all of `positions` of the first `channels`, or makes every NaN there the canonical one; one by one: short
    /// code for cores without vectors.
    fn one_by_one(&mut self, channels: usize, positions: Range<usize>, value: Option<T>) {
        for at in positions {
            let mut offset = self.offset(at);
            for _ in 0..channels {
                if let Some(to) = self.data.get_mut(offset) {
                    *to = value.unwrap_or(T::narrow(to.widen()));
                }
                offset = offset.wrapping_add(self.channel);
            }
        }
    }

    /// Writes all of `positions` of the first `channels`.
    pub(crate) fn fill(&mut self, channels: usize, positions: Range<usize>, value: T) {
        if !VECTORS {
            return self.one_by_one(channels, positions, Some(value));
        }
        self.for_each_run(
            channels,
            positions,
            #[inline(always)]
            |run, step| match step {
                1 => run.fill(value),
                _ => run.iter_mut().step_by(step).for_each(|to| *to = value),
            },
        );
    }

    /// Calls `each` with runs of elements, the first of every so many of which is one of `positions` of the first `channels`.
    #[inline(always)]
    fn for_each_run(&mut self, channels: usize, positions: Range<usize>, mut each: impl FnMut(&mut [T], usize)) {
        // Channels side by side, without gaps, are one row of so many times the values.
        let packed = channels > 1 && self.channel == 1 && self.column == channels;
        let (rows, values, step) = if packed { (1, channels, 1) } else { (channels, 1, self.column.max(1)) };
        for c in 0..rows {
            let mut rest = positions.clone();
            while !rest.is_empty() {
                let (offset, count) = self.run(&rest, usize::MAX);
                rest.start = rest.start.wrapping_add(count.max(1));
                let from = offset.wrapping_add(c.wrapping_mul(self.channel));
                let last = count.wrapping_mul(values).saturating_sub(1).wrapping_mul(step);
                if let Some(run) = self.data.get_mut(from..from.wrapping_add(last).wrapping_add(1)) {
                    each(run, step);
                }
            }
        }
    }

    /// Rounds and writes sums to the positions of a channel from `at` on.
    pub(crate) fn set_row(&mut self, channel: usize, at: usize, sums: &[T::Acc]) {
        let first = channel.wrapping_mul(self.channel);
        for (k, &sum) in sums.iter().enumerate() {
            let offset = first.wrapping_add(self.offset(at.wrapping_add(k)));
            if let Some(to) = self.data.get_mut(offset) {
                *to = T::narrow(sum);
            }
        }
    }
}

/// Planes without gaps between rows and columns. `D` is a slice of numbers, to read or to write.
#[derive(Debug)]
pub(crate) struct Packed<D> {
    /// From the first plane on.
    pub(crate) data: D,
    /// From one plane to the next.
    pub(crate) channel: usize,
}

impl<'a, A> Packed<&'a mut [A]> {
    /// So many planes, each of so many pixels.
    pub(super) fn split<const N: usize>(self, count: usize, pixels: usize) -> [&'a mut [A]; N] {
        let mut rest = self.data;
        let mut planes = [(); N].map(|()| &mut [][..]);
        for plane in planes.iter_mut().take(count) {
            let all = core::mem::take(&mut rest);
            let (first, behind) = all.split_at_mut_checked(self.channel.min(all.len())).unwrap_or_default();
            (*plane, rest) = (first.get_mut(..pixels).unwrap_or_default(), behind);
        }
        planes
    }
}

/// Makes every NaN of `positions` of the first `channels` the canonical one.
#[derive(Debug)]
pub(crate) struct Canonical<'a, T> {
    pub(crate) planes: Planes<&'a mut [T]>,
    pub(crate) channels: usize,
    pub(crate) positions: Range<usize>,
}

impl<T: Element> Kernel for Canonical<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Isa>(self, isa: S) {
        let Self { mut planes, channels, positions } = self;
        if !VECTORS {
            return planes.one_by_one(channels, positions, None);
        }
        planes.for_each_run(
            channels,
            positions,
            #[inline(always)]
            |run, step| match step {
                1 => make_canonical(isa, run),
                _ => run.iter_mut().step_by(step).for_each(|value| *value = T::narrow(value.widen())),
            },
        );
    }
}
