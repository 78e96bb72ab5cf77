//! Shares and tiles that a caller runs one by one, on memory of their own.

use std::ops::Range;

use ubtile_kernels::grid_sampler_2d_backward::{Outputs, ShareMemory, ShareOutputs, TileBoxes, run_share, run_tile};
use ubtile_kernels::{Level, RunError};
use ubtile_testkit::problems::{GridSampler, Layout, POISON};
use ubtile_testkit::reference::grid_sampler_2d_backward::Inputs as Tensors;
use ubtile_testkit::{Coordinates, Data, Fill, Rng};
use ubtile_tiling::grid_sampler_2d_backward::{Interpolation, Plan, Route, plan};
use ubtile_tiling::{PlanOptions, TargetSpec, TensorDesc};

use super::common::{values, values_mut};
use super::{DTYPES, check_outputs, inputs, outputs, part, plans, sample};

/// Bytes at an aligned address.
struct Aligned {
    words: Vec<f64>,
    len: usize,
}

impl Aligned {
    fn of(bytes: &[u8]) -> Self {
        let mut aligned = Self { words: vec![0.0; bytes.len().div_ceil(8)], len: bytes.len() };
        aligned.bytes().copy_from_slice(bytes);
        aligned
    }

    fn bytes(&mut self) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.words)[..self.len]
    }
}

#[test]
fn shares_on_their_own() {
    let rng = &mut Rng::new(5);
    for (c, hi) in [(1, 32), (3, 32), (4, 32), (130, 7), (6, 9)] {
        for dtype in DTYPES {
            let spec = GridSampler { n: 1, c, hi, dtype, ..Default::default() };
            let (problem, tensors, want) = sample(&spec, Fill::Uniform, Coordinates::Smooth, rng);
            for plan in plans(&problem) {
                let mut got = outputs(&spec);
                let mut workspace = vec![POISON; plan.workspace_bytes()];
                for (phase, shares) in plan.phases().map(|phase| phase.shares).enumerate() {
                    for share in (0..shares).rev() {
                        let parts = plan.share_workspace(phase, share);
                        let mut scratch = Aligned::of(&workspace[parts.scratch]);
                        let mut write = Aligned::of(&workspace[parts.write.clone()]);
                        let mut read = Aligned::of(&workspace[parts.read]);
                        let memory = ShareMemory { scratch: scratch.bytes(), write: write.bytes(), read: read.bytes() };
                        let range = plan.share_range(phase, share);
                        let [input_grad, grid_grad] = &mut got;
                        let whole = Outputs { input_grad: values_mut(input_grad), grid_grad: values_mut(grid_grad) };
                        let outputs = whole.share(&range);
                        run_share(&plan, Level::detect(), phase, share, inputs(&tensors), outputs, memory).unwrap();
                        workspace[parts.write].copy_from_slice(write.bytes());
                    }
                }
                check_outputs(&spec, &got, &want, &format!("shares of {plan:?}"));
            }
        }
    }
}

/// Slices that go on behind what is a share's own.
#[test]
fn shares_write_no_more_than_their_own() {
    /// More than a share has of a channel.
    const MORE: usize = 500;
    let rng = &mut Rng::new(8);
    for (c, interpolation) in (1..=4).flat_map(|c| [Interpolation::Bilinear, Interpolation::Nearest].map(|i| (c, i))) {
        let spec = GridSampler { n: 1, c, hi: 32, wi: 9, ho: 16, wo: 13, interpolation, ..Default::default() };
        let (problem, tensors, [want, _]) = sample(&spec, Fill::Uniform, Coordinates::Smooth, rng);
        let plan = plan(&problem, &TargetSpec::host(2), &PlanOptions::default()).unwrap();
        assert_eq!((plan.route(), plan.workspace_bytes(), plan.phases().count()), (Route::PointBands, 0, 1));
        for level in Level::available() {
            for share in 0..2 {
                let range = plan.share_range(0, share);
                assert_eq!(range.input_grad.iter().count(), c);
                let long = |elements: Range<usize>| vec![7.0_f32; elements.len() + MORE];
                let mut runs = [0, 1, 2, 3].map(|i| long(range.input_grad.get(i)));
                let grid_grad = &mut long(range.grid_grad.clone());
                let outputs = ShareOutputs {
                    input_grad: runs.each_mut().map(|run| run.as_mut_slice().into()),
                    grid_grad: grid_grad.as_mut_slice().into(),
                };
                let memory = ShareMemory { scratch: &mut [], write: &mut [], read: &[] };
                run_share(&plan, level, 0, share, inputs(&tensors), outputs, memory).unwrap();
                assert_eq!(grid_grad[range.grid_grad.len()..], [7.0; MORE], "{level} {share}");
                for (run, got) in runs.iter().enumerate() {
                    let own = range.input_grad.get(run);
                    assert_eq!(got[own.len()..], [7.0; MORE], "{level} {share}: run {run}");
                    for (element, got) in own.zip(got) {
                        assert_eq!(u64::from(got.to_bits()), want.bits(element), "{level} {share}: {element}");
                    }
                }
            }
        }
    }
}

