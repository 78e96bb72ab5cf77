//! Survivors that no test can find, each with its reason.

use std::{collections::HashSet, fs};

use anyhow::{Context, Result};

use crate::list::Mutant;

/// Those of `survivors` that `explained.txt` does not name. A line of it is a mutant without line and column, two spaces or
/// more, and the reason.
pub fn without(survivors: &[Mutant]) -> Result<Vec<&Mutant>> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/explained.txt");
    let text = fs::read_to_string(path).context(path)?;
    let explained: HashSet<&str> = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| Some(line.split_once("  ")?.0.trim()))
        .collect();
    Ok(survivors.iter().filter(|mutant| !explained.contains(&*anywhere(mutant))).collect())
}

/// A mutant's name without line and column, which change with every edit above them.
fn anywhere(mutant: &Mutant) -> String {
    let what = mutant.name.splitn(4, ':').nth(3).unwrap_or_default();
    format!("{}:{what}", mutant.file)
}
