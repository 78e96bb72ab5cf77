//! One build of the tests with every mutant that the compiler takes.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::{
    list::Mutant,
    rewrite::{is, rewrite},
    tree::Tree,
};

/// A test binary, and the folder where its tests expect to run.
#[derive(Clone, Debug)]
pub struct Binary {
    pub path: PathBuf,
    pub folder: PathBuf,
}

/// The tests, and the mutants that are not among them.
pub struct Built {
    pub binaries: Vec<Binary>,
    /// Numbers of mutants that do not compile, or not beside the others.
    pub left_out: HashSet<usize>,
}

/// The files that are mutated, and the crate's root.
pub fn sources(root: &Path, name: &str, mutants: &[Mutant]) -> Result<BTreeMap<String, String>> {
    let files = mutants.iter().map(|mutant| mutant.file.clone()).chain([lib(name)]);
    let files: BTreeSet<String> = files.collect();
    let read = |file: String| {
        let source = fs::read_to_string(root.join(&file)).with_context(|| file.clone())?;
        Ok((file, source))
    };
    files.into_iter().map(read).collect()
}

fn lib(name: &str) -> String {
    format!("{name}/src/lib.rs")
}

/// Builds the crate with all mutants, without those that the compiler refuses: each error names some by the marks on its lines.
pub fn all(tree: &Tree, name: &str, mutants: &[Mutant], sources: &BTreeMap<String, String>) -> Result<Built> {
    // What a plan says shows in what the kernels do with it: their tests are the planner's too.
    let packages = ["tiling", "kernels"].iter().skip_while(|package| **package != name);
    let packages: Vec<String> =
        packages.flat_map(|package| ["--package".to_owned(), format!("ubtile-{package}")]).collect();
    let active = format!("{}\nconst MUTANTS: usize = {};\n", include_str!("mutant.rs.in"), mutants.len());
    tree.write(&format!("{name}/src/mutant.rs"), active.as_bytes())?;

    let mut left_out = left_out_before(tree, name, mutants, sources)?;
    let mut refusals = String::new();
    let mut steps =
        [vec!["check", "--lib"], vec!["check", "--lib", "--tests"], vec!["test", "--no-run", "--lib", "--tests"]]
            .into_iter();
    let mut step = steps.next().context("a step")?;
    loop {
        for (file, text) in with_mutants(name, mutants, sources, &left_out)? {
            // `a && let b = c` is no place: with `||` it would not compile.
            let stands = |number: &usize| text.contains(&is(*number));
            left_out.extend((0..mutants.len()).filter(|number| mutants[*number].file == *file && !stands(number)));
            tree.write(file, text.as_bytes())?;
        }
        let messages = cargo(tree, &step, &packages)?;
        let errors: Vec<&Value> = messages.iter().filter(|m| m["message"]["level"] == "error").collect();
        if errors.is_empty() {
            match steps.next() {
                Some(next) => step = next,
                None => {
                    let names: Vec<&str> = left_out.iter().map(|number| mutants[*number].name.as_str()).collect();
                    tree.write(LEFT_OUT, names.join("\n").as_bytes())?;
                    return Ok(Built { binaries: binaries(tree, &messages), left_out });
                }
            }
            continue;
        }
        for error in &errors {
            refusals.push_str(error["message"]["rendered"].as_str().unwrap_or_default());
        }
        tree.write("refusals.txt", refusals.as_bytes())?;
        // Most errors are on a mutant's line. Only when these are gone are others looked at, which may have followed from them.
        let before = left_out.len();
        for error in &errors {
            blame(tree, &error["message"], 0, &mut left_out)?;
        }
        for around in 1..200 {
            if left_out.len() == before {
                blame(tree, &errors[0]["message"], around, &mut left_out)?;
            }
        }
        eprintln!("{} errors of the compiler, {} mutants do not compile", errors.len(), left_out.len());
        if left_out.len() == before {
            bail!("an error at no mutant: {}", errors[0]["message"]["rendered"].as_str().unwrap_or_default());
        }
    }
}

/// Where the names of the mutants stand that did not compile.
const LEFT_OUT: &str = "left_out.txt";

