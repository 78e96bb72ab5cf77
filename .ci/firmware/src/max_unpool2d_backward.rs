//! MaxUnpool2dBackward.

use ubtile_tiling::max_unpool2d_backward::{Desc, check};
use ubtile_tiling::{Dtype, Edition};

use crate::request::{Arena, List, Refusal, Request};

#[inline(never)]
pub(crate) fn serve(request: &mut Request, arena: Arena) -> Result<(), Refusal> {
    let dtype = request.dtype(Dtype::F32);
    let index_dtype = request.dtype(Dtype::I32);
    let out_dtype = request.dtype(Dtype::F32);
    let grad_output = request.tensor(dtype)?;
    let self_tensor = request.tensor(dtype)?;
    let indices = request.tensor(index_dtype)?;
    let out = request.tensor(out_dtype)?;
    let output_size: List<i64, 4> = request.list(Request::signed)?;
    let desc = Desc { grad_output, self_tensor, indices, output_size: &output_size, out };
    let problem = check(&desc, None, Edition::Any)?;
    let _ = (problem, arena);
    Ok(())
}
