//! Executors: what phase 1 decides, and how phase 2 runs it on a stream.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use ubtile_kernels::Level;
use ubtile_sim::aclnn::{Device, GraphError, graph};
use ubtile_tiling::{PlanOptions, Problem, Status, TargetSpec, TensorSlot, plan};

use crate::argument::Argument;
use crate::client::Out;
use crate::context;
use crate::device;
use crate::failure::{Failure, Outcome, code};
use crate::memory::{Place, Region};
use crate::monitor::Monitor;
use crate::operators::Work;
use crate::profile::{self, Profiled};
use crate::registry::Registry;
use crate::run::{Bound, run};
use crate::shared::Shared;
use crate::soc::{self, Known};
use crate::stream::Task;
use crate::threads::Threads;

static EXECUTORS: Registry<Executor> = Registry::new("aclOpExecutor");

/// Value of `ACL_OPT_DETERMINISTIC`.
const DETERMINISTIC: i32 = 0;

/// What an operator's phase 1 has found out.
pub(crate) struct Prepared {
    /// The tensors in the order of the parameters.
    pub(crate) arguments: Vec<Argument>,
    pub(crate) work: Work,
}

/// A checked call, ready to run.
struct Executor {
    /// The function that may run it: the operator's phase 2.
    operator: &'static str,
    workspace: usize,
    repeatable: AtomicBool,
    /// Whether the deterministic mode was on.
    deterministic: bool,
    arguments: Monitor<Vec<Argument>>,
    work: Shared<Work>,
}

/// Phase 1: stores the size of the workspace and an executor for what `prepare` finds. Neither is touched when it fails.
pub(crate) fn phase_1(
    operator: &'static str,
    workspace_size: *mut u64,
    executor: *mut usize,
    prepare: impl FnOnce(&Known) -> Outcome<Prepared>,
) -> Outcome {
    let workspace_size = Out::new("workspaceSize", workspace_size, code::PARAM_NULLPTR)?;
    let executor = Out::new("executor", executor, code::PARAM_NULLPTR)?;
    let chosen = soc::chosen().map_err(|failure| failure.coded(code::PARAM_INVALID))?;
    // As in the vendor's library the option's absence counts as off.
    let deterministic = context::option(DETERMINISTIC).or_else(|_| device::process_option(DETERMINISTIC));
    let deterministic = deterministic == Ok(1);
    let device = chosen.known.device.map(|device| Device { deterministic, ..device });
    let Prepared { arguments, work } = prepare(&Known { device, ..chosen.known })?;
    let bytes = work.workspace();
    let made = Executor {
        operator,
        workspace: bytes,
        repeatable: AtomicBool::new(false),
        deterministic,
        arguments: Monitor::new(arguments),
        work: Shared::new(work),
    };
    executor.set(EXECUTORS.insert(made));
    workspace_size.set(bytes as u64);
    Ok(())
}

/// What a sensible problem becomes: nothing, or the workspace that the vendor's phase 1 asks for and a plan for this machine
/// that fits it. Where that workspace is unknown it is the plan's own.
pub(crate) fn planned(problem: Problem, known: &Known) -> Outcome<Work> {
    let workspace = workspace_of(&problem, known)?;
    if problem.early_success().is_some() {
        return Ok(Work::Nothing);
    }
    let options = PlanOptions { workspace_limit: workspace, local_bytes: None };
    let threads = Threads::available().busy_with(&problem);
    let plan = plan(&problem, &TargetSpec::host(threads.count()), &options);
    let plan = plan.map_err(|e| Failure::new(Status::InnerTilingError.code(), e.to_string()))?;
    let workspace = workspace.unwrap_or(plan.workspace_bytes());
    Ok(Work::Plan { plan: Box::new(plan), workspace })
}

/// Bytes that the vendor's phase 1 asks for; `None` where something that this depends on is unknown of the product.
pub(crate) fn workspace_of(problem: &Problem, known: &Known) -> Outcome<Option<usize>> {
    let failed = |e: GraphError| {
        let status =
            if matches!(e, GraphError::Refused { .. }) { code::PARAM_INVALID } else { code::INNER_TILING_ERROR };
        Failure::new(status, e.to_string())
    };
    let &Known { product, edition, device } = known;
    let Some(device) = device else {
        let refused = || failed(GraphError::Refused { operator: problem.operator(), product });
        return problem.vendor_route(product, edition).map(|_| None).ok_or_else(refused);
    };
    let bytes = graph(problem, &device).map_err(failed)?.bytes();
    usize::try_from(bytes).map(Some).map_err(|_| failed(GraphError::TooLarge))
}