/// The mutants that are not worth a try: those of the last run, where nothing has changed, so that nothing is built again.
fn left_out_before(
    tree: &Tree,
    name: &str,
    mutants: &[Mutant],
    sources: &BTreeMap<String, String>,
) -> Result<HashSet<usize>> {
    let names = tree.read(LEFT_OUT).unwrap_or_default();
    let names: HashSet<&str> = names.lines().collect();
    let before = (0..mutants.len()).filter(|number| names.contains(mutants[*number].name.as_str())).collect();
    let same = |(file, text): (&String, String)| tree.read(file).is_ok_and(|old| old == text);
    if with_mutants(name, mutants, sources, &before)?.into_iter().all(same) {
        return Ok(before);
    }
    // Every return of a function has one type, also where only its trait is named.
    Ok((0..mutants.len()).filter(|number| mutants[*number].name.contains("-> impl ")).collect())
}

/// The texts of all files with the mutants that are not left out.
fn with_mutants<'s>(
    name: &str,
    mutants: &[Mutant],
    sources: &'s BTreeMap<String, String>,
    left_out: &HashSet<usize>,
) -> Result<Vec<(&'s String, String)>> {
    let text = |(file, source): (&'s String, &String)| {
        let text = rewrite(source, file, mutants, left_out)?;
        let root = *file == lib(name);
        let features = "#![feature(core_intrinsics, const_eval_select)]";
        Ok((file, if root { format!("{features}\n{text}\nextern crate std;\nmod mutant;\n") } else { text }))
    };
    sources.iter().map(text).collect()
}

/// What cargo and the compiler have to say.
fn cargo(tree: &Tree, step: &[&str], packages: &[String]) -> Result<Vec<Value>> {
    let output = Command::new("cargo")
        .current_dir(&tree.root)
        .args(step)
        .args(packages)
        .args(["--message-format", "json"])
        .env("CARGO_TARGET_DIR", &tree.target)
        // The mutated functions may be const, and ask for their number only when they run: the compiler has an intrinsic for that.
        .env("RUSTC_BOOTSTRAP", "1")
        .env("RUSTFLAGS", "--cap-lints=allow")
        // With all the choices in it, the code takes long to optimise.
        .env("CARGO_PROFILE_DEV_OPT_LEVEL", "1")
        .env("CARGO_PROFILE_DEV_DEBUG", "false")
        .stderr(Stdio::inherit())
        .output()
        .context("cargo")?;
    let text = String::from_utf8(output.stdout)?;
    text.lines().map(|line| serde_json::from_str(line).with_context(|| line.to_owned())).collect()
}

/// Adds the mutants that stand on the lines of the error or so many around them, or else those whose places begin there.
fn blame(tree: &Tree, message: &Value, around: u64, left_out: &mut HashSet<usize>) -> Result<()> {
    for span in message["spans"].as_array().into_iter().flatten().filter(|span| span["is_primary"] == true) {
        let (Some(file), Some(first), Some(last)) =
            (span["file_name"].as_str(), span["line_start"].as_u64(), span["line_end"].as_u64())
        else {
            continue;
        };
        let text = tree.read(file)?;
        let before = usize::try_from(first.saturating_sub(1 + around))?;
        let lines: Vec<&str> = text.lines().take(usize::try_from(last + around)?).skip(before).collect();
        for kind in ["/*m", "/*s"] {
            let found: Vec<usize> =
                marks(&lines, kind).into_iter().filter(|number| !left_out.contains(number)).collect();
            if !found.is_empty() {
                left_out.extend(found);
                break;
            }
        }
    }
    Ok(())
}

fn marks(lines: &[&str], kind: &str) -> Vec<usize> {
    let parts = lines.iter().flat_map(|line| line.split(kind).skip(1)).filter_map(|rest| rest.split_once("*/"));
    parts.flat_map(|(numbers, _)| numbers.split(',').filter_map(|number| number.parse().ok())).collect()
}

fn binaries(tree: &Tree, messages: &[Value]) -> Vec<Binary> {
    let tests = messages.iter().filter(|m| m["reason"] == "compiler-artifact" && m["profile"]["test"] == true);
    tests
        .filter_map(|m| {
            let manifest = PathBuf::from(m["manifest_path"].as_str()?);
            let folder = manifest.parent().unwrap_or(&tree.root).to_owned();
            Some(Binary { path: m["executable"].as_str()?.into(), folder })
        })
        .collect()
}
