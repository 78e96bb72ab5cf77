//! What lies in the UB for `grid_grad`, and how much of it.

use ubtile_tiling::grid_sampler_2d_backward::{Interpolation, PaddingMode, Plan};

use super::super::bicubic::Taps;
use super::super::coordinates::Coordinates;
use super::super::touched::Touched;
use super::corners::Corners;
use super::sixteen::Sixteen;
use crate::lower::LowerError;
use crate::lower::pieces::whole_steps;
use crate::lower::room::Room;
use crate::lower::shape::{BLOCK_BYTES, Compute, blocks, largest};

/// Most points of a chunk.
pub(super) const MOST_POINTS: usize = 512;
/// Points of a chunk are multiples of so many.
pub(super) const STEP: usize = 8;
/// Points of a chunk where planes pass through in slices.
const SLICED_POINTS: usize = 256;
/// Elements in front of a plane and, of a slice, behind it, all 0.
pub(super) const FRONT: usize = BLOCK_BYTES / 4;
/// Pixels that f32 counts.
const COUNTED: usize = 1 << 24;
/// Lanes that a block of channels is added up in.
pub(super) const LANES: usize = 8;

/// Pixels that slices are multiples of: blocks of every type.
const SLICE: usize = 16;

/// Sizes of what lies in the UB.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub(super) compute: Compute,
    pub(super) padding: PaddingMode,
    pub(super) bicubic: bool,
    /// Pixels of a plane, and of a slice of it; as many where it is whole.
    pub(super) pixels: usize,
    pub(super) cells: usize,
    pub(super) points: usize,
    /// Slots of the plane.
    pub(super) planes: u32,
}

impl Sizes {
    /// The largest that fit the plan's local memory.
    pub(super) fn new(plan: &Plan, room: Room) -> Result<Self, LowerError> {
        let problem = plan.problem();
        let compute = Compute::of(problem.dtype)?;
        let most = plan.points().min(MOST_POINTS).next_multiple_of(STEP).min(whole_steps(room.most.points, STEP));
        let (budget, pixels) = (room.local_bytes, plan.pixels());
        let (padding, bicubic) = (problem.padding_mode, problem.interpolation == Interpolation::Bicubic);
        let with = |points, planes| Sizes { compute, padding, bicubic, pixels, cells: pixels, points, planes };
        // As many points as fit beside two planes, if those are not few; else beside one.
        let fits = |least: usize, planes| {
            (least.min(most)..=most)
                .rev()
                .step_by(8)
                .find(|&points| with(points, planes).bytes() <= budget)
                .map(|n| with(n, planes))
        };
        if let Some(whole) = fits(128, 2).or_else(|| fits(8, 1)) {
            return Ok(whole);
        }
        if pixels >= COUNTED {
            return Err(LowerError::NotLowered("an image of more than 16777215 pixels"));
        }
        // Slices, each of whole blocks, twice beside as many points as leave them most of the memory.
        let sliced = |points, blocks: usize| Sizes { cells: blocks * SLICE, ..with(points, 2) };
        let points = largest(most.min(SLICED_POINTS) / 8, budget / 2, |n| sliced(8 * n, 1).bytes())
            .or_else(|_| largest(1, budget, |n| sliced(8 * n, 1).bytes()))?;
        let blocks = largest((pixels - 1) / SLICE, budget, |blocks| sliced(8 * points, blocks).bytes())?;
        Ok(sliced(8 * points, blocks))
    }

    /// Whether a plane passes through in slices.
    pub(super) const fn is_sliced(&self) -> bool {
        self.cells < self.pixels
    }

    pub(super) fn table_bytes(&self) -> usize {
        let behind = if self.is_sliced() { BLOCK_BYTES } else { 0 };
        BLOCK_BYTES + blocks(4 * self.cells) + behind
    }

    pub(super) fn plane_bytes(&self) -> usize {
        if self.compute.is_short() { blocks(self.compute.size * self.cells) } else { self.table_bytes() }
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
        let slices = if self.is_sliced() { Touched::bytes(self.points) + 2 * vector } else { 0 };
        Coordinates::bytes(self.compute, self.padding, self.points) + planes + short + vectors + moved + slices
    }
}
