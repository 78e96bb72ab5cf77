//! The programs that are changed.

use std::path::Path;
use std::{fs, io};

use ubtile_sim::aclnn::Device;
use ubtile_sim::exec::Global;
use ubtile_sim::lower::{native, vendor};
use ubtile_sim::product::Soc;
use ubtile_sim::program::Program;
use ubtile_sim::text;
use ubtile_testkit::problems::{GridSampler, Im2col, MaxUnpool, ReplicationPad};
use ubtile_testkit::{Coordinates, Fill, IndexFill, Inputs, Kinds, Rng};
use ubtile_tiling::grid_sampler_2d_backward::{Interpolation, PaddingMode};
use ubtile_tiling::{Dtype, PlanOptions, Problem, TargetSpec, VendorMachine, plan, vendor_plan};

use crate::oracle;

/// A program, and tensors for it whose sums are exact in any order.
pub(crate) struct Subject {
    pub(crate) name: String,
    pub(crate) program: Program,
    pub(crate) inputs: Global,
}

/// The example programs.
pub(crate) fn examples(soc: &Soc) -> io::Result<Vec<Subject>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let mut paths: Vec<_> =
        fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "tile"));
    paths.sort();
    let subject = |path: &Path| {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let program = text::parse(&fs::read_to_string(path)?, soc).expect("examples are programs").0;
        Ok(Subject { name, inputs: oracle::inputs(&program), program })
    };
    paths.iter().map(|path| subject(path)).collect()
}

/// Programs of plans for small problems: native ones, and the vendor's.
pub(crate) fn lowered(soc: &Soc) -> Vec<Subject> {
    let mut all = natives(soc);
    all.extend(vendors(soc));
    all
}

/// Native plans on two cores.
fn natives(soc: &Soc) -> Vec<Subject> {
    let bicubic = GridSampler { interpolation: Interpolation::Bicubic, ..GridSampler::default() };
    let problems = [
        Problem::ReplicationPad2dBackward(
            ReplicationPad { n: 1, c: 3, h: 9, w: 17, padding: [2, 1, 1, 2], ..ReplicationPad::default() }.problem(),
        ),
        Problem::Im2colBackward(Im2col::default().problem()),
        Problem::MaxUnpool2dBackward(MaxUnpool::default().problem()),
        Problem::GridSampler2dBackward(GridSampler::default().problem()),
        Problem::GridSampler2dBackward(GridSampler { padding_mode: PaddingMode::Border, ..bicubic }.problem()),
    ];
    let subject = |problem: &Problem| {
        let spec = TargetSpec { cores: 2, ..soc.target_spec().expect("a SoC with a target") };
        let plan = plan(problem, &spec, &PlanOptions::default()).expect("a small problem has a plan");
        let program = native(&plan, soc).expect("a native plan has a program");
        Subject { inputs: inputs(problem, &program), name: name("native", problem), program }
    };
    problems.iter().map(subject).collect()
}

/// The vendor's plans. Where weights are no whole numbers, one core alone adds them up.
fn vendors(soc: &Soc) -> Vec<Subject> {
    let pad = |[h, w]: [usize; 2], padding: [i64; 4]| {
        Problem::ReplicationPad2dBackward(
            ReplicationPad { n: 1, c: 3, h, w, padding, ..ReplicationPad::default() }.problem(),
        )
    };
    let grid = |interpolation, dtype| {
        Problem::GridSampler2dBackward(GridSampler { interpolation, dtype, ..GridSampler::default() }.problem())
    };
    let problems = [
        (grid(Interpolation::Nearest, Dtype::F32), 2),
        (grid(Interpolation::Bilinear, Dtype::F16), 1),
        (pad([9, 17], [2, 1, 1, 2]), 2),
        (pad([9, 250], [2, 1, 1, 2]), 2),
        (pad([80, 70], [2, 1, 1, 2]), 2),
        (pad([9, 17], [2, 1, 0, 0]), 2),
        (pad([9, 17], [0, 0, 2, 1]), 2),
    ];
    let machine = Device::of(soc).ok().and_then(|device| device.machine()).expect("a SoC with the vendor's tilings");
    let subject = |(problem, cores): &(Problem, usize)| {
        let machine = VendorMachine { vector_cores: *cores, ..machine };
        let plan = vendor_plan(problem, &machine).expect("the vendor has a tiling");
        let program = vendor(problem, &plan, soc).expect("a kernel that is known");
        let name = format!("{}, key {}", name("vendor", problem), plan.tiling_key());
        Subject { inputs: inputs(problem, &program), name, program }
    };
    problems.iter().map(subject).collect()
}

fn name(scheme: &str, problem: &Problem) -> String {
    let bicubic = matches!(problem, Problem::GridSampler2dBackward(p) if p.interpolation == Interpolation::Bicubic);
    format!("{} {scheme}{}", problem.operator(), if bicubic { " bicubic" } else { "" })
}

/// Small whole numbers.
fn inputs(problem: &Problem, program: &Program) -> Global {
    let kinds = Kinds { values: Fill::Integers, coordinates: Coordinates::Smooth, indices: IndexFill::Permutation };
    let mut inputs = Global::new(program).expect("memory for the tensors");
    for (tensor, data) in Inputs::random(problem, kinds, &mut Rng::new(1)).tensors() {
        if let Some(bytes) = inputs.named_mut(program, tensor.name()) {
            bytes.copy_from_slice(data.bytes());
        }
    }
    inputs
}
