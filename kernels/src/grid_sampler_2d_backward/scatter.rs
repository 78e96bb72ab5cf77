//! Adds what the points of a run give their pixels, point by point, in the way that suits how they follow each other.

use core::ops::Range;

use super::cells::lanes_of;
use super::columns::Columns;
use super::point_lanes::{CHANNELS, Kept};
use super::squares;
use crate::simd::{Isa, Real};

/// So many points of an image the processor foresees where they lie, if images or calls have the same grid.
const LEARNED: usize = 1 << 16;

/// A run of points.
#[derive(Debug)]
pub(crate) struct Scatter<'a, 'b, 'c, A> {
    /// The planes of `input_grad` that are `added` to.
    pub(crate) planes: &'b mut [&'c mut [A]; CHANNELS],
    pub(crate) added: Range<usize>,
    /// From a pixel to the one below it, at least 2.
    pub(crate) below: usize,
    /// How many points the image has.
    pub(crate) points: usize,
    pub(crate) kept: &'a Kept<A>,
    /// Points of the run.
    pub(crate) count: usize,
    /// Whether the planes have all pixels of all points.
    pub(crate) within: bool,
}

impl<A: Real> Scatter<'_, '_, '_, A> {
    /// Adds the terms.
    #[inline(always)]
    pub(crate) fn add<S: Isa>(self, isa: S) {
        match self.added.len() {
            1 => self.add_to::<S, 1>(isa),
            2 => self.add_to::<S, 2>(isa),
            3 => self.add_to::<S, 3>(isa),
            CHANNELS => self.add_to::<S, CHANNELS>(isa),
            _ => {}
        }
    }

    /// The same to `C` planes.
    #[inline(always)]
    fn add_to<S: Isa, const C: usize>(self, isa: S) {
        let Self { planes, kept, count, within, .. } = self;
        // Where they lie stays in registers.
        let mut rest = planes.iter_mut();
        let mut planes = core::array::from_fn::<_, C, _>(|_| rest.next().map_or(&mut [][..], |plane| &mut **plane));
        let Some(terms) = kept.terms.get(self.added.start..).and_then(|terms| terms.first_chunk::<C>()) else { return };
        let vectors = lanes_of::<S::Quad, A>() == 4;
        if !within {
            squares::add_some(&mut planes, self.below as u32, &kept.at, terms, count);
        } else if vectors && kept.steps == Steps::Any && C < 4 {
            squares::add_each(isa.quad(), &mut planes, self.below as u32, &kept.at, terms, count);
        } else if vectors && let ([plane], [terms]) = (planes.as_mut_slice(), terms.as_slice()) {
            let columns = Columns::new(plane, self.below);
            if kept.steps == Steps::Next && self.points > LEARNED {
                columns.add(isa.quad(), &kept.at, terms, count);
            } else {
                columns.add_held(isa.quad(), &kept.at, terms, count);
            }
        } else {
            squares::add(&mut planes, self.below as u32, &kept.at, terms, count);
        }
    }
}

/// Where most points of a run lie, seen from the point before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Steps {
    /// Anywhere.
    Any,
    /// At the same corner, or at one beside it.
    Near,
    /// At the corner one to the right.
    Next,
}

impl Steps {
    /// Of points with these corners. A sample is enough, and may have points of an earlier run: no answer depends on it.
    #[inline(always)]
    pub(crate) fn new<const N: usize>(at: &[u32; N]) -> Self {
        let count = |step: u32| {
            let steps = at.as_chunks::<8>().0.iter().map(|&[at, behind, ..]| behind.wrapping_sub(at));
            steps.fold(0, |count, this| count + usize::from(this == step))
        };
        let (half, next, same) = (N / 16, count(1), count(0));
        if next > half {
            Self::Next
        } else if next + same > half || next + same + count(1_u32.wrapping_neg()) > half {
            Self::Near
        } else {
            Self::Any
        }
    }
}
