//! The usual case: rows of windows and of cells that lie side by side, one dtype, kernels of ordinary size.
//!
//! Each vector of cells is summed in registers, taps in order, and stored once: one load and one addition a term, which is what
//! memory can deliver. Cells whose columns differ by multiples of the stride are reached by the same taps and by neighbouring
//! windows, so they form a class, and a vector holds cells of one class; the classes of a row are interleaved at the end. What
//! depends on columns alone is computed once for all planes, what depends on the row once a row. At the ends of a row, where
//! not all taps reach all lanes, terms that do not exist are masked to +0.0, which changes no sum: none is ever -0.0. The rows
//! that the next row of cells needs are asked for meanwhile, as they come from as many places as there are taps.

mod above;
mod class;
mod sums;

use core::ops::Range;

use ubtile_tiling::im2col_backward::Geometry;

use self::above::{Above, Ahead};
use self::class::Class;
use self::sums::{inner, one};
use crate::element::Element;
use crate::level::Kernel;
use crate::simd::{Isa, Real, Vector};

/// Most kernel rows, and most kernel columns that reach a class.
const TAPS: usize = 8;
/// Largest stride along a row.
const STRIDE: usize = 4;
/// Cells of a class that are interleaved at once.
const CHUNK: usize = 64;
/// Vectors that are summed side by side, to check bounds once for all and to hide the latency of additions.
const UNROLL: usize = 4;
/// Bytes of a plane's windows that fit half of a small level-2 cache.
const PLANE: usize = 256 << 10;
/// Places in memory that a processor can follow at once.
const STREAMS: usize = 16;

type V<S, T> = <<T as Element>::Acc as Real>::V<S>;

/// Rows of cells to sum, of all planes in their order.
pub(super) struct Gather<'a, T> {
    pub(super) geometry: &'a Geometry,
    pub(super) rows: Range<usize>,
    /// `grad_output`.
    pub(super) data: &'a [T],
    /// `out`, from this element on.
    pub(super) first: usize,
    pub(super) out: &'a mut [T],
}

/// Whether a problem is such a case.
pub(super) fn fits(geometry: &Geometry) -> bool {
    let [kh, kw] = geometry.kernel.map(|k| k.get());
    let stride = geometry.stride[1].get();
    let side_by_side = geometry.grad_output_strides[2] == 1 && geometry.out_strides[3] == 1;
    // A lane's number must be exact as an f32.
    let exact = geometry.w < 1 << 23 && geometry.columns[1] < 1 << 23;
    // With a dilation the taps of a class are those whose distance is a multiple of the stride; at worst all.
    let taps = if geometry.dilation[1].get() == 1 { kw.div_ceil(stride) } else { kw };
    // Where planes fit no cache, few long streams of windows are faster than many: one for each tap.
    let streams = stride > 1 || kh.saturating_mul(kw) <= STREAMS;
    let plane = geometry.grad_output_strides[1].saturating_mul(kh.saturating_mul(kw));
    let near = streams || plane.saturating_mul(geometry.dtype.size()) <= PLANE;
    near && side_by_side
        && exact
        && stride <= STRIDE
        && kh <= TAPS
        && taps <= TAPS
        && geometry.dtype == geometry.out_dtype
}

impl<T: Element> Kernel for Gather<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Isa>(self, isa: S) {
        // Small cores take the other way, which every problem can.
        if V::<S, T>::LANES == 1 {
            return;
        }
        let Self { geometry: g, rows, data, first, out } = self;
        let (stride, width) = (g.stride[1].get(), g.w);
        let mut classes = [Class::<V<S, T>>::new(isa, g, 0); STRIDE];
        for (class, first) in classes.iter_mut().zip(0..stride).skip(1) {
            *class = Class::new(isa, g, first);
        }
        let ahead = Ahead::new(g, size_of::<T>());
        let classes = classes.get(..stride).unwrap_or(&[]);
        let ([gn, gr, _], [on, oc, oh, _]) = (g.grad_output_strides, g.out_strides);
        let taps = g.kernel[0].get().wrapping_mul(g.kernel[1].get());
        let mut above = Above::default();
        let mut apart = [[T::zeroed(); CHUNK]; STRIDE];
        let mut row = rows.start;
        while row < rows.end {
            let plane = row.checked_div(g.h).unwrap_or(0);
            let (n, c) = (plane.checked_div(g.c).unwrap_or(0), plane.checked_rem(g.c).unwrap_or(0));
            let start = n.wrapping_mul(gn).wrapping_add(c.wrapping_mul(taps).wrapping_mul(gr));
            let to = n.wrapping_mul(on).wrapping_add(c.wrapping_mul(oc)).wrapping_sub(first);
            let mut y = row.wrapping_sub(plane.wrapping_mul(g.h));
            let end = g.h.min(y.wrapping_add(rows.end.wrapping_sub(row)));
            row = row.wrapping_add(end.wrapping_sub(y));
            while y < end {
                above.find(g, ahead, start, y);
                above.ask(isa, g, ahead, data, start, y);
                let cells = out.get_mut(to.wrapping_add(y.wrapping_mul(oh))..);
                let cells = cells.and_then(|cells| cells.get_mut(..width)).unwrap_or_default();
                match classes {
                    [class] => line(isa, data, above.rows(), class, 0, cells),
                    [even, odd] => pairs(isa, data, above.rows(), [even, odd], cells),
                    _ => interleaved(isa, data, above.rows(), classes, &mut apart, cells),
                }
                y = y.wrapping_add(1);
            }
        }
    }
}

