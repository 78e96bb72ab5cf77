//! How the command was called.

use std::env;

/// The command line, as a shell takes it again.
pub(crate) fn command() -> String {
    let words: Vec<String> = env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let words = std::iter::once("ubtile").chain(words.iter().map(String::as_str));
    // It fails at a NUL, which no argument has.
    shlex::try_join(words).unwrap_or_default()
}
