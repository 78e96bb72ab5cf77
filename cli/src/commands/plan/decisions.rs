//! The decisions of a plan that are no sizes: whose tiling, where the vendor runs it, which of the vendor's kernels; and what
//! would make each another.

use schemars::JsonSchema;
use serde::Serialize;
use ubtile_tiling::{
    Change, Dtype, Limit, Measure, Operator, Problem, Product, Route, Subject, VendorArch, VendorError, VendorPlan,
    edition_rules, support, vendor_plan, vendor_plan_in,
};

use crate::args::{PlaceArgs, Scheme};
use crate::place::OnSoc;

#[derive(Serialize, JsonSchema)]
pub(super) struct Decision {
    /// `scheme`, `route`, `tiling_key`, ...
    pub(super) name: &'static str,
    pub(super) value: String,
    /// The rule that decided.
    pub(super) why: String,
    /// What was measured for it.
    pub(super) measures: Vec<MeasureReport>,
    pub(super) others: Vec<Other>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct MeasureReport {
    pub(super) name: &'static str,
    pub(super) used: usize,
    pub(super) limit: usize,
    /// Negative by as much as the limit is broken.
    pub(super) slack: i64,
}

/// What it would be otherwise.
#[derive(Serialize, JsonSchema)]
pub(super) struct Other {
    pub(super) value: String,
    /// What would have to change.
    pub(super) by: String,
}

impl MeasureReport {
    fn new(Measure { name, used, limit }: Measure) -> Self {
        let signed = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
        Self { name, used, limit, slack: signed(limit) - signed(used) }
    }
}

/// Whose tiling it is.
pub(super) fn scheme(problem: &Problem, on: &OnSoc, args: &PlaceArgs, scheme: Option<&'static str>) -> Decision {
    let machine = on.device.as_ref().ok().and_then(|device| device.machine());
    let published = machine.map(|machine| vendor_plan(problem, &machine));
    let exists = matches!(published, Some(Ok(_)));
    let other = |value: &str| Other { value: value.into(), by: format!("--scheme {value}") };
    let asked = args.scheme.filter(|_| !args.scheme_follows);
    let on_ai_core = problem.vendor_route(on.product, on.edition) == Some(Route::AiCore);
    let (why, others) = match (scheme, asked, published) {
        (Some("vendor"), Some(Scheme::Vendor), _) => ("asked for".to_owned(), vec![other("native")]),
        (Some("vendor"), ..) => {
            let arch = machine.map_or("", |machine| VendorArch::name(machine.arch));
            (
                format!("its tiling for {arch} is published, and its library runs the problem there"),
                vec![other("native")],
            )
        }
        (Some(_), Some(Scheme::Native), _) => {
            ("asked for".to_owned(), if exists { vec![other("vendor")] } else { Vec::new() })
        }
        (Some(_), _, None) => (format!("the vendor has published no tiling for {}", on.soc.name()), Vec::new()),
        (Some(_), _, Some(Err(error))) => (error.to_string(), Vec::new()),
        (Some(_), _, Some(Ok(_))) if args.scheme_follows && on_ai_core => {
            ("the simulator has no program of the vendor's kernel for this problem".to_owned(), Vec::new())
        }
        (Some(_), _, Some(Ok(_))) => {
            ("the vendor's library does not run the problem on the AI Core".to_owned(), vec![other("vendor")])
        }
        (None, ..) => ("no unit of an AI Core computes these dtypes".to_owned(), Vec::new()),
    };
    Decision { name: "scheme", value: scheme.unwrap_or("none").into(), why, measures: Vec::new(), others }
}

/// Where the vendor's library runs the problem.
pub(super) fn route(problem: &Problem, on: &OnSoc, route: Route) -> Decision {
    let limit = support(problem.operator(), problem.dtype(), Some(on.product), on.edition).limit;
    let (measures, rule) = limit.map_or((Vec::new(), ""), |limit| measured(problem, on.product, limit));
    let other = match route {
        Route::AiCore => Route::Aicpu,
        Route::Aicpu => Route::AiCore,
    };
    let reports: Vec<_> = measures.into_iter().map(MeasureReport::new).collect();
    let why = match limit {
        None if route == Route::Aicpu => format!("it has no AI Core kernel for {} on {}", problem.dtype(), on.product),
        None => match beyond(problem, on) {
            Some(error) => format!("its AI Core kernel takes {}, but its tiling fails: {error}", problem.dtype()),
            None => format!("its AI Core kernel takes every problem in {}", problem.dtype()),
        },
        Some(_) => rule.to_owned(),
    };
    let change = |m: &&MeasureReport| {
        let (crossed, how) = if m.slack < 0 { (m.limit, "at most") } else { (m.limit + 1, "at least") };
        format!("{} {how} {crossed}, now {}", m.name, m.used)
    };
    let all = |changed: &[&MeasureReport]| {
        let by = changed.iter().map(change).collect::<Vec<_>>().join(", and ");
        Other { value: other.name().into(), by }
    };
    let broken: Vec<_> = reports.iter().filter(|m| m.slack < 0).collect();
    let others = match limit {
        Some(Limit::GatherRow(_)) => gather_others(&reports, all),
        _ if !broken.is_empty() => vec![all(&broken)],
        _ => reports.iter().filter(|m| !refuses(problem, m.name)).map(|m| all(&[m])).collect(),
    };
    Decision { name: "route", value: route.name().into(), why, measures: reports, others }
}

/// What the vendor's tiling does not take.
fn beyond(problem: &Problem, on: &OnSoc) -> Option<VendorError> {
    let machine = on.device.as_ref().ok()?.machine()?;
    vendor_plan(problem, &machine)
        .err()
        .filter(|error| matches!(error, VendorError::Beyond { .. } | VendorError::Empty { .. }))
}

/// Whether the contract refuses a problem beyond a limit, in place of another route.
fn refuses(problem: &Problem, limit: &str) -> bool {
    problem.operator() == Operator::ReplicationPad2dBackward
        && problem.dtype() == Dtype::Bf16
        && [NEGATIVE, PADDING].contains(&limit)
}

/// The paddings that the vendor's kernels do not take.
const NEGATIVE: &str = "negative paddings";
const PADDING: &str = "padding";

/// The first two limits of a gather must be kept, and one of the others.
fn gather_others(reports: &[MeasureReport], all: impl Fn(&[&MeasureReport]) -> Other) -> Vec<Other> {
    let Some((must, any)) = reports.split_at_checked(2) else { return Vec::new() };
    let broken: Vec<_> = must.iter().filter(|m| m.slack < 0).collect();
    let kept: Vec<_> = any.iter().filter(|m| m.slack >= 0).collect();
    match (broken.as_slice(), kept.as_slice()) {
        (broken, []) => any.iter().map(|m| all(&[broken, &[m]].concat())).collect(),
        ([], [one]) => must.iter().chain([*one]).map(|m| all(&[m])).collect(),
        ([], several) => vec![all(several)],
        (broken, _) => vec![all(broken)],
    }
}

/// What a limit looks at, and its rule.
fn measured(problem: &Problem, product: Product, limit: Limit) -> (Vec<Measure>, &'static str) {
    match (problem, limit) {
        (Problem::GridSampler2dBackward(p), Limit::Channels(limit)) => {
            (vec![Measure { name: "C", used: p.c, limit }], "its AI Core kernel takes so many channels at most")
        }
        (Problem::MaxUnpool2dBackward(p), Limit::GatherRow(bytes)) => (
            p.gather_measures(bytes, product).to_vec(),
            "its AI Core gathers if the first two limits are kept, and one of the others",
        ),
        (Problem::ReplicationPad2dBackward(p), Limit::Padding | Limit::PaddingAndSize(..)) => {
            let pads = [p.left, p.right, p.top, p.bottom];
            let negative = pads.iter().filter(|&&pad| pad < 0).count();
            let mut measures = vec![Measure { name: NEGATIVE, used: negative, limit: 0 }];
            let only_width = p.top == 0 && p.bottom == 0;
            if !only_width {
                let largest = pads.into_iter().max().unwrap_or(0).max(0).unsigned_abs();
                measures.push(Measure { name: PADDING, used: largest, limit: 7 });
            }
            if let Limit::PaddingAndSize(h, w) = limit {
                measures.push(Measure { name: "height of grad_output", used: p.padded_h, limit: h });
                measures.push(Measure { name: "width of grad_output", used: p.padded_w, limit: w });
            }
            let rule = if p.dtype == Dtype::Bf16 {
                "its AI Core kernel takes what keeps all limits; another padding is refused in bf16"
            } else {
                "its AI Core kernel takes what keeps all limits"
            };
            (measures, rule)
        }
        _ => (Vec::new(), ""),
    }
}

/// Which of the vendor's kernels runs. What would give another is said as far as the product and the edition have it.
pub(super) fn tiling_key(plan: &VendorPlan, on: &OnSoc) -> Decision {
    let others = plan
        .neighbours()
        .filter(|neighbour| is_taken(neighbour.change, plan.operator(), on))
        .map(|neighbour| Other { value: neighbour.tiling_key.to_string(), by: neighbour.change.to_string() });
    Decision {
        name: "tiling_key",
        value: plan.tiling_key().to_string(),
        why: plan.key_rule().to_owned(),
        measures: plan.limit().map(MeasureReport::new).into_iter().collect(),
        others: others.collect(),
    }
}

/// Whether the product, in the edition that was asked, has a dtype or a mode.
fn is_taken(change: Change, operator: Operator, on: &OnSoc) -> bool {
    match change {
        Change::Value { name: "dtype", to } => {
            Dtype::from_name(to).is_none_or(|dtype| support(operator, dtype, Some(on.product), on.edition).accepted)
        }
        _ => {
            let change = change.to_string();
            let rule = edition_rules().find(|rule| {
                rule.operator == operator && matches!(rule.subject, Subject::Value(what) if what == change)
            });
            rule.is_none_or(|rule| rule.editions.contains(on.edition))
        }
    }
}

/// The key of the kernel that the vendor's library calls where it converts the tensors first.
pub(super) fn converted(problem: &Problem, on: &OnSoc) -> Option<Decision> {
    let pads = matches!(problem, Problem::ReplicationPad2dBackward(p) if p.dtype == Dtype::Bf16);
    let machine = on.device.as_ref().ok()?.machine().filter(|_| pads)?;
    let [own, f32] = [Dtype::Bf16, Dtype::F32].map(|dtype| vendor_plan_in(problem, dtype, &machine));
    Some(Decision {
        name: "tiling_key of aclnn",
        value: f32.ok()?.tiling_key().to_string(),
        why: "aclnn converts bf16 to f32 and back around the kernel".into(),
        measures: Vec::new(),
        others: vec![Other { value: own.ok()?.tiling_key().to_string(), by: "call the kernel directly".into() }],
    })
}
