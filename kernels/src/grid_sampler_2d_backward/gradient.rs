//! The gradient of a point: what a channel adds to it, and the order of the sum over channels.

use core::ops::Add;

use super::bicubic::Keys;
use super::cells::Distances;
use super::coordinates::splat;
use crate::simd::{Isa, Real, Vector};

/// Sums of the channels of a block by their number modulo 8, along x and y. Of up to four channels four are enough.
pub(crate) type Lanes<A, const COUNT: usize> = [[A; COUNT]; 2];

/// The sum over a block of channels: lanes 8 to 4, to 2, to 1.
#[inline(always)]
pub(crate) fn halve<V: Copy + Add<Output = V>>([a, b, c, d, e, f, g, h]: [V; 8]) -> V {
    let [a, b, c, d] = [a + e, b + f, c + g, d + h];
    (a + c) + (b + d)
}

/// Adds channels side by side to their lanes: `GROUP` values at a time of `grad_output` and of the four pixels around the point. Of
/// more than eight the first eight lanes are the sums. Those of negative zeros alone are one too, which [`halve_each`] makes +0.
///
/// [`halve_each`]: super::batch::halve_each
#[inline(always)]
pub(crate) fn bilinear<S: Isa, A: Real, const GROUP: usize>(
    isa: S,
    grad_output: &[[A; GROUP]],
    [nw, ne, sw, se]: [&[[A; GROUP]]; 4],
    distances: Distances<A>,
) -> Lanes<A, GROUP> {
    let Distances { before: [bx, by], after: [ax, ay] } = distances;
    let (bx, by, ax, ay) = (splat(isa, bx), splat(isa, by), splat(isa, ax), splat(isa, ay));
    // What changes no term that is added to it; +0 would change -0.
    let mut lanes = [[-A::default(); GROUP]; 2];
    // All have the same length; cut to it, they need no look at it in the loop.
    let count = grad_output.len();
    let (Some(nw), Some(ne)) = (nw.get(..count), ne.get(..count)) else { return lanes };
    let (Some(sw), Some(se)) = (sw.get(..count), se.get(..count)) else { return lanes };
    for j in (0..GROUP).step_by(A::V::<S>::LANES) {
        // Where vectors are short, those behind the eighth channel go on with the sums of the first eight.
        let [sums_x, sums_y] = &mut lanes;
        let sums = (sums_x.get_mut(j % 8..).unwrap_or(&mut []), sums_y.get_mut(j % 8..).unwrap_or(&mut []));
        let (mut x, mut y) = (A::V::<S>::load(isa, sums.0), A::V::<S>::load(isa, sums.1));
        for at in 0..count {
            let go = load(isa, grad_output, at, j);
            let (nw, ne) = (load(isa, nw, at, j), load(isa, ne, at, j));
            let (sw, se) = (load(isa, sw, at, j), load(isa, se, at, j));
            let (along_x, along_y) = (go * ((ne - nw) * by + (se - sw) * ay), go * ((sw - nw) * bx + (se - ne) * ax));
            (x, y) = (x + along_x, y + along_y);
            if const { A::V::<S>::LANES > 8 } {
                (x, y) = (x + along_x.last_eight(), y + along_y.last_eight());
            }
        }
        x.store(sums.0);
        y.store(sums.1);
    }
    lanes
}

/// The same for the sixteen pixels around the point and the weights and slopes of their columns and rows.
#[inline(always)]
pub(crate) fn bicubic<S: Isa, A: Real, const GROUP: usize>(
    isa: S,
    grad_output: &[[A; GROUP]],
    pixels: &[[&[[A; GROUP]]; 4]; 4],
    columns: &Keys<A>,
    rows: &Keys<A>,
) -> Lanes<A, 8> {
    let mut lanes = [[A::default(); 8]; 2];
    for j in (0..GROUP).step_by(A::V::<S>::LANES) {
        let (mut x, mut y) = (splat(isa, A::default()), splat(isa, A::default()));
        for at in 0..grad_output.len() {
            let (mut along_x, mut along_y) = (splat(isa, A::default()), splat(isa, A::default()));
            for (pixels, (weight, slope)) in pixels.iter().zip(rows.weights.iter().zip(&rows.slopes)) {
                let [v0, v1, v2, v3] = pixels;
                let (v0, v1) = (load(isa, v0, at, j), load(isa, v1, at, j));
                let (v2, v3) = (load(isa, v2, at, j), load(isa, v3, at, j));
                along_x = along_x + splat(isa, *weight) * line::<S, A>(isa, columns.slopes, v0, v1, v2, v3);
                along_y = along_y + splat(isa, *slope) * line::<S, A>(isa, columns.weights, v0, v1, v2, v3);
            }
            let go = load(isa, grad_output, at, j);
            x = x + go * along_x;
            y = y + go * along_y;
        }
        let [to_x, to_y] = &mut lanes;
        x.store(to_x.get_mut(j..).unwrap_or(&mut []));
        y.store(to_y.get_mut(j..).unwrap_or(&mut []));
    }
    lanes
}

