//! Where cells a stride apart find the windows of one tap, along one axis.

use ubtile_tiling::im2col_backward::Geometry;

/// The windows that hold cells `first`, `first` + stride, ... at one row or column of the kernel: neighbouring cells are in neighbouring
/// windows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reach {
    /// The window of the first of the cells; wraps where that is in front of the first window.
    pub(super) window: usize,
    /// The cells that have one, counted by themselves; there may be fewer.
    pub(super) from: usize,
    pub(super) to: usize,
}

impl Reach {
    /// Of a row of the kernel, `axis` 0, or a column, 1; `None` where the tap lies on other cells.
    #[inline(always)]
    pub(super) fn new(g: &Geometry, axis: usize, first: usize, tap: usize) -> Option<Self> {
        // Cell k is in window k + (first + padding - offset) / stride.
        let (place, offset) = (first.wrapping_add(g.padding[axis]), tap.wrapping_mul(g.dilation[axis].get()));
        let (distance, stride) = (place.abs_diff(offset), g.stride[axis]);
        if distance % stride != 0 {
            return None;
        }
        let windows = distance / stride;
        Some(if place >= offset {
            Self { window: windows, from: 0, to: g.columns[axis].saturating_sub(windows) }
        } else {
            Self { window: windows.wrapping_neg(), from: windows, to: g.columns[axis].wrapping_add(windows) }
        })
    }
}
