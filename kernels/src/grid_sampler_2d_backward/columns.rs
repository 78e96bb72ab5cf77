//! Adds what points give the pixels of one plane, where most of them add to the pixels of the point before or to those one to the
//! right.
//!
//! The four pixels of a point are two columns; the second is mostly the first of the next point. A processor that loads what it
//! has just stored waits if it was stored in other pieces than it is loaded in. Rows in registers wait for each other, as part of
//! each comes from the one before. Columns do neither.

use core::cell::Cell;

use super::coordinates::splat;
use crate::simd::{Isa, Real, Vector};

/// A plane, seen as the rows that corners lie in and the rows below them: both the same cells.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Columns<'a, A: Real> {
    north: &'a [Cell<A>],
    south: &'a [Cell<A>],
}

impl<'a, A: Real> Columns<'a, A> {
    /// Of a plane where the pixel `below` another lies that far behind it.
    #[inline(always)]
    pub(crate) fn new(plane: &'a mut [A], below: usize) -> Self {
        let cells = Cell::from_mut(plane).as_slice_of_cells();
        let south = cells.get(below..).unwrap_or(&[]);
        // As many, so that the compiler looks at bounds once for both.
        Self { north: cells.get(..south.len()).unwrap_or(&[]), south }
    }

    /// Adds the terms of points, `N` at most, to their pixels, point by point. `at` has their corners.
    #[inline(always)]
    pub(crate) fn add<S: Isa, const N: usize>(self, isa: S, at: &[u32; N], terms: &[[A; 4]; N], count: usize) {
        for (&at, terms) in at.iter().zip(terms).take(count) {
            let Some([[nw, ne], [sw, se]]) = self.pixels(at) else { continue };
            let [west, east] = split(isa, terms);
            store::<S, A>(load(isa, [nw, sw]) + west, [nw, sw]);
            store::<S, A>(load(isa, [ne, se]) + east, [ne, se]);
        }
    }

    /// The same. Columns stay in registers as long as points add to them, which takes half the stores, and branches.
    #[inline(always)]
    pub(crate) fn add_held<S: Isa, const N: usize>(self, isa: S, at: &[u32; N], terms: &[[A; 4]; N], count: usize) {
        let mut held = at[0];
        let mut sums = self.load_both(isa, held);
        for (&at, terms) in at.iter().zip(terms).take(count) {
            if at == held.wrapping_add(1) {
                if let Some([[nw, _, ne], [sw, _, se]]) = self.pixels(held) {
                    store::<S, A>(sums[0], [nw, sw]);
                    sums = [sums[1], load(isa, [ne, se])];
                }
            } else if at != held {
                self.store_both::<S>(sums, held);
                sums = self.load_both(isa, at);
            }
            held = at;
            let [west, east] = split(isa, terms);
            sums = [sums[0] + west, sums[1] + east];
        }
        self.store_both::<S>(sums, held);
    }

    /// `W` pixels from a corner on and those below them; `None` where there are not all of them.
    #[inline(always)]
    fn pixels<const W: usize>(self, at: u32) -> Option<[&'a [Cell<A>; W]; 2]> {
        let run = at as usize..(at as usize).wrapping_add(W);
        Some([self.north.get(run.clone())?.first_chunk()?, self.south.get(run)?.first_chunk()?])
    }

    #[inline(always)]
    fn load_both<S: Isa>(self, isa: S, at: u32) -> [A::V<S>; 2] {
        let Some([[nw, ne], [sw, se]]) = self.pixels(at) else { return [splat(isa, A::default()); 2] };
        [load(isa, [nw, sw]), load(isa, [ne, se])]
    }

    #[inline(always)]
    fn store_both<S: Isa>(self, [west, east]: [A::V<S>; 2], at: u32) {
        if let Some([[nw, ne], [sw, se]]) = self.pixels(at) {
            store::<S, A>(west, [nw, sw]);
            store::<S, A>(east, [ne, se]);
        }
    }
}

/// Of a point's terms those of each column, in the first lanes; of vectors with four.
#[inline(always)]
fn split<S: Isa, A: Real>(isa: S, terms: &[A; 4]) -> [A::V<S>; 2] {
    let terms: A::V<S> = Vector::load(isa, terms);
    Vector::deinterleave(isa, [terms, terms])
}

/// A column in the first lanes.
#[inline(always)]
fn load<S: Isa, A: Real>(isa: S, [north, south]: [&Cell<A>; 2]) -> A::V<S> {
    let zero = A::default();
    Vector::load(isa, &[north.get(), south.get(), zero, zero])
}

#[inline(always)]
fn store<S: Isa, A: Real>(column: A::V<S>, [north, south]: [&Cell<A>; 2]) {
    let mut lanes = [A::default(); 4];
    column.store(&mut lanes);
    north.set(lanes[0]);
    south.set(lanes[1]);
}
