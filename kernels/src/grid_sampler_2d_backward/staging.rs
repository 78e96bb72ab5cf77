//! Between planes in storage type and channels side by side in the compute type.
//!
//! A staged image holds `pitch` values for each position: its channels and, where `pitch` is larger, zeros.

use core::ops::Range;

use super::coordinates::splat;
use super::planes::Planes;
use crate::element::Element;
use crate::simd::{Isa, Real, Vector};
use crate::view::Row;

/// Positions staged before the next channels are: a cache line of each plane, a multiple of every vector.
const STEP: usize = 16;

/// Writes channels `0..channels` of `positions` to `staged`, which begins with the first of them. `pitch` is a multiple of the
/// level's vectors.
#[inline(always)]
pub(crate) fn stage<S: Isa, T: Element>(
    isa: S,
    planes: &Planes<&[T]>,
    channels: usize,
    positions: Range<usize>,
    staged: &mut [T::Acc],
    pitch: usize,
) {
    let lanes = <T::Acc as Real>::V::<S>::LANES;
    let (first, mut rest) = (positions.start, positions);
    while !rest.is_empty() {
        let (from, count) = planes.run(&rest, STEP);
        let to = rest.start.wrapping_sub(first).wrapping_mul(pitch);
        rest.start = rest.start.wrapping_add(count.max(1));
        for c in (0..pitch).step_by(lanes) {
            for p in (0..count).step_by(lanes) {
                let from = from.wrapping_add(p.wrapping_mul(planes.column));
                <T::Acc as Real>::V::<S>::transpose(
                    #[inline(always)]
                    |k| {
                        let channel = c.wrapping_add(k);
                        if channel >= channels {
                            return splat(isa, T::Acc::default());
                        }
                        let at = from.wrapping_add(channel.wrapping_mul(planes.channel));
                        Row::new(planes.data.get(at..).unwrap_or(&[]), planes.column).load(isa, 0, lanes)
                    },
                    #[inline(always)]
                    |k, v| {
                        let position = p.wrapping_add(k);
                        let at = to.wrapping_add(position.wrapping_mul(pitch)).wrapping_add(c);
                        if position < count && let Some(to) = staged.get_mut(at..at.wrapping_add(lanes)) {
                            v.store(to);
                        }
                    },
                );
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
    let lanes = <T::Acc as Real>::V::<S>::LANES;
    let (first, mut rest) = (positions.start, positions);
    while !rest.is_empty() {
        let (to, count) = planes.run(&rest, STEP);
        let from = rest.start.wrapping_sub(first).wrapping_mul(pitch);
        rest.start = rest.start.wrapping_add(count.max(1));
        for c in (0..channels).step_by(lanes) {
            for p in (0..count).step_by(lanes) {
                let from = from.wrapping_add(p.wrapping_mul(pitch)).wrapping_add(c);
                let to = to.wrapping_add(p.wrapping_mul(planes.column));
                let run = lanes.min(count.wrapping_sub(p));
                <T::Acc as Real>::V::<S>::transpose(
                    #[inline(always)]
                    |k| {
                        let at = from.wrapping_add(k.wrapping_mul(pitch));
                        Vector::load(isa, staged.get(at..).unwrap_or(&[]))
                    },
                    #[inline(always)]
                    |k, v| {
                        let channel = c.wrapping_add(k);
                        if channel < channels {
                            let at = to.wrapping_add(channel.wrapping_mul(planes.channel));
                            put(isa, v, planes.data.get_mut(at..).unwrap_or(&mut []), planes.column, run);
                        }
                    },
                );
            }
        }
    }
}

/// Rounds and writes the first `count` lanes, `stride` elements apart.
#[inline(always)]
fn put<S: Isa, T: Element>(isa: S, v: <T::Acc as Real>::V<S>, to: &mut [T], stride: usize, count: usize) {
    if stride == 1 {
        if let Some(to) = to.get_mut(..count) {
            T::store(isa, v, to);
        }
        return;
    }
    let mut lanes = [T::Acc::default(); 8];
    v.store(&mut lanes);
    for (k, lane) in lanes.into_iter().enumerate().take(count) {
        if let Some(to) = to.get_mut(k.wrapping_mul(stride)) {
            *to = T::narrow(lane);
        }
    }
}
