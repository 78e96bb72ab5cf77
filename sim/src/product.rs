//! Products as data: what each SoC is, how well each number is founded, and what nobody knows.
//!
//! A product is a file (`products/*.toml`). It inherits from a family, and a user's file can inherit from either. Each value has a
//! [`Grade`] and a source, its own or its table's; a key that no file states is [`Unknown`] and stays so.
//!
//! ```
//! let soc = ubtile_sim::product::Soc::builtin("Ascend910B1")?;
//! assert_eq!(soc.cores.vector_units.get()?.get(), 48);
//! assert!(soc.clock.vector_core_mhz.get().is_err(), "no source has it apart");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod catalog;
mod costs;
mod document;
mod embedded;
mod error;
mod graded;
mod instructions;
mod kinds;
mod memory;
mod model_hash;
mod parts;
mod reader;
mod sources;
mod target;
mod vector;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use ubtile_tiling::Product;

pub use costs::{Atomics, Conflicts, Dma, Launch, Scalar, VectorFunction};
pub use error::ProductError;
pub use graded::{Fact, Grade, Graded, Unknown};
pub use instructions::{Conversions, INSTRUCTIONS, Instructions, Rounding};
pub use kinds::{Bytes, Element, Rate};
pub use memory::{Cores, Memory, Rates};
pub use parts::{Buffers, Capabilities, Clock, LibraryWorkspace, Sync, Ub, Version};
pub use reader::Entry;
pub use sources::source;
pub use vector::{InstructionCost, Vector, VectorOp};

use catalog::Resolved;
use document::Document;
use embedded::EMBEDDED;
use reader::Reader;

/// A product's SoC.
#[derive(Clone, Debug)]
pub struct Soc {
    name: Arc<str>,
    warning: Option<String>,
    /// What the vendor calls it.
    pub version: Version,
    /// How many cores there are.
    pub cores: Cores,
    /// Clocks.
    pub clock: Clock,
    /// The unified buffer of a core.
    pub ub: Ub,
    /// Buffers of the cube.
    pub buffers: Buffers,
    /// Rates of an AI core.
    pub rates: Rates,
    /// Rates of a vector core, where a source has them apart.
    pub vector_core_rates: Rates,
    /// Main memory and L2.
    pub memory: Memory,
    /// What its cores can do.
    pub capabilities: Capabilities,
    /// Queues, flags and barriers.
    pub sync: Sync,
    /// Workspace that the vendor's libraries keep for themselves.
    pub workspace: LibraryWorkspace,
    /// Copies between global memory and UB.
    pub dma: Dma,
    /// Costs of vector instructions.
    pub vector: Vector,
    /// Cost of a function on vector registers.
    pub vector_function: VectorFunction,
    /// The scalar unit.
    pub scalar: Scalar,
    /// Start of a kernel.
    pub launch: Launch,
    /// Sums in global memory.
    pub atomics: Atomics,
    /// Collisions in the UB.
    pub conflicts: Conflicts,
    /// Element types of vector instructions.
    pub instructions: Instructions,
    /// What can be converted to what.
    pub conversions: Conversions,
    facts: Vec<Entry>,
    document: Arc<Document>,
}

