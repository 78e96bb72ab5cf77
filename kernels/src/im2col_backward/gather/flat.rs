//! Narrow images with as many windows as cells in a row, which a stride of 1 and half the kernel as padding give: rows laid flat.
//!
//! There the windows of a tap that reach some rows of cells lie side by side as the cells do, so some rows are summed as one: a
//! row by itself would fill a vector or two, and what each tap begins with would take longer than its terms. The windows beside a
//! cell at the end of a row are those of the next row; they are masked to +0.0, which changes no sum, and so are rows that a
//! kernel row does not reach.

use core::ops::Range;

use ubtile_tiling::im2col_backward::Geometry;

use super::above::Ahead;
use super::line::write_what_fits;
use super::sums::weaves;
use super::{MOST, TAPS, V, plane_at};
use crate::element::Element;
use crate::level::Kernel;
use crate::simd::{Isa, MOST_LANES, Real, Vector, prefetch_run};

/// Rows of cells to sum, of all planes in their order.
pub(super) struct Flat<'a, T> {
    pub(super) geometry: &'a Geometry,
    pub(super) rows: Range<usize>,
    /// `grad_output`.
    pub(super) data: &'a [T],
    /// `out`, from this element on.
    pub(super) first: usize,
    pub(super) out: &'a mut [T],
    pub(super) ahead: Ahead,
}

/// Whether at least two rows fit the vectors that are summed side by side.
pub(super) fn fits(geometry: &Geometry, lanes: usize) -> bool {
    let [_, _, pitch, _] = geometry.out_strides;
    let steps_of_one = geometry.stride.iter().all(|stride| stride.get() == 1);
    steps_of_one && geometry.columns[1] == geometry.w && pitch == geometry.w && 2 * geometry.w <= MOST * lanes
}

/// A kernel column.
#[derive(Clone, Copy, Debug)]
struct Tap<V> {
    /// Where the first cell of a row finds its window, counted from that of the kernel row; wraps.
    at: usize,
    /// The lanes that have one.
    mask: [V; MOST],
}

/// A kernel row.
#[derive(Clone, Copy, Debug, Default)]
struct KernelRow {
    /// Where the first cell of a row finds the window of a tap that lies on its own column, counted from that cell; wraps.
    at: usize,
    /// The rows that have one.
    from: usize,
    to: usize,
}

impl KernelRow {
    fn new(g: &Geometry, i: usize) -> Self {
        // Row y finds window y + padding - offset.
        let (offset, taps) = (i.wrapping_mul(g.dilation[0].get()), i.wrapping_mul(g.kernel[1].get()));
        let before = g.padding[0].wrapping_sub(offset).wrapping_mul(g.w);
        Self {
            at: taps.wrapping_mul(g.grad_output_strides[1]).wrapping_add(before),
            from: offset.saturating_sub(g.padding[0]),
            to: offset.wrapping_add(g.columns[0]).saturating_sub(g.padding[0]),
        }
    }
}

/// Some rows of a plane, and the kernel rows that reach them.
#[derive(Clone, Copy, Debug, Default)]
struct Block {
    /// As they are, but for their places, which are in the data, and their rows, which are counted from the first of the block.
    reaching: [KernelRow; TAPS],
    count: usize,
    /// Whether one of these does not reach all rows.
    mixed: bool,
    /// The first and the last place among them.
    ends: [usize; 2],
    /// Windows of the next plane that are asked for meanwhile: the first one, and how many with each kernel row.
    later: [usize; 2],
}

