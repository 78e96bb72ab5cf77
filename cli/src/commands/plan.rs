//! `ubtile plan OP`: the tiling, the workspace, and why.

use serde::Serialize;
use ubtile_tiling::{Bound, Choice, Phase, Price, Problem, Region, TilingPlan};

use crate::args::{Attributes, PlanArgs};
use crate::error::Error;
use crate::output::{self, Format, Report, TensorReport};
use crate::planning;
use crate::problem::{Known, problem};
use crate::tensors::Input;
use crate::threads::Threads;

/// Tiles are counted one by one, up to so many.
const MOST_TILES: usize = 10_000_000;

/// The keys that plans of every scheme have come first.
#[derive(Serialize)]
struct Plan {
    soc: Option<&'static str>,
    scheme: &'static str,
    tiling_key: Option<u64>,
    block_dim: usize,
    workspace_bytes: usize,
    kernel_workspace_bytes: Option<u64>,
    aclnn_workspace_bytes: Option<u64>,
    workspace_regions: Vec<RegionReport>,
    tiling_data: Option<()>,
    operator: &'static str,
    product: Option<&'static str>,
    edition: &'static str,
    /// Where the vendor runs the problem on that product.
    vendor_route: Option<&'static str>,
    target: TargetReport,
    tensors: Vec<TensorReport>,
    early_success: Option<String>,
    phases: Vec<PhaseReport>,
    choices: Vec<ChoiceReport>,
    prices: Vec<PriceReport>,
}

#[derive(Serialize)]
struct TargetReport {
    name: String,
    cores: usize,
    local_bytes: usize,
    block_bytes: usize,
    vector_bytes: usize,
}

#[derive(Serialize)]
struct RegionReport {
    name: &'static str,
    offset: usize,
    bytes: usize,
    first_phase: usize,
    last_phase: usize,
}

#[derive(Serialize)]
struct PhaseReport {
    name: &'static str,
    shares: usize,
    /// `None` beyond ten million.
    tiles: Option<usize>,
    most_tiles_in_a_share: Option<usize>,
    largest_tile_bytes: Option<usize>,
}

#[derive(Serialize)]
struct ChoiceReport {
    name: &'static str,
    value: usize,
    bound: &'static str,
    limit: usize,
    used: usize,
    slack: usize,
    alternative: Option<usize>,
}

#[derive(Serialize)]
struct PriceReport {
    name: &'static str,
    paid: usize,
    unlimited: usize,
}

/// Plans and prints.
pub(crate) fn run(attributes: &Attributes, args: &PlanArgs, format: Format) -> Result<(), Error> {
    let operator = attributes.operator();
    let known = match &args.input {
        Some(path) => Known::in_file(operator, &mut Input::open(path)?)?,
        None => Known::by_shape(operator, &args.shape, &args.dtype)?,
    };
    let described = problem(attributes, &known, &args.contract)?;
    let plan = planning::plan(&described.problem, &args.planning, Threads::available().0)?;
    output::print(format, &report(&described.problem, &plan, args))
}

fn report(problem: &Problem, plan: &TilingPlan, args: &PlanArgs) -> Plan {
    let contract = &args.contract;
    let route = contract.product.and_then(|product| problem.vendor_route(product, contract.edition));
    let (target, workspace) = (plan.target(), plan.workspace());
    Plan {
        soc: None,
        scheme: "native",
        tiling_key: None,
        block_dim: plan.block_dim(),
        workspace_bytes: plan.workspace_bytes(),
        kernel_workspace_bytes: None,
        aclnn_workspace_bytes: None,
        workspace_regions: workspace.regions().iter().map(RegionReport::new).collect(),
        tiling_data: None,
        operator: problem.operator().name(),
        product: contract.product.map(|product| product.name()),
        edition: contract.edition.name(),
        vendor_route: route.map(|route| route.name()),
        target: TargetReport {
            name: args.planning.target.clone(),
            cores: target.cores,
            local_bytes: target.local_bytes,
            block_bytes: target.block_bytes,
            vector_bytes: target.vector_bytes,
        },
        tensors: problem.tensors().map(|slot| TensorReport::of_slot(&slot)).collect(),
        early_success: problem.early_success().map(|why| why.to_string()),
        phases: phases(plan),
        choices: plan.choices().map(|choice| ChoiceReport::new(&choice)).collect(),
        prices: plan.prices().map(|Price { name, paid, unlimited }| PriceReport { name, paid, unlimited }).collect(),
    }
}

