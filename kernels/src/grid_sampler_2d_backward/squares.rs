//! Adds what the points of a run give their pixels: a corner pixel, the one behind it, and the two below.
//!
//! Points that follow each other mostly add to the same pixels or to those one to the right. A processor that loads a pixel which
//! it has just stored, as part of a pair, must wait until that store is done. So the four sums stay in registers, and only those
//! that the next point does not add to are stored. Of one plane [`Columns`](super::columns) do that better.

use super::cells::lanes_of;
use crate::simd::{Isa, Real, Vector, put};

/// Keeps the terms of a vector of points: those of a point side by side.
#[inline(always)]
pub(crate) fn put_terms<S: Isa, A: Real>(isa: S, [a, b, c, d]: [A::V<S>; 4], to: &mut [[A; 4]]) {
    let ([ac, more_ac], [bd, more_bd]) = (Vector::interleave(isa, [a, c]), Vector::interleave(isa, [b, d]));
    let mut to = to.as_flattened_mut();
    for halves in [[ac, bd], [more_ac, more_bd]] {
        for v in <A::V<S> as Vector<S>>::interleave(isa, halves) {
            v.store(to);
            to = to.get_mut(lanes_of::<S, A>()..).unwrap_or(&mut []);
        }
    }
}

/// Adds the terms of points, `N` at most, to their pixels in each plane, point by point. `at` has their corners; the second row is
/// `below` the first, at least two pixels.
#[inline(always)]
pub(crate) fn add<A: Real, const C: usize, const N: usize>(
    planes: &mut [&mut [A]; C],
    below: u32,
    at: &[u32; N],
    terms: &[[[A; 4]; N]; C],
    count: usize,
) {
    let mut held = at[0] as usize;
    let mut sums = [[A::default(); 4]; C];
    load(planes, held, below, &mut sums);
    for k in 0..count.min(N) {
        let at = at[k] as usize;
        if at == held.wrapping_add(1) && below > 2 {
            advance(planes, held, below, &mut sums);
        } else if at != held {
            store(planes, held, below, &sums);
            load(planes, at, below, &mut sums);
        }
        held = at;
        for ([nw, ne, sw, se], terms) in sums.iter_mut().zip(terms) {
            let [a, b, c, d] = terms[k];
            (*nw, *ne, *sw, *se) = (*nw + a, *ne + b, *sw + c, *se + d);
        }
    }
    store(planes, held, below, &sums);
}

/// The same for points that lie anywhere: nothing is held, and the four sums are one vector of four lanes. Not for four planes,
/// which made some types slower.
#[inline(always)]
pub(crate) fn add_each<S: Isa, A: Real, const C: usize, const N: usize>(
    isa: S,
    planes: &mut [&mut [A]; C],
    below: u32,
    at: &[u32; N],
    terms: &[[[A; 4]; N]; C],
    count: usize,
) {
    for (k, &at) in at.iter().enumerate().take(count) {
        for (plane, terms) in planes.iter_mut().zip(terms) {
            let Some(square) = square::<A, 2>(plane, at as usize, below) else { continue };
            let (Some(&[nw, ne]), Some(&[sw, se])) = (square.first_chunk(), square.last_chunk()) else { continue };
            let sums = <A::V<S> as Vector<S>>::load(isa, &[nw, ne, sw, se]) + Vector::load(isa, &terms[k]);
            let mut lanes = [A::default(); 4];
            sums.store(&mut lanes);
            let [nw, ne, sw, se] = lanes;
            put([nw, ne], square);
            put([sw, se], square.get_mut(below as usize..).unwrap_or(&mut []));
        }
    }
}

