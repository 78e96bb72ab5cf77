//! Between planes in storage type and channels side by side in the compute type.
//!
//! A staged image holds, for each position, `pitch` values: its channels and, where `pitch` is larger, zeros.

use core::ops::Range;

use super::planes::Planes;
use crate::element::Element;
use crate::simd::transpose::{self, BLOCK, Block};
use crate::simd::Isa;

/// Positions staged before the next channels are: a cache line of each plane.
const STEP: usize = 16;

/// Writes channels `0..channels` of `positions` to `staged`, which begins with the first of them.
#[inline(always)]
pub(crate) fn stage<S: Isa, T: Element>(
    isa: S,
    planes: &Planes<&[T]>,
    channels: usize,
    positions: Range<usize>,
    staged: &mut [T::Acc],
    pitch: usize,
) {
    let full = channels == pitch;
    let mut rest = positions.clone();
    while !rest.is_empty() {
        let (from, count) = planes.run(&rest, STEP);
        let to = rest.start.wrapping_sub(positions.start).wrapping_mul(pitch);
        rest.start = rest.start.wrapping_add(count.max(1));
        if !full && let Some(staged) = staged.get_mut(to..to.wrapping_add(count.wrapping_mul(pitch))) {
            staged.fill(T::Acc::default());
        }
        for c in (0..channels).step_by(BLOCK) {
            let rows = channels.wrapping_sub(c).min(BLOCK);
            for p in (0..count).step_by(BLOCK) {
                let columns = count.wrapping_sub(p).min(BLOCK);
                let from = from.wrapping_add(c.wrapping_mul(planes.channel)).wrapping_add(p.wrapping_mul(planes.column));
                let to = to.wrapping_add(p.wrapping_mul(pitch)).wrapping_add(c);
                let (Some(data), Some(staged)) = (planes.data.get(from..), staged.get_mut(to..)) else { continue };
                if planes.column == 1 {
                    let src = Block { data, pitch: planes.channel };
                    transpose::widen(isa, src, Block { data: staged, pitch }, rows, columns);
                    continue;
                }
                for (j, to) in staged.chunks_mut(pitch).take(columns).enumerate() {
                    for (i, to) in to.iter_mut().take(rows).enumerate() {
                        let at = i.wrapping_mul(planes.channel).wrapping_add(j.wrapping_mul(planes.column));
                        *to = data.get(at).map_or(T::Acc::default(), |v| v.widen());
                    }
                }
            }
        }
    }
}

/// Writes `staged`, which begins with the first of `positions`, to channels `0..channels` of them.
#[inline(always)]
pub(crate) fn unstage<S: Isa, T: Element>(
    isa: S,
    staged: &[T::Acc],
    pitch: usize,
    planes: &mut Planes<&mut [T]>,
    channels: usize,
    positions: Range<usize>,
) {
    let mut rest = positions.clone();
    while !rest.is_empty() {
        let (to, count) = planes.run(&rest, STEP);
        let from = rest.start.wrapping_sub(positions.start).wrapping_mul(pitch);
        rest.start = rest.start.wrapping_add(count.max(1));
        for c in (0..channels).step_by(BLOCK) {
            let columns = channels.wrapping_sub(c).min(BLOCK);
            for p in (0..count).step_by(BLOCK) {
                let rows = count.wrapping_sub(p).min(BLOCK);
                let to = to.wrapping_add(c.wrapping_mul(planes.channel)).wrapping_add(p.wrapping_mul(planes.column));
                let from = from.wrapping_add(p.wrapping_mul(pitch)).wrapping_add(c);
                let (Some(staged), Some(data)) = (staged.get(from..), planes.data.get_mut(to..)) else { continue };
                if planes.column == 1 {
                    let dst = Block { data, pitch: planes.channel };
                    transpose::narrow(isa, Block { data: staged, pitch }, dst, rows, columns);
                    continue;
                }
                for (j, from) in staged.chunks(pitch).take(rows).enumerate() {
                    for (i, from) in from.iter().take(columns).enumerate() {
                        let at = i.wrapping_mul(planes.channel).wrapping_add(j.wrapping_mul(planes.column));
                        if let Some(to) = data.get_mut(at) {
                            *to = T::narrow(*from);
                        }
                    }
                }
            }
        }
    }
}
