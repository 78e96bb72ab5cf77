//! Bytes of local boxes, counted.

use ubtile_tiling::{Dtype, TargetSpec, replication_pad2d_backward as replication_pad};

pub(crate) fn length([start, end]: [usize; 2]) -> usize {
    end - start
}

/// Bytes of a box in whole blocks for each row; where copies take whole blocks alone, one more for a row that begins inside one.
pub(crate) fn boxed(target: &TargetSpec, rows: usize, columns: usize, dtype: Dtype) -> usize {
    let begins_inside = usize::from(columns > 0 && !target.capabilities.unaligned_copy) * target.block_bytes;
    rows * (summed(target, columns, dtype) + begins_inside)
}

/// Bytes of sums, which are never copied.
pub(crate) fn summed(target: &TargetSpec, sums: usize, dtype: Dtype) -> usize {
    (sums * dtype.size()).next_multiple_of(target.block_bytes)
}

/// Bytes of a tile of the padding, from its boxes.
pub(crate) fn pad_bytes(
    plan: &replication_pad::Plan,
    planes: usize,
    source: [usize; 2],
    out: [usize; 2],
    part: bool,
) -> usize {
    let (target, dtype) = (plan.target(), plan.problem().dtype);
    let boxes = boxed(target, source[0], source[1], dtype) + boxed(target, out[0], out[1], dtype);
    planes * boxes + if part { summed(target, source[1] + 1, plan.sums_dtype()) } else { 0 }
}

/// The largest from 1 on that fits; found by trying.
pub(crate) fn largest(most: usize, fits: impl Fn(usize) -> bool) -> usize {
    (1..=most).take_while(|&n| fits(n)).last().unwrap_or(0)
}
