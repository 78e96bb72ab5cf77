//! Traces, as importers read them.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use serde_json::Value;
use ubtile_sim::clock::{Options, Profile, profile};
use ubtile_sim::product::Soc;
use ubtile_sim::program::Program;
use ubtile_sim::report::{Executed, Lanes, Trace, Window};
use ubtile_sim::text;

use super::{EXAMPLES, example, soc};

fn traced(program: &Program, soc: &Soc, cores: &[u32], window: Window) -> (String, Profile) {
    let executed = Executed::new(program, "the.tile");
    let mhz = profile(program, soc, &Options::default(), &mut |_| {}).unwrap().mhz;
    let mut bytes = Vec::new();
    let mut trace = Trace::new(&mut bytes, &executed, Lanes::of(soc), mhz, cores, window);
    let run = profile(program, soc, &Options::default(), &mut |event| trace.add(event)).unwrap();
    trace.finish().unwrap();
    (String::from_utf8(bytes).unwrap(), run)
}

const TIDS: [&str; 11] =
    ["SCALAR", "FLOWCTRL", "MTE1", "MTE2", "MTE3", "VECTOR", "CUBE", "FIXP", "CACHEMISS", "ALL", "USERMARK"];

/// The rules of the importer, and those of the format; returns the events.
fn import(text: &str) -> Vec<Value> {
    let head = text.split('[').next().unwrap();
    for key in [r#""schemaVersion":2"#, r#""displayTimeUnit":"ns""#, r#""profilingType":"op""#] {
        assert!(head.contains(key), "{head}");
    }
    let document: Value = serde_json::from_str(text).unwrap();
    let events = document["traceEvents"].as_array().unwrap().clone();
    let mut ends: BTreeMap<(String, String), f64> = BTreeMap::new();
    let mut open: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    let mut flows: BTreeMap<u64, Vec<(String, f64)>> = BTreeMap::new();
    let mut sorted = BTreeSet::new();
    let mut slices = Vec::new();
    for event in &events {
        let word = |key: &str| event[key].as_str().unwrap_or_else(|| panic!("{key} of {event}")).to_owned();
        let (ph, pid) = (word("ph"), word("pid"));
        let numbers: Vec<u32> =
            pid.strip_prefix("core").unwrap().split(".veccore").map(|n| n.parse().unwrap()).collect();
        assert_eq!(numbers.len(), 2, "{pid}");
        let ts = || event["ts"].as_f64().unwrap_or_else(|| panic!("ts of {event}"));
        if ph == "M" {
            sorted.insert((pid, word("name"), event["tid"].as_str().map(str::to_owned)));
            continue;
        }
        if ph == "C" {
            assert!(["GM_TO_UB", "UB_TO_GM"].contains(&word("name").as_str()) && event["args"]["bytes"].is_u64());
            continue;
        }
        let tid = word("tid");
        assert!(TIDS.contains(&tid.as_str()), "{tid}");
        let lane = (pid.clone(), tid.clone());
        for (name, tid) in [("process_sort_index", None), ("thread_sort_index", Some(tid))] {
            assert!(sorted.contains(&(pid.clone(), name.into(), tid)), "{lane:?} has no {name}");
        }
        let end = ends.entry(lane.clone()).or_default();
        let stack = open.entry(lane.clone()).or_default();
        match ph.as_str() {
            "X" => {
                assert!(stack.is_empty() && ts() >= *end - 1e-9, "{event} before {end}");
                *end = ts() + event["dur"].as_f64().unwrap();
                for key in ["pc_addr", "code", "detail"] {
                    assert!(event["args"][key].is_string(), "{event}");
                }
            }
            "B" => {
                assert!(ts() >= *end - 1e-9, "{event} before {end}");
                *end = ts();
                stack.push(word("name"));
            }
            "E" => {
                assert_eq!(stack.pop(), Some(word("name")));
                assert!(ts() >= *end, "{event}");
                slices.push((lane, ts()));
                *end = ts();
            }
            "s" | "f" => {
                // It hangs on the slice that is open.
                let name = if ph == "s" { "SET_FLAG" } else { "WAIT_FLAG" };
                assert!(stack.last().is_some_and(|open| open == name) && ts() >= *end - 1e-9, "{event} in {stack:?}");
                flows.entry(event["id"].as_u64().unwrap()).or_default().push((ph, ts()));
            }
            other => panic!("{other}"),
        }
    }
    assert!(open.values().all(Vec::is_empty));
    for (id, ends) in flows {
        let [(s, from), (f, to)] = match ends.as_slice() {
            [(s, _)] if s == "s" => continue,
            [s, f] => [s, f],
            _ => panic!("{id} has {ends:?}"),
        };
        assert!((s.as_str(), f.as_str()) == ("s", "f") && from <= to, "{id}: {ends:?}");
        for at in [from, to] {
            assert!(slices.iter().any(|(_, end)| end == at), "{id} is at the end of no flag");
        }
    }
    events
}