impl Block {
    /// Finds the kernel rows that reach the rows `y`, whose first cell would be at `start` of a plane of windows.
    #[inline(always)]
    fn find(&mut self, kernel_rows: &[KernelRow], start: usize, y: Range<usize>) {
        (self.count, self.mixed, self.ends) = (0, false, [usize::MAX, 0]);
        for row in kernel_rows {
            let (from, to) = (row.from.max(y.start), row.to.min(y.end));
            let Some(reaching) = self.reaching.get_mut(self.count).filter(|_| from < to) else { continue };
            let at = start.wrapping_add(row.at);
            *reaching = KernelRow { at, from: from.wrapping_sub(y.start), to: to.wrapping_sub(y.start) };
            self.mixed |= to.wrapping_sub(from) < y.len();
            self.ends = [self.ends[0].min(at), self.ends[1].max(at)];
            self.count = self.count.wrapping_add(1);
        }
    }

    fn reaching(&self) -> &[KernelRow] {
        self.reaching.get(..self.count).unwrap_or(&[])
    }
}

impl<T: Element> Kernel for Flat<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Isa>(self, isa: S) {
        let Self { geometry: g, rows, data, first, out, ahead } = self;
        let lanes = V::<S, T>::LANES;
        let columns = Columns::<S, T>::new(isa, g);
        let together = (MOST * lanes).checked_div(g.w).unwrap_or(1).max(1);
        // The last vectors may go beyond the last row where the next plane lies behind it, which is written later.
        let [on, oc, oh, _] = g.out_strides;
        let dense = oc == g.h.wrapping_mul(oh) && on == g.c.wrapping_mul(oc);
        let (mut kernel_rows, mut block) = ([KernelRow::default(); TAPS], Block::default());
        for (i, row) in kernel_rows.iter_mut().enumerate().take(g.kernel[0].get()) {
            *row = KernelRow::new(g, i);
        }
        let kernel_rows = kernel_rows.get(..g.kernel[0].get()).unwrap_or(&[]);
        let mut row = rows.start;
        while row < rows.end {
            let plane = row.checked_div(g.h).unwrap_or(0);
            let [start, to] = plane_at(g, plane);
            let mut y = row.wrapping_sub(plane.wrapping_mul(g.h));
            let end = g.h.min(y.wrapping_add(rows.end.wrapping_sub(row)));
            row = row.wrapping_add(end.wrapping_sub(y));
            while y < end {
                let next = end.min(y.wrapping_add(together));
                let count = next.wrapping_sub(y);
                block.find(kernel_rows, start.wrapping_add(y.wrapping_mul(g.w)), y..next);
                if let Ahead::Plane { distance, part } = ahead {
                    let at = start.wrapping_add(distance).wrapping_add(y.wrapping_mul(part));
                    block.later = [at, count.wrapping_mul(part).checked_div(block.count).unwrap_or(0)];
                }
                let left = if dense { rows.end.wrapping_sub(row).wrapping_add(end.wrapping_sub(y)) } else { count };
                let cells = out.get_mut(to.wrapping_sub(first).wrapping_add(y.wrapping_mul(oh))..).unwrap_or_default();
                let cells = cells.get_mut(..left.wrapping_mul(g.w)).unwrap_or_default();
                columns.sum(isa, data, &block, count.wrapping_mul(g.w), cells);
                y = next;
            }
        }
    }
}

/// What depends on columns alone: once for all planes.
struct Columns<S: Isa, T: Element> {
    width: usize,
    taps: [Tap<V<S, T>>; TAPS],
    count: usize,
    /// The numbers of the lanes' cells.
    cells: [V<S, T>; MOST],
    /// Where vectors begin to read and where cell 0 does last, counted from the window of a kernel row.
    reads: [isize; 2],
}

impl<S: Isa, T: Element> Columns<S, T> {
    const LANES: usize = V::<S, T>::LANES;
    /// Pairs of vectors have even cells and odd ones.
    const WOVEN: bool = weaves::<S, T>(1, MOST);

