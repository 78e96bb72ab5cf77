//! Tables and traces of runs, held against the clock's own report and against the rules of who opens them.

mod tables;
mod traces;

use std::collections::BTreeMap;
use std::path::Path;

use ubtile_sim::clock::{Options, Profile, Timing, profile, simulate};
use ubtile_sim::product::Soc;
use ubtile_sim::program::{Action, Pipe, Program};
use ubtile_sim::report::{Executed, Gathered};
use ubtile_sim::text;

const EXAMPLES: [&str; 4] = ["add_double_buffer.tile", "add_tail.tile", "strided_copy.tile", "gather_rows.tile"];

fn soc(name: &str) -> Soc {
    Soc::builtin(name).unwrap()
}

fn example(name: &str, soc: &Soc) -> Program {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(name);
    text::parse(&std::fs::read_to_string(path).unwrap(), soc).unwrap().0
}

fn near(a: f64, b: f64, what: &str) {
    assert!((a - b).abs() <= 1e-5 * a.abs().max(b.abs()).max(1.0), "{what}: {a} and {b}");
}

#[test]
fn looking_at_a_run_does_not_change_it() {
    for soc in [soc("Ascend910B1"), soc("Ascend310P3")] {
        for name in ["add_double_buffer.tile", "strided_copy.tile"] {
            let program = example(name, &soc);
            let options = Options::default();
            let plain = simulate(&program, &soc, &options).unwrap();
            let seen = profile(&program, &soc, &options, &mut |_| {}).unwrap().timing;
            assert_eq!(Timing { skipped_ratio: 0.0, ..plain }, seen, "{name}");
        }
    }
}

#[test]
fn what_is_seen_adds_up_to_what_the_clock_counts() {
    let soc = soc("Ascend910B1");
    for name in EXAMPLES {
        let program = example(name, &soc);
        let mut busy: BTreeMap<(u32, Pipe), u64> = BTreeMap::new();
        let mut ends: BTreeMap<(u32, Pipe), u64> = BTreeMap::new();
        let mut count: BTreeMap<(u32, Pipe), u64> = BTreeMap::new();
        let run = profile(&program, &soc, &Options::default(), &mut |event| {
            let lane = (event.core, event.step.action.pipe());
            let end = ends.entry(lane).or_default();
            assert!(*end <= event.start && event.taken <= event.start && event.start <= event.end, "{event:?}");
            *end = event.end;
            if let Action::Vector(_) | Action::Move(_) | Action::Transpose(_) | Action::Transfer(_) = event.step.action
            {
                *busy.entry(lane).or_default() += event.end - event.start;
                *count.entry(lane).or_default() += 1;
            }
        })
        .unwrap();
        assert!(!run.cores.is_empty());
        for core in &run.cores {
            for (pipe, ticks) in [(Pipe::V, core.vector), (Pipe::Mte2, core.mte2), (Pipe::Mte3, core.mte3)] {
                let lane = (core.core, pipe);
                let (busy, count) = (busy.get(&lane).copied(), count.get(&lane).copied());
                assert_eq!((busy, count), (some(ticks.busy), some(ticks.instructions)), "{name} {lane:?}");
            }
        }
    }
}

fn some(number: u64) -> Option<u64> {
    (number > 0).then_some(number)
}

#[test]
fn every_instruction_and_line_is_counted_once() {
    let soc = soc("Ascend910B1");
    let program = example("add_double_buffer.tile", &soc);
    let mut gathered = Gathered::new(program.source().cores);
    let run = profile(&program, &soc, &Options::default(), &mut |event| gathered.add(event)).unwrap();
    let executed = Executed::new(&program, "add.tile");
    let rows = |bytes: Vec<u8>| -> (String, Vec<Vec<String>>) {
        let mut reader = csv::Reader::from_reader(bytes.as_slice());
        let header = reader.headers().unwrap().iter().collect::<Vec<_>>().join(",");
        (header, reader.records().map(|record| record.unwrap().iter().map(str::to_owned).collect()).collect())
    };
    let (mut instructions, mut code) = (Vec::new(), Vec::new());
    executed.instructions(&gathered.cores[0], &run, &mut instructions).unwrap();
    executed.code(&gathered.cores[0], &run, &mut code).unwrap();
    let ((header, instructions), (code_header, code)) = (rows(instructions), rows(code));
    assert_eq!(header, "instr,addr,pipe,call_count,cycles,running_time(us),detail");
    assert_eq!(code_header, "code,call_count,cycles,running_time(us)");
    let sum =
        |rows: &[Vec<String>], column: usize| rows.iter().map(|row| row[column].parse::<f64>().unwrap()).sum::<f64>();
    near(sum(&instructions, 3), sum(&code, 1), "calls");
    assert!((sum(&instructions, 4) - sum(&code, 2)).abs() < 0.001 * (instructions.len() + code.len()) as f64);
    let add = instructions.iter().find(|row| row[0] == "add.f16").unwrap();
    assert_eq!((&*add[2], &*add[3]), ("VECTOR", "4"));
    near(add[4].parse().unwrap(), (Profile::cycles(run.cores[0].vector.busy) * 1000.0).round() / 1000.0, "cycles");
    assert!(code.iter().all(|row| row[0].starts_with("add.tile:")), "{code:?}");
}