fn with<'a>(events: &'a [Value], ph: &'a str) -> impl Iterator<Item = &'a Value> {
    events.iter().filter(move |event| event["ph"] == ph)
}

#[test]
fn importers_take_the_traces() {
    for name in EXAMPLES {
        let soc = soc("Ascend910B1");
        let program = example(name, &soc);
        let (text, run) = traced(&program, &soc, &[0, 1], Window::ALL);
        let events = import(&text);
        let core = run.cores[1];
        let of = |tid: &'static str| {
            let lane = with(&events, "X").filter(move |e| e["tid"] == tid && e["pid"] == "core0.veccore1");
            lane.filter(|e| !e["name"].as_str().unwrap().starts_with("barrier")).map(|e| e["dur"].as_f64().unwrap())
        };
        for (tid, pipe) in [("VECTOR", core.vector), ("MTE2", core.mte2), ("MTE3", core.mte3)] {
            // Each end is rounded by no more than a picosecond.
            let (sum, count) = (of(tid).sum::<f64>(), of(tid).count() as u64);
            assert!((sum - run.us(pipe.busy)).abs() <= 1e-6 * (count + 1) as f64, "{name} {tid}");
            assert_eq!(count, pipe.instructions, "{name} {tid}");
        }
        // Every wait has its set.
        let waits = with(&events, "B").filter(|event| event["name"] == "WAIT_FLAG").count();
        assert_eq!((with(&events, "s").count(), with(&events, "f").count()), (waits, waits), "{name}");
        let moved: u64 = with(&events, "C")
            .filter(|e| e["name"] == "GM_TO_UB" && e["pid"] == "core0.veccore0")
            .filter_map(|e| e["args"]["bytes"].as_u64())
            .max()
            .unwrap_or(0);
        assert!(moved > 0, "{name}");
    }
}

#[test]
fn a_window_is_a_part_of_the_whole() {
    let soc = soc("Ascend910B1");
    let program = example("add_double_buffer.tile", &soc);
    let (all, run) = traced(&program, &soc, &[0], Window::ALL);
    let all = import(&all);
    // A core starts some time after the launch has come to the cores.
    let begun = with(&all, "X").filter_map(|event| event["ts"].as_f64()).fold(f64::INFINITY, f64::min);
    let us = run.timing.cycles as f64 / f64::from(run.mhz);
    let (from, to) = ((1000.0 * (begun + 0.3 * us)) as u64, (1000.0 * (begun + 0.6 * us)) as u64);
    let part = import(&traced(&program, &soc, &[0], Window { from, to }).0);
    let inside = |event: &&Value| {
        let ts = event["ts"].as_f64().unwrap();
        let end = ts + event["dur"].as_f64().unwrap();
        (end * 1000.0).floor() >= from as f64 && (ts * 1000.0).floor() <= to as f64
    };
    let expected: Vec<_> = with(&all, "X").filter(inside).collect();
    assert_eq!(with(&part, "X").collect::<Vec<_>>(), expected);
    assert!(!expected.is_empty() && expected.len() < with(&all, "X").count());
    assert!(with(&part, "X").all(|event| event["pid"] == "core0.veccore0"));
}

/// Counts what comes.
struct Count(std::rc::Rc<std::cell::Cell<u64>>);

impl Write for Count {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.set(self.0.get() + bytes.len() as u64);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn traces_are_written_while_the_program_runs() {
    let soc = soc("Ascend910B1");
    let text = "cores 1\nub a: 256\nfor i in 0..20000 {\n  adds.f32 a[0], a[0], 1.0 repeat 1\n}\n";
    let (program, _) = text::parse(text, &soc).unwrap();
    let executed = Executed::new(&program, "many.tile");
    let bytes = std::rc::Rc::new(std::cell::Cell::new(0));
    let mut trace = Trace::new(Count(bytes.clone()), &executed, Lanes::of(&soc), 1850, &[0], Window::ALL);
    let mut events = 0u64;
    profile(&program, &soc, &Options::default(), &mut |event| {
        let before = bytes.get();
        trace.add(event);
        assert!(bytes.get() > before);
        events += 1;
    })
    .unwrap();
    trace.finish().unwrap();
    assert!(events >= 40_000, "each iteration, and what it does: {events}");
}

#[test]
fn a_full_disk_is_an_error() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::Error::other("full"))
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let soc = soc("Ascend910B1");
    let program = example("strided_copy.tile", &soc);
    let executed = Executed::new(&program, "x.tile");
    let mut trace = Trace::new(Full, &executed, Lanes::of(&soc), 1850, &[0], Window::ALL);
    profile(&program, &soc, &Options::default(), &mut |event| trace.add(event)).unwrap();
    assert_eq!(trace.finish().unwrap_err().to_string(), "full");
}
