//! Points that each add to one pixel: those of the nearest interpolation, which have no gradient of their own.
//!
//! Of a run of points it is first found which pixels they are nearest to, and points without one are left out. Then what each gives is
//! added, point by point, which keeps the order of the sums, to one or two planes at a time: two share the numbers of the pixels, and
//! the processor has something to do where one waits for a pixel that was just written.

use core::ops::Range;

use super::beyond::{AreBeyond, Beyond};
use super::cells::{Axes, lanes, lanes_of, put};
use super::coordinates::{nearest_even, splat};
use super::corner::number;
use super::load::{load_channels, load_pairs};
use super::planes::Planes;
use super::zeroed::{Zeroed, zero};
use crate::element::Element;
use crate::level::Kernel;
use crate::simd::{Cache, Isa, Real, Vector, first_lanes, prefetch_run};

/// Points whose values are loaded together; a whole number of vectors at every level.
const PART: usize = 64;
/// Parts of a run: more of them, and a plane is returned to less often.
const PARTS: usize = 8;

/// Most planes that are added to.
pub(crate) const PLANES: usize = 64;

/// Where some points add.
#[derive(Clone, Copy, Debug)]
struct Targets {
    /// The numbers of the pixels of those that have one, one behind the other, in planes that begin with the first row.
    at: [u32; PART],
    /// How many those are.
    count: usize,
    /// Bits of them.
    there: u64,
}

impl Targets {
    const NONE: Self = Self { at: [0; PART], count: 0, there: 0 };

    /// Finds the pixels that points are nearest to, of those `rows` of an image so wide. `last` becomes the largest number of each lane.
    #[inline(always)]
    fn find<S: Isa, T: Element>(
        &mut self,
        isa: S,
        axes: &Axes<T::Acc>,
        (rows, width): (&Range<usize>, usize),
        grid: &Planes<&[T]>,
        points: Range<usize>,
        last: &mut <T::Acc as Real>::V<S>,
    ) {
        let [mut x, mut y, mut numbers] = [[T::Acc::default(); PART]; 3];
        load_pairs(isa, grid, points.start, points.len(), [&mut x, &mut y]);
        axes.place(isa, PART, [&mut x, &mut y], [&mut [T::Acc::default(); PART], &mut [T::Acc::default(); PART]]);
        let first = splat(isa, T::Acc::from_usize(rows.start));
        self.there = 0;
        for k in (0..PART).step_by(lanes_of::<S, T::Acc>()) {
            let x = nearest_even::<S, T::Acc>(isa, lanes(isa, &x, k));
            let y = nearest_even::<S, T::Acc>(isa, lanes(isa, &y, k)) - first;
            let (in_width, in_rows) = (within::<S, T::Acc>(isa, x, width), within::<S, T::Acc>(isa, y, rows.len()));
            let at = number::<S, T::Acc>(isa, in_rows.and(y), in_width.and(x), width);
            put::<S, _, _>(at, &mut numbers, k);
            *last = Vector::select(last.lt(at), at, *last);
            self.there |= u64::from(Vector::bits(in_width.and(in_rows))) << k;
        }
        let all = !u64::MAX.checked_shl(points.len() as u32).unwrap_or(0);
        self.there &= all;
        self.count = self.there.count_ones() as usize;
        if self.there != all {
            self.pick(isa, &mut numbers);
        }
        for k in (0..PART).step_by(lanes_of::<S, T::Acc>()) {
            lanes(isa, &numbers, k).store_indices(self.at.get_mut(k..).unwrap_or(&mut []));
        }
    }

    /// Puts what those that have a pixel give one behind the other.
    #[inline(always)]
    fn pick<S: Isa, A: Real>(&self, isa: S, terms: &mut [A; PART]) {
        let mut to = 0_usize;
        for k in (0..PART).step_by(lanes_of::<S, A>()) {
            let there = (self.there >> k) as u32 & first_lanes(lanes_of::<S, A>());
            // Not behind where they were, so that none is overwritten before it is read.
            lanes(isa, terms, k).compress(there, terms.get_mut(to..).unwrap_or(&mut []));
            to = to.wrapping_add(there.count_ones() as usize);
        }
    }
}

