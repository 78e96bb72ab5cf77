//! What every JSON document says of itself.

use serde::Serialize;

/// A result with the name of its schema and the version of the tool that made it.
#[derive(Debug, Serialize)]
pub struct Envelope<'a, R> {
    schema: &'static str,
    tool_version: &'static str,
    #[serde(flatten)]
    report: &'a R,
}

impl<'a, R> Envelope<'a, R> {
    /// A result of some schema.
    #[must_use]
    pub const fn new(schema: &'static str, report: &'a R) -> Self {
        Self { schema, tool_version: env!("CARGO_PKG_VERSION"), report }
    }
}
