//! The usual case: tensors without gaps, bits copied as they are, any number of planes in one call.
//!
//! What bounds it is four operations an element (load the index, compare it, load the cell, store it), so nothing else is in the
//! loop: it ends where an index is outside of its plane, and another one that is compiled apart takes over. Planes
//! follow each other without a call or a division, as many have but 49 elements. A tensor that no cache holds is asked for
//! ahead of its use, because its lines are met in no order that a processor would foresee.

use bytemuck::Pod;

use super::gather::{Copies, Index};
use crate::part::at_least_1;
use crate::simd::baseline::Baseline;
use crate::simd::{CACHED, Cache, line_of, prefetch_run};

/// Elements between two rounds of asking, or a plane: many enough that a round costs little beside them.
const ROUND: usize = 96;
/// How many rows of a plane to ask ahead.
const ROWS_AHEAD: usize = 2;
/// Bytes beyond which lines are asked for even if there are more than elements, by some processors. What a large cache has a part of is
/// had sooner without asking for so many.
const FAR: usize = 4 * CACHED;
/// Of planes of so many bytes processors foresee less, so that to ask for few lines pays a little earlier.
const LARGE_PLANE: usize = 128 << 10;
/// Small planes are lines enough to keep a processor busy, so that more pay off late: of cells of eight bytes the first, on processors that
/// are not asked for most; of any cells the second.
const SMALL_PLANE: usize = 64 << 10;
const SMALLER_PLANE: usize = 32 << 10;
/// How many indices to ask ahead.
const INDICES_AHEAD: usize = 2 * ROUND;

/// Tensors without gaps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Contiguous {
    /// Elements of a plane of indices, and of a row of it.
    pub(super) elements: usize,
    pub(super) row: usize,
    /// Cells of a plane of `grad_output`.
    pub(super) cells: usize,
    /// First element, counted over all planes.
    pub(super) first: usize,
    /// Whether lines that may not be read are worth asking for, on this processor.
    pub(super) asks_most: bool,
}

impl Copies for Contiguous {
    /// Gathers as many elements as `out` has.
    fn gather<W: Pod, I: Index>(&self, data: &[W], indices: &[I], out: &mut [W]) -> Option<usize> {
        let Self { elements, cells, first, .. } = *self;
        let plane = first / at_least_1(elements);
        // What is asked for counts from here, too.
        let own = data.get(plane.wrapping_mul(cells)..).unwrap_or(&[]);
        let all = indices.get(first..).unwrap_or(&[]);
        let (mut plane, mut others) = own.split_at_checked(cells).unwrap_or_default();
        let (mut indices, mut out) = (all, out);
        // Up to the end of the first plane, which a share may begin in the middle of.
        let mut left = elements.wrapping_sub(first % at_least_1(elements));
        let mut ahead = Ahead::new(self, own, elements.wrapping_sub(left));
        let round = if ahead.count > 0 { ROUND } else { usize::MAX };
        let mut bad = None;
        while !out.is_empty() {
            let count = left.min(round).min(out.len());
            let (to, rest) = out.split_at_mut_checked(count).unwrap_or_default();
            let (from, behind) = indices.split_at_checked(count).unwrap_or_default();
            if let Some(at) = pick(plane, from, to) {
                let before = first.wrapping_add(all.len().wrapping_sub(indices.len()));
                bad = bad.or(Some(before.wrapping_add(at)));
            }
            ahead.ask(own);
            if ahead.asks_for_indices {
                prefetch_run(Baseline, Cache::Level1, indices, INDICES_AHEAD, count);
            }
            (out, indices, left) = (rest, behind, left.wrapping_sub(count));
            if left == 0 {
                (plane, others) = others.split_at_checked(cells).unwrap_or_default();
                left = elements;
            }
        }
        bad
    }
}

/// Picks elements of a plane, zeros where an index is outside of it. Gives the first such element.
#[inline(always)]
fn pick<W: Pod, I: Index>(plane: &[W], indices: &[I], out: &mut [W]) -> Option<usize> {
    let done = pick_good(plane, indices, out);
    if done >= out.len() {
        return None;
    }
    pick_any(plane, indices, out, done)
}

/// Picks elements, eight at a time, up to an index outside of the plane. Gives how many it has picked for certain.
#[inline(always)]
fn pick_good<W: Pod, I: Index>(plane: &[W], indices: &[I], out: &mut [W]) -> usize {
    let ((eights, rest), (of_eights, of_rest)) = (out.as_chunks_mut::<8>(), indices.as_chunks::<8>());
    for (done, (to, indices)) in eights.iter_mut().zip(of_eights).enumerate() {
        for (to, index) in to.iter_mut().zip(indices) {
            let Some(cell) = plane.get(index.cell()) else { return done.wrapping_mul(8) };
            *to = *cell;
        }
    }
    let done = of_eights.len().wrapping_mul(8);
    for (to, index) in rest.iter_mut().zip(of_rest) {
        let Some(cell) = plane.get(index.cell()) else { return done };
        *to = *cell;
    }
    indices.len()
}

/// Picks the elements from number `done` on. Gives the first one whose index is outside of the plane.
#[cold]
#[inline(never)]
fn pick_any<W: Pod, I: Index>(plane: &[W], indices: &[I], out: &mut [W], done: usize) -> Option<usize> {
    let mut bad = None;
    for (k, (to, index)) in out.iter_mut().zip(indices).enumerate().skip(done) {
        *to = plane.get(index.cell()).copied().unwrap_or_else(|| {
            bad = bad.or(Some(k));
            W::zeroed()
        });
    }
    bad
}

/// Where to ask next.
struct Ahead {
    at: usize,
    /// Cells to ask for in a round: none where the tensor is small or has too many lines to those that elements are picked from.
    count: usize,
    /// Whether indices are asked for as well: they are read in order, but a processor loses sight of them among cells. Cells of
    /// eight bytes take so many lines that it has no time for more.
    asks_for_indices: bool,
}

impl Ahead {
    /// From `element` of the first of some planes on.
    fn new<W: Pod>(tensors: &Contiguous, data: &[W], element: usize) -> Self {
        let Contiguous { elements, row, cells, asks_most, .. } = *tensors;
        let (line, elements) = (line_of::<W>(), at_least_1(elements));
        let lines = cells.saturating_mul(elements.get().min(ROUND)) / elements / at_least_1(line);
        // As many lines as elements: windows of 4x4 cells of four bytes, of which each is read from two of three lines.
        let most = match size_of_val(data) {
            _ if !asks_most => ROUND - 1,
            FAR.. => ROUND / 2 * 3,
            _ => ROUND,
        };
        let plane = cells.saturating_mul(size_of::<W>());
        let cached = match size_of::<W>() {
            4.. if plane >= LARGE_PLANE && lines <= ROUND / 2 => CACHED / 4 * 3,
            8.. if plane < SMALL_PLANE && !asks_most => FAR,
            _ if plane < SMALLER_PLANE => FAR,
            _ => CACHED,
        };
        let wanted = size_of_val(data) > cached && lines <= most;
        // Cells are met in the order of the elements, by and large.
        let at = |element: usize| cells.saturating_mul(element) / elements;
        Self {
            at: at(element.saturating_add(row.saturating_mul(ROWS_AHEAD))),
            count: if wanted { lines.saturating_mul(line) } else { 0 },
            asks_for_indices: wanted && size_of::<W>() < 8,
        }
    }

    #[inline(always)]
    fn ask<W: Pod>(&mut self, data: &[W]) {
        prefetch_run(Baseline, Cache::Level1, data, self.at, self.count);
        self.at = self.at.wrapping_add(self.count);
    }
}
