//! Runs a problem on both sides.

use ubtile_kernels::{
    Level, Values, ValuesMut, grid_sampler_2d_backward, im2col_backward, max_unpool2d_backward,
    replication_pad2d_backward,
};
use ubtile_sim::clock::{Options, simulate};
use ubtile_sim::exec::{Global, Run};
use ubtile_sim::lower::{LowerError, native_in};
use ubtile_sim::product::Soc;
use ubtile_sim::program::{Action, Pipe, Program, Step, Walker};
use ubtile_sim::sanitize::sanitize;
use ubtile_testkit::{Data, Inputs, Kinds, Rng, bits_equal, problems};
use ubtile_tiling::{PlanOptions, Problem, TargetSpec, Tensor, TilingPlan, plan};

const OUTPUTS: [Tensor; 4] = [Tensor::InputGrad, Tensor::GridGrad, Tensor::Out, Tensor::GradInput];

/// Where a problem is planned.
#[derive(Clone, Debug)]
pub(crate) struct At {
    pub(crate) soc: &'static str,
    pub(crate) cores: usize,
    pub(crate) local_bytes: Option<usize>,
    pub(crate) tile: Option<(&'static str, usize)>,
}

impl At {
    pub(crate) const fn cores(cores: usize) -> Self {
        Self { soc: "Ascend910B1", cores, local_bytes: None, tile: None }
    }

    pub(crate) const fn on(self, soc: &'static str) -> Self {
        Self { soc, ..self }
    }

    pub(crate) const fn bytes(self, bytes: usize) -> Self {
        Self { local_bytes: Some(bytes), ..self }
    }

