//! `ubtile products`: what the SoCs are, how well each number is founded, and where they differ.

use std::collections::BTreeMap;
use std::fmt::Write;

use schemars::JsonSchema;
use serde::Serialize;
use ubtile_sim::product::{Entry, Fact, Grade, Soc, source};

use crate::error::Error;
use crate::output::{self, Format, Report};
use crate::soc::soc;

/// Prints all SoCs in short, one in full, or several side by side.
pub(crate) fn run(names: &[String], format: Format) -> Result<(), Error> {
    let socs = names.iter().map(|name| soc(name)).collect::<Result<Vec<_>, _>>()?;
    match socs.as_slice() {
        [] => output::print(format, &List::new()?),
        [one] => output::print(format, &Sheet { soc: one.name(), warning: one.warning(), facts: one.facts() }),
        several => output::print(format, &Comparison::new(several)),
    }
}

/// All built-in SoCs; what is unknown is null.
#[derive(Serialize, JsonSchema)]
pub(super) struct List {
    socs: Vec<Line>,
}

#[derive(Serialize, JsonSchema)]
struct Line {
    soc: &'static str,
    products: Vec<&'static str>,
    npu_arch: Option<u32>,
    aic: Option<String>,
    ai_cores: Option<u32>,
    vector_units: Option<u32>,
    core_mhz: Option<u32>,
    ub_bytes: Option<u64>,
    l2_bytes: Option<u64>,
    memory_bytes: Option<u64>,
    hbm_gbps: Option<f64>,
    warning: Option<String>,
    #[serde(skip)]
    cells: Vec<String>,
}

impl List {
    fn new() -> Result<Self, Error> {
        let soc = |name| Soc::builtin(name).map_err(|e| Error::Unusable(e.to_string()));
        Ok(Self { socs: Soc::names().map(|name| Ok(Line::new(name, &soc(name)?))).collect::<Result<_, Error>>()? })
    }
}

/// The columns of the list.
const COLUMNS: [(&str, &str); 10] = [
    ("product", "version.products"),
    ("arch", "version.npu_arch"),
    ("AIC", "version.aic"),
    ("AI cores", "cores.ai"),
    ("vector units", "cores.vector_units"),
    ("MHz", "clock.core_mhz"),
    ("UB", "ub.bytes"),
    ("L2", "memory.l2_bytes"),
    ("memory", "memory.bytes"),
    ("GB/s", "memory.hbm_gbps"),
];

impl Line {
    fn new(name: &'static str, soc: &Soc) -> Self {
        let text = |key: &str| {
            soc.facts().iter().find(|fact| *fact.key == *key).map_or_else(String::new, |fact| fact.text.clone())
        };
        let products = soc.version.products.get().ok();
        Self {
            soc: name,
            products: products.into_iter().flatten().map(|product| product.name()).collect(),
            npu_arch: known(&soc.version.npu_arch),
            aic: known(&soc.version.aic),
            ai_cores: known(&soc.cores.ai).map(|cores| cores.get()),
            vector_units: known(&soc.cores.vector_units).map(|cores| cores.get()),
            core_mhz: known(&soc.clock.core_mhz).map(|mhz| mhz.get()),
            ub_bytes: known(&soc.ub.bytes).map(|bytes| bytes.0),
            l2_bytes: known(&soc.memory.l2_bytes).map(|bytes| bytes.0),
            memory_bytes: known(&soc.memory.bytes).map(|bytes| bytes.0),
            hbm_gbps: known(&soc.memory.hbm_gbps).map(|rate| rate.get()),
            warning: soc.warning().map(String::from),
            cells: COLUMNS.map(|(_, key)| text(key)).into(),
        }
    }
}

fn known<T: Clone>(fact: &Fact<T>) -> Option<T> {
    fact.get().ok().cloned()
}

impl Report for List {
    const SCHEMA: &'static str = "ubtile.products.v1";