impl Soc {
    /// The names of the built-in SoCs, family by family.
    pub fn names() -> impl Iterator<Item = &'static str> {
        EMBEDDED.socs.iter().map(|(name, _)| *name)
    }

    /// The SoC that stands for a product line when only the line is given.
    #[must_use]
    pub const fn usual(product: Product) -> &'static str {
        match product {
            Product::AtlasInference => "Ascend310P3",
            Product::AtlasTraining => "Ascend910A",
            Product::AtlasA2 => "Ascend910B1",
            Product::Atlas800iA2 | Product::A200iA2Box => "Ascend910B4",
            Product::AtlasA3 => "Ascend910_9391",
            Product::Atlas200iA2 => "Ascend310B1",
            Product::Ascend950 => "Ascend910_95",
        }
    }

    /// A built-in SoC.
    ///
    /// # Errors
    /// The name is none of [`Soc::names`].
    pub fn builtin(name: &str) -> Result<Self, ProductError> {
        let Some((_, text)) = EMBEDDED.socs.iter().find(|(known, _)| *known == name) else {
            let known = Self::names().collect::<Vec<_>>().join(", ");
            let problem = format!("no such SoC; there are {known}, and files whose name ends in .toml");
            return Err(ProductError { file: name.into(), line: None, key: None, problem });
        };
        Self::parse(name, &format!("{name}.toml"), text)
    }

    /// A user's file, which may inherit from a built-in family or SoC. The SoC is named after the file.
    ///
    /// # Errors
    /// The file cannot be read, or says something impossible.
    pub fn load(path: &Path) -> Result<Self, ProductError> {
        let file = path.display().to_string();
        let unreadable = |error: std::io::Error| ProductError {
            file: file.as_str().into(),
            line: None,
            key: None,
            problem: error.to_string(),
        };
        let text = fs::read_to_string(path).map_err(unreadable)?;
        let name = path.file_stem().map_or_else(|| file.clone(), |stem| stem.to_string_lossy().into_owned());
        Self::parse(&name, &file, &text)
    }

    /// The SoC that a text describes; `file` stands for the text in errors and as the source of values that state none.
    ///
    /// # Errors
    /// The text says something impossible.
    pub fn parse(name: &str, file: &str, text: &str) -> Result<Self, ProductError> {
        Self::from_document(name, document::parse(file, text)?)
    }

    fn from_document(name: &str, document: Document) -> Result<Self, ProductError> {
        let kept = Arc::new(document.clone());
        let Resolved { tables, warning } = EMBEDDED.resolve(document)?;
        let mut reader = Reader::new(tables);
        let version = Version::read(&mut reader)?;
        let cores = Cores::read(&mut reader)?;
        let clock = Clock::read(&mut reader)?;
        let ub = Ub::read(&mut reader)?;
        let buffers = Buffers::read(&mut reader)?;
        let rates = Rates::read(&mut reader, "rates")?;
        let vector_core_rates = Rates::read(&mut reader, "vector_core_rates")?;
        let memory = Memory::read(&mut reader, &cores, &clock, &rates)?;
        Ok(Self {
            name: name.into(),
            warning,
            version,
            cores,
            clock,
            ub,
            buffers,
            rates,
            vector_core_rates,
            memory,
            capabilities: Capabilities::read(&mut reader)?,
            sync: Sync::read(&mut reader)?,
            workspace: LibraryWorkspace::read(&mut reader)?,
            dma: Dma::read(&mut reader)?,
            vector: Vector::read(&mut reader)?,
            vector_function: VectorFunction::read(&mut reader)?,
            scalar: Scalar::read(&mut reader)?,
            launch: Launch::read(&mut reader)?,
            atomics: Atomics::read(&mut reader)?,
            conflicts: Conflicts::read(&mut reader)?,
            instructions: Instructions::read(&mut reader)?,
            conversions: Conversions::read(&mut reader)?,
            facts: reader.finish()?,
            document: kept,
        })
    }

    /// The same SoC where some keys have other values, such as `clock.core_mhz` `1650`. They are guesses; `source` says whose.
    ///
    /// # Errors
    /// There is no such key, or it cannot have the value.
    pub fn with<'a>(
        &self,
        settings: impl IntoIterator<Item = (&'a str, &'a str)>,
        source: &str,
    ) -> Result<Self, ProductError> {
        let mut document = (*self.document).clone();
        let source = source.into();
        for (key, value) in settings {
            document.state(key, value, &source)?;
        }
        Self::from_document(&self.name, document)
    }

    /// The name, as the command line takes it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What whoever names this SoC, or inherits from it, should be told.
    #[must_use]
    pub fn warning(&self) -> Option<&str> {
        self.warning.as_deref()
    }

    /// All that product files can state, known or not, always in the same order.
    #[must_use]
    pub fn facts(&self) -> &[Entry] {
        &self.facts
    }
}
