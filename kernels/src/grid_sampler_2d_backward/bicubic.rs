//! Bicubic interpolation: the sixteen pixels around a point, their weights, and how the weights change as the point moves.

use core::ops::{Add, Mul, Sub};

use ubtile_tiling::grid_sampler_2d_backward::{PaddingMode, Problem};

use super::cells::{CHUNK, Cells, Each, lanes, lanes_of, put};
use super::coordinates::{is_somewhere, splat};
use super::windows::{ABSENT, Window};
use crate::simd::{Isa, Real};

/// Weights of the four pixels along an axis, and their slopes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keys<A> {
    pub(crate) weights: [A; 4],
    pub(crate) slopes: [A; 4],
}

/// An axis of an image, and what shows beyond its ends.
#[derive(Clone, Copy, Debug)]
struct PaddedAxis {
    size: i64,
    padding_mode: PaddingMode,
    align_corners: bool,
}

/// Bicubic sampling of an image.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bicubic {
    x: PaddedAxis,
    y: PaddedAxis,
}

impl Bicubic {
    pub(crate) fn new(problem: &Problem) -> Self {
        let axis = |size: usize| PaddedAxis {
            // As many pixels as an address space has.
            size: i64::try_from(size).unwrap_or(i64::MAX),
            padding_mode: problem.padding_mode,
            align_corners: problem.align_corners,
        };
        Self { x: axis(problem.wi), y: axis(problem.hi) }
    }

    /// Whether any row of pixels of point `k` of a chunk is in a window.
    #[inline(never)]
    pub(crate) fn reaches<A: Real>(&self, cells: &Cells<A>, k: usize, window: &Window) -> bool {
        first_of(cells, k).is_some_and(|[y, _]| self.y.pixels(y).iter().any(|&y| window.row(y as isize) < ABSENT))
    }

    /// Offsets of the pixels of a point, row by row, from the row and column of the [first](first_of).
    #[inline(always)]
    pub(crate) fn offsets(&self, [y, x]: [isize; 2], window: &Window) -> [usize; 16] {
        let (rows, columns) = (self.y.pixels(y), self.x.pixels(x));
        let mut offsets = [ABSENT; 16];
        for (offsets, &y) in offsets.as_chunks_mut::<4>().0.iter_mut().zip(&rows) {
            let row = window.row(y as isize);
            for (offset, &x) in offsets.iter_mut().zip(&columns) {
                *offset = row.wrapping_add(window.column(x as isize));
            }
        }
        offsets
    }
}

/// Row and column of the first of the pixels of point `k` of a chunk, as if there were no border; `None` where it mixes none. Cells are
/// from -2^31 on, so in 32 bits what lies before the first of them wraps to a place where no image has a pixel.
#[inline(always)]
pub(crate) fn first_of<A: Real>(cells: &Cells<A>, k: usize) -> Option<[isize; 2]> {
    let (x, y) = (*cells.x.cell.get(k)?, *cells.y.cell.get(k)?);
    (is_somewhere(x) && is_somewhere(y)).then(|| [y.to_isize().wrapping_sub(1), x.to_isize().wrapping_sub(1)])
}

/// Weights of the pixels, row by row.
#[inline(always)]
pub(crate) fn weights<A: Real>(columns: &Keys<A>, rows: &Keys<A>) -> [A; 16] {
    let mut weights = [A::default(); 16];
    for (weights, &row) in weights.as_chunks_mut::<4>().0.iter_mut().zip(&rows.weights) {
        for (weight, &column) in weights.iter_mut().zip(&columns.weights) {
            *weight = column * row;
        }
    }
    weights
}

impl PaddedAxis {
    /// What shows at four places from the first on.
    #[inline(always)]
    fn pixels(&self, first: isize) -> [i64; 4] {
        // Of the cell behind it, which does not wrap.
        let first = (first.wrapping_add(1) as i64).saturating_sub(1);
        let mut pixels = [first, first.saturating_add(1), first.saturating_add(2), first.saturating_add(3)];
        if first < 0 || first.saturating_add(3) >= self.size {
            for pixel in &mut pixels {
                *pixel = self.pixel(*pixel);
            }
        }
        pixels
    }

