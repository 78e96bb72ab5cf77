//! From the keys of a product to typed values: what is not asked for is a mistake in a file.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;

use super::catalog::Tables;
use super::document::Node;
use super::error::ProductError;
use super::graded::{Fact, Grade, Graded};
use super::kinds::Bytes;

/// A property as reports show it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Entry {
    /// Its name in product files, as `ub.bytes`; the name has the unit.
    pub key: Arc<str>,
    /// The value; `None` where it is unknown.
    #[schemars(with = "Option<serde_json::Value>")]
    pub value: Option<toml::Value>,
    /// The value for people, "unknown" without one.
    #[serde(skip)]
    pub text: String,
    /// How well it is founded.
    pub grade: Option<Grade>,
    /// Where it comes from.
    pub source: Option<Arc<str>>,
}

/// A type that a value of a product file can have.
pub(super) trait Kind: Sized {
    /// What an error says that it expected.
    const EXPECTED: &'static str;

    fn read(value: &toml::Value) -> Option<Self>;

    /// The value as a file could state it, units applied.
    fn value(&self) -> toml::Value;

    fn text(&self) -> String {
        shown(&self.value())
    }
}

/// Hands out the tables of a product and remembers all that was asked for.
#[derive(Debug)]
pub(super) struct Reader {
    tables: Tables,
    known: Vec<&'static str>,
    entries: Vec<Entry>,
}

impl Reader {
    pub(super) const fn new(tables: Tables) -> Self {
        Self { tables, known: Vec::new(), entries: Vec::new() }
    }

    /// A table, empty when no file has it.
    pub(super) fn table(&mut self, name: &'static str) -> TableReader<'_> {
        self.known.push(name);
        let nodes = self.tables.remove(name).unwrap_or_default();
        TableReader { name, nodes, known: Vec::new(), entries: &mut self.entries }
    }

    /// All properties in the order in which they were asked for.
    ///
    /// # Errors
    /// A table that nobody asked for.
    pub(super) fn finish(self) -> Result<Vec<Entry>, ProductError> {
        match self.tables.values().flat_map(BTreeMap::values).min_by_key(|node| node.place.line) {
            Some(node) => Err(node.place.error(format!("no such table; there are {}", self.known.join(", ")))),
            None => Ok(self.entries),
        }
    }
}

/// Hands out the keys of one table.
#[derive(Debug)]
pub(super) struct TableReader<'a> {
    name: &'static str,
    nodes: BTreeMap<String, Node>,
    known: Vec<&'static str>,
    entries: &'a mut Vec<Entry>,
}

impl TableReader<'_> {
    /// A property.
    pub(super) fn fact<T: Kind>(&mut self, key: &'static str) -> Result<Fact<T>, ProductError> {
        self.fact_or(key, None)
    }

    /// A property of which the model cannot do with every value: `expected` says in words what holds.
    pub(super) fn fact_where<T: Kind>(
        &mut self,
        key: &'static str,
        expected: &str,
        holds: impl Fn(&T) -> bool,
    ) -> Result<Fact<T>, ProductError> {
        let place = self.nodes.get(key).map(|node| node.place.clone());
        let fact = self.fact(key)?;
        match (place, fact.graded()) {
            (Some(place), Some(Graded { value, .. })) if !holds(value) => {
                Err(place.error(format!("expected {expected}, found {}", value.text())))
            }
            _ => Ok(fact),
        }
    }

    /// The size of pieces of memory: less than a block of the UB is none, and as much as a UB is no piece.
    pub(super) fn piece(&mut self, key: &'static str) -> Result<Fact<Bytes>, ProductError> {
        self.fact_where(key, "32 bytes to 64 KiB", |bytes| (Bytes(32)..=Bytes(64 << 10)).contains(bytes))
    }

    /// A clock in MHz: times of a faster one would not fit.
    pub(super) fn clock(&mut self, key: &'static str) -> Result<Fact<NonZeroU32>, ProductError> {
        self.fact_where(key, "at most 100000 MHz", |mhz: &NonZeroU32| mhz.get() <= 100_000)
    }

    /// A property that follows from others unless a file states it.
    pub(super) fn fact_or<T: Kind>(
        &mut self,
        key: &'static str,
        otherwise: Option<Graded<T>>,
    ) -> Result<Fact<T>, ProductError> {
        self.known.push(key);
        let stated = match self.nodes.remove(key) {
            Some(Node { value: Some(value), evidence, place }) => match T::read(&value) {
                Some(value) => Some(Graded { value, grade: evidence.grade, source: evidence.source }),
                None => return Err(place.error(format!("expected {}, found {value}", T::EXPECTED))),
            },
            Some(Node { value: None, .. }) => None,
            None => otherwise,
        };
        let fact = Fact::new(format!("{}.{key}", self.name).into(), stated);
        self.entries.push(entry(&fact));
        Ok(fact)
    }

    /// All that was asked for is there.
    ///
    /// # Errors
    /// A key that nobody asked for.
    pub(super) fn finish<T>(self, table: T) -> Result<T, ProductError> {
        match self.nodes.values().min_by_key(|node| node.place.line) {
            Some(node) => Err(node.place.error(format!("no such key; [{}] has {}", self.name, self.known.join(", ")))),
            None => Ok(table),
        }
    }
}

fn entry<T: Kind>(fact: &Fact<T>) -> Entry {
    let known = fact.graded();
    Entry {
        key: fact.key().into(),
        value: known.map(|graded| graded.value.value()),
        text: known.map_or_else(|| "unknown".into(), |graded| graded.value.text()),
        grade: known.map(|graded| graded.grade),
        source: known.map(|graded| graded.source.clone()),
    }
}

/// A value for people.
fn shown(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => text.clone(),
        toml::Value::Float(number) => number.to_string(),
        toml::Value::Boolean(flag) => if *flag { "yes" } else { "no" }.into(),
        toml::Value::Array(items) if items.is_empty() => "none".into(),
        toml::Value::Array(items) => items.iter().map(shown).collect::<Vec<_>>().join(" "),
        toml::Value::Table(record) if record.is_empty() => "none".into(),
        toml::Value::Table(record) => {
            record.iter().map(|(key, value)| format!("{key} {}", shown(value))).collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}
