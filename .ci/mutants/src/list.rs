//! What cargo-mutants would change.

use std::{fmt, path::Path, process::Command};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// What to leave out of each crate: vector code is written once over lanes and held to the scalar level bit by bit, so the
/// instruction sets are not mutated; nor is what only words a message.
const EXCLUDED: [&str; 6] = [
    "kernels/src/simd/x86*",
    "kernels/src/simd/x86/**",
    "kernels/src/simd/tests*",
    "**/tests.rs",
    "**/tests/**",
    "tiling/src/contract/message.rs",
];

/// As regular expressions: the debug forms, and guards by what is in a build, since the tests' build has everything.
const EXCLUDED_CHANGES: [&str; 2] =
    ["impl .*(Display|Debug)", "replace match guard ([A-Z0-9_]+ with true|![A-Z0-9_]+ with false)"];

/// A place in a source file: line from 1, column in characters from 1, as cargo-mutants counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    pub line: usize,
    pub column: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Genre {
    /// The function returns a fixed value at once.
    FnValue,
    BinaryOperator,
    /// An operator in front of its operand is left out.
    UnaryOperator,
    /// An arm before a wildcard is left out.
    MatchArm,
    MatchArmGuard,
    /// A field is taken from the base of a struct expression.
    StructField,
}

/// One small mistake.
#[derive(Clone, Debug)]
pub struct Mutant {
    pub file: String,
    pub name: String,
    pub genre: Genre,
    /// Where that begins which is replaced.
    pub start: Place,
    pub replacement: String,
}

/// File, line and what is changed.
impl fmt::Display for Mutant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// The mutants of `ubtile-NAME`, as cargo-mutants lists them with `args`.
pub fn mutants(root: &Path, name: &str, args: impl Iterator<Item = String>) -> Result<Vec<Mutant>> {
    let mut command = Command::new("cargo");
    command.current_dir(root).args(["mutants", "--list", "--json", "--package", &format!("ubtile-{name}")]);
    for pattern in EXCLUDED {
        command.args(["--exclude", pattern]);
    }
    for pattern in EXCLUDED_CHANGES {
        command.args(["--exclude-re", pattern]);
    }
    let out = command.args(args).output().context("cargo mutants")?;
    ensure!(out.status.success(), "cargo mutants --list: {}", String::from_utf8_lossy(&out.stderr));
    let list: Vec<Value> = serde_json::from_slice(&out.stdout)?;
    list.iter().map(|value| mutant(value).with_context(|| format!("a mutant of an unknown form: {value}"))).collect()
}

fn mutant(value: &Value) -> Option<Mutant> {
    let text = |key: &str| Some(value[key].as_str()?.to_owned());
    let start = |key: &str| usize::try_from(value["span"]["start"][key].as_u64()?).ok();
    let genre = match value["genre"].as_str()? {
        "FnValue" => Genre::FnValue,
        "BinaryOperator" => Genre::BinaryOperator,
        "UnaryOperator" => Genre::UnaryOperator,
        "MatchArm" => Genre::MatchArm,
        "MatchArmGuard" => Genre::MatchArmGuard,
        "StructField" => Genre::StructField,
        _ => return None,
    };
    Some(Mutant {
        file: text("file")?,
        name: text("name")?,
        genre,
        start: Place { line: start("line")?, column: start("column")? },
        replacement: text("replacement")?,
    })
}
