//! From a problem and a machine to a report: which scheme, its tiling, its workspace.

use ubtile_sim::lower::{self, LowerError, Lowered};
use ubtile_tiling::{Phase, PlanError, Problem, Route, TilingPlan, VendorError, VendorPlan, vendor_plan};

use super::aclnn;
use super::decisions;
use super::means::{means, on_ai_core};
use super::report::{
    ChoiceReport, Mean, PhaseReport, Plan, PriceReport, RegionReport, TargetReport, TilingData, phases,
};
use crate::args::{Attributes, PlaceArgs, Scheme};
use crate::error::Error;
use crate::output::TensorReport;
use crate::place::{OnSoc, Place, Settings, host_rules};
use crate::problem::{Known, problem};

/// Plans a problem on a machine. With `compare`, a machine that does not take it is a result, not an error.
pub(crate) fn make(
    attributes: &Attributes,
    known: &Known,
    place: &Place,
    args: &PlaceArgs,
    compare: bool,
) -> Result<Plan, Error> {
    let (problem, mut report) = outline(attributes, known, place, args, compare)?;
    if !report.supported && !args.unsupported {
        return Ok(report);
    }
    let settings = Settings::new(args)?;
    match place {
        Place::Target { .. } => {
            if args.scheme == Some(Scheme::Vendor) {
                return Err(Error::Unusable(
                    "the vendor's tilings are for SoCs: name one with --soc or --product".into(),
                ));
            }
            report.native(&native(&problem, place, args, &settings)?, &settings);
        }
        Place::Soc(on) => on_soc(&mut report, &problem, on, place, args, &settings)?,
    }
    Ok(report)
}

/// A machine among several that cannot do what was asked for, and why.
pub(super) fn refused(
    attributes: &Attributes,
    known: &Known,
    place: &Place,
    args: &PlaceArgs,
    why: &Error,
) -> Result<Plan, Error> {
    let (_, mut report) = outline(attributes, known, place, args, true)?;
    report.reason.get_or_insert(why.to_string());
    Ok(report)
}

/// The problem, and all of a report but the plan.
fn outline(
    attributes: &Attributes,
    known: &Known,
    place: &Place,
    args: &PlaceArgs,
    compare: bool,
) -> Result<(Problem, Plan), Error> {
    let contract = place.contract(args);
    let (problem, refusal) = match problem(attributes, known, &contract) {
        Ok(described) => (described.problem, None),
        Err(refusal) if args.unsupported || compare => {
            (problem(attributes, known, &host_rules(args.edition))?.problem, Some(refusal.to_string()))
        }
        Err(refusal) => return Err(refusal),
    };
    let vendor_route = contract.product.and_then(|product| problem.vendor_route(product, contract.edition));
    let spec = place.spec();
    let report = Plan {
        soc: if let Place::Soc(on) = place { Some(on.soc.name().into()) } else { None },
        scheme: None,
        tiling_key: None,
        block_dim: None,
        workspace_bytes: None,
        kernel_workspace_bytes: None,
        aclnn_workspace_bytes: None,
        workspace_regions: Vec::new(),
        tiling_data: None,
        operator: problem.operator().name(),
        product: contract.product.map(|product| product.name()),
        edition: contract.edition.name(),
        model_hash: if let Place::Soc(on) = place { Some(on.soc.model_hash()) } else { None },
        supported: refusal.is_none(),
        reason: refusal,
        route: None,
        vendor_route: vendor_route.map(Route::name),
        target: TargetReport {
            name: place.name().into(),
            cores: spec.cores,
            local_bytes: spec.local_bytes,
            block_bytes: spec.block_bytes,
            vector_bytes: spec.vector_bytes,
        },
        tensors: problem.tensors().map(|slot| TensorReport::of_slot(&slot)).collect(),
        early_success: problem.early_success().map(|why| why.to_string()),
        phases: Vec::new(),
        decisions: Vec::new(),
        choices: Vec::new(),
        prices: Vec::new(),
        means: Vec::new(),
        aclnn: None,
    };
    Ok((problem, report))
}

