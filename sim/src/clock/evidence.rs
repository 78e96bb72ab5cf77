//! What a result rests on: numbers of the product with their grades, and what was assumed.

use schemars::JsonSchema;
use serde::Serialize;

use super::report::Timing;
use crate::product::{Fact, Grade, Soc, Unknown};

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

impl Evidence {
    /// What a plan for a SoC, and so its program, rests on: how many cores there are, how much of the UB it may use, and how many flags.
    fn of_plans(soc: &Soc) -> Vec<Self> {
        let mut asker = Asker::default();
        // What a plan needed is known.
        asker.ask(&soc.cores.vector_units).ok();
        asker.ask(&soc.ub.bytes).ok();
        asker.ask(&soc.ub.plan_bytes).ok();
        asker.ask(&soc.sync.event_ids).ok();
        asker.evidence
    }
}

impl Timing {
    /// Adds what a plan rests on, where the program was made of one.
    #[must_use]
    pub fn of_a_plan(mut self, soc: &Soc) -> Self {
        for evidence in Evidence::of_plans(soc) {
            if self.evidence.iter().all(|known| known.key != evidence.key) {
                self.grade = self.grade.max(evidence.grade);
                self.evidence.push(evidence);
            }
        }
        self
    }
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
