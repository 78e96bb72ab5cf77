//! What lies in the UB for `grid_grad`, and how much of it.

use ubtile_tiling::grid_sampler_2d_backward::{Interpolation, PaddingMode, Plan};

use super::super::bicubic::Taps;
use super::super::coordinates::Coordinates;
use super::super::touched::Touched;
use super::corners::Corners;
use super::lanes::TOGETHER;
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
const TOO_MANY: LowerError = LowerError::NotLowered("an image of more than 16777215 pixels");
/// Lanes that a block of channels is added up in.
pub(super) const LANES: usize = 8;

/// Pixels that slices are multiples of: blocks of every type.
const SLICE: usize = 16;
/// The same where channels lie side by side: pixels that are loaded together.
pub(super) const PART: usize = 128;
/// Most bytes of all pixels around the points of a chunk, with channels side by side.
const FOUND: usize = 64 * 1024;
/// Most channels side by side of four pixels around each point, and those of a transposition.
const MOST_CHANNELS: usize = 32;
const TURNED: usize = 16;
/// Elements that are moved while the scalar unit gathers one.
const GATHERED: usize = 40;

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
    /// Channels side by side, where nothing gathers elements.
    pub(super) channels: Option<usize>,
    /// Slots of what is loaded beside them.
    pub(super) slots: usize,
}

impl Sizes {
    /// The largest that fit the plan's local memory.
    pub(super) fn new(plan: &Plan, room: Room) -> Result<Self, LowerError> {
        let problem = plan.problem();
        let compute = Compute::of(problem.dtype)?;
        let most = plan.points().min(MOST_POINTS).next_multiple_of(STEP).min(whole_steps(room.most.points, STEP));
        let (budget, pixels) = (room.local_bytes, plan.pixels());
        let (padding, bicubic) = (problem.padding_mode, problem.interpolation == Interpolation::Bicubic);
        let slots = room.slots(2) as usize;
        let with = |points, planes| Sizes {
            compute,
            padding,
            bicubic,
            pixels,
            cells: pixels,
            points,
            planes,
            channels: None,
            slots,
        };
        if room.puts_beside() && with(STEP, room.slots(2)).pays_beside(plan) {
            return Self::beside(plan, room, with(STEP, room.slots(2)));
        }
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
            return Err(TOO_MANY);
        }
        // Slices, each of whole blocks, twice beside as many points as leave them most of the memory.
        let sliced = |points, blocks: usize| Sizes { cells: blocks * SLICE, ..with(points, 2) };
        let points = largest(most.min(SLICED_POINTS) / 8, budget / 2, |n| sliced(8 * n, 1).bytes())
            .or_else(|_| largest(1, budget, |n| sliced(8 * n, 1).bytes()))?;
        let blocks = largest((pixels - 1) / SLICE, budget, |blocks| sliced(8 * points, blocks).bytes())?;
        Ok(sliced(8 * points, blocks))
    }

    /// Whether to put channels side by side takes less than to gather one by one: it moves all pixels, and as many channels as transpositions
    /// take. A channel alone is read as soon as it is copied.
    fn pays_beside(&self, plan: &Plan) -> bool {
        let channels = plan.problem().c;
        let moved = |channels: usize| self.pixels.saturating_mul(channels);
        let gathered = plan.points().saturating_mul(channels).saturating_mul(self.corners() * GATHERED);
        channels > 1 && moved(channels.next_multiple_of(TURNED)) < moved(channels).saturating_add(gathered)
    }

    /// The same with channels side by side: as many as pay for that, then points, then pixels.
    fn beside(plan: &Plan, room: Room, of: Self) -> Result<Self, LowerError> {
        if of.pixels >= COUNTED {
            return Err(TOO_MANY);
        }
        let with = |channels, points: usize, parts: usize| Self {
            channels: Some(channels),
            points: points * TURNED,
            cells: parts * PART,
            ..of
        };
        let budget = room.local_bytes;
        let most = if of.bicubic { TURNED } else { MOST_CHANNELS };
        let most = plan.problem().c.next_multiple_of(TURNED).min(most);
        let points = |channels: usize, budget| {
            let all = plan.points().min(MOST_POINTS).next_multiple_of(TURNED);
            let all = all.min(FOUND / (4 * channels * of.corners())).min(whole_steps(room.most.points, TURNED));
            largest(all / TURNED, budget, |n| with(channels, n, 1).bytes()).map(|n| (channels, n))
        };
        let (channels, points) = points(most, budget * 3 / 4)
            .or_else(|_| points(TURNED, budget * 3 / 4))
            .or_else(|_| points(TURNED, budget))?;
        let parts = largest(of.pixels.div_ceil(PART), budget, |n| with(channels, points, n).bytes())?;
        Ok(with(channels, points, parts))
    }

    /// What the points of a chunk are multiples of.
    pub(super) const fn step(&self) -> usize {
        if self.channels.is_some() { TURNED } else { STEP }
    }

    /// Pixels around a point.
    pub(super) const fn corners(&self) -> usize {
        if self.bicubic { 16 } else { 4 }
    }

    /// Channels that are computed together.
    pub(super) const fn together(&self) -> usize {
        if self.channels.is_some() { TOGETHER } else { 1 }
    }

    /// Bytes of pixels with so many channels side by side, and of a pixel of zeros in front and behind.
    pub(super) const fn pixels_bytes(&self, channels: usize) -> usize {
        4 * channels * (self.cells + 2)
    }

    /// Bytes of so many planes' pixels that are loaded together, each of so many.
    pub(super) const fn staged_bytes(&self, channels: usize, size: usize) -> usize {
        channels * PART * size
    }

    /// Bytes of the gradients of so many planes that are loaded together.
    pub(super) const fn gradient_bytes(&self, channels: usize, size: usize) -> usize {
        channels * self.points * size
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
        let (around, taps) = if self.bicubic {
            (Sixteen::vectors(self.together()), Taps::bytes(self.points, true))
        } else {
            (Corners::vectors(self.together()), 0)
        };
        // Beside them two sums of eight and one of all, and the order of pairs.
        let vectors = (around + 2 * LANES + 2 + 2) * vector + taps;
        let pairs = 2 * blocks(2 * size * self.points);
        let touched = if self.is_sliced() { Touched::bytes(self.points) } else { 0 };
        let held = match self.channels {
            Some(channels) => self.beside_bytes(channels),
            None => self.planes_bytes(),
        };
        Coordinates::bytes(self.compute, self.padding, self.points) + vectors + pairs + touched + held
    }

    fn planes_bytes(&self) -> usize {
        let vector = blocks(4 * self.points);
        let short = if self.compute.is_short() { self.table_bytes() + 3 * vector } else { 0 };
        let slices = if self.is_sliced() { 2 * vector } else { 0 };
        self.planes as usize * self.plane_bytes() + 2 * blocks(self.compute.size * self.points) + short + slices
    }

    fn beside_bytes(&self, channels: usize) -> usize {
        let size = self.compute.size;
        let loaded = |size| self.staged_bytes(channels, size) + self.gradient_bytes(channels, size);
        let short = if self.compute.is_short() { loaded(4) + 2 * blocks(4 * self.points) } else { 0 };
        // Where points find their pixels, and these.
        let found = self.corners() * 4 * self.points * (1 + channels);
        self.slots * loaded(size) + short + found + self.pixels_bytes(channels)
    }
}