/// A row of pixels, weighted.
#[inline(always)]
fn line<S: Isa, A: Real>(isa: S, factors: [A; 4], v0: A::V<S>, v1: A::V<S>, v2: A::V<S>, v3: A::V<S>) -> A::V<S> {
    let [c0, c1, c2, c3] = factors;
    let front = v0 * splat(isa, c0) + v1 * splat(isa, c1);
    (front + v2 * splat(isa, c2)) + v3 * splat(isa, c3)
}

/// Lanes `j..` of group `at` of a pixel; zeros where it has no such group.
#[inline(always)]
fn load<S: Isa, A: Real, const GROUP: usize>(isa: S, pixel: &[[A; GROUP]], at: usize, j: usize) -> A::V<S> {
    match pixel.get(at).and_then(|group| group.get(j..)) {
        Some(lanes) => Vector::load(isa, lanes),
        None => splat(isa, A::default()),
    }
}

/// Adds `weight * grad_output` to a pixel whose channels lie side by side.
#[inline(always)]
pub(crate) fn scatter<S: Isa, A: Real, const GROUP: usize>(
    isa: S,
    pixel: &mut [[A; GROUP]],
    weight: A,
    grad_output: &[[A; GROUP]],
) {
    let weight = splat(isa, weight);
    for (pixel, go) in pixel.iter_mut().zip(grad_output) {
        for j in (0..GROUP).step_by(A::V::<S>::LANES) {
            let (Some(pixel), Some(go)) = (pixel.get_mut(j..), go.get(j..)) else { continue };
            let sum = A::V::<S>::load(isa, pixel) + weight * A::V::<S>::load(isa, go);
            sum.store(pixel);
        }
    }
}

/// The same for the four pixels around a point.
#[inline(always)]
pub(crate) fn scatter_square<S: Isa, A: Real, const GROUP: usize>(
    isa: S,
    pixels: [&mut [[A; GROUP]]; 4],
    weights: [A; 4],
    grad_output: &[[A; GROUP]],
) {
    let [nw, ne, sw, se] = pixels;
    // `map` might be a call, without the level's instructions.
    let [a, b, c, d] = weights;
    let weights = [splat(isa, a), splat(isa, b), splat(isa, c), splat(isa, d)];
    for ((((nw, ne), sw), se), go) in nw.iter_mut().zip(ne).zip(sw).zip(se).zip(grad_output) {
        for j in (0..GROUP).step_by(A::V::<S>::LANES) {
            let go: A::V<S> = Vector::load(isa, go.get(j..).unwrap_or(&[]));
            for (pixel, weight) in [&mut *nw, &mut *ne, &mut *sw, &mut *se].into_iter().zip(weights) {
                let pixel = pixel.get_mut(j..).unwrap_or(&mut []);
                let sum = A::V::<S>::load(isa, pixel) + weight * go;
                sum.store(pixel);
            }
        }
    }
}

/// What the four pixels of one channel change by as the point moves along x and y.
#[inline(always)]
pub(crate) fn four_pixels<A: Real>([nw, ne, sw, se]: &[A; 4], Distances { before, after }: Distances<A>) -> [A; 2] {
    let ([bx, by], [ax, ay]) = (before, after);
    [(*ne - *nw) * by + (*se - *sw) * ay, (*sw - *nw) * bx + (*se - *ne) * ax]
}

/// The same for sixteen pixels.
#[inline(always)]
pub(crate) fn sixteen_pixels<A: Real>(pixels: &[A; 16], columns: &Keys<A>, rows: &Keys<A>) -> [A; 2] {
    let (mut along_x, mut along_y) = (A::default(), A::default());
    let factors = rows.weights.iter().zip(&rows.slopes);
    for (&[v0, v1, v2, v3], (&weight, &slope)) in pixels.as_chunks::<4>().0.iter().zip(factors) {
        let line = |[c0, c1, c2, c3]: [A; 4]| ((v0 * c0 + v1 * c1) + v2 * c2) + v3 * c3;
        along_x = along_x + weight * line(columns.slopes);
        along_y = along_y + slope * line(columns.weights);
    }
    [along_x, along_y]
}
