//! Where the gradients of points go: to the tensor, or to sums over blocks of channels.

use core::ops::Range;

use super::cells::{Axes, CHUNK, Cells, Sums};
use super::planes::Planes;
use crate::element::Element;
use crate::level::Kernel;
use crate::simd::Isa;

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
    /// Adds the sums over a block of `count` points from `at` on, and writes the gradients when they are complete.
    #[inline(always)]
    pub(crate) fn put(&mut self, cells: &Cells<T::Acc>, at: usize, count: usize, sums: &Sums<T::Acc>) {
        let mut totals = self.totals.get_mut(at..).unwrap_or(&mut []).iter_mut();
        let multipliers = cells.x.multiplier.iter().zip(&cells.y.multiplier);
        for (k, (&[x, y], (&mx, &my))) in sums.iter().zip(multipliers).enumerate().take(count) {
            let (mut x, mut y) = (x, y);
            if let Some([total_x, total_y]) = totals.next() {
                if !self.first {
                    (x, y) = (*total_x + x, *total_y + y);
                }
                (*total_x, *total_y) = (x, y);
            }
            if self.last {
                self.out.set_pair(at.wrapping_add(k), T::narrow(mx * x), T::narrow(my * y));
            }
        }
    }
}

/// Adds the blocks' parts of the gradients of some points of an image.
#[derive(Debug)]
pub(crate) struct Combine<'a, T: Element> {
    pub(crate) axes: Axes<T::Acc>,
    pub(crate) grid: Planes<&'a [T]>,
    pub(crate) points: Range<usize>,
    /// A run of all the image's points for each block; empty where all gradients are 0.
    pub(crate) parts: &'a [[T::Acc; 2]],
    pub(crate) points_of_image: usize,
    pub(crate) grid_grad: GridGrad<'a, T>,
}

impl<T: Element> Kernel for Combine<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Isa>(mut self, isa: S) {
        for first in self.points.clone().step_by(CHUNK) {
            let count = self.points.end.wrapping_sub(first).min(CHUNK);
            let cells = self.axes.cells(isa, &self.grid, first, count);
            let mut sums = [[T::Acc::default(); 2]; CHUNK];
            for part in self.parts.chunks_exact(self.points_of_image.max(1)) {
                for ([x, y], &[part_x, part_y]) in sums.iter_mut().zip(part.get(first..).unwrap_or(&[])).take(count) {
                    (*x, *y) = (*x + part_x, *y + part_y);
                }
            }
            self.grid_grad.put(&cells, first, count, &sums);
        }
    }
}
