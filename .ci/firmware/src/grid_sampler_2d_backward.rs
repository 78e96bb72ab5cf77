//! GridSampler2DBackward.

use ubtile_tiling::grid_sampler_2d_backward::{Desc, check};
use ubtile_tiling::{Dtype, Edition};

use crate::request::{Arena, List, Outcome, Request, signed};

#[unsafe(export_name = "serve_grid_sampler_2d_backward")]
#[inline(never)]
pub(crate) fn serve(request: &mut Request, arena: Arena) -> Outcome {
    outcome(request, arena).unwrap_or(Outcome::Malformed)
}

fn outcome(request: &mut Request, mut arena: Arena) -> Option<Outcome> {
    let grad_output = request.tensor(Dtype::F32)?;
    let input = request.tensor(Dtype::F32)?;
    let grid = request.tensor(Dtype::F32)?;
    let input_grad = request.tensor(Dtype::F32)?;
    let grid_grad = request.tensor(Dtype::F32)?;
    let output_mask: List<bool, 4> = request.list(|word| word != 0);
    let desc = Desc {
        grad_output,
        input,
        grid,
        input_grad,
        grid_grad,
        interpolation: signed(request.word()),
        padding_mode: signed(request.word()),
        align_corners: request.flag(),
        output_mask: output_mask.as_slice()?,
    };
    Some(match check(&desc, None, Edition::Any) {
        Ok(_) => Outcome::Done,
        Err(error) => error.into(),
    })
}
