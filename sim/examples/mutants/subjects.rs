//! The programs that are changed.

use std::path::Path;
use std::{fs, io};

use ubtile_sim::exec::Global;
use ubtile_sim::lower::native;
use ubtile_sim::product::Soc;
use ubtile_sim::program::{Program, TensorId};
use ubtile_sim::text;
use ubtile_testkit::problems::{GridSampler, Im2col, MaxUnpool, ReplicationPad};
use ubtile_testkit::{Coordinates, Fill, IndexFill, Inputs, Kinds, Rng};
use ubtile_tiling::{PlanOptions, Problem, TargetSpec, plan};

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

/// Programs of native plans for small problems on two cores.
pub(crate) fn lowered(soc: &Soc) -> Vec<Subject> {
    let kinds = Kinds { values: Fill::Integers, coordinates: Coordinates::Smooth, indices: IndexFill::Permutation };
    let problems = [
        Problem::ReplicationPad2dBackward(
            ReplicationPad { n: 1, c: 3, h: 9, w: 17, padding: [2, 1, 1, 2], ..ReplicationPad::default() }.problem(),
        ),
        Problem::Im2colBackward(Im2col::default().problem()),
        Problem::MaxUnpool2dBackward(MaxUnpool::default().problem()),
        Problem::GridSampler2dBackward(GridSampler::default().problem()),
    ];
    let subject = |problem: &Problem| {
        let spec = TargetSpec { cores: 2, ..soc.target_spec().expect("a SoC with a target") };
        let plan = plan(problem, &spec, &PlanOptions::default()).expect("a small problem has a plan");
        let program = native(&plan, soc).expect("a native plan has a program");
        let mut inputs = Global::new(&program).expect("memory for the tensors");
        for (tensor, data) in Inputs::random(problem, kinds, &mut Rng::new(1)).tensors() {
            let found = (0..).zip(&program.source().tensors).find(|(_, found)| found.name == tensor.name());
            if let Some((id, _)) = found {
                inputs.tensor_mut(TensorId(id)).copy_from_slice(data.bytes());
            }
        }
        Subject { name: problem.operator().name().to_owned(), program, inputs }
    };
    problems.iter().map(subject).collect()
}
