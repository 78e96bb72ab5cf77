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
        put_line(f, line)
    }
}

/// Writes as one line what may have several, as messages of libraries do, or what terminals take for commands, as names in files may.
pub(crate) fn put_line(to: &mut impl fmt::Write, text: &str) -> fmt::Result {
    for (i, part) in text.lines().enumerate() {
        if i > 0 {
            to.write_char(' ')?;
        }
        put_plain(to, part)?;
    }
    Ok(())
}

/// Writes a line without what terminals take for commands.
pub(crate) fn put_plain(to: &mut impl fmt::Write, line: &str) -> fmt::Result {
    line.chars().try_for_each(|c| match c.is_control() {
        true => write!(to, "{}", c.escape_debug()),
        false => to.write_char(c),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_a_line_without_commands_for_terminals() {
        let error = Error::Unusable("a.npz: 'x\x1b[2J\t' is\r\nno type: é".into());
        assert_eq!(error.to_string(), r"a.npz: 'x\u{1b}[2J\t' is no type: é");
    }
}
