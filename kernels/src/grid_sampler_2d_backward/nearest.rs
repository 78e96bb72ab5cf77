//! Points that each add to one pixel: those of the nearest interpolation, which have no gradient of their own.
//!
//! Of a run of points it is first found which pixels they are nearest to. Then what each gives is added, point by point, which
//! keeps the order of the sums, to one or two planes at a time: two share the numbers of the pixels, and the processor has
//! something to do where one waits for a pixel that was just written.

use core::ops::Range;

use super::cells::{Axes, lanes, lanes_of, load_channels, load_pairs, put};
use super::coordinates::{nearest_even, splat};
use super::corner::number;
use super::planes::Planes;
use super::point_lanes::Packed;
use super::zeroed::{self, Zeroed};
use crate::element::Element;
use crate::level::Kernel;
use crate::simd::{Cache, Isa, Real, Vector, prefetch_run};

/// Points whose values are loaded together; a whole number of vectors at every level.
const PART: usize = 64;
/// Parts of a run: more of them, and a plane is returned to less often.
const PARTS: usize = 8;

/// Where some points add.
#[derive(Clone, Copy, Debug)]
struct Part<A> {
    /// The numbers of their pixels; for those that have none, of some pixel.
    at: [u32; PART],
    /// Mask of those that have one.
    there: [A; PART],
    /// Whether all do.
    all: bool,
}

impl<A: Real> Part<A> {
    fn new() -> Self {
        Self { at: [0; PART], there: [A::default(); PART], all: false }
    }

    /// Finds the pixels that points are nearest to, in an image of that height and width. `last` becomes the largest number of each
    /// lane.
    #[inline(always)]
    fn find<S: Isa, T: Element<Acc = A>>(
        &mut self,
        isa: S,
        axes: &Axes<A>,
        [height, width]: [usize; 2],
        grid: &Planes<&[T]>,
        points: Range<usize>,
        last: &mut A::V<S>,
    ) {
        let zero = splat(isa, A::default());
        let ([mut x, mut y], mut beyond) = ([[A::default(); PART]; 2], zero);
        load_pairs(isa, grid, points.start, points.len(), [&mut x, &mut y]);
        axes.place(isa, PART, [&mut x, &mut y], [&mut [A::default(); PART], &mut [A::default(); PART]]);
        for k in (0..PART).step_by(lanes_of::<S, A>()) {
            let (x, y) = (nearest_even::<S, A>(isa, lanes(isa, &x, k)), nearest_even::<S, A>(isa, lanes(isa, &y, k)));
            let (in_width, in_height) = (within::<S, A>(isa, x, width), within::<S, A>(isa, y, height));
            let at = number::<S, A>(isa, in_height.and(y), in_width.and(x), width);
            at.store_indices(self.at.get_mut(k..).unwrap_or(&mut []));
            *last = Vector::select(last.lt(at), at, *last);
            let there = in_width.and(in_height);
            put::<S, _, _>(there, &mut self.there, k);
            beyond = beyond.or(Vector::select(there, zero, zero.eq(zero)));
        }
        self.all = !Vector::any(beyond);
    }

    /// Makes what points without a pixel give +0, which changes no sum, because one that starts at +0 never becomes -0.
    #[inline(always)]
    fn clear_absent<S: Isa>(&self, isa: S, terms: &mut [A; PART]) {
        if self.all {
            return;
        }
        for k in (0..PART).step_by(lanes_of::<S, A>()) {
            put::<S, _, _>(lanes(isa, &self.there, k).and(lanes(isa, terms, k)), terms, k);
        }
    }
}

/// Some planes of an image's `input_grad`.
#[derive(Debug)]
pub(crate) struct Nearest<'a, 'b, T: Element> {
    pub(crate) axes: Axes<T::Acc>,
    /// Rows and columns of the image.
    pub(crate) size: [usize; 2],
    pub(crate) points: usize,
    pub(crate) grid: Planes<&'a [T]>,
    pub(crate) grad_output: Planes<&'a [T]>,
    /// The planes `added` of the gradient, to be written.
    pub(crate) input_grad: Packed<&'b mut [T::Acc]>,
    pub(crate) added: Range<usize>,
}

impl<T: Element> Kernel for Nearest<'_, '_, T> {
    /// Whether all that was added is finite: no sum of such terms is a NaN.
    type Output = bool;

