//! Why a tiling of the vendor's is what it is, and the same with fewer elements at a time.

use ubtile_testkit::problems::{GridSampler, ReplicationPad};
use ubtile_tiling::{Bound, Dtype, Operator, PlanError, Problem, VendorArch, VendorMachine, VendorPlan, vendor_plan};

const SYSTEM: usize = 16 << 20;
const MACHINE: VendorMachine =
    VendorMachine { arch: VendorArch::Dav2201, vector_cores: 40, ub_bytes: 192 << 10, deterministic: false };

fn plans() -> Vec<(Operator, VendorPlan)> {
    let mut problems = Vec::new();
    for dtype in [Dtype::F32, Dtype::F16, Dtype::Bf16] {
        let spec = GridSampler { dtype, n: 3, c: 17, hi: 9, wi: 9, ho: 40, wo: 41, ..Default::default() };
        problems.push(Problem::GridSampler2dBackward(spec.problem()));
    }
    for dtype in [Dtype::F32, Dtype::F16] {
        let spec = ReplicationPad { dtype, n: 2, c: 30, h: 40, w: 62, padding: [1, 2, 3, 4], ..Default::default() };
        problems.push(Problem::ReplicationPad2dBackward(spec.problem()));
    }
    problems.iter().map(|problem| (problem.operator(), vendor_plan(problem, &MACHINE).unwrap())).collect()
}

/// Regions lie one behind the other, the system's first, and take the workspace together.
#[test]
fn regions_take_the_workspace() {
    for (operator, plan) in plans() {
        assert_eq!(plan.operator(), operator);
        assert!(!plan.key_rule().is_empty());
        let regions: Vec<_> = plan.regions().collect();
        let mut end = 0;
        for region in &regions {
            assert_eq!((region.offset, region.first_phase), (end, 0), "{region:?}");
            assert_eq!(region.last_phase, plan.phases().len() - 1);
            assert!(region.bytes > 0 && !region.name.is_empty(), "{region:?}");
            end += region.bytes;
        }
        assert_eq!(end, plan.kernel_workspace_bytes());
        assert_eq!((regions[0].name, regions[0].bytes), ("system", SYSTEM));
    }
}

/// What is chosen fits, the next larger does not.
#[test]
fn factors_are_the_largest_that_fit() {
    for (operator, plan) in plans() {
        let choices: Vec<_> = plan.choices().collect();
        assert_eq!((choices[0].name, choices[0].value), ("block_dim", plan.block_dim()));
        assert!(choices.len() > 1, "{operator} has free factors");
        for choice in &choices[1..] {
            assert_eq!(plan.field(choice.name), Some(choice.value), "{operator} {}", choice.name);
            assert_eq!((choice.bound, choice.limit), (Bound::LocalBytes, MACHINE.ub_bytes));
            assert!(choice.used <= choice.limit, "{operator} {choice:?}");
            assert!(choice.larger.value > choice.value && choice.larger.needs > choice.used, "{operator} {choice:?}");
            assert_eq!(choice.larger.over(), choice.larger.needs.saturating_sub(MACHINE.ub_bytes));
            let step = choice.larger.value - choice.value;
            assert_eq!(choice.alternative, Some(choice.value - step).filter(|&less| less > 0), "{operator} {choice:?}");
        }
        let points = choices.iter().find(|choice| choice.name == "ubFactorElement").unwrap();
        assert!(points.larger.needs > MACHINE.ub_bytes, "{operator} could work on more: {points:?}");
    }
}

/// Any multiple of the step that fits can be asked for, and is then the field; all else is refused with a size that is taken.
#[test]
fn fewer_elements_at_a_time() {
    const NAME: &str = "ubFactorElement";
    for (operator, plan) in plans() {
        let choice = plan.choices().find(|choice| choice.name == NAME).unwrap();
        let step = choice.larger.value - choice.value;
        for value in [step, choice.value - step, choice.value].into_iter().filter(|&value| value > 0) {
            let fewer = plan.with_factor(NAME, value).unwrap();
            assert_eq!(fewer.field(NAME), Some(value));
            let again = fewer.choices().find(|choice| choice.name == NAME).unwrap();
            assert_eq!((again.value, again.limit), (value, choice.limit));
            assert_eq!(fewer.with_factor(NAME, choice.value).as_ref(), Ok(&plan), "there and back");
            let others =
                |plan: &VendorPlan| plan.fields().iter().filter(|f| f.name != NAME).copied().collect::<Vec<_>>();
            assert_eq!(others(&fewer), others(&plan));
        }
        for value in [0, choice.value + 1, choice.value + step, step + 1, step.saturating_sub(1), usize::MAX] {
            match plan.with_factor(NAME, value) {
                Err(PlanError::Tile { name, got, bound, fits, .. }) => {
                    assert_eq!((name, got), (NAME, value));
                    assert!(plan.with_factor(NAME, fits).is_ok(), "{operator}: {fits} does not fit after all");
                    match bound {
                        Bound::Work => assert_eq!(value, 0),
                        Bound::LocalBytes => assert!(value > choice.value),
                        bound => assert!(bound == Bound::Vendor && value % step != 0, "{bound:?} of {value}"),
                    }
                }
                got => assert!(step == 1 || value == 0, "{operator} takes {value}: {got:?}"),
            }
        }
        for name in ["castElement", "block_dim", ""] {
            assert!(
                matches!(plan.with_factor(name, step), Err(PlanError::NoTile { operator: of, .. }) if of == operator)
            );
        }
    }
}