    pub(crate) const fn tile(self, name: &'static str, value: usize) -> Self {
        Self { tile: Some((name, value)), ..self }
    }
}

/// The plan and its program.
pub(crate) fn lower(problem: &Problem, at: &At) -> Result<(TilingPlan, Program), LowerError> {
    let soc = Soc::builtin(at.soc).unwrap();
    let spec = TargetSpec { cores: at.cores, ..soc.target_spec().unwrap() };
    let options = PlanOptions { local_bytes: at.local_bytes, ..PlanOptions::default() };
    let plan = plan(problem, &spec, &options).unwrap_or_else(|e| panic!("{problem:?} {at:?}: {e}"));
    let program = match native_in(&plan, &soc, at.tile.as_slice()) {
        // The nearest size that is possible, then.
        Err(LowerError::Piece { name, fits, .. } | LowerError::PieceLeast { name, least: fits, .. }) => {
            native_in(&plan, &soc, &[(name, fits)])?.program
        }
        Err(LowerError::NoPiece { .. }) => native_in(&plan, &soc, &[])?.program,
        lowered => lowered?.program,
    };
    let (got, limit) = (program.local_bytes() as usize, plan.target().local_bytes);
    assert!(got <= limit, "{problem:?} {at:?}: {got} bytes of UB, and the plan may use {limit}");
    Ok((plan, program))
}

/// Lowers a problem and holds what its program leaves against the kernels.
pub(crate) fn check(problem: &Problem, at: &At, kinds: Kinds, seed: u64) {
    let (_, program) = lower(problem, at).unwrap_or_else(|e| panic!("{problem:?} {at:?}: {e}"));
    let mut rng = Rng::new(seed);
    let inputs = Inputs::random(problem, kinds, &mut rng);
    let expected = kernels(problem, &inputs);
    let found = sanitize(&program, Some(global(&program, &inputs))).unwrap();
    assert!(found.is_empty(), "{problem:?} {at:?}: {found:#?}\n{}", ubtile_sim::text::print(program.source()));
    let timing = simulate(&program, &Soc::builtin(at.soc).unwrap(), &Options::default());
    let timing = timing.unwrap_or_else(|e| panic!("{problem:?} {at:?}: {}", e.describe(&program)));
    let mut moved = Run::new(&program, global(&program, &inputs));
    moved.finish().unwrap_or_else(|halt| panic!("{problem:?} {at:?}: {}", halt.describe(&program)));
    // What a grid sampler copies can depend on where its points lie.
    if !matches!(problem, Problem::GridSampler2dBackward(_)) {
        assert_eq!((timing.gm_read_bytes, timing.gm_write_bytes), moved.moved(), "{problem:?} {at:?}");
    }
    for order in [None, Some(rng.next_u64()), Some(rng.next_u64())] {
        let got = run(&program, &inputs, order).unwrap_or_else(|e| panic!("{problem:?} {at:?} {order:?}: {e}"));
        for (tensor, expected) in &expected {
            let result = &got.iter().find(|(found, _)| found == tensor).unwrap().1;
            bits_equal(result, expected).unwrap_or_else(|e| {
                panic!(
                    "{problem:?} {at:?} {kinds:?} order {order:?}: {tensor}: {e}\n{}",
                    ubtile_sim::text::print(program.source())
                )
            });
        }
    }
}

/// What the kernels give.
pub(crate) fn kernels(problem: &Problem, inputs: &Inputs) -> Vec<(Tensor, Data)> {
    let plan = plan(problem, &TargetSpec::host(1), &PlanOptions::default()).unwrap();
    let mut workspace = vec![0; plan.workspace_bytes()];
    let read = |tensor: Tensor| {
        let data = inputs.tensors().into_iter().find(|(found, _)| *found == tensor).unwrap().1;
        Values::from_bytes(data.dtype(), data.bytes()).unwrap()
    };
    let mut outputs: Vec<_> =
        problem.tensors().filter(|slot| slot.output).map(|slot| (slot.tensor, problems::output(Some(slot)))).collect();
    let mut written = outputs.iter_mut().map(|(tensor, data)| (*tensor, data.dtype(), data.bytes_mut()));
    let of = |values: Option<(Tensor, _, _)>| {
        values.map_or(ValuesMut::F32(&mut []), |(_, dtype, bytes)| ValuesMut::from_bytes(dtype, bytes).unwrap())
    };
    match &plan {
        TilingPlan::ReplicationPad2dBackward(plan) => {
            let inputs = replication_pad2d_backward::Inputs { grad_output: read(Tensor::GradOutput) };
            let outputs = replication_pad2d_backward::Outputs { grad_input: of(written.next()) };
            replication_pad2d_backward::run(plan, Level::detect(), inputs, outputs, &mut workspace)
        }
        TilingPlan::Im2colBackward(plan) => {
            let inputs = im2col_backward::Inputs { grad_output: read(Tensor::GradOutput) };
            let outputs = im2col_backward::Outputs { out: of(written.next()) };
            im2col_backward::run(plan, Level::detect(), inputs, outputs, &mut workspace)
        }
        TilingPlan::MaxUnpool2dBackward(plan) => {
            let (grad_output, indices) = (read(Tensor::GradOutput), read(Tensor::Indices));
            let inputs = max_unpool2d_backward::Inputs { grad_output, indices };
            let outputs = max_unpool2d_backward::Outputs { out: of(written.next()) };
            max_unpool2d_backward::run(plan, Level::detect(), inputs, outputs, &mut workspace)
        }
        TilingPlan::GridSampler2dBackward(plan) => {
            let inputs = grid_sampler_2d_backward::Inputs {
                grad_output: read(Tensor::GradOutput),
                input: read(Tensor::Input),
                grid: read(Tensor::Grid),
            };
            let mut next = written.next();
            let input_grad = of(next.take_if(|(tensor, ..)| *tensor == Tensor::InputGrad));
            let grid_grad = of(next.or_else(|| written.next()));
            let outputs = grid_sampler_2d_backward::Outputs { input_grad, grid_grad };
            grid_sampler_2d_backward::run(plan, Level::detect(), inputs, outputs, &mut workspace)
        }
    }
    .unwrap_or_else(|e| panic!("{problem:?}: {e}"));
    outputs
}

/// Global memory with the inputs.
pub(crate) fn global(program: &Program, inputs: &Inputs) -> Global {
    let mut global = Global::new(program).unwrap();
    for (tensor, data) in inputs.tensors() {
        if let Some(bytes) = global.named_mut(program, tensor.name()) {
            bytes.copy_from_slice(data.bytes());
        }
    }
    global
}

/// What a program leaves: in its own order, or in one at random that its flags allow.
pub(crate) fn run(program: &Program, inputs: &Inputs, order: Option<u64>) -> Result<Vec<(Tensor, Data)>, String> {
    let mut run = Run::new(program, global(program, inputs));
    match order {
        None => run.finish().map_err(|halt| halt.describe(program))?,
        Some(seed) => {
            let mut rng = Rng::new(seed);
            while !run.ended() {
                // The further a pipe gets at once, the more of what others still need it overwrites.
                let (core, burst) = (rng.below(program.source().cores as usize), 1 + rng.below(60));
                let (pipe, _) = rng.pick(&Pipe::ALL);
                for _ in 0..burst {
                    let core = u32::try_from(core).unwrap();
                    if !run.ready(core, pipe) {
                        break;
                    }
                    run.advance(core, pipe).map_err(|fault| fault.describe(program))?;
                }
            }
        }
    }
    let results = run.global().results(program);
    Ok(results
        .map(|(tensor, bytes)| {
            let shape: Vec<_> = tensor.shape.iter().map(|&size| size as usize).collect();
            let desc = ubtile_tiling::TensorDesc::contiguous(tensor.dtype, &shape).unwrap();
            let mut data = Data::filled(desc, 0);
            data.bytes_mut().copy_from_slice(bytes);
            (OUTPUTS.into_iter().find(|t| t.name() == tensor.name).unwrap(), data)
        })
        .collect())
}

/// How many steps of a kind each core takes, without data.
pub(crate) fn steps(program: &Program, count: impl Fn(&Action) -> u64) -> Vec<u64> {
    let cores = 0..program.source().cores;
    cores
        .map(|core| {
            let (mut walker, mut sum) = (Walker::new(program, core), 0);
            while let Some(Step { action, .. }) = walker.step().unwrap() {
                if let Action::Read(read) = &action {
                    walker.assign(read, read.assumed(1 << 40).unwrap());
                }
                sum += count(&action);
            }
            sum
        })
        .collect()
}
