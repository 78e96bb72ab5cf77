//! Where the rows of cells find their windows: once for all planes.

use ubtile_tiling::im2col_backward::Geometry;

use super::TAPS;
use super::reach::Reach;

/// A kernel row, as the rows of cells see it whose numbers leave one rest when they are divided by the stride. Neighbours among these
/// find neighbouring windows; they are counted by themselves.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct KernelRow {
    /// Where cell 0 of row 0 would find its window of the first tap, if there were no columns to count; wraps.
    pub(super) at: usize,
    /// The rows that have one.
    pub(super) from: usize,
    pub(super) to: usize,
}

/// The kernel rows that reach the rows of one rest.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct KernelRows {
    rows: [KernelRow; TAPS],
    count: usize,
}

impl KernelRows {
    /// Those of rests 0, 1, ... that there are.
    #[inline(always)]
    pub(super) fn each<const N: usize>(g: &Geometry) -> [Self; N] {
        let mut each = [Self::default(); N];
        for (rest, found) in each.iter_mut().enumerate().take(g.stride[0].get()) {
            for i in 0..g.kernel[0].get() {
                let Some(Reach { window, from, to }) = Reach::new(g, 0, rest, i) else { continue };
                let taps = i.wrapping_mul(g.kernel[1].get()).wrapping_mul(g.grad_output_strides[1]);
                let Some(row) = found.rows.get_mut(found.count) else { break };
                *row = KernelRow { at: taps.wrapping_add(window.wrapping_mul(g.columns[1])), from, to };
                found.count = found.count.wrapping_add(1);
            }
        }
        each
    }

    pub(super) fn rows(&self) -> &[KernelRow] {
        self.rows.get(..self.count).unwrap_or(&[])
    }
}
