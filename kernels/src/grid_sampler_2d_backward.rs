//! GridSampler2DBackward.

mod cells;
mod channels_last;
mod coordinates;
mod gradient;
mod planes;
mod staging;

use ubtile_tiling::grid_sampler_2d_backward::Problem;

use crate::level::{Kernel, Level};
use crate::simd::Isa;
use cells::{Axes, CHUNK, Window};
use channels_last::Staged;
use planes::Planes;

struct Spike<'a> {
    problem: Problem,
    go: &'a [f32],
    x: &'a [f32],
    grid: &'a [f32],
    dx: &'a mut [f32],
    dg: &'a mut [f32],
    xs: &'a mut [f32],
    dxs: &'a mut [f32],
    tile: &'a mut [f32],
    block: usize,
    times: &'a mut dyn FnMut(usize),
}

impl Kernel for Spike<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Isa>(self, isa: S) {
        if self.problem.c <= 4 { go::<S::Quad, 4>(isa.quad(), self) } else { go::<S, 8>(isa, self) }
    }
}

#[inline(always)]
fn go<S: Isa, const G: usize>(isa: S, k: Spike<'_>) {
    let p = k.problem;
    let points = p.ho * p.wo;
    let px = p.hi * p.wi;
    for n in 0..p.n {
        for b in (0..p.c).step_by(k.block) {
            let ch = (p.c - b).min(k.block);
            let pitch = ch.next_multiple_of(G);
            let grid = Planes::new(&k.grid[n * points * 2..], [p.ho, p.wo], [1, p.wo * 2, 2]);
            let go = Planes::new(&k.go[(n * p.c + b) * points..], [p.ho, p.wo], [points, p.wo, 1]);
            let x = Planes::new(&k.x[(n * p.c + b) * px..], [p.hi, p.wi], [px, p.wi, 1]);
            let mut dx = Planes::new(&mut k.dx[(n * p.c + b) * px..], [p.hi, p.wi], [px, p.wi, 1]);
            staging::stage(isa, &x, ch, 0..px, k.xs, pitch);
            (k.times)(0);
            k.dxs[..px * pitch].fill(0.0);
            (k.times)(1);
            let st = Staged { axes: Axes::new(&p), grid, grad_output: go, channels: ch, pitch, input: &k.xs[..px * pitch], window: Window { first: [0, 0], size: [p.hi, p.wi], strides: [p.wi * pitch, pitch] } };
            for first in (0..points).step_by(CHUNK) {
                let count = (points - first).min(CHUNK);
                let (cells, sums) = st.chunk::<S, G>(isa, first, count, k.tile, k.dxs);
                let out = &mut k.dg[(n * points + first) * 2..];
                for (((o, s), mx), my) in out.as_chunks_mut::<2>().0.iter_mut().zip(&sums).zip(&cells.x.multiplier).zip(&cells.y.multiplier).take(count) {
                    *o = [mx * s[0], my * s[1]];
                }
            }
            (k.times)(2);
            staging::unstage(isa, k.dxs, pitch, &mut dx, ch, 0..px);
            (k.times)(3);
        }
    }
}

#[doc(hidden)]
#[allow(missing_docs)]
pub fn spike(level: Level, problem: &Problem, go: &[f32], x: &[f32], grid: &[f32], dx: &mut [f32], dg: &mut [f32], block: usize, ws: &mut [f32], times: &mut dyn FnMut(usize)) {
    let (xs, rest) = ws.split_at_mut(ws.len() / 2 - 8192 + 512);
    let (dxs, tile) = rest.split_at_mut(xs.len() - 1024);
    level.dispatch(Spike { problem: *problem, go, x, grid, dx, dg, xs, dxs, tile, block, times });
}
