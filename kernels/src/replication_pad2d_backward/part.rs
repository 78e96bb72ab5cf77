//! Sums that are made in parts, for local memories that do not hold all that folds into a cell.

use ubtile_tiling::replication_pad2d_backward::{Axis, Tile};

use crate::element::Element;

/// Adds a tile's box of `grad_output` to the sums, and writes the output box when they are complete. An element is `P` scalars.
///
/// `sums` holds that of the cell over its columns so far, then that of each column over its rows so far.
pub(super) fn add<T: Element, const P: usize>(
    rows: Axis,
    columns: Axis,
    tile: &Tile,
    source: &[T],
    dest: &mut [T],
    sums: &mut [T::Acc],
) {
    let Some((cell, sums)) = sums.split_first_chunk_mut::<P>() else { return };
    let ([top, bottom], [left, right]) = (tile.source_rows, tile.source_columns);
    let [first, end] = rows.sources(tile.rows[0]);
    let width = right.wrapping_sub(left).wrapping_mul(P);
    let mut rest = source;
    for row in top..bottom {
        let Some((values, below)) = rest.split_at_checked(width) else { return };
        for (sum, value) in sums.iter_mut().zip(values) {
            *sum = if row == first { value.widen() } else { *sum + value.widen() };
        }
        rest = below;
    }
    if bottom < end {
        return;
    }
    let (sums, _) = sums.as_chunks::<P>();
    let (dest, _) = dest.as_chunks_mut::<P>();
    for (dest, column) in dest.iter_mut().zip(tile.columns[0]..) {
        let [first, end] = columns.sources(column);
        let here = first.max(left)..end.min(right);
        for j in here.clone() {
            let sums = sums.get(j.wrapping_sub(left)).into_iter().flatten();
            for (cell, &sum) in cell.iter_mut().zip(sums) {
                *cell = if j == first { sum } else { *cell + sum };
            }
        }
        if first == end {
            *dest = [T::zeroed(); P];
        } else if here.end == end {
            *dest = cell.map(T::narrow);
        }
    }
}
