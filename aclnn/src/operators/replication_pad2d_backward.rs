//! aclnnReplicationPad2dBackward.

use ubtile_kernels::Level;
use ubtile_kernels::replication_pad2d_backward::{Inputs, Outputs, run_parallel};
use ubtile_tiling::replication_pad2d_backward::{Desc, Plan, check};
use ubtile_tiling::{ContractError as Error, Problem, Tensor, replication_pad2d_backward as pad};

use super::{Elements, failed};
use crate::argument::{Argument, integers, refused};
use crate::executor::{Prepared, planned};
use crate::failure::Outcome;
use crate::soc::Known;
use crate::threads::Threads;

/// The handles of a call, in the order of the parameters.
pub(crate) struct Handles {
    pub(crate) grad_output: usize,
    pub(crate) self_tensor: usize,
    pub(crate) padding: usize,
    pub(crate) grad_input: usize,
}

/// A checked call of either two-dimensional padding.
pub(super) struct Checked {
    pub(super) arguments: Vec<Argument>,
    pub(super) padding: Vec<i64>,
    pub(super) problem: pad::Problem,
}

impl Handles {
    /// What both paddings check.
    pub(super) fn check(&self, known: &Known) -> Outcome<Checked> {
        let grad_output = Argument::input("gradOutput", Tensor::GradOutput, self.grad_output)?;
        let self_tensor = Argument::input("self", Tensor::SelfTensor, self.self_tensor)?;
        let padding = integers("padding", self.padding)?;
        let grad_input = Argument::output("gradInput", Tensor::GradInput, self.grad_input)?;
        let desc = Desc {
            grad_output: grad_output.desc()?,
            self_tensor: self_tensor.desc()?,
            padding: &padding,
            grad_input: grad_input.desc()?,
        };
        let arguments = vec![grad_output, self_tensor, grad_input];
        let checked = check(&desc, Some(known.product), known.edition);
        formats(&arguments, &checked)?;
        let problem = checked.map_err(refused)?;
        Ok(Checked { arguments, padding, problem })
    }
}

/// All tensors have the same format, and not one that only the vendor's kernels use. That comes behind dtypes and in front of shapes.
pub(super) fn formats(arguments: &[Argument], checked: &Result<pad::Problem, Error>) -> Outcome {
    if let Err(Error::Product { .. } | Error::Dtype { .. } | Error::DtypeMismatch { .. }) = checked {
        return Ok(());
    }
    arguments.iter().try_for_each(Argument::public_format)?;
    arguments.iter().skip(1).zip(arguments).try_for_each(|(argument, before)| argument.format_of(before))
}

/// Phase 1.
pub(crate) fn prepare(handles: &Handles, known: &Known) -> Outcome<Prepared> {
    let Checked { arguments, problem, .. } = handles.check(known)?;
    Ok(Prepared { arguments, work: planned(Problem::ReplicationPad2dBackward(problem), known)? })
}

/// The kernel.
pub(super) fn run(
    plan: &Plan,
    level: Level,
    threads: Threads,
    mut elements: Elements<'_>,
    workspace: &mut [u8],
) -> Outcome {
    let inputs = Inputs { grad_output: elements.read(Tensor::GradOutput)? };
    let outputs = Outputs { grad_input: elements.write(Tensor::GradInput)? };
    run_parallel(plan, level, &threads, inputs, outputs, workspace).map_err(failed)
}
