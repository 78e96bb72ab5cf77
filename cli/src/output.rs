//! What the command prints on stdout: tables for people, or one JSON object alone.

use std::io::{self, ErrorKind, Write};

use clap::ValueEnum;
use comfy_table::{Row, Table, presets};
use serde::Serialize;
use ubtile_tiling::{Tensor, TensorDesc, TensorSlot};

use crate::error::Error;

/// How results are printed.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum Format {
    /// Tables that are also Markdown
    #[default]
    Table,
    /// One JSON object
    Json,
}

/// A result of a command.
pub(crate) trait Report: Serialize {
    /// Names the JSON object's keys and their meaning, with a version.
    const SCHEMA: &'static str;

    /// The same for people.
    fn text(&self) -> String;
}

#[derive(Serialize)]
struct Envelope<'a, R> {
    schema: &'static str,
    tool_version: &'static str,
    #[serde(flatten)]
    report: &'a R,
}

/// Prints a result. A reader that has seen enough is no failure.
pub(crate) fn print<R: Report>(format: Format, report: &R) -> Result<(), Error> {
    let text = match format {
        Format::Table => report.text(),
        Format::Json => {
            let envelope = Envelope { schema: R::SCHEMA, tool_version: env!("CARGO_PKG_VERSION"), report };
            let json = serde_json::to_string_pretty(&envelope).map_err(|e| Error::Unusable(e.to_string()))?;
            json + "\n"
        }
    };
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => Err(Error::Unusable(format!("stdout cannot be written: {e}"))),
        _ => Ok(()),
    }
}

/// A Markdown table, with an end of line.
pub(crate) fn table(header: impl Into<Row>, rows: impl IntoIterator<Item = impl Into<Row>>) -> String {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN).set_header(header).add_rows(rows);
    format!("{table}\n")
}

/// A tensor in a report.
#[derive(Serialize)]
pub(crate) struct TensorReport {
    name: &'static str,
    dtype: &'static str,
    shape: Vec<usize>,
}

impl TensorReport {
    pub(crate) fn new(tensor: Tensor, desc: &TensorDesc) -> Self {
        Self { name: tensor.name(), dtype: desc.dtype.name(), shape: desc.shape.as_slice().to_vec() }
    }

    pub(crate) fn of_slot(slot: &TensorSlot) -> Self {
        Self { name: slot.tensor.name(), dtype: slot.dtype.name(), shape: slot.shape.as_slice().to_vec() }
    }

    /// A table of them.
    pub(crate) fn table(tensors: &[Self]) -> String {
        let rows = tensors
            .iter()
            .map(|Self { name, dtype, shape }| vec![(*name).to_owned(), (*dtype).to_owned(), sizes(shape)]);
        table(["tensor", "dtype", "shape"], rows)
    }
}

/// Sizes, as `1x16x32x32`.
pub(crate) fn sizes(shape: &[usize]) -> String {
    shape.iter().map(usize::to_string).collect::<Vec<_>>().join("x")
}
