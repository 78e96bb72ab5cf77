//! The copies of inputs without gaps that a plan may ask for: [`Staging`].
//!
//! A cache line of the source holds neighbours along the dimension of the smallest stride, so a block takes some of them and
//! some columns: it reads whole lines, and writes whole lines.

use bytemuck::Pod;
use ubtile_tiling::{ALIGN, Operator, Staging};

use crate::built::{COPIES, INTEGER};
use crate::parallel::{Front, Parallel, shares};
use crate::values::{Values, ValuesMut};
use crate::{Feature, RunError};

/// Columns of a block: a line or two of each of its rows.
const COLUMNS: usize = 32;
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

/// How many copies a plan has, if this build can make them.
pub(crate) fn count(stagings: impl Iterator<Item = Staging>, operator: Operator) -> Result<usize, RunError> {
    let count = stagings.count();
    if count > 0 {
        Feature::Copies.need(operator)?;
    }
    Ok(if COPIES { count } else { 0 })
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
    match staging.slot.dtype.size() {
        1 if INTEGER => copy::<u8>(staging, share, source, dest),
        2 => copy::<u16>(staging, share, source, dest),
        4 => copy::<u32>(staging, share, source, dest),
        8 => copy::<u64>(staging, share, source, dest),
        _ => copy::<[u64; 2]>(staging, share, source, dest),
    }
}

/// A dimension: how many there are, and how far apart in the source and in the copy.
#[derive(Clone, Copy)]
struct Dimension {
    size: usize,
    from: usize,
    to: usize,
}

fn copy<W: Pod>(staging: &Staging, share: usize, source: Values<'_>, dest: &mut ValuesMut<'_>) {
    let source: &[W] = bytemuck::try_cast_slice(source.bytes()).unwrap_or(&[]);
    let dest: &mut [W] = bytemuck::try_cast_slice_mut(dest.bytes_mut()).unwrap_or_default();
    let (shape, strides) = (staging.slot.shape, staging.slot.strides);
    let (plane, last) = (staging.plane(), shape.rank().saturating_sub(1));
    // A tensor of three dimensions has planes of one row.
    let row = if last > 2 { [shape.get(2), strides.get(2)] } else { [1, usize::MAX] };
    let (columns, step) = (shape.get(last), strides.get(last));
    let planes = staging.planes(share);
    let channels = shape.get(1).max(1);
    let mut first = planes.start;
    while first < planes.end {
        let (image, channel) = (first.checked_div(channels).unwrap_or(0), first.checked_rem(channels).unwrap_or(0));
        let count = (channels - channel).min(planes.end - first);
        let planes = Dimension { size: count, from: strides.get(1), to: plane };
        let rows = Dimension { size: row[0], from: row[1], to: columns };
        let start = image.wrapping_mul(strides.get(0)).wrapping_add(channel.wrapping_mul(planes.from));
        let to = first.saturating_sub(staging.planes(share).start).wrapping_mul(plane);
        let (near, far) = if planes.from < rows.from { (planes, rows) } else { (rows, planes) };
        for i in 0..far.size {
            let from = source.get(start.wrapping_add(i.wrapping_mul(far.from))..).unwrap_or(&[]);
            let to = dest.get_mut(to.wrapping_add(i.wrapping_mul(far.to))..).unwrap_or_default();
            blocks(from, near, [columns, step], to);
        }
        first = first.saturating_add(count);
    }
}

/// Copies one plane of rows (`near`) and columns.
fn blocks<W: Pod>(source: &[W], near: Dimension, [columns, step]: [usize; 2], dest: &mut [W]) {
    for x in (0..columns).step_by(COLUMNS) {
        let width = COLUMNS.min(columns - x);
        for y in (0..near.size).step_by(ROWS) {
            for y in y..near.size.min(y + ROWS) {
                let start = y.wrapping_mul(near.to).wrapping_add(x);
                let cells = dest.get_mut(start..).and_then(|d| d.get_mut(..width)).unwrap_or_default();
                let mut at = y.wrapping_mul(near.from).wrapping_add(x.wrapping_mul(step));
                for cell in cells {
                    *cell = source.get(at).copied().unwrap_or(W::zeroed());
                    at = at.wrapping_add(step);
                }
            }
        }
    }
}
