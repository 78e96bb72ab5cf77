//! What a result rests on: numbers of the product with their grades, and what was assumed.

use schemars::JsonSchema;
use serde::Serialize;

use crate::product::{Fact, Grade, Unknown};

/// A number that a result rests on.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Evidence {
    /// Its name in product files.
    pub key: String,
    /// How well it is founded.
    pub grade: Grade,
    /// Where it comes from.
    pub source: String,
}

/// Remembers the evidence of all that was asked for.
#[derive(Default)]
pub(super) struct Asker {
    pub(super) evidence: Vec<Evidence>,
    pub(super) assumptions: Vec<String>,
}

impl Asker {
    pub(super) fn ask<T: Clone>(&mut self, fact: &Fact<T>) -> Result<T, Unknown> {
        let value = fact.get()?.clone();
        if let Some(graded) = fact.graded() {
            let (key, source) = (fact.key().to_owned(), graded.source.to_string());
            self.evidence.push(Evidence { key, grade: graded.grade, source });
        }
        Ok(value)
    }

    /// What may be unknown: then this is assumed, and said.
    pub(super) fn or<T: Clone + std::fmt::Display>(&mut self, fact: &Fact<T>, assumed: T) -> T {
        self.ask(fact).unwrap_or_else(|_| {
            self.assume(format!("{} is unknown: taken as {assumed}", fact.key()));
            let (key, source) = (fact.key().to_owned(), "assumed: unknown".into());
            self.evidence.push(Evidence { key, grade: Grade::Guess, source });
            assumed
        })
    }

    /// Something that is not said of the product.
    pub(super) fn assume(&mut self, what: String) {
        self.assumptions.push(what);
    }
}
