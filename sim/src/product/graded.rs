//! Values that say where they come from.

use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;

/// How well a value is founded, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Grade {
    /// A source states it.
    Cited,
    /// Arithmetic on what sources state.
    Derived,
    /// No source was found.
    Guess,
}

impl Grade {
    /// Every grade.
    pub const ALL: [Self; 3] = [Self::Cited, Self::Derived, Self::Guess];

    /// The name in product files and reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cited => "cited",
            Self::Derived => "derived",
            Self::Guess => "guess",
        }
    }

    /// The grade of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|grade| grade.name() == name)
    }
}

impl fmt::Display for Grade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A value with its evidence.
#[derive(Clone, Debug, PartialEq)]
pub struct Graded<T> {
    /// The value.
    pub value: T,
    /// How well it is founded.
    pub grade: Grade,
    /// Where it comes from.
    pub source: Arc<str>,
}

/// A property of a product, known or not.
#[derive(Clone, Debug, PartialEq)]
pub struct Fact<T> {
    key: Arc<str>,
    known: Option<Graded<T>>,
}

impl<T> Fact<T> {
    pub(crate) const fn new(key: Arc<str>, known: Option<Graded<T>>) -> Self {
        Self { key, known }
    }

    /// Its name in product files, as `ub.bytes`.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The value with its evidence, if it is known.
    #[must_use]
    pub const fn graded(&self) -> Option<&Graded<T>> {
        self.known.as_ref()
    }

    /// The value.
    ///
    /// # Errors
    /// [`Unknown`] when no source says it.
    pub fn get(&self) -> Result<&T, Unknown> {
        match &self.known {
            Some(graded) => Ok(&graded.value),
            None => Err(Unknown { key: self.key.clone() }),
        }
    }
}

/// A property that a computation needs and nobody knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown {
    /// Its name in product files, as `ub.bytes`.
    pub key: Arc<str>,
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is unknown; a product file can state it", self.key)
    }
}

impl std::error::Error for Unknown {}
