//! The reference of GridSampler2DBackward against a forward pass that is written differently: a sum of the image, continued
//! beyond its borders, weighted by a kernel centred on the point.

use ubtile_testkit::problems::{GridSampler, Layout, grid_sampler_inputs};
use ubtile_testkit::reference::grid_sampler_2d_backward::{Inputs, run};
use ubtile_testkit::{Coordinates, Data, Fill, Rng, fill};
use ubtile_tiling::Dtype;
use ubtile_tiling::grid_sampler_2d_backward::{Interpolation, PaddingMode};

/// Where the pixel `i` of the continued image comes from.
fn continued(p: &GridSampler, mut i: i64, size: usize) -> Option<usize> {
    let last = size as i64 - 1;
    loop {
        i = match (i, p.padding_mode) {
            (0.., _) if i <= last => return Some(i as usize),
            (_, PaddingMode::Zeros) => return None,
            (_, PaddingMode::Border) => i.clamp(0, last),
            (_, PaddingMode::Reflection) if last == 0 => 0,
            // At the centre of the border pixel, or at its outer edge.
            (..0, PaddingMode::Reflection) => -i - i64::from(!p.align_corners),
            (_, PaddingMode::Reflection) => 2 * last - i + i64::from(!p.align_corners),
        }
    }
}

/// The weight of a pixel at distance `d`.
fn kernel(p: &GridSampler, d: f64) -> f64 {
    let (d, a) = (d.abs(), -0.75);
    match p.interpolation {
        Interpolation::Bilinear => (1.0 - d).max(0.0),
        Interpolation::Nearest => f64::from(d < 0.5),
        Interpolation::Bicubic if d < 1.0 => (a + 2.0) * d.powi(3) - (a + 3.0) * d.powi(2) + 1.0,
        Interpolation::Bicubic if d < 2.0 => a * (d.powi(3) - 5.0 * d.powi(2) + 8.0 * d - 4.0),
        Interpolation::Bicubic => 0.0,
    }
}

fn position(p: &GridSampler, g: f64, size: usize) -> f64 {
    let size = size as f64;
    if p.align_corners { (g + 1.0) / 2.0 * (size - 1.0) } else { (g + 1.0) / 2.0 * size - 0.5 }
}

fn sample(p: &GridSampler, image: &[f64], gx: f64, gy: f64) -> f64 {
    let (x, y) = (position(p, gx, p.wi), position(p, gy, p.hi));
    let mut sum = 0.0;
    for j in y.floor() as i64 - 2..=y.floor() as i64 + 3 {
        for i in x.floor() as i64 - 2..=x.floor() as i64 + 3 {
            let pixel = continued(p, j, p.hi).zip(continued(p, i, p.wi));
            let value = pixel.map_or(0.0, |(j, i)| image[j * p.wi + i]);
            sum += kernel(p, y - j as f64) * kernel(p, x - i as f64) * value;
        }
    }
    sum
}

/// `Σ sample * grad_output`, whose gradients the operator gives.
fn objective(p: &GridSampler, grad_output: &[f64], image: &[f64], grid: &[f64]) -> f64 {
    let points = p.ho * p.wo;
    let terms = grad_output.iter().enumerate().map(|(i, g)| {
        let (plane, point) = (i / points, i / points / p.c * points + i % points);
        g * sample(p, &image[plane * p.hi * p.wi..][..p.hi * p.wi], grid[2 * point], grid[2 * point + 1])
    });
    terms.sum()
}

/// Away from where the sample is not smooth: pixel centres and half-way between them.
fn generic(p: &GridSampler, g: f64, size: usize) -> bool {
    let halves = position(p, g, size) * 2.0;
    (halves - halves.round()).abs() > 1e-3
}

fn cases() -> impl Iterator<Item = GridSampler> {
    let shapes = [(5, 6, 4, 7), (1, 4, 5, 5), (3, 1, 4, 4), (2, 2, 6, 3)];
    GridSampler::modes()
        .flat_map(move |mode| shapes.map(|(hi, wi, ho, wo)| GridSampler { dtype: Dtype::F64, hi, wi, ho, wo, ..mode }))
}

#[test]
fn input_grad_is_the_adjoint_of_sampling() {
    let mut rng = Rng::new(1);
    for spec in cases() {
        let problem = spec.problem();
        let mut data = grid_sampler_inputs(&problem, Fill::Uniform, Coordinates::Random, &mut rng);
        data.grid = Data::from_fn(*data.grid.desc(), |_| rng.uniform(-3.0, 3.0));
        let [gradient, grid] = [&data.grad_output, &data.grid].map(Data::numbers);
        let result = run(&problem, &data).input_grad.unwrap().to_data().numbers();
        // Sampling is linear in the image: any image will do.
        let image = fill(spec.desc().input, Fill::Uniform, &mut rng).numbers();
        let forward = objective(&spec, &gradient, &image, &grid);
        let backward: f64 = image.iter().zip(&result).map(|(a, b)| a * b).sum();
        assert!((forward - backward).abs() < 1e-11, "{spec:?}: {forward} and {backward}");
    }
}

