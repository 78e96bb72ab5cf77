//! Where the gradients of points go: to the tensor, or to sums over blocks of channels.

use super::cells::{Cells, Sums};
use super::planes::Planes;
use crate::element::Element;

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
    pub(crate) fn put(&mut self, cells: &Cells<T::Acc>, at: usize, sums: &mut Sums<T::Acc>) {
        let totals = self.totals.get_mut(at..).unwrap_or(&mut []);
        for ([x, y], [total_x, total_y]) in sums.iter_mut().zip(totals).take(cells.count) {
            if !self.first {
                (*x, *y) = (*total_x + *x, *total_y + *y);
            }
            (*total_x, *total_y) = (*x, *y);
        }
        if !self.last {
            return;
        }
        let multipliers = cells.x.multiplier.iter().zip(&cells.y.multiplier);
        let gradients = sums.iter().zip(multipliers).take(cells.count);
        let gradients = gradients.map(|(&[x, y], (&mx, &my))| [T::narrow(mx * x), T::narrow(my * y)]);
        if let Some(pairs) = self.out.pairs_mut(at, cells.count) {
            pairs.iter_mut().zip(gradients).for_each(|(to, gradient)| *to = gradient);
        } else {
            gradients.enumerate().for_each(|(k, [x, y])| self.out.set_pair(at.wrapping_add(k), x, y));
        }
    }
}
