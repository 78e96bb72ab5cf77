//! `ubtile schema`: JSON Schemas of all that the command prints and saves as JSON.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde_json::{Value, json};
use ubtile_sim::report::Simulated;

use super::{compare, disasm, fuzz, ops, plan, products, replay, run, sanitize, sim, tour};
use crate::error::Error;
use crate::fuzzing::{Repro, TileRepro};
use crate::output::{self, Format, Report};

/// A document that the command makes.
struct Document {
    /// The value of its key `schema`, such as `ubtile.sim.v1`.
    id: &'static str,
    what: &'static str,
    /// Whether there are arrays of these too.
    several: bool,
    of_type: fn() -> Value,
}

impl Document {
    const fn new<R: Report + JsonSchema>(what: &'static str) -> Self {
        Self { id: R::SCHEMA, what, several: false, of_type: of_type::<R> }
    }

    const fn several(mut self) -> Self {
        self.several = true;
        self
    }

    /// What it is called on the command line.
    fn name(&self) -> &'static str {
        let name = self.id.strip_prefix("ubtile.").unwrap_or(self.id);
        name.rsplit_once(".v").map_or(name, |(name, _)| name)
    }

    /// Its schema.
    fn schema(&self) -> Value {
        let mut one = (self.of_type)();
        let definitions = one.as_object_mut().and_then(|one| one.remove("$defs")).unwrap_or_else(|| json!({}));
        let draft = one.as_object_mut().and_then(|one| one.remove("$schema"));
        let said = [("schema", json!({"const": self.id})), ("tool_version", json!({"type": "string"}))];
        for (key, schema) in said {
            one["properties"][key] = schema;
            if let Some(required) = one["required"].as_array_mut()
                && !required.iter().any(|known| known == key)
            {
                required.insert(0, key.into());
            }
        }
        let mut document =
            json!({"$schema": draft, "$id": self.id, "title": self.id, "description": self.what, "$defs": definitions});
        document["$defs"]["one"] = one;
        let one = json!({"$ref": "#/$defs/one"});
        if self.several {
            document["anyOf"] = json!([one, {"type": "array", "items": one}]);
        } else {
            document["$ref"] = json!("#/$defs/one");
        }
        document
    }
}

/// The schema of a type as it is written.
fn of_type<T: JsonSchema>() -> Value {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>().to_value()
}

fn documents() -> [Document; 20] {
    [
        Document::new::<tour::Tour>("ubtile alone: all four operators on this machine and on every product"),
        Document::new::<ops::Ops>("ops: the support matrix"),
        Document::new::<products::List>("products: all SoCs in short"),
        Document::new::<products::Sheet<'_>>("products SOC: all that is known of a SoC"),
        Document::new::<products::Comparison<'_>>("products SOC SOC...: SoCs side by side"),
        Document::new::<run::Run>("run: what was computed, with --time how long it took"),
        Document::new::<plan::Plan>("plan: tiling, workspace, and why; an array with --product all").several(),
        Document::new::<plan::Calls>("plan --calls: the plans of a profiler's list"),
        Document::new::<Simulated>("sim: how long a program takes and why; an array with --vary or --product all")
            .several(),
        Document::new::<sim::Values>("sim --out: what a program computed"),
        Document::new::<disasm::Disasm>("disasm: a program's text"),
        Document::new::<compare::Comparison>("compare: what differs between two results of sim"),
        Document::new::<sanitize::Sanitize>("sanitize: what is wrong with a program"),
        Document::new::<fuzz::Fuzz>("fuzz: what a search found"),
        Document {
            id: Repro::SCHEMA,
            what: "*.repro.json: a failure that fuzz found",
            several: false,
            of_type: of_type::<Repro>,
        },
        Document::new::<replay::Replay>("replay: a failure that ran again"),
        Document::new::<fuzz::FuzzProgram>("fuzz --program: what a search found in a tile program"),
        Document {
            id: TileRepro::SCHEMA,
            what: "*.repro.json: a failure of a tile program",
            several: false,
            of_type: of_type::<TileRepro>,
        },
        Document::new::<replay::ReplayProgram>("replay: a failure of a tile program that ran again"),
        Document::new::<Schemas>("schema: these names"),
    ]
}

/// The names of all schemas.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    documents().map(|document| document.name()).into_iter()
}

/// Prints the schema of that name, or all names.
pub(crate) fn run(name: Option<&str>, format: Format) -> Result<(), Error> {
    let documents = documents();
    match name.and_then(|name| documents.iter().find(|document| document.name() == name)) {
        Some(document) => output::document(&document.schema()),
        None => output::print(format, &Schemas::new(&documents)),
    }
}

/// All schemas in short.
#[derive(Serialize, JsonSchema)]
struct Schemas {
    schemas: Vec<Line>,
}

/// A schema in short.
#[derive(Serialize, JsonSchema)]
struct Line {
    /// On the command line.
    name: &'static str,
    /// The value of the key `schema` in a document.
    schema: &'static str,
    /// What prints such a document.
    what: &'static str,
}

impl Schemas {
    fn new(documents: &[Document]) -> Self {
        let line = |document: &Document| Line { name: document.name(), schema: document.id, what: document.what };
        Self { schemas: documents.iter().map(line).collect() }
    }
}

impl Report for Schemas {
    const SCHEMA: &'static str = "ubtile.schemas.v1";

    fn text(&self) -> String {
        let row = |line: &Line| [line.name, line.schema, line.what];
        output::table(["NAME", "\"schema\" in the document", "printed by"], self.schemas.iter().map(row))
    }
}
