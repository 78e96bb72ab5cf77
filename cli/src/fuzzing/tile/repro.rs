//! `*.repro.json` of a tile program.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ubtile_sim::exec::{Delay, Global};
use ubtile_sim::product::Soc;
use ubtile_sim::program::{Pipe, Program};
use ubtile_sim::text;
use ubtile_tiling::Dtype;

use super::{Pair, TileCase, data};
use crate::error::Error;
use crate::fuzzing::{Finding, Found, bits, repro};
use crate::program::given;

/// A failure of a tile program: the program itself, its values, the steps that wait, and what was wrong.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct TileRepro {
    schema: String,
    tool_version: String,
    /// The SoC, or the file of one, as it was said on the command line.
    pub(crate) soc: String,
    pub(crate) program: Tested,
    /// The program whose results it must have.
    pub(crate) against: Option<Tested>,
    /// What the program reads, by name.
    tensors: BTreeMap<String, TensorDocument>,
    /// The steps that wait until nothing else can go on; of these, the first one goes on first.
    delays: Vec<DelayDocument>,
    /// What was wrong.
    pub(crate) failure: Finding,
    /// Where it was found.
    found: Found,
}

/// A program.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Tested {
    /// The file that it was read from.
    pub(crate) file: PathBuf,
    /// What stands in it.
    pub(crate) text: String,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct TensorDocument {
    dtype: String,
    shape: Vec<usize>,
    /// The elements in row-major order, one hexadecimal word each.
    bits: String,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct DelayDocument {
    core: u32,
    pipe: String,
    /// How many steps of the pipe come before it.
    step: u64,
    /// The instruction, for people.
    #[serde(default)]
    instruction: Option<String>,
}

impl Tested {
    /// The file's name without what is behind the point.
    pub(crate) fn name(&self) -> String {
        self.file.file_stem().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// The program on a product.
    pub(crate) fn parse(&self, soc: &Soc) -> Result<Program, Error> {
        text::parse(&self.text, soc).map(|(program, _)| program).map_err(|e| Error::file(&self.file, e))
    }
}

impl TileRepro {
    /// The value of its key `schema`.
    pub(crate) const SCHEMA: &'static str = "ubtile.repro.program.v1";

    /// Of a case of two programs.
    pub(crate) fn new(
        (soc, program, against): (&str, Tested, Option<Tested>),
        (pair, case): (&Pair, &TileCase),
        failure: &Finding,
        found: Found,
    ) -> Result<Self, Error> {
        let tensor = |(id, name, desc): (_, &str, ubtile_tiling::TensorDesc)| {
            let bits = bits::write(&data(desc, case.values.tensor(id)));
            let (dtype, shape) = (desc.dtype.name().to_owned(), desc.shape.as_slice().to_vec());
            (name.to_owned(), TensorDocument { dtype, shape, bits })
        };
        let delay = |(Delay { core, pipe, step }, instruction): (&Delay, Option<String>)| DelayDocument {
            core: *core,
            pipe: pipe.name().to_owned(),
            step: *step,
            instruction,
        };
        Ok(Self {
            schema: Self::SCHEMA.to_owned(),
            tool_version: env!("CARGO_PKG_VERSION").to_owned(),
            soc: soc.to_owned(),
            program,
            against,
            tensors: given(&pair.program)?.into_iter().map(tensor).collect(),
            delays: case.delays.iter().zip(pair.instructions(case)).map(delay).collect(),
            failure: failure.clone(),
            found,
        })
    }

    /// The case, for a program that reads the same tensors.
    pub(crate) fn case(&self, program: &Program) -> Result<TileCase, String> {
        let mut values = Global::new(program).ok_or("needs more memory than there is")?;
        for (id, name, desc) in given(program).map_err(|e| e.to_string())? {
            let tensor = self.tensors.get(name).ok_or_else(|| format!("has no tensor '{name}'"))?;
            if Dtype::from_name(&tensor.dtype) != Some(desc.dtype) || tensor.shape != desc.shape.as_slice() {
                let TensorDocument { dtype, shape, .. } = tensor;
                return Err(format!(
                    "has {name} as {dtype} {shape:?}, and the program reads {} {}",
                    desc.dtype, desc.shape
                ));
            }
            let data = bits::read(desc, &tensor.bits).map_err(|e| format!("{name} {e}"))?;
            values.tensor_mut(id).copy_from_slice(data.bytes());
        }
        let delay = |document: &DelayDocument| {
            let DelayDocument { core, pipe, step, .. } = document;
            let known = Pipe::ALL.into_iter().find(|(_, name)| name == pipe);
            let (pipe, _) = known.ok_or_else(|| format!("'{pipe}' is no pipe"))?;
            let cores = program.source().cores;
            if *core >= cores {
                return Err(format!(
                    "has a step of core {core} that waits, and the program has cores 0 to {}",
                    cores - 1
                ));
            }
            Ok(Delay { core: *core, pipe, step: *step })
        };
        let delays = self.delays.iter().map(delay).collect::<Result<_, String>>()?;
        Ok(TileCase { values, delays })
    }

    /// Writes it to a folder and returns the path.
    pub(crate) fn save(&self, folder: &Path) -> Result<PathBuf, Error> {
        repro::write(self, folder, &format!("{}-{}-{}", self.program.name(), self.failure.kind, self.found.seed))
    }
}
