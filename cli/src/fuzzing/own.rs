//! Trying this project's kernels.

use std::panic::{AssertUnwindSafe, catch_unwind};

use ubtile_kernels::{Level, Parallel, RunError};
use ubtile_testkit::problems::{POISON, output};
use ubtile_testkit::{Data, Rng, bits_equal, expected};
use ubtile_tiling::{PlanOptions, TargetSpec, Tensor, TensorSlot, TilingPlan};

use super::{Case, Finding, Kind, Verdict, Way, judge};
use crate::compute::{Failure, compute};

/// Runs a case and judges it: by the reference, and by what the plainest run gives.
pub(super) fn attempt(case: &Case) -> Verdict {
    let tried = catch_unwind(AssertUnwindSafe(|| try_case(case)));
    tried.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a message");
        Verdict::Wrong(Finding::new(Kind::Panic, text))
    })
}

fn try_case(case: &Case) -> Verdict {
    let Some(got) = run(case, case.way) else { return Verdict::Skipped };
    let wrong = |kind, message: String| Verdict::Wrong(Finding::new(kind, message));
    let outputs = match (got, expected(&case.problem, &case.inputs)) {
        (Ok(outputs), Ok(expected)) => match judge(&outputs, &expected) {
            Some(finding) => return Verdict::Wrong(finding),
            None => outputs,
        },
        (Err(Failure::Run(RunError::NotBuilt { .. })), _) => return Verdict::Skipped,
        (Err(Failure::Run(RunError::Index { position, index, .. })), Err(bad))
            if (position, index) == (bad.position, bad.index) =>
        {
            return Verdict::Fine;
        }
        (Ok(_), Err(bad)) => return wrong(Kind::Error, format!("not refused: {bad}")),
        (Err(failure), Ok(_)) => return wrong(Kind::Error, format!("refused: {failure:?}")),
        (Err(failure), Err(bad)) => return wrong(Kind::Error, format!("{failure:?} instead of: {bad}")),
    };
    let plain = Way { level: Level::scalar(), cores: 1, order: 0, options: PlanOptions::default() };
    let Some(Ok(plain)) = run(case, plain) else {
        return wrong(Kind::Error, "one lane on one core does not compute it".into());
    };
    for ((tensor, got), (_, plain)) in outputs.iter().zip(&plain) {
        if let Err(difference) = bits_equal(got, plain) {
            return wrong(Kind::Bits, format!("{tensor}, and that of one lane on one core: {difference}"));
        }
    }
    Verdict::Fine
}

/// The outputs by name; `None` where there is no such plan.
fn run(case: &Case, way: Way) -> Option<Result<Vec<(Tensor, Data)>, Failure>> {
    let plan = ubtile_tiling::plan(&case.problem, &TargetSpec::host(way.cores), &way.options).ok()?;
    let slots: Vec<_> = case.problem.tensors().collect();
    let mut outputs: Vec<(TensorSlot, Data)> =
        slots.iter().filter(|slot| slot.output).map(|slot| (*slot, output(Some(*slot)))).collect();
    let result = compute_case(&plan, case, way, &slots, &mut outputs);
    Some(result.map(|()| outputs.into_iter().map(|(slot, data)| (slot.tensor, data)).collect()))
}

fn compute_case(
    plan: &TilingPlan,
    case: &Case,
    way: Way,
    slots: &[TensorSlot],
    outputs: &mut [(TensorSlot, Data)],
) -> Result<(), Failure> {
    let tensors = case.inputs.tensors();
    let find = |slot: &TensorSlot| tensors.iter().find(|(tensor, _)| *tensor == slot.tensor);
    let inputs: Vec<_> = slots.iter().filter_map(|slot| Some((*slot, find(slot)?.1.bytes()))).collect();
    let mut outputs: Vec<_> = outputs.iter_mut().map(|(slot, data)| (*slot, data.bytes_mut())).collect();
    let mut workspace = vec![POISON; plan.workspace_bytes()];
    compute(plan, way.level, &Shuffled(way.order), &inputs, &mut outputs, &mut workspace)
}

/// Runs shares one after the other, in an order that the seed tells.
struct Shuffled(u64);

impl Parallel for Shuffled {
    // A function by itself: what may panic here is not to be found in a kernel's, which are proven to call no panic.
    #[inline(never)]
    fn for_each<I, F>(&self, items: I, work: F)
    where
        I: Iterator + Send,
        I::Item: Send,
        F: Fn(I::Item) + Sync,
    {
        let mut items: Vec<_> = items.collect();
        if self.0 != 0 {
            Rng::new(self.0).shuffle(&mut items);
        }
        items.into_iter().for_each(work);
    }
}
