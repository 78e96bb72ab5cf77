//! Reads what points have: places of the grid, and channels of `grad_output`, points side by side.

use core::ops::Range;

use super::cells::{lanes, lanes_of, put};
use super::coordinates::splat;
use super::planes::Planes;
use crate::element::Element;
use crate::level::VECTORS;
use crate::simd::{Isa, Real, Vector};

/// Reads x and y of `count` points, NaN for those behind them.
#[inline(always)]
pub(crate) fn load_pairs<S: Isa, T: Element, const N: usize>(
    isa: S,
    grid: &Planes<&[T]>,
    first: usize,
    count: usize,
    [x, y]: [&mut [T::Acc; N]; 2],
) {
    if VECTORS && let Some(pairs) = grid.pairs(first, count) {
        // Of a whole run the compiler sees the length.
        match pairs.first_chunk::<N>() {
            Some(pairs) => load_apart(isa, pairs, [&mut *x, &mut *y]),
            None => load_apart(isa, pairs, [&mut *x, &mut *y]),
        }
    } else {
        for (k, (x, y)) in x.iter_mut().zip(y.iter_mut()).enumerate().take(count) {
            let offset = grid.offset(first.wrapping_add(k));
            (*x, *y) = (grid.widen(offset), grid.widen(offset.wrapping_add(grid.channel)));
        }
    }
    for values in [x, y] {
        values.get_mut(count..).unwrap_or(&mut []).fill(T::Acc::NAN);
    }
}

/// Reads x and y of pairs, at most `N`.
#[inline(always)]
fn load_apart<S: Isa, T: Element, const N: usize>(isa: S, pairs: &[[T; 2]], [x, y]: [&mut [T::Acc; N]; 2]) {
    let width = lanes_of::<S, T::Acc>();
    for k in (0..pairs.len()).step_by(width) {
        let pairs = pairs.get(k..).unwrap_or(&[]).as_flattened();
        // Where nothing is left, the end of the pairs, not `&[]`: a masked load at an address without memory is slow.
        let back = pairs.get(width.min(pairs.len())..).unwrap_or(&[]);
        let [xs, ys] = Vector::deinterleave(isa, [T::load(isa, pairs), T::load(isa, back)]);
        put::<S, _, _>(xs, x, k);
        put::<S, _, _>(ys, y, k);
    }
}

/// Reads channels of `points`, at most `N`, from `first` on. Gives 0, or NaN where a value is not finite.
#[inline(always)]
pub(crate) fn load_channels<S: Isa, T: Element, const N: usize>(
    isa: S,
    planes: &Planes<&[T]>,
    first: usize,
    points: Range<usize>,
    to: &mut [[T::Acc; N]],
) -> <T::Acc as Real>::V<S> {
    let zero = splat(isa, T::Acc::default());
    let (mut defect, (at, run)) = (zero, planes.run(&points, N));
    let at = at.wrapping_add(first.wrapping_mul(planes.channel));
    if planes.column == 1 && run == points.len() {
        for (c, to) in to.iter_mut().enumerate() {
            let at = at.wrapping_add(c.wrapping_mul(planes.channel));
            let from = planes.data.get(at..at.wrapping_add(run)).unwrap_or(&[]);
            // Of a whole run the compiler sees the length.
            defect = defect
                + match from.first_chunk::<N>() {
                    Some(from) => load_row(isa, from, to),
                    None => load_row(isa, from, to),
                };
        }
        return defect;
    }
    if planes.channel == 1 && run == points.len() {
        let pixels = planes.data.get(at..).unwrap_or(&[]);
        if (2..=4).contains(&planes.column) && planes.column == to.len() {
            load_whole_pixels(isa, pixels, run, to);
        } else {
            load_pixels(isa.quad(), pixels, planes.column, run, to);
        }
    } else {
        for (c, to) in (first..).zip(&mut *to) {
            for (point, to) in points.clone().zip(to) {
                *to = planes.widen(planes.offset(point).wrapping_add(c.wrapping_mul(planes.channel)));
            }
        }
    }
    for to in to {
        for k in (0..points.len()).step_by(lanes_of::<S, T::Acc>()) {
            defect = defect + lanes(isa, to, k) * zero;
        }
    }
    defect
}

/// Reads `count` pixels, at most `N`, of two to four channels that lie side by side, without gaps.
#[inline(always)]
fn load_whole_pixels<S: Isa, T: Element, const N: usize>(isa: S, pixels: &[T], count: usize, to: &mut [[T::Acc; N]]) {
    let width = lanes_of::<S, T::Acc>();
    for k in (0..count).step_by(width) {
        let pixels = pixels.get(k.wrapping_mul(to.len())..).unwrap_or(&[]);
        match to {
            [a, b] => put_each::<S, _, _, _>(Vector::deinterleave(isa, load_each(isa, pixels)), [a, b], k),
            [a, b, c] => {
                put_each::<S, _, _, _>(Vector::deinterleave_three(isa, load_each(isa, pixels)), [a, b, c], k);
            }
            [a, b, c, d] => {
                put_each::<S, _, _, _>(Vector::deinterleave_four(isa, load_each(isa, pixels)), [a, b, c, d], k);
            }
            _ => {}
        }
    }
}

/// Vectors of values one behind the other.
#[inline(always)]
fn load_each<S: Isa, T: Element, const C: usize>(isa: S, from: &[T]) -> [<T::Acc as Real>::V<S>; C] {
    let mut each = [splat(isa, T::Acc::default()); C];
    for (k, vector) in each.iter_mut().enumerate() {
        *vector = T::load(isa, from.get(k.wrapping_mul(lanes_of::<S, T::Acc>())..).unwrap_or(&[]));
    }
    each
}

/// Sets a vector of the values of points from `k` on in each of some channels.
#[inline(always)]
fn put_each<S: Isa, A: Real, const C: usize, const N: usize>(each: [A::V<S>; C], to: [&mut [A; N]; C], k: usize) {
    for (values, to) in each.into_iter().zip(to) {
        put::<S, _, _>(values, to, k);
    }
}

/// Reads channels of `count` pixels, at most `N`, which lie `step` apart and whose channels lie side by side.
#[inline(always)]
fn load_pixels<S: Isa, T: Element, const N: usize>(
    isa: S,
    pixels: &[T],
    step: usize,
    count: usize,
    to: &mut [[T::Acc; N]],
) {
    let width = lanes_of::<S, T::Acc>();
    for first in (0..to.len()).step_by(width) {
        let (mut pixels, to) = (pixels.get(first..).unwrap_or(&[]), to.get_mut(first..).unwrap_or_default());
        for k in (0..count).step_by(width) {
            Vector::transpose(
                #[inline(always)]
                |_| {
                    let channels = T::load(isa, pixels);
                    pixels = pixels.get(step..).unwrap_or(&[]);
                    channels
                },
                #[inline(always)]
                |c, values| {
                    if let Some(to) = to.get_mut(c) {
                        put::<S, _, _>(values, to, k);
                    }
                },
            );
        }
    }
}

/// Reads values that lie side by side, at most `N`. Gives 0, or NaN where one is not finite.
#[inline(always)]
fn load_row<S: Isa, T: Element, const N: usize>(isa: S, from: &[T], to: &mut [T::Acc; N]) -> <T::Acc as Real>::V<S> {
    let zero = splat(isa, T::Acc::default());
    let mut defect = zero;
    for k in (0..from.len()).step_by(lanes_of::<S, T::Acc>()) {
        let values = T::load(isa, from.get(k..).unwrap_or(&[]));
        defect = defect + values * zero;
        put::<S, _, _>(values, to, k);
    }
    defect
}
