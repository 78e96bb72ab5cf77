//! Tests every mutant of a crate in minutes: all mutants are compiled into one copy of the workspace, behind a number that an
//! environment variable chooses, and each runs only the tests that reach it.
//!
//! cargo-mutants says what the mutants are; it would build each by itself, which takes days for this workspace.
//!
//! ```text
//! mutants tiling                                  every mutant of ubtile-tiling
//! mutants kernels --file 'kernels/src/cast.rs'    what is behind the crate goes to `cargo mutants --list`
//! ```
//!
//! Writes `target/mutants/CRATE/report.txt`, and fails where a mutant survives that `explained.txt` beside this crate does not
//! name, or where that names what is no mutant any more.

mod compile;
mod edits;
mod explained;
mod list;
mod rewrite;
mod run;
mod singly;
mod tree;

use std::{collections::BTreeMap, path::PathBuf, process::ExitCode};

use anyhow::{Context, Result, ensure};

use crate::{explained::Explained, list::Mutant, run::Outcome};

fn main() -> Result<ExitCode> {
    let mut args = std::env::args().skip(1);
    let name = args.next().context("which crate? tiling or kernels")?;
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?;
    let place = root.join("target/mutants").join(&name);

    let explained = Explained::read()?;
    let all = list::mutants(&root, &name, std::iter::empty())?;
    let gone = explained.gone(&name, &all);
    ensure!(gone.is_empty(), "explained.txt names what is no mutant any more:\n{}", gone.join("\n"));
    let mutants = list::mutants(&root, &name, args)?;
    eprintln!("{}: {} mutants", name, mutants.len());
    let sources = compile::sources(&root, &name, &mutants)?;
    let tree = tree::Tree::copy(&root, &place, &sources)?;
    let built = compile::all(&tree, &name, &mutants, &sources)?;
    let mut outcomes = run::all(&built, &mutants)?;
    singly::judge(&root, &place, &name, &mutants, &mut outcomes)?;

    let report = report(&mutants, &outcomes);
    std::fs::write(place.join("report.txt"), &report.lines)?;
    println!("{}", report.summary);
    let unexplained = explained.without(&report.survivors);
    for mutant in &unexplained {
        println!("survives: {mutant}");
    }
    Ok(if unexplained.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

struct Report {
    lines: String,
    summary: String,
    survivors: Vec<Mutant>,
}

fn report(mutants: &[Mutant], outcomes: &[Outcome]) -> Report {
    let mut counts = BTreeMap::<&str, usize>::new();
    let mut lines = String::new();
    let mut survivors = Vec::new();
    for (mutant, outcome) in mutants.iter().zip(outcomes) {
        *counts.entry(outcome.word()).or_default() += 1;
        lines.push_str(&format!("{}\t{mutant}\n", outcome.word()));
        if matches!(outcome, Outcome::Survives | Outcome::NotReached) {
            survivors.push(mutant.clone());
        }
    }
    let counts: Vec<String> = counts.iter().map(|(word, count)| format!("{count} {word}")).collect();
    Report { lines, summary: format!("{} mutants: {}", mutants.len(), counts.join(", ")), survivors }
}
