//! The copies of inputs without gaps that a plan may ask for: [`Staging`].
//!
//! A cache line of the source holds neighbours along the dimension of the smallest stride, so a block takes some of them and
//! some columns: it reads whole lines, and writes runs of whole lines. Where these neighbours lie side by side, squares of elements
//! are transposed in registers.

use core::ops::Range;

use bytemuck::{Pod, cast};
use ubtile_tiling::{ALIGN, Dtype, Operator, Phase, Staging};
use wide::{u16x8, u32x4, u64x2};

use crate::built::{COMPLEX, COPIES, INTEGER};
use crate::parallel::{Front, Parallel, shares};
use crate::values::{Values, ValuesMut};
use crate::{Feature, RunError};

/// Columns of a block: as many that a processor foresees the next lines of each of its rows.
const COLUMNS: usize = 512;
/// Rows of a block: as many elements as there are on a line at most.
const ROWS: usize = 16;

/// A workspace, of whose regions the first are for copies.
pub(crate) struct Regions<'w> {
    aligned: Front<'w, u8>,
    short: RunError,
    /// Whether there is a copy.
    pub(crate) used: bool,
}

impl<'w> Regions<'w> {
    /// Those of a workspace that may start at any address and must have `want` bytes.
    pub(crate) fn new(workspace: &'w mut [u8], want: usize) -> Result<Self, RunError> {
        let short = RunError::Workspace { got: workspace.len(), want };
        if workspace.len() < want {
            return Err(short);
        }
        let slack = workspace.as_ptr().align_offset(ALIGN);
        Ok(Self { aligned: Front::new(workspace.get_mut(slack..).unwrap_or_default()), short, used: false })
    }

    /// Copies an input to its region, which lies behind those of the copies before, and gives it from there.
    pub(crate) fn copy(
        &mut self,
        staging: &Staging,
        parallel: &impl Parallel,
        source: Values<'_>,
    ) -> Result<Values<'w>, RunError> {
        source.check(Some(staging.slot))?;
        self.used = true;
        let (region, dtype, plane) = (staging.region, staging.slot.dtype, staging.plane());
        let region = self.aligned.take(region.offset..region.end());
        let bytes = staging.slot.shape.numel().unwrap_or(usize::MAX).saturating_mul(dtype.size());
        let region = region.get_mut(..bytes).ok_or(self.short)?;
        let dest = ValuesMut::from_bytes(dtype, region).ok_or(self.short)?;
        let ranges = (0..staging.shares).map(|share| {
            let planes = staging.planes(share);
            planes.start.saturating_mul(plane)..planes.end.saturating_mul(plane)
        });
        parallel.for_each(shares(dest, ranges), |(share, mut dest)| copy_share(staging, share, source, &mut dest));
        Values::from_bytes(dtype, region).ok_or(self.short)
    }

    /// What lies behind the copies.
    pub(crate) fn rest(self) -> &'w mut [u8] {
        self.aligned.rest()
    }
}

/// Refuses a share that a plan of these phases does not have.
pub(crate) fn has_share(mut phases: impl Iterator<Item = Phase>, phase: usize, share: usize) -> Result<(), RunError> {
    let shares = phases.nth(phase).map_or(0, |phase| phase.shares);
    if share < shares { Ok(()) } else { Err(RunError::NoShare { phase, share, shares }) }
}

/// The copy that a phase makes.
pub(crate) fn staging_of(
    stagings: impl Iterator<Item = Staging>,
    operator: Operator,
    phase: usize,
) -> Result<Staging, RunError> {
    let (mut copies, mut found) = (0, None);
    for staging in stagings {
        if copies == phase {
            found = Some(staging);
        }
        copies += 1;
    }
    let staging = found.ok_or(RunError::NoCopy { phase, copies })?;
    Feature::Copies.need(operator)?;
    Ok(staging)
}

