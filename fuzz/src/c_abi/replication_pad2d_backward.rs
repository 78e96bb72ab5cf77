//! ReplicationPad2dBackward in C.

use ubtile_capi::replication_pad2d_backward::{
    ReplicationPadBuffers, ReplicationPadDesc, ReplicationPadTiling, UBTILE_REPLICATION_PAD2D_BACKWARD_STORED_BYTES,
    ubtile_replication_pad2d_backward_load, ubtile_replication_pad2d_backward_phases,
    ubtile_replication_pad2d_backward_plan, ubtile_replication_pad2d_backward_run,
    ubtile_replication_pad2d_backward_run_share, ubtile_replication_pad2d_backward_shares,
    ubtile_replication_pad2d_backward_store, ubtile_replication_pad2d_backward_tiles,
};
use ubtile_capi::{Input, Output};
use ubtile_testkit::Description;
use ubtile_tiling::Tensor;

use super::{Api, tensor};

/// Its functions.
pub const API: Api<ReplicationPadDesc, ReplicationPadTiling, ReplicationPadBuffers> = Api {
    plan: ubtile_replication_pad2d_backward_plan,
    store: ubtile_replication_pad2d_backward_store,
    load: ubtile_replication_pad2d_backward_load,
    phases: ubtile_replication_pad2d_backward_phases,
    shares: ubtile_replication_pad2d_backward_shares,
    tiles: ubtile_replication_pad2d_backward_tiles,
    run: ubtile_replication_pad2d_backward_run,
    run_share: ubtile_replication_pad2d_backward_run_share,
    stored_bytes: UBTILE_REPLICATION_PAD2D_BACKWARD_STORED_BYTES,
    desc,
    no_desc: ReplicationPadDesc::default,
    no_plan: || ReplicationPadTiling { opaque: [0; _] },
    tensors: &[Tensor::GradOutput, Tensor::GradInput],
    buffers,
};

fn desc(description: &Description) -> Option<ReplicationPadDesc> {
    Some(ReplicationPadDesc {
        grad_output: tensor(description.tensor(Tensor::GradOutput)),
        self_tensor: tensor(description.tensor(Tensor::SelfTensor)),
        grad_input: tensor(description.tensor(Tensor::GradInput)),
        padding: description.attributes[0].as_slice().try_into().ok()?,
    })
}

fn buffers(inputs: &[Input], outputs: &[Output], workspace: Output) -> ReplicationPadBuffers {
    ReplicationPadBuffers { grad_output: inputs[0], grad_input: outputs[0], workspace }
}
