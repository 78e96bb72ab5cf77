//! GridSampler2DBackward.

use ubtile_kernels::grid_sampler_2d_backward::{self as kernel, Inputs, Outputs};
use ubtile_tiling::grid_sampler_2d_backward::{Desc, check, plan};
use ubtile_tiling::Edition;

use crate::request::{Arena, Call, List, Refusal, Request};

#[inline(never)]
pub(crate) fn serve(request: &mut Request, mut arena: Arena) -> Result<(), Refusal> {
    let dtype = request.dtype()?;
    let grad_output = request.tensor(dtype)?;
    let input = request.tensor(dtype)?;
    let grid = request.tensor(dtype)?;
    let input_grad = request.tensor(dtype)?;
    let grid_grad = request.tensor(dtype)?;
    let output_mask: List<bool, 4> = request.list(Request::flag)?;
    let desc = Desc {
        grad_output,
        input,
        grid,
        input_grad,
        grid_grad,
        interpolation: request.signed(),
        padding_mode: request.signed(),
        align_corners: request.flag(),
        output_mask: &output_mask,
    };
    let problem = check(&desc, None, Edition::Any)?;
    let plan = plan(&problem, &request.target(), &request.options())?;

    let level = request.level();
    let inputs = Inputs {
        grad_output: arena.values(request, dtype)?,
        input: arena.values(request, dtype)?,
        grid: arena.values(request, dtype)?,
    };
    let outputs =
        Outputs { input_grad: arena.values_mut(request, dtype)?, grid_grad: arena.values_mut(request, dtype)? };
    match request.call() {
        Call::Run => kernel::run(&plan, level, inputs, outputs, arena.bytes(request)?)?,
        #[cfg(feature = "slices")]
        Call::Share { phase, share } => {
            let memory = kernel::ShareMemory {
                scratch: arena.bytes(request)?,
                write: arena.bytes(request)?,
                read: arena.bytes(request)?,
            };
            let input_grad = [
                outputs.input_grad,
                arena.values_mut(request, dtype)?,
                arena.values_mut(request, dtype)?,
                arena.values_mut(request, dtype)?,
            ];
            let outputs = kernel::ShareOutputs { input_grad, grid_grad: outputs.grid_grad };
            kernel::run_share(&plan, level, phase, share, inputs, outputs, memory)?;
        }
        #[cfg(feature = "slices")]
        Call::Tile { phase, share, tile } => {
            let tile = plan.tiles(phase, share).nth(tile).ok_or(Refusal::Malformed)?;
            let boxes = kernel::TileBoxes {
                grad_output: inputs.grad_output,
                input: inputs.input,
                grid: inputs.grid,
                input_grad: outputs.input_grad,
                input_grad_sums: arena.values_mut(request, plan.sums_dtype())?,
                grid_grad: outputs.grid_grad,
                totals: arena.values_mut(request, plan.sums_dtype())?,
            };
            kernel::run_tile(&plan, level, &tile, boxes)?;
        }
    }
    Ok(())
}
