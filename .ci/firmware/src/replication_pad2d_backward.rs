//! ReplicationPad2dBackward.

use ubtile_tiling::replication_pad2d_backward::{Desc, check};
use ubtile_tiling::{Dtype, Edition};

use crate::request::{Arena, List, Outcome, Request, signed};

#[unsafe(export_name = "serve_replication_pad2d_backward")]
#[inline(never)]
pub(crate) fn serve(request: &mut Request, arena: Arena) -> Outcome {
    outcome(request, arena).unwrap_or(Outcome::Malformed)
}

fn outcome(request: &mut Request, mut arena: Arena) -> Option<Outcome> {
    let grad_output = request.tensor(Dtype::F32)?;
    let self_tensor = request.tensor(Dtype::F32)?;
    let grad_input = request.tensor(Dtype::F32)?;
    let padding: List<i64, 8> = request.list(signed);
    let desc = Desc { grad_output, self_tensor, padding: padding.as_slice()?, grad_input };
    Some(match check(&desc, None, Edition::Any) {
        Ok(_) => Outcome::Done,
        Err(error) => error.into(),
    })
}