/// Some rows of some planes of an image's `input_grad`.
#[derive(Debug)]
pub(crate) struct Nearest<'a, 'b, 'c, T: Element> {
    pub(crate) axes: Axes<T::Acc>,
    /// Columns of the image.
    pub(crate) width: usize,
    /// The rows of the planes that are there.
    pub(crate) rows: Range<usize>,
    /// What points need not be looked at.
    pub(crate) beyond: Option<Beyond<T::Acc>>,
    pub(crate) points: usize,
    pub(crate) grid: Planes<&'a [T]>,
    pub(crate) grad_output: Planes<&'a [T]>,
    /// The planes of the gradient from channel `first` on, to be written.
    pub(crate) input_grad: &'b mut [&'c mut [T::Acc]],
    pub(crate) first: usize,
}

impl<T: Element> Kernel for Nearest<'_, '_, '_, T> {
    /// Whether all that was added is finite: no sum of such terms is a NaN.
    type Output = bool;

    #[inline(always)]
    fn run<S: Isa>(self, isa: S) -> bool {
        let Self { axes, width, rows, beyond, points, grid, grad_output, input_grad, first: channel } = self;
        let (pixels, mut zeroed) = (rows.len().wrapping_mul(width), Zeroed::default());
        let zeros = splat(isa, T::Acc::default());
        let (mut found, mut defect) = ([Targets::NONE; PARTS], zeros);
        let mut terms = [[T::Acc::default(); PART]; 2];
        for first in (0..points).step_by(PART * PARTS) {
            let run = first..points.min(first.wrapping_add(PART * PARTS));
            let mut last = zeros;
            for (targets, points) in found.iter_mut().zip(parts(&run)) {
                targets.count = 0;
                let is_beyond = |beyond| AreBeyond { beyond, grid: &grid, points: points.clone() }.run(isa);
                if !beyond.is_some_and(is_beyond) {
                    targets.find(isa, &axes, (&rows, width), &grid, points, &mut last);
                }
            }
            zero(input_grad, zeroed.reach::<S, T::Acc>(isa, pixels, last, 1));
            for (c, planes) in (channel..).step_by(2).zip(input_grad.chunks_mut(2)) {
                if let [a, b] = planes {
                    defect = defect + add(isa, &grad_output, c, &run, &found, [a, b], &mut terms);
                } else if let ([one], Some(terms)) = (planes, terms.first_chunk_mut()) {
                    defect = defect + add(isa, &grad_output, c, &run, &found, [one], terms);
                }
            }
        }
        zero(input_grad, zeroed.rest(pixels));
        !Vector::any(Vector::select(defect.eq(zeros), zeros, zeros.eq(zeros)))
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
    found: &[Targets; PARTS],
    mut planes: [&mut [T::Acc]; C],
    terms: &mut [[T::Acc; PART]; C],
) -> <T::Acc as Real>::V<S> {
    let mut defect = splat(isa, T::Acc::default());
    for (targets, points) in found.iter().zip(parts(run)).filter(|(targets, _)| targets.count > 0) {
        if !T::IS_HALF && grad_output.channel != 1 {
            // What the processor does not ask for by itself, as each plane begins anew.
            let (from, count) = grad_output.run(&points, PART);
            for c in c.wrapping_add(C)..c.wrapping_add(2 * C) {
                let next = from.wrapping_add(c.wrapping_mul(grad_output.channel));
                prefetch_run(isa, Cache::Level1, grad_output.data, next, count);
            }
        }
        defect = defect + load_channels(isa, grad_output, c, points.clone(), terms);
        let count = targets.count.min(PART);
        if count < points.len() {
            for terms in &mut *terms {
                targets.pick(isa, terms);
            }
        }
        let at = targets.at.get(..count).unwrap_or(&[]);
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
