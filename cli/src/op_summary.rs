//! A profiler's list of calls (`op_summary_*.csv`): which rows call one of the four operators, and the command line that says
//! the same.
//!
//! Rows name kernels, so their shapes may be those inside of a call: channels last for the grid sampler, flattened planes for max
//! unpooling. Attributes are not in the list; those of a column `Attributes`, written as on the command line, are taken.

mod grid_sampler;
mod row;

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use csv::StringRecord;
use ubtile_tiling::Operator;

use self::row::Row;
use crate::error::Error;

/// A list.
#[derive(Debug)]
pub(crate) struct Summary {
    /// Distinct calls in the order of their first rows.
    pub(crate) calls: Vec<Call>,
    /// Rows that call something else.
    pub(crate) skipped_rows: usize,
}

/// A distinct call.
#[derive(Debug)]
pub(crate) struct Call {
    /// The line of its first row.
    pub(crate) line: u64,
    pub(crate) name: String,
    /// How many rows it has.
    pub(crate) count: usize,
    /// What they took together.
    pub(crate) device_us: Option<f64>,
    /// The command line, or why there is none.
    pub(crate) words: Result<Vec<String>, String>,
    /// What the row does not say.
    pub(crate) assumed: Vec<String>,
}

/// The lines of a file. The CSV reader counts one too few where they end with `\r\n`: for it a record begins in front of the `\n`.
struct Lines<'a> {
    text: &'a [u8],
    /// So many bytes have been counted, and this is the line of the next one.
    at: usize,
    line: u64,
}

impl Lines<'_> {
    /// The line on which a record begins; later records only.
    fn of(&mut self, position: Option<&csv::Position>) -> u64 {
        let from = position.map_or(self.at, |position| position.byte() as usize);
        let ends = |byte: &&u8| matches!(byte, b'\r' | b'\n');
        let begin = from + self.text.iter().skip(from).take_while(ends).count();
        let counted = self.text.get(self.at..begin).unwrap_or_default();
        self.line += counted.iter().filter(|byte| **byte == b'\n').count() as u64;
        self.at = begin;
        self.line
    }
}

impl Summary {
    /// Reads a list.
    pub(crate) fn read(path: &Path) -> Result<Self, Error> {
        let unreadable = |e: csv::Error| Error::file(path, e);
        let text = fs::read(path).map_err(|e| Error::file(path, e))?;
        let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text.as_slice());
        let columns = Columns::find(reader.headers().map_err(unreadable)?).map_err(|e| Error::file(path, e))?;
        let mut summary = Self { calls: Vec::new(), skipped_rows: 0 };
        let mut known: HashMap<String, usize> = HashMap::new();
        let mut lines = Lines { text: &text, at: 0, line: 1 };
        for record in reader.records() {
            let record = record.map_err(unreadable)?;
            let line = lines.of(record.position());
            let (name, kind) = columns.called(&record);
            let Some(operator) = operator(name, kind) else {
                summary.skipped_rows += 1;
                continue;
            };
            let device_us = columns.get(&record, columns.duration).and_then(|text| text.parse().ok());
            let words = columns.fit(&record).and_then(|()| columns.row(&record)?.words(operator));
            // A cell that it quotes may have several lines.
            let wrong = |e: String| (Err(e.split_whitespace().collect::<Vec<_>>().join(" ")), Vec::new());
            let (words, assumed) = words.map_or_else(wrong, |(words, assumed)| (Ok(words), assumed));
            // Rows that fail alike need not be the same call.
            let key = match &words {
                Ok(words) => words.join("\n"),
                Err(why) => format!("{operator}\n{why}\n{:?}", columns.call(&record)),
            };
            if let Some(call) = known.get(&key).and_then(|&i| summary.calls.get_mut(i)) {
                call.count += 1;
                call.device_us = call.device_us.zip(device_us).map(|(sum, more)| sum + more);
            } else {
                known.insert(key, summary.calls.len());
                summary.calls.push(Call { line, name: name.into(), count: 1, device_us, words, assumed });
            }
        }
        Ok(summary)
    }
}

/// Where the columns are that matter.
struct Columns {
    name: Option<usize>,
    kind: usize,
    inputs: usize,
    dtypes: usize,
    outputs: Option<usize>,
    output_dtypes: Option<usize>,
    attributes: Option<usize>,
    duration: Option<usize>,
    /// All of them.
    count: usize,
}

