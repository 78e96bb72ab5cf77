//! The usual case: rows of windows and of cells that lie side by side, one dtype, kernels of ordinary size.
//!
//! Each vector of cells is summed in registers, taps in order, and stored once: one load and one addition a term, which is what
//! memory can deliver. Cells whose columns differ by multiples of the stride are reached by the same taps and by neighbouring
//! windows, so they form a class, and a vector holds cells of one class; the classes of a row are interleaved at the end. What
//! depends on columns alone is computed once for all planes, what depends on the row once a row. At the ends of a row, where
//! not all taps reach all lanes, terms that do not exist are masked to +0.0, which changes no sum: none is ever -0.0. The rows
//! that the next row of cells needs are asked for meanwhile, as they come from as many places as there are taps.

use core::ops::Range;

use ubtile_tiling::im2col_backward::Geometry;

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
/// Bytes of windows that are asked for ahead, at least.
const AHEAD: usize = 1024;
/// Bytes of a plane's windows that fit half of a small level-2 cache.
const PLANE: usize = 256 << 10;
/// Places in memory that a processor can follow at once.
const STREAMS: usize = 16;
/// Lanes of the widest vector.
const MOST_LANES: usize = 8;

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

/// A kernel column as the cells of a class see it.
#[derive(Clone, Copy, Debug, Default)]
struct Tap {
    /// Where cell 0 finds its window, counted from the first window of the kernel row's first tap; wraps.
    at: usize,
    /// The cells that have one.
    from: usize,
    to: usize,
}

/// Cells of a row whose columns are a stride apart.
#[derive(Clone, Copy, Debug)]
struct Class<V> {
    taps: [Tap; TAPS],
    count: usize,
    cells: usize,
    /// The cells that all taps reach.
    inner: [usize; 2],
    /// The lanes that each tap reaches, of the first vector and of the last one.
    ends: [[V; TAPS]; 2],
}

impl<V: Copy> Class<V> {
    /// The cells `first`, `first` + stride, ... of a row.
    #[inline(always)]
    fn new<S: Isa>(isa: S, geometry: &Geometry, first: usize) -> Self
    where
        V: Vector<S>,
    {
        let (stride, width) = (geometry.stride[1], geometry.w);
        // As many for each class, so that the last vectors of all begin at the same cell; one behind the row goes nowhere.
        let cells = width.div_ceil(stride.get());
        let none = V::splat(isa, V::Elem::default());
        let mut class = Self { taps: Default::default(), count: 0, cells, inner: [0, cells], ends: [[none; TAPS]; 2] };
        for j in 0..geometry.kernel[1].get() {
            // Window of cell k: k + (first + padding - offset) / stride.
            let (place, offset) = (first.wrapping_add(geometry.padding[1]), j.wrapping_mul(geometry.dilation[1].get()));
            let (behind, distance) = (place >= offset, place.abs_diff(offset));
            if distance % stride != 0 {
                continue;
            }
            let windows = distance / stride;
            let (start, from) = if behind { (windows, 0) } else { (windows.wrapping_neg(), windows) };
            let to = geometry.columns[1].wrapping_sub(start);
            let to = if behind && geometry.columns[1] < windows { 0 } else { to.min(cells) };
            let at = j.wrapping_mul(geometry.grad_output_strides[1]).wrapping_add(start);
            let Some(tap) = class.taps.get_mut(class.count) else { break };
            *tap = Tap { at, from, to };
            class.count = class.count.wrapping_add(1);
            class.inner = [class.inner[0].max(from), class.inner[1].min(to)];
        }
        class.ends = [0, cells.saturating_sub(V::LANES)].map(|cell| class.masks(isa, cell));
        class
    }

    /// The lanes that each tap reaches, of the vector that begins at a cell.
    #[inline(always)]
    fn masks<S: Isa>(&self, isa: S, cell: usize) -> [V; TAPS]
    where
        V: Vector<S>,
    {
        let numbers: [V::Elem; MOST_LANES] = core::array::from_fn(|lane| Real::from_usize(cell.wrapping_add(lane)));
        let (numbers, limit) = (V::load(isa, &numbers), |cell| V::splat(isa, Real::from_usize(cell)));
        let mut masks = [numbers; TAPS];
        for (mask, tap) in masks.iter_mut().zip(self.taps()) {
            *mask = limit(tap.from).le(numbers).and(numbers.lt(limit(tap.to)));
        }
        masks
    }

    fn taps(&self) -> &[Tap] {
        self.taps.get(..self.count).unwrap_or(&[])
    }
}

/// The kernel rows that reach a row of cells: where each finds its first window.
#[derive(Clone, Copy, Debug, Default)]
struct Above {
    rows: [usize; TAPS],
    /// Where the rows are that will be needed a while later.
    later: [usize; TAPS],
    count: usize,
}

/// What to ask for ahead of its use: a part of the next plane with each row where a plane fits the level-2 cache, else the rows
/// of windows that will be needed a while later.
#[derive(Clone, Copy, Debug)]
struct Ahead {
    /// Elements to the next plane, and those of it that are asked for with each row; 0 where a plane is too large.
    plane: usize,
    part: usize,
    /// Rows of windows.
    rows: usize,
    /// From a row of windows behind the last one to the row of the next plane.
    wrap: usize,
}

impl Ahead {
    fn new(geometry: &Geometry, size: usize) -> Self {
        let [lh, lw] = geometry.columns;
        let [_, gr, _] = geometry.grad_output_strides;
        let plane = geometry.kernel[0].get().wrapping_mul(geometry.kernel[1].get()).wrapping_mul(gr);
        let rows = AHEAD.checked_div(lw.wrapping_mul(size)).unwrap_or(0).wrapping_add(1).min(lh);
        let fits = plane.saturating_mul(size) <= PLANE;
        let part = if fits { plane.checked_div(geometry.h).unwrap_or(0).wrapping_add(1) } else { 0 };
        Self { plane, part, rows, wrap: plane.wrapping_sub(lh.wrapping_mul(lw)) }
    }
}