/// Phase 2: puts the work of an executor on a stream. An executor that is not repeatable is used up.
pub(crate) fn phase_2(operator: &'static str, workspace: usize, size: u64, executor: usize, stream: usize) -> Outcome {
    let found = EXECUTORS.get("executor", executor, code::PARAM_NULLPTR, code::PARAM_INVALID)?;
    let invalid = |message: String| Failure::new(code::PARAM_INVALID, message);
    if found.operator != operator {
        return Err(invalid(format!("executor belongs to {}", found.operator)));
    }
    if size > 0 && workspace == 0 {
        found.used_up(executor)?;
        return Err(Failure::new(code::PARAM_NULLPTR, format!("workspace is null and workspaceSize is {size}")));
    }
    if size < found.workspace as u64 {
        return Err(invalid(format!("workspaceSize is {size}: phase 1 asked for {}", found.workspace)));
    }
    let stream = context::stream(stream).map_err(|failure| failure.coded(code::RUNTIME_ERROR))?;
    let bound = found.bind()?;
    let workspace = match found.workspace {
        0 => None,
        bytes => {
            let region = Region::new("workspace", workspace, bytes, Place::Device);
            Some(region.map_err(|failure| failure.coded(code::PARAM_INVALID))?)
        }
    };
    found.used_up(executor)?;
    let profiled = profile::asked(operator, &found.work, found.deterministic);
    if matches!(*found.work, Work::Nothing) && profiled.is_none() {
        return Ok(());
    }
    // The processor is asked once: under a hypervisor that takes as long as a small kernel.
    static LEVEL: OnceLock<Level> = OnceLock::new();
    let (work, level) = (found.work.clone(), *LEVEL.get_or_init(Level::detect));
    let task = move || {
        let ran = run(&work, level, bound, workspace);
        profiled.iter().for_each(Profiled::write);
        ran.map_err(|f| Failure { message: format!("{operator}: {}", f.message), ..f })
    };
    stream.submit(Task::Work(Box::new(task))).map_err(|failure| failure.coded(code::RUNTIME_ERROR))
}

impl Executor {
    /// The memory of all tensors that the work reads or writes.
    fn bind(&self) -> Outcome<Vec<Bound>> {
        let arguments = self.arguments.lock();
        let bind = |argument: &Argument| {
            let slot: TensorSlot = self.work.slot(argument.tensor)?;
            let region = argument.region(slot.dtype.size(), slot.span);
            Some(region.map(|region| Bound { slot, region }))
        };
        arguments.iter().filter_map(bind).collect()
    }

    /// Lets the executor go, unless it may be used again. Where two threads use it, one of them has it first.
    fn used_up(&self, handle: usize) -> Outcome {
        if self.repeatable.load(Ordering::Relaxed) {
            return Ok(());
        }
        EXECUTORS.remove("executor", handle, code::PARAM_INVALID).map(drop)
    }
}

/// Lets an executor be used more than once.
pub(crate) fn set_repeatable(executor: usize) -> Outcome {
    let executor = EXECUTORS.get("executor", executor, code::PARAM_NULLPTR, code::PARAM_INVALID)?;
    executor.repeatable.store(true, Ordering::Relaxed);
    Ok(())
}

/// Ends an executor.
pub(crate) fn destroy(executor: usize) -> Outcome {
    EXECUTORS.get("executor", executor, code::PARAM_NULLPTR, code::PARAM_INVALID)?;
    EXECUTORS.remove("executor", executor, code::PARAM_INVALID).map(drop)
}

/// Which tensors an index counts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Among {
    /// All tensors of a call, in the order of the parameters.
    All,
    Inputs,
    Outputs,
}

/// Lets a tensor of an executor's next runs lie elsewhere.
pub(crate) fn set_address(executor: usize, among: Among, index: usize, address: usize) -> Outcome {
    let executor = EXECUTORS.get("executor", executor, code::PARAM_NULLPTR, code::PARAM_INVALID)?;
    if !executor.repeatable.load(Ordering::Relaxed) {
        return Err(Failure::new(
            code::PARAM_INVALID,
            "executor is not repeatable: aclSetAclOpExecutorRepeatable comes first",
        ));
    }
    let mut arguments = executor.arguments.lock();
    let counted = |argument: &&mut Argument| match among {
        Among::All => true,
        Among::Inputs => !argument.output,
        Among::Outputs => argument.output,
    };
    let count = arguments.iter_mut().filter(counted).count();
    let argument = arguments.iter_mut().filter(counted).nth(index);
    let none = || Failure::new(code::PARAM_INVALID, format!("index is {index}: there are {count} such tensors"));
    argument.ok_or_else(none)?.set_address(address);
    Ok(())
}

#[cfg(test)]
mod tests {
    use ubtile_sim::product::Soc;
    use ubtile_tiling::{Dtype, Edition, Product, TensorDesc, im2col_backward};

    use super::*;

    /// The model asks for workspace that ubtile's own plan does not take.
    #[test]
    fn without_a_model_the_workspace_is_the_plans() {
        let desc = im2col_backward::Desc {
            grad_output: TensorDesc::contiguous(Dtype::F16, &[4, 4]).unwrap(),
            input_size: &[3, 3],
            kernel_size: &[2, 2],
            dilation: &[1, 1],
            padding: &[0, 0],
            stride: &[1, 1],
            out: TensorDesc::contiguous(Dtype::F16, &[1, 3, 3]).unwrap(),
        };
        let problem = Problem::Im2colBackward(im2col_backward::check(&desc, None, Edition::Any).unwrap());
        let workspace = |product, device| {
            planned(problem, &Known { product, edition: Edition::Any, device }).map(|work| work.workspace())
        };
        let device = Device::of(&Soc::builtin("Ascend910B1").unwrap()).ok();
        assert!(workspace(Product::AtlasA2, device).is_ok_and(|bytes| bytes > 0));
        assert_eq!(workspace(Product::AtlasA2, None), Ok(0));
        assert_eq!(workspace(Product::AtlasInference, None).map_err(|failure| failure.code), Err(code::PARAM_INVALID));
    }
}
