//! Im2colBackward.

use ubtile_tiling::im2col_backward::{Desc, check, plan};
use ubtile_tiling::{Dtype, Edition};

use crate::request::{Arena, List, Outcome, Request, signed};

#[unsafe(export_name = "serve_im2col_backward")]
#[inline(never)]
pub(crate) fn serve(request: &mut Request, arena: Arena) -> Outcome {
    outcome(request, arena).unwrap_or(Outcome::Malformed)
}

fn outcome(request: &mut Request, mut arena: Arena) -> Option<Outcome> {
    let grad_output = request.tensor(Dtype::F32)?;
    let out = request.tensor(Dtype::F32)?;
    let [input_size, kernel_size, dilation, padding, stride]: [List<i64, 4>; 5] =
        core::array::from_fn(|_| request.list(signed));
    let desc = Desc {
        grad_output,
        input_size: input_size.as_slice()?,
        kernel_size: kernel_size.as_slice()?,
        dilation: dilation.as_slice()?,
        padding: padding.as_slice()?,
        stride: stride.as_slice()?,
        out,
    };
    let problem = match check(&desc, None, Edition::Any) {
        Ok(problem) => problem,
        Err(error) => return Some(error.into()),
    };
    let plan = match plan(&problem, &request.target(), &request.options()) {
        Ok(plan) => plan,
        Err(error) => return Some(error.into()),
    };
    if plan.workspace_bytes() > 3 { request.word(); }
    for phase in 0..request.size() { for share in 0..request.size() {
        for tile in plan.tiles(phase, share) { core::hint::black_box(tile); }
        core::hint::black_box(plan.share_range(phase, share));
    }}
    Some(Outcome::Done)
}
