//! Where the rows of cells find their windows: once for all planes.

use ubtile_tiling::im2col_backward::Geometry;

use super::TAPS;

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
    pub(super) fn new(g: &Geometry, rest: usize) -> Self {
        let mut found = Self::default();
        for i in 0..g.kernel[0].get() {
            // Row m finds window m + (rest + padding - offset) / stride.
            let (place, offset) = (rest.wrapping_add(g.padding[0]), i.wrapping_mul(g.dilation[0].get()));
            let distance = place.abs_diff(offset);
            if distance % g.stride[0] != 0 {
                continue;
            }
            let windows = distance / g.stride[0];
            let (before, from, to) = if place >= offset {
                (windows, 0, g.columns[0].saturating_sub(windows))
            } else {
                (windows.wrapping_neg(), windows, g.columns[0].wrapping_add(windows))
            };
            let taps = i.wrapping_mul(g.kernel[1].get()).wrapping_mul(g.grad_output_strides[1]);
            let Some(row) = found.rows.get_mut(found.count) else { break };
            *row = KernelRow { at: taps.wrapping_add(before.wrapping_mul(g.columns[1])), from, to };
            found.count = found.count.wrapping_add(1);
        }
        found
    }

    pub(super) fn rows(&self) -> &[KernelRow] {
        self.rows.get(..self.count).unwrap_or(&[])
    }
}
