//! aclnnReplicationPad1dBackward: replication padding of images that are one row high.

use ubtile_tiling::replication_pad2d_backward::{Desc, check};
use ubtile_tiling::{Problem, Tensor, TensorDesc};

use super::replication_pad2d_backward::{Handles, formats};
use crate::argument::{Argument, integers, refused};
use crate::executor::{Prepared, planned};
use crate::failure::{Failure, Outcome, code};
use crate::soc::Known;

/// Phase 1. Tensors are `[C, W]` or `[N, C, W]`, `padding` is left and right.
pub(crate) fn prepare(handles: &Handles, known: &Known) -> Outcome<Prepared> {
    let grad_output = Argument::input("gradOutput", Tensor::GradOutput, handles.grad_output)?;
    let self_tensor = Argument::input("self", Tensor::SelfTensor, handles.self_tensor)?;
    let padding = integers("padding", handles.padding)?;
    let grad_input = Argument::output("gradInput", Tensor::GradInput, handles.grad_input)?;
    let &[left, right] = padding.as_slice() else {
        return Err(invalid(format!("padding has {} values: 2 are required", padding.len())));
    };
    let desc = Desc {
        grad_output: one_row(&grad_output)?,
        self_tensor: one_row(&self_tensor)?,
        padding: &[left, right, 0, 0],
        grad_input: one_row(&grad_input)?,
    };
    let arguments = vec![grad_output, self_tensor, grad_input];
    let checked = check(&desc, Some(known.product), known.edition);
    formats(&arguments, &checked)?;
    // The rules speak of images.
    let shape = if desc.grad_output.shape.as_slice().len() == 3 { "[C, 1, W]" } else { "[N, C, 1, W]" };
    let named = |f: Failure| {
        let message = f.message.replace("ReplicationPad2d", "ReplicationPad1d");
        Failure { message: format!("read as {shape}: {message}"), ..f }
    };
    let problem = checked.map_err(refused).map_err(named)?;
    Ok(Prepared { arguments, work: planned(Problem::ReplicationPad2dBackward(problem), known)? })
}

/// The same tensor with a dimension of size 1 before the last.
fn one_row(argument: &Argument) -> Outcome<TensorDesc> {
    let TensorDesc { dtype, shape, strides } = argument.desc()?;
    let (mut shape, mut strides) = (shape.as_slice().to_vec(), strides.as_slice().to_vec());
    let rank = shape.len();
    if !(2..=3).contains(&rank) {
        return Err(invalid(format!("{} has {rank} dimensions: 2 or 3 are required", argument.name)));
    }
    shape.insert(rank - 1, 1);
    strides.insert(rank - 1, 0);
    TensorDesc::strided(dtype, &shape, &strides).map_err(|e| invalid(format!("{}: {e}", argument.name)))
}

fn invalid(message: String) -> Failure {
    Failure::new(code::PARAM_INVALID, message)
}
