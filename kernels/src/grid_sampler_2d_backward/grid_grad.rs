//! Where the gradients of points go: to the tensor, or to sums over blocks of channels.

use super::cells::{Cells, Sums, lanes, lanes_of, put};
use super::dispatch_points;
use super::planes::Planes;
use crate::element::Element;
use crate::level::{Kernel, Level, VECTORS};
use crate::simd::{Isa, Vector};

/// The gradient of one image's grid.
#[derive(Debug)]
pub(crate) struct GridGrad<'a, T: Element> {
    /// `[points, 2]`; a point's x and y are `channel` apart.
    pub(crate) out: Planes<&'a mut [T]>,
    /// Each point's sum over the blocks until now; empty where one block is all.
    pub(crate) totals: &'a mut [[T::Acc; 2]],
    /// Whether this is the image's first block of channels, so that there is no sum yet.
    pub(crate) first: bool,
    /// Whether it is the last one, so that the gradient is complete.
    pub(crate) last: bool,
}

impl<T: Element> GridGrad<'_, T> {
    /// Adds the sums over a block of the points from `at` on, and writes the gradients when they are complete.
    pub(crate) fn put(&mut self, level: Level, cells: &Cells<T::Acc>, at: usize, sums: &mut Sums<T::Acc>) {
        dispatch_points(level, Put { grid_grad: self, cells, at, sums });
    }
}

/// As [`GridGrad::put`].
#[derive(Debug)]
pub(crate) struct Put<'a, 'b, T: Element> {
    pub(crate) grid_grad: &'a mut GridGrad<'b, T>,
    pub(crate) cells: &'a Cells<T::Acc>,
    pub(crate) at: usize,
    pub(crate) sums: &'a mut Sums<T::Acc>,
}

impl<T: Element> Kernel for Put<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Isa>(self, isa: S) {
        let Self { grid_grad, cells, at, sums: [x, y] } = self;
        let totals = grid_grad.totals.get_mut(at..).unwrap_or(&mut []);
        for ((x, y), [total_x, total_y]) in x.iter_mut().zip(&mut *y).zip(totals).take(cells.count) {
            if !grid_grad.first {
                (*x, *y) = (*total_x + *x, *total_y + *y);
            }
            (*total_x, *total_y) = (*x, *y);
        }
        if !grid_grad.last {
            return;
        }
        for (sums, axis) in [(&mut *x, &cells.x), (&mut *y, &cells.y)] {
            for k in (0..cells.count).step_by(lanes_of::<S, T::Acc>()) {
                put::<S, _, _>(lanes(isa, &axis.multiplier, k) * lanes(isa, sums, k), sums, k);
            }
        }
        put_pairs(isa, &mut grid_grad.out, at, cells.count, &[*x, *y]);
    }
}

/// Rounds and writes the gradients along x and y of `count` points from `at` on.
#[inline(always)]
pub(crate) fn put_pairs<S: Isa, T: Element, const N: usize>(
    isa: S,
    out: &mut Planes<&mut [T]>,
    at: usize,
    count: usize,
    [x, y]: &[[T::Acc; N]; 2],
) {
    let width = lanes_of::<S, T::Acc>();
    let zero = T::narrow(T::Acc::default());
    if VECTORS && let Some(pairs) = out.pairs_mut(at, count) {
        // Of a whole run the compiler sees the length.
        match pairs.first_chunk_mut::<N>() {
            Some(pairs) => store_together(isa, pairs, [x, y]),
            None => store_together(isa, pairs, [x, y]),
        }
        return;
    }
    if !VECTORS {
        for (k, (x, y)) in x.iter().zip(y).enumerate().take(count) {
            out.set_pair(at.wrapping_add(k), T::narrow(*x), T::narrow(*y));
        }
        return;
    }
    let mut rounded = [[zero; N]; 2];
    for (rounded, values) in rounded.iter_mut().zip([x, y]) {
        for k in (0..count).step_by(width) {
            T::store(isa, lanes(isa, values, k), rounded.get_mut(k..).unwrap_or(&mut []));
        }
    }
    let [x, y] = rounded;
    for (k, (x, y)) in x.into_iter().zip(y).enumerate().take(count) {
        out.set_pair(at.wrapping_add(k), x, y);
    }
}

/// Rounds and writes pairs of x and y, at most `N`.
#[inline(always)]
fn store_together<S: Isa, T: Element, const N: usize>(isa: S, pairs: &mut [[T; 2]], [x, y]: [&[T::Acc; N]; 2]) {
    let width = lanes_of::<S, T::Acc>();
    for k in (0..pairs.len()).step_by(width) {
        let [front, back] = Vector::interleave(isa, [lanes(isa, x, k), lanes(isa, y, k)]);
        let pairs = pairs.get_mut(k..).unwrap_or(&mut []).as_flattened_mut();
        T::store(isa, front, pairs);
        T::store(isa, back, pairs.get_mut(width..).unwrap_or(&mut []));
    }
}