impl Above {
    /// Finds those of row `y` of a plane whose `grad_output` begins at `start`. In place: moved, it would wait for its stores.
    #[inline(always)]
    fn find(&mut self, geometry: &Geometry, ahead: Ahead, start: usize, y: usize) {
        let [lh, lw] = geometry.columns;
        let (stride, row) =
            (geometry.stride[0], geometry.grad_output_strides[1].wrapping_mul(geometry.kernel[1].get()));
        self.count = 0;
        for i in 0..geometry.kernel[0].get() {
            let place = y.wrapping_add(geometry.padding[0]).wrapping_sub(i.wrapping_mul(geometry.dilation[0].get()));
            // A place in front of the first window is a huge number.
            let (window, rest) = if stride.get() == 1 { (place, 0) } else { (place / stride, place % stride) };
            if rest != 0 || window >= lh {
                continue;
            }
            let (Some(at), Some(later)) = (self.rows.get_mut(self.count), self.later.get_mut(self.count)) else {
                break;
            };
            *at = start.wrapping_add(i.wrapping_mul(row)).wrapping_add(window.wrapping_mul(lw));
            let wrap = if window.wrapping_add(ahead.rows) < lh { 0 } else { ahead.wrap };
            *later = at.wrapping_add(ahead.rows.wrapping_mul(lw)).wrapping_add(wrap);
            self.count = self.count.wrapping_add(1);
        }
    }

    fn rows(&self) -> &[usize] {
        self.rows.get(..self.count).unwrap_or(&[])
    }

    /// Asks for what will be needed, after row `y` of a plane that begins at `start`.
    #[inline(always)]
    fn ask<S: Isa, T>(&self, isa: S, geometry: &Geometry, ahead: Ahead, data: &[T], start: usize, y: usize) {
        if ahead.part > 0 {
            let next = start.wrapping_add(ahead.plane).wrapping_add(y.wrapping_mul(ahead.part));
            return run(isa, data, next, ahead.part);
        }
        for row in self.later.get(..self.count).unwrap_or(&[]) {
            let mut row = *row;
            for _ in 0..geometry.kernel[1].get() {
                run(isa, data, row, geometry.columns[1]);
                row = row.wrapping_add(geometry.grad_output_strides[1]);
            }
        }
    }
}

/// Asks for a run of elements.
#[inline(always)]
fn run<S: Isa, T>(isa: S, data: &[T], from: usize, count: usize) {
    let mut at = 0usize;
    while at < count {
        isa.prefetch(data, from.wrapping_add(at));
        at = at.wrapping_add(64 / size_of::<T>());
    }
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

/// The sums of a vector of cells.
#[inline(always)]
fn one<S: Isa, T: Element>(isa: S, data: &[T], above: &[usize], class: &Class<V<S, T>>, cell: usize) -> V<S, T> {
    let [from, to] = class.inner;
    if cell >= from && cell.wrapping_add(V::<S, T>::LANES) <= to {
        let [sum] = inner::<S, T, 1>(isa, data, above, class.taps(), cell);
        sum
    } else {
        outer(isa, data, above, class, cell)
    }
}

/// The sums of `N` vectors of cells that all taps reach.
#[inline(always)]
fn inner<S: Isa, T: Element, const N: usize>(
    isa: S,
    data: &[T],
    above: &[usize],
    taps: &[Tap],
    cell: usize,
) -> [V<S, T>; N] {
    let lanes = V::<S, T>::LANES;
    let mut sums = [V::<S, T>::splat(isa, T::Acc::default()); N];
    for row in above {
        let row = row.wrapping_add(cell);
        for tap in taps {
            let windows = data.get(row.wrapping_add(tap.at)..).and_then(|d| d.get(..lanes.wrapping_mul(N)));
            let Some(windows) = windows else { continue };
            for (sum, windows) in sums.iter_mut().zip(windows.chunks_exact(lanes)) {
                *sum = *sum + T::load(isa, windows);
            }
        }
    }
    sums
}

/// The sums of a vector of cells that some taps do not reach.
#[inline(always)]
fn outer<S: Isa, T: Element>(isa: S, data: &[T], above: &[usize], class: &Class<V<S, T>>, cell: usize) -> V<S, T> {
    let lanes = V::<S, T>::LANES;
    let [first, last] = &class.ends;
    // Beyond the ends only a padding as wide as a vector leaves something out.
    let between;
    let masks = if cell == 0 {
        first
    } else if cell.wrapping_add(lanes) == class.cells {
        last
    } else {
        between = class.masks(isa, cell);
        &between
    };
    let mut sum = V::<S, T>::splat(isa, T::Acc::default());
    for row in above {
        let row = row.wrapping_add(cell);
        for (tap, mask) in class.taps().iter().zip(masks) {
            let at = row.wrapping_add(tap.at);
            let term = match data.get(at..).and_then(|d| d.get(..lanes)) {
                Some(windows) => T::load(isa, windows),
                None => T::load(isa, &at_the_end(data, at)),
            };
            sum = sum + term.and(*mask);
        }
    }
    sum
}

/// Elements for a vector of which some lie in front of the data or behind it.
#[cold]
#[inline(never)]
fn at_the_end<T: Element>(data: &[T], at: usize) -> [T; MOST_LANES] {
    core::array::from_fn(|lane| data.get(at.wrapping_add(lane)).copied().unwrap_or(T::zeroed()))
}