    #[inline(always)]
    fn new(isa: S, g: &Geometry) -> Self {
        let splat = |number| V::<S, T>::splat(isa, Real::from_usize(number));
        let none = Tap { at: 0, mask: [splat(0); MOST] };
        let mut columns =
            Self { width: g.w, taps: [none; TAPS], count: 0, cells: [splat(0); MOST], reads: [isize::MAX, isize::MIN] };
        for (j, tap) in columns.taps.iter_mut().enumerate().take(g.kernel[1].get()) {
            // Column x finds window x + padding - offset.
            let offset = j.wrapping_mul(g.dilation[1].get());
            let before = g.padding[1].wrapping_sub(offset);
            tap.at = j.wrapping_mul(g.grad_output_strides[1]).wrapping_add(before);
            let at = tap.at.cast_signed();
            columns.reads = [columns.reads[0].min(at), columns.reads[1].max(at)];
            columns.count = columns.count.wrapping_add(1);
        }
        // Arrays and functions, no closures: the compiler may call those without the vectors of the level.
        let (mut cells, mut places) =
            ([[T::Acc::default(); 2 * MOST_LANES]; MOST / 2], [[T::Acc::default(); 2 * MOST_LANES]; MOST / 2]);
        let (mut number, mut column) = (0usize, 0usize);
        for (cells, places) in cells.iter_mut().zip(&mut places) {
            for (cell, place) in cells.iter_mut().zip(places).take(2 * Self::LANES) {
                (*cell, *place) = (Real::from_usize(number), Real::from_usize(column));
                number = number.wrapping_add(1);
                column = if column.wrapping_add(1) < g.w { column.wrapping_add(1) } else { 0 };
            }
        }
        for (k, (numbers, places)) in cells.iter().zip(&places).enumerate() {
            let pairs = Self::pair(isa, numbers).into_iter().zip(Self::pair(isa, places));
            for (half, (numbers, places)) in pairs.enumerate() {
                let k = k.wrapping_mul(2).wrapping_add(half);
                if let Some(cell) = columns.cells.get_mut(k) {
                    *cell = numbers;
                }
                for (j, tap) in columns.taps.iter_mut().enumerate().take(columns.count) {
                    let offset = j.wrapping_mul(g.dilation[1].get());
                    let from = offset.saturating_sub(g.padding[1]);
                    let to = offset.wrapping_add(g.columns[1]).saturating_sub(g.padding[1]);
                    if let Some(mask) = tap.mask.get_mut(k) {
                        *mask = splat(from).le(places).and(places.lt(splat(to)));
                    }
                }
            }
        }
        columns
    }

    /// Two vectors of numbers, as two vectors of cells hold them.
    #[inline(always)]
    fn pair(isa: S, numbers: &[T::Acc; 2 * MOST_LANES]) -> [V<S, T>; 2] {
        let both = [V::<S, T>::load(isa, numbers), V::<S, T>::load(isa, numbers.get(Self::LANES..).unwrap_or(&[]))];
        if const { Self::WOVEN } { V::<S, T>::deinterleave(isa, both) } else { both }
    }

    /// Writes the sums of a block's cells, and behind them up to some vectors of anything, as far as `out` goes.
    #[inline(always)]
    fn sum(&self, isa: S, data: &[T], block: &Block, cells: usize, out: &mut [T]) {
        match (cells.div_ceil(Self::LANES), block.mixed) {
            _ if !self.reads_within(block, data.len()) => self.some::<MOST, true, true>(isa, data, block, out),
            (0..=2, _) => self.some::<2, true, false>(isa, data, block, out),
            (3..=4, _) => self.some::<4, true, false>(isa, data, block, out),
            (5..=7, true) if const { !Self::WOVEN } => self.some::<7, true, false>(isa, data, block, out),
            (5..=7, false) if const { !Self::WOVEN } => self.some::<7, false, false>(isa, data, block, out),
            (_, true) => self.some::<MOST, true, false>(isa, data, block, out),
            (_, false) => self.some::<MOST, false, false>(isa, data, block, out),
        }
    }

