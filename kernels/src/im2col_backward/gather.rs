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
mod flat;
mod kernel_rows;
mod line;
mod reach;
mod sums;

use ubtile_tiling::Dtype;
use ubtile_tiling::im2col_backward::Geometry;

use self::above::{Above, Ahead};
use self::class::Class;
use self::flat::Flat;
use self::kernel_rows::KernelRows;
use self::line::{Groups, Line};
use self::sums::{one_by_one, weaves};
use super::Rows;
use crate::element::Element;
use crate::level::{Kernel, Level};
use crate::part::Part;
use crate::simd::{CACHED, Isa, MOST_LANES, Mask, Real, Vector};

/// Most kernel rows, and most kernel columns that reach a class.
const TAPS: usize = 8;
/// Largest stride.
const STRIDE: usize = 4;
/// Vectors of each class that are summed side by side.
const UNROLL: usize = 4;
/// As many where that is all of a row, or where a term takes more than a load and an addition.
const MOST: usize = 8;
/// Vectors at each end of a row that have masks, where all cells that not all taps reach are in these.
const MASKED: usize = 2;
/// Bytes of a plane's windows that fit half of a small level-2 cache.
const PLANE: usize = 256 << 10;
/// Bytes that a processor's last cache holds with room to spare.
const NEAR: usize = CACHED / 8 * 7;
/// Bytes of which a last cache has next to nothing.
const DEEP: usize = 8 * NEAR;
/// Places in memory that a processor can follow at once.
const STREAMS: usize = 16;

type V<S, T> = <<T as Element>::Acc as Real>::V<S>;
/// Which lanes of it.
type M<S, T> = <T as Element>::Mask<S>;

/// Rows of cells to sum, of all planes in their order.
pub(super) struct Gather<'a, T, const CLASSES: usize> {
    pub(super) geometry: &'a Geometry,
    pub(super) part: Part,
    /// `grad_output`.
    pub(super) data: &'a [T],
    pub(super) out: &'a mut [T],
    ahead: Ahead,
}

/// Whether a problem is such a case.
pub(super) fn fits(geometry: &Geometry) -> bool {
    let [kh, kw] = geometry.kernel.map(|k| k.get());
    let stride = geometry.stride[1].get();
    let rows_in_turn = geometry.stride[0].get() <= STRIDE;
    let side_by_side = geometry.grad_output_strides[2] == 1 && geometry.out_strides[3] == 1;
    // A lane's number must be exact as an f32.
    let exact = geometry.columns[1] < 1 << 23;
    // With a dilation the taps of a class are those whose distance is a multiple of the stride; at worst all.
    let taps = if geometry.dilation[1].get() == 1 { kw.div_ceil(stride) } else { kw };
    // Where no cache holds the windows of a plane, or all of them, few long streams are faster than many: one for each tap. Not of
    // halves, which take longer to widen than to read.
    let (size, all_taps) = (geometry.dtype.size(), kh.saturating_mul(kw));
    let streams = stride > 1 || size == 2 || all_taps <= STREAMS;
    let plane = windows_of_plane(geometry).saturating_mul(size);
    let all = plane.saturating_mul(geometry.n).saturating_mul(geometry.c);
    let near = streams || plane <= PLANE || all <= NEAR;
    // Cells at the end of a row that not all taps reach, never fewer than at its begin: only the first vectors are masked and the
    // last ones.
    let cells = geometry.w.div_ceil(stride).saturating_add(geometry.padding[1].div_ceil(stride));
    let ends = cells.saturating_sub(geometry.columns[1]);
    let lanes = if geometry.dtype == Dtype::F64 { 2 } else { 4 };
    near && ends <= lanes * UNROLL - lanes
        && side_by_side
        && rows_in_turn
        && exact
        && stride <= STRIDE
        && kh <= TAPS
        && taps <= TAPS
        && geometry.dtype == geometry.out_dtype
}

/// Computes rows of cells of all planes in their order.
pub(super) fn gather<T: Element>(level: Level, rows: Rows<'_, T>) {
    match rows.geometry.stride[1].get() {
        1 => by_classes::<T, 1>(level, rows),
        2 => by_classes::<T, 2>(level, rows),
        3 => by_classes::<T, 3>(level, rows),
        _ => by_classes::<T, STRIDE>(level, rows),
    }
}

/// Each by itself: where functions are not optimized, the stack of all at once would be a megabyte and more.
#[inline(never)]
fn by_classes<T: Element, const CLASSES: usize>(level: Level, rows: Rows<'_, T>) {
    let Rows { geometry, part, data, out } = rows;
    let bytes = size_of_val(data).saturating_add(size_of_val(&*out));
    let ahead = Ahead::new(geometry, size_of::<T>(), bytes);
    let gather = Gather::<T, CLASSES> { geometry, part, data, out, ahead };
    level.dispatch_widest(gains_by_lanes::<T>(level, geometry, bytes), gather);
}

/// Elements of `grad_output` from a plane to the next.
fn windows_of_plane(geometry: &Geometry) -> usize {
    let [kh, kw] = geometry.kernel.map(|k| k.get());
    kh.saturating_mul(kw).saturating_mul(geometry.grad_output_strides[1])
}

