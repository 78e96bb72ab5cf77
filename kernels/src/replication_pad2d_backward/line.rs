//! Rows of the output whose elements lie side by side.

use core::num::NonZeroUsize;

use ubtile_tiling::replication_pad2d_backward::Axis;

use super::rows::{self, Runs};
use crate::built::COMPLEX;
use crate::element::Element;
use crate::simd::{Cache, Isa, MOST_LANES, Real, Vector, prefetch_run};

/// Vectors of sums that are made side by side, to hide the latency of additions.
const UNROLL: usize = 4;

/// Bytes of `grad_output` that are copied before the edges beside them are folded, so that these are found in a cache.
const BLOCK_BYTES: usize = 8192;

/// The same where `grad_output` is asked for, once a block: the memory would idle behind what is asked for at once.
const ASKED_BLOCK_BYTES: usize = 2048;

/// How far ahead `grad_output` is asked for.
const AHEAD_BYTES: usize = 8192;

/// Rows that are copied at once at least.
const LEAST_ROWS: usize = 4;

/// Corners of rows of at most so many scalars are folded without vectors.
const SHORT: usize = 8;

/// Columns of a row whose sums over rows are made before any of them is folded, as few vectors have most of them.
const FEW_COLUMNS: usize = 32;

type V<S, T> = <<T as Element>::Acc as Real>::V<S>;

/// How a run of columns is made from rows of `grad_output`. Positions and lengths are in scalars.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    /// First scalar of the run in its row.
    pub(super) start: usize,
    /// Length of the run.
    len: usize,
    /// Scalars to an element: 1 or 2.
    parts: usize,
    body: Span,
    /// The outermost columns of the image, where they are in the run and not just copied.
    edges: [Option<Span>; 2],
    /// All scalars that go to the run: the first one, and how many.
    columns: [usize; 2],
}

/// Scalars of a row of `grad_output` and where in the run they go: one by one, or all to one element.
#[derive(Clone, Copy, Debug)]
struct Span {
    from: usize,
    count: usize,
    to: usize,
}

/// Rows of `grad_output`, the first of which begins at `start`.
#[derive(Clone, Copy)]
pub(super) struct Source<'a, T> {
    pub(super) data: &'a [T],
    pub(super) start: usize,
    pub(super) pitch: usize,
}

impl Line {
    #[inline(always)]
    pub(super) fn new(axis: Axis, [start, end]: [usize; 2], parts: usize) -> Self {
        let scalars = |elements: usize| elements.wrapping_mul(parts);
        let [first, last] = axis.copied([start, end]);
        let body = Span {
            from: scalars(first.wrapping_add_signed(axis.before)),
            count: scalars(last.wrapping_sub(first)),
            to: scalars(first.wrapping_sub(start)),
        };
        let edge = |at: usize| {
            let [from, to] = axis.sources(at);
            let is_copy = (first..last).contains(&at) && to.wrapping_sub(from) == 1;
            let is_here = (start..end).contains(&at);
            (is_here && from < to && !is_copy).then(|| Span {
                from: scalars(from),
                count: scalars(to.wrapping_sub(from)),
                to: scalars(at.wrapping_sub(start)),
            })
        };
        let outermost = axis.size.wrapping_sub(1);
        let edges = [edge(0), if outermost > 0 { edge(outermost) } else { None }];
        let spans = || edges.into_iter().chain([(body.count > 0).then_some(body)]).flatten();
        let from = spans().map(|span| span.from).min().unwrap_or(0);
        let to = spans().map(|span| span.from.wrapping_add(span.count)).max().unwrap_or(0);
        let columns = [from, to.wrapping_sub(from)];
        Self { start: scalars(start), len: scalars(end.wrapping_sub(start)), parts, body, edges, columns }
    }

    /// Whether rows that are copied lie one behind the other in both tensors, so that they can be copied as one.
    #[inline(always)]
    fn joins(&self, from_pitch: usize, to_pitch: usize) -> bool {
        let [first, last] = self.edges;
        first.is_none() && last.is_none() && [self.body.count, from_pitch, to_pitch] == [self.len; 3]
    }

    /// Whether elements have one part. Complex numbers are made of no other than the types that sums are made in.
    #[inline(always)]
    fn is_real<T: Element>(&self) -> bool {
        !COMPLEX || T::IS_HALF || self.parts == 1
    }