/// A phase behind a plan's copies: its number among those of the plan on copies, and whether there are any.
pub(crate) fn behind_copies(
    stagings: impl Iterator<Item = Staging>,
    operator: Operator,
    phase: usize,
) -> Result<(usize, bool), RunError> {
    let copies = stagings.count();
    if copies > 0 {
        Feature::Copies.need(operator)?;
    }
    if !COPIES {
        return Ok((phase, false));
    }
    Ok((phase.checked_sub(copies).ok_or(RunError::Copy { phase, copies })?, copies > 0))
}

/// Copies one share, `dest` being its planes, for callers with threads of their own.
pub(crate) fn stage_share(
    staging: &Staging,
    share: usize,
    source: Values<'_>,
    mut dest: ValuesMut<'_>,
) -> Result<(), RunError> {
    let elements = staging.planes(share).len().saturating_mul(staging.plane());
    source.check(Some(staging.slot))?;
    dest.as_values().check_box(staging.slot.tensor, staging.slot.dtype, elements)?;
    copy_share(staging, share, source, &mut dest);
    Ok(())
}

fn copy_share(staging: &Staging, share: usize, source: Values<'_>, dest: &mut ValuesMut<'_>) {
    let (source, dest) = (source.bytes(), dest.bytes_mut());
    // Words that may lie wherever the dtype's elements may: those of C64 are only as aligned as the halves of one.
    match staging.slot.dtype.size() {
        1 if INTEGER => copy(staging, share, source, dest, |square: [[u8; 1]; 1]| square),
        2 => copy(staging, share, source, dest, |square| cast::<_, [[u16; 8]; 8]>(u16x8::transpose(cast(square)))),
        4 => copy(staging, share, source, dest, |square| cast::<_, [[u32; 4]; 4]>(u32x4::transpose(cast(square)))),
        8 if COMPLEX && staging.slot.dtype == Dtype::C64 => {
            copy(staging, share, source, dest, |[[a, b], [c, d]]: [[[u32; 2]; 2]; 2]| [[a, c], [b, d]])
        }
        8 => copy(staging, share, source, dest, |square| cast::<_, [[u64; 2]; 2]>(u64x2::transpose(cast(square)))),
        _ => copy(staging, share, source, dest, |square: [[[u64; 2]; 1]; 1]| square),
    }
}

/// A dimension: how many there are, and how far apart in the source and in the copy.
#[derive(Clone, Copy, Debug)]
struct Dimension {
    size: usize,
    from: usize,
    to: usize,
}

/// Copies the planes of a share. `transpose` exchanges the rows and columns of a square.
fn copy<W: Pod, const N: usize>(
    staging: &Staging,
    share: usize,
    source: &[u8],
    dest: &mut [u8],
    transpose: impl Fn([[W; N]; N]) -> [[W; N]; N] + Copy,
) {
    let source: &[W] = bytemuck::try_cast_slice(source).unwrap_or(&[]);
    let dest: &mut [W] = bytemuck::try_cast_slice_mut(dest).unwrap_or_default();
    let (shape, strides) = (staging.slot.shape, staging.slot.strides);
    let (plane, last) = (staging.plane(), shape.rank().saturating_sub(1));
    // A tensor of three dimensions has planes of one row.
    let row = if last > 2 { [shape.get(2), strides.get(2)] } else { [1, usize::MAX] };
    let columns = Dimension { size: shape.get(last), from: strides.get(last), to: 1 };
    let planes = staging.planes(share);
    let channels = shape.get(1).max(1);
    let mut first = planes.start;
    while first < planes.end {
        let (image, channel) = (first.checked_div(channels).unwrap_or(0), first.checked_rem(channels).unwrap_or(0));
        let count = (channels - channel).min(planes.end - first);
        let planes = Dimension { size: count, from: strides.get(1), to: plane };
        let rows = Dimension { size: row[0], from: row[1], to: columns.size };
        let start = image.wrapping_mul(strides.get(0)).wrapping_add(channel.wrapping_mul(planes.from));
        let to = first.saturating_sub(staging.planes(share).start).wrapping_mul(plane);
        let (near, mut far) = if planes.from < rows.from { (planes, rows) } else { (rows, planes) };
        let mut columns = columns;
        if [far.from, far.to] == [columns.from.wrapping_mul(columns.size), columns.size] {
            // One behind the other, rows are one long row.
            (columns.size, far.size) = (columns.size.wrapping_mul(far.size), 1);
        }
        for i in 0..far.size {
            let from = source.get(start.wrapping_add(i.wrapping_mul(far.from))..).unwrap_or(&[]);
            let to = dest.get_mut(to.wrapping_add(i.wrapping_mul(far.to))..).unwrap_or_default();
            Plane { near, columns }.copy(from, to, transpose);
        }
        first = first.saturating_add(count);
    }
}

