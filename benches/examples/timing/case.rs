//! A case by its name: problem, plan and tensors.

use safetensors::SafeTensors;
use ubtile_benches::{values, values_mut};
use ubtile_kernels::{
    Level, Parallel, grid_sampler_2d_backward, im2col_backward, max_unpool2d_backward, replication_pad2d_backward,
};
use ubtile_testkit::problems::{self, GridSampler, Im2col, Layout, MaxUnpool, ReplicationPad};
use ubtile_testkit::{Coordinates, Data, Fill, IndexFill, Rng};
use ubtile_tiling::{Dtype, Edition, Operator, PlanOptions, Problem, TargetSpec, TilingPlan, plan};

use super::words::Words;

/// What is timed.
pub(crate) struct Case {
    pub(crate) plan: TilingPlan,
    pub(crate) inputs: Vec<Data>,
    pub(crate) output: Data,
    /// `grid_grad`, of the grid sampler.
    pub(crate) second: Option<Data>,
    /// Room for the first input without gaps, where it is not so already.
    pub(crate) contiguous: Option<Data>,
}

impl Case {
    /// The case of a name, on tensors of a file where there is one.
    ///
    /// # Errors
    /// A name or a file that no case can be made of, in words.
    pub(crate) fn new(
        name: &str,
        target: &TargetSpec,
        options: &PlanOptions,
        file: Option<&[u8]>,
    ) -> Result<Self, String> {
        let mut words = Words::new(name)?;
        let layouts = [words.layout("in=")?, words.layout("out=")?];
        let (problem, inputs) = match words.operator {
            Operator::GridSampler2dBackward => grid_sampler(&words, layouts)?,
            Operator::MaxUnpool2dBackward => max_unpool(&mut words, layouts)?,
            Operator::ReplicationPad2dBackward => replication_pad(&mut words, layouts)?,
            Operator::Im2colBackward => im2col(&mut words, layouts)?,
        };
        words.end()?;
        let plan = plan(&problem, target, options).map_err(|error| error.to_string())?;
        let slots: Vec<_> = problem.tensors().filter(|slot| slot.output).collect();
        let output = problems::output(slots.first().copied());
        let second = slots.get(1).map(|slot| problems::output(Some(*slot)));
        let contiguous = (layouts[0] != Layout::Contiguous).then(|| inputs[0].to_contiguous());
        let mut case = Self { plan, inputs, output, second, contiguous };
        if let Some(bytes) = file {
            let file = SafeTensors::deserialize(bytes).map_err(|error| error.to_string())?;
            let names = problem.tensors().filter(|slot| !slot.output).map(|slot| slot.tensor.to_string());
            for (data, name) in case.inputs.iter_mut().zip(names) {
                let tensor = file.tensor(&name).map_err(|error| format!("{name}: {error}"))?;
                if tensor.data().len() != data.bytes().len() {
                    return Err(format!("{name} has {} bytes, not {}", tensor.data().len(), data.bytes().len()));
                }
                data.bytes_mut().copy_from_slice(tensor.data());
            }
        }
        Ok(case)
    }

    /// Computes once.
    ///
    /// # Panics
    /// If the kernel refuses.
    pub(crate) fn run(&mut self, level: Level, parallel: &impl Parallel, workspace: &mut [u8]) {
        let read = |i: usize| values(&self.inputs[i]);
        match &self.plan {
            TilingPlan::Im2colBackward(plan) => {
                let inputs = im2col_backward::Inputs { grad_output: read(0) };
                let outputs = im2col_backward::Outputs { out: values_mut(&mut self.output) };
                im2col_backward::run_parallel(plan, level, parallel, inputs, outputs, workspace)
            }
            TilingPlan::MaxUnpool2dBackward(plan) => {
                let inputs = max_unpool2d_backward::Inputs { grad_output: read(0), indices: read(1) };
                let outputs = max_unpool2d_backward::Outputs { out: values_mut(&mut self.output) };
                max_unpool2d_backward::run_parallel(plan, level, parallel, inputs, outputs, workspace)
            }
            TilingPlan::ReplicationPad2dBackward(plan) => {
                let inputs = replication_pad2d_backward::Inputs { grad_output: read(0) };
                let outputs = replication_pad2d_backward::Outputs { grad_input: values_mut(&mut self.output) };
                replication_pad2d_backward::run_parallel(plan, level, parallel, inputs, outputs, workspace)
            }
            TilingPlan::GridSampler2dBackward(plan) => {
                let inputs = grid_sampler_2d_backward::Inputs { grad_output: read(0), input: read(1), grid: read(2) };
                let second = self.second.as_mut().expect("both outputs are wanted");
                let (input_grad, grid_grad) = (values_mut(&mut self.output), values_mut(second));
                let outputs = grid_sampler_2d_backward::Outputs { input_grad, grid_grad };
                grid_sampler_2d_backward::run_parallel(plan, level, parallel, inputs, outputs, workspace)
            }
        }
        .expect("the buffers fit");
    }
}

