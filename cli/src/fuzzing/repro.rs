//! `*.repro.json`: a failure that anybody can run again.

use std::fs;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ubtile_sim::report::Folder;

use super::document::Document;
use super::{Case, Finding, TileRepro};
use crate::error::Error;

/// The longest file that is read.
const MAX_BYTES: u64 = 256 << 20;

/// A failure: its case, and what was wrong.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Repro {
    schema: String,
    tool_version: String,
    #[serde(flatten)]
    document: Document,
    /// The shared library whose kernel failed; `None` for this project's own.
    pub(crate) kernel: Option<PathBuf>,
    /// What was wrong.
    pub(crate) failure: Finding,
    /// Where it was found.
    pub(crate) found: Found,
}

/// Where a failure was found.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Found {
    /// The seed of all cases.
    pub(crate) seed: u64,
    /// Number of the case, before it was made smaller.
    pub(crate) case: u64,
}

impl Repro {
    /// The value of its key `schema`.
    pub(crate) const SCHEMA: &'static str = "ubtile.repro.v1";

    pub(crate) fn new(case: &Case, kernel: Option<&Path>, failure: &Finding, found: Found) -> Self {
        Self {
            schema: Self::SCHEMA.to_owned(),
            tool_version: env!("CARGO_PKG_VERSION").to_owned(),
            document: Document::new(case),
            kernel: kernel.map(Into::into),
            failure: failure.clone(),
            found,
        }
    }

    /// The case.
    pub(crate) fn case(&self) -> Result<Case, String> {
        self.document.case()
    }

    /// Writes it to a folder and returns the path.
    pub(crate) fn save(&self, folder: &Path) -> Result<PathBuf, Error> {
        write(self, folder, &format!("{}-{}-{}", self.document.operator(), self.failure.kind, self.found.seed))
    }
}

/// Writes a failure to `NAME.repro.json` of a folder and returns the path.
pub(super) fn write(repro: &impl Serialize, folder: &Path, name: &str) -> Result<PathBuf, Error> {
    let name = format!("{name}.repro.json");
    let json = serde_json::to_string_pretty(repro).map_err(|e| Error::file(folder, e))?;
    let path = folder.join(&name);
    let files = Folder::create(folder)?;
    files.text(&name, &(json + "\n"))?;
    files.keep()?;
    Ok(path)
}

/// A failure of either kind.
#[derive(Debug)]
pub(crate) enum AnyRepro {
    Operator(Repro),
    Program(TileRepro),
}

impl AnyRepro {
    /// Reads a file.
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        let length = fs::metadata(path).map_err(|e| Error::file(path, e))?.len();
        if length > MAX_BYTES {
            return Err(Error::file(path, format_args!("has {length} bytes: at most {MAX_BYTES} are read")));
        }
        let text = fs::read(path).map_err(|e| Error::file(path, e))?;
        let none = |e| Error::file(path, format_args!("is no repro file ({e})"));
        match serde_json::from_slice::<Head>(&text).map_err(none)?.schema.as_str() {
            Repro::SCHEMA => serde_json::from_slice(&text).map(Self::Operator).map_err(none),
            TileRepro::SCHEMA => serde_json::from_slice(&text).map(Self::Program).map_err(none),
            schema => {
                let known = [Repro::SCHEMA, TileRepro::SCHEMA].join("' and '");
                Err(Error::file(path, format_args!("has the schema '{schema}': this version reads '{known}'")))
            }
        }
    }
}

/// What says which kind it is.
#[derive(Deserialize)]
struct Head {
    schema: String,
}
