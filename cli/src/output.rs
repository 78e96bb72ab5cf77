//! What the command prints on stdout: tables for people, or one JSON object alone.

use std::io::{self, ErrorKind, Write};

use clap::ValueEnum;
use comfy_table::{Row, Table, presets};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use ubtile_sim::report::Envelope;
use ubtile_tiling::{TensorDesc, TensorSlot};

use crate::error::{Error, put_plain};

/// How results are printed.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum Format {
    /// Tables that are also Markdown
    #[default]
    Table,
    /// One JSON object, or an array of several runs
    Json,
}

/// A result of a command.
pub(crate) trait Report: Serialize + JsonSchema {
    /// Names the JSON object's keys and their meaning, with a version.
    const SCHEMA: &'static str;

    /// The same for people.
    fn text(&self) -> String;
}

/// So many of something, in words.
pub(crate) fn count(number: impl Into<u64>, what: &str) -> String {
    let number = number.into();
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// A result as one JSON object.
pub(crate) fn json<R: Report>(report: &R) -> Result<String, Error> {
    pretty(&envelope(report))
}

/// Several results as one JSON array.
pub(crate) fn json_all<R: Report>(reports: &[R]) -> Result<String, Error> {
    pretty(&reports.iter().map(envelope).collect::<Vec<_>>())
}

/// A result as the value of its JSON.
pub(crate) fn value<R: Report>(report: &R) -> Result<Value, Error> {
    serde_json::to_value(envelope(report)).map_err(|e| Error::Unusable(e.to_string()))
}

/// A result as its JSON has it.
pub(crate) const fn envelope<R: Report>(report: &R) -> Envelope<'_, R> {
    Envelope::new(R::SCHEMA, report)
}

fn pretty(value: &impl Serialize) -> Result<String, Error> {
    Ok(serde_json::to_string_pretty(value).map_err(|e| Error::Unusable(e.to_string()))? + "\n")
}

/// Prints a result.
pub(crate) fn print<R: Report>(format: Format, report: &R) -> Result<(), Error> {
    show(&match format {
        Format::Table => shown(&report.text()),
        Format::Json => json(report)?,
    })
}

/// A text for a terminal: names in files may have what it takes for commands.
fn shown(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for line in text.lines() {
        // A string takes everything.
        let _ = put_plain(&mut shown, line);
        shown.push('\n');
    }
    shown
}

/// Prints a JSON document, whatever the format.
pub(crate) fn document(value: &Value) -> Result<(), Error> {
    show(&pretty(value)?)
}

/// Prints a text as it is, whatever the format.
pub(crate) fn raw(text: &str) -> Result<(), Error> {
    show(text)
}

/// Prints several results: as an array, or as the text that compares them.
pub(crate) fn print_all<R: Report>(format: Format, reports: &[R], comparison: &str) -> Result<(), Error> {
    match format {
        Format::Table => show(comparison),
        Format::Json => show(&json_all(reports)?),
    }
}

/// Writes to stdout.
fn show(text: &str) -> Result<(), Error> {
    written(io::stdout().lock().write_all(text.as_bytes()))
}

/// What came of writing to stdout, once nothing is left to be written. A reader that has seen enough is no failure.
pub(crate) fn written(result: io::Result<()>) -> Result<(), Error> {
    match result.and_then(|()| io::stdout().flush()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => Err(Error::Unusable(format!("stdout cannot be written: {e}"))),
        _ => Ok(()),
    }
}

/// A Markdown table, with an end of line.
pub(crate) fn table(header: impl Into<Row>, rows: impl IntoIterator<Item = impl Into<Row>>) -> String {
    let mut table = Table::new();
    table
        .load_style(presets::ASCII_MARKDOWN)
        .set_header(escaped(&header.into()))
        .add_rows(rows.into_iter().map(|row| escaped(&row.into())));
    format!("{table}\n")
}

/// A row in which no cell ends before its text does, nor the row itself.
fn escaped(row: &Row) -> Row {
    let in_cell = |text: String| text.replace('|', r"\|").replace(['\r', '\n'], " ");
    row.cell_iter().map(|cell| in_cell(cell.content())).collect::<Vec<_>>().into()
}

/// A tensor in a report.
#[derive(Serialize, JsonSchema)]
pub(crate) struct TensorReport {
    name: String,
    dtype: &'static str,
    shape: Vec<usize>,
}

impl TensorReport {
    pub(crate) fn new(name: &str, desc: &TensorDesc) -> Self {
        Self { name: name.into(), dtype: desc.dtype.name(), shape: desc.shape.as_slice().to_vec() }
    }

    pub(crate) fn of_slot(slot: &TensorSlot) -> Self {
        Self { name: slot.tensor.name().into(), dtype: slot.dtype.name(), shape: slot.shape.as_slice().to_vec() }
    }

    pub(crate) const fn dtype(&self) -> &'static str {
        self.dtype
    }

    pub(crate) fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// A table of them.
    pub(crate) fn table(tensors: &[Self]) -> String {
        let rows =
            tensors.iter().map(|Self { name, dtype, shape }| vec![name.clone(), (*dtype).to_owned(), sizes(shape)]);
        table(["tensor", "dtype", "shape"], rows)
    }
}

/// Sizes, as `1x16x32x32`.
pub(crate) fn sizes(shape: &[usize]) -> String {
    shape.iter().map(usize::to_string).collect::<Vec<_>>().join("x")
}
