//! Programs at random: those that are right by construction are, and no others stop anything.

use std::fmt;
use std::sync::OnceLock;

use proptest::prelude::*;
use ubtile_sim::clock::{Options, Timing, simulate};
use ubtile_sim::exec::{Global, Run};
use ubtile_sim::generate::{Choices, Programs, Values, delays, inputs, mutants};
use ubtile_sim::product::Soc;
use ubtile_sim::program::Program;
use ubtile_sim::sanitize::sanitize;
use ubtile_sim::text::{parse_source, print};
use ubtile_testkit::strategies;

const SOCS: [&str; 5] = ["Ascend910B1", "Ascend310P3", "Ascend910A", "Ascend310B1", "Ascend910_95"];

/// A product, and what makes programs for it.
fn product(name: &str) -> &'static (Soc, Programs) {
    static ALL: OnceLock<Vec<(Soc, Programs)>> = OnceLock::new();
    let made = |name| {
        let soc = Soc::builtin(name).unwrap();
        let programs = Programs::new(&soc).unwrap();
        (soc, programs)
    };
    ALL.get_or_init(|| SOCS.map(made).into()).iter().find(|(soc, _)| soc.name() == name).unwrap()
}

/// Bytes to decide by, which shrink, or a seed, which gives larger programs.
#[derive(Clone)]
enum Decided {
    By(Vec<u8>),
    Seed(u64),
}

impl Decided {
    fn choices(&self) -> Choices<'_> {
        match self {
            Self::By(bytes) => Choices::of_bytes(bytes),
            Self::Seed(seed) => Choices::of_seed(*seed),
        }
    }
}

impl fmt::Debug for Decided {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::By(bytes) => bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}")),
            Self::Seed(seed) => write!(f, "seed {seed}"),
        }
    }
}

fn decided() -> impl Strategy<Value = Decided> {
    let bytes = proptest::collection::vec(any::<u8>(), 0..600);
    prop_oneof![bytes.prop_map(Decided::By), any::<u64>().prop_map(Decided::Seed)]
}

fn results(program: &Program, global: &Global) -> Vec<Vec<u8>> {
    global.results(program).map(|(_, bytes)| bytes.to_vec()).collect()
}

/// What is wrong with a program that should be right.
fn wrong(program: &Program, soc: &Soc, mut choices: Choices<'_>) -> Option<String> {
    let found = sanitize(program, None).unwrap();
    if !found.is_empty() {
        return Some(format!("without data: {found:#?}"));
    }
    for values in Values::ALL {
        let global = inputs(program, values, &mut choices).unwrap();
        let found = sanitize(program, Some(global.clone())).unwrap();
        if !found.is_empty() {
            return Some(format!("with data: {found:#?}"));
        }
        let mut plain = Run::new(program, global.clone());
        plain.finish().unwrap();
        let expected = results(program, plain.global());
        let steps = Run::new(program, global.clone()).finish_with(&[]).unwrap();
        for _ in 0..3 {
            let delays = delays(&steps, &mut choices);
            let mut run = Run::new(program, global.clone());
            match run.finish_with(&delays) {
                Err(halt) => return Some(halt.describe(program)),
                Ok(taken) if taken.taken != steps.taken => return Some("other steps".into()),
                Ok(_) if results(program, run.global()) != expected => return Some(format!("{delays:?}")),
                Ok(_) => {}
            }
        }
    }
    // Not every product has a number for everything.
    let time = |walk_all| {
        let timed = simulate(program, soc, &Options { walk_all, ..Options::default() });
        timed.map(|timing| Timing { skipped_ratio: 0.0, ..timing })
    };
    let (skipped, walked) = (time(false), time(true));
    (skipped != walked).then(|| format!("skipping changes the time: {skipped:?} {walked:?}"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_right_by_construction_is_right(soc in proptest::sample::select(&SOCS), by in decided(), seed in any::<u64>()) {
        let (soc, programs) = product(soc);
        let source = programs.legal(&mut by.choices());
        let text = print(&source);
        prop_assert_eq!(&parse_source(&text).unwrap().0, &source);
        let program = Program::new(source, soc).map_err(|e| TestCaseError::fail(format!("{e}\n{text}")))?;
        let wrong = wrong(&program, soc, Choices::of_seed(seed));
        prop_assert!(wrong.is_none(), "{}\n{text}", wrong.unwrap());
    }
}

proptest! {
    #![proptest_config(strategies::cases(1000))]

    #[test]
    fn nothing_stops_at_any_program(soc in proptest::sample::select(&SOCS), by in decided(), seed in any::<u64>()) {
        let (soc, programs) = product(soc);
        let source = programs.any(&mut by.choices());
        let text = print(&source);
        let (read, _) = parse_source(&text).map_err(|e| TestCaseError::fail(format!("{e}\n{text}")))?;
        prop_assert_eq!(&read, &source, "{}", text);
        let Ok(program) = Program::new(source, soc) else { return Ok(()) };
        let mut choices = Choices::of_seed(seed);
        let global = inputs(&program, Values::Special, &mut choices).unwrap();
        let _ = sanitize(&program, None);
        let found = sanitize(&program, Some(global.clone())).unwrap();
        let steps = Run::new(&program, global.clone()).finish_with(&[]);
        // What cannot be carried out is found.
        prop_assert!(steps.is_ok() || !found.is_empty(), "{steps:?}\n{text}");
        if let Ok(steps) = steps {
            let _ = Run::new(&program, global).finish_with(&delays(&steps, &mut choices));
        }
        let _ = simulate(&program, soc, &Options::default());
    }
}

/// Programs are of all sorts: every kind of instruction, loops and conditions appear among a few hundred.
#[test]
fn nothing_is_left_out() {
    let soc = Soc::builtin("Ascend910B1").unwrap();
    let programs = Programs::new(&soc).unwrap();
    let texts: Vec<_> = (0..300).map(|seed| print(&programs.legal(&mut Choices::of_seed(seed)))).collect();
    for word in [
        "load ",
        "load_pad ",
        "store ",
        "store_pad ",
        "add.i32",
        "add.f32",
        "move ",
        "gather.",
        "transpose.",
        "read.",
        "write.",
        "let ",
        "for ",
        "if ",
        "else",
        "tile ",
        "set_flag mte2 s",
        "barrier all",
        "barrier v",
        "sync_all hard",
        "sync_all soft",
        "inout",
        "zeroed out",
        " lanes ",
        " count ",
        " mask ",
        "step 2",
        "bypass",
        "workspace",
        "per_core",
        "field ",
        "slots 3",
    ] {
        assert!(texts.iter().any(|text| text.contains(word)), "{word}");
    }
}

/// A legal program stays one for the sanitizer's own judge: of its mutants without a flag, many are wrong.
#[test]
fn mutants_of_legal_programs_are_found() {
    let soc = Soc::builtin("Ascend910B1").unwrap();
    let programs = Programs::new(&soc).unwrap();
    let (mut made, mut found) = (0, 0);
    for seed in 0..6 {
        let program = Program::new(programs.legal(&mut Choices::of_seed(seed)), &soc).unwrap();
        for mutant in mutants(&program).into_iter().step_by(17) {
            let Ok(changed) = Program::new(mutant.source, &soc) else { continue };
            made += 1;
            found += usize::from(!sanitize(&changed, None).unwrap().is_empty());
        }
    }
    assert!(made > 30 && found * 3 > made, "{found} of {made}");
}
