//! A case by its name: problem, plan and tensors.

use safetensors::SafeTensors;
use ubtile_benches::{values, values_mut};
use ubtile_kernels::{
    Level, Parallel, grid_sampler_2d_backward, im2col_backward, max_unpool2d_backward, replication_pad2d_backward,
};
use ubtile_testkit::problems::{self, GridSampler, Im2col, Layout, MaxUnpool, ReplicationPad};
use ubtile_testkit::{Coordinates, Data, Fill, Rng};
use ubtile_tiling::{Dtype, Edition, PlanOptions, Problem, TargetSpec, TilingPlan, plan};

/// What is timed.
pub(crate) struct Case {
    pub(crate) plan: TilingPlan,
    pub(crate) inputs: Vec<Data>,
    pub(crate) output: Data,
    /// `grid_grad`, of the grid sampler.
    second: Option<Data>,
    /// Room for the first input without gaps, where it is not so already.
    pub(crate) contiguous: Option<Data>,
}

impl Case {
    /// # Panics
    /// If there is no such case.
    pub(crate) fn new(name: &str, target: &TargetSpec, options: &PlanOptions, file: Option<&[u8]>) -> Self {
        let words: Vec<_> = name.split_whitespace().collect();
        let [operator, dtype, shape, rest @ ..] = &words[..] else {
            panic!("{name} lacks an operator, dtype or shape")
        };
        let dtype = Dtype::ALL.into_iter().find(|d| d.to_string() == *dtype).expect("a dtype");
        let numbers = |list: &str| -> Vec<usize> { list.split(',').map(|n| n.parse().expect("a number")).collect() };
        let [n, c, h, w] = numbers(shape).try_into().expect("N,C,H,W");
        let after = |prefix: &str| rest.iter().find_map(|word| word.strip_prefix(prefix));
        let number = |prefix: &str, default: usize| after(prefix).and_then(|n| n.parse().ok()).unwrap_or(default);
        let layout = |prefix: &str| match after(prefix) {
            None => Layout::Contiguous,
            Some("channels-last") => Layout::ChannelsLast,
            Some("transposed") => Layout::Transposed,
            Some("spread") => Layout::Spread,
            Some("repeated") => Layout::Repeated,
            Some("pitched") => Layout::Pitched,
            Some(other) => panic!("{other} is no layout"),
        };
        let (inputs_layout, outputs) = (layout("in="), layout("out="));
        let mut rng = Rng::new(5);
        let (problem, inputs) = match *operator {
            "im2col-backward" => {
                let [kernel, stride, padding] = [number("k", 3), number("s", 1), number("p", 0)].map(|v| [v; 2]);
                let dilation = [number("d", 1); 2];
                let sizes = Im2col {
                    dtype,
                    out_dtype: dtype,
                    n,
                    c,
                    h,
                    w,
                    kernel,
                    dilation,
                    padding,
                    stride,
                    inputs: inputs_layout,
                    outputs,
                };
                let problem = sizes.problem();
                let inputs = vec![problems::im2col_inputs(&problem, Fill::Uniform, &mut rng)];
                (Problem::Im2colBackward(problem), inputs)
            }
            "max-unpool2d-backward" => {
                let factor = number("x", 2);
                let (out_h, out_w) = (h * factor, w * factor);
                let index_dtype = if rest.contains(&"i32") { Dtype::I32 } else { Dtype::I64 };
                let sizes = MaxUnpool {
                    dtype,
                    out_dtype: dtype,
                    index_dtype,
                    n,
                    c,
                    h,
                    w,
                    out_h,
                    out_w,
                    inputs: inputs_layout,
                    outputs,
                };
                let problem = sizes.problem();
                let inputs = problems::max_unpool_inputs(
                    &problem,
                    Fill::Uniform,
                    ubtile_testkit::IndexFill::Duplicates,
                    &mut rng,
                );
                let indices = Data::from_bits_fn(*inputs.indices.desc(), |i| {
                    let (y, x) = (i / w % h * factor + rng.below(factor), i % w * factor + rng.below(factor));
                    (y * out_w + x) as u64
                });
                (Problem::MaxUnpool2dBackward(problem), vec![inputs.grad_output, indices])
            }
            "replication-pad2d-backward" => {
                let list = rest.iter().position(|word| *word == "pad").map(|at| rest[at + 1]).expect("pad l,r,t,b");
                let padding: [i64; 4] =
                    numbers(list).into_iter().map(|p| p as i64).collect::<Vec<_>>().try_into().expect("l,r,t,b");
                let problem = ReplicationPad { dtype, n, c, h, w, padding, inputs: inputs_layout, outputs }.problem();
                let inputs = vec![problems::replication_pad_inputs(&problem, Fill::Uniform, &mut rng)];
                (Problem::ReplicationPad2dBackward(problem), inputs)
            }
            "grid-sampler-2d-backward" => {
                let sizes = GridSampler {
                    dtype,
                    n,
                    c,
                    hi: h,
                    wi: w,
                    ho: h,
                    wo: w,
                    inputs: inputs_layout,
                    outputs,
                    ..Default::default()
                };
                // A grid has no channels, so it lies as most do.
                let (inputs, outputs) = (Layout::Contiguous, Layout::Contiguous);
                let (mut desc, contiguous) = (sizes.desc(), GridSampler { inputs, outputs, ..sizes }.desc());
                (desc.grid, desc.grid_grad) = (contiguous.grid, contiguous.grid_grad);
                let problem = desc.check(None, Edition::Any).expect("a legal case");
                let inputs = problems::grid_sampler_inputs(&problem, Fill::Uniform, Coordinates::Smooth, &mut rng);
                (Problem::GridSampler2dBackward(problem), vec![inputs.grad_output, inputs.input, inputs.grid])
            }
            other => panic!("{other} is no operator"),
        };
        let plan = plan(&problem, target, options).expect("the host has room");
        let slots: Vec<_> = problem.tensors().filter(|slot| slot.output).collect();
        let output = problems::output(slots.first().copied());
        let second = slots.get(1).map(|slot| problems::output(Some(*slot)));
        let contiguous = (inputs_layout != Layout::Contiguous).then(|| inputs[0].to_contiguous());
        let mut case = Self { plan, inputs, output, second, contiguous };
        if let Some(bytes) = file {
            let file = SafeTensors::deserialize(bytes).expect("safetensors");
            let names = problem.tensors().filter(|slot| !slot.output).map(|slot| slot.tensor.to_string());
            for (data, name) in case.inputs.iter_mut().zip(names) {
                data.bytes_mut().copy_from_slice(file.tensor(&name).expect("a tensor of that name").data());
            }
        }
        case
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
