//! aclnnMaxUnpool2dBackward.

use ubtile_kernels::max_unpool2d_backward::{Inputs, Outputs, run_parallel};
use ubtile_kernels::{Level, RunError, Values};
use ubtile_tiling::max_unpool2d_backward::{self, Desc, Plan, check};
use ubtile_tiling::{Dtype, Edition, PlanOptions, Problem, Tensor, TensorDesc};

use super::{Elements, failed, misplaced};
use crate::argument::{Argument, integers, refused};
use crate::executor::{Prepared, planned};
use crate::failure::{Failure, Outcome, code};
use crate::soc::Known;
use crate::threads::Threads;

/// The handles of a call, in the order of the parameters.
pub(crate) struct Handles {
    pub(crate) grad_output: usize,
    pub(crate) self_tensor: usize,
    pub(crate) indices: usize,
    pub(crate) output_size: usize,
    pub(crate) out: usize,
}

/// Phase 1.
pub(crate) fn prepare(handles: &Handles, known: &Known) -> Outcome<Prepared> {
    let grad_output = Argument::input("gradOutput", Tensor::GradOutput, handles.grad_output)?;
    let self_tensor = Argument::input("self", Tensor::SelfTensor, handles.self_tensor)?;
    let indices = Argument::input("indices", Tensor::Indices, handles.indices)?;
    let output_size = integers("outputSize", handles.output_size)?;
    let out = Argument::output("out", Tensor::Out, handles.out)?;
    let desc = Desc {
        grad_output: grad_output.desc()?,
        self_tensor: self_tensor.desc()?,
        indices: indices.desc()?,
        output_size: &output_size,
        out: out.desc()?,
    };
    let problem = check(&desc, Some(known.product), known.edition).map_err(refused)?;
    let work = planned(Problem::MaxUnpool2dBackward(problem), known)?;
    Ok(Prepared { arguments: vec![grad_output, self_tensor, indices, out], work })
}

/// The kernel. An index of at least -A and below 0, where A are the cells of a plane, counts from the plane's end.
pub(super) fn run(
    plan: &Plan,
    level: Level,
    threads: Threads,
    mut elements: Elements<'_>,
    workspace: &mut [u8],
) -> Outcome {
    let problem = plan.problem();
    let cells = problem.out_h.saturating_mul(problem.out_w);
    let out = elements.write(Tensor::Out)?;
    let grad_output = elements.read(Tensor::GradOutput)?;
    let mut plan = plan;
    let long_plan: Plan;
    let counted: Vec<i32>;
    let counted_long: Vec<i64>;
    let indices = match elements.read(Tensor::Indices)? {
        // The last cells of a larger plane lie beyond what I32 counts to.
        Values::I32(indices) if indices.iter().any(|&index| index < 0) && cells > i32::MAX as usize => {
            counted_long = copied(indices, |index| from_end(index.into(), cells).unwrap_or(index.into()))?;
            long_plan = with_long_indices(plan, workspace.len())?;
            plan = &long_plan;
            Values::I64(&counted_long)
        }
        Values::I32(indices) if indices.iter().any(|&index| index < 0) => {
            let from_end = |index: i32| from_end(index.into(), cells).and_then(|index| index.try_into().ok());
            counted = copied(indices, |index| from_end(index).unwrap_or(index))?;
            Values::I32(&counted)
        }
        Values::I64(indices) if indices.iter().any(|&index| index < 0) => {
            counted_long = copied(indices, |index| from_end(index, cells).unwrap_or(index))?;
            Values::I64(&counted_long)
        }
        indices => indices,
    };
    let ran = run_parallel(plan, level, &threads, Inputs { grad_output, indices }, Outputs { out }, workspace);
    ran.map_err(|error| match error {
        RunError::Index { position, index, .. } => {
            let least = format!("an index into this plane is at least -{cells} and below {cells}");
            Failure::new(code::RUNTIME_ERROR, format!("indices[{position}] is {index}: {least}"))
        }
        error => failed(error),
    })
}

/// A negative index as one from the start, where it is in the plane.
fn from_end(index: i64, cells: usize) -> Option<i64> {
    let counted = index.checked_add_unsigned(cells as u64)?;
    (index < 0 && counted >= 0).then_some(counted)
}

/// The plan of the same problem with indices of I64.
fn with_long_indices(plan: &Plan, workspace: usize) -> Outcome<Plan> {
    let problem = plan.problem();
    let desc = |tensor| {
        let slot = problem.slot(tensor);
        let desc = slot.map(|s| TensorDesc::strided(s.dtype, s.shape.as_slice(), s.strides.as_slice()));
        desc.and_then(Result::ok).ok_or_else(|| misplaced(tensor))
    };
    let (grad_output, out) = (desc(Tensor::GradOutput)?, desc(Tensor::Out)?);
    let desc = Desc {
        grad_output,
        self_tensor: TensorDesc { dtype: grad_output.dtype, ..out },
        indices: TensorDesc { dtype: Dtype::I64, ..desc(Tensor::Indices)? },
        output_size: &[problem.out_h, problem.out_w].map(|size| size as i64),
        out,
    };
    let problem = check(&desc, None, Edition::Any).map_err(refused)?;
    let options = PlanOptions { workspace_limit: Some(workspace), local_bytes: None };
    let plan = max_unpool2d_backward::plan(&problem, plan.target(), &options);
    plan.map_err(|e| Failure::new(code::INNER_TILING_ERROR, e.to_string()))
}

fn copied<T: Copy, U>(indices: &[T], change: impl Fn(T) -> U) -> Outcome<Vec<U>> {
    let mut copy = Vec::new();
    let none = |_| Failure::new(code::RT_MEMORY_ALLOCATION, "no host memory for a copy of indices");
    copy.try_reserve_exact(indices.len()).map_err(none)?;
    copy.extend(indices.iter().map(|&index| change(index)));
    Ok(copy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_from_the_end() {
        assert_eq!(from_end(-1, 6), Some(5));
        assert_eq!(from_end(-6, 6), Some(0));
        assert_eq!(from_end(-7, 6), None);
        assert_eq!(from_end(0, 6), None);
        assert_eq!(from_end(i64::MIN, 6), None);
    }
}