    /// A run that nothing folds into.
    #[inline(always)]
    pub(super) fn zero<T: Element>(&self, dest: &mut [T]) {
        part_mut(dest, 0, self.len).fill(T::zeroed());
    }

    /// How many rows to copy at once.
    #[inline(always)]
    pub(super) fn rows_at_once<T: Element>(&self, is_asked: bool, from_pitch: usize, to_pitch: usize) -> usize {
        if self.joins(from_pitch, to_pitch) {
            return usize::MAX;
        }
        let bytes = NonZeroUsize::new(self.body.count.wrapping_mul(size_of::<T>())).unwrap_or(NonZeroUsize::MIN);
        let block = if is_asked { ASKED_BLOCK_BYTES } else { BLOCK_BYTES };
        // Edges of short elements are folded a lane for each row.
        (block / bytes).max(if T::IS_HALF { MOST_LANES } else { LEAST_ROWS })
    }

    /// The runs of `count` rows, `pitch` apart, each from one row of `source`.
    #[inline(always)]
    pub(super) fn copy<S: Isa, T: Element>(
        &self,
        isa: S,
        source: Source<'_, T>,
        dest: &mut [T],
        pitch: usize,
        count: usize,
    ) {
        if self.joins(source.pitch, pitch) {
            let all = Span { count: self.body.count.wrapping_mul(count), ..self.body };
            rows::copy(isa, source.data, source.runs(&all), dest, all.runs(pitch), 1);
            return;
        }
        if self.body.count < self.len {
            for start in (0..count).map(|row| row.wrapping_mul(pitch)) {
                self.zero(dest.get_mut(start..).unwrap_or(&mut []));
            }
        }
        rows::copy(isa, source.data, source.runs(&self.body), dest, self.body.runs(pitch), count);
        for edge in self.edges.iter().flatten() {
            let (from, to) = (source.runs(edge), edge.runs(pitch));
            if edge.count == self.parts {
                rows::copy(isa, source.data, from, dest, to, count);
            } else if V::<S, T>::LANES > 1 && T::IS_HALF {
                self.across(isa, source, dest, edge, pitch, count);
            } else if self.is_real::<T>() {
                rows::fold::<T, 1>(source.data, from, dest, to, count);
            } else {
                rows::fold::<T, 2>(source.data, from, dest, to, count);
            }
        }
    }

    /// Folds an edge of short elements, at least two of one part, in `count` rows, a lane for each: to widen them one by one takes
    /// longer than to bring two columns at a time together.
    #[inline(always)]
    fn across<S: Isa, T: Element>(
        &self,
        isa: S,
        source: Source<'_, T>,
        dest: &mut [T],
        edge: &Span,
        pitch: usize,
        count: usize,
    ) {
        let lanes = V::<S, T>::LANES;
        let mut block = 0;
        while block < count {
            // The last vector again with some rows that are made, where there are enough.
            let first = block.min(count.saturating_sub(lanes));
            let mut sum = V::<S, T>::splat(isa, T::Acc::default());
            for column in (0..edge.count).step_by(2) {
                // The last pair of an odd number begins with a column that has been.
                let at = column.min(edge.count.wrapping_sub(2));
                let (mut pairs, mut rows) =
                    ([[T::zeroed(); 2]; MOST_LANES], source.from(first, edge.from.wrapping_add(at)));
                for to in pairs.iter_mut().take(lanes) {
                    if let Some(pair) = rows.first_chunk() {
                        *to = *pair;
                    }
                    rows = rows.get(source.pitch..).unwrap_or(&[]);
                }
                let pairs = pairs.as_flattened();
                let two = [T::load(isa, pairs), T::load(isa, pairs.get(lanes..).unwrap_or(&[]))];
                let [even, odd] = Vector::deinterleave(isa, two);
                if column == 0 {
                    sum = even;
                } else if at == column {
                    sum = sum + even;
                }
                sum = sum + odd;
            }
            let mut values = [T::zeroed(); MOST_LANES];
            T::store(isa, sum, &mut values);
            let mut rows = dest.get_mut(first.wrapping_mul(pitch).wrapping_add(edge.to)..).unwrap_or(&mut []);
            for value in values.into_iter().take(lanes.min(count)) {
                let Some(to) = rows.first_mut() else { break };
                *to = value;
                rows = rows.get_mut(pitch..).unwrap_or(&mut []);
            }
            block = block.wrapping_add(lanes);
        }
    }

