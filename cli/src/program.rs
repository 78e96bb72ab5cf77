//! Tile programs in files.

use std::fs;
use std::path::Path;

use ubtile_sim::clock::Start;
use ubtile_sim::exec::Global;
use ubtile_sim::product::Soc;
use ubtile_sim::program::{Program, Tensor, TensorId};
use ubtile_sim::text;
use ubtile_tiling::TensorDesc;

use crate::args::{Named as Setting, ProgramArgs};
use crate::error::Error;
use crate::progress::Progress;
use crate::settings::{Settings, text_with};
use crate::soc::soc;
use crate::tensors::Input;

/// A program that its SoC can run, as it was set.
pub(crate) struct Loaded {
    pub(crate) program: Program,
    pub(crate) text: String,
    pub(crate) soc: Soc,
    /// How a timed run begins.
    pub(crate) start: Start,
}

impl Loaded {
    /// That of a file.
    pub(crate) fn new(args: &ProgramArgs) -> Result<Self, Error> {
        let text = text_of(args.path())?;
        Self::of((args.path(), &text), &soc(&args.soc)?, &args.set)
    }

    /// That of a text.
    pub(crate) fn of((path, text): (&Path, &str), soc: &Soc, set: &[Setting<String>]) -> Result<Self, Error> {
        let mut settings = Settings::default();
        for setting in set {
            settings.add(&setting.name, &setting.value, text)?;
        }
        let soc = settings.product(soc)?;
        let text = text_with(text, &settings.constants);
        let (program, _) = text::parse(&text, &soc).map_err(|e| Error::file(path, e))?;
        Ok(Self { program, text, soc, start: settings.start })
    }
}

/// What stands in a file, without the mark that some editors put in front.
pub(crate) fn text_of(path: &Path) -> Result<String, Error> {
    let bytes = fs::read(path).map_err(|e| Error::file(path, e))?;
    let text = String::from_utf8(bytes).map_err(|e| {
        let fine = String::from_utf8_lossy(&e.as_bytes()[..e.utf8_error().valid_up_to()]);
        let (line, before) = (1 + fine.matches('\n').count(), fine.rsplit('\n').next().unwrap_or_default());
        let column = 1 + before.chars().count();
        Error::file(path, format_args!("line {line}, column {column}: expected a text in UTF-8"))
    })?;
    match text.strip_prefix('\u{feff}') {
        Some(text) => Ok(text.into()),
        None => Ok(text),
    }
}

/// Whether the UB has room for all buffers. What only looks at a program takes it anyway.
pub(crate) fn fits(program: &Program, path: &Path) -> Result<(), Error> {
    let Some((_, buffer, end)) = program.beyond_ub().next() else { return Ok(()) };
    let have = program.limits().ub_bytes;
    let (name, over) = (&buffer.name, end - have);
    Err(Error::file(path, format!("{name} ends at byte {end} of the UB, {over} more than its {have}")))
}

/// A tensor of a program, with its name.
pub(crate) type Named<'p> = (TensorId, &'p str, TensorDesc);

/// The tensors whose values are given.
pub(crate) fn given(program: &Program) -> Result<Vec<Named<'_>>, Error> {
    tensors(program, |tensor| tensor.role.is_given())
}

/// The tensors whose values are results.
pub(crate) fn results(program: &Program) -> Result<Vec<Named<'_>>, Error> {
    tensors(program, |tensor| tensor.role.is_result())
}

/// Fills the tensors that are given from a file.
pub(crate) fn fill(path: &Path, program: &Program, global: &mut Global) -> Result<(), Error> {
    let mut file = Input::open(path)?;
    let _progress = Progress::new(format!("reading {}", path.display()));
    for (id, name, desc) in given(program)? {
        let found = file.desc(name)?.ok_or_else(|| Error::tensor(path, name, "is missing"))?;
        if (found.dtype, found.shape) != (desc.dtype, desc.shape) {
            let TensorDesc { dtype, shape, .. } = desc;
            let problem = format!("is {} {}, and the program reads {dtype} {shape}", found.dtype, found.shape);
            return Err(Error::tensor(path, name, problem));
        }
        global.tensor_mut(id).copy_from_slice(&file.read(name)?);
    }
    Ok(())
}

/// Some of the tensors of a program.
fn tensors(program: &Program, which: impl Fn(&Tensor) -> bool) -> Result<Vec<Named<'_>>, Error> {
    let all = (0..).map(TensorId).zip(&program.source().tensors).filter(|(_, tensor)| which(tensor));
    let describe = |(id, tensor): (_, &'_ Tensor)| -> Result<_, Error> {
        let problem = |e: String| Error::Unusable(format!("{}: {e}", tensor.name));
        let shape: Result<Vec<usize>, _> = tensor.shape.iter().map(|size| usize::try_from(*size)).collect();
        let shape = shape.map_err(|e| problem(e.to_string()))?;
        let desc = TensorDesc::contiguous(tensor.dtype, &shape).map_err(|e| problem(e.to_string()))?;
        Ok((id, desc))
    };
    all.map(|(id, tensor)| describe((id, tensor)).map(|(id, desc)| (id, tensor.name.as_str(), desc))).collect()
}