/// Seed of the numbers in the tensors.
const SEED: u64 = 5;

fn im2col(words: &mut Words<'_>, [inputs, outputs]: [Layout; 2]) -> Result<(Problem, Vec<Data>), String> {
    let (dtype, [n, c, h, w]) = (words.dtype, words.shape);
    let [kernel, stride] = [[words.number("k", 3)?; 2], [words.number("s", 1)?; 2]];
    let [padding, dilation] = [[words.number("p", 0)?; 2], [words.number("d", 1)?; 2]];
    let sizes = Im2col { dtype, out_dtype: dtype, n, c, h, w, kernel, dilation, padding, stride, inputs, outputs };
    let problem = sizes.desc().check(None, Edition::Any).map_err(|error| error.to_string())?;
    let inputs = vec![problems::im2col_inputs(&problem, Fill::Uniform, &mut Rng::new(SEED))];
    Ok((Problem::Im2colBackward(problem), inputs))
}

fn max_unpool(words: &mut Words<'_>, [inputs, outputs]: [Layout; 2]) -> Result<(Problem, Vec<Data>), String> {
    let (dtype, [n, c, h, w], factor) = (words.dtype, words.shape, words.number("x", 2)?);
    let index_dtype = if words.take("i32") { Dtype::I32 } else { Dtype::I64 };
    words.take("i64");
    let [out_h, out_w] = [h, w].map(|size| size.saturating_mul(factor));
    let sizes = MaxUnpool { dtype, out_dtype: dtype, index_dtype, n, c, h, w, out_h, out_w, inputs, outputs };
    let problem = sizes.desc().check(None, Edition::Any).map_err(|error| error.to_string())?;
    let mut rng = Rng::new(SEED);
    let inputs = problems::max_unpool_inputs(&problem, Fill::Uniform, IndexFill::Duplicates, &mut rng);
    let indices = Data::from_bits_fn(*inputs.indices.desc(), |i| {
        let (y, x) = (i / w % h * factor + rng.below(factor), i % w * factor + rng.below(factor));
        (y * out_w + x) as u64
    });
    Ok((Problem::MaxUnpool2dBackward(problem), vec![inputs.grad_output, indices]))
}

fn replication_pad(words: &mut Words<'_>, [inputs, outputs]: [Layout; 2]) -> Result<(Problem, Vec<Data>), String> {
    let (dtype, [n, c, h, w]) = (words.dtype, words.shape);
    let padding = words.list_behind("pad")?.map(|p| p as i64);
    let sizes = ReplicationPad { dtype, n, c, h, w, padding, inputs, outputs };
    let problem = sizes.desc().check(None, Edition::Any).map_err(|error| error.to_string())?;
    let inputs = vec![problems::replication_pad_inputs(&problem, Fill::Uniform, &mut Rng::new(SEED))];
    Ok((Problem::ReplicationPad2dBackward(problem), inputs))
}

fn grid_sampler(words: &Words<'_>, [inputs, outputs]: [Layout; 2]) -> Result<(Problem, Vec<Data>), String> {
    let (dtype, [n, c, h, w]) = (words.dtype, words.shape);
    let sizes = GridSampler { dtype, n, c, hi: h, wi: w, ho: h, wo: w, inputs, outputs, ..Default::default() };
    // A grid has no channels, so it lies as most do.
    let (inputs, outputs) = (Layout::Contiguous, Layout::Contiguous);
    let (mut desc, contiguous) = (sizes.desc(), GridSampler { inputs, outputs, ..sizes }.desc());
    (desc.grid, desc.grid_grad) = (contiguous.grid, contiguous.grid_grad);
    let problem = desc.check(None, Edition::Any).map_err(|error| error.to_string())?;
    let inputs = problems::grid_sampler_inputs(&problem, Fill::Uniform, Coordinates::Smooth, &mut Rng::new(SEED));
    Ok((Problem::GridSampler2dBackward(problem), vec![inputs.grad_output, inputs.input, inputs.grid]))
}
