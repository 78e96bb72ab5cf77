//! The additions: rows of windows to rows of sums.

use core::num::NonZeroUsize;

use ubtile_tiling::im2col_backward::Geometry;

use super::tile::{Block, Job, Windows};
use crate::element::Element;
use crate::level::Kernel;
use crate::simd::{Isa, Real, Vector, line_of};

/// How far ahead windows are asked for.
const AHEAD_BYTES: usize = 16 << 10;

/// A vector of sums that elements of type `T` are added to.
type Sum<T, S> = <<T as Element>::Acc as Real>::V<S>;

/// Adds all windows of a tile's taps that lie in a block to its sums, taps in order.
pub(super) struct Add<'a, T: Element> {
    pub(super) job: &'a Job<'a>,
    pub(super) block: Block,
    /// `grad_output`, whole or the local input box of the tile.
    pub(super) data: &'a [T],
    /// The sums, from the block's first row on.
    pub(super) sums: &'a mut [T::Acc],
}

impl<T: Element> Kernel for Add<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Isa>(self, isa: S) {
        let Self { job, block, data, sums } = self;
        let Geometry { dilation, padding, stride, columns: [lh, lw], .. } = *job.problem;
        let Windows { start, taps, steps, in_place } = job.windows;
        let [[i0, i1], [j0, j1]] = job.taps;
        for i in i0..i1 {
            let rows = Reached::new(block.rows, padding[0], i.wrapping_mul(dilation[0].get()), stride[0], lh);
            if rows.count == 0 {
                continue;
            }
            // The row of the first window, in the tensor or in the tile's box.
            let in_box = (block.rows[0] - job.rows[0] + rows.cell) / stride[0];
            let row = if in_place { rows.window } else { in_box };
            let at = start.wrapping_add(i.wrapping_mul(taps[0])).wrapping_add(row.wrapping_mul(steps[0]));
            for j in j0..j1 {
                let columns = Reached::new(block.columns, padding[1], j.wrapping_mul(dilation[1].get()), stride[1], lw);
                if columns.count == 0 {
                    continue;
                }
                let (cell, run) = (columns.cell / stride[1], columns.cell % stride[1]);
                let lane = cell % <Sum<T, S>>::LANES;
                let span = Span::new(isa, lane, lane + columns.count);
                let in_box = (block.columns[0] - job.columns[0] + columns.cell) / stride[1];
                // Of the first vector's first lane, which may lie in front of the row.
                let column = if in_place { columns.window } else { in_box }.wrapping_sub(lane);
                let rows = Rows {
                    count: rows.count,
                    from: at.wrapping_add(j.wrapping_mul(taps[1])).wrapping_add(column.wrapping_mul(steps[1])),
                    steps,
                    next_tap: taps[1],
                    to: rows.cell * block.pitches[0] + run * block.pitches[1] + cell - lane,
                    pitch: block.pitches[0].wrapping_mul(stride[0].get()),
                };
                rows.add(isa, data, span, sums);
            }
        }
    }
}

/// The windows whose cell of one tap lies in a range of cells along one axis.
#[derive(Clone, Copy, Debug)]
struct Reached {
    /// The first one.
    window: usize,
    /// Its cell, counted from the first of the range. The next ones are a stride apart.
    cell: usize,
    count: usize,
}

impl Reached {
    /// `offset` is that of the tap in the window, `windows` how many there are.
    #[inline(always)]
    fn new([from, to]: [usize; 2], padding: usize, offset: usize, stride: NonZeroUsize, windows: usize) -> Self {
        // Most strides are 1, and a division is slow.
        let ceil_div = |n: usize| if stride.get() == 1 { n } else { n / stride + usize::from(n % stride != 0) };
        // Cells of the padded image, less the offset.
        let (from, to) = (from.wrapping_add(padding), to.wrapping_add(padding));
        let window = ceil_div(from.saturating_sub(offset));
        let end = ceil_div(to.saturating_sub(offset)).min(windows);
        let cell = window.wrapping_mul(stride.get()).wrapping_add(offset).wrapping_sub(from);
        Self { window, cell, count: end.saturating_sub(window) }
    }
}

/// The vectors of a row of sums that one tap adds to.
#[derive(Clone, Copy, Debug)]
struct Span<V> {
    /// First cell of the row and one past the last, counted from the first lane of the first vector.
    from: usize,
    to: usize,
    /// Lanes of all vectors.
    lanes: usize,
    /// Masks of the lanes inside the first and the last vector, which is masked by the last one where it is both.
    first: V,
    last: V,
}