    fn text(&self) -> String {
        let header: Vec<_> = ["SoC"].into_iter().chain(COLUMNS.map(|(title, _)| title)).collect();
        let row = |line: &Line| {
            let mut cells = line.cells.clone();
            // A machine that carries the same SoC under another name makes the column wide and says nothing new.
            if let (Some(cell), Some(product)) = (cells.first_mut(), line.products.first()) {
                *cell = (*product).into();
            }
            [vec![line.soc.into()], cells].concat()
        };
        let mut text = output::table(header, self.socs.iter().map(row));
        for line in &self.socs {
            if let Some(warning) = &line.warning {
                let _ = writeln!(text, "\n{warning}.");
            }
        }
        text + "\nGB/s is the bandwidth of main memory that kernels reach. `ubtile products SOC` shows how well each number is founded.\n"
    }
}

/// All about one SoC.
#[derive(Serialize, JsonSchema)]
pub(super) struct Sheet<'a> {
    soc: &'a str,
    warning: Option<&'a str>,
    facts: &'a [Entry],
}

impl Report for Sheet<'_> {
    const SCHEMA: &'static str = "ubtile.product.v1";

    fn text(&self) -> String {
        let row = |fact: &Entry| {
            let grade = fact.grade.map_or("", Grade::name);
            [fact.key.as_ref(), &fact.text, grade, fact.source.as_deref().unwrap_or_default()].map(String::from)
        };
        let table = output::table([self.soc, "value", "grade", "source"], self.facts.iter().map(row));
        table + &legend(self.facts)
    }
}

/// What the short names of the sources stand for.
fn legend<'a>(facts: impl IntoIterator<Item = &'a Entry>) -> String {
    let names: BTreeMap<_, _> = facts.into_iter().filter_map(|fact| source(fact.source.as_deref()?)).collect();
    let mut text = String::new();
    for (short, full) in &names {
        let _ = write!(text, "\n- {short}: {full}");
    }
    text + "\n"
}

/// Several SoCs side by side.
#[derive(Serialize, JsonSchema)]
pub(super) struct Comparison<'a> {
    socs: Vec<&'a str>,
    /// How many facts differ.
    differences: usize,
    facts: Vec<Compared<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct Compared<'a> {
    key: &'a str,
    /// Whether the values differ; their evidence may.
    differs: bool,
    /// In the order of the SoCs.
    values: Vec<&'a Entry>,
}

impl<'a> Comparison<'a> {
    fn new(socs: &'a [Soc]) -> Self {
        let mut facts: Vec<Compared<'a>> = Vec::new();
        for soc in socs {
            for (position, fact) in soc.facts().iter().enumerate() {
                match facts.get_mut(position) {
                    Some(compared) => compared.values.push(fact),
                    None => facts.push(Compared { key: &fact.key, differs: false, values: vec![fact] }),
                }
            }
        }
        for compared in &mut facts {
            let mut values = compared.values.iter().map(|fact| &fact.value);
            let first = values.next();
            compared.differs = values.any(|value| Some(value) != first);
        }
        let differences = facts.iter().filter(|compared| compared.differs).count();
        Self { socs: socs.iter().map(Soc::name).collect(), differences, facts }
    }
}

impl Report for Comparison<'_> {
    const SCHEMA: &'static str = "ubtile.products.comparison.v1";

    fn text(&self) -> String {
        let header: Vec<_> = ["", "fact"].into_iter().chain(self.socs.iter().copied()).collect();
        let row = |compared: &Compared<'_>| {
            let mark = if compared.differs { "*" } else { "" };
            let cells = compared.values.iter().map(|fact| match fact.grade {
                Some(grade) => format!("{} [{}]", fact.text, &grade.name()[..1]),
                None => fact.text.clone(),
            });
            [mark.into(), compared.key.into()].into_iter().chain(cells).collect::<Vec<_>>()
        };
        let table = output::table(header, self.facts.iter().map(row));
        let (differences, facts) = (self.differences, self.facts.len());
        format!("{table}\n* {differences} of {facts} facts differ. [c] cited, [d] derived, [g] guess.\n")
    }
}
