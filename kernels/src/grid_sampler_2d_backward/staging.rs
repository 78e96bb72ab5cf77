//! Between planes in storage type and channels side by side in the compute type.
//!
//! A staged image holds `pitch` values for each position: its channels and, where `pitch` is larger, zeros.

use core::ops::Range;

use super::coordinates::splat;
use super::planes::Planes;
use crate::element::Element;
use crate::level::Kernel;
use crate::simd::{Isa, Real, Vector};

/// Positions staged before the next channels are: a cache line of each plane.
const STAGE_STEP: usize = 16;
/// Positions brought back before the next channels are: a few lines of each plane, which some processors write faster.
const UNSTAGE_STEP: usize = 128;

/// Writes channels `0..channels` of `positions` to `staged`, which begins with the first of them.
#[derive(Debug)]
pub(crate) struct Stage<'a, T: Element> {
    pub(crate) planes: Planes<&'a [T]>,
    pub(crate) channels: usize,
    pub(crate) positions: Range<usize>,
    pub(crate) staged: &'a mut [T::Acc],
    pub(crate) pitch: usize,
}

/// Writes some channels of `staged`, which begins with the first of `positions`, to planes, the first of which is channel 0.
#[derive(Debug)]
pub(crate) struct Unstage<'a, T: Element> {
    pub(crate) staged: &'a [T::Acc],
    pub(crate) pitch: usize,
    pub(crate) planes: Planes<&'a mut [T]>,
    pub(crate) channels: Range<usize>,
    pub(crate) positions: Range<usize>,
}

impl<T: Element> Kernel for Stage<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Isa>(self, isa: S) {
        let Self { planes, channels, positions, staged, pitch } = self;
        // A pixel of up to four channels takes vectors of at most four lanes.
        if pitch > 4 || <T::Acc as Real>::V::<S>::LANES <= 4 {
            stage(isa, &planes, channels, positions, staged, pitch);
        } else {
            stage(isa.quad(), &planes, channels, positions, staged, pitch);
        }
    }
}

impl<T: Element> Kernel for Unstage<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Isa>(self, isa: S) {
        if self.pitch > 4 || <T::Acc as Real>::V::<S>::LANES <= 4 {
            unstage(isa, self)
        } else {
            unstage(isa.quad(), self)
        }
    }
}

/// As [`Stage`]. `pitch` is a multiple of the level's vectors.
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
        let (from, count) = planes.run(&rest, STAGE_STEP);
        let to = rest.start.wrapping_sub(first).wrapping_mul(pitch);
        rest.start = rest.start.wrapping_add(count.max(1));
        let whole = if planes.column == 1 { count.wrapping_sub(count % lanes) } else { 0 };
        for c in (0..pitch).step_by(lanes) {
            for p in (0..whole).step_by(lanes) {
                <T::Acc as Real>::V::<S>::transpose(
                    #[inline(always)]
                    |k| {
                        let channel = c.wrapping_add(k);
                        let at = from.wrapping_add(p).wrapping_add(channel.wrapping_mul(planes.channel));
                        match planes.data.get(at..at.wrapping_add(lanes)) {
                            Some(values) if channel < channels => T::load(isa, values),
                            _ => splat(isa, T::Acc::default()),
                        }
                    },
                    #[inline(always)]
                    |k, v| {
                        let at = to.wrapping_add(p.wrapping_add(k).wrapping_mul(pitch)).wrapping_add(c);
                        if let Some(to) = staged.get_mut(at..at.wrapping_add(lanes)) {
                            v.store(to);
                        }
                    },
                );
            }
        }
        for p in whole..count {
            let (from, to) = (from.wrapping_add(p.wrapping_mul(planes.column)), to.wrapping_add(p.wrapping_mul(pitch)));
            let values = staged.get_mut(to..to.wrapping_add(pitch)).unwrap_or(&mut []);
            for (channel, to) in values.iter_mut().enumerate() {
                let at = from.wrapping_add(channel.wrapping_mul(planes.channel));
                *to = if channel < channels { planes.widen(at) } else { T::Acc::default() };
            }
        }
    }
}

#[inline(always)]
fn unstage<S: Isa, T: Element>(isa: S, unstage: Unstage<'_, T>) {
    let Unstage { staged, pitch, planes, channels, positions } = unstage;
    let lanes = <T::Acc as Real>::V::<S>::LANES;
    let (first, mut rest) = (positions.start, positions);
    while !rest.is_empty() {
        let (to, count) = planes.run(&rest, UNSTAGE_STEP);
        let from = rest.start.wrapping_sub(first).wrapping_mul(pitch);
        rest.start = rest.start.wrapping_add(count.max(1));
        let whole = if planes.column == 1 { count.wrapping_sub(count % lanes) } else { 0 };
        for c in (0..channels.end).step_by(lanes) {
            for p in (0..whole).step_by(lanes) {
                let from = from.wrapping_add(p.wrapping_mul(pitch)).wrapping_add(c);
                <T::Acc as Real>::V::<S>::transpose(
                    #[inline(always)]
                    |k| {
                        let at = from.wrapping_add(k.wrapping_mul(pitch));
                        match staged.get(at..at.wrapping_add(lanes)) {
                            Some(values) => Vector::load(isa, values),
                            None => splat(isa, T::Acc::default()),
                        }
                    },
                    #[inline(always)]
                    |k, v| {
                        let channel = c.wrapping_add(k);
                        let at = to.wrapping_add(p).wrapping_add(channel.wrapping_mul(planes.channel));
                        if let (true, Some(to)) =
                            (channels.contains(&channel), planes.data.get_mut(at..at.wrapping_add(lanes)))
                        {
                            T::store(isa, v, to);
                        }
                    },
                );
            }
        }
        for p in whole..count {
            let (from, to) = (from.wrapping_add(p.wrapping_mul(pitch)), to.wrapping_add(p.wrapping_mul(planes.column)));
            for channel in channels.clone() {
                let at = to.wrapping_add(channel.wrapping_mul(planes.channel));
                if let (Some(&value), Some(to)) = (staged.get(from.wrapping_add(channel)), planes.data.get_mut(at)) {
                    *to = T::narrow(value);
                }
            }
        }
    }
}
