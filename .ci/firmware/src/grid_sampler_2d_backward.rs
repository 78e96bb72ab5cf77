//! GridSampler2DBackward.

use ubtile_tiling::grid_sampler_2d_backward::{Desc, check};
use ubtile_tiling::{Dtype, Edition};

use crate::request::{Arena, List, Refusal, Request};

#[inline(never)]
pub(crate) fn serve(request: &mut Request, arena: Arena) -> Result<(), Refusal> {
    let dtype = request.dtype(Dtype::F32);
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
    let _ = (problem, arena);
    Ok(())
}