#[test]
fn shares_need_their_memory() {
    let spec = GridSampler { n: 1, c: 5, hi: 16, ..Default::default() };
    let (problem, tensors, _) = sample(&spec, Fill::Uniform, Coordinates::Smooth, &mut Rng::new(9));
    let plan = plan(&problem, &TargetSpec::host(1), &PlanOptions::default()).unwrap();
    let [mut input_grad, mut grid_grad] = outputs(&spec);
    let want = plan.share_workspace(0, 0).scratch.len();
    // The longer one begins at an address for bytes alone.
    for (shift, got, result) in [
        (0, want, Ok(())),
        (0, want + 1, Ok(())),
        (0, want - 1, Err(RunError::Workspace { got: want - 1, want })),
        (1, want, Err(RunError::Alignment { got: 1, want: 4 })),
    ] {
        let mut memory = Aligned::of(&vec![POISON; shift + got]);
        let memory = ShareMemory { scratch: &mut memory.bytes()[shift..], write: &mut [], read: &[] };
        let to = Outputs { input_grad: values_mut(&mut input_grad), grid_grad: values_mut(&mut grid_grad) };
        let to = to.share(&plan.share_range(0, 0));
        let ran = run_share(&plan, Level::detect(), 0, 0, inputs(&tensors), to, memory);
        assert_eq!(ran, result, "{got} bytes, {shift} off");
    }
}

/// Computes a problem tile by tile, each on boxes of its own.
fn run_tiles(plan: &Plan, level: Level, tensors: &Tensors) -> [Data; 2] {
    let p = plan.problem();
    let desc = |shape: &[usize], dtype| TensorDesc::contiguous(dtype, shape).unwrap();
    let mut got = [
        Data::filled(desc(&[p.n, p.c, p.hi, p.wi], p.dtype), POISON),
        Data::filled(desc(&[p.n, p.ho, p.wo, 2], p.dtype), POISON),
    ];
    let (sums, points, pixels) = (plan.sums_dtype(), p.ho * p.wo, p.hi * p.wi);
    let mut totals = vec![Data::filled(desc(&[points, 2], sums), POISON); p.n];
    let (compute, phase) = plan.phases().enumerate().find(|(_, phase)| phase.name == "compute").unwrap();
    for share in 0..phase.shares {
        let (mut planes, mut plane_sums) = (None, None);
        for tile in plan.tiles(compute, share) {
            let ([c0, c1], [p0, p1], [y0, y1]) = (tile.channels, tile.points, tile.rows);
            assert!(tile.local_bytes() <= plan.target().local_bytes, "{plan:?}");
            let band = desc(&[c1 - c0, y1 - y0, p.wi], p.dtype);
            if tile.first_points || planes.is_none() {
                planes = Some(Data::filled(band, POISON));
                plane_sums = Some(Data::filled(desc(&[c1 - c0, y1 - y0, p.wi], sums), POISON));
            }
            let [grad_output, input, grid] = [&tensors.grad_output, &tensors.input, &tensors.grid];
            let piece = |from: &Data, shape: &[usize], at: &dyn Fn(usize) -> usize| {
                Data::from_bits_fn(desc(shape, p.dtype), |i| from.bits(at(i)))
            };
            let width = p1 - p0;
            let grad_output = piece(grad_output, &[c1 - c0, width], &|i| {
                (tile.image * p.c + c0 + i / width) * points + p0 + i % width
            });
            let input = piece(input, &[c1 - c0, pixels], &|i| (tile.image * p.c + c0) * pixels + i);
            let grid = piece(grid, &[width, 2], &|i| (tile.image * points + p0) * 2 + i);
            let mut grid_grad = Data::filled(desc(&[width, 2], p.dtype), POISON);
            let totals = &mut totals[tile.image];
            let (planes, plane_sums) = (planes.as_mut().unwrap(), plane_sums.as_mut().unwrap());
            let boxes = TileBoxes {
                grad_output: values(&grad_output),
                input: values(&input),
                grid: values(&grid),
                input_grad: values_mut(planes),
                input_grad_sums: values_mut(plane_sums),
                grid_grad: values_mut(&mut grid_grad),
                totals: part(totals, 2 * p0..2 * p1),
            };
            run_tile(plan, level, &tile, boxes).unwrap();
            if tile.makes_grid_grad && c1 == p.c {
                (0..2 * width).for_each(|i| got[1].set_bits((tile.image * points + p0) * 2 + i, grid_grad.bits(i)));
            }
            if tile.last_points && p.want_input_grad {
                let rows = (y1 - y0) * p.wi;
                for i in 0..(c1 - c0) * rows {
                    let at = (tile.image * p.c + c0 + i / rows) * pixels + y0 * p.wi + i % rows;
                    got[0].set_bits(at, planes.bits(i));
                }
            }
        }
    }
    got
}

#[test]
fn tiles_on_their_own() {
    let rng = &mut Rng::new(6);
    for (i, (c, hi)) in [(3, 32), (130, 7), (6, 9), (1, 20)].into_iter().enumerate() {
        for (j, dtype) in DTYPES.into_iter().enumerate() {
            let mode = GridSampler::modes().nth((i * 4 + j) % 18).unwrap();
            let output_mask = [[true, true], [true, true], [true, false], [false, true]][(i + j) % 4];
            // Boxes are dense whatever the layout.
            let (inputs, outputs) = (Layout::INPUT[(i + j) % 5], Layout::OUTPUT[(i * 3 + j) % 5]);
            let spec = GridSampler { n: 1 + i % 2, c, hi, dtype, ho: 9, output_mask, inputs, outputs, ..mode };
            let (problem, tensors, want) = sample(&spec, Fill::Uniform, Coordinates::Random, rng);
            let dense = Tensors {
                grad_output: tensors.grad_output.to_contiguous(),
                input: tensors.input.to_contiguous(),
                grid: tensors.grid.to_contiguous(),
            };
            for plan in plans(&problem) {
                let got = run_tiles(&plan, Level::detect(), &dense);
                check_outputs(&spec, &got, &want, &format!("tiles of {plan:?}"));
            }
        }
    }
}
