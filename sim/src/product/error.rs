//! Why a product file is not usable.

use std::fmt;
use std::sync::Arc;

/// Names the file, the line, the key, and what was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProductError {
    /// The file, or the name of a built-in product.
    pub file: Arc<str>,
    /// Line in the file, from 1.
    pub line: Option<usize>,
    /// The key, as `ub.bytes`.
    pub key: Option<String>,
    /// What is wrong.
    pub problem: String,
}

impl fmt::Display for ProductError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if let Some(key) = &self.key {
            write!(f, ": {key}")?;
        }
        write!(f, ": {}", self.problem)
    }
}

impl std::error::Error for ProductError {}
