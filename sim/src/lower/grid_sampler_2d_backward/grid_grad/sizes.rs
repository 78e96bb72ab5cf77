//! What lies in the UB for `grid_grad`, and how much of it.

use ubtile_tiling::grid_sampler_2d_backward::{Interpolation, PaddingMode, Plan};

use super::super::bicubic::Taps;
use super::super::coordinates::Coordinates;
use super::corners::Corners;
use super::sixteen::Sixteen;
use crate::lower::LowerError;
use crate::lower::room::Room;
use crate::lower::shape::{BLOCK_BYTES, Compute, blocks};

/// Most points of a chunk.
const MOST_POINTS: usize = 512;
/// Lanes that a block of channels is added up in.
pub(super) const LANES: usize = 8;

/// Sizes of what lies in the UB.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub(super) compute: Compute,
    pub(super) padding: PaddingMode,
    pub(super) bicubic: bool,
    pub(super) pixels: usize,
    pub(super) points: usize,
    /// Slots of the plane.
    pub(super) planes: u32,
}

impl Sizes {
    /// The largest that fit the plan's local memory.
    pub(super) fn new(plan: &Plan, room: Room) -> Result<Self, LowerError> {
        let problem = plan.problem();
        let compute = Compute::of(problem.dtype)?;
        let tile = plan.choices().find(|choice| choice.name == "tile_points").map_or(usize::MAX, |choice| choice.value);
        let most = plan.points().min(tile).min(MOST_POINTS).next_multiple_of(8);
        let (budget, pixels) = (room.local_bytes, plan.pixels());
        let (padding, bicubic) = (problem.padding_mode, problem.interpolation == Interpolation::Bicubic);
        let with = |points, planes| Sizes { compute, padding, bicubic, pixels, points, planes };
        // As many points as fit beside two planes, if those are not few; else beside one.
        let fits = |least: usize, planes| {
            (least.min(most)..=most)
                .rev()
                .step_by(8)
                .find(|&points| with(points, planes).bytes() <= budget)
                .map(|n| with(n, planes))
        };
        let sizes = fits(128, 2).or_else(|| fits(8, 1));
        sizes.ok_or_else(|| LowerError::LocalBytes { got: budget, want: with(8, 1).bytes() })
    }

    pub(super) fn table_bytes(&self) -> usize {
        BLOCK_BYTES + blocks(4 * self.pixels)
    }

    pub(super) fn plane_bytes(&self) -> usize {
        if self.compute.is_short() { blocks(self.compute.size * self.pixels) } else { self.table_bytes() }
    }

    pub(super) fn bytes(&self) -> usize {
        let (vector, size) = (blocks(4 * self.points), self.compute.size);
        let short = if self.compute.is_short() { self.table_bytes() + 3 * vector } else { 0 };
        let (around, taps) =
            if self.bicubic { (Sixteen::VECTORS, Taps::bytes(self.points, true)) } else { (Corners::VECTORS, 0) };
        // Beside them two sums of eight and one of all, and the order of pairs.
        let vectors = (around + 2 * LANES + 2 + 2) * vector + taps;
        let moved = 2 * blocks(size * self.points) + 2 * blocks(2 * size * self.points);
        let planes = self.planes as usize * self.plane_bytes();
        Coordinates::bytes(self.compute, self.padding, self.points) + planes + short + vectors + moved
    }
}
