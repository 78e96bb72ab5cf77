//! GridSampler2DBackward: the pixels that a point mixes, their weights, and how those change as the point moves.

use ubtile_tiling::grid_sampler_2d_backward::{Interpolation, PaddingMode, Problem};

use super::{Cell, Expected, Sum, at};
use crate::data::Data;
use crate::number::Compute;

/// The operator's inputs.
#[derive(Clone, Debug)]
pub struct Inputs {
    /// `[N, C, Ho, Wo]`.
    pub grad_output: Data,
    /// `[N, C, Hi, Wi]`.
    pub input: Data,
    /// `[N, Ho, Wo, 2]`.
    pub grid: Data,
}

/// The operator's outputs, as far as the problem wants them.
#[derive(Clone, Debug)]
pub struct Outputs {
    /// `[N, C, Hi, Wi]`.
    pub input_grad: Option<Expected>,
    /// `[N, Ho, Wo, 2]`.
    pub grid_grad: Option<Expected>,
}

/// `input_grad[n, c, tap] += weight(tap) * grad_output[n, c, point]` and
/// `grid_grad[n, point] = multiplier * Σ_c (Σ_tap weight'(tap) * input[n, c, tap]) * grad_output[n, c, point]` over the pixels
/// (taps) that a point mixes, which depend on interpolation and padding mode.
#[must_use]
pub fn run(problem: &Problem, inputs: &Inputs) -> Outputs {
    let p = problem;
    let (grad_output, input, grid) = (inputs.grad_output.numbers(), inputs.input.numbers(), inputs.grid.numbers());
    let mut input_grad = vec![Sum::default(); p.n * p.c * p.hi * p.wi];
    let mut grid_grad = Vec::new();
    for n in 0..p.n {
        for (h, w) in (0..p.ho).flat_map(|h| (0..p.wo).map(move |w| (h, w))) {
            let coordinate = |axis| grid[at([n, h, w, axis], p.grid_strides)];
            let taps = taps(p, coordinate(0), coordinate(1));
            let mut gradient = [Sum::default(); 2];
            for c in 0..p.c {
                let gradient_in = grad_output[at([n, c, h, w], p.grad_output_strides)];
                let mut change = [Sum::default(); 2];
                // Differences of pixels are taken before they are weighted, and may overflow where the weighted do not.
                let mut reach = [0.0; 2];
                for tap in &taps {
                    let pixel = ((n * p.c + c) * p.hi + tap.y) * p.wi + tap.x;
                    input_grad[pixel].add(tap.weight.value, tap.weight.scale, gradient_in);
                    let value = input[at([n, c, tap.y, tap.x], p.input_strides)];
                    for ((change, reach), slope) in change.iter_mut().zip(&mut reach).zip(tap.slope) {
                        if let Some(slope) = slope {
                            change.add(slope.value, slope.scale, value);
                            *reach += value.abs();
                        }
                    }
                }
                for (change, reach) in change.iter_mut().zip(reach) {
                    change.peak = change.peak.max(reach);
                }
                gradient.iter_mut().zip(change).for_each(|(sum, change)| sum.add_product(&change, gradient_in));
            }
            for (axis, sum) in gradient.iter().enumerate() {
                let mut scaled = Sum::default();
                if sum.terms > 0 {
                    scaled.add_product(sum, taps[0].multiplier[axis]);
                }
                grid_grad.push(scaled.cell());
            }
        }
    }
    let expected = |shape: &[usize], cells: Vec<Cell>| Expected::new(p.dtype, shape, Compute::of(p.dtype), cells);
    let input_grad = input_grad.into_iter().map(Sum::cell).collect();
    Outputs {
        input_grad: p.want_input_grad.then(|| expected(&[p.n, p.c, p.hi, p.wi], input_grad)),
        grid_grad: p.want_grid_grad.then(|| expected(&[p.n, p.ho, p.wo, 2], grid_grad)),
    }
}

/// A number, and the magnitude of the terms it was made of.
#[derive(Clone, Copy)]
struct Term {
    value: f64,
    scale: f64,
}

/// A pixel that a point mixes.
struct Tap {
    y: usize,
    x: usize,
    weight: Term,
    /// Derivative of the weight along x and y, in pixels; the nearest pixel's weight has none.
    slope: [Option<Term>; 2],
    /// What a step of the grid along x and y is in pixels.
    multiplier: [f64; 2],
}

/// A pixel along one axis: its index if it is in the image, its weight, the weight's slope.
type AxisTap = (Option<usize>, Term, Option<Term>);

/// The pixels of a point, in the order of the sums.
fn taps(p: &Problem, gx: f64, gy: f64) -> Vec<Tap> {
    let (Some((along_x, mx)), Some((along_y, my))) = (axis_taps(p, gx, p.wi), axis_taps(p, gy, p.hi)) else {
        return Vec::new();
    };
    let mut taps = Vec::new();
    for &(y, weight_y, slope_y) in &along_y {
        for &(x, weight_x, slope_x) in &along_x {
            if let (Some(y), Some(x)) = (y, x) {
                let slope = [slope_x.map(|s| product(s, weight_y)), slope_y.map(|s| product(weight_x, s))];
                taps.push(Tap { y, x, weight: product(weight_x, weight_y), slope, multiplier: [mx, my] });
            }
        }
    }
    taps
}

/// To first order, each factor's error counts as often as the other factor; where both are nothing but rounding error, the product
/// of those remains.
fn product(a: Term, b: Term) -> Term {
    let both = a.scale * b.scale * 2f64.powi(-24);
    Term { value: a.value * b.value, scale: (a.value.abs() * b.scale).max(a.scale * b.value.abs()).max(both) }
}

