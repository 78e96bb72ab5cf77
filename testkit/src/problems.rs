//! Problems in one line: a struct of everything that describes one, with small defaults.
//!
//! ```
//! use ubtile_testkit::problems::{Im2col, Layout};
//!
//! let problem = Im2col { w: 17, padding: [0, 1], inputs: Layout::ChannelsLast, ..Default::default() }.problem();
//! assert_eq!(problem.columns, [4, 18]);
//! ```
//!
//! `desc()` gives what a caller would say, with attributes as lists that a test may spoil before it has them checked.

mod grid_sampler_2d_backward;
mod im2col_backward;
mod max_unpool2d_backward;
mod replication_pad2d_backward;

use ubtile_tiling::{Dtype, TensorDesc, TensorSlot};

pub use grid_sampler_2d_backward::{GridSampler, GridSamplerDesc, grid_sampler_inputs};
pub use im2col_backward::{Im2col, Im2colDesc, im2col_inputs, im2col_tile_input};
pub use max_unpool2d_backward::{MaxUnpool, MaxUnpoolDesc, max_unpool_inputs};
pub use replication_pad2d_backward::{ReplicationPad, ReplicationPadDesc, replication_pad_inputs};

use crate::data::Data;
use crate::generate::desc_of;

/// Where the elements of a tensor lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// One after the other.
    #[default]
    Contiguous,
    /// A gap after each row, plane and so on.
    Pitched,
    /// A gap after each element.
    Spread,
    /// The second dimension is innermost.
    ChannelsLast,
    /// The last dimension but one is innermost.
    Transposed,
    /// All images are the same one; for inputs only.
    Repeated,
    /// Everything along the second dimension is the same; for inputs only.
    Expanded,
}

impl Layout {
    /// Layouts that an output can have.
    pub const OUTPUT: [Self; 5] = [Self::Contiguous, Self::Pitched, Self::Spread, Self::ChannelsLast, Self::Transposed];
    /// Layouts that an input can have.
    pub const INPUT: [Self; 7] = [
        Self::Contiguous,
        Self::Pitched,
        Self::Spread,
        Self::ChannelsLast,
        Self::Transposed,
        Self::Repeated,
        Self::Expanded,
    ];

    /// A tensor of that layout.
    ///
    /// # Panics
    /// If it has too many dimensions or reaches beyond memory.
    #[must_use]
    pub fn desc(self, dtype: Dtype, shape: &[usize]) -> TensorDesc {
        let mut order: Vec<_> = (0..shape.len()).rev().collect();
        if self == Self::ChannelsLast {
            order.retain(|&dim| dim != 1);
            order.insert(0, 1);
        }
        if self == Self::Transposed && order.len() > 1 {
            order.swap(0, 1);
        }
        let mut step = if self == Self::Spread { 2 } else { 1 };
        let mut strides = vec![0; shape.len()];
        for dim in order {
            strides[dim] = step;
            step = step * shape[dim].max(1) + if self == Self::Pitched { 3 } else { 0 };
        }
        let same = match self {
            Self::Repeated => strides.first_mut(),
            Self::Expanded => strides.get_mut(1),
            _ => None,
        };
        if let Some(same) = same {
            *same = 0;
        }
        TensorDesc::strided(dtype, shape, &strides).expect("the rank is legal")
    }
}

/// The byte that [`output`] fills with: as a float an unlikely result, as a gap easy to recognise.
pub const POISON: u8 = 0xa5;

/// An output tensor to be written: full of [`POISON`], so that elements that stay unwritten show, and gaps that do not stay so.
///
/// # Panics
/// If the operator has no such tensor.
#[must_use]
pub fn output(slot: Option<TensorSlot>) -> Data {
    Data::filled(desc_of(slot), POISON)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts() {
        let strides = |layout: Layout| layout.desc(Dtype::F32, &[2, 3, 4, 5]).strides.as_slice().to_vec();
        assert_eq!(strides(Layout::Contiguous), [60, 20, 5, 1]);
        assert_eq!(strides(Layout::Pitched), [(8 * 4 + 3) * 3 + 3, 8 * 4 + 3, 8, 1]);
        assert_eq!(strides(Layout::Spread), [120, 40, 10, 2]);
        assert_eq!(strides(Layout::ChannelsLast), [60, 1, 15, 3]);
        assert_eq!(strides(Layout::Transposed), [60, 20, 1, 4]);
        assert_eq!(strides(Layout::Repeated), [0, 20, 5, 1]);
        assert_eq!(strides(Layout::Expanded), [60, 0, 5, 1]);
        let row = Layout::Expanded.desc(Dtype::F32, &[7]);
        assert_eq!(row.strides.as_slice(), [1]);
    }

    #[test]
    fn every_layout_passes_the_check() {
        for inputs in Layout::INPUT {
            for outputs in Layout::OUTPUT {
                let _ = Im2col { inputs, outputs, ..Default::default() }.problem();
                let _ = MaxUnpool { inputs, outputs, ..Default::default() }.problem();
                let _ = ReplicationPad { inputs, outputs, ..Default::default() }.problem();
                let _ = GridSampler { inputs, outputs, ..Default::default() }.problem();
            }
        }
    }
}
