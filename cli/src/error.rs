//! Why the command stops, and with which exit code.

use std::fmt;
use std::path::Path;

use ubtile_sim::report::NotWritten;

/// A failure, as one line for the person at the terminal.
#[derive(Debug)]
pub(crate) enum Error {
    /// The command line asks for something impossible.
    Usage(String),
    /// An input, a tiling or a file is not usable.
    Unusable(String),
    /// A result disagrees with the reference.
    Check(String),
    /// A result is worse than the one before.
    Regression(String),
}

impl Error {
    /// The exit code that documents promise.
    pub(crate) const fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::Unusable(_) => 3,
            Self::Check(_) => 4,
            Self::Regression(_) => 5,
        }
    }

    /// A file that is not usable.
    pub(crate) fn file(path: &Path, problem: impl fmt::Display) -> Self {
        Self::Unusable(format!("{}: {problem}", path.display()))
    }

    /// A tensor of a file that is not usable.
    pub(crate) fn tensor(path: &Path, tensor: &str, problem: impl fmt::Display) -> Self {
        Self::Unusable(format!("{}: {tensor} {problem}", path.display()))
    }
}

impl From<NotWritten> for Error {
    fn from(error: NotWritten) -> Self {
        Self::Unusable(error.to_string())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Usage(line) | Self::Unusable(line) | Self::Check(line) | Self::Regression(line)) = self;
        // Messages of libraries may have several lines.
        for (i, part) in line.lines().enumerate() {
            write!(f, "{}{part}", if i == 0 { "" } else { " " })?;
        }
        Ok(())
    }
}
