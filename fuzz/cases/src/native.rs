//! Native plans in the simulator: the kernels' bits.

use arbitrary::{Result, Unstructured};
use ubtile_sim::clock::Start;
use ubtile_sim::exec::{Global, Run};
use ubtile_sim::lower::{LowerError, native};
use ubtile_sim::product::Soc;
use ubtile_sim::program::Program;
use ubtile_sim::sanitize::sanitize;
use ubtile_testkit::{Data, problems};
use ubtile_testkit::{Description, Inputs, Kinds, Rng, bits_equal};
use ubtile_tiling::{Edition, PlanOptions, Problem, TargetSpec, TensorDesc, plan};

use crate::plan::possible;
use crate::programs::{round_trip, time, values};
use crate::run::{Setup, plainly};

/// One of each family.
const SOCS: [&str; 6] = ["Ascend910B1", "Ascend910_9391", "Ascend310B1", "Ascend910_95", "Ascend310P3", "Ascend910A"];

/// Where a problem is planned.
#[derive(Clone, Debug)]
pub struct Place {
    soc: &'static str,
    cores: usize,
    local_bytes: Option<usize>,
}

impl Place {
    /// A SoC, most often with little memory.
    pub fn new(u: &mut Unstructured<'_>) -> Result<Self> {
        let local_bytes = if u.arbitrary()? { Some(u.int_in_range(0..=24 << 10)?) } else { None };
        Ok(Self { soc: u.choose(&SOCS)?, cores: u.int_in_range(1..=4)?, local_bytes })
    }
}

/// The description with all tensors contiguous, as programs are made for.
#[must_use]
pub fn contiguous(description: Description) -> Description {
    let flat = |desc: TensorDesc| TensorDesc::contiguous(desc.dtype, desc.shape.as_slice()).expect("of that rank");
    let tensors = description.tensors.iter().map(|&(tensor, desc)| (tensor, flat(desc))).collect();
    Description { tensors, ..description }
}

/// Lowers a problem, and runs its program in several orders.
pub fn check(description: &Description, place: &Place, kinds: Kinds, setup: &Setup) {
    let Ok(problem) = description.check(None, Edition::Any) else { return };
    let soc = Soc::builtin(place.soc).expect("a product of this model");
    let Some(program) = lowered(&problem, place, &soc) else { return };
    let inputs = Inputs::random(&problem, kinds, &mut Rng::new(setup.seed));
    let plain = plainly(&problem, setup, &inputs).expect("no index is out of range");
    let found = sanitize(&program, Some(global(&program, &inputs))).expect("instructions that can be carried out");
    assert!(found.is_empty(), "{found:#?}");
    for seed in [0, setup.seed | 1, !setup.seed | 1] {
        let results = values(&program, global(&program, &inputs), seed);
        let results = results.unwrap_or_else(|halt| panic!("order {seed}: {}", halt.describe(&program)));
        let named = program.source().tensors.iter().filter(|tensor| tensor.role.is_result()).zip(results);
        for (tensor, bytes) in named {
            let (name, plain) = plain.iter().find(|(name, _)| name.name() == tensor.name).expect("an output");
            let mut got: Data = problems::output(problem.slot(*name));
            got.bytes_mut().copy_from_slice(&bytes);
            if let Err(difference) = bits_equal(&got, plain) {
                panic!("order {seed}: {name} is not what the kernels give: {difference}");
            }
        }
    }
    let timing = time(&program, &soc, setup.seed % 9, Start::Warm);
    let timing = timing.unwrap_or_else(|error| panic!("{}", error.describe(&program)));
    // What a grid sampler copies can depend on where its points lie.
    if !matches!(problem, Problem::GridSampler2dBackward(_)) {
        let mut moved = Run::new(&program, global(&program, &inputs));
        moved.finish().expect("it has run before");
        assert_eq!((timing.gm_read_bytes, timing.gm_write_bytes), moved.moved(), "bytes of clock and run");
    }
    round_trip(&program, &soc);
}

/// The program; `None` where plan or product rightly have none.
fn lowered(problem: &Problem, place: &Place, soc: &Soc) -> Option<Program> {
    let whole = soc.target_spec().expect("a SoC that is known");
    let spec = TargetSpec { cores: place.cores.min(whole.cores), ..whole };
    let options = PlanOptions { local_bytes: place.local_bytes, ..PlanOptions::default() };
    let plan = possible(plan(problem, &spec, &options), true)?;
    match native(&plan, soc) {
        Ok(program) => {
            let (got, limit) = (program.local_bytes() as usize, plan.target().local_bytes);
            assert!(got <= limit, "{got} bytes of UB, and the plan may use {limit}");
            Some(program)
        }
        Err(LowerError::NotOnCore(_) | LowerError::LocalBytes { .. }) => None,
        Err(error) => panic!("not lowered: {error}"),
    }
}

/// Global memory with the inputs.
fn global(program: &Program, inputs: &Inputs) -> Global {
    let mut global = Global::new(program).expect("little memory");
    for (tensor, data) in inputs.tensors() {
        if let Some(bytes) = global.named_mut(program, tensor.name()) {
            bytes.copy_from_slice(data.bytes());
        }
    }
    global
}
