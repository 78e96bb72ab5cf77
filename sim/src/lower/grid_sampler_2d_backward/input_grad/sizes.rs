//! What lies in the UB for `input_grad`, and how much of it.

use std::iter;

use ubtile_tiling::grid_sampler_2d_backward::{CHANNEL_BLOCK, Geometry, Interpolation, PaddingMode, Plan};

use super::super::Pixels;
use super::super::bicubic::Taps;
use super::super::coordinates::Coordinates;
use super::super::touched::Touched;
use super::survey::Survey;
use crate::lower::LowerError;
use crate::lower::pieces::whole_steps;
use crate::lower::room::Room;
use crate::lower::shape::{BLOCK_BYTES, Compute, LANES, PER_BLOCK, blocks, largest};

/// Most points whose cells are found together, with few pixels around each and with sixteen.
const MOST_POINTS: usize = 512;
const MOST_WITH_TAPS: usize = 128;
/// Vector instructions that find the rows of a chunk and whether a window has any of them, that find its columns and place its points in a
/// window, and that load and weigh points which are loaded together.
const FINDING: u64 = 29;
const PLACING: u64 = 30;
const LOADING: u64 = 9;
/// Cycles of the scalar unit that looks a chunk up in the table.
const LOOKING: u64 = 40;
/// Cycles of an instruction beside those of its repeats.
const INSTRUCTION: u64 = 25;
/// Points whose `grad_output` is loaded together.
pub(super) const LOADED: usize = 32;
/// Rows and columns of an image up to which an f32 says where a window begins.
const COUNTED: usize = 1 << 24;
/// Pixels that a point mixes with bicubic interpolation.
pub(super) const SIXTEEN: usize = 16;
/// Elements of a column of a transposition.
pub(super) const TURNED: usize = 16;
/// Bytes of `input_grad` that are brought in order together.
const ORDERED: usize = 16 * 1024;

/// Sizes of what lies in the UB.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub(super) compute: Compute,
    pub(super) padding: PaddingMode,
    /// Pixels that a point mixes: 1, 4 or 16.
    pub(super) corners: usize,
    /// Columns of the image.
    pub(super) columns: usize,
    /// Points whose cells are found together.
    pub(super) points: usize,
    /// Channels side by side, a multiple of 16.
    pub(super) channels: usize,
    /// Rows of the image.
    pub(super) rows: usize,
    /// Whether those are not all rows and columns, so that many points have nothing to add.
    pub(super) is_part: bool,
    /// Bytes of the table with the rows of all chunks; 0 where they are found for each window.
    pub(super) survey: usize,
}

impl Sizes {
    /// The largest that fit the plan's local memory.
    pub(super) fn new(plan: &Plan, room: Room, parts: &[Pixels]) -> Result<Self, LowerError> {
        let problem = plan.problem();
        let compute = Compute::of(problem.dtype)?;
        let most_rows = parts.iter().map(|part| part.rows.len()).max().unwrap_or(1).max(1);
        let most_channels =
            parts.iter().map(|part| part.channels.len()).max().unwrap_or(1).clamp(1, CHANNEL_BLOCK.get());
        let corners = match problem.interpolation {
            Interpolation::Nearest => 1,
            Interpolation::Bilinear => 4,
            Interpolation::Bicubic => SIXTEEN,
        };
        let points = plan.points().min(most_points(corners)).next_multiple_of(LOADED);
        let points = points.min(whole_steps(room.most.input_points, LOADED));
        let channels = most_channels.next_multiple_of(TURNED);
        let most = Self {
            compute,
            padding: problem.padding_mode,
            corners,
            columns: problem.wi,
            points,
            channels,
            rows: 1,
            is_part: true,
            survey: 0,
        };
        let budget = room.local_bytes;
        let mut best: Option<(u64, Self)> = None;
        // An image that does not fit is cut in chunks of points, in channels, or in windows, each of which looks at all chunks.
        for points in halves(points, LOADED) {
            let surveys = [0, Survey::bytes(problem, points)];
            for channels in halves(channels, TURNED) {
                for (columns, survey) in halves(problem.wi.min(room.most.input_columns), 1)
                    .flat_map(|columns| surveys.map(|survey| (columns, survey)))
                {
                    let sizes = Self { points, channels, columns, survey, ..most };
                    let Ok(rows) =
                        largest(most_rows.min(room.most.input_rows), budget, |rows| Sizes { rows, ..sizes }.bytes())
                    else {
                        continue;
                    };
                    // Bands of the same height.
                    let sizes = Self { rows: most_rows.div_ceil(most_rows.div_ceil(rows)), ..sizes };
                    let cycles = sizes.cycles(problem, [most_rows, most_channels]);
                    if best.is_none_or(|(least, _)| cycles < least) {
                        best = Some((cycles, sizes));
                    }
                }
            }
        }
        let smallest = Self { points: LOADED, channels: TURNED, columns: 1, ..most };
        let (_, mut sizes) = best.ok_or_else(|| LowerError::LocalBytes { got: budget, want: smallest.bytes() })?;
        sizes.is_part = sizes.rows < problem.hi || sizes.columns < problem.wi;
        if sizes.is_part && problem.hi.max(problem.wi) > COUNTED {
            return Err(LowerError::NotLowered("windows of an image of more than 16777216 rows or columns"));
        }
        sizes.survey = if sizes.is_part { sizes.survey } else { 0 };
        Ok(sizes)
    }

