//! Rows of the output whose elements lie side by side.

use ubtile_tiling::replication_pad2d_backward::Axis;

use crate::element::Element;
use crate::simd::{Isa, Real, Vector};

/// Vectors of sums that are made side by side, to hide the latency of additions.
const UNROLL: usize = 4;

/// Lanes of the widest vector.
const MOST_LANES: usize = 8;

/// Rows of more scalars are copied by a call.
const LONG: usize = 512;

/// How a run of columns is made from rows of `grad_output`. Lengths and positions in scalars, `P` to an element: in the run,
/// or from the first column of `grad_output`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line<const P: usize> {
    /// First column of the run, in elements.
    pub(super) start: usize,
    /// Length of the run.
    pub(super) scalars: usize,
    body: Span,
    /// The outermost columns of the image, where they are in the run and not just copied.
    edges: [Option<Span>; 2],
}

/// Scalars of `grad_output` and where they go: one by one, or all to one element.
#[derive(Clone, Copy, Debug)]
struct Span {
    from: usize,
    count: usize,
    to: usize,
}

impl<const P: usize> Line<P> {
    pub(super) fn new(axis: Axis, [start, end]: [usize; 2]) -> Self {
        let scalars = |elements: usize| elements.wrapping_mul(P);
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
        Self { start, scalars: scalars(end.wrapping_sub(start)), body, edges }
    }

    /// The run from the one row of `source` that begins at `from`.
    #[inline(always)]
    pub(super) fn copy<S: Isa, T: Element>(&self, isa: S, source: &[T], from: usize, dest: &mut [T]) {
        let Span { from: body, count, to } = self.body;
        if count < dest.len() {
            dest.fill(T::zeroed());
        }
        if let (Some(src), Some(dst)) = (run(source, from.wrapping_add(body), count), run_mut(dest, to, count)) {
            copy(src, dst);
        }
        for edge in self.edges.iter().flatten() {
            let Some(src) = run(source, from.wrapping_add(edge.from), edge.count) else { continue };
            let Some(dst) = run_mut(dest, edge.to, P) else { continue };
            if edge.count == P {
                copy(src, dst);
            } else if size_of::<T>() == size_of::<T::Acc>() {
                let (columns, _) = src.as_chunks::<P>();
                store(ascending(columns.iter().map(widen_all)), dst);
            } else {
                // Vectors widen faster. What one reads beyond the run is not used.
                let src = source.get(from.wrapping_add(edge.from)..).unwrap_or(&[]);
                store(across::<S, T, P>(edge.count, |at| T::load(isa, src.get(at..).unwrap_or(&[]))), dst);
            }
        }
    }

    /// The run from `count` rows of `source`, at least two, `pitch` apart, the first of which begins at `from`.
    #[inline(always)]
    pub(super) fn fold<S: Isa, T: Element>(
        &self,
        isa: S,
        source: &[T],
        from: usize,
        pitch: usize,
        count: usize,
        dest: &mut [T],
    ) {
        let rows = Rows { source, from, pitch, count };
        if self.body.count < dest.len() {
            dest.fill(T::zeroed());
        }
        if let Some(dst) = run_mut(dest, self.body.to, self.body.count) {
            let lanes = <T::Acc as Real>::V::<S>::LANES;
            let mut at = self.body.from;
            let mut blocks = dst.chunks_exact_mut(UNROLL * lanes);
            for block in &mut blocks {
                let sums: [_; UNROLL] = rows.sums(isa, at);
                for (dst, sum) in block.chunks_exact_mut(lanes).zip(sums) {
                    T::store(isa, sum, dst);
                }
                at = at.wrapping_add(UNROLL * lanes);
            }
            for dst in blocks.into_remainder().chunks_mut(lanes) {
                let [sum] = rows.sums(isa, at);
                T::store(isa, sum, dst);
                at = at.wrapping_add(lanes);
            }
        }
        for edge in self.edges.iter().flatten() {
            let Some(dst) = run_mut(dest, edge.to, P) else { continue };
            let sums = across::<S, T, P>(edge.count, |at| {
                let [sum] = rows.sums(isa, edge.from.wrapping_add(at));
                sum
            });
            store(sums, dst);
        }
    }
}

/// Rows of `grad_output` that fold into one.
#[derive(Clone, Copy)]
struct Rows<'a, T> {
    source: &'a [T],
    from: usize,
    pitch: usize,
    count: usize,
}

