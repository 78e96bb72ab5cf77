//! Why a tiling of the vendor's is what it is, and the same with fewer elements at a time.

use ubtile_testkit::problems::{GridSampler, Im2col, MaxUnpool, ReplicationPad};
use ubtile_tiling::{
    Bound, Dtype, Larger, Measure, Operator, PlanError, Problem, VendorArch, VendorError, VendorMachine, VendorPlan,
    vendor_plan, vendor_plan_in,
};

const SYSTEM: usize = 16 << 20;
const MACHINE: VendorMachine =
    VendorMachine { arch: VendorArch::Dav2201, vector_cores: 40, ub_bytes: 192 << 10, deterministic: false };

fn problems() -> Vec<Problem> {
    let mut problems = Vec::new();
    for dtype in [Dtype::F32, Dtype::F16, Dtype::Bf16] {
        let spec = GridSampler { dtype, n: 3, c: 17, hi: 9, wi: 9, ho: 40, wo: 41, ..Default::default() };
        problems.push(Problem::GridSampler2dBackward(spec.problem()));
    }
    for dtype in [Dtype::F32, Dtype::F16] {
        let spec = ReplicationPad { dtype, n: 2, c: 30, h: 40, w: 62, padding: [1, 2, 3, 4], ..Default::default() };
        problems.push(Problem::ReplicationPad2dBackward(spec.problem()));
    }
    problems
}

fn plans() -> Vec<(Operator, VendorPlan)> {
    problems().iter().map(|problem| (problem.operator(), vendor_plan(problem, &MACHINE).unwrap())).collect()
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
            assert!(choice.larger.needs > MACHINE.ub_bytes, "{operator} could work on more: {choice:?}");
        }
    }
}

/// What a factor is said to take, it takes: a buffer of just so many bytes still holds as many elements, one of fewer does not.
#[test]
fn a_buffer_of_what_is_taken_is_enough() {
    const NAME: &str = "ubFactorElement";
    for problem in problems() {
        let choice = |machine: &VendorMachine| {
            vendor_plan(&problem, machine).unwrap().choices().find(|choice| choice.name == NAME).unwrap()
        };
        let at_once = choice(&MACHINE);
        let least = VendorMachine { ub_bytes: at_once.used, ..MACHINE };
        assert_eq!((choice(&least).value, choice(&least).slack()), (at_once.value, 0));
        assert!(choice(&VendorMachine { ub_bytes: at_once.used - 1, ..MACHINE }).value < at_once.value);
        assert!(vendor_plan(&problem, &least).unwrap().with_factor(NAME, at_once.value).is_ok());
    }
}

/// 16-bit points of A2 are summed by one core in f32 and cast behind it; all else is done at once, on as many cores as there is work.
#[test]
fn phases_and_bounds_are_those_of_the_kernel() {
    let machines = [VendorArch::Dav2201, VendorArch::Dav3510].map(|arch| VendorMachine { arch, ..MACHINE });
    for (machine, dtype) in
        machines.into_iter().flat_map(|machine| [Dtype::F32, Dtype::F16, Dtype::Bf16].map(|dtype| (machine, dtype)))
    {
        for (n, side) in [(1, 4), (20, 40)] {
            let spec = GridSampler { dtype, n, ho: side, wo: side, ..Default::default() };
            let plan = vendor_plan(&Problem::GridSampler2dBackward(spec.problem()), &machine).unwrap();
            let casts = machine.arch == VendorArch::Dav2201 && dtype != Dtype::F32;
            let names: Vec<_> = plan.choices().map(|choice| choice.name).collect();
            let wanted = ["block_dim", "ubFactorElement", "castElement"];
            assert_eq!(names, wanted[..if casts { 3 } else { 2 }]);
            assert_eq!(plan.phases(), if casts { &["zero", "compute", "cast"][..] } else { &["compute"] });
            assert_eq!(plan.regions().any(|region| region.name == "input_grad in f32"), casts);
            let bound = match (casts, plan.block_dim() == machine.vector_cores) {
                (true, _) => Bound::Vendor,
                (_, true) => Bound::Cores,
                _ => Bound::Work,
            };
            assert_eq!(plan.choices().next().map(|choice| choice.bound), Some(bound), "{spec:?}");
        }
        let spec = ReplicationPad { dtype, n: 1, c: 39, ..Default::default() };
        for (c, bound) in [(39, Bound::Work), (40, Bound::Cores), (41, Bound::Cores)] {
            let problem = Problem::ReplicationPad2dBackward(ReplicationPad { c, ..spec }.problem());
            let Ok(plan) = vendor_plan(&problem, &machine) else { continue };
            assert_eq!(plan.choices().next().map(|choice| choice.bound), Some(bound), "{c}");
        }
    }
}

