//! The gradient of a point: what a channel adds to it, and the order of the sum over channels.

use super::coordinates::splat;
use crate::simd::{Isa, Real, Vector};

/// Sums of the channels of a block by their number modulo 8, along x and y.
pub(crate) type Lanes<A> = [[A; 8]; 2];

/// The sum over a block of channels: lanes 8 to 4, to 2, to 1.
#[inline(always)]
pub(crate) fn halve<A: Real>([a, b, c, d, e, f, g, h]: [A; 8]) -> A {
    let [a, b, c, d] = [a + e, b + f, c + g, d + h];
    (a + c) + (b + d)
}

/// Adds channels side by side to their lanes: `GROUP` values at a time of `grad_output` and of the four pixels around the point,
/// which lies `before` the next pixel and `after` the last one along x and y.
#[inline(always)]
pub(crate) fn bilinear<S: Isa, A: Real, const GROUP: usize>(
    isa: S,
    grad_output: &[A],
    pixels: [&[A]; 4],
    before: [A; 2],
    after: [A; 2],
) -> Lanes<A> {
    let ([bx, by], [ax, ay]) = (before, after);
    let (bx, by, ax, ay) = (splat(isa, bx), splat(isa, by), splat(isa, ax), splat(isa, ay));
    let [nw, ne, sw, se] = pixels;
    let mut lanes = [[A::default(); 8]; 2];
    for j in (0..GROUP).step_by(A::V::<S>::LANES) {
        let (mut x, mut y) = (splat(isa, A::default()), splat(isa, A::default()));
        let pixels = groups::<A, GROUP>(nw).zip(groups::<A, GROUP>(ne)).zip(groups::<A, GROUP>(sw).zip(groups::<A, GROUP>(se)));
        for (go, ((nw, ne), (sw, se))) in groups::<A, GROUP>(grad_output).zip(pixels) {
            let go = load::<S, A, GROUP>(isa, go, j);
            let (nw, ne) = (load::<S, A, GROUP>(isa, nw, j), load::<S, A, GROUP>(isa, ne, j));
            let (sw, se) = (load::<S, A, GROUP>(isa, sw, j), load::<S, A, GROUP>(isa, se, j));
            x = x + go * ((ne - nw) * by + (se - sw) * ay);
            y = y + go * ((sw - nw) * bx + (se - ne) * ax);
        }
        let [to_x, to_y] = &mut lanes;
        x.store(to_x.get_mut(j..).unwrap_or(&mut []));
        y.store(to_y.get_mut(j..).unwrap_or(&mut []));
    }
    lanes
}

#[inline(always)]
fn load<S: Isa, A: Real, const GROUP: usize>(isa: S, from: &[A; GROUP], j: usize) -> A::V<S> {
    Vector::load(isa, from.get(j..).unwrap_or(&[]))
}

#[inline(always)]
fn groups<A, const GROUP: usize>(values: &[A]) -> impl Iterator<Item = &[A; GROUP]> {
    values.as_chunks::<GROUP>().0.iter()
}

/// Adds `weight * grad_output` to a pixel whose channels lie side by side.
#[inline(always)]
pub(crate) fn scatter<S: Isa, A: Real, const GROUP: usize>(isa: S, pixel: &mut [A], weight: A, grad_output: &[A]) {
    let weight = A::V::<S>::splat(isa, weight);
    for (pixel, go) in pixel.as_chunks_mut::<GROUP>().0.iter_mut().zip(groups::<A, GROUP>(grad_output)) {
        for j in (0..GROUP).step_by(A::V::<S>::LANES) {
            let (Some(pixel), Some(go)) = (pixel.get_mut(j..), go.get(j..)) else { continue };
            let sum = A::V::<S>::load(isa, pixel) + weight * A::V::<S>::load(isa, go);
            sum.store(pixel);
        }
    }
}
