//! Any problem, target and options: a plan covers the outputs, fits the memory and keeps its intermediates apart.
#![no_main]

use arbitrary::{Arbitrary, Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use ubtile_fuzz::generate::{Scale, sensible};
use ubtile_fuzz::plan;
use ubtile_testkit::Description;
use ubtile_tiling::{Edition, Operator, PlanOptions, TargetSpec};

fuzz_target!(|case: Case| {
    let Case { description, small, target, options } = case;
    let Ok(problem) = description.check(None, Edition::Any) else { return };
    plan::check(&problem, &target, &options, small);
});

/// Something to plan.
#[derive(Debug)]
struct Case {
    description: Description,
    /// Whether all tiles can be looked at.
    small: bool,
    target: TargetSpec,
    options: PlanOptions,
}

impl<'a> Arbitrary<'a> for Case {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let operator = *u.choose(&Operator::ALL)?;
        let small = u.ratio(3, 4)?;
        let (target, options) = (plan::target(u)?, plan::options(u)?);
        let description = sensible(u, operator, if small { Scale::Small } else { Scale::Any })?;
        Ok(Self { description, small, target, options })
    }
}