/// Whether vectors of 64 bytes gain, where all that is read and written takes so many bytes. Halves do, which take longer to widen than to
/// add; others, by some processors, if a class has more cells in a plane than vectors of 32 bytes sum side by side, unless they wait for
/// memory alone.
fn gains_by_lanes<T: Element>(level: Level, geometry: &Geometry, bytes: usize) -> bool {
    let [rows, columns] =
        [geometry.h.div_ceil(geometry.stride[0].get()), geometry.w.div_ceil(geometry.stride[1].get())];
    let plane = windows_of_plane(geometry).saturating_mul(size_of::<T>());
    let many = rows.saturating_mul(columns).saturating_mul(size_of::<T>()) >= MOST * 32;
    T::IS_HALF || level.wide_sums() && many && (plane <= PLANE || bytes <= DEEP)
}

impl<T: Element, const CLASSES: usize> Kernel for Gather<'_, T, CLASSES> {
    type Output = ();

    #[inline(always)]
    fn run<S: Isa>(self, isa: S) {
        // Levels of one lane take another way.
        if const { V::<S, T>::LANES == 1 } {
            return;
        }
        let Self { geometry: g, part, data, out, ahead } = self;
        // Narrow images hardly have the largest stride: not worth compiling.
        if const { CLASSES < STRIDE } && flat::fits::<S, T, CLASSES>(g) && !matches!(ahead, Ahead::Rows { .. }) {
            return isa.call(Flat::<T, CLASSES> { geometry: g, part, data, out, ahead });
        }
        let groups = Groups::new(g, CLASSES, V::<S, T>::LANES);
        let woven = [&groups.first, &groups.last].map(|vectors| weaves::<S, T>(CLASSES, vectors.len()));
        let no_lanes = Mask::of(V::<S, T>::splat(isa, T::Acc::default()));
        let mut classes = [Class::<M<S, T>>::none(no_lanes); CLASSES];
        for (first, class) in classes.iter_mut().enumerate() {
            class.find::<S, V<S, T>>(isa, g, first, &groups, woven);
        }
        let reads = enclosing(classes.iter().map(|class| class.reads));
        let kernel_rows = KernelRows::each::<STRIDE>(g);
        let [on, oc, oh, _] = g.out_strides;
        // The last vectors may go beyond a row where the next one lies behind it, which is written later.
        let dense = oh == g.w && oc == g.h.wrapping_mul(oh) && on == g.c.wrapping_mul(oc);
        let (mut each, mut aside) = ([Above::default(); STRIDE], [[T::zeroed(); MOST_LANES * MOST]; CLASSES]);
        for (plane, [first, end]) in part.planes(g.h) {
            let [start, to] = plane_at(g, plane);
            let to = to.wrapping_sub(part.first);
            let (mut m, mut rest) = (first / g.stride[0], first % g.stride[0]);
            let left = part.units.end.wrapping_sub(plane.wrapping_mul(g.h));
            for y in first..end {
                let (Some(reaching), Some(above)) = (kernel_rows.get(rest), each.get_mut(rest)) else { break };
                above.find(reaching, ahead, m);
                let from = start.wrapping_add(m.wrapping_mul(g.columns[1]));
                let cells = out.get_mut(to.wrapping_add(y.wrapping_mul(oh))..).unwrap_or_default();
                if above.rows().is_empty() {
                    // Between the windows, with a stride larger than the kernel, or behind the last ones.
                    cells.get_mut(..g.w).unwrap_or_default().fill(T::zeroed());
                } else if above.reads_within(from, reads, data.len()) {
                    let room = if dense { left.wrapping_sub(y).wrapping_mul(g.w) } else { g.w };
                    let line = Line { data, from, above: above.rows(), later: above.later(ahead), classes: &classes };
                    line.run(isa, &groups, cells.get_mut(..room).unwrap_or_default(), aside.as_flattened_mut());
                } else {
                    one_by_one(data, from, above.rows(), &classes, cells.get_mut(..g.w).unwrap_or_default());
                }
                rest = rest.wrapping_add(1);
                if rest == g.stride[0].get() {
                    (m, rest) = (m.wrapping_add(1), 0);
                }
            }
        }
    }
}

/// What encloses all of these, each from the first to the second; the first is behind the second where there are none.
#[inline(always)]
fn enclosing(each: impl Iterator<Item = [isize; 2]>) -> [isize; 2] {
    each.fold([isize::MAX, isize::MIN], |[a, b], [from, to]| [a.min(from), b.max(to)])
}

/// Where a plane begins in `grad_output` and in `out`.
#[inline(always)]
fn plane_at(g: &Geometry, plane: usize) -> [usize; 2] {
    let ([gn, gr, _], [on, oc, ..]) = (g.grad_output_strides, g.out_strides);
    let (n, c) = (plane.checked_div(g.c).unwrap_or(0), plane.checked_rem(g.c).unwrap_or(0));
    let row = c.wrapping_mul(g.kernel[0].get()).wrapping_mul(g.kernel[1].get());
    [n.wrapping_mul(gn).wrapping_add(row.wrapping_mul(gr)), n.wrapping_mul(on).wrapping_add(c.wrapping_mul(oc))]
}