/// Tiles of all phases; `None` where there are too many to count.
pub(crate) fn count_tiles(plan: &TilingPlan) -> Option<usize> {
    phases(plan).iter().map(|phase| phase.tiles).sum()
}

fn phases(plan: &TilingPlan) -> Vec<PhaseReport> {
    plan.phases().enumerate().map(|(i, phase)| PhaseReport::new(plan, i, phase)).collect()
}

impl PhaseReport {
    /// Walks the tiles of the phase number `i`.
    fn new(plan: &TilingPlan, i: usize, Phase { name, shares }: Phase) -> Self {
        let (mut count, mut most, mut largest) = (0usize, 0, 0);
        for share in 0..shares.min(MOST_TILES) {
            let in_share = plan.tile_bytes(i, share).take(MOST_TILES + 1 - count).fold(0, |n, bytes| {
                largest = largest.max(bytes);
                n + 1
            });
            (count, most) = (count + in_share, most.max(in_share));
            if count > MOST_TILES {
                return Self { name, shares, tiles: None, most_tiles_in_a_share: None, largest_tile_bytes: None };
            }
        }
        let (tiles, most_tiles_in_a_share) = (Some(count), Some(most));
        Self { name, shares, tiles, most_tiles_in_a_share, largest_tile_bytes: Some(largest) }
    }
}

impl RegionReport {
    fn new(region: &Region) -> Self {
        let Region { name, offset, bytes, first_phase, last_phase } = *region;
        Self { name, offset, bytes, first_phase, last_phase }
    }
}

impl ChoiceReport {
    fn new(choice: &Choice) -> Self {
        let Choice { name, value, bound, limit, used, alternative } = *choice;
        let bound = match bound {
            Bound::LocalBytes => "local_bytes",
            Bound::WorkspaceLimit => "workspace_limit",
            Bound::Cores => "cores",
            Bound::Work => "work",
            Bound::Numerics => "numerics",
        };
        Self { name, value, bound, limit, used, slack: choice.slack(), alternative }
    }
}

impl Report for Plan {
    const SCHEMA: &'static str = "ubtile.plan.v1";

    fn text(&self) -> String {
        let TargetReport { name, cores, local_bytes, .. } = &self.target;
        let mut text = format!(
            "{}: native tiling for {name}, cores {cores}, local memory {local_bytes} bytes\nblock dim {}, workspace {} bytes\n",
            self.operator, self.block_dim, self.workspace_bytes,
        );
        if let (Some(product), Some(route)) = (self.product, self.vendor_route) {
            text += &format!("the vendor runs it on {product} on the {route}\n");
        }
        if let Some(why) = &self.early_success {
            text += &format!("nothing to compute: {why}\n");
        }
        let number = |n: Option<usize>| n.map_or_else(|| format!("over {MOST_TILES}"), |n| n.to_string());
        text += &format!("\n{}", TensorReport::table(&self.tensors));
        let rows = self.phases.iter().map(|phase| {
            let numbers = [phase.tiles, phase.most_tiles_in_a_share].map(number);
            let largest = phase.largest_tile_bytes.map_or("-".into(), |n| n.to_string());
            let [tiles, most] = numbers;
            vec![phase.name.to_owned(), phase.shares.to_string(), tiles, most, largest]
        });
        text += &section(["phase", "shares", "tiles", "most in a share", "largest tile, bytes"], rows);
        let rows = self.workspace_regions.iter().map(|region| {
            let phases = format!("{} to {}", region.first_phase, region.last_phase);
            vec![region.name.to_owned(), region.offset.to_string(), region.bytes.to_string(), phases]
        });
        text += &section(["workspace region", "offset", "bytes", "phases"], rows);
        let rows = self.choices.iter().map(|c| {
            let used = format!("{} of {}", c.used, c.limit);
            let alternative = c.alternative.map_or("-".into(), |n| n.to_string());
            vec![c.name.to_owned(), c.value.to_string(), c.bound.to_owned(), used, c.slack.to_string(), alternative]
        });
        text += &section(["choice", "value", "bound by", "used", "slack", "next legal"], rows);
        let rows = self.prices.iter().map(|p| vec![p.name.to_owned(), p.paid.to_string(), p.unlimited.to_string()]);
        text += &section(["price of the workspace limit", "paid", "without a limit"], rows);
        text
    }
}

/// A table behind an empty line; nothing where there are no rows.
fn section<const N: usize>(header: [&'static str; N], rows: impl Iterator<Item = Vec<String>>) -> String {
    let rows: Vec<_> = rows.collect();
    if rows.is_empty() { String::new() } else { format!("\n{}", output::table(header, rows)) }
}
