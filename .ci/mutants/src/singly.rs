//! Mutants in what the compiler evaluates, which cannot be chosen at run time: cargo-mutants builds each by itself.

use std::{collections::HashSet, fs, path::Path, process::Command};

use anyhow::{Context, Result};

use crate::{list::Mutant, run::Outcome};

/// Judges those of `mutants` that no test reaches by the crate's own tests.
pub fn judge(root: &Path, place: &Path, name: &str, mutants: &[Mutant], outcomes: &mut [Outcome]) -> Result<()> {
    let alone: Vec<usize> = (0..mutants.len()).filter(|number| outcomes[*number] == Outcome::NotReached).collect();
    if alone.is_empty() {
        return Ok(());
    }
    eprintln!("{} mutants by themselves", alone.len());
    let package = format!("ubtile-{name}");
    let mut command = Command::new("cargo");
    command.current_dir(root).args([
        "mutants",
        "--package",
        &package,
        "--test-package",
        &package,
        "--baseline",
        "skip",
    ]);
    command.args(["--timeout", "600", "--output"]).arg(place);
    for number in &alone {
        command.args(["--re", &format!("^{}$", escaped(&mutants[*number].name))]);
    }
    // It fails where one survives: what became of each is read from its files.
    command
        .args(["--", "--lib", "--tests"])
        .env("CARGO_PROFILE_DEV_OPT_LEVEL", "1")
        .status()
        .context("cargo mutants")?;
    let read = |file: &str| -> Result<HashSet<String>> {
        let path = place.join("mutants.out").join(file);
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        Ok(text.lines().map(str::to_owned).collect())
    };
    for (file, outcome) in [
        ("caught.txt", Outcome::Found),
        ("timeout.txt", Outcome::Hangs),
        ("missed.txt", Outcome::Survives),
        ("unviable.txt", Outcome::Unviable),
    ] {
        let names = read(file)?;
        for number in alone.iter().filter(|number| names.contains(&mutants[**number].name)) {
            outcomes[*number] = outcome;
        }
    }
    Ok(())
}

/// As a regular expression that matches just this.
fn escaped(text: &str) -> String {
    let escape = |c: char| if c.is_alphanumeric() || " _<>'\"".contains(c) { format!("{c}") } else { format!("\\{c}") };
    text.chars().map(escape).collect()
}