    #[inline(always)]
    fn run<S: Isa>(self, isa: S) -> bool {
        let Self { axes, size, points, grid, grad_output, mut input_grad, added } = self;
        let pixels = size[0].wrapping_mul(size[1]);
        let mut zeroed = Zeroed::default();
        let zero = splat(isa, T::Acc::default());
        let (mut found, mut defect) = ([Part::new(); PARTS], zero);
        let mut terms = [[T::Acc::default(); PART]; 2];
        for first in (0..points).step_by(PART * PARTS) {
            let run = first..points.min(first.wrapping_add(PART * PARTS));
            let mut last = zero;
            for (part, points) in found.iter_mut().zip(parts(&run)) {
                part.find(isa, &axes, size, &grid, points, &mut last);
            }
            let new = zeroed.reach::<S, T::Acc>(isa, pixels, last, 1);
            if !new.is_empty() {
                input_grad.zero(added.len(), new);
            }
            let mut rest = &mut *input_grad.data;
            let mut next = || {
                let all = core::mem::take(&mut rest);
                let (plane, others) = all.split_at_mut_checked(input_grad.channel.min(all.len())).unwrap_or_default();
                rest = others;
                plane.get_mut(..pixels).unwrap_or(&mut [])
            };
            for c in added.clone().step_by(2) {
                if c.wrapping_add(1) < added.end {
                    defect = defect + add(isa, &grad_output, c, &run, &found, [next(), next()], &mut terms);
                } else if let Some(one) = terms.first_chunk_mut() {
                    defect = defect + add(isa, &grad_output, c, &run, &found, [next()], one);
                }
            }
        }
        input_grad.zero(added.len(), zeroed.rest(pixels));
        !Vector::any(Vector::select(defect.eq(zero), zero, zero.eq(zero)))
    }
}

impl<A: Real> Packed<&mut [A]> {
    /// Makes a run of pixels of so many planes zeros.
    fn zero(&mut self, count: usize, run: Range<usize>) {
        for plane in self.data.chunks_mut(self.channel.max(1)).take(count) {
            zeroed::zero(&mut [plane], run.clone());
        }
    }
}

/// The parts of a run.
fn parts(run: &Range<usize>) -> impl Iterator<Item = Range<usize>> + use<> {
    let end = run.end;
    run.clone().step_by(PART).map(move |first| first..end.min(first.wrapping_add(PART)))
}

/// Mask of the cells that are pixels of an axis.
#[inline(always)]
fn within<S: Isa, A: Real>(isa: S, cell: A::V<S>, size: usize) -> A::V<S> {
    splat::<S, A>(isa, A::default()).le(cell).and(cell.lt(splat(isa, A::from_usize(size))))
}

/// Adds `grad_output` of a run of points, channels `c` on, to the pixels `at` of as many planes. Gives 0, or NaN where it is not
/// finite.
#[inline(always)]
fn add<S: Isa, T: Element, const C: usize>(
    isa: S,
    grad_output: &Planes<&[T]>,
    c: usize,
    run: &Range<usize>,
    found: &[Part<T::Acc>; PARTS],
    mut planes: [&mut [T::Acc]; C],
    terms: &mut [[T::Acc; PART]; C],
) -> <T::Acc as Real>::V<S> {
    let mut defect = splat(isa, T::Acc::default());
    for (part, points) in found.iter().zip(parts(run)) {
        if !T::IS_HALF && grad_output.channel != 1 {
            // What the processor does not ask for by itself, as each plane begins anew.
            let (from, count) = grad_output.run(&points, PART);
            for c in c.wrapping_add(C)..c.wrapping_add(2 * C) {
                let next = from.wrapping_add(c.wrapping_mul(grad_output.channel));
                prefetch_run(isa, Cache::Level1, grad_output.data, next, count);
            }
        }
        defect = defect + load_channels(isa, grad_output, c, points.clone(), terms);
        for terms in &mut *terms {
            part.clear_absent(isa, terms);
        }
        let count = points.len().min(PART);
        let at = part.at.get(..count).unwrap_or(&[]);
        match (planes.as_mut_slice(), terms.each_ref().map(|terms| terms.get(..count).unwrap_or(&[])).as_slice()) {
            ([plane], [terms]) => {
                for (&at, &term) in at.iter().zip(*terms) {
                    if let Some(sum) = plane.get_mut(at as usize) {
                        *sum = *sum + term;
                    }
                }
            }
            ([a, b], [terms_a, terms_b]) => {
                for ((&at, &term_a), &term_b) in at.iter().zip(*terms_a).zip(*terms_b) {
                    if let (Some(a), Some(b)) = (a.get_mut(at as usize), b.get_mut(at as usize)) {
                        *a = *a + term_a;
                        *b = *b + term_b;
                    }
                }
            }
            _ => {}
        }
    }
    defect
}
