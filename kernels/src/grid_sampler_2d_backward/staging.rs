//! Between planes in storage type and channels side by side in the compute type.
//!
//! A staged image holds `pitch` values for each position: its channels and, where `pitch` is larger, zeros.

use core::ops::Range;

use super::coordinates::splat;
use super::planes::Planes;
use crate::element::{Element, store_each};
use crate::level::Kernel;
use crate::simd::{CACHED, Isa, MOST_LANES, Real, Vector, prefetch_run};

/// Positions staged before the next channels are: a few lines of each plane, which memory gives faster than single ones.
const STAGE_STEP: usize = 64;
/// How many channels ahead are asked for. No more, as planes that are a power of two apart share few places of a cache.
const AHEAD: usize = 8;
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
        if const { <T::Acc as Real>::V::<S>::LANES <= 4 } || pitch > 4 {
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
        if const { <T::Acc as Real>::V::<S>::LANES <= 4 } || self.pitch > 4 {
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
    // Two more tensors as large are at work.
    let far = size_of_val(planes.data) > CACHED / 2 && planes.column == 1;
    let zeros: &[T] = bytemuck::try_cast_slice(&[0u64; STAGE_STEP]).unwrap_or(&[]);
    let (first, mut rest) = (positions.start, positions);
    while !rest.is_empty() {
        let (from, count) = planes.run(&rest, STAGE_STEP);
        let to = rest.start.wrapping_sub(first).wrapping_mul(pitch);
        rest.start = rest.start.wrapping_add(count.max(1));
        if planes.channel == 1 {
            // Side by side already.
            for p in 0..count {
                let from = from.wrapping_add(p.wrapping_mul(planes.column));
                let values = planes.data.get(from..from.wrapping_add(channels)).unwrap_or(&[]);
                let to = to.wrapping_add(p.wrapping_mul(pitch));
                let staged = staged.get_mut(to..to.wrapping_add(pitch)).unwrap_or(&mut []);
                for c in (0..pitch).step_by(lanes) {
                    let values = T::load(isa, values.get(c..).unwrap_or(&[]));
                    values.store(staged.get_mut(c..).unwrap_or(&mut []));
                }
            }
            continue;
        }
        let whole = if planes.column == 1 { count.wrapping_sub(count % lanes) } else { 0 };
        let Some(zeros) = zeros.get(..whole) else { return };
        for c in (0..pitch).step_by(lanes) {
            if far {
                // The processor foresees no jump to another plane. Behind the last one come the next positions of the first.
                let ahead = c.wrapping_add(AHEAD);
                let (from, ahead) =
                    if ahead < pitch { (from, ahead) } else { (from.wrapping_add(count), ahead.wrapping_sub(pitch)) };
                for channel in ahead..ahead.wrapping_add(lanes) {
                    let from = from.wrapping_add(channel.wrapping_mul(planes.channel));
                    prefetch_run(isa, isa.later(), planes.data, from, count);
                }
            }
            // As long as each other, so that one look at a length does for all of them.
            let mut rows = [zeros; MOST_LANES];
            for (k, row) in rows.iter_mut().enumerate().take(lanes) {
                let channel = c.wrapping_add(k);
                let from = from.wrapping_add(channel.wrapping_mul(planes.channel));
                if channel < channels {
                    *row = planes.data.get(from..from.wrapping_add(whole)).unwrap_or(zeros);
                }
            }
            let mut pixels = staged.get_mut(to..).unwrap_or(&mut []).chunks_exact_mut(pitch.max(1));
            if channels.saturating_sub(c) <= 1 {
                // A lone channel and zeros, or these alone: there is nothing to exchange.
                for p in (0..whole).step_by(lanes) {
                    let mut values = [T::Acc::default(); MOST_LANES];
                    T::load(isa, rows[0].get(p..).unwrap_or(&[])).store(&mut values);
                    for (pixel, value) in pixels.by_ref().zip(values).take(lanes) {
                        let mut lone = [T::Acc::default(); MOST_LANES];
                        lone[0] = value;
                        let to = pixel.get_mut(c..c.wrapping_add(lanes)).unwrap_or(&mut []);
                        <T::Acc as Real>::V::<S>::load(isa, &lone).store(to);
                    }
                }
                continue;
            }
            for p in (0..whole).step_by(lanes) {
                <T::Acc as Real>::V::<S>::transpose(
                    #[inline(always)]
                    |k| match rows.get(k).and_then(|row| row.get(p..p.wrapping_add(lanes))) {
                        Some(values) => T::load(isa, values),
                        None => splat(isa, T::Acc::default()),
                    },
                    #[inline(always)]
                    |_, v| {
                        if let Some(to) = pixels.next().and_then(|pixel| pixel.get_mut(c..c.wrapping_add(lanes))) {
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
        for c in (channels.start.wrapping_sub(channels.start % lanes)..channels.end).step_by(lanes) {
            // In front of the first channel there may be nothing; a lone one may be any distance from the next.
            let start = to.wrapping_add(c.max(channels.start).wrapping_mul(planes.channel));
            let mut rest = planes.data.get_mut(start..).unwrap_or(&mut []);
            let mut rows = [const { None }; MOST_LANES];
            for (k, row) in rows.iter_mut().enumerate().take(lanes) {
                if channels.contains(&c.wrapping_add(k)) {
                    let next = planes.channel.max(whole).min(rest.len());
                    let (plane, behind) = core::mem::take(&mut rest).split_at_mut_checked(next).unwrap_or_default();
                    (*row, rest) = (plane.get_mut(..whole), behind);
                }
            }
            let mut pixels = staged.get(from..).unwrap_or(&[]).chunks_exact(pitch.max(1));
            if channels.end.saturating_sub(c) == 1 {
                let [Some(row), ..] = &mut rows else { continue };
                for to in row.chunks_exact_mut(lanes) {
                    let mut values = [T::Acc::default(); MOST_LANES];
                    for (value, pixel) in values.iter_mut().zip(pixels.by_ref()).take(lanes) {
                        *value = pixel.get(c).copied().unwrap_or_default();
                    }
                    T::store(isa, Vector::load(isa, &values), to);
                }
                continue;
            }
            for p in (0..whole).step_by(lanes) {
                <T::Acc as Real>::V::<S>::transpose(
                    #[inline(always)]
                    |_| match pixels.next().and_then(|pixel| pixel.get(c..c.wrapping_add(lanes))) {
                        Some(values) => Vector::load(isa, values),
                        None => splat(isa, T::Acc::default()),
                    },
                    #[inline(always)]
                    |k, v| {
                        if let Some(Some(row)) = rows.get_mut(k)
                            && let Some(to) = row.get_mut(p..p.wrapping_add(lanes))
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

/// Writes `positions` of channels `0..channels` to `packed`, one channel after the other.
#[derive(Debug)]
pub(crate) struct Pack<'a, T: Element> {
    pub(crate) planes: Planes<&'a [T]>,
    pub(crate) channels: usize,
    pub(crate) positions: Range<usize>,
    pub(crate) packed: &'a mut [T::Acc],
}

/// Rounds `packed` values of `positions`, one channel after the other, to where they belong.
#[derive(Debug)]
pub(crate) struct Unpack<'a, T: Element> {
    pub(crate) packed: &'a [T::Acc],
    pub(crate) channels: usize,
    pub(crate) positions: Range<usize>,
    pub(crate) planes: Planes<&'a mut [T]>,
}

impl<T: Element> Kernel for Pack<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Isa>(self, isa: S) {
        let Self { planes, channels, positions, packed } = self;
        let lanes = <T::Acc as Real>::V::<S>::LANES;
        for c in 0..channels {
            let (mut rest, mut to) = (positions.clone(), c.wrapping_mul(positions.len()));
            while !rest.is_empty() {
                let (from, count) = planes.run(&rest, usize::MAX);
                let from = from.wrapping_add(c.wrapping_mul(planes.channel));
                rest.start = rest.start.wrapping_add(count.max(1));
                let end = to.wrapping_add(count);
                let to = packed.get_mut(core::mem::replace(&mut to, end)..end).unwrap_or(&mut []);
                if planes.column != 1 {
                    let each = to.iter_mut().enumerate();
                    each.for_each(|(k, to)| *to = planes.widen(from.wrapping_add(k.wrapping_mul(planes.column))));
                    continue;
                }
                let from = planes.data.get(from..from.wrapping_add(count)).unwrap_or(&[]);
                for k in (0..count).step_by(lanes) {
                    let values = T::load(isa, from.get(k..).unwrap_or(&[]));
                    values.store(to.get_mut(k..).unwrap_or(&mut []));
                }
            }
        }
    }
}

impl<T: Element> Kernel for Unpack<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Isa>(self, isa: S) {
        let Self { packed, channels, positions, planes } = self;
        let lanes = <T::Acc as Real>::V::<S>::LANES;
        if (2..=4).contains(&channels) && planes.channel == 1 && planes.column == channels {
            return weave(isa, packed, channels, positions, planes);
        }
        for c in 0..channels {
            let (mut rest, mut from) = (positions.clone(), c.wrapping_mul(positions.len()));
            while !rest.is_empty() {
                let (to, count) = planes.run(&rest, usize::MAX);
                let to = to.wrapping_add(c.wrapping_mul(planes.channel));
                rest.start = rest.start.wrapping_add(count.max(1));
                let end = from.wrapping_add(count);
                let from = packed.get(core::mem::replace(&mut from, end)..end).unwrap_or(&[]);
                if planes.column != 1 {
                    for (k, &sum) in from.iter().enumerate() {
                        if let Some(to) = planes.data.get_mut(to.wrapping_add(k.wrapping_mul(planes.column))) {
                            *to = T::narrow(sum);
                        }
                    }
                    continue;
                }
                let to = planes.data.get_mut(to..to.wrapping_add(count)).unwrap_or(&mut []);
                for k in (0..count).step_by(lanes) {
                    let sums = Vector::load(isa, from.get(k..).unwrap_or(&[]));
                    T::store(isa, sums, to.get_mut(k..).unwrap_or(&mut []));
                }
            }
        }
    }
}

/// As [`Unpack`] of two to four channels that lie side by side, without gaps.
#[inline(always)]
fn weave<S: Isa, T: Element>(
    isa: S,
    packed: &[T::Acc],
    channels: usize,
    positions: Range<usize>,
    planes: Planes<&mut [T]>,
) {
    let (lanes, plane) = (<T::Acc as Real>::V::<S>::LANES, positions.len());
    let (mut rest, mut from) = (positions, 0usize);
    while !rest.is_empty() {
        let (to, count) = planes.run(&rest, usize::MAX);
        rest.start = rest.start.wrapping_add(count.max(1));
        let end = to.wrapping_add(count.wrapping_mul(channels));
        let to = planes.data.get_mut(to..end).unwrap_or(&mut []).chunks_mut(lanes.wrapping_mul(channels));
        for (k, to) in (from..).step_by(lanes).zip(to) {
            let sums = packed.get(k..).unwrap_or(&[]);
            match channels {
                2 => store_each(isa, Vector::interleave(isa, load_each(isa, sums, plane)), to),
                3 => store_each(isa, Vector::interleave_three(isa, load_each(isa, sums, plane)), to),
                _ => store_each(isa, Vector::interleave_four(isa, load_each(isa, sums, plane)), to),
            }
        }
        from = from.wrapping_add(count);
    }
}

/// Vectors of sums that lie `step` apart.
#[inline(always)]
fn load_each<S: Isa, A: Real, const C: usize>(isa: S, sums: &[A], step: usize) -> [A::V<S>; C] {
    let mut each = [splat(isa, A::default()); C];
    for (k, vector) in each.iter_mut().enumerate() {
        *vector = Vector::load(isa, sums.get(k.wrapping_mul(step)..).unwrap_or(&[]));
    }
    each
}