/// A row of two classes, interleaved in registers.
#[inline(always)]
fn pairs<S: Isa, T: Element>(isa: S, data: &[T], above: &[usize], [even, odd]: [&Class<V<S, T>>; 2], out: &mut [T]) {
    let lanes = V::<S, T>::LANES;
    let count = out.len().div_ceil(2);
    let (from, to) = (even.inner[0].max(odd.inner[0]), even.inner[1].min(odd.inner[1]));
    let mut done = 0usize;
    while done < count {
        let many = done.wrapping_add(lanes.wrapping_mul(UNROLL));
        if done >= from
            && many <= to
            && let Some(out) = out.get_mut(done.wrapping_mul(2)..many.wrapping_mul(2))
        {
            let evens = inner::<S, T, UNROLL>(isa, data, above, even.taps(), done);
            let odds = inner::<S, T, UNROLL>(isa, data, above, odd.taps(), done);
            for ((out, even), odd) in out.chunks_exact_mut(lanes.wrapping_mul(2)).zip(evens).zip(odds) {
                put_pairs(isa, [even, odd], out);
            }
            done = many;
            continue;
        }
        // The last vectors again with some sums that are made, where there are enough.
        done = done.min(count.saturating_sub(lanes));
        let sums = [one(isa, data, above, even, done), one(isa, data, above, odd, done)];
        put_pairs(isa, sums, out.get_mut(done.wrapping_mul(2)..).unwrap_or_default());
        done = done.wrapping_add(lanes);
    }
}

/// Writes the sums of two classes in turn.
#[inline(always)]
fn put_pairs<S: Isa, T: Element>(isa: S, sums: [V<S, T>; 2], out: &mut [T]) {
    let [front, back] = Vector::interleave(isa, sums);
    T::store(isa, front, out);
    T::store(isa, back, out.get_mut(V::<S, T>::LANES..).unwrap_or_default());
}

/// A row of several classes, by way of `apart`.
#[inline(always)]
fn interleaved<S: Isa, T: Element>(
    isa: S,
    data: &[T],
    above: &[usize],
    classes: &[Class<V<S, T>>],
    apart: &mut [[T; CHUNK]; STRIDE],
    out: &mut [T],
) {
    let (mut first, mut rest) = (0usize, out);
    while !rest.is_empty() {
        let most = CHUNK.wrapping_mul(classes.len()).min(rest.len());
        let (out, behind) = rest.split_at_mut_checked(most).unwrap_or_default();
        for (cells, class) in apart.iter_mut().zip(classes) {
            let count = class.cells.saturating_sub(first).min(CHUNK);
            line(isa, data, above, class, first, cells.get_mut(..count).unwrap_or_default());
        }
        let [a, b, c, d] = &*apart;
        match classes.len() {
            3 => weave(out, [a, b, c]),
            _ => weave(out, [a, b, c, d]),
        }
        (rest, first) = (behind, first.wrapping_add(CHUNK));
    }
}

/// Takes one cell of each class in turn.
#[inline(always)]
fn weave<T: Element, const N: usize>(out: &mut [T], classes: [&[T; CHUNK]; N]) {
    let (groups, rest) = out.as_chunks_mut::<N>();
    let done = groups.len().min(CHUNK);
    for (k, group) in groups.iter_mut().enumerate().take(CHUNK) {
        *group = classes.map(|cells| cells.get(k).copied().unwrap_or(T::zeroed()));
    }
    for (cell, class) in rest.iter_mut().zip(classes) {
        *cell = class.get(done).copied().unwrap_or(T::zeroed());
    }
}

/// Cells of a class from number `first` on, as many as `out` has.
#[inline(always)]
fn line<S: Isa, T: Element>(isa: S, data: &[T], above: &[usize], class: &Class<V<S, T>>, first: usize, out: &mut [T]) {
    let lanes = V::<S, T>::LANES;
    let [from, to] = class.inner;
    let mut done = 0usize;
    while done < out.len() {
        let cell = first.wrapping_add(done);
        let many = done.wrapping_add(lanes.wrapping_mul(UNROLL));
        if cell >= from
            && first.wrapping_add(many) <= to
            && let Some(out) = out.get_mut(done..many)
        {
            let sums = inner::<S, T, UNROLL>(isa, data, above, class.taps(), cell);
            for (out, sum) in out.chunks_exact_mut(lanes).zip(sums) {
                T::store(isa, sum, out);
            }
            done = many;
            continue;
        }
        // The last vector again with some sums that are made, where there are enough.
        done = done.min(out.len().saturating_sub(lanes));
        let sum = one(isa, data, above, class, first.wrapping_add(done));
        T::store(isa, sum, out.get_mut(done..).unwrap_or_default());
        done = done.wrapping_add(lanes);
    }
}