/// A plane of columns and of the dimension of the smallest stride.
#[derive(Clone, Copy, Debug)]
struct Plane {
    near: Dimension,
    columns: Dimension,
}

impl Plane {
    fn copy<W: Pod, const N: usize>(
        self,
        source: &[W],
        dest: &mut [W],
        transpose: impl Fn([[W; N]; N]) -> [[W; N]; N] + Copy,
    ) {
        for x in (0..self.columns.size).step_by(COLUMNS) {
            for y in (0..self.near.size).step_by(ROWS) {
                let (right, bottom) = ((x + COLUMNS).min(self.columns.size), (y + ROWS).min(self.near.size));
                let (squares, whole) = match self.near.from {
                    1 if N > 1 => (right - (right - x) % N, bottom - (bottom - y) % N),
                    _ => (x, y),
                };
                self.squares(N, [y..whole, x..squares], source, dest, transpose);
                // Rows of fewer than a square, as three channels have, up to where the source ends.
                let columns = source.len().checked_sub(whole + N).map_or(0, |last| last / self.columns.from.max(1) + 1);
                let few = squares.min(x + columns.saturating_sub(x) / N * N);
                self.squares(bottom - whole, [whole..bottom, x..few], source, dest, transpose);
                self.cells([whole..bottom, few..squares], source, dest);
                self.cells([y..bottom, squares..right], source, dest);
            }
        }
    }

    /// Copies a block of squares, of each so many rows, which lie side by side in the source.
    #[inline(always)]
    fn squares<W: Pod, const N: usize>(
        self,
        count: usize,
        [rows, columns]: [Range<usize>; 2],
        source: &[W],
        dest: &mut [W],
        transpose: impl Fn([[W; N]; N]) -> [[W; N]; N],
    ) {
        for y in rows.step_by(N) {
            for x in columns.clone().step_by(N) {
                let (mut square, mut from) = ([[W::zeroed(); N]; N], x.wrapping_mul(self.columns.from).wrapping_add(y));
                for column in &mut square {
                    let Some(cells) = source.get(from..).and_then(|source| source.first_chunk()) else { return };
                    *column = *cells;
                    from = from.wrapping_add(self.columns.from);
                }
                let mut to = y.wrapping_mul(self.near.to).wrapping_add(x);
                for row in transpose(square).into_iter().take(count) {
                    let Some(cells) = dest.get_mut(to..).and_then(|dest| dest.first_chunk_mut()) else { return };
                    *cells = row;
                    to = to.wrapping_add(self.near.to);
                }
            }
        }
    }

    /// Copies a block element by element.
    #[inline(never)]
    fn cells<W: Pod>(self, [rows, columns]: [Range<usize>; 2], source: &[W], dest: &mut [W]) {
        for y in rows {
            let to = y.wrapping_mul(self.near.to);
            let cells = dest.get_mut(to.wrapping_add(columns.start)..to.wrapping_add(columns.end)).unwrap_or_default();
            let mut from = y.wrapping_mul(self.near.from).wrapping_add(columns.start.wrapping_mul(self.columns.from));
            for cell in cells {
                *cell = source.get(from).copied().unwrap_or(W::zeroed());
                from = from.wrapping_add(self.columns.from);
            }
        }
    }
}