    /// The pixel that position `at` shows; one that no image has where it shows none.
    fn pixel(&self, at: i64) -> i64 {
        let last = self.size.saturating_sub(1);
        // Where there is a period, it is not 0.
        let mirrored = |period: i64, turn: i64| {
            let at = at.checked_rem_euclid(period).unwrap_or(0);
            at.min(turn.saturating_sub(at))
        };
        match self.padding_mode {
            PaddingMode::Zeros => at,
            PaddingMode::Border => at.min(last).max(0),
            PaddingMode::Reflection if self.align_corners => {
                let turn = last.saturating_mul(2);
                mirrored(turn, turn)
            }
            PaddingMode::Reflection => {
                let period = self.size.saturating_mul(2);
                mirrored(period, period.saturating_sub(1))
            }
        }
    }
}

/// The keys of the columns and of the rows of point `k` of a chunk.
#[inline(always)]
pub(crate) fn keys_of<A: Real>(cells: &Cells<A>, k: usize) -> Option<[Keys<A>; 2]> {
    Some([keys(*cells.x.after.get(k)?, quarters), keys(*cells.y.after.get(k)?, quarters)])
}

impl<A: Real> Keys<Each<A>> {
    /// At the distances of a chunk of points.
    #[inline(always)]
    pub(crate) fn of_each<S: Isa>(isa: S, after: &Each<A>) -> Self {
        let none = [[A::default(); CHUNK]; 4];
        let mut each = Self { weights: none, slopes: none };
        for k in (0..CHUNK).step_by(lanes_of::<S, A>()) {
            let these = keys(
                lanes(isa, after, k),
                #[inline(always)]
                |n| splat(isa, quarters::<A>(n)),
            );
            for (all, these) in [(&mut each.weights, these.weights), (&mut each.slopes, these.slopes)] {
                for (all, these) in all.iter_mut().zip(these) {
                    put::<S, _, _>(these, all, k);
                }
            }
        }
        each
    }

    /// Those of point `k`.
    #[inline(always)]
    pub(crate) fn at(&self, k: usize) -> Keys<A> {
        let mut one = Keys { weights: [A::default(); 4], slopes: [A::default(); 4] };
        for (all, one) in [(&self.weights, &mut one.weights), (&self.slopes, &mut one.slopes)] {
            for (all, one) in all.iter().zip(one) {
                *one = all.get(k).copied().unwrap_or_default();
            }
        }
        one
    }
}

/// Keys' kernel with A = -0.75 at the distances `t + 1`, `t`, `1 - t`, `2 - t`, of numbers whose quarters `F` gives.
#[inline(always)]
fn keys<V, F>(t: V, quarters: F) -> Keys<V>
where
    V: Copy + Add<Output = V> + Sub<Output = V> + Mul<Output = V>,
    F: Fn(usize) -> V,
{
    let of = Polynomials(quarters);
    let (one, two) = ((of.0)(4), (of.0)(8));
    let (before, near, far) = (t + one, one - t, two - t);
    // A product, as a difference from 0 is never -0.
    let minus = (of.0)(0) - one;
    Keys {
        weights: [of.outer(before), of.inner(t), of.inner(near), of.outer(far)],
        slopes: [of.outer_slope(before), of.inner_slope(t), minus * of.inner_slope(near), minus * of.outer_slope(far)],
    }
}

/// The four polynomials of a distance, from what gives quarters of numbers.
struct Polynomials<F>(F);

impl<V, F> Polynomials<F>
where
    V: Copy + Add<Output = V> + Sub<Output = V> + Mul<Output = V>,
    F: Fn(usize) -> V,
{
    /// `((A + 2) d - (A + 3)) d d + 1`.
    #[inline(always)]
    fn inner(&self, d: V) -> V {
        (((self.0)(5) * d - (self.0)(9)) * d) * d + (self.0)(4)
    }

    /// `((A d - 5 A) d + 8 A) d - 4 A`.
    #[inline(always)]
    fn outer(&self, d: V) -> V {
        (((self.0)(15) - (self.0)(3) * d) * d - (self.0)(24)) * d + (self.0)(12)
    }

    /// `(3 (A + 2) d - 2 (A + 3)) d`.
    #[inline(always)]
    fn inner_slope(&self, d: V) -> V {
        ((self.0)(15) * d - (self.0)(18)) * d
    }

    /// `(3 A d - 10 A) d + 8 A`.
    #[inline(always)]
    fn outer_slope(&self, d: V) -> V {
        ((self.0)(30) - (self.0)(9) * d) * d - (self.0)(24)
    }
}

/// `n / 4`.
#[inline(always)]
fn quarters<A: Real>(n: usize) -> A {
    A::from_usize(n) * A::HALF * A::HALF
}
