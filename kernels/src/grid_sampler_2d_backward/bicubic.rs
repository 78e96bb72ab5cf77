//! Bicubic interpolation: the sixteen pixels around a point, their weights, and how the weights change as the point moves.

use ubtile_tiling::grid_sampler_2d_backward::{PaddingMode, Problem};

use super::cells::{ABSENT, Cells, Window};
use super::coordinates::is_somewhere;
use crate::simd::Real;

/// Weights of the four pixels along an axis, and their slopes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keys<A> {
    pub(crate) weights: [A; 4],
    pub(crate) slopes: [A; 4],
}

/// What lies beyond the ends of an axis.
#[derive(Clone, Copy, Debug)]
struct Beyond {
    size: i64,
    padding_mode: PaddingMode,
    align_corners: bool,
}

/// Bicubic sampling of an image.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bicubic {
    x: Beyond,
    y: Beyond,
}

/// The pixels of a point, row by row, as offsets; the weights of columns and rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taps<A> {
    pub(crate) columns: Keys<A>,
    pub(crate) rows: Keys<A>,
    x: [i64; 4],
    y: [i64; 4],
}

impl Bicubic {
    pub(crate) fn new(problem: &Problem) -> Self {
        let beyond = |size: usize| Beyond {
            // As many pixels as an address space has.
            size: i64::try_from(size).unwrap_or(i64::MAX),
            padding_mode: problem.padding_mode,
            align_corners: problem.align_corners,
        };
        Self { x: beyond(problem.wi), y: beyond(problem.hi) }
    }

    /// Whether any row of pixels of point `k` of a chunk is in a window.
    #[inline(never)]
    pub(crate) fn reaches<A: Real>(&self, cells: &Cells<A>, k: usize, window: &Window) -> bool {
        let Some(&y) = cells.y.cell.get(k) else { return false };
        is_somewhere(y) && self.y.pixels(y.to_isize()).iter().any(|&y| window.row(y as isize) < ABSENT)
    }

    /// The pixels of point `k` of a chunk; `None` where it mixes none.
    #[inline(always)]
    pub(crate) fn taps<A: Real>(&self, cells: &Cells<A>, k: usize) -> Option<Taps<A>> {
        let (x, y) = (*cells.x.cell.get(k)?, *cells.y.cell.get(k)?);
        if !is_somewhere(x) || !is_somewhere(y) {
            return None;
        }
        let (columns, rows) = (keys(*cells.x.after.get(k)?), keys(*cells.y.after.get(k)?));
        Some(Taps { columns, rows, x: self.x.pixels(x.to_isize()), y: self.y.pixels(y.to_isize()) })
    }
}

impl<A: Real> Taps<A> {
    /// Offsets of the pixels, row by row.
    #[inline(always)]
    pub(crate) fn offsets(&self, window: &Window) -> [usize; 16] {
        let mut offsets = [ABSENT; 16];
        for (offsets, &y) in offsets.as_chunks_mut::<4>().0.iter_mut().zip(&self.y) {
            let row = window.row(y as isize);
            for (offset, &x) in offsets.iter_mut().zip(&self.x) {
                *offset = row.wrapping_add(window.column(x as isize));
            }
        }
        offsets
    }

    /// Weights of the pixels, row by row.
    #[inline(always)]
    pub(crate) fn weights(&self) -> [A; 16] {
        let mut weights = [A::default(); 16];
        for (weights, &row) in weights.as_chunks_mut::<4>().0.iter_mut().zip(&self.rows.weights) {
            for (weight, &column) in weights.iter_mut().zip(&self.columns.weights) {
                *weight = column * row;
            }
        }
        weights
    }
}

impl Beyond {
    /// The pixels before, at, and two behind the cell.
    #[inline(always)]
    fn pixels(&self, cell: isize) -> [i64; 4] {
        let first = (cell as i64).saturating_sub(1);
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

/// Keys' kernel with A = -0.75 at the distances `t + 1`, `t`, `1 - t`, `2 - t`.
#[inline(always)]
fn keys<A: Real>(t: A) -> Keys<A> {
    let (near, far) = (A::ONE - t, (A::ONE + A::ONE) - t);
    let before = t + A::ONE;
    Keys {
        weights: [outer(before), inner(t), inner(near), outer(far)],
        slopes: [outer_slope(before), inner_slope(t), -inner_slope(near), -outer_slope(far)],
    }
}

/// `n / 4`.
#[inline(always)]
fn quarters<A: Real>(n: usize) -> A {
    A::from_usize(n) * A::HALF * A::HALF
}

/// `((A + 2) d - (A + 3)) d d + 1`.
#[inline(always)]
fn inner<A: Real>(d: A) -> A {
    ((quarters::<A>(5) * d - quarters(9)) * d) * d + A::ONE
}

/// `((A d - 5 A) d + 8 A) d - 4 A`.
#[inline(always)]
fn outer<A: Real>(d: A) -> A {
    ((quarters::<A>(15) - quarters::<A>(3) * d) * d - quarters(24)) * d + quarters(12)
}

/// `(3 (A + 2) d - 2 (A + 3)) d`.
#[inline(always)]
fn inner_slope<A: Real>(d: A) -> A {
    (quarters::<A>(15) * d - quarters(18)) * d
}

/// `(3 A d - 10 A) d + 8 A`.
#[inline(always)]
fn outer_slope<A: Real>(d: A) -> A {
    (quarters::<A>(30) - quarters::<A>(9) * d) * d - quarters(24)
}
