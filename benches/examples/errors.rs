//! The measured error of every operator, dtype and mode against testkit's reference, as a Markdown table.
//!
//! `errors` prints ours. `errors --write DIR` also writes each case's inputs to `DIR/<case>.safetensors`, and
//! `errors --peer DIR` reads another implementation's results from `DIR/<case>.peer.safetensors` and prints them beside ours;
//! `benches/peers/accuracy` does both around PyTorch.
//!
//! The error of a cell is its distance from the reference over the sum of the magnitudes of the cell's terms.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use safetensors::tensor::TensorView;
use safetensors::{Dtype as FileDtype, SafeTensors};
use ubtile_benches::{values, values_mut};
use ubtile_kernels::Level;
use ubtile_testkit::problems::{self, GridSampler, Im2col, ReplicationPad, output};
use ubtile_testkit::reference::{self, Cell, Expected};
use ubtile_testkit::{Coordinates, Data, Fill, Rng};
use ubtile_tiling::{Dtype, PlanOptions, TargetSpec, Tensor, TensorDesc};

/// What a case gave: its outputs beside what they should be.
struct Outcome {
    name: String,
    attributes: String,
    inputs: Vec<(&'static str, Data)>,
    outputs: Vec<(&'static str, Data, Expected)>,
}

/// Mean, root mean square and maximum of the errors of some cells.
#[derive(Default)]
struct Errors {
    sum: f64,
    squares: f64,
    max: f64,
    cells: usize,
}

impl Errors {
    fn of(got: &Data, expected: &Expected) -> Self {
        let mut errors = Self::default();
        for (number, cell) in got.numbers().into_iter().zip(&expected.cells) {
            let Cell::Sum(sum) = cell else { continue };
            if sum.magnitude == 0.0 {
                continue;
            }
            let error = (number - sum.value).abs() / sum.magnitude;
            errors.sum += error;
            errors.squares += error * error;
            errors.max = errors.max.max(error);
            errors.cells += 1;
        }
        errors
    }

    fn columns(&self) -> String {
        let cells = self.cells.max(1) as f64;
        format!("{:.2e} | {:.2e} | {:.2e}", self.sum / cells, (self.squares / cells).sqrt(), self.max)
    }
}

fn grid_sampler(spec: &GridSampler, mode: &str) -> Outcome {
    use ubtile_kernels::grid_sampler_2d_backward as kernel;
    use ubtile_tiling::grid_sampler_2d_backward::plan;
    let problem = spec.problem();
    let mut rng = Rng::new(11);
    let inputs = problems::grid_sampler_inputs(&problem, Fill::Uniform, Coordinates::Random, &mut rng);
    let expected = reference::grid_sampler_2d_backward::run(&problem, &inputs);
    let plan = plan(&problem, &TargetSpec::host(1), &PlanOptions::default()).expect("the host has room");
    let mut input_grad = output(problem.slot(Tensor::InputGrad));
    let mut grid_grad = output(problem.slot(Tensor::GridGrad));
    let mut workspace = vec![0; plan.workspace_bytes()];
    kernel::run(
        &plan,
        Level::detect(),
        kernel::Inputs {
            grad_output: values(&inputs.grad_output),
            input: values(&inputs.input),
            grid: values(&inputs.grid),
        },
        kernel::Outputs { input_grad: values_mut(&mut input_grad), grid_grad: values_mut(&mut grid_grad) },
        &mut workspace,
    )
    .expect("the buffers fit");
    Outcome {
        name: format!("grid-sampler-2d-backward {mode} {}", spec.dtype),
        attributes: format!(
            "{},{},{}",
            spec.interpolation as u8,
            spec.padding_mode as u8,
            u8::from(spec.align_corners)
        ),
        inputs: vec![("grad_output", inputs.grad_output), ("input", inputs.input), ("grid", inputs.grid)],
        outputs: [("input_grad", input_grad, expected.input_grad), ("grid_grad", grid_grad, expected.grid_grad)]
            .into_iter()
            .filter_map(|(name, got, want)| want.map(|want| (name, got, want)))
            .collect(),
    }
}

fn im2col(spec: &Im2col) -> Outcome {
    use ubtile_kernels::im2col_backward as kernel;
    use ubtile_tiling::im2col_backward::plan;
    let problem = spec.problem();
    let grad_output = problems::im2col_inputs(&problem, Fill::Uniform, &mut Rng::new(12));
    let expected = reference::im2col_backward::run(&problem, &grad_output);
    let plan = plan(&problem, &TargetSpec::host(1), &PlanOptions::default()).expect("the host has room");
    let mut out = output(problem.slot(Tensor::Out));
    let outputs = kernel::Outputs { out: values_mut(&mut out) };
    kernel::run(&plan, Level::detect(), kernel::Inputs { grad_output: values(&grad_output) }, outputs, &mut [])
        .expect("the buffers fit");
    Outcome {
        name: format!("im2col-backward k5 s1 p2 {}", spec.dtype),
        attributes: format!("{},{}", spec.h, spec.w),
        inputs: vec![("grad_output", grad_output)],
        outputs: vec![("out", out, expected)],
    }
}

fn replication_pad(spec: &ReplicationPad) -> Outcome {
    use ubtile_kernels::replication_pad2d_backward as kernel;
    use ubtile_tiling::replication_pad2d_backward::plan;
    let problem = spec.problem();
    let grad_output = problems::replication_pad_inputs(&problem, Fill::Uniform, &mut Rng::new(13));
    let expected = reference::replication_pad2d_backward::run(&problem, &grad_output);
    let plan = plan(&problem, &TargetSpec::host(1), &PlanOptions::default()).expect("the host has room");
    let mut grad_input = output(problem.slot(Tensor::GradInput));
    let outputs = kernel::Outputs { grad_input: values_mut(&mut grad_input) };
    kernel::run(&plan, Level::detect(), kernel::Inputs { grad_output: values(&grad_output) }, outputs, &mut [])
        .expect("the buffers fit");
    Outcome {
        name: format!("replication-pad2d-backward pad 5 {}", spec.dtype),
        attributes: format!("{},{}", spec.h, spec.w),
        inputs: vec![("grad_output", grad_output)],
        outputs: vec![("grad_input", grad_input, expected)],
    }
}

fn outcomes() -> Vec<Outcome> {
    let floats = [Dtype::F32, Dtype::F64, Dtype::F16, Dtype::Bf16];
    let mut outcomes = Vec::new();
    for dtype in floats {
        for modes in GridSampler::modes().filter(|spec| !spec.align_corners) {
            let interpolation = ["bilinear", "nearest", "bicubic"][modes.interpolation as usize];
            let padding = ["zeros", "border", "reflection"][modes.padding_mode as usize];
            let spec = GridSampler { dtype, n: 2, c: 19, hi: 24, wi: 31, ho: 40, wo: 37, ..modes };
            outcomes.push(grid_sampler(&spec, &format!("{interpolation} {padding}")));
        }
    }
    for dtype in floats {
        let spec = Im2col {
            dtype,
            out_dtype: dtype,
            n: 2,
            c: 7,
            h: 29,
            w: 41,
            kernel: [5, 5],
            padding: [2, 2],
            ..Default::default()
        };
        outcomes.push(im2col(&spec));
    }
    for dtype in floats.into_iter().chain([Dtype::C64, Dtype::C128]) {
        let spec = ReplicationPad { dtype, n: 2, c: 7, h: 29, w: 41, padding: [5; 4], ..Default::default() };
        outcomes.push(replication_pad(&spec));
    }
    outcomes
}

fn file_dtype(dtype: Dtype) -> Option<FileDtype> {
    Some(match dtype {
        Dtype::F16 => FileDtype::F16,
        Dtype::Bf16 => FileDtype::BF16,
        Dtype::F32 => FileDtype::F32,
        Dtype::F64 => FileDtype::F64,
        _ => return None,
    })
}

fn path(folder: &Path, name: &str, suffix: &str) -> PathBuf {
    folder.join(format!("{}{suffix}", name.replace(' ', "_")))
}

fn write(folder: &Path, outcome: &Outcome) {
    let views: Option<Vec<_>> = outcome
        .inputs
        .iter()
        .map(|(name, data)| {
            let shape = data.desc().shape.as_slice().to_vec();
            Some((*name, TensorView::new(file_dtype(data.dtype())?, shape, data.bytes()).expect("the bytes fit")))
        })
        .collect();
    let Some(views) = views else { return };
    let about = HashMap::from([("attributes".to_owned(), outcome.attributes.clone())]);
    safetensors::serialize_to_file(views, Some(about), &path(folder, &outcome.name, ".safetensors"))
        .expect("the folder is writable");
}

fn peer(folder: &Path, outcome: &Outcome, tensor: &str, like: &Data) -> Option<Data> {
    let bytes = std::fs::read(path(folder, &outcome.name, ".peer.safetensors")).ok()?;
    let file = SafeTensors::deserialize(&bytes).ok()?;
    let view = file.tensor(tensor).ok()?;
    let desc = TensorDesc::contiguous(like.dtype(), like.desc().shape.as_slice()).ok()?;
    let mut data = Data::filled(desc, 0);
    data.bytes_mut().copy_from_slice(view.data());
    Some(data)
}

fn main() {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let folder = arguments.get(1).map(PathBuf::from);
    let writes = arguments.first().is_some_and(|a| a == "--write");
    println!("| case | tensor | mean | RMS | max | peer's mean | RMS | max |\n|---|---|---|---|---|---|---|---|");
    for outcome in outcomes() {
        if let (true, Some(folder)) = (writes, &folder) {
            write(folder, &outcome);
        }
        for (tensor, got, expected) in &outcome.outputs {
            let peer = folder.as_deref().and_then(|folder| peer(folder, &outcome, tensor, got));
            let peer = peer.map_or("| |".to_owned(), |peer| Errors::of(&peer, expected).columns());
            println!("| {} | {tensor} | {} | {peer} |", outcome.name, Errors::of(got, expected).columns());
        }
    }
}
