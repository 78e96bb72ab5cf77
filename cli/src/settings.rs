//! `--set` and `--vary` of programs: constants, products, and how a run begins.

use std::io::{Write as _, stderr};

use ubtile_sim::clock::Start;
use ubtile_sim::product::Soc;
use ubtile_sim::report::Simulated;

use crate::args::{Named, PlaceArgs};
use crate::error::Error;

/// Short names of keys.
const SHORT: [(&str, &[&str]); 4] = [
    ("clock", &["clock.core_mhz"]),
    ("bandwidth", &["memory.hbm_gbps"]),
    ("ub", &["ub.bytes", "ub.physical_bytes"]),
    ("l2", &["memory.l2_bytes"]),
];

/// The options of an operator without those of its `--set` that are numbers of the product, which the product gets; and how a run begins.
pub(crate) fn machine(args: &PlaceArgs) -> Result<(PlaceArgs, Start), Error> {
    let mut machine = Settings::default();
    let mut args = args.clone();
    for Named { name, value } in std::mem::take(&mut args.set) {
        if name == "ub" {
            // Of a plan that is what the framework keeps a part of, not a number of the product's file.
            args.set.push(Named { name: "ub_bytes".into(), value });
        } else if name == "start" || !keys(&name, "").is_empty() {
            machine.add(&name, &value, "")?;
        } else {
            args.set.push(Named { name, value });
        }
    }
    args.product_keys = machine.product;
    Ok((args, machine.start))
}

/// What is different from the program's text and the product's file.
#[derive(Debug, Default)]
pub(crate) struct Settings {
    /// Constants of the program, and `cores`.
    pub(crate) constants: Vec<(String, String)>,
    product: Vec<(String, String)>,
    pub(crate) start: Start,
}

impl Settings {
    /// Adds one; a constant of the program comes before a number of the product.
    pub(crate) fn add(&mut self, name: &str, value: &str, text: &str) -> Result<(), Error> {
        let keys = keys(name, text);
        if is_declared(text, name) {
            self.constants.push((name.into(), value.into()));
        } else if name == "start" {
            let known = Start::ALL.into_iter().find(|(_, known)| *known == value);
            let (start, _) = known.ok_or_else(|| Error::Usage(format!("--set start={value}: warm or cold")))?;
            self.start = start;
        } else if !keys.is_empty() {
            self.product.extend(keys.into_iter().map(|key| (key.into(), value.into())));
        } else {
            let short = SHORT.map(|(short, _)| short).join(", ");
            return Err(Error::Usage(format!(
                "{name}: no constant of the program, and none of cores, start, {short} or a key such as clock.core_mhz"
            )));
        }
        Ok(())
    }

    /// The product with what is set.
    pub(crate) fn product(&self, soc: &Soc) -> Result<Soc, Error> {
        let settings = self.product.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        soc.with(settings, "--set").map_err(|e| Error::Usage(e.to_string()))
    }
}

/// Tables of a product whose numbers are costs: a run that rests on none of them cannot change with it.
const COSTS: [&str; 7] = ["clock", "memory", "dma", "scalar", "launch", "atomics", "conflicts"];

/// Tables that no run and no plan rests on, only what follows from them.
const NOMINAL: [&str; 3] = ["rates", "vector_core_rates", "buffers"];

/// Numbers of other tables that nothing at all rests on.
const READ_ALONE: [&str; 7] = [
    "cores.mix",
    "cores.ai_cpu",
    "sync.event_ids_reserved",
    "sync.cross_core_flag_ids",
    "sync.cross_core_flag_limit",
    "workspace.library_bytes",
    "workspace.kernel_bytes",
];

/// The numbers of a product that a name stands for, if it does; a constant of a program comes before them.
fn keys<'a>(name: &'a str, text: &str) -> Vec<&'a str> {
    match SHORT.iter().find(|(short, _)| *short == name) {
        _ if is_declared(text, name) => Vec::new(),
        Some((_, keys)) => keys.to_vec(),
        None if name.contains('.') => vec![name],
        None => Vec::new(),
    }
}

/// The same also of what a plan calls the size of the UB, which sets what its short name does.
fn numbers<'a>(name: &'a str, text: &str) -> Vec<&'a str> {
    if name == "ub_bytes" { keys("ub", "") } else { keys(name, text) }
}

