//! ReplicationPad2dBackward.

use ubtile_kernels::replication_pad2d_backward::{self as kernel, Inputs, Outputs};
use ubtile_tiling::replication_pad2d_backward::{Desc, check, plan};
use ubtile_tiling::Edition;

use crate::request::{Arena, Call, List, Refusal, Request};

#[inline(never)]
pub(crate) fn serve(request: &mut Request, mut arena: Arena) -> Result<(), Refusal> {
    let dtype = request.dtype()?;
    let grad_output = request.tensor(dtype)?;
    let self_tensor = request.tensor(dtype)?;
    let grad_input = request.tensor(dtype)?;
    let padding: List<i64, 8> = request.list(Request::signed)?;
    let desc = Desc { grad_output, self_tensor, padding: &padding, grad_input };
    let problem = check(&desc, None, Edition::Any)?;
    let plan = plan(&problem, &request.target(), &request.options())?;

    let level = request.level();
    let inputs = Inputs { grad_output: arena.values(request, dtype)? };
    let outputs = Outputs { grad_input: arena.values_mut(request, dtype)? };
    match request.call() {
        Call::Run => kernel::run(&plan, level, inputs, outputs, arena.bytes(request)?)?,
        #[cfg(feature = "slices")]
        Call::Share { phase, share } => kernel::run_share(&plan, level, phase, share, inputs, outputs)?,
        #[cfg(feature = "slices")]
        Call::Tile { phase, share, tile } => {
            let tile = plan.tiles(phase, share).nth(tile).ok_or(Refusal::Malformed)?;
            let sums = arena.values_mut(request, plan.sums_dtype())?;
            kernel::run_tile(&plan, level, &tile, inputs, outputs, sums)?;
        }
    }
    Ok(())
}
