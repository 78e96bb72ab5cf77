//! MaxUnpool2dBackward.

use ubtile_tiling::max_unpool2d_backward::{Desc, check};
use ubtile_tiling::{Dtype, Edition};

use crate::request::{Arena, List, Outcome, Request, signed};

#[unsafe(export_name = "serve_max_unpool2d_backward")]
#[inline(never)]
pub(crate) fn serve(request: &mut Request, arena: Arena) -> Outcome {
    outcome(request, arena).unwrap_or(Outcome::Malformed)
}

fn outcome(request: &mut Request, mut arena: Arena) -> Option<Outcome> {
    let grad_output = request.tensor(Dtype::F32)?;
    let self_tensor = request.tensor(Dtype::F32)?;
    let indices = request.tensor(Dtype::I32)?;
    let out = request.tensor(Dtype::F32)?;
    let output_size: List<i64, 4> = request.list(signed);
    let desc = Desc { grad_output, self_tensor, indices, output_size: output_size.as_slice()?, out };
    Some(match check(&desc, None, Edition::Any) {
        Ok(_) => Outcome::Done,
        Err(error) => error.into(),
    })
}
