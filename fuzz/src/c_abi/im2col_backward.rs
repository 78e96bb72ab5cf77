//! Im2colBackward in C.

use ubtile_capi::im2col_backward::{
    Im2colBuffers, Im2colDesc, Im2colTiling, UBTILE_IM2COL_BACKWARD_STORED_BYTES, ubtile_im2col_backward_load,
    ubtile_im2col_backward_phases, ubtile_im2col_backward_plan, ubtile_im2col_backward_run,
    ubtile_im2col_backward_run_share, ubtile_im2col_backward_shares, ubtile_im2col_backward_store,
    ubtile_im2col_backward_tiles,
};
use ubtile_capi::{Input, Output};
use ubtile_testkit::Description;
use ubtile_tiling::Tensor;

use super::{Api, tensor};

/// Its functions.
pub const API: Api<Im2colDesc, Im2colTiling, Im2colBuffers> = Api {
    plan: ubtile_im2col_backward_plan,
    store: ubtile_im2col_backward_store,
    load: ubtile_im2col_backward_load,
    phases: ubtile_im2col_backward_phases,
    shares: ubtile_im2col_backward_shares,
    tiles: ubtile_im2col_backward_tiles,
    run: ubtile_im2col_backward_run,
    run_share: ubtile_im2col_backward_run_share,
    stored_bytes: UBTILE_IM2COL_BACKWARD_STORED_BYTES,
    desc,
    no_desc: Im2colDesc::default,
    no_plan: || Im2colTiling { opaque: [0; _] },
    tensors: &[Tensor::GradOutput, Tensor::Out],
    buffers,
};

fn desc(description: &Description) -> Option<Im2colDesc> {
    let pair = |i: usize| description.attributes[i].as_slice().try_into().ok();
    Some(Im2colDesc {
        grad_output: tensor(description.tensor(Tensor::GradOutput)),
        out: tensor(description.tensor(Tensor::Out)),
        input_size: pair(0)?,
        kernel_size: pair(1)?,
        dilation: pair(2)?,
        padding: pair(3)?,
        stride: pair(4)?,
    })
}

fn buffers(inputs: &[Input], outputs: &[Output], workspace: Output) -> Im2colBuffers {
    Im2colBuffers { grad_output: inputs[0], out: outputs[0], workspace }
}
