//! Copies of strided inputs change no bit, are made by any number of shares, and need their workspace.

#[path = "../common/mod.rs"]
mod common;
mod grid_sampler_2d_backward;
mod im2col_backward;
mod max_unpool2d_backward;
mod replication_pad2d_backward;

use std::ops::Range;

use ubtile_kernels::ValuesMut;
use ubtile_testkit::Data;
use ubtile_testkit::problems::Layout;
use ubtile_tiling::{PlanOptions, Staging, TensorDesc};

const FAR: [Layout; 2] = [Layout::ChannelsLast, Layout::Transposed];
const LIMITED: PlanOptions = PlanOptions { workspace_limit: Some(0), local_bytes: None };

/// Makes the copy share by share, the last one first.
fn copy_by_shares(staging: &Staging, mut stage: impl FnMut(usize, ValuesMut<'_>)) -> Data {
    let desc = TensorDesc::contiguous(staging.slot.dtype, staging.slot.shape.as_slice()).unwrap();
    let mut copy = Data::filled(desc, 0x5a);
    let size = staging.plane() * staging.slot.dtype.size();
    for share in (0..staging.shares).rev() {
        let planes = staging.planes(share);
        let part = &mut copy.bytes_mut()[planes.start * size..planes.end * size];
        stage(share, ValuesMut::from_bytes(staging.slot.dtype, part).unwrap());
    }
    copy
}

/// Some elements of a tensor.
fn elements<'a>(data: &'a mut Data, range: &Range<usize>) -> ValuesMut<'a> {
    let (dtype, size) = (data.dtype(), data.dtype().size());
    let bytes = &mut data.bytes_mut()[range.start * size..range.end * size];
    ValuesMut::from_bytes(dtype, bytes).unwrap()
}
