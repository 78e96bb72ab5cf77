//! The graph of aclnnIm2colBackward: before the 950 its kernel takes and makes NC1HWC0, blocks of 16 channels.

use std::num::NonZeroUsize;

use ubtile_tiling::im2col_backward::Problem;
use ubtile_tiling::{Dtype, Problem as AnyProblem, Tensor, VendorArch};

use super::builder::{Builder, bytes};
use super::device::Device;
use super::graph::GraphError;

/// C0 of NC1HWC0.
const CHANNEL_BLOCK: usize = 16;

/// Bytes that each core takes to wait for the others.
const BARRIER_BYTES: usize = 32;

pub(super) fn build(b: &mut Builder, p: &Problem, device: &Device) -> Result<(), GraphError> {
    let ([kh, kw], [lh, lw]) = (p.kernel.map(NonZeroUsize::get), p.columns);
    let image = [p.n, p.c, p.h, p.w];
    let blocks = p.c.div_ceil(CHANNEL_BLOCK);
    let blocked = device.arch != Some(VendorArch::Dav3510) && !b.inside().layouts;
    let (size, out_size) = (p.dtype.size(), p.out_dtype.size());
    let casts = p.dtype != p.out_dtype;
    let computed = if b.inside().casts { out_size } else { size };

    let mut columns = b.input(p.slot(Tensor::GradOutput));
    let image_blocked = [p.n, blocks, p.h, p.w, CHANNEL_BLOCK];
    if blocked {
        let shape = [p.n, blocks, kh, kw, lh, lw, CHANNEL_BLOCK];
        columns = b.layout("TransData", "grad_output", columns, bytes(&shape, size));
    }
    let made = if blocked { bytes(&image_blocked, computed) } else { bytes(&image, computed) };
    let tiling = device.tiling(&AnyProblem::Im2colBackward(*p), p.dtype)?;
    let [mut out] = b.kernel("Col2im", &[columns], [("out", made)]);
    if let Some(plan) = tiling {
        b.workspace("kernel workspace", plan.kernel_workspace_bytes() as u64);
    } else if p.dtype != Dtype::F32 {
        b.workspace("sums in f32", bytes(&image_blocked, Dtype::F32.size()));
        b.workspace("barrier", bytes(&[device.cores], BARRIER_BYTES));
    }
    if blocked {
        out = b.layout("TransData", "out", out, bytes(&image, computed));
    }
    out = b.cast("out", out, bytes(&image, out_size), casts);
    b.output("out", out);
    Ok(())
}