    /// The run from `count` rows of `source`, at least two.
    #[inline(always)]
    pub(super) fn fold<S: Isa, T: Element>(&self, isa: S, source: Source<'_, T>, count: usize, dest: &mut [T]) {
        if self.body.count < self.len {
            self.zero(dest);
        }
        let lanes = V::<S, T>::LANES;
        if lanes > 1 && self.is_real::<T>() && self.columns[1] <= FEW_COLUMNS {
            return self.fold_few(isa, source, count, dest);
        }
        let body = part_mut(dest, self.body.to, self.body.count);
        let mut at = 0usize;
        while let Some(dst) = body.get_mut(at..at.wrapping_add(lanes.wrapping_mul(UNROLL))) {
            let sums: [_; UNROLL] = source.sums(isa, self.body.from.wrapping_add(at), count);
            for (dst, sum) in dst.chunks_exact_mut(lanes).zip(sums) {
                T::store(isa, sum, dst);
            }
            at = at.wrapping_add(lanes.wrapping_mul(UNROLL));
        }
        while at < body.len() {
            // The last vector again with some sums that are made, where there are enough.
            at = at.min(body.len().saturating_sub(lanes));
            let [sum] = source.sums(isa, self.body.from.wrapping_add(at), count);
            T::store(isa, sum, body.get_mut(at..).unwrap_or(&mut []));
            at = at.wrapping_add(lanes);
        }
        for edge in self.edges.iter().flatten() {
            let dest = part_mut(dest, edge.to, self.parts);
            // Short types are widened a vector at a time even if few are needed: one by one takes far longer.
            let vectors = lanes > 1 && (edge.count > SHORT || T::IS_HALF);
            match (vectors, self.is_real::<T>()) {
                (false, true) => rows::fold_box::<T, 1>(source.data, source.runs(edge), count, dest),
                (false, false) => rows::fold_box::<T, 2>(source.data, source.runs(edge), count, dest),
                (true, true) => self.corner::<S, T, 1>(isa, source, count, edge, dest),
                (true, false) => self.corner::<S, T, 2>(isa, source, count, edge, dest),
            }
        }
    }

    /// The same for a few columns of elements of one part.
    #[inline(always)]
    fn fold_few<S: Isa, T: Element>(&self, isa: S, source: Source<'_, T>, count: usize, dest: &mut [T]) {
        let (lanes, [first, columns]) = (V::<S, T>::LANES, self.columns);
        let mut sums = [T::Acc::default(); FEW_COLUMNS + MOST_LANES];
        for at in (0..columns).step_by(lanes) {
            let sum = source.short_sums(isa, first.wrapping_add(at), count);
            sum.store(sums.get_mut(at..).unwrap_or(&mut []));
        }
        let from = |span: &Span| sums.get(span.from.wrapping_sub(first)..).unwrap_or(&[]);
        let body = part_mut(dest, self.body.to, self.body.count).chunks_mut(lanes);
        for (body, sums) in body.zip(from(&self.body).chunks(lanes)) {
            T::store(isa, V::<S, T>::load(isa, sums), body);
        }
        for edge in self.edges.iter().flatten() {
            let sum = from(edge).iter().take(edge.count).copied().reduce(|total, sum| total + sum);
            if let (Some(dest), Some(sum)) = (dest.get_mut(edge.to), sum) {
                *dest = T::narrow(sum);
            }
        }
    }

    /// Folds an edge of elements of `P` scalars in `count` rows to one element.
    #[inline(always)]
    fn corner<S: Isa, T: Element, const P: usize>(
        &self,
        isa: S,
        source: Source<'_, T>,
        count: usize,
        edge: &Span,
        dest: &mut [T],
    ) {
        let mut total = [T::Acc::default(); P];
        for at in (0..edge.count).step_by(V::<S, T>::LANES) {
            let [vector] = source.sums(isa, edge.from.wrapping_add(at), count);
            let mut sums = [T::Acc::default(); MOST_LANES];
            vector.store(&mut sums);
            let columns = edge.count.wrapping_sub(at).min(V::<S, T>::LANES);
            add_up(&mut total, at == 0, sums.get(..columns).unwrap_or(&[]));
        }
        let mut lanes = [T::Acc::default(); MOST_LANES];
        for (lane, total) in lanes.iter_mut().zip(total) {
            *lane = total;
        }
        T::store(isa, V::<S, T>::load(isa, &lanes), dest);
    }
}

