//! How good the sanitizer is: small faults in programs, and who finds them.
//!
//! An oracle that knows nothing of the sanitizer says which mutants matter: those whose results differ from the program's under one of 32
//! random delays of the pipes, or that stop. What matters must be found by the sanitizer, or by a look at the values in program order;
//! of flags by the sanitizer alone. What nobody finds and what does not matter is listed with the reason why it is equivalent.
//!
//! ```sh
//! cargo run -p ubtile-sim --example mutants               # the example programs
//! cargo run -p ubtile-sim --example mutants -- lowered    # programs of small plans, native and the vendor's, at most 100 mutants of a kind
//! ```
//!
//! Exit code 1 when a mutant that matters is missed, or a program is not clean.
#![allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]

mod oracle;
mod reason;
mod subjects;

use std::io;
use std::process::ExitCode;

use subjects::Subject;
use ubtile_sim::exec::Global;
use ubtile_sim::generate::{Change, Mutant, mutants};
use ubtile_sim::product::Soc;
use ubtile_sim::program::Program;
use ubtile_sim::sanitize::sanitize;

/// Mutants of a kind.
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
    let lowered = std::env::args().nth(1).is_some_and(|which| which == "lowered");
    let (subjects, most) =
        if lowered { (subjects::lowered(&soc), 100) } else { (subjects::examples(&soc)?, usize::MAX) };
    let mut good = true;
    println!("| program | changed | mutants | matter | found | found besides |");
    println!("|---|---|---|---|---|---|");
    let mut notes = Vec::new();
    let mut total = (0, 0);
    for subject in &subjects {
        good &= judge(subject, &soc, most, &mut notes, &mut total);
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

/// Judges at most so many mutants of each kind.
fn judge(subject: &Subject, soc: &Soc, most: usize, notes: &mut Vec<String>, total: &mut (u32, u32)) -> bool {
    let Subject { name, program, inputs } = subject;
    let expected = oracle::values(program, inputs).expect("the program runs");
    let mut good = true;
    for data in [None, Some(inputs.clone())] {
        for finding in sanitize(program, data).expect("the program states what it assumes") {
            let warning = finding.kind.is_warning();
            notes.push(format!("{} {name}: {finding:?}", if warning { "WARNING" } else { "NOT CLEAN" }));
            good &= warning;
        }
    }
    if oracle::matters(program, inputs, &expected) {
        notes.push(format!("NOT CLEAN {name}: other values in another order"));
        good = false;
    }
    let mutants = mutants(program);
    for (change, change_name) in Change::ALL {
        let mutants: Vec<_> = mutants.iter().filter(|mutant| mutant.change == change).collect();
        let mut score = Score::default();
        for mutant in mutants.iter().step_by(mutants.len().div_ceil(most).max(1)) {
            good &= one(subject, soc, mutant, &expected, &mut score, notes);
        }
        let Score { made, matter, killed, beyond } = score;
        println!("| {name} | {change_name} | {made} | {matter} | {killed} | {beyond} |");
        *total = (total.0 + killed, total.1 + matter);
    }
    good
}

fn one(
    Subject { name, program, inputs }: &Subject,
    soc: &Soc,
    mutant: &Mutant,
    expected: &Global,
    score: &mut Score,
    notes: &mut Vec<String>,
) -> bool {
    // What is no program is refused before it could run.
    let Ok(changed) = Program::new(mutant.source.clone(), soc) else { return true };
    score.made += 1;
    let findings = sanitize(&changed, Some(inputs.clone())).unwrap_or_default();
    let sanitizer = findings.iter().any(|finding| !finding.kind.is_warning());
    let values = || oracle::values(&changed, inputs).map_or(true, |values| !oracle::same(program, &values, expected));
    let found = sanitizer || (mutant.change != Change::Flag && values());
    let matters = oracle::matters(&changed, inputs, expected);
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
            let reason = reason::reason(program, &changed, inputs);
            let known = reason.is_some();
            notes.push(format!("{name}, {}: {}", mutant.what, reason.unwrap_or("NO REASON KNOWN")));
            known
        }
    }
}