#[test]
fn grid_grad_is_the_slope_of_sampling() {
    let mut rng = Rng::new(2);
    for spec in cases() {
        let problem = spec.problem();
        let mut data = grid_sampler_inputs(&problem, Fill::Uniform, Coordinates::Random, &mut rng);
        data.grid = Data::from_fn(*data.grid.desc(), |i| {
            let size = [spec.wi, spec.hi][i % 2];
            loop {
                let g = rng.uniform(-3.0, 3.0);
                // An aligned axis of one pixel knows one place only.
                if generic(&spec, g, size) || spec.align_corners && size == 1 {
                    break g;
                }
            }
        });
        let [gradient, image, grid] = [&data.grad_output, &data.input, &data.grid].map(Data::numbers);
        let result = run(&problem, &data).grid_grad.unwrap().to_data().numbers();
        for (i, got) in result.into_iter().enumerate() {
            let moved = |by: f64| {
                let mut grid = grid.clone();
                grid[i] += by;
                objective(&spec, &gradient, &image, &grid)
            };
            let step = 1e-5;
            let slope = (moved(step) - moved(-step)) / (2.0 * step);
            assert!((got - slope).abs() < 2e-7, "{spec:?}: coordinate {i}: {got}, slope {slope}");
        }
    }
}

/// One channel, one point, gradient 1, on a row of pixels 1, 2, 3, ...: `input_grad` and the slope along x.
fn one_point(spec: GridSampler, gx: f64) -> (Vec<f64>, f64) {
    let spec = GridSampler { n: 1, c: 1, hi: 1, ho: 1, wo: 1, ..spec };
    let desc = spec.desc();
    let inputs = Inputs {
        grad_output: Data::from_fn(desc.grad_output, |_| 1.0),
        input: Data::from_fn(desc.input, |i| i as f64 + 1.0),
        grid: Data::from_fn(desc.grid, |i| [gx, 0.0][i]),
    };
    let outputs = run(&spec.problem(), &inputs);
    let [dx, dg] = [outputs.input_grad, outputs.grid_grad].map(|e| e.unwrap().to_data().numbers());
    (dx, dg[0])
}

#[test]
fn non_finite_coordinates_follow_the_table() {
    let nothing = (vec![0.0; 4], 0.0);
    for mode in GridSampler::modes() {
        let spec = GridSampler { wi: 4, ..mode };
        let bicubic = spec.interpolation == Interpolation::Bicubic;
        let border = spec.padding_mode == PaddingMode::Border && !bicubic;
        assert_eq!(one_point(spec, f64::NAN), nothing, "{spec:?}");
        for far in [f64::INFINITY, 1e20, 1e10] {
            let right = if border { (vec![0.0, 0.0, 0.0, 1.0], 0.0) } else { nothing.clone() };
            let left = if border { (vec![1.0, 0.0, 0.0, 0.0], 0.0) } else { nothing.clone() };
            if spec.padding_mode == PaddingMode::Reflection && !bicubic && far.is_finite() {
                let (dx, slope) = one_point(spec, far);
                assert_eq!(dx.iter().sum::<f64>(), 1.0, "{spec:?}");
                assert!(slope.abs() <= 2.0);
                continue;
            }
            assert_eq!(one_point(spec, far), right, "{spec:?}");
            assert_eq!(one_point(spec, -far), left, "{spec:?}");
        }
    }
}

#[test]
fn bicubic_ends_where_i32_does() {
    for padding_mode in [PaddingMode::Border, PaddingMode::Reflection] {
        let spec = GridSampler {
            wi: 4,
            dtype: Dtype::F64,
            interpolation: Interpolation::Bicubic,
            padding_mode,
            ..Default::default()
        };
        let sum = |position: f64| one_point(spec, (2.0 * position + 1.0) / 4.0 - 1.0).0.iter().sum::<f64>();
        let end = 2f64.powi(31);
        assert!((sum(end - 1.5) - 1.0).abs() < 1e-12 && (sum(-end + 0.5) - 1.0).abs() < 1e-12);
        assert_eq!((sum(end + 1.0), sum(-end - 1.0)), (0.0, 0.0));
    }
}

#[test]
fn the_multiplier_is_0_on_the_border_too() {
    let spec = GridSampler { wi: 4, padding_mode: PaddingMode::Border, align_corners: true, ..Default::default() };
    assert_eq!(one_point(spec, -1.0), (vec![1.0, 0.0, 0.0, 0.0], 0.0));
    assert_eq!(one_point(spec, 1.0), (vec![0.0, 0.0, 0.0, 1.0], 0.0));
    // In the middle of pixels 1 and 2; neighbours differ by 1, and a step of the grid is 3/2 pixels.
    assert_eq!(one_point(spec, 0.0), (vec![0.0, 0.5, 0.5, 0.0], 1.5));
    assert_eq!(one_point(GridSampler { wi: 1, ..spec }, 0.3), (vec![1.0], 0.0));
}