impl Columns {
    fn find(header: &StringRecord) -> Result<Self, String> {
        let find = |name: &str| header.iter().position(|column| column.trim().eq_ignore_ascii_case(name));
        let needed = |name: &str| find(name).ok_or_else(|| format!("has no column '{name}'"));
        Ok(Self {
            name: find("Op Name"),
            kind: needed("OP Type")?,
            inputs: needed("Input Shapes")?,
            dtypes: needed("Input Data Types")?,
            outputs: find("Output Shapes"),
            output_dtypes: find("Output Data Types"),
            attributes: find("Attributes"),
            duration: find("Task Duration(us)"),
            count: header.len(),
        })
    }

    /// A row of no more cells than the header has: where a comma is not quoted, the cells behind it are not where they should be.
    fn fit(&self, record: &StringRecord) -> Result<(), String> {
        if record.iter().skip(self.count).all(|cell| cell.trim().is_empty()) {
            return Ok(());
        }
        let (found, most) = (record.len(), self.count);
        Err(format!("the row has {found} fields, the header {most}: cells with commas need quotation marks"))
    }

    /// A cell; lists come with a second pair of quotation marks.
    fn get<'a>(&self, record: &'a StringRecord, column: Option<usize>) -> Option<&'a str> {
        let text = record.get(column?)?.trim().trim_matches('"').trim();
        (!text.is_empty() && text != "N/A").then_some(text)
    }

    /// The name of a row and the type of its operator.
    fn called<'a>(&self, record: &'a StringRecord) -> (&'a str, &'a str) {
        let kind = self.get(record, Some(self.kind)).unwrap_or_default();
        (self.get(record, self.name).unwrap_or(kind), kind)
    }

    /// The cells that say what is called, and how.
    fn call<'a>(&self, record: &'a StringRecord) -> [Option<&'a str>; 6] {
        let Self { kind, inputs, dtypes, outputs, output_dtypes, attributes, .. } = *self;
        [Some(kind), Some(inputs), Some(dtypes), outputs, output_dtypes, attributes]
            .map(|column| self.get(record, column))
    }

    fn row(&self, record: &StringRecord) -> Result<Row, String> {
        let text = |column| self.get(record, column).unwrap_or_default();
        let names = |column| text(column).split(';').map(|name| name.trim().to_owned());
        Ok(Row {
            kind: text(Some(self.kind)).to_owned(),
            inputs: shapes(text(Some(self.inputs)))?,
            dtypes: names(Some(self.dtypes)).collect(),
            outputs: shapes(text(self.outputs))?,
            output_dtype: names(self.output_dtypes).next().filter(|name| !name.is_empty()),
            attributes: text(self.attributes).split_whitespace().map(str::to_owned).collect(),
        })
    }
}

/// Shapes with `;` between them and `,` between sizes.
fn shapes(text: &str) -> Result<Vec<Vec<usize>>, String> {
    let size = |size: &str| size.trim().parse().map_err(|_| format!("'{text}' is no list of shapes as 2,3;4"));
    let shape = |shape: &str| {
        if shape.trim().is_empty() { Ok(Vec::new()) } else { shape.split(',').map(size).collect() }
    };
    if text.is_empty() { Ok(Vec::new()) } else { text.split(';').map(shape).collect() }
}

/// The operator that a row calls; kernels that others call too count only when the name says so.
fn operator(name: &str, kind: &str) -> Option<Operator> {
    let by_kind = |operator: &Operator| [operator.name(), operator.vendor_name()].contains(&kind);
    if let Some(operator) = Operator::ALL.iter().copied().find(by_kind) {
        return Some(operator);
    }
    match kind {
        "GridSampler2DGrad" => Some(Operator::GridSampler2dBackward),
        "PadV3GradReplicate" => Some(Operator::ReplicationPad2dBackward),
        "Col2im" => Some(Operator::Im2colBackward),
        "PadV3Grad" | "GatherElements" | "GatherElementsV2" => {
            Operator::ALL.into_iter().find(|operator| name.contains(operator.vendor_name()))
        }
        _ => None,
    }
}