/// The native plan: for the kernels with the sizes of tiles that were asked for; of a SoC, whose programs keep in the unified buffer what
/// kernels stage in a workspace and are cut into [pieces](lower::native_in) of their own, without.
pub(crate) fn native(
    problem: &Problem,
    place: &Place,
    args: &PlaceArgs,
    settings: &Settings<'_>,
) -> Result<TilingPlan, Error> {
    if let Place::Soc(on) = place {
        has_mode(problem, on, settings)?;
    }
    let unusable = |error: PlanError| {
        let more = match (error, place) {
            (PlanError::LocalBytes { want, .. }, Place::Soc(on)) => on.in_ub_bytes(want),
            _ => String::new(),
        };
        Error::Unusable(format!("{error}{more}"))
    };
    let (limit, tile) = match place {
        Place::Soc(_) => (None, &[][..]),
        Place::Target { .. } => (args.workspace_limit, settings.tile.as_slice()),
    };
    let plan = ubtile_tiling::plan(problem, place.spec(), &settings.options(limit)).map_err(unusable)?;
    let set = |plan: TilingPlan, (name, value): &(&str, usize)| {
        plan.with_tile(name, *value).map_err(|error| no_tile(name, error).unwrap_or_else(|| unusable(error)))
    };
    tile.iter().try_fold(plan, set)
}

/// Says of a size that tiles do not have which one it is: the planner knows it by no name.
fn no_tile(name: &str, error: PlanError) -> Option<Error> {
    matches!(error, PlanError::NoTile { .. }).then(|| Error::Unusable(format!("{name}: {error}")))
}

/// The vendor's mode may be set where there is no vendor's tiling if the vendor's call depends on it.
fn has_mode(problem: &Problem, on: &OnSoc, settings: &Settings<'_>) -> Result<(), Error> {
    let is_read = || on.device.as_ref().is_ok_and(|device| aclnn::has_modes(problem, device));
    if settings.deterministic.is_none() || is_read() {
        return Ok(());
    }
    let line =
        "deterministic is a mode of the vendor's tilings: this native one and aclnn's workspace do not depend on it";
    Err(Error::Unusable(line.into()))
}

fn on_soc(
    report: &mut Plan,
    problem: &Problem,
    on: &OnSoc,
    place: &Place,
    args: &PlaceArgs,
    settings: &Settings<'_>,
) -> Result<(), Error> {
    let on_ai_core = on_ai_core(problem, &on.spec);
    report.route = Some(if on_ai_core { Route::AiCore.name() } else { "aicpu, not modelled" });
    match vendor(problem, on, args.scheme, report.vendor_route == Some(Route::AiCore.name()))? {
        Some(plan) => {
            let plan = set(plan, args, settings)?;
            report.vendor(&plan, on, settings);
            report.decisions.push(decisions::tiling_key(&plan, on));
            report.decisions.extend(decisions::converted(problem, on));
        }
        None if on_ai_core => {
            let plan = native(problem, place, args, settings)?;
            report.means = means(problem, &on.spec);
            report.program(&plan, on, settings)?;
        }
        None => {
            let why = format!("the cores of {} do not compute these dtypes: there is no tiling", on.soc.name());
            report.reason.get_or_insert(why);
        }
    }
    report.decisions.insert(0, decisions::scheme(problem, on, args, report.scheme));
    if let Some(route) = problem.vendor_route(on.product, on.edition) {
        report.decisions.insert(1, decisions::route(problem, on, route));
    }
    if let Ok(device) = &on.device
        && let Some((graph, aclnn)) = aclnn::call(problem, device, on_ai_core)
    {
        report.aclnn_workspace_bytes = Some(graph.bytes());
        report.kernel_workspace_bytes = report.kernel_workspace_bytes.or(graph.kernel_workspace_bytes());
        report.aclnn = Some(aclnn);
    }
    Ok(())
}

/// A vendor's tiling with what was set of it, if it fits what was asked for.
pub(crate) fn set(plan: VendorPlan, args: &PlaceArgs, settings: &Settings<'_>) -> Result<VendorPlan, Error> {
    if let Some(name) = settings.native_only() {
        let line = format!("--set {name} is of the native scheme: add --scheme native, or set ub_bytes");
        return Err(Error::Usage(line));
    }
    let bytes = plan.kernel_workspace_bytes();
    if let Some(limit) = args.workspace_limit.filter(|limit| *limit < bytes) {
        let over = bytes - limit;
        let line = format!(
            "workspace-limit {limit}: the vendor's kernel takes {bytes} bytes, {over} more; \
                            --scheme native fits any limit"
        );
        return Err(Error::Unusable(line));
    }
    let fits = |plan: VendorPlan, (name, value): &(&str, usize)| {
        let unusable = |error: PlanError| no_tile(name, error).unwrap_or_else(|| Error::Unusable(error.to_string()));
        plan.with_factor(name, *value).map_err(unusable)
    };
    settings.tile.iter().try_fold(plan, fits)
}

