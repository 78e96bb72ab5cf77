//! MaxUnpool2dBackward.

use ubtile_kernels::max_unpool2d_backward::{self as kernel, Inputs, Outputs};
use ubtile_tiling::max_unpool2d_backward::{Desc, check, plan};
use ubtile_tiling::Edition;

use crate::request::{Arena, Call, List, Refusal, Request};

#[inline(never)]
pub(crate) fn serve(request: &mut Request, mut arena: Arena) -> Result<(), Refusal> {
    let dtype = request.dtype()?;
    let index_dtype = request.dtype()?;
    let out_dtype = request.dtype()?;
    let grad_output = request.tensor(dtype)?;
    let self_tensor = request.tensor(dtype)?;
    let indices = request.tensor(index_dtype)?;
    let out = request.tensor(out_dtype)?;
    let output_size: List<i64, 4> = request.list(Request::signed)?;
    let desc = Desc { grad_output, self_tensor, indices, output_size: &output_size, out };
    let problem = check(&desc, None, Edition::Any)?;
    let plan = plan(&problem, &request.target(), &request.options())?;

    let level = request.level();
    let inputs = Inputs { grad_output: arena.values(request, dtype)?, indices: arena.values(request, index_dtype)? };
    let outputs = Outputs { out: arena.values_mut(request, out_dtype)? };
    match request.call() {
        Call::Run => kernel::run(&plan, level, inputs, outputs, arena.bytes(request)?)?,
        #[cfg(feature = "slices")]
        Call::Share { phase, share } => kernel::run_share(&plan, level, phase, share, inputs, outputs)?,
        #[cfg(feature = "slices")]
        Call::Tile { phase, share, tile } => {
            let tile = plan.tiles(phase, share).nth(tile).ok_or(Refusal::Malformed)?;
            kernel::run_tile(&plan, level, &tile, inputs, outputs)?;
        }
    }
    Ok(())
}
