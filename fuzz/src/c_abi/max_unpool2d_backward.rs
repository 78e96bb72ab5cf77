//! MaxUnpool2dBackward in C.

use ubtile_capi::max_unpool2d_backward::{
    MaxUnpoolBuffers, MaxUnpoolDesc, MaxUnpoolTiling, UBTILE_MAX_UNPOOL2D_BACKWARD_STORED_BYTES,
    ubtile_max_unpool2d_backward_load, ubtile_max_unpool2d_backward_phases, ubtile_max_unpool2d_backward_plan,
    ubtile_max_unpool2d_backward_run, ubtile_max_unpool2d_backward_run_share, ubtile_max_unpool2d_backward_shares,
    ubtile_max_unpool2d_backward_store, ubtile_max_unpool2d_backward_tiles,
};
use ubtile_capi::{Input, Output};
use ubtile_testkit::Description;
use ubtile_tiling::Tensor;

use super::{Api, tensor};

/// Its functions.
pub const API: Api<MaxUnpoolDesc, MaxUnpoolTiling, MaxUnpoolBuffers> = Api {
    plan: ubtile_max_unpool2d_backward_plan,
    store: ubtile_max_unpool2d_backward_store,
    load: ubtile_max_unpool2d_backward_load,
    phases: ubtile_max_unpool2d_backward_phases,
    shares: ubtile_max_unpool2d_backward_shares,
    tiles: ubtile_max_unpool2d_backward_tiles,
    run: ubtile_max_unpool2d_backward_run,
    run_share: ubtile_max_unpool2d_backward_run_share,
    stored_bytes: UBTILE_MAX_UNPOOL2D_BACKWARD_STORED_BYTES,
    desc,
    no_desc: MaxUnpoolDesc::default,
    no_plan: || MaxUnpoolTiling { opaque: [0; _] },
    tensors: &[Tensor::GradOutput, Tensor::Indices, Tensor::Out],
    buffers,
};

fn desc(description: &Description) -> Option<MaxUnpoolDesc> {
    Some(MaxUnpoolDesc {
        grad_output: tensor(description.tensor(Tensor::GradOutput)),
        self_tensor: tensor(description.tensor(Tensor::SelfTensor)),
        indices: tensor(description.tensor(Tensor::Indices)),
        out: tensor(description.tensor(Tensor::Out)),
        output_size: description.attributes[0].as_slice().try_into().ok()?,
    })
}

fn buffers(inputs: &[Input], outputs: &[Output], workspace: Output) -> MaxUnpoolBuffers {
    MaxUnpoolBuffers { grad_output: inputs[0], indices: inputs[1], out: outputs[0], workspace }
}