#[test]
fn nearest_takes_the_even_neighbour_of_a_tie() {
    let spec = GridSampler { wi: 5, interpolation: Interpolation::Nearest, align_corners: true, ..Default::default() };
    let taken = |position: f64| one_point(spec, position / 2.0 - 1.0).0.iter().position(|&g| g == 1.0);
    assert_eq!([0.5, 1.5, 2.5, 3.5, -0.5, 4.5].map(taken), [Some(0), Some(2), Some(2), Some(4), Some(0), Some(4)]);
    assert_eq!([-0.75, 4.75].map(taken), [None, None]);
}

#[test]
fn zeros_outside_count_in_the_slope() {
    let spec = GridSampler { wi: 4, ..Default::default() };
    // Half a pixel left of pixel 0: a step of 2 pixels per grid unit, from 0 to 1.
    assert_eq!(one_point(spec, -1.0), (vec![0.5, 0.0, 0.0, 0.0], 2.0));
    assert_eq!(one_point(spec, 1.0), (vec![0.0, 0.0, 0.0, 0.5], -8.0));
    assert_eq!(one_point(spec, -1.25), (vec![0.0; 4], 2.0));
    assert_eq!(one_point(spec, -1.26), (vec![0.0; 4], 0.0));
}

#[test]
fn coordinates_are_rounded_in_f32_after_each_step() {
    let mut rng = Rng::new(4);
    for _ in 0..2000 {
        let (size, g) = (2 + rng.below(300), rng.uniform(-40.0, 40.0) as f32);
        let padding_mode = PaddingMode::Reflection;
        let spec = GridSampler { wi: size, padding_mode, ..Default::default() };
        let i = ((g + 1.0) * size as f32 - 1.0) * 0.5;
        let d = (i + 0.5).abs();
        let (extra, flips) = (d % size as f32, (d / size as f32).floor());
        let i = if flips % 2.0 == 0.0 { extra - 0.5 } else { (size as f32 - extra) - 0.5 };
        let i = i.clamp(0.0, (size - 1) as f32);
        let low = i.floor();
        let mut want = vec![0.0; size + 1];
        want[low as usize] = f64::from(low + 1.0 - i);
        want[low as usize + 1] = f64::from(i - low);
        assert_eq!(one_point(spec, f64::from(g)).0, want[..size], "{g} of {size}");
    }
}

#[test]
fn distances_are_rounded_in_f32() {
    let spec = GridSampler { wi: 3, ..Default::default() };
    let mut rounded = 0;
    for steps in -40i32..40 {
        // Around the centre of pixel 0, where 1 minus the distance needs more bits than f32 has.
        let g = f32::from_bits((-2.0f32 / 3.0).to_bits().wrapping_add_signed(steps));
        let i = ((g + 1.0) * 3.0 - 1.0) * 0.5;
        let low = i.floor();
        let (near_low, near_high) = (low + 1.0 - i, i - low);
        rounded += usize::from(f64::from(near_low) + f64::from(near_high) != 1.0);
        let want = if low < 0.0 { [near_high, 0.0, 0.0] } else { [near_low, near_high, 0.0] };
        assert_eq!(one_point(spec, f64::from(g)).0, want.map(f64::from), "{g}");
    }
    assert!(rounded > 10, "{rounded}");
}

#[test]
fn a_quotient_beyond_2_to_the_24_is_even() {
    for dtype in [Dtype::F32, Dtype::F64] {
        let spec = GridSampler { dtype, wi: 4, padding_mode: PaddingMode::Reflection, ..Default::default() };
        // 2^24 + 3 (odd, known to f64 only) spans of 4 pixels from the left edge, plus one pixel.
        let position = (2f64.powi(24) + 3.0) * 4.0 + 1.0 - 0.5;
        let (dx, _) = one_point(spec, (2.0 * position + 1.0) / 4.0 - 1.0);
        assert_eq!(dx.iter().sum::<f64>(), 1.0);
        if dtype == Dtype::F64 {
            assert_eq!(dx, [0.5, 0.5, 0.0, 0.0]);
        }
    }
}

#[test]
fn strides_do_not_matter() {
    let mut rng = Rng::new(5);
    for (mode, inputs) in GridSampler::modes().zip(Layout::INPUT.into_iter().cycle()) {
        let problem = GridSampler { inputs, ..mode }.problem();
        let data = grid_sampler_inputs(&problem, Fill::Uniform, Coordinates::Smooth, &mut rng);
        let [grad_output, input, grid] = [&data.grad_output, &data.input, &data.grid].map(Data::to_contiguous);
        let (strided, plain) = (run(&problem, &data), run(&mode.problem(), &Inputs { grad_output, input, grid }));
        assert_eq!(strided.input_grad.unwrap().cells, plain.input_grad.unwrap().cells);
        assert_eq!(strided.grid_grad.unwrap().cells, plain.grid_grad.unwrap().cells);
    }
}
