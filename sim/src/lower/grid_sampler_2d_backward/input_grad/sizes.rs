//! What lies in the UB for `input_grad`, and how much of it.

use ubtile_tiling::grid_sampler_2d_backward::{CHANNEL_BLOCK, Interpolation, PaddingMode, Plan};

use super::super::Pixels;
use super::super::coordinates::Coordinates;
use crate::lower::LowerError;
use crate::lower::room::Room;
use crate::lower::shape::{BLOCK_BYTES, Compute, blocks, largest};

/// Most points whose cells are found together, and most that are weighted together.
const MOST_POINTS: usize = 512;
pub(super) const WEIGHTED: usize = 32;
/// Rows and columns of the margin in front of the image; behind it is as much, of columns the margin of the next row.
pub(super) const MARGIN: usize = 2;
/// Elements of a column of a transposition.
pub(super) const TURNED: usize = 16;
/// Lanes of f32 in a block.
pub(super) const PER_BLOCK: usize = BLOCK_BYTES / 4;
/// Bytes of `input_grad` that are brought in order together.
const ORDERED: usize = 16 * 1024;

/// Sizes of what lies in the UB.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub(super) compute: Compute,
    pub(super) padding: PaddingMode,
    pub(super) corners: usize,
    pub(super) width: usize,
    /// Points whose cells are found together.
    pub(super) points: usize,
    /// Channels side by side, a multiple of 16.
    pub(super) channels: usize,
    /// Rows of the image.
    pub(super) rows: usize,
}

impl Sizes {
    /// The largest that fit the plan's local memory.
    pub(super) fn new(plan: &Plan, room: Room, parts: &[Pixels]) -> Result<Self, LowerError> {
        let problem = plan.problem();
        let compute = Compute::of(problem.dtype)?;
        let tile = plan.choices().find(|choice| choice.name == "tile_points").map_or(usize::MAX, |choice| choice.value);
        let most_rows = parts.iter().map(|part| part.rows.len()).max().unwrap_or(1).max(1);
        let most_channels =
            parts.iter().map(|part| part.channels.len()).max().unwrap_or(1).clamp(1, CHANNEL_BLOCK.get());
        let mut sizes = Sizes {
            compute,
            padding: problem.padding_mode,
            corners: if problem.interpolation == Interpolation::Nearest { 1 } else { 4 },
            width: problem.wi,
            points: plan.points().min(tile).min(MOST_POINTS).next_multiple_of(WEIGHTED),
            channels: most_channels.next_multiple_of(TURNED),
            rows: 1,
        };
        let budget = room.local_bytes;
        // A point costs the same for one channel as for 64, so channels are cut last.
        while sizes.bytes() > budget && sizes.points > WEIGHTED {
            sizes.points = (sizes.points / 2).next_multiple_of(WEIGHTED);
        }
        while sizes.bytes() > budget && sizes.channels > TURNED {
            sizes.channels = (sizes.channels / 2).next_multiple_of(TURNED);
        }
        sizes.rows = largest(most_rows, budget, |rows| Sizes { rows, ..sizes }.bytes())?;
        // Bands of the same height.
        sizes.rows = most_rows.div_ceil(most_rows.div_ceil(sizes.rows));
        Ok(sizes)
    }

    /// Pixels from a row to the next one: rows begin with a block of every type.
    pub(super) fn pitch(&self) -> usize {
        (self.width + MARGIN).next_multiple_of(TURNED)
    }

    pub(super) fn pixel_bytes(&self) -> usize {
        4 * self.channels
    }

    pub(super) fn image_bytes(&self) -> usize {
        // What is turned comes in sixteens of pixels.
        ((self.rows + 2 * MARGIN) * self.pitch() + TURNED) * self.pixel_bytes()
    }

    /// Rows that are brought in order together.
    pub(super) fn ordered_rows(&self) -> usize {
        (ORDERED / (PER_BLOCK * 4 * self.pitch())).clamp(1, self.rows)
    }

    pub(super) fn ordered_bytes(&self, size: usize) -> usize {
        PER_BLOCK * self.ordered_rows() * self.pitch() * size
    }

    pub(super) fn gradient_bytes(&self, size: usize) -> usize {
        self.channels * WEIGHTED * size
    }

    pub(super) fn bytes(&self) -> usize {
        let short = if self.compute.is_short() { self.gradient_bytes(4) + self.ordered_bytes(4) } else { 0 };
        let weights = if self.corners > 1 {
            blocks(4 * self.points) * self.corners + WEIGHTED * BLOCK_BYTES + self.corners * self.gradient_bytes(4)
        } else {
            0
        };
        let offsets = 3 * blocks(4 * self.points);
        let gradient = 2 * self.gradient_bytes(self.compute.size) + self.gradient_bytes(4);
        let ordered = 2 * self.ordered_bytes(self.compute.size);
        Coordinates::bytes(self.compute, self.padding, self.points)
            + self.image_bytes()
            + short
            + weights
            + offsets
            + gradient
            + ordered
    }
}