impl Span {
    /// Where it goes, in rows of a box that are `pitch` apart.
    #[inline(always)]
    fn runs(&self, pitch: usize) -> Runs {
        Runs { start: self.to, count: self.count, pitch }
    }
}

impl<'a, T: Element> Source<'a, T> {
    /// Where a span comes from.
    #[inline(always)]
    fn runs(&self, span: &Span) -> Runs {
        Runs { start: self.start.wrapping_add(span.from), count: span.count, pitch: self.pitch }
    }

    /// Asks for as much as so many rows have, some way ahead.
    #[inline(always)]
    pub(super) fn ask<S: Isa>(&self, isa: S, rows: usize) {
        let from = self.start.wrapping_add(AHEAD_BYTES / size_of::<T>().max(1));
        prefetch_run(isa, Cache::Level1, self.data, from, rows.wrapping_mul(self.pitch));
    }

    /// All that lies behind scalar `at` of a row.
    #[inline(always)]
    fn from(&self, row: usize, at: usize) -> &'a [T] {
        let start = self.start.wrapping_add(row.wrapping_mul(self.pitch)).wrapping_add(at);
        self.data.get(start..).unwrap_or(&[])
    }

    /// Sums of columns, `N` vectors of them from scalar `at` on, over the first `count` rows ascending, from the first row on.
    #[inline(always)]
    fn sums<S: Isa, const N: usize>(&self, isa: S, at: usize, count: usize) -> [V<S, T>; N] {
        if let Some(sums) = self.full_sums(isa, at, count) {
            return sums;
        }
        core::array::from_fn(
            #[inline(always)]
            |i| self.short_sums(isa, at.wrapping_add(i.wrapping_mul(V::<S, T>::LANES)), count),
        )
    }

    /// The same where each row has so many vectors: with their length known, they are loaded without a check of each.
    #[inline(always)]
    fn full_sums<S: Isa, const N: usize>(&self, isa: S, at: usize, count: usize) -> Option<[V<S, T>; N]> {
        let all = V::<S, T>::LANES.wrapping_mul(N);
        let mut rows = self.from(0, at);
        let row = rows.get(..all)?;
        let mut sums = core::array::from_fn(
            #[inline(always)]
            |i| vector::<S, T>(isa, row, i),
        );
        for _ in 1..count {
            rows = rows.get(self.pitch..)?;
            let row = rows.get(..all)?;
            for (i, sum) in sums.iter_mut().enumerate() {
                *sum = *sum + vector::<S, T>(isa, row, i);
            }
        }
        Some(sums)
    }

    /// Sums of one vector of columns, of which rows at the end of the tensor may have some only.
    #[inline(always)]
    fn short_sums<S: Isa>(&self, isa: S, at: usize, count: usize) -> V<S, T> {
        let mut sum = T::load(isa, self.from(0, at));
        for row in 1..count {
            sum = sum + T::load(isa, self.from(row, at));
        }
        sum
    }
}

/// Vector `i` of a row.
#[inline(always)]
fn vector<S: Isa, T: Element>(isa: S, row: &[T], i: usize) -> V<S, T> {
    T::load(isa, row.get(i.wrapping_mul(V::<S, T>::LANES)..).unwrap_or(&[]))
}

/// Adds elements to a total, which begins with the first of them.
#[inline(always)]
fn add_up<A: Real, const P: usize>(total: &mut [A; P], first: bool, elements: &[A]) {
    for (i, element) in elements.as_chunks::<P>().0.iter().enumerate() {
        for (total, value) in total.iter_mut().zip(element) {
            *total = if first && i == 0 { *value } else { *total + *value };
        }
    }
}

#[inline(always)]
fn part_mut<T>(dest: &mut [T], from: usize, count: usize) -> &mut [T] {
    dest.get_mut(from..from.wrapping_add(count)).unwrap_or(&mut [])
}