/// Im2col with so many channels of such an image.
fn image(c: usize, [h, w]: [usize; 2]) -> Problem {
    let ones = [1, 1];
    let window = Im2col { kernel: ones, dilation: ones, padding: [0, 0], stride: ones, ..Default::default() };
    Problem::Im2colBackward(Im2col { n: 1, c, h, w, ..window }.problem())
}

/// Problems whose work is cut in every way there is: runs of as many, whole images, threads, rows of planes, rounds that are full.
fn cut_problems() -> Vec<(Problem, VendorMachine)> {
    let [a2, ascend_950] = [VendorArch::Dav2201, VendorArch::Dav3510].map(|arch| VendorMachine { arch, ..MACHINE });
    let fixed = [a2, ascend_950].map(|machine| VendorMachine { deterministic: true, ..machine });
    let mut problems = Vec::new();
    for (n, ho) in [(1, 3), (7, 4), (33, 30), (70, 12)] {
        for machine in [a2, ascend_950].into_iter().chain(fixed) {
            for dtype in [Dtype::F32, Dtype::F16] {
                let spec = GridSampler { dtype, n, ho, wo: 17, ..Default::default() };
                problems.push((Problem::GridSampler2dBackward(spec.problem()), machine));
            }
        }
    }
    for (n, c, h) in [(1, 1, 5), (3, 13, 7), (2, 44, 11)] {
        for padding in [[1, 2, 3, 4], [1, 1, 0, 0]] {
            let spec = ReplicationPad { n, c, h, padding, ..Default::default() };
            problems.push((Problem::ReplicationPad2dBackward(spec.problem()), a2));
        }
    }
    for (h, w) in [(1, 1), (1, 17), (9, 34), (15, 20)] {
        problems.push((image(1, [h, w]), ascend_950));
    }
    for (c, h) in [(1, 3), (1, 30), (3, 8), (50, 2), (32, 33)] {
        for out_h in [4, 4000] {
            let spec = MaxUnpool { n: 1, c, h, w: 17, out_h, out_w: 17, ..Default::default() };
            problems.push((Problem::MaxUnpool2dBackward(spec.problem()), ascend_950));
        }
    }
    problems
}

/// The numbers of cores beside the one that is taken are those that another number of cores gives, and none that is nearer is.
#[test]
fn other_numbers_of_cores_are_the_nearest() {
    let mut bounds = [0; 3];
    for ((problem, machine), cores) in
        cut_problems().into_iter().flat_map(|problem| [1, 2, 3, 7, 31, 40, 48, 63, 64].map(|cores| (problem, cores)))
    {
        let of = |vector_cores| vendor_plan(&problem, &VendorMachine { vector_cores, ..machine }).unwrap();
        let value = of(cores).block_dim();
        let choice = of(cores).choices().next().unwrap();
        assert_eq!((choice.name, choice.value, choice.used), ("block_dim", value, value));
        let smaller = (1..cores).map(|cores| of(cores).block_dim()).filter(|&less| less < value).max();
        assert_eq!(choice.alternative, smaller, "{problem:?} on {cores}");
        let more = (cores + 1..700).find(|&cores| of(cores).block_dim() > value);
        let (bound, larger) = match more {
            Some(more) => {
                let larger = Larger { value: of(more).block_dim(), bound: Bound::Cores, limit: cores, needs: more };
                (Bound::Cores, Some(larger))
            }
            None if of(cores).phases().len() > 1 => (Bound::Vendor, None),
            None if value == cores => (Bound::Cores, None),
            None => (Bound::Work, None),
        };
        let none = if bound == Bound::Vendor { bound } else { Bound::Work };
        let none = Larger { value: value + 1, bound: none, limit: value, needs: value + 1 };
        // Of 700 cores hardly a problem has work for all.
        let larger = larger.unwrap_or(none);
        if more.is_some() || choice.larger.needs < 700 {
            assert_eq!((choice.bound, choice.larger), (bound, larger), "{problem:?} on {cores}");
            bounds[[Bound::Cores, Bound::Work, Bound::Vendor].iter().position(|known| *known == bound).unwrap()] += 1;
        }
    }
    assert!(bounds.iter().all(|&seen| seen > 20), "{bounds:?}");
}

/// 306 elements on 64 cores: five each, for 62 cores. Six are for 51, and four would be for 77, more than there are.
#[test]
fn a_step_of_cores_is_told_whole() {
    let machine = VendorMachine { arch: VendorArch::Dav3510, vector_cores: 64, ..MACHINE };
    let choice = vendor_plan(&image(17, [9, 2]), &machine).unwrap().choices().next().unwrap();
    assert_eq!((choice.value, choice.alternative), (62, Some(51)));
    assert_eq!((choice.bound, choice.used, choice.slack()), (Bound::Cores, 62, 2));
    assert_eq!((choice.larger.value, choice.larger.needs, choice.larger.over()), (77, 77, 13));
}