/// The vendor's tiling if it was asked for, or if there is one of an AI Core kernel and nothing else was asked for.
pub(crate) fn vendor(
    problem: &Problem,
    on: &OnSoc,
    scheme: Option<Scheme>,
    on_ai_core: bool,
) -> Result<Option<VendorPlan>, Error> {
    use VendorError::{Beyond, Empty, NoWork, NotPublished, TooLarge};
    if scheme == Some(Scheme::Native) || scheme.is_none() && !on_ai_core {
        return Ok(None);
    }
    let machine = match &on.device {
        Ok(device) => device.machine(),
        Err(_) if scheme.is_none() => None,
        Err(unknown) => return Err(Error::Unusable(format!("{}: {unknown}", on.soc.name()))),
    };
    let Some(machine) = machine else {
        if scheme.is_none() {
            return Ok(None);
        }
        let (operator, soc) = (problem.operator().vendor_name(), on.soc.name());
        return Err(Error::Unusable(format!("the vendor has published no tiling of {operator} for {soc}")));
    };
    match vendor_plan(problem, &machine) {
        Ok(plan) => Ok(Some(plan)),
        Err(NotPublished { .. } | NoWork | Beyond { .. } | Empty { .. } | TooLarge) if scheme.is_none() => Ok(None),
        Err(error) => Err(Error::Unusable(error.to_string())),
    }
}

impl Plan {
    fn native(&mut self, plan: &TilingPlan, settings: &Settings<'_>) {
        self.scheme = Some("native");
        self.block_dim = Some(plan.block_dim());
        self.workspace_bytes = Some(plan.workspace_bytes());
        self.workspace_regions = plan.workspace().regions().iter().map(RegionReport::new).collect();
        self.target.local_bytes = plan.target().local_bytes;
        self.phases = phases(plan);
        self.choices = plan.choices().map(|choice| ChoiceReport::new(&choice, &settings.tile)).collect();
        self.prices = plan.prices().map(PriceReport::new).collect();
    }

    /// What the program of a plan takes of a SoC: no workspace, and pieces instead of the kernels' tiles.
    fn program(&mut self, plan: &TilingPlan, on: &OnSoc, settings: &Settings<'_>) -> Result<(), Error> {
        self.scheme = Some("native");
        self.block_dim = Some(plan.block_dim());
        self.workspace_bytes = Some(0);
        self.target.local_bytes = plan.target().local_bytes;
        let computes = |phase: &Phase| matches!(phase.name, "zero" | "images" | "compute");
        self.phases =
            plan.phases().filter(computes).map(|Phase { name, shares }| PhaseReport::untiled(name, shares)).collect();
        let of_cores = plan.choices().filter(|choice| !choice.name.starts_with("tile_"));
        self.choices = of_cores.map(|choice| ChoiceReport::new(&choice, &[])).collect();
        match lower::native_in(plan, &on.soc, &settings.tile) {
            Ok(Lowered { program, pieces }) => {
                let (used, of) = (program.local_bytes(), self.target.local_bytes);
                self.means.push(Mean {
                    name: "unified buffer",
                    how: format!("{used} of {of} bytes, by the program's pieces"),
                });
                self.choices.extend(pieces.iter().map(|piece| ChoiceReport::new(piece, &settings.tile)));
            }
            Err(why @ (LowerError::Piece { .. } | LowerError::PieceLeast { .. } | LowerError::NoPiece { .. })) => {
                return Err(Error::Unusable(why.to_string()));
            }
            Err(why) => self.means.push(Mean { name: "program", how: format!("none: {why}") }),
        }
        Ok(())
    }

    fn vendor(&mut self, plan: &VendorPlan, on: &OnSoc, settings: &Settings<'_>) {
        let bytes = plan.kernel_workspace_bytes();
        self.scheme = Some("vendor");
        self.tiling_key = Some(plan.tiling_key());
        self.block_dim = Some(plan.block_dim());
        self.workspace_bytes = Some(bytes);
        self.kernel_workspace_bytes = Some(bytes as u64);
        self.target.local_bytes = on.device.as_ref().map_or(self.target.local_bytes, |device| device.ub_bytes);
        let names = plan.phases();
        self.phases = names.iter().map(|name| PhaseReport::untiled(name, plan.block_dim())).collect();
        self.workspace_regions = plan.regions().map(|region| RegionReport::new(&region)).collect();
        self.choices = plan.choices().map(|choice| ChoiceReport::new(&choice, &settings.tile)).collect();
        self.tiling_data = Some(TilingData(*plan));
    }
}
