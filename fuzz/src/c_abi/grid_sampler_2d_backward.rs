//! GridSampler2DBackward in C.

use ubtile_capi::grid_sampler_2d_backward::{
    GridSamplerBuffers, GridSamplerDesc, GridSamplerTiling, UBTILE_GRID_SAMPLER_2D_BACKWARD_STORED_BYTES,
    ubtile_grid_sampler_2d_backward_load, ubtile_grid_sampler_2d_backward_phases, ubtile_grid_sampler_2d_backward_plan,
    ubtile_grid_sampler_2d_backward_run, ubtile_grid_sampler_2d_backward_run_share,
    ubtile_grid_sampler_2d_backward_shares, ubtile_grid_sampler_2d_backward_store,
    ubtile_grid_sampler_2d_backward_tiles,
};
use ubtile_capi::{Input, Output};
use ubtile_testkit::Description;
use ubtile_tiling::Tensor;

use super::{Api, tensor};

/// Its functions.
pub const API: Api<GridSamplerDesc, GridSamplerTiling, GridSamplerBuffers> = Api {
    plan: ubtile_grid_sampler_2d_backward_plan,
    store: ubtile_grid_sampler_2d_backward_store,
    load: ubtile_grid_sampler_2d_backward_load,
    phases: ubtile_grid_sampler_2d_backward_phases,
    shares: ubtile_grid_sampler_2d_backward_shares,
    tiles: ubtile_grid_sampler_2d_backward_tiles,
    run: ubtile_grid_sampler_2d_backward_run,
    run_share: ubtile_grid_sampler_2d_backward_run_share,
    stored_bytes: UBTILE_GRID_SAMPLER_2D_BACKWARD_STORED_BYTES,
    desc,
    no_desc: GridSamplerDesc::default,
    no_plan: || GridSamplerTiling { opaque: [0; _] },
    tensors: &[Tensor::GradOutput, Tensor::Input, Tensor::Grid, Tensor::InputGrad, Tensor::GridGrad],
    buffers,
};

fn desc(description: &Description) -> Option<GridSamplerDesc> {
    let mask: [bool; 2] = description.output_mask.as_slice().try_into().ok()?;
    Some(GridSamplerDesc {
        grad_output: tensor(description.tensor(Tensor::GradOutput)),
        input: tensor(description.tensor(Tensor::Input)),
        grid: tensor(description.tensor(Tensor::Grid)),
        input_grad: tensor(description.tensor(Tensor::InputGrad)),
        grid_grad: tensor(description.tensor(Tensor::GridGrad)),
        interpolation: *description.attributes[0].first()?,
        padding_mode: *description.attributes[1].first()?,
        align_corners: description.align_corners,
        output_mask: mask,
    })
}

fn buffers(inputs: &[Input], outputs: &[Output], workspace: Output) -> GridSamplerBuffers {
    GridSamplerBuffers {
        grad_output: inputs[0],
        input: inputs[1],
        grid: inputs[2],
        input_grad: outputs[0],
        grid_grad: outputs[1],
        workspace,
    }
}
