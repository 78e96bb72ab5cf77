//! Shared helpers of the benchmarks: the shapes that are measured, and how a run is checked before it is timed.

use ubtile_kernels::{Values, ValuesMut};
use ubtile_testkit::problems::{GridSampler, Im2col, MaxUnpool, ReplicationPad};
use ubtile_testkit::reference::Expected;
use ubtile_testkit::{Data, compare};
use ubtile_tiling::TensorSlot;

/// Shapes of the grid sampler, with their names.
pub const GRID_SAMPLER: [(&str, [usize; 4]); 4] = [
    ("1x3x512x512", [1, 3, 512, 512]),
    ("4x64x64x64", [4, 64, 64, 64]),
    ("8x256x32x32", [8, 256, 32, 32]),
    ("2x32x256x256", [2, 32, 256, 256]),
];

/// A grid sampler of that `[N, C, H, W]`, for input and output.
#[must_use]
pub fn grid_sampler([n, c, h, w]: [usize; 4]) -> GridSampler {
    GridSampler { n, c, hi: h, wi: w, ho: h, wo: w, ..Default::default() }
}

/// Max unpooling of 56 x 56 to 112 x 112.
#[must_use]
pub fn max_unpool() -> MaxUnpool {
    MaxUnpool { n: 8, c: 64, h: 56, w: 56, out_h: 112, out_w: 112, ..Default::default() }
}

/// A border of one around 56 x 56.
#[must_use]
pub fn replication_pad() -> ReplicationPad {
    ReplicationPad { n: 8, c: 64, h: 56, w: 56, padding: [1, 1, 1, 1], ..Default::default() }
}

/// Windows of 3 x 3 over 56 x 56, with that stride.
#[must_use]
pub fn im2col(stride: usize) -> Im2col {
    let (kernel, padding, stride) = ([3, 3], [1, 1], [stride, stride]);
    Im2col { n: 8, c: 64, h: 56, w: 56, kernel, padding, stride, ..Default::default() }
}

/// Bytes of all tensors of a problem: what a run reads and writes at least.
#[must_use]
pub fn bytes(slots: impl Iterator<Item = TensorSlot>) -> u64 {
    slots.map(|slot| (slot.span * slot.dtype.size()) as u64).sum()
}

/// A tensor as the kernels read it.
///
/// # Panics
/// Never: a tensor of the testkit is aligned and whole.
#[must_use]
pub fn values(data: &Data) -> Values<'_> {
    Values::from_bytes(data.dtype(), data.bytes()).expect("a whole number of aligned elements")
}

/// A tensor as the kernels write it.
///
/// # Panics
/// Never: a tensor of the testkit is aligned and whole.
#[must_use]
pub fn values_mut(data: &mut Data) -> ValuesMut<'_> {
    ValuesMut::from_bytes(data.dtype(), data.bytes_mut()).expect("a whole number of aligned elements")
}

/// Checks a result before its run is timed.
///
/// # Panics
/// If it is wrong.
pub fn check(result: &Data, expected: &Expected) {
    if let Err(mismatch) = compare(result, expected) {
        panic!("a benchmark of a wrong result: {mismatch}");
    }
}
