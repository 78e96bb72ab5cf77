//! Cells of a row whose columns are a stride apart: neighbouring windows reach them by the same kernel columns.

use ubtile_tiling::im2col_backward::Geometry;

use super::line::Groups;
use super::reach::Reach;
use super::{MOST, TAPS};
use crate::simd::{Isa, MOST_LANES, Mask, Real, Vector};

/// A kernel column as the cells of a class see it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tap<M> {
    /// Where cell 0 finds its window, counted from the first window of the kernel row's first tap; wraps.
    pub(super) at: usize,
    /// The cells that have one.
    from: usize,
    to: usize,
    /// The lanes that have one, of the first vectors and of the last ones.
    pub(super) masks: [[M; MOST]; 2],
}

impl<M> Tap<M> {
    pub(super) fn reaches(&self, cell: usize) -> bool {
        (self.from..self.to).contains(&cell)
    }
}

/// Cells of a row whose columns are a stride apart.
#[derive(Clone, Copy, Debug)]
pub(super) struct Class<M> {
    taps: [Tap<M>; TAPS],
    count: usize,
    /// Where vectors begin to read and where they end, counted from the first window of a kernel row.
    pub(super) reads: [isize; 2],
}

impl<M: Copy> Class<M> {
    /// A class without taps; a mask of no lanes.
    #[inline(always)]
    pub(super) fn none(no_lanes: M) -> Self {
        let none = Tap { at: 0, from: 0, to: 0, masks: [[no_lanes; MOST]; 2] };
        Self { taps: [none; TAPS], count: 0, reads: [isize::MAX, isize::MIN] }
    }

    /// Finds the taps of the cells `first`, `first` + stride, ... of a row.
    #[inline(always)]
    pub(super) fn find<S: Isa, V: Vector<S>>(
        &mut self,
        isa: S,
        geometry: &Geometry,
        first: usize,
        groups: &Groups,
        woven: [bool; 2],
    ) where
        M: Mask<S, V>,
    {
        // What a vector's lanes are counted with. Not `from_fn`: the compiler may call it, without the vectors of the level.
        let mut numbers = [V::Elem::default(); MOST_LANES];
        for (lane, number) in numbers.iter_mut().enumerate() {
            *number = Real::from_usize(lane);
        }
        // As many for each class, so that the last vectors of all begin at the same cell; one behind the row goes nowhere.
        let cells = geometry.w.div_ceil(geometry.stride[1].get());
        for j in 0..geometry.kernel[1].get() {
            let Some(Reach { window, from, to }) = Reach::new(geometry, 1, first, j) else { continue };
            let at = j.wrapping_mul(geometry.grad_output_strides[1]).wrapping_add(window);
            let Some(tap) = self.taps.get_mut(self.count) else { break };
            (tap.at, tap.from, tap.to) = (at, from, to.min(cells));
            self.count = self.count.wrapping_add(1);
            let end = at.wrapping_add(cells.next_multiple_of(V::LANES));
            self.reads = [self.reads[0].min(at.cast_signed()), self.reads[1].max(end.cast_signed())];
        }
        for (end, (vectors, woven)) in [&groups.first, &groups.last].into_iter().zip(woven).enumerate() {
            for (k, vector) in vectors.clone().enumerate() {
                // Of two woven vectors one has the even cells, the other the odd ones.
                let single = !woven || k % 2 == 0 && k.wrapping_add(1) == vectors.len();
                let (vector, odd, step) = if single { (vector, 0, 1) } else { (vector.wrapping_sub(k % 2), k % 2, 2) };
                let cell = vector.wrapping_mul(V::LANES).wrapping_add(odd);
                // Exact, as there are few enough cells.
                let splat = |number| V::splat(isa, Real::from_usize(number));
                let lanes = splat(cell) + V::load(isa, &numbers) * splat(step);
                for tap in self.taps.iter_mut().take(self.count) {
                    if let Some(mask) = tap.masks.get_mut(end).and_then(|masks| masks.get_mut(k)) {
                        *mask = Mask::of(splat(tap.from).le(lanes).and(lanes.lt(splat(tap.to))));
                    }
                }
            }
        }
    }

    pub(super) fn taps(&self) -> &[Tap<M>] {
        self.taps.get(..self.count).unwrap_or(&[])
    }
}