fn is_cost(key: &str) -> bool {
    key.split_once('.').is_some_and(|(table, _)| COSTS.contains(&table))
}

/// Refuses to vary what has a value, or is no number.
pub(crate) fn must_be_free(varied: &str, set: &[Named<String>], text: &str) -> Result<(), Error> {
    if varied == "start" && !is_declared(text, varied) {
        return Err(Error::Usage("--vary start: it is no number, but --set start=warm or start=cold".into()));
    }
    let meets =
        |name: &str| name == varied || numbers(name, text).iter().any(|key| numbers(varied, text).contains(key));
    let given = set.iter().find(|setting| meets(&setting.name));
    given.map_or(Ok(()), |Named { name, value }| {
        Err(Error::Usage(format!("--vary {varied}: it has a value, by --set {name}={value}")))
    })
}

/// Says which settings are no matter where nothing is timed: of a product's costs, and of how a run begins.
pub(crate) fn warn_of_costs(set: &[Named<String>], text: &str) {
    for name in set.iter().map(|setting| setting.name.as_str()) {
        let is_start = name == "start" && !is_declared(text, name);
        if is_start || keys(name, text).into_iter().any(is_cost) {
            warn(name, "values do not depend on it");
        }
    }
}

fn warn(name: &str, why: &str) {
    // Nothing is left to do when stderr is closed.
    let _ = writeln!(stderr(), "warning: {name}: {why}");
}

/// Says of which settings runs are independent, as nothing that these rest on is one of them or follows from it.
pub(crate) fn warn_of_idle(set: &[Named<String>], varied: Option<&str>, runs: &[Simulated]) {
    let evidence = || runs.iter().filter_map(|run| run.timing.as_ref()).flat_map(|timing| &timing.evidence);
    for name in set.iter().map(|setting| setting.name.as_str()).chain(varied) {
        let is_asked = || evidence().any(|e| e.key == name || e.source.contains(name));
        let is_nominal = name.split_once('.').is_some_and(|(table, _)| NOMINAL.contains(&table));
        let is_number = is_cost(name) || is_nominal || READ_ALONE.contains(&name);
        if is_number && evidence().next().is_some() && !is_asked() {
            warn(name, "nothing here depends on it");
        }
    }
}

/// Whether a program has a constant of that name.
fn is_declared(text: &str, name: &str) -> bool {
    text.lines().any(|line| declares(line, name).is_some())
}

/// Where the value of a constant begins, in the line that declares it; `cores` is one.
fn declares(line: &str, name: &str) -> Option<usize> {
    let code = line.split('#').next()?;
    let rest = if name == "cores" {
        code.trim_start().strip_prefix("cores")?.strip_prefix(char::is_whitespace)?
    } else {
        code.trim_start().strip_prefix("const")?.trim_start().strip_prefix(name)?.trim_start().strip_prefix('=')?
    };
    Some(code.len() - rest.len())
}

/// A program's text with other values of some constants.
pub(crate) fn text_with(text: &str, constants: &[(String, String)]) -> String {
    let mut changed = String::with_capacity(text.len());
    for line in text.lines() {
        // The last one wins.
        match constants.iter().rev().find_map(|(name, value)| Some((declares(line, name)?, value))) {
            Some((at, value)) => changed.extend([&line[..at], " ", value, "\n"]),
            None => changed.extend([line, "\n"]),
        }
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_get_other_values() {
        let text = "cores 8   # many\nconst TILE = 4 * 8 # bytes\nconst TILES = 3\nub a: TILE\n";
        let set = |pairs: &[(&str, &str)]| {
            let mut settings = Settings::default();
            for (name, value) in pairs {
                settings.add(name, value, text).unwrap();
            }
            text_with(text, &settings.constants)
        };
        assert_eq!(set(&[]), text);
        assert_eq!(set(&[("TILE", "64")]), "cores 8   # many\nconst TILE = 64\nconst TILES = 3\nub a: TILE\n");
        assert_eq!(
            set(&[("cores", "2"), ("TILES", "1"), ("TILES", "5")]),
            "cores  2\nconst TILE = 4 * 8 # bytes\nconst TILES = 5\nub a: TILE\n"
        );
        assert!(Settings::default().add("TIL", "1", text).is_err());
    }
}