impl<T: Element> Rows<'_, T> {
    /// Sums of the columns from scalar `at` on, `N` vectors of them, each over the rows ascending, from the first row on.
    #[inline(always)]
    fn sums<S: Isa, const N: usize>(&self, isa: S, at: usize) -> [<T::Acc as Real>::V<S>; N] {
        let mut start = self.from.wrapping_add(at);
        let mut sums: [<T::Acc as Real>::V<S>; N] = self.load(isa, start);
        for _ in 1..self.count {
            start = start.wrapping_add(self.pitch);
            for (sum, value) in sums.iter_mut().zip(self.load::<S, N>(isa, start)) {
                *sum = *sum + value;
            }
        }
        sums
    }

    /// `N` vectors from scalar `start` on.
    #[inline(always)]
    fn load<S: Isa, const N: usize>(&self, isa: S, start: usize) -> [<T::Acc as Real>::V<S>; N] {
        let lanes = <T::Acc as Real>::V::<S>::LANES;
        let values = self.source.get(start..).unwrap_or(&[]);
        // With its length known, each vector of it is loaded without another check.
        let values = values.get(..N.wrapping_mul(lanes)).unwrap_or(values);
        core::array::from_fn(
            #[inline(always)]
            |i| T::load(isa, values.get(i.wrapping_mul(lanes)..).unwrap_or(&[])),
        )
    }
}

/// The sum of `count` scalars that `load` gives a vector at a time, ascending from the first column on; parts of an element
/// apart.
#[inline(always)]
fn across<S: Isa, T: Element, const P: usize>(
    count: usize,
    load: impl Fn(usize) -> <T::Acc as Real>::V<S>,
) -> [T::Acc; P] {
    let lanes = <T::Acc as Real>::V::<S>::LANES;
    let mut sums = [T::Acc::default(); P];
    for at in (0..count).step_by(lanes) {
        let mut values = [T::Acc::default(); MOST_LANES];
        load(at).store(&mut values);
        for (i, &value) in (at..count).zip(values.iter().take(lanes)) {
            if let Some(sum) = sums.get_mut(i % P) {
                *sum = if i < P { value } else { *sum + value };
            }
        }
    }
    sums
}

/// The sum of columns in their order, from the first on.
#[inline(always)]
fn ascending<A: Real, const P: usize>(mut columns: impl Iterator<Item = [A; P]>) -> [A; P] {
    let mut sums = columns.next().unwrap_or([A::default(); P]);
    columns.for_each(
        #[inline(always)]
        |column| {
            for (sum, value) in sums.iter_mut().zip(column) {
                *sum = *sum + value;
            }
        },
    );
    sums
}

#[inline(always)]
fn widen_all<T: Element, const P: usize>(column: &[T; P]) -> [T::Acc; P] {
    column.map(T::widen)
}

#[inline(always)]
fn store<T: Element, const P: usize>(sums: [T::Acc; P], dst: &mut [T]) {
    for (dst, sum) in dst.iter_mut().zip(sums) {
        *dst = T::narrow(sum);
    }
}

#[inline(always)]
fn run<T>(source: &[T], from: usize, count: usize) -> Option<&[T]> {
    source.get(from..from.wrapping_add(count))
}

#[inline(always)]
fn run_mut<T>(dest: &mut [T], from: usize, count: usize) -> Option<&mut [T]> {
    dest.get_mut(from..from.wrapping_add(count))
}

/// Copies bits. Rows are often short, and a call for each would cost as much as the copy.
#[inline(always)]
fn copy<T: Element>(src: &[T], dst: &mut [T]) {
    if src.len() > LONG {
        if src.len() == dst.len() {
            dst.copy_from_slice(src);
        }
    } else if !copy_by::<T, 16>(src, dst) && !copy_by::<T, 4>(src, dst) {
        for (dst, src) in dst.iter_mut().zip(src) {
            *dst = *src;
        }
    }
}

/// Copies `N` scalars at a time, the last of them again with some before; false where there are fewer.
#[inline(always)]
fn copy_by<T: Element, const N: usize>(src: &[T], dst: &mut [T]) -> bool {
    let Some(last) = src.last_chunk::<N>() else { return false };
    for (dst, src) in dst.as_chunks_mut::<N>().0.iter_mut().zip(src.as_chunks::<N>().0) {
        *dst = *src;
    }
    if let Some(dst) = dst.last_chunk_mut::<N>() {
        *dst = *last;
    }
    true
}
