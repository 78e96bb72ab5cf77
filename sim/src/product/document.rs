//! One product file as it is written: keys with their evidence and lines, nothing inherited yet.

use std::collections::BTreeMap;
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeInteger, DeTable, DeValue};

use super::error::ProductError;
use super::graded::Grade;

/// A parsed file.
#[derive(Clone, Debug)]
pub(super) struct Document {
    pub(super) inherits: Option<Name>,
    pub(super) warning: Option<String>,
    pub(super) tables: BTreeMap<String, Table>,
}

/// The name of another family or SoC.
#[derive(Clone, Debug)]
pub(super) struct Name {
    pub(super) name: String,
    pub(super) place: Place,
}

/// Where something is written.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) file: Arc<str>,
    /// In a file, from 1.
    pub(super) line: Option<usize>,
    /// The key, as `ub.bytes`.
    pub(super) key: String,
}

impl Place {
    pub(super) fn error(&self, problem: impl Into<String>) -> ProductError {
        let Self { file, line, key } = self.clone();
        ProductError { file, line, key: Some(key), problem: problem.into() }
    }
}

/// The keys of a table, and whose keys it takes where it has none.
#[derive(Clone, Debug)]
pub(super) struct Table {
    pub(super) evidence: Evidence,
    pub(super) like: Option<Name>,
    pub(super) nodes: BTreeMap<String, Node>,
}

/// Grade and source.
#[derive(Clone, Debug)]
pub(super) struct Evidence {
    pub(super) grade: Grade,
    pub(super) source: Arc<str>,
}

/// A key's value with all that is known of it.
#[derive(Clone, Debug)]
pub(super) struct Node {
    /// `None` where the file says that it is unknown.
    pub(super) value: Option<toml::Value>,
    pub(super) evidence: Evidence,
    pub(super) place: Place,
}

impl Document {
    /// States a key anew, as `ub.bytes` and a TOML value; what is none is a text, and `unknown` makes it unknown.
    pub(super) fn state(&mut self, key: &str, value: &str, source: &Arc<str>) -> Result<(), ProductError> {
        let place = Place { file: source.clone(), line: None, key: key.into() };
        let Some((table, name)) = key.split_once('.') else {
            return Err(place.error("expected a table and a key, such as clock.core_mhz"));
        };
        let read = |text: &str| format!("v = {text}").parse::<toml::Table>().ok()?.remove("v");
        let value = if value == "unknown" {
            None
        } else {
            Some(read(value).unwrap_or_else(|| toml::Value::String(value.into())))
        };
        let evidence = Evidence { grade: Grade::Guess, source: source.clone() };
        let empty = || Table { evidence: evidence.clone(), like: None, nodes: BTreeMap::new() };
        let nodes = &mut self.tables.entry(table.into()).or_insert_with(empty).nodes;
        nodes.insert(name.into(), Node { value, evidence: evidence.clone(), place });
        Ok(())
    }
}

/// Reads a file's text; `file` names it in errors, and is the source of values that have none.
pub(super) fn parse(file: &str, text: &str) -> Result<Document, ProductError> {
    let ends = text.match_indices('\n').map(|(end, _)| end).collect();
    let parser = Parser { file: file.into(), ends };
    let root = DeTable::parse(text).map_err(|error| ProductError {
        file: parser.file.clone(),
        line: error.span().map(|span| parser.line(span.start)),
        key: None,
        problem: error.message().into(),
    })?;
    let unfounded = Evidence { grade: Grade::Guess, source: parser.file.clone() };
    let evidence = parser.evidence("", root.get_ref(), &unfounded)?;
    let mut document = Document { inherits: None, warning: None, tables: BTreeMap::new() };
    for (key, value) in root.get_ref() {
        let place = parser.place("", key);
        match (key.get_ref().as_ref(), value.get_ref()) {
            ("grade" | "source", _) => {}
            ("inherits", value) => document.inherits = Some(Name { name: text_of(&place, value)?, place }),
            ("warning", value) => document.warning = Some(text_of(&place, value)?),
            (name, DeValue::Table(table)) => {
                document.tables.insert(name.into(), parser.table(name, table, &evidence)?);
            }
            (_, other) => {
                let problem = "expected a table; outside of tables stand inherits, grade, source and warning";
                return Err(place.error(format!("{problem}, found {}", found(other))));
            }
        }
    }
    Ok(document)
}

