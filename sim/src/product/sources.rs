//! What the short names of sources stand for.

use toml::de::{DeTable, DeValue};

/// The document that a value's source starts with, such as `asc` of `asc: NpuArch table`, in full.
#[must_use]
pub fn source(text: &str) -> Option<(String, String)> {
    let sources = DeTable::parse(include_str!("../../products/sources.toml")).ok()?;
    let short = text.split_once(':').map_or(text, |(short, _)| short);
    match sources.get_ref().get(short)?.get_ref() {
        DeValue::String(full) => Some((short.into(), full.to_string())),
        _ => None,
    }
}
