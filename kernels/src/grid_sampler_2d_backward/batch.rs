//! Points of a chunk whose weights, and whose sums over the channels, are computed side by side: a lane each.
//!
//! What a point needs to work on its channels are then single loads of one value into all lanes, and what remains of it is one
//! vector along each axis.

use super::cells::{CHUNK, Cells, Distances, lanes, lanes_of, put};
use super::coordinates::splat;
use super::gradient::halve;
use crate::simd::{Isa, Real, Vector};

/// Points of a batch; a whole number of vectors at every level, and of which a chunk has a whole number.
pub(crate) const BATCH: usize = if CHUNK < 8 { CHUNK } else { 8 };

/// The distances and weights of a batch of points. Copies: all lie at fixed places, which one register finds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Batch<A> {
    /// Along x and y.
    before: [[A; BATCH]; 2],
    after: [[A; BATCH]; 2],
    /// Of the pixels north-west, north-east, south-west and south-east.
    weights: [[A; BATCH]; 4],
}

impl<A: Real> Batch<A> {
    /// No points.
    pub(crate) fn new() -> Self {
        let zeros = [A::default(); BATCH];
        Self { before: [zeros; 2], after: [zeros; 2], weights: [zeros; 4] }
    }

    /// Those of the points from `first` on, by a level with at most eight lanes.
    #[inline(always)]
    pub(crate) fn set<S: Isa>(&mut self, isa: S, cells: &Cells<A>, first: usize) {
        let [[bx, by], [ax, ay]] = [&mut self.before, &mut self.after];
        for k in (0..BATCH).step_by(lanes_of::<S, A>()) {
            let from = first.wrapping_add(k);
            let before = [lanes(isa, &cells.x.before, from), lanes(isa, &cells.y.before, from)];
            let after = [lanes(isa, &cells.x.after, from), lanes(isa, &cells.y.after, from)];
            put::<S, _, _>(before[0], bx, k);
            put::<S, _, _>(before[1], by, k);
            put::<S, _, _>(after[0], ax, k);
            put::<S, _, _>(after[1], ay, k);
            let weights = if cells.nearest { [splat(isa, A::ONE); 4] } else { Distances { before, after }.weights() };
            for (weight, to) in weights.into_iter().zip(&mut self.weights) {
                put::<S, _, _>(weight, to, k);
            }
        }
    }

    /// The distances of point `k`.
    #[inline(always)]
    pub(crate) fn distances(&self, k: usize) -> Distances<A> {
        let [[bx, by], [ax, ay]] = [&self.before, &self.after];
        Distances { before: [of(bx, k), of(by, k)], after: [of(ax, k), of(ay, k)] }
    }

    /// The weights of its pixels.
    #[inline(always)]
    pub(crate) fn weights(&self, k: usize) -> [A; 4] {
        let [nw, ne, sw, se] = &self.weights;
        [of(nw, k), of(ne, k), of(sw, k), of(se, k)]
    }
}

#[inline(always)]
fn of<A: Real>(each: &[A; BATCH], k: usize) -> A {
    // The compiler sees that it is there.
    each.get(k & (BATCH - 1)).copied().unwrap_or_default()
}

/// The sum over a block of channels for each point, from its lanes, at most the first eight. Of a level with at most four lanes: the
/// first halves of eight are added before points are exchanged with lanes, of which fewer are left then.
#[inline(always)]
pub(crate) fn halve_each<S: Isa, A: Real, const GROUP: usize>(
    isa: S,
    points: &[[A; GROUP]; BATCH],
    sums: &mut [A; BATCH],
) {
    let width = lanes_of::<S, A>();
    let zero = splat(isa, A::default());
    for k in (0..BATCH).step_by(width) {
        let mut each = [zero; 4];
        A::V::<S>::transpose(
            #[inline(always)]
            |point| {
                let Some(lanes) = points.get(k.wrapping_add(point)) else { return zero };
                let from = |lane: usize| Vector::load(isa, lanes.get(lane..).unwrap_or(&[]));
                match width {
                    4 => from(0) + from(4),
                    2 => (from(0) + from(4)) + (from(2) + from(6)),
                    _ => halve([from(0), from(1), from(2), from(3), from(4), from(5), from(6), from(7)]),
                }
            },
            #[inline(always)]
            |lane, values| {
                if let Some(to) = each.get_mut(lane) {
                    *to = values;
                }
            },
        );
        let [a, b, c, d] = each;
        let sum = match width {
            4 => (a + c) + (b + d),
            2 => a + b,
            _ => a,
        };
        // A sum begins with +0, so it is nowhere -0. To add it at the end is the same, and is done once for all lanes.
        put::<S, _, _>(sum + zero, sums, k);
    }
}