struct Parser {
    file: Arc<str>,
    /// Where the lines end.
    ends: Vec<usize>,
}

type Key<'a> = Spanned<std::borrow::Cow<'a, str>>;

impl Parser {
    fn line(&self, offset: usize) -> usize {
        1 + self.ends.partition_point(|&end| end < offset)
    }

    fn place(&self, table: &str, key: &Key<'_>) -> Place {
        let name = key.get_ref();
        let key_name = if table.is_empty() { name.to_string() } else { format!("{table}.{name}") };
        Place { file: self.file.clone(), line: Some(self.line(key.span().start)), key: key_name }
    }

    /// The grade and source that a table states, otherwise those around it.
    fn evidence(&self, path: &str, table: &DeTable<'_>, around: &Evidence) -> Result<Evidence, ProductError> {
        let mut evidence = around.clone();
        for (key, value) in table {
            let place = self.place(path, key);
            match key.get_ref().as_ref() {
                "grade" => {
                    let known = Grade::from_name(&text_of(&place, value.get_ref())?);
                    evidence.grade = known.ok_or_else(|| place.error("expected cited, derived or guess"))?;
                }
                "source" => evidence.source = text_of(&place, value.get_ref())?.into(),
                _ => {}
            }
        }
        Ok(evidence)
    }

    fn table(&self, name: &str, table: &DeTable<'_>, around: &Evidence) -> Result<Table, ProductError> {
        let evidence = self.evidence(name, table, around)?;
        let (mut like, mut nodes) = (None, BTreeMap::new());
        for (key, value) in table {
            let place = self.place(name, key);
            match key.get_ref().as_ref() {
                "grade" | "source" => {}
                "like" => like = Some(Name { name: text_of(&place, value.get_ref())?, place }),
                key => {
                    nodes.insert(key.into(), self.node(place, value.get_ref(), &evidence)?);
                }
            }
        }
        Ok(Table { evidence, like, nodes })
    }

    /// A value, or a record that holds it beside its own grade and source; a record without `value` is the value itself.
    fn node(&self, place: Place, value: &DeValue<'_>, around: &Evidence) -> Result<Node, ProductError> {
        let mut evidence = around.clone();
        let mut plain = plain(&place, value)?;
        if let (toml::Value::Table(record), DeValue::Table(table)) = (&mut plain, value) {
            evidence = self.evidence(&place.key, table, around)?;
            record.remove("grade");
            record.remove("source");
            if let Some(inner) = record.remove("value") {
                if let Some(other) = record.keys().next() {
                    return Err(place.error(format!("expected value, grade and source, found {other}")));
                }
                plain = inner;
            }
        }
        let unknown = plain.as_str() == Some("unknown");
        Ok(Node { value: (!unknown).then_some(plain), evidence, place })
    }
}

/// The same value without the places in the text.
fn plain(place: &Place, value: &DeValue<'_>) -> Result<toml::Value, ProductError> {
    Ok(match value {
        DeValue::String(text) => toml::Value::String(text.to_string()),
        DeValue::Integer(number) => toml::Value::Integer(integer(number).ok_or_else(|| place.error("too large"))?),
        DeValue::Float(number) => {
            toml::Value::Float(number.as_str().parse().map_err(|_| place.error("expected a number"))?)
        }
        DeValue::Boolean(flag) => toml::Value::Boolean(*flag),
        DeValue::Datetime(datetime) => toml::Value::Datetime(*datetime),
        DeValue::Array(items) => {
            toml::Value::Array(items.iter().map(|item| plain(place, item.get_ref())).collect::<Result<_, _>>()?)
        }
        DeValue::Table(table) => {
            let pairs =
                table.iter().map(|(key, value)| Ok((key.get_ref().to_string(), plain(place, value.get_ref())?)));
            toml::Value::Table(pairs.collect::<Result<_, ProductError>>()?)
        }
    })
}

fn integer(number: &DeInteger<'_>) -> Option<i64> {
    i64::from_str_radix(number.as_str(), number.radix()).ok()
}

fn text_of(place: &Place, value: &DeValue<'_>) -> Result<String, ProductError> {
    match value {
        DeValue::String(text) => Ok(text.to_string()),
        other => Err(place.error(format!("expected a text, found {}", found(other)))),
    }
}

fn found(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