impl<V> Span<V> {
    #[inline(always)]
    fn new<S: Isa>(isa: S, from: usize, to: usize) -> Self
    where
        V: Vector<S>,
    {
        let lanes = to.next_multiple_of(V::LANES);
        let numbers: [V::Elem; 8] = core::array::from_fn(Real::from_usize);
        let lane = V::load(isa, &numbers);
        let limit = |lane| V::splat(isa, V::Elem::from_usize(lane));
        let (first, mut last) = (limit(from).le(lane), lane.lt(limit(to + V::LANES - lanes)));
        if lanes == V::LANES {
            last = first.and(last);
        }
        Self { from, to, lanes, first, last }
    }
}

/// Rows of windows that one tap adds to rows of sums.
#[derive(Clone, Copy, Debug)]
struct Rows {
    count: usize,
    /// Offset of the element that the first lane of the first vector gets; wraps where that is in front of the data.
    from: usize,
    /// Distances in the data of neighbouring rows and columns, and to the same row of the next tap.
    steps: [usize; 2],
    next_tap: usize,
    /// Where that vector is among the sums, and the distance to the next row's.
    to: usize,
    pitch: usize,
}

impl Rows {
    #[inline(always)]
    fn add<S: Isa, T: Element>(self, isa: S, data: &[T], span: Span<Sum<T, S>>, sums: &mut [T::Acc]) {
        let Self { count, mut from, steps, next_tap, mut to, pitch } = self;
        // Behind the last row come those of the next tap: taps lie far apart, and the processor's own prefetching loses the trail at each.
        let all = count.wrapping_mul(steps[0]);
        // Of halves all rows that have room for their sums take less.
        let ahead = if T::IS_HALF { all } else { all.min(AHEAD_BYTES / size_of::<T>().max(1)) };
        let mut left = all;
        for _ in 0..count {
            let same_tap = from.wrapping_add(ahead);
            let later = if left > ahead { same_tap } else { same_tap.wrapping_sub(all).wrapping_add(next_tap) };
            left = left.wrapping_sub(steps[0]);
            let Some(sums) = sums.get_mut(to..).and_then(|s| s.get_mut(..span.lanes)) else { return };
            // What is read before and behind a row belongs to its neighbours.
            match data.get(from..).and_then(|d| d.get(..span.lanes)) {
                Some(cells) if steps[1] == 1 => {
                    add_row(isa, [cells, data.get(later..).unwrap_or_default()], sums, span);
                }
                _ => add_cells(data, from, steps[1], sums, [span.from, span.to]),
            }
            from = from.wrapping_add(steps[0]);
            to = to.wrapping_add(pitch);
        }
    }
}

/// Adds a row of elements to sums: as many of both as the span's vectors have lanes. With each line of them one of a later row is asked
/// for: all at once, processors would wait for room for so many.
#[inline(always)]
fn add_row<S: Isa, T: Element>(isa: S, [cells, later]: [&[T]; 2], sums: &mut [T::Acc], span: Span<Sum<T, S>>) {
    let lanes = <Sum<T, S>>::LANES;
    let last = cells.len().saturating_sub(lanes);
    let (sums, cells) = (sums.split_at_mut_checked(last), cells.split_at_checked(last));
    let (Some((sums, last_sums)), Some((cells, last_cells))) = (sums, cells) else { return };
    // A zip of both would divide by the lanes, for all the compiler can be sure of by zero.
    let (mut sums, mut cells) = (sums.chunks_exact_mut(lanes), cells.chunks_exact(lanes));
    isa.prefetch(isa.later(), later, 0);
    if let (Some(sums), Some(cells)) = (sums.next(), cells.next()) {
        add_to(isa, sums, T::load(isa, cells).and(span.first));
    }
    let mut at = lanes;
    for sums in sums {
        let Some(cells) = cells.next() else { return };
        if at.is_multiple_of(line_of::<T>()) {
            isa.prefetch(isa.later(), later, at);
        }
        at = at.wrapping_add(lanes);
        add_to(isa, sums, T::load(isa, cells));
    }
    add_to(isa, last_sums, T::load(isa, last_cells).and(span.last));
}

/// A row, element by element: at the ends of the data, and where elements do not lie side by side.
#[inline(always)]
fn add_cells<T: Element>(data: &[T], at: usize, step: usize, sums: &mut [T::Acc], [from, to]: [usize; 2]) {
    for (k, sum) in sums.iter_mut().enumerate().take(to).skip(from) {
        let at = at.wrapping_add(k.wrapping_mul(step));
        *sum = *sum + data.get(at).map_or(T::Acc::default(), |v| v.widen());
    }
}

#[inline(always)]
fn add_to<S: Isa, V: Vector<S>>(isa: S, sums: &mut [V::Elem], v: V) {
    (V::load(isa, sums) + v).store(sums);
}