/// The 950's tiling of im2col takes 2^31 - 1 output elements, and says how many are left; one more has none.
#[test]
fn im2col_has_a_most() {
    let machine = VendorMachine { arch: VendorArch::Dav3510, ..MACHINE };
    let most = i32::MAX as usize;
    let of = |c, w| vendor_plan(&image(c, [1, w]), &machine);
    for (c, w) in [(1, most), (511, 1 << 22), (most, 1)] {
        let plan = of(c, w).unwrap();
        assert_eq!(plan.field("total"), Some(c * w));
        assert_eq!(plan.limit(), Some(Measure { name: "N x C x H x W", used: c * w, limit: most }));
    }
    for (c, w) in [(1, most + 1), (512, 1 << 22), (1 << 20, 1 << 20)] {
        assert_eq!(of(c, w), Err(VendorError::Beyond { name: "total", got: c * w, most }));
    }
}

/// Fields of 32 bits: what does not fit one has no tiling.
#[test]
fn fields_have_32_bits() {
    let beyond = 1usize << 32;
    let sampled = |n, hi, ho| {
        let spec = GridSampler { n, c: 1, hi, wi: 1, ho, wo: 1, ..Default::default() };
        vendor_plan(&Problem::GridSampler2dBackward(spec.problem()), &MACHINE)
    };
    let none = |name, got| Err(VendorError::Beyond { name, got, most: beyond - 1 });
    assert_eq!(sampled(beyond, 1, 1), none("batch", beyond));
    assert_eq!(sampled(1, beyond, 1), none("height", beyond));
    assert_eq!(sampled(1, 1, beyond), none("gridH", beyond));
    assert_eq!(sampled(beyond - 1, 1, 1).map(|plan| plan.field("batch")), Ok(Some(beyond - 1)));
    let padded = |n, w, left| {
        let spec = ReplicationPad { n, c: 1, h: 1, w, padding: [left, 0, 0, 0], ..Default::default() };
        vendor_plan(&Problem::ReplicationPad2dBackward(spec.problem()), &MACHINE)
    };
    assert_eq!(padded(beyond, 1, 1), none("batch", beyond));
    assert_eq!(padded(1, beyond, 1), none("width", beyond + 1));
    assert_eq!(padded(1, 1, 1 << 31), Err(VendorError::Beyond { name: "padLeft", got: 1 << 31, most: (1 << 31) - 1 }));
    assert!(padded(1, 1, (1 << 31) - 1).is_ok());
}

/// Who converts all tensors first has the tiling of the dtype that he converts to.
#[test]
fn converted_tensors_have_the_tiling_of_their_dtype() {
    let of = |dtype: Dtype| {
        [
            Problem::GridSampler2dBackward(GridSampler { dtype, ..Default::default() }.problem()),
            Problem::MaxUnpool2dBackward(MaxUnpool { dtype, out_dtype: dtype, ..Default::default() }.problem()),
            Problem::ReplicationPad2dBackward(ReplicationPad { dtype, ..Default::default() }.problem()),
            Problem::Im2colBackward(Im2col { dtype, out_dtype: dtype, ..Default::default() }.problem()),
        ]
    };
    for machine in [VendorArch::Dav2201, VendorArch::Dav3510].map(|arch| VendorMachine { arch, ..MACHINE }) {
        for (from, to) in of(Dtype::Bf16).into_iter().zip(of(Dtype::F32)) {
            assert_eq!(vendor_plan_in(&from, Dtype::F32, &machine), vendor_plan(&to, &machine));
            assert_eq!(vendor_plan_in(&from, Dtype::Bf16, &machine), vendor_plan(&from, &machine));
            if let Ok(plan) = vendor_plan(&to, &machine) {
                assert_ne!(Ok(plan), vendor_plan(&from, &machine));
            }
        }
    }
}

/// Where the smallest step is chosen there is no smaller value.
#[test]
fn nothing_is_smaller_than_a_step() {
    for (operator, plan) in plans() {
        for choice in plan.choices().filter(|choice| choice.name == "ubFactorElement") {
            let least = plan.with_factor(choice.name, choice.larger.value - choice.value).unwrap();
            let smallest = least.choices().find(|c| c.name == choice.name).unwrap();
            assert_eq!(
                (smallest.value, smallest.alternative),
                (choice.larger.value - choice.value, None),
                "{operator}"
            );
        }
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