/// The same for planes that have not all pixels of all points: a band. Corners count from where it begins, and wrap in front of it.
#[inline(always)]
pub(crate) fn add_some<A: Real, const C: usize, const N: usize>(
    planes: &mut [&mut [A]; C],
    below: u32,
    at: &[u32; N],
    terms: &[[[A; 4]; N]; C],
    count: usize,
) {
    // Of points that lie anywhere nobody foresees which ones have pixels here. So they are picked first, without branches.
    let (mut picked, mut picks) = ([0_u32; N], 0);
    let pixels = planes.first().map_or(0, |plane| plane.len()) as u32;
    let above = below.wrapping_add(1);
    for (k, &at) in (0..).zip(at).take(count) {
        if let Some(pick) = picked.get_mut(picks) {
            *pick = k;
        }
        picks = picks.wrapping_add(usize::from(at.wrapping_add(above) < pixels.wrapping_add(above)));
    }
    for &k in picked.iter().take(picks) {
        let (Some(&at), k) = (at.get(k as usize), k as usize) else { return };
        for (plane, terms) in planes.iter_mut().zip(terms) {
            let Some(&[a, b, c, d]) = terms.get(k) else { return };
            if let Some(square) = square::<A, 2>(plane, at as usize, below) {
                if let Some([nw, ne]) = square.first_chunk_mut() {
                    (*nw, *ne) = (*nw + a, *ne + b);
                }
                if let Some([sw, se]) = square.last_chunk_mut() {
                    (*sw, *se) = (*sw + c, *se + d);
                }
            } else {
                // A row of the two.
                for (at, terms) in [(at, [a, b]), (at.wrapping_add(below), [c, d])] {
                    if let Some([west, east]) = plane.get_mut(at as usize..).and_then(|row| row.first_chunk_mut()) {
                        (*west, *east) = (*west + terms[0], *east + terms[1]);
                    }
                }
            }
        }
    }
}

#[inline(always)]
fn load<A: Real, const C: usize>(planes: &mut [&mut [A]; C], at: usize, below: u32, sums: &mut [[A; 4]; C]) {
    for (plane, sums) in planes.iter_mut().zip(sums) {
        let Some(square) = square::<A, 2>(plane, at, below) else { continue };
        if let (Some([nw, ne]), Some([sw, se])) = (square.first_chunk(), square.last_chunk()) {
            *sums = [*nw, *ne, *sw, *se];
        }
    }
}

#[inline(always)]
fn store<A: Real, const C: usize>(planes: &mut [&mut [A]; C], at: usize, below: u32, sums: &[[A; 4]; C]) {
    for (plane, sums) in planes.iter_mut().zip(sums) {
        let Some(square) = square::<A, 2>(plane, at, below) else { continue };
        let [nw, ne, sw, se] = *sums;
        put([nw, ne], square);
        put([sw, se], square.get_mut(below as usize..).unwrap_or(&mut []));
    }
}

/// To the pixels one to the right; rows have at least 3.
#[inline(always)]
fn advance<A: Real, const C: usize>(planes: &mut [&mut [A]; C], at: usize, below: u32, sums: &mut [[A; 4]; C]) {
    for (plane, sums) in planes.iter_mut().zip(sums) {
        let Some(square) = square::<A, 3>(plane, at, below) else { continue };
        let [nw, north, sw, south] = *sums;
        let (mut ne, mut se) = (A::default(), A::default());
        if let Some(above) = square.first_chunk_mut::<3>() {
            (above[0], ne) = (nw, above[2]);
        }
        if let Some(below) = square.last_chunk_mut::<3>() {
            (below[0], se) = (sw, below[2]);
        }
        *sums = [north, ne, south, se];
    }
}

/// The pixels from `at` on to the last one of the `W` that lie `below`; `None` where there are not all. Whatever `below` is, they are
/// at least `W`: the compiler sees that, and looks at bounds twice for all of them.
#[inline(always)]
fn square<A, const W: usize>(plane: &mut [A], at: usize, below: u32) -> Option<&mut [A]> {
    plane.get_mut(at..)?.get_mut(..(below as usize).wrapping_add(W))
}
