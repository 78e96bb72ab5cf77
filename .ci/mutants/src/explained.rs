//! Survivors that no test can find, each with its reason.

use std::{collections::HashSet, fs};

use anyhow::{Context, Result};

use crate::list::Mutant;

/// What `explained.txt` names: a line of it is a mutant without line and column, two spaces or more, and the reason.
pub struct Explained(Vec<String>);

impl Explained {
    pub fn read() -> Result<Self> {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/explained.txt");
        let text = fs::read_to_string(path).context(path)?;
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        Ok(Self(lines.filter_map(|line| Some(line.split_once("  ")?.0.trim().to_owned())).collect()))
    }

    /// Those of `survivors` that it does not name.
    pub fn without<'a>(&self, survivors: &'a [Mutant]) -> Vec<&'a Mutant> {
        survivors.iter().filter(|mutant| !self.0.contains(&anywhere(mutant))).collect()
    }

    /// What it names of the crate in a folder, all of whose mutants these are, and what is none of them: it was changed since.
    pub fn gone(&self, folder: &str, mutants: &[Mutant]) -> Vec<&str> {
        let there: HashSet<String> = mutants.iter().map(anywhere).collect();
        let of_crate = self.0.iter().filter(|name| name.starts_with(&format!("{folder}/")));
        of_crate.filter(|name| !there.contains(*name)).map(String::as_str).collect()
    }
}

/// A mutant's name without line and column, which change with every edit above them.
fn anywhere(mutant: &Mutant) -> String {
    let what = mutant.name.splitn(4, ':').nth(3).unwrap_or_default();
    format!("{}:{what}", mutant.file)
}
