//! Narrow images with as many windows in a row as every stride-th cell of it, which half the kernel as padding gives: rows laid flat.
//!
//! Of the rows whose numbers differ by multiples of the stride neighbours find neighbouring windows. There the windows of a tap lie
//! side by side over rows as the cells of a class do, so some rows are summed as one: a row by itself would fill a vector or two,
//! and what each tap begins with would take longer than its terms. The windows beside a cell at the end of a row are those of the
//! next row; they are masked to +0.0, which changes no sum, and so are rows that a kernel row does not reach. Where the stride is
//! not 1, the classes of such rows are interleaved in a buffer and each row is copied to its place.

mod block;
mod columns;

use ubtile_tiling::im2col_backward::Geometry;

use self::block::Block;
use self::columns::Columns;
use super::above::Ahead;
use super::kernel_rows::KernelRows;
use super::line::write_what_fits;
use super::sums::weaves;
use super::{MOST, V, plane_at, windows_of_plane};
use crate::bits;
use crate::element::Element;
use crate::level::Kernel;
use crate::part::Part;
use crate::simd::{Isa, MOST_LANES, Vector};

/// Blocks of rows of one rest whose kernel rows are found once for all planes, where these have no more.
const BLOCKS: usize = 32;

/// Rows of cells to sum, of all planes in their order.
pub(super) struct Flat<'a, T, const CLASSES: usize> {
    pub(super) geometry: &'a Geometry,
    pub(super) part: Part,
    /// `grad_output`.
    pub(super) data: &'a [T],
    pub(super) out: &'a mut [T],
    pub(super) ahead: Ahead,
}

/// Whether some rows fit the vectors that are summed side by side.
pub(super) fn fits<S: Isa, T: Element, const CLASSES: usize>(geometry: &Geometry) -> bool {
    let [_, _, pitch, _] = geometry.out_strides;
    let windows = geometry.columns[1];
    // Where rows are to be copied, two are no gain, and three of many lanes neither.
    let copied = if size_of::<V<S, T>>() <= 32 { 3 } else { 4 };
    let least_rows = if CLASSES == 1 { 2 } else { copied };
    geometry.stride[0].get() == CLASSES
        && windows == geometry.w.div_ceil(CLASSES)
        && least_rows * windows <= MOST * V::<S, T>::LANES
        && (CLASSES > 1 || pitch == geometry.w)
}

