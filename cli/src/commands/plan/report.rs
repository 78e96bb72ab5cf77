//! What `plan` tells, as JSON has it.

use schemars::JsonSchema;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use ubtile_tiling::{Choice, Larger, Phase, Price, Region, Tensor, TilingPlan, VendorPlan};

use super::aclnn::AclnnReport;
use super::decisions::Decision;
use crate::output::TensorReport;

/// Tiles are counted one by one, up to so many: about a second's.
pub(super) const MOST_TILES: usize = 1_000_000;

/// A plan on one machine. The keys that plans of every scheme have come first.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Plan {
    pub(super) soc: Option<String>,
    /// `None` where nothing is planned.
    pub(super) scheme: Option<&'static str>,
    pub(super) tiling_key: Option<usize>,
    pub(super) block_dim: Option<usize>,
    pub(super) workspace_bytes: Option<usize>,
    pub(super) kernel_workspace_bytes: Option<u64>,
    pub(super) aclnn_workspace_bytes: Option<u64>,
    pub(super) workspace_regions: Vec<RegionReport>,
    /// The vendor's tiling data by its names; null of another scheme.
    #[schemars(with = "Option<std::collections::BTreeMap<String, u64>>")]
    pub(super) tiling_data: Option<TilingData>,
    pub(super) operator: &'static str,
    pub(super) product: Option<&'static str>,
    pub(super) edition: &'static str,
    /// Of the SoC's numbers and the code; `None` where the machine is no SoC.
    pub(super) model_hash: Option<String>,
    /// Whether the product takes the problem.
    pub(super) supported: bool,
    /// Why it does not, or why there is no plan.
    pub(super) reason: Option<String>,
    /// Where this plan runs: `aicore`, or `aicpu, not modelled`.
    pub(super) route: Option<&'static str>,
    /// Where the vendor runs the problem on that product.
    pub(super) vendor_route: Option<&'static str>,
    pub(super) target: TargetReport,
    pub(super) tensors: Vec<TensorReport>,
    pub(super) early_success: Option<String>,
    pub(super) phases: Vec<PhaseReport>,
    /// Whose tiling, where, which kernel.
    pub(super) decisions: Vec<Decision>,
    pub(super) choices: Vec<ChoiceReport>,
    pub(super) prices: Vec<PriceReport>,
    /// How the plan deals with what the machine has and lacks.
    pub(super) means: Vec<Mean>,
    pub(super) aclnn: Option<AclnnReport>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct TargetReport {
    pub(super) name: String,
    pub(super) cores: usize,
    pub(super) local_bytes: usize,
    pub(super) block_bytes: usize,
    pub(super) vector_bytes: usize,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct RegionReport {
    pub(super) name: &'static str,
    pub(super) offset: usize,
    pub(super) bytes: usize,
    pub(super) first_phase: usize,
    pub(super) last_phase: usize,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct PhaseReport {
    pub(super) name: &'static str,
    pub(super) shares: usize,
    /// `None` beyond a million, and on a SoC, whose programs have pieces instead.
    pub(super) tiles: Option<usize>,
    pub(super) most_tiles_in_a_share: Option<usize>,
    pub(super) largest_tile_bytes: Option<usize>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct ChoiceReport {
    pub(super) name: &'static str,
    pub(super) value: usize,
    pub(super) bound: &'static str,
    pub(super) limit: usize,
    pub(super) used: usize,
    pub(super) slack: usize,
    /// The nearest smaller value that is legal.
    pub(super) alternative: Option<usize>,
    pub(super) larger: LargerReport,
}

/// The next larger value, and what it takes with the other choices as they are; where they change for it, less may do.
#[derive(Serialize, JsonSchema)]
pub(super) struct LargerReport {
    pub(super) value: usize,
    pub(super) bound: &'static str,
    pub(super) limit: usize,
    pub(super) needs: usize,
    /// By how much it breaks the bound; 0 where it is legal with the other choices as they are.
    pub(super) over: usize,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct PriceReport {
    pub(super) name: &'static str,
    pub(super) paid: usize,
    pub(super) unlimited: usize,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Mean {
    /// What it is about: `copies`, `gather`, ...
    pub(super) name: &'static str,
    pub(super) how: String,
}

/// The vendor's tiling data, by its names and in its order.
pub(super) struct TilingData(pub(super) VendorPlan);

impl Serialize for TilingData {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for field in self.0.fields() {
            map.serialize_entry(field.name, &field.value)?;
        }
        map.end()
    }
}

impl RegionReport {
    pub(super) fn new(region: &Region) -> Self {
        let Region { name, offset, bytes, first_phase, last_phase } = *region;
        Self { name, offset, bytes, first_phase, last_phase }
    }
}

impl ChoiceReport {
    /// A choice; those of these names were made by the caller.
    pub(super) fn new(choice: &Choice, set: &[(&str, usize)]) -> Self {
        let Choice { name, value, bound, limit, used, alternative, larger } = *choice;
        let bound = if set.iter().any(|(set, _)| *set == name) { "set" } else { bound.name() };
        let over = larger.over();
        let Larger { value: more, bound: held, limit: most, needs } = larger;
        let larger = LargerReport { value: more, bound: held.name(), limit: most, needs, over };
        Self { name, value, bound, limit, used, slack: choice.slack(), alternative, larger }
    }
}

impl PriceReport {
    pub(super) const fn new(Price { name, paid, unlimited }: Price) -> Self {
        Self { name, paid, unlimited }
    }
}

/// Tiles of all phases; `None` where there are too many to count.
pub(crate) fn count_tiles(plan: &TilingPlan) -> Option<usize> {
    phases(plan).iter().map(|phase| phase.tiles).sum()
}

pub(super) fn phases(plan: &TilingPlan) -> Vec<PhaseReport> {
    plan.phases().enumerate().map(|(i, phase)| PhaseReport::new(plan, i, phase)).collect()
}

/// No plan computes in fewer tiles: each holds what it makes of the output in local memory, but for the grid sampler's.
fn least_tiles(plan: &TilingPlan) -> usize {
    let problem = plan.problem();
    let Some(made) = problem.slot(Tensor::Out).or_else(|| problem.slot(Tensor::GradInput)) else { return 0 };
    let bytes = made.shape.as_slice().iter().fold(made.dtype.size(), |n, &size| n.saturating_mul(size));
    bytes / plan.target().local_bytes.max(1)
}

impl PhaseReport {
    /// One whose tiles are not counted.
    pub(super) const fn untiled(name: &'static str, shares: usize) -> Self {
        Self { name, shares, tiles: None, most_tiles_in_a_share: None, largest_tile_bytes: None }
    }

    /// Walks the tiles of the phase number `i`, if there may be so few that they are counted.
    fn new(plan: &TilingPlan, i: usize, Phase { name, shares }: Phase) -> Self {
        let uncounted = Self::untiled(name, shares);
        if name == "compute" && least_tiles(plan) > MOST_TILES {
            return uncounted;
        }
        let (mut count, mut most, mut largest) = (0usize, 0, 0);
        for share in 0..shares.min(MOST_TILES) {
            let in_share = plan.tile_bytes(i, share).take(MOST_TILES + 1 - count).fold(0, |n, bytes| {
                largest = largest.max(bytes);
                n + 1
            });
            (count, most) = (count + in_share, most.max(in_share));
            if count > MOST_TILES {
                return uncounted;
            }
        }
        let (tiles, most_tiles_in_a_share) = (Some(count), Some(most));
        Self { name, shares, tiles, most_tiles_in_a_share, largest_tile_bytes: Some(largest) }
    }
}
