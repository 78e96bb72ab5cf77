//! How the command was called, and how one is.

use std::env;

/// The command line, as a shell takes it again.
pub(crate) fn command() -> String {
    let words: Vec<String> = env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let words = std::iter::once("ubtile").chain(words.iter().map(String::as_str));
    // It fails at a NUL, which no argument has.
    shlex::try_join(words).unwrap_or_default()
}

/// A command as a shell takes it.
pub(crate) fn line(words: &[String]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=,./".contains(c);
    let quoted = |word: &String| match word.chars().all(plain) {
        true => word.clone(),
        // It fails at a NUL, which no argument has.
        false => shlex::try_quote(word).map(Into::into).unwrap_or_default(),
    };
    words.iter().map(quoted).collect::<Vec<_>>().join(" ")
}