impl<T: Element, const CLASSES: usize> Kernel for Flat<'_, T, CLASSES> {
    type Output = ();

    #[inline(always)]
    fn run<S: Isa>(self, isa: S) {
        let Self { geometry: g, part, data, out, ahead } = self;
        let mut classes = [Columns::<S, T, CLASSES>::none(isa); CLASSES];
        for (first, class) in classes.iter_mut().enumerate() {
            class.find(isa, g, first);
        }
        let kernel_rows = KernelRows::each::<CLASSES>(g);
        let width = g.columns[1];
        let together = (MOST * V::<S, T>::LANES).checked_div(width).unwrap_or(1).max(1).wrapping_mul(CLASSES);
        let [on, oc, oh, _] = g.out_strides;
        // The last vectors may go beyond the last row where the next plane lies behind it, which is written later.
        let dense = oc == g.h.wrapping_mul(oh) && on == g.c.wrapping_mul(oc);
        let mut blocks = [Block::default(); BLOCKS];
        let part_of_plane = windows_of_plane(g).checked_div(g.h).unwrap_or(0).wrapping_add(1);
        let keeps = g.h <= together.saturating_mul(BLOCKS / CLASSES);
        let mut aside = [[T::zeroed(); MOST_LANES * MOST]; CLASSES];
        for (plane, [start, end]) in part.planes(g.h) {
            let ([plane_start, to], mut y) = (plane_at(g, plane), start);
            let left = part.units.end.wrapping_sub(plane.wrapping_mul(g.h));
            let mut number = 0usize;
            while y < end {
                let all = end.wrapping_sub(y).min(together);
                let cells =
                    out.get_mut(to.wrapping_sub(part.first).wrapping_add(y.wrapping_mul(oh))..).unwrap_or_default();
                for turn in 0..CLASSES.min(all) {
                    let Some(block) = blocks.get_mut(number.wrapping_add(turn)) else { break };
                    let count = all.wrapping_sub(turn).div_ceil(CLASSES);
                    let (asked, y) = (y.wrapping_add(turn.wrapping_mul(count)), y.wrapping_add(turn));
                    let Some(kernel_rows) = kernel_rows.get(y % CLASSES) else { break };
                    block.find(kernel_rows, g, [y, count]);
                    if let Ahead::Plane { distance } = ahead {
                        let at = plane_start.wrapping_add(distance).wrapping_add(asked.wrapping_mul(part_of_plane));
                        block.ask(at, count.wrapping_mul(part_of_plane));
                    }
                    let cells = cells.get_mut(turn.wrapping_mul(oh)..).unwrap_or_default();
                    let apart = oh.wrapping_mul(CLASSES).max(1);
                    if CLASSES > 1 && kernel_rows.rows().is_empty() {
                        // Between the windows, with a stride larger than the kernel.
                        for to in cells.chunks_mut(apart).take(count) {
                            to.get_mut(..g.w).unwrap_or_default().fill(T::zeroed());
                        }
                        continue;
                    }
                    let vectors = count.wrapping_mul(width).div_ceil(V::<S, T>::LANES);
                    if const { CLASSES == 1 } {
                        let rows = if dense { left.wrapping_sub(y) } else { count };
                        let cells = cells.get_mut(..rows.wrapping_mul(g.w)).unwrap_or_default();
                        sum(isa, data, plane_start, &classes, block, vectors, [cells, aside.as_flattened_mut()]);
                    } else {
                        let aside = aside.as_flattened_mut();
                        sum(isa, data, plane_start, &classes, block, vectors, [&mut *aside, &mut []]);
                        let made = aside.chunks_exact(width.wrapping_mul(CLASSES).max(1));
                        for (to, from) in cells.chunks_mut(apart).take(count).zip(made) {
                            bits::copy(from, to.get_mut(..g.w).unwrap_or_default());
                        }
                    }
                }
                y = y.wrapping_add(all);
                number = if keeps { number.wrapping_add(CLASSES) } else { 0 };
            }
        }
    }
}

/// Writes the sums of a block's cells in so many vectors of each class, one cell of each class in turn, and behind them up to some
/// vectors of anything, as [`write_what_fits`] to an output and aside. The windows of the plane begin at `start`.
#[inline(always)]
fn sum<S: Isa, T: Element, const CLASSES: usize>(
    isa: S,
    data: &[T],
    start: usize,
    classes: &[Columns<S, T, CLASSES>; CLASSES],
    block: &Block,
    vectors: usize,
    to: [&mut [T]; 2],
) {
    let woven = const { weaves::<S, T>(CLASSES, MOST) };
    match vectors {
        0..=2 => some::<S, T, CLASSES, 2>(isa, data, start, classes, block, to),
        3..=4 => some::<S, T, CLASSES, 4>(isa, data, start, classes, block, to),
        5..=7 if !woven => some::<S, T, CLASSES, 7>(isa, data, start, classes, block, to),
        _ => some::<S, T, CLASSES, MOST>(isa, data, start, classes, block, to),
    }
}

/// As [`sum`], and as [`Columns::sums`].
#[inline(always)]
fn some<S: Isa, T: Element, const CLASSES: usize, const N: usize>(
    isa: S,
    data: &[T],
    start: usize,
    classes: &[Columns<S, T, CLASSES>; CLASSES],
    block: &Block,
    to: [&mut [T]; 2],
) {
    let [out, aside] = to;
    if const { CLASSES == 1 } {
        let [class] = classes.as_slice() else { return };
        return write_what_fits(isa, &[class.sums::<N>(isa, data, start, block)], out, aside);
    }
    let mut found = [[V::<S, T>::splat(isa, T::Acc::default()); N]; CLASSES];
    for (found, class) in found.iter_mut().zip(classes) {
        *found = class.sums::<N>(isa, data, start, block);
    }
    write_what_fits(isa, &found, out, aside);
}
