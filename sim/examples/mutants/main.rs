//! How good the sanitizer is: small faults in every example program, and who finds them.
//!
//! An oracle that knows nothing of the sanitizer says which mutants matter: those whose results differ from the program's under one of 32
//! random delays of the pipes, or that stop. What matters must be found by the sanitizer, or by a look at the values in program order;
//! of flags by the sanitizer alone. What nobody finds and what does not matter is listed with the reason why it is equivalent.
//!
//! ```sh
//! cargo run -p ubtile-sim --example mutants
//! ```
//!
//! Exit code 1 when a mutant that matters is missed, or a program is not clean.
#![allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]

mod mutate;
mod oracle;
mod reason;

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use std::{fs, io};

use mutate::{Class, Mutant};
use ubtile_sim::exec::{Global, Run};
use ubtile_sim::product::Soc;
use ubtile_sim::program::Program;
use ubtile_sim::sanitize::sanitize;
use ubtile_sim::text;

/// Mutants of a class.
#[derive(Default)]
struct Score {
    /// Mutants that are programs.
    made: u32,
    /// Those that the oracle tells from the program.
    matter: u32,
    /// Of these, what is found.
    killed: u32,
    /// What is found of the others, for instance a race that the oracle's orders did not hit.
    beyond: u32,
}

fn main() -> io::Result<ExitCode> {
    let soc = Soc::builtin("Ascend910B1").expect("a built-in product");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let mut paths: Vec<_> =
        fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "tile"));
    paths.sort();
    let mut good = true;
    println!("| program | changed | mutants | matter | found | found besides | sanitizing / values |");
    println!("|---|---|---|---|---|---|---|");
    let mut notes = Vec::new();
    let mut total = (0, 0);
    for path in paths {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let program = text::parse(&fs::read_to_string(&path)?, &soc).expect("examples are programs").0;
        good &= judge(&name, &program, &soc, &mut notes, &mut total);
    }
    println!(
        "\nkilled {} of {} mutants that matter: {:.1} %",
        total.0,
        total.1,
        100.0 * f64::from(total.0) / f64::from(total.1)
    );
    println!("\nSurvivors:\n");
    notes.iter().for_each(|note| println!("* {note}"));
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn judge(name: &str, program: &Program, soc: &Soc, notes: &mut Vec<String>, total: &mut (u32, u32)) -> bool {
    let expected = oracle::values(program).expect("examples run");
    let mut good = true;
    for data in [None, Some(oracle::inputs(program))] {
        for finding in sanitize(program, data).expect("examples state what they assume") {
            notes.push(format!("NOT CLEAN {name}: {finding:?}"));
            good = false;
        }
    }
    good &= !oracle::matters(program, &expected);
    let cost = cost(program);
    let mutants = mutate::mutants(program);
    for (class, class_name) in Class::ALL {
        let mut score = Score::default();
        for mutant in mutants.iter().filter(|mutant| mutant.class == class) {
            good &= one(name, program, soc, mutant, &expected, &mut score, notes);
        }
        let Score { made, matter, killed, beyond } = score;
        println!("| {name} | {class_name} | {made} | {matter} | {killed} | {beyond} | {cost:.1} |");
        *total = (total.0 + killed, total.1 + matter);
    }
    good
}

fn one(
    name: &str,
    program: &Program,
    soc: &Soc,
    mutant: &Mutant,
    expected: &Global,
    score: &mut Score,
    notes: &mut Vec<String>,
) -> bool {
    // What is no program is refused before it could run.
    let Ok(changed) = Program::new(mutant.source.clone(), soc) else { return true };
    score.made += 1;
    let findings = sanitize(&changed, Some(oracle::inputs(&changed))).unwrap_or_default();
    let sanitizer = findings.iter().any(|finding| !finding.kind.is_warning());
    let values = || oracle::values(&changed).map_or(true, |values| !oracle::same(program, &values, expected));
    let found = sanitizer || (mutant.class != Class::Flag && values());
    let matters = oracle::matters(&changed, expected);
    score.matter += u32::from(matters);
    score.killed += u32::from(matters && found);
    score.beyond += u32::from(!matters && found);
    match (matters, found) {
        (_, true) => true,
        (true, false) => {
            notes.push(format!("MISSED {name}, {}", mutant.what));
            false
        }
        (false, false) => {
            let reason = reason::reason(program, &changed);
            let known = reason.is_some();
            notes.push(format!("{name}, {}: {}", mutant.what, reason.unwrap_or("NO REASON KNOWN")));
            known
        }
    }
}

/// How many times as long as plain values it takes, the best of five of each.
fn cost(program: &Program) -> f64 {
    let best = |run: &dyn Fn(Global)| {
        let time = |_| {
            let global = oracle::inputs(program);
            let start = Instant::now();
            run(global);
            start.elapsed()
        };
        (0..5).map(time).min().unwrap_or(Duration::ZERO)
    };
    let values = best(&|global| Run::new(program, global).finish().expect("examples run"));
    let sanitized = best(&|global| drop(sanitize(program, Some(global))));
    sanitized.as_secs_f64() / values.as_secs_f64()
}