    /// Points that are more than it works on together.
    pub(super) const fn most_points(&self) -> usize {
        most_points(self.corners)
    }

    /// About how long the vector unit works on a part of so many rows and channels, where points lie as in an unchanged picture.
    fn cycles(&self, problem: &Geometry, [most_rows, most_channels]: [usize; 2]) -> u64 {
        let count = |n: usize, each: usize| n.div_ceil(each.max(1)) as u64;
        let chunks = count(problem.ho.saturating_mul(problem.wo), self.points);
        let bands = count(most_rows, self.rows);
        let windows = bands * count(problem.wi, self.columns) * count(most_channels, self.channels);
        // A chunk mixes the rows that it lies in, and the next one.
        let high = count(self.points.div_ceil(problem.wo) * problem.hi, problem.ho) + 1;
        let met = ((self.rows as u64 + high).saturating_mul(chunks) / (problem.hi as u64).max(1)).min(chunks).max(1);
        let repeats = count(self.points, LANES);
        let each = INSTRUCTION + repeats;
        let sides = self.corners.isqrt() as u64;
        let adding = (self.points as u64) * sides * INSTRUCTION;
        let loaded = LOADING * INSTRUCTION + self.corners as u64 * count(LOADED * self.channels, LANES);
        let meeting = PLACING * each + count(self.points, LOADED) * loaded + adding;
        let (once, each_time, meeting) = match self.survey {
            0 => (0, FINDING * each, meeting),
            _ => (chunks * FINDING * each, LOOKING, meeting + FINDING * each),
        };
        let window = (chunks * each_time).saturating_add(met.saturating_mul(meeting));
        windows.saturating_mul(window).saturating_add(once)
    }

    /// Rows and columns of the margin in front of the image; behind it is as much, of columns the margin of the next row.
    pub(super) const fn margin(&self) -> usize {
        if self.corners == SIXTEEN { 1 } else { 2 }
    }

    /// Points that are weighted together.
    pub(super) const fn weighted(&self) -> usize {
        if self.corners == SIXTEEN { PER_BLOCK } else { LOADED }
    }

    /// Vectors that say where points add: the first pixel's offset; with sixteen also whether they lie side by side, and if not, the
    /// offsets of columns and of rows.
    pub(super) const fn offset_vectors(&self) -> usize {
        if self.corners == SIXTEEN { 2 + 4 + 4 } else { 1 }
    }

    /// Pixels from a row to the next one: rows begin with a block of every type.
    pub(super) fn pitch(&self) -> usize {
        (self.columns + self.margin()).next_multiple_of(TURNED)
    }

    pub(super) const fn pixel_bytes(&self) -> usize {
        4 * self.channels
    }

    pub(super) fn image_bytes(&self) -> usize {
        // What is turned comes in sixteens of pixels.
        ((self.rows + 2 * self.margin()) * self.pitch() + TURNED) * self.pixel_bytes()
    }

    /// Rows that are brought in order together. The last of them may be those of the margin, but none behind it.
    pub(super) fn ordered_rows(&self) -> usize {
        let most = (ORDERED / (PER_BLOCK * 4 * self.pitch())).clamp(1, self.rows);
        let fits = |high: &usize| self.rows.next_multiple_of(*high) <= self.rows + self.margin();
        (1..=most).rev().find(fits).unwrap_or(1)
    }

    pub(super) fn ordered_bytes(&self, size: usize) -> usize {
        PER_BLOCK * self.ordered_rows() * self.pitch() * size
    }

    pub(super) fn gradient_bytes(&self, size: usize) -> usize {
        self.channels * LOADED * size
    }

    /// Bytes of the weighted channels of points that are weighted together.
    pub(super) const fn products_bytes(&self) -> usize {
        self.corners * self.weighted() * self.pixel_bytes()
    }

    pub(super) fn bytes(&self) -> usize {
        let short = if self.compute.is_short() { self.gradient_bytes(4) + self.ordered_bytes(4) } else { 0 };
        let weights = if self.corners > 1 {
            blocks(4 * self.points) * self.corners + self.weighted() * BLOCK_BYTES + self.products_bytes()
        } else {
            0
        };
        let taps = if self.corners == SIXTEEN { Taps::bytes(self.points, false) } else { 0 };
        let offsets = (2 * self.offset_vectors() + 1) * blocks(4 * self.points);
        let gradient = 2 * self.gradient_bytes(self.compute.size) + self.gradient_bytes(4);
        let ordered = 2 * self.ordered_bytes(self.compute.size);
        Coordinates::bytes(self.compute, self.padding, self.points)
            + self.image_bytes()
            + short
            + weights
            + taps
            + if self.is_part { Touched::bytes(self.points) } else { 0 }
            + blocks(self.survey)
            + offsets
            + gradient
            + ordered
    }
}

/// Most points whose cells are found together.
const fn most_points(corners: usize) -> usize {
    if corners == SIXTEEN { MOST_WITH_TAPS } else { MOST_POINTS }
}

/// A size, half of it, half of that, and so on, in multiples, down to the smallest.
fn halves(most: usize, multiple: usize) -> impl Iterator<Item = usize> {
    iter::successors(Some(most), move |&size| {
        (size > multiple).then(|| size.div_ceil(2).next_multiple_of(multiple)).filter(|&half| half < size)
    })
}