/// The pixels along one axis of `size` pixels, and the multiplier; `None` when the point mixes nothing.
fn axis_taps(p: &Problem, g: f64, size: usize) -> Option<(Vec<AxisTap>, f64)> {
    let r = |x| Compute::of(p.dtype).round(x);
    let exact = |value: f64| Term { value, scale: value.abs() };
    let inside = |i: f64| (i >= 0.0 && i < size as f64).then_some(i as usize);
    let (position, multiplier) = unnormalise(p, g, size);
    if p.interpolation == Interpolation::Bicubic {
        if !(-2f64.powi(31)..2f64.powi(31)).contains(&position) {
            return None;
        }
        let floor = position.floor();
        let taps = keys(r(position - floor)).into_iter().zip(-1i64..);
        let index = |offset| tap_index(p, floor as i64 + offset, size as i64);
        return Some((
            taps.map(|((weight, slope), offset)| (index(offset), weight, Some(slope))).collect(),
            multiplier,
        ));
    }
    let (position, multiplier) = pad(p, position, multiplier, size)?;
    if p.interpolation == Interpolation::Nearest {
        return Some((vec![(inside(position.round_ties_even()), exact(1.0), None)], multiplier));
    }
    let low = position.floor();
    let high = r(low + 1.0);
    let lower = (inside(low), exact(r(high - position)), Some(exact(-1.0)));
    let upper = (inside(high), exact(r(position - low)), Some(exact(1.0)));
    Some((vec![lower, upper], multiplier))
}

/// From -1..1 to pixels, and what a step of the grid is in pixels.
fn unnormalise(p: &Problem, g: f64, size: usize) -> (f64, f64) {
    let r = |x| Compute::of(p.dtype).round(x);
    if p.align_corners {
        let last = r((size - 1) as f64);
        (r(r(r(g + 1.0) * 0.5) * last), r(last * 0.5))
    } else {
        let size = r(size as f64);
        (r(r(r(r(g + 1.0) * size) - 1.0) * 0.5), r(size * 0.5))
    }
}

/// What a padding mode makes of a position and the multiplier; `None` when nothing is left of it.
fn pad(p: &Problem, position: f64, multiplier: f64, size: usize) -> Option<(f64, f64)> {
    if position.is_nan() {
        return None;
    }
    match p.padding_mode {
        PaddingMode::Zeros => (position.abs() < 2f64.powi(31)).then_some((position, multiplier)),
        PaddingMode::Border => Some(clip(p, position, multiplier, size)),
        PaddingMode::Reflection => {
            let (position, multiplier) = position.is_finite().then(|| reflect(p, position, multiplier, size))?;
            Some(clip(p, position, multiplier, size))
        }
    }
}

/// To the image; the multiplier becomes 0 on and beyond the border.
fn clip(p: &Problem, position: f64, multiplier: f64, size: usize) -> (f64, f64) {
    let last = Compute::of(p.dtype).round((size - 1) as f64);
    match position {
        i if i <= 0.0 => (0.0, 0.0),
        i if i >= last => (last, 0.0),
        i => (i, multiplier),
    }
}

/// Mirrors at the centres of the border pixels, or half a pixel beyond them without `align_corners`.
fn reflect(p: &Problem, position: f64, multiplier: f64, size: usize) -> (f64, f64) {
    let r = |x| Compute::of(p.dtype).round(x);
    let (min, span) = if p.align_corners { (0.0, r((size - 1) as f64)) } else { (-0.5, r(size as f64)) };
    if span == 0.0 {
        return (0.0, 0.0);
    }
    let from_min = r(position - min);
    let sign = if from_min < 0.0 { -1.0 } else { 1.0 };
    let distance = from_min.abs();
    let extra = distance % span;
    let quotient = r(distance / span);
    if quotient >= 2f64.powi(24) || quotient.floor() % 2.0 == 0.0 {
        (r(extra + min), multiplier * sign)
    } else {
        (r(r(span - extra) + min), -multiplier * sign)
    }
}

/// The pixel that a bicubic tap reads, `None` outside of the image.
fn tap_index(p: &Problem, i: i64, size: i64) -> Option<usize> {
    let i = match p.padding_mode {
        PaddingMode::Zeros => i,
        PaddingMode::Border => i.clamp(0, size - 1),
        PaddingMode::Reflection if size == 1 => 0,
        PaddingMode::Reflection if p.align_corners => {
            let i = i.rem_euclid(2 * (size - 1));
            i.min(2 * (size - 1) - i)
        }
        PaddingMode::Reflection => {
            let i = i.rem_euclid(2 * size);
            i.min(2 * size - 1 - i)
        }
    };
    usize::try_from(i).ok().filter(|_| i < size)
}

/// Weights and slopes of the four taps around a position, `t` after the second: Keys' kernel with A = -0.75.
fn keys(t: f64) -> [(Term, Term); 4] {
    const A: f64 = -0.75;
    let sum = |a: f64, b: f64| Term { value: a + b, scale: a.abs() + b.abs() };
    let negative = |term: Term| Term { value: -term.value, ..term };
    let inner = |d: f64| sum(((A + 2.0) * d - (A + 3.0)) * d * d, 1.0);
    let outer = |d: f64| sum(((A * d - 5.0 * A) * d + 8.0 * A) * d, -4.0 * A);
    let inner_slope = |d: f64| sum(3.0 * (A + 2.0) * d * d, -2.0 * (A + 3.0) * d);
    let outer_slope = |d: f64| sum((3.0 * A * d - 10.0 * A) * d, 8.0 * A);
    [
        (outer(t + 1.0), outer_slope(t + 1.0)),
        (inner(t), inner_slope(t)),
        (inner(1.0 - t), negative(inner_slope(1.0 - t))),
        (outer(2.0 - t), negative(outer_slope(2.0 - t))),
    ]
}
