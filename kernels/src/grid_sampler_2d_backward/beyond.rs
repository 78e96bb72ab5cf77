//! Points that surely mix no row of a band, told by their grid values alone.
//!
//! What becomes of a grid value never falls as it rises, unless it is reflected. So a value that lands a row beyond all that count
//! says the same of those behind it, and where they land need not be computed.

use core::ops::Range;

use ubtile_tiling::grid_sampler_2d_backward::{Interpolation, PaddingMode, Problem};

use super::cells::lanes_of;
use super::coordinates::splat;
use super::planes::Planes;
use crate::element::Element;
use crate::level::Kernel;
use crate::simd::{Isa, Real, Vector};

#[cfg(test)]
mod tests;

/// Up to so many rows all roundings on the way to a row are less than one together.
const MOST_ROWS: usize = 1 << 16;

/// Below the first and above the second of two grid values, of which one is a number at least.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Beyond<A>([A; 2]);

impl<A: Real> Beyond<A> {
    /// Beyond some rows of the image, if any can be told to be.
    pub(crate) fn new(problem: &Problem, rows: &Range<usize>) -> Option<Self> {
        let size = problem.hi;
        if !(2..=MOST_ROWS).contains(&size) || problem.padding_mode == PaddingMode::Reflection {
            return None;
        }
        let value = |row: usize| {
            let twice = A::from_usize(row) + A::from_usize(row);
            if problem.align_corners {
                twice / A::from_usize(size.wrapping_sub(1)) - A::ONE
            } else {
                (twice + A::ONE) / A::from_usize(size) - A::ONE
            }
        };
        // A row more than the farthest that points mix. Where there is none, a border may stand for what is beyond it.
        let reach = if problem.interpolation == Interpolation::Bicubic { 3 } else { 2 };
        let above = rows.start.checked_sub(reach);
        let below = Some(rows.end.wrapping_add(reach)).filter(|&row| row < size);
        let is_any = above.is_some() || below.is_some();
        is_any.then_some(Self([above, below].map(|row| row.map_or(A::NAN, value))))
    }
}

/// Whether all of some points are [`Beyond`]. Not of all for which that holds: they may lie apart, or be no whole number of vectors.
#[derive(Debug)]
pub(crate) struct AreBeyond<'a, 'b, T: Element> {
    pub(crate) beyond: Beyond<T::Acc>,
    pub(crate) grid: &'a Planes<&'b [T]>,
    pub(crate) points: Range<usize>,
}

impl<T: Element> Kernel for AreBeyond<'_, '_, T> {
    type Output = bool;

    #[inline(always)]
    fn run<S: Isa>(self, isa: S) -> bool {
        let Self { beyond: Beyond([low, high]), grid, points } = self;
        let width = lanes_of::<S, T::Acc>();
        let Some(pairs) = grid.pairs(points.start, points.len()).filter(|pairs| pairs.len() % width == 0) else {
            return false;
        };
        let (low, high, zero) = (splat(isa, low), splat(isa, high), splat(isa, T::Acc::default()));
        let mut all = zero.eq(zero);
        for pairs in pairs.chunks_exact(width) {
            let (front, back) = pairs.as_flattened().split_at_checked(width).unwrap_or_default();
            let [_, y] = Vector::deinterleave(isa, [T::load(isa, front), T::load(isa, back)]);
            all = all.and(y.lt(low).or(high.lt(y)));
        }
        !Vector::any(Vector::select(all, zero, zero.eq(zero)))
    }
}
