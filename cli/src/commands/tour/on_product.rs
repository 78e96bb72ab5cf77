//! A problem on the usual SoC of each product line.

use schemars::JsonSchema;
use serde::Serialize;
use ubtile_sim::clock::{Options, Timing, simulate};
use ubtile_sim::lower::native;
use ubtile_sim::product::{Grade, Soc};
use ubtile_tiling::{Dtype, Edition, PlanOptions, Problem, Product, Route, plan, support};

use crate::error::Error;
use crate::progress::Progress;

/// A run, or why there is none.
#[derive(Clone, Serialize, JsonSchema)]
pub(super) struct OnProduct {
    product: &'static str,
    pub(super) soc: &'static str,
    /// Whether the product takes the problem; it is simulated in any case.
    supported: bool,
    reason: Option<String>,
    route: Option<&'static str>,
    /// Where the vendor runs it.
    vendor_route: Option<&'static str>,
    scheme: Option<&'static str>,
    task_us: Option<f64>,
    cycles: Option<u64>,
    cores_used: Option<u32>,
    bound: Option<&'static str>,
    /// The weakest of the numbers behind the time.
    grade: Option<Grade>,
    workspace_bytes: Option<usize>,
}

/// A time, or why there is none.
type Run = Result<Timing, String>;

/// Simulates a problem everywhere, on each SoC once.
pub(super) fn on_every_product(problem: &Problem) -> Result<Vec<OnProduct>, Error> {
    let operator = problem.operator();
    let mut ran: Vec<(&str, Run)> = Vec::new();
    let mut all = Vec::new();
    for product in Product::ALL {
        let soc = Soc::usual(product);
        let run = match ran.iter().find(|(name, _)| *name == soc) {
            Some((_, run)) => run.clone(),
            None => {
                let _progress = Progress::new(format!("timing {operator} on {soc}"));
                let run = time(problem, &Soc::builtin(soc).map_err(|e| Error::Unusable(e.to_string()))?);
                ran.push((soc, run.clone()));
                run
            }
        };
        all.push(OnProduct::new(problem, product, run));
    }
    Ok(all)
}

fn time(problem: &Problem, soc: &Soc) -> Run {
    let target = soc.target_spec().map_err(|e| e.to_string())?;
    let plan = plan(problem, &target, &PlanOptions::default()).map_err(|e| e.to_string())?;
    let program = native(&plan, soc).map_err(|e| e.to_string())?;
    simulate(&program, soc, &Options::default()).map_err(|e| e.describe(&program))
}

impl OnProduct {
    fn new(problem: &Problem, product: Product, run: Run) -> Self {
        let vendor_route = problem.vendor_route(product, Edition::Any).map(Route::name);
        let supported = vendor_route.is_some();
        let operator = problem.operator();
        let takes = |dtype: &Dtype| support(operator, *dtype, Some(product), Edition::Any).accepted;
        let others = if Dtype::ALL.iter().any(takes) { " of this dtype" } else { "" };
        let refused = || format!("{product} does not take {operator}{others}");
        let reason = run.as_ref().err().cloned().or_else(|| (!supported).then(refused));
        let timing = run.ok();
        let timing = timing.as_ref();
        Self {
            product: product.name(),
            soc: Soc::usual(product),
            supported,
            reason,
            route: timing.map(|_| Route::AiCore.name()),
            vendor_route,
            scheme: timing.map(|_| "native"),
            task_us: timing.map(|t| t.task_us),
            cycles: timing.map(|t| t.cycles),
            cores_used: timing.map(|t| t.cores_used),
            bound: timing.map(|t| t.bound.name()),
            grade: timing.map(|t| t.grade),
            // Native programs ask for none.
            workspace_bytes: timing.map(|_| 0),
        }
    }

    /// The time, and what bounds it.
    pub(super) fn cell(&self) -> String {
        let (Some(us), Some(bound)) = (self.task_us, self.bound) else { return "-".into() };
        let time = format!("{us:.1} {bound}");
        if self.vendor_route == Some(Route::AiCore.name()) { time } else { format!("({time})") }
    }
}
