//! The kernel columns that reach the cells of a class, and the sums of these over some rows.

use ubtile_tiling::im2col_backward::Geometry;

use super::super::reach::Reach;
use super::super::sums::{weaves, what_is_there};
use super::super::{M, MOST, TAPS, V};
use super::block::{Block, Later, Reaching};
use crate::element::Element;
use crate::simd::{Isa, MOST_LANES, Mask, Real, Vector};

/// A kernel column.
#[derive(Clone, Copy, Debug)]
struct Tap<M> {
    /// Where the first cell of a row finds its window, counted from that of the kernel row; wraps.
    at: usize,
    /// The lanes that have one.
    mask: [M; MOST],
}

/// What depends on columns alone: once for all planes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Columns<S: Isa, T: Element, const CLASSES: usize> {
    /// Of the row, and windows.
    width: usize,
    taps: [Tap<M<S, T>>; TAPS],
    count: usize,
    /// The numbers of the lanes' cells.
    cells: [V<S, T>; MOST],
}

impl<S: Isa, T: Element, const CLASSES: usize> Columns<S, T, CLASSES> {
    const LANES: usize = V::<S, T>::LANES;
    /// Pairs of vectors have even cells and odd ones.
    const WOVEN: bool = weaves::<S, T>(CLASSES, MOST);

    /// A class without taps.
    #[inline(always)]
    pub(super) fn none(isa: S) -> Self {
        let zero = V::<S, T>::splat(isa, Real::from_usize(0));
        let none = Tap { at: 0, mask: [Mask::of(zero); MOST] };
        Self { width: 0, taps: [none; TAPS], count: 0, cells: [zero; MOST] }
    }

    /// Finds the taps of the cells `first`, `first` + stride, ... of rows.
    #[inline(always)]
    pub(super) fn find(&mut self, isa: S, g: &Geometry, first: usize) {
        let splat = |number| V::<S, T>::splat(isa, Real::from_usize(number));
        self.width = g.columns[1];
        // Arrays and functions, no closures: the compiler may call those without the vectors of the level.
        let (mut cells, mut places) =
            ([[T::Acc::default(); 2 * MOST_LANES]; MOST / 2], [[T::Acc::default(); 2 * MOST_LANES]; MOST / 2]);
        let (mut number, mut column) = (0usize, 0usize);
        for (cells, places) in cells.iter_mut().zip(&mut places) {
            for (cell, place) in cells.iter_mut().zip(places).take(2 * Self::LANES) {
                (*cell, *place) = (Real::from_usize(number), Real::from_usize(column));
                number = number.wrapping_add(1);
                column = if column.wrapping_add(1) < self.width { column.wrapping_add(1) } else { 0 };
            }
        }
        let mut columns = [splat(0); MOST];
        for (k, (numbers, places)) in cells.iter().zip(&places).enumerate() {
            let pairs = Self::pair(isa, numbers).into_iter().zip(Self::pair(isa, places));
            for (half, (numbers, places)) in pairs.enumerate() {
                let k = k.wrapping_mul(2).wrapping_add(half);
                if let (Some(cell), Some(column)) = (self.cells.get_mut(k), columns.get_mut(k)) {
                    (*cell, *column) = (numbers, places);
                }
            }
        }
        for j in 0..g.kernel[1].get() {
            let Some(Reach { window, from, to }) = Reach::new(g, 1, first, j) else { continue };
            let Some(tap) = self.taps.get_mut(self.count) else { break };
            tap.at = j.wrapping_mul(g.grad_output_strides[1]).wrapping_add(window);
            for (mask, column) in tap.mask.iter_mut().zip(columns) {
                *mask = Mask::of(splat(from).le(column).and(column.lt(splat(to))));
            }
            self.count = self.count.wrapping_add(1);
        }
    }

    /// Two vectors of numbers, as two vectors of cells hold them.
    #[inline(always)]
    fn pair(isa: S, numbers: &[T::Acc; 2 * MOST_LANES]) -> [V<S, T>; 2] {
        let both = [V::<S, T>::load(isa, numbers), V::<S, T>::load(isa, numbers.get(Self::LANES..).unwrap_or(&[]))];
        if const { Self::WOVEN } { V::<S, T>::deinterleave(isa, both) } else { both }
    }

    /// The sums of `N` vectors of cells of a plane whose windows begin at `start`.
    #[inline(always)]
    pub(super) fn sums<const N: usize>(&self, isa: S, data: &[T], start: usize, block: &Block) -> [V<S, T>; N] {
        let zero = V::<S, T>::splat(isa, T::Acc::default());
        let mut sums = [zero; N];
        let mut later = block.later(self.count);
        for row in block.reaching() {
            let start = start.wrapping_add(row.at);
            if row.reaches_all {
                self.add::<N>(isa, data, start, None, &mut later, &mut sums);
            } else {
                let reached = self.reached::<N>(isa, row);
                self.add::<N>(isa, data, start, Some(&reached), &mut later, &mut sums);
            }
        }
        sums
    }

    /// The lanes of the rows that a kernel row reaches.
    #[inline(always)]
    fn reached<const N: usize>(&self, isa: S, row: &Reaching) -> [M<S, T>; N] {
        let first_of = |row: u16| V::<S, T>::splat(isa, Real::from_usize(self.width.wrapping_mul(usize::from(row))));
        let (from, to) = (first_of(row.from), first_of(row.to));
        let mut reached = [M::<S, T>::of(from); N];
        for (reached, cell) in reached.iter_mut().zip(self.cells) {
            *reached = Mask::of(from.le(cell).and(cell.lt(to)));
        }
        reached
    }

    /// Adds the windows of a kernel row, the first of which is at `start`, where not all lanes are to the `reached` ones.
    #[inline(always)]
    fn add<const N: usize>(
        &self,
        isa: S,
        data: &[T],
        start: usize,
        reached: Option<&[M<S, T>; N]>,
        later: &mut Later,
        sums: &mut [V<S, T>; N],
    ) {
        for tap in self.taps.iter().take(self.count) {
            later.ask(isa, data);
            let (at, count, aside) = (start.wrapping_add(tap.at), Self::LANES.wrapping_mul(N), &mut None);
            let windows = match data.get(at..).and_then(|windows| windows.get(..count)) {
                Some(windows) => windows,
                None => aside.insert(what_is_there(data, at, count)),
            };
            let plus = |sum: V<S, T>, term: V<S, T>, k: usize| match (tap.mask.get(k), reached) {
                (Some(mask), Some(reached)) => {
                    reached.get(k).map_or(*mask, |reached| mask.both(*reached)).add_to(sum, term)
                }
                (Some(mask), None) => mask.add_to(sum, term),
                (None, _) => sum + term,
            };
            if const { Self::WOVEN } {
                let pairs = sums.as_chunks_mut::<2>().0.iter_mut();
                let pairs = pairs.zip(windows.chunks_exact(Self::LANES.wrapping_mul(2)));
                for (([even, odd], windows), k) in pairs.zip((0usize..).step_by(2)) {
                    let [to_even, to_odd] = T::load_woven(isa, windows);
                    (*even, *odd) = (plus(*even, to_even, k), plus(*odd, to_odd, k.wrapping_add(1)));
                }
            } else {
                for (k, (sum, windows)) in sums.iter_mut().zip(windows.chunks_exact(Self::LANES)).enumerate() {
                    *sum = plus(*sum, T::load(isa, windows), k);
                }
            }
        }
    }
}
