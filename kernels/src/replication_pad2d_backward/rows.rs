//! Whole rows of planes that nothing was cropped from, the elements of which lie side by side.

use core::num::NonZeroUsize;
use core::ops::Range;

use ubtile_tiling::replication_pad2d_backward::Axis;

use super::even;
use super::fold::Fold;
use super::small::{self, Planes};
use super::sources::{Sources, V};
use crate::bits;
use crate::element::Element;
use crate::level::Kernel;
use crate::simd::{CACHED, Cache, Isa, Vector, prefetch_run};

/// Bytes of rows that are asked for ahead of their use. Of shorter ones each step takes many, longer ones are runs of their own:
/// both a processor foresees.
const ASKED: Range<usize> = 96..3072;

/// Bytes of rows that are asked for at once: the memory would idle behind more.
const BLOCK_BYTES: usize = 2048;

/// How far ahead `grad_output` is asked for.
const AHEAD_BYTES: usize = 8192;

/// Rows to make of elements of `P` scalars. If `N` is not 0, as many elements fold into the first of each row and into the last,
/// and as many rows into the first row of a plane and into the last.
pub(super) struct Rows<'a, T, const P: usize, const N: usize>(pub(super) Fold<'a, T>);

impl<T: Element, const P: usize, const N: usize> Kernel for Rows<'_, T, P, N> {
    type Output = ();

    #[inline(always)]
    fn run<S: Isa>(self, isa: S) {
        // Levels of one lane take another way.
        if const { V::<S, T>::LANES == 1 } {
            return;
        }
        let Fold { mut planes, rows, columns, source, from, dest, to, .. } = self.0;
        let [len, width] = [columns.size, columns.padded].map(|elements| elements.wrapping_mul(P));
        let edges = outermost(columns).map(|elements| elements.wrapping_mul(P));
        let [top, bottom] = outermost(rows);
        let (pitch, to_pitch, last) = (from.pitch(), to.pitch(), rows.size.wrapping_sub(1));
        let is_joined = N == 0 && [width, pitch, to_pitch] == [len; 3];
        let is_asked = size_of_val(source) > CACHED && ASKED.contains(&pitch.wrapping_mul(size_of::<T>()));
        let block = NonZeroUsize::new(pitch.wrapping_mul(size_of::<T>())).map_or(1, |bytes| BLOCK_BYTES / bytes);
        let at_once = if is_asked { block.max(1) } else { usize::MAX };
        // Short elements are folded a column of several rows at a time.
        let lanes = V::<S::Quad, T>::LANES;
        let folds_columns = const { N == 0 && T::IS_HALF } && edges != [P; 2];
        let ahead = AHEAD_BYTES / size_of::<T>().max(1);
        let is_packed = [pitch, to_pitch] == [width, len];
        let is_small = const { N > 0 } && is_packed && rows.size > 1 && !is_asked && small::is_short::<T, P>(len);
        loop {
            if const { N > 0 } && is_small {
                let (planes, rows) = (planes.whole(), [rows.padded, rows.size]);
                isa.call(Planes::<T, P, N> { planes, rows, width, len, source, from, dest: &mut *dest, to });
            }
            let Some((plane, [start, end])) = planes.next() else { return };
            let [above, _] = if start == 0 { [0; 2] } else { rows.sources(start) };
            let mut at = from.plane(plane).wrapping_add(above.wrapping_mul(pitch));
            let mut there = to.plane(plane).wrapping_add(start.wrapping_mul(to_pitch));
            let mut row = start;
            while row < end {
                // What folds into a row lies behind what folds into the one before.
                let is_inner = row > 0 && row < last;
                let count = match row {
                    _ if is_inner => 1,
                    _ if N > 0 => N,
                    0 => top,
                    _ => bottom,
                };
                if count > 1 {
                    if is_asked {
                        prefetch_run(isa, Cache::Level1, source, at.wrapping_add(ahead), count.wrapping_mul(pitch));
                    }
                    let Some(dest) = dest.get_mut(there..there.wrapping_add(len)) else { return };
                    if N > 0 {
                        let mut rows = [&[][..]; N];
                        let mut start = at;
                        for row in &mut rows {
                            let Some(source) = source.get(start..start.wrapping_add(width)) else { return };
                            *row = source;
                            start = start.wrapping_add(pitch);
                        }
                        even::folded::<S, T, P, N>(isa, rows, dest);
                    } else {
                        let data = source.get(at..).unwrap_or(&[]);
                        Sources::<T, P> { data, pitch, count, width, edges }.fold(isa, dest);
                    }
                    at = at.wrapping_add(count.wrapping_mul(pitch));
                    there = there.wrapping_add(to_pitch);
                    row = row.wrapping_add(1);
                    continue;
                }
                let many = if is_inner { end.min(last).wrapping_sub(row) } else { 1 };
                row = row.wrapping_add(many);
                if is_joined {
                    let all = many.wrapping_mul(len);
                    let dest = dest.get_mut(there..there.wrapping_add(all)).unwrap_or(&mut []);
                    bits::copy(source.get(at..).unwrap_or(&[]), dest);
                    (at, there) = (at.wrapping_add(all), there.wrapping_add(all));
                    continue;
                }
                let mut left = many;
                // Blocks keep the loop that asks out of the one over rows, which needs all registers.
                while left > 0 {
                    let block = left.min(at_once);
                    left = left.wrapping_sub(block);
                    if is_asked {
                        prefetch_run(isa, Cache::Level1, source, at.wrapping_add(ahead), block.wrapping_mul(pitch));
                    }
                    let mut rest = block;
                    while folds_columns && rest >= lanes {
                        let (data, dest) = (source.get(at..).unwrap_or(&[]), dest.get_mut(there..).unwrap_or(&mut []));
                        let sources = Sources::<T, P> { data, pitch, count: lanes, width, edges };
                        sources.copy_each(isa.quad(), dest, len, to_pitch);
                        at = at.wrapping_add(pitch.wrapping_mul(lanes));
                        there = there.wrapping_add(to_pitch.wrapping_mul(lanes));
                        rest = rest.wrapping_sub(lanes);
                    }
                    for _ in 0..rest {
                        let Some(dest) = dest.get_mut(there..there.wrapping_add(len)) else { return };
                        if N > 0 {
                            let Some(source) = source.get(at..at.wrapping_add(width)) else { return };
                            even::copied::<S, T, P, N>(isa, source, dest);
                        } else {
                            let data = source.get(at..).unwrap_or(&[]);
                            Sources::<T, P> { data, pitch, count, width, edges }.copy(isa, dest);
                        }
                        (at, there) = (at.wrapping_add(pitch), there.wrapping_add(to_pitch));
                    }
                }
            }
        }
    }
}

/// How many positions fold into the first of the image, and into the last.
#[inline(always)]
pub(super) fn outermost(axis: Axis) -> [usize; 2] {
    let [[from, to], [start, end]] = [axis.sources(0), axis.sources(axis.size.wrapping_sub(1))];
    [to.wrapping_sub(from), end.wrapping_sub(start)]
}
