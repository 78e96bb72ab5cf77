//! Im2colBackward.

use ubtile_kernels::im2col_backward::{self as kernel, Inputs, Outputs};
use ubtile_tiling::im2col_backward::{Desc, check, plan};
use ubtile_tiling::Edition;

use crate::request::{Arena, Call, List, Refusal, Request};

#[inline(never)]
pub(crate) fn serve(request: &mut Request, mut arena: Arena) -> Result<(), Refusal> {
    let dtype = request.dtype()?;
    let out_dtype = request.dtype()?;
    let grad_output = request.tensor(dtype)?;
    let out = request.tensor(out_dtype)?;
    let input_size: List<i64, 4> = request.list(Request::signed)?;
    let kernel_size: List<i64, 4> = request.list(Request::signed)?;
    let dilation: List<i64, 4> = request.list(Request::signed)?;
    let padding: List<i64, 4> = request.list(Request::signed)?;
    let stride: List<i64, 4> = request.list(Request::signed)?;
    let desc = Desc {
        grad_output,
        input_size: &input_size,
        kernel_size: &kernel_size,
        dilation: &dilation,
        padding: &padding,
        stride: &stride,
        out,
    };
    let problem = check(&desc, None, Edition::Any)?;
    let plan = plan(&problem, &request.target(), &request.options())?;

    let level = request.level();
    let inputs = Inputs { grad_output: arena.values(request, dtype)? };
    let outputs = Outputs { out: arena.values_mut(request, out_dtype)? };
    match request.call() {
        Call::Run => kernel::run(&plan, level, inputs, outputs, arena.bytes(request)?)?,
        #[cfg(feature = "slices")]
        Call::Share { phase, share } => kernel::run_share(&plan, level, phase, share, inputs, outputs)?,
        #[cfg(feature = "slices")]
        Call::Tile { phase, share, tile } => {
            let tile = plan.tiles(phase, share).nth(tile).ok_or(Refusal::Malformed)?;
            let sums = arena.values_mut(request, plan.sums().0)?;
            kernel::run_tile(&plan, level, &tile, inputs, outputs, sums)?;
        }
    }
    Ok(())
}