    /// Whether all that as many vectors as there are at most read is in data of a length.
    #[inline(always)]
    fn reads_within(&self, block: &Block, length: usize) -> bool {
        let ([first, last], [from, to]) = (block.ends, self.reads);
        // A place in front of the data is a huge number.
        let end = last.checked_add_signed(to).and_then(|at| at.checked_add(MOST * Self::LANES));
        first.checked_add_signed(from).is_some() && end.is_some_and(|end| end <= length)
    }

    #[inline(always)]
    fn some<const N: usize, const MIXED: bool, const BEYOND: bool>(
        &self,
        isa: S,
        data: &[T],
        block: &Block,
        out: &mut [T],
    ) {
        write_what_fits(isa, &[self.sums::<N, MIXED, BEYOND>(isa, data, block)], out);
    }

    /// The sums of `N` vectors of cells, which not all of the kernel rows reach where these are `MIXED`. Some of what vectors would
    /// read may lie `BEYOND` the data.
    #[inline(always)]
    fn sums<const N: usize, const MIXED: bool, const BEYOND: bool>(
        &self,
        isa: S,
        data: &[T],
        block: &Block,
    ) -> [V<S, T>; N] {
        let zero = V::<S, T>::splat(isa, T::Acc::default());
        let mut sums = [zero; N];
        let [mut later, each] = block.later;
        for row in block.reaching() {
            // Not all at once, which would leave memory idle afterwards.
            prefetch_run(isa, isa.level2(), data, later, each);
            later = later.wrapping_add(each);
            let mut reached = [zero; N];
            if MIXED {
                let first_of = |row: usize| V::<S, T>::splat(isa, Real::from_usize(row.wrapping_mul(self.width)));
                let (from, to) = (first_of(row.from), first_of(row.to));
                for (reached, cell) in reached.iter_mut().zip(self.cells) {
                    *reached = from.le(cell).and(cell.lt(to));
                }
            }
            for tap in self.taps.iter().take(self.count) {
                let (mut at, mut data, mut aside) =
                    (row.at.wrapping_add(tap.at), data, [T::zeroed(); MOST_LANES * MOST]);
                if BEYOND {
                    copy_what_is_there(data, at, &mut aside);
                    (at, data) = (0, &aside);
                }
                // All of them are there. Two ways out, as the compiler makes more of two checks with one.
                let Some(windows) = data.get(at..) else { break };
                let Some(windows) = windows.get(..Self::LANES.wrapping_mul(N)) else { continue };
                let masked = |term: V<S, T>, k: usize| {
                    let term = tap.mask.get(k).map_or(term, |mask| term.and(*mask));
                    if MIXED { reached.get(k).map_or(term, |mask| term.and(*mask)) } else { term }
                };
                if const { weaves::<S, T>(1, N) } {
                    let pairs = sums.as_chunks_mut::<2>().0.iter_mut();
                    let pairs = pairs.zip(windows.chunks_exact(Self::LANES.wrapping_mul(2)));
                    for (([even, odd], windows), k) in pairs.zip((0usize..).step_by(2)) {
                        let [to_even, to_odd] = T::load_woven(isa, windows);
                        (*even, *odd) = (*even + masked(to_even, k), *odd + masked(to_odd, k.wrapping_add(1)));
                    }
                } else {
                    for (k, (sum, windows)) in sums.iter_mut().zip(windows.chunks_exact(Self::LANES)).enumerate() {
                        *sum = *sum + masked(T::load(isa, windows), k);
                    }
                }
            }
        }
        sums
    }
}

/// Copies the elements from `data[at]` on; those in front of the data, where `at` has wrapped, and behind it stay as they are.
#[cold]
#[inline(never)]
fn copy_what_is_there<T: Copy>(data: &[T], at: usize, to: &mut [T]) {
    let (in_front, at) = if at > isize::MAX as usize { (at.wrapping_neg(), 0) } else { (0, at) };
    let (to, from) = (to.get_mut(in_front..).unwrap_or_default(), data.get(at..).unwrap_or(&[]));
    for (to, from) in to.iter_mut().zip(from) {
        *to = *from;
    }
}
