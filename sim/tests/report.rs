//! Tables and traces of runs, held against the clock's own report and against the rules of who opens them.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::path::Path;

use serde_json::Value;
use ubtile_sim::clock::{Options, Profile, Timing, profile, simulate};
use ubtile_sim::product::Soc;
use ubtile_sim::program::{Action, Pipe, Program};
use ubtile_sim::report::{Described, Executed, Gathered, Lanes, Profiler, TABLES, Trace, Window};
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

/// A table of a run: its columns by name.
fn table(tables: &Profiler<'_>, name: &str) -> (Vec<String>, Vec<BTreeMap<String, String>>) {
    let mut bytes = Vec::new();
    tables.write(name, &mut bytes).unwrap();
    let mut reader = csv::Reader::from_reader(bytes.as_slice());
    let header: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
    let row = |record: csv::StringRecord| header.iter().cloned().zip(record.iter().map(str::to_owned)).collect();
    let rows = reader.records().map(|record| row(record.unwrap())).collect();
    (header, rows)
}

fn with_tables(soc: &Soc, name: &str, check: impl FnOnce(&Profiler<'_>, &Profile)) {
    with_tables_of(soc, &example(name, soc), check);
}

fn with_tables_of(soc: &Soc, program: &Program, check: impl FnOnce(&Profiler<'_>, &Profile)) {
    let mut gathered = Gathered::new(program.source().cores);
    let run = profile(program, soc, &Options::default(), &mut |event| gathered.add(event)).unwrap();
    let described = Described { name: "add", rated_mhz: Some(1) };
    let lanes = Lanes::of(soc);
    check(&Profiler { program, lanes, profile: &run, gathered: &gathered, described }, &run);
}

const BASIC: &str = "Op Name,Op Type,Task Duration(us),Block Dim,Mix Block Dim,Device ID,PID,Current Freq,Rated Freq";
const PIPES: &str = "block_id,sub_block_id,aic_time(us),aic_total_cycles,aiv_time(us),aiv_total_cycles,aiv_vec_time(us),\
aiv_vec_ratio,aiv_scalar_time(us),aiv_scalar_ratio,aiv_mte2_time(us),aiv_mte2_ratio,aiv_mte3_time(us),aiv_mte3_ratio,\
aiv_icache_miss_rate,aiv_mte2_active_bw(GB/s),aiv_mte3_active_bw(GB/s)";
const ARITHMETIC: &str = "block_id,sub_block_id,aiv_vec_ratio,aiv_vec_fp32_ratio,aiv_vec_fp16_ratio,aiv_vec_int32_ratio,\
aiv_vec_int16_ratio,aiv_vec_misc_ratio,aiv_vec_fops";
const MEMORY: &str = "block_id,sub_block_id,aiv_ub_to_gm_bw(GB/s),aiv_gm_to_ub_bw(GB/s),aiv_main_mem_read_bw(GB/s),\
aiv_main_mem_write_bw(GB/s),aiv_mte2_instructions,aiv_mte3_instructions,read_main_memory_datas(KB),\
write_main_memory_datas(KB),GM_to_UB_datas(KB),UB_to_GM_datas(KB),GM_to_UB_bw_usage_rate(%),UB_to_GM_bw_usage_rate(%)";
const UB: &str = "block_id,sub_block_id,aiv_ub_read_bw_vector(GB/s),aiv_ub_write_bw_vector(GB/s),\
aiv_ub_read_bw_scalar(GB/s),aiv_ub_write_bw_scalar(GB/s)";
const CONFLICTS: &str = "block_id,sub_block_id,aiv_vec_total_cflt_ratio,aiv_vec_bankgroup_cflt_ratio,\
aiv_vec_bank_cflt_ratio,aiv_vec_resc_cflt_ratio,aiv_vec_mte_cflt_ratio,aiv_vec_wait_ratio,aiv_mte2_wait_ratio,\
aiv_mte3_wait_ratio";
const SUMMARY: &str = "Op Name,OP Type,Task Type,Task Start Time(us),Task Duration(us),Task Wait Time(us),Block Dim,\
Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,Output Formats";

#[test]
fn tables_have_the_names_of_the_vendors_profiler() {
    let listed = [
        ("OpBasicInfo", BASIC),
        ("PipeUtilization", PIPES),
        ("ArithmeticUtilization", ARITHMETIC),
        ("Memory", MEMORY),
        ("MemoryUB", UB),
        ("ResourceConflictRatio", CONFLICTS),
        ("op_summary", SUMMARY),
    ];
    assert!(listed.iter().all(|(name, _)| TABLES.contains(name)));
    with_tables(&soc("Ascend910B1"), "add_double_buffer.tile", |tables, _| {
        for (name, header) in listed {
            assert_eq!(table(tables, name).0.join(","), header, "{name}");
        }
        let summary = &table(tables, "op_summary").1[0];
        assert_eq!(summary["Input Shapes"], "32,4096;32,4096");
        assert_eq!((&*summary["Input Data Types"], &*summary["Output Formats"]), ("FLOAT16;FLOAT16", "ND"));
    });
    // Where the vector unit is the core's, there are neither places nor another prefix.
    with_tables(&soc("Ascend310P3"), "strided_copy.tile", |tables, run| {
        assert!(run.cores.len() > 1);
        for (name, header) in listed {
            let header = header.replace("aic_time(us),aic_total_cycles,", "").replace("block_id,sub_block_id,", "");
            let (found, rows) = table(tables, name);
            assert_eq!((found.join(","), rows.len()), (header.replace("aiv_", "aic_"), 1), "{name}");
        }
    });
}

#[test]
fn tables_say_what_the_report_says() {
    for (soc, name) in [
        ("Ascend910B1", "add_double_buffer.tile"),
        ("Ascend310P3", "add_double_buffer.tile"),
        ("Ascend910B4", "add_tail.tile"),
    ] {
        let soc = soc_of(soc);
        let Some(prefix) = soc.1 else { continue };
        with_tables(&soc.0, name, |tables, run| {
            let t = &run.timing;
            let numbers = |name: &str, column: &str| -> Vec<f64> {
                table(tables, name).1.iter().map(|row| row[column].parse().unwrap()).collect()
            };
            let sum = |name: &str, column: &str| numbers(name, column).iter().sum::<f64>();
            // Of rows of cores that take as long as each other or not: the mean time of a pipe by the mean time.
            let time = sum("PipeUtilization", &format!("{prefix}time(us)"));
            for (pipe, column) in [
                (&t.pipes.vector, "vec"),
                (&t.pipes.scalar, "scalar"),
                (&t.pipes.mte2, "mte2"),
                (&t.pipes.mte3, "mte3"),
            ] {
                let busy = sum("PipeUtilization", &format!("{prefix}{column}_time(us)"));
                assert!((busy / time - pipe.ratio).abs() < 1e-4, "{column}: {busy} of {time}, {}", pipe.ratio);
            }
            near(1024.0 * sum("Memory", "GM_to_UB_datas(KB)"), t.gm_read_bytes as f64, "read");
            near(1024.0 * sum("Memory", "UB_to_GM_datas(KB)"), t.gm_write_bytes as f64, "written");
            let memory = sum("Memory", "read_main_memory_datas(KB)") + sum("Memory", "write_main_memory_datas(KB)");
            near(1024.0 * memory, t.hbm.bytes as f64, "main memory");
            near(sum("Memory", &format!("{prefix}mte2_instructions")), t.pipes.mte2.instructions as f64, "loads");
            let l2 = |columns: [&str; 2]| columns.iter().map(|c| sum("L2Cache", &format!("{prefix}{c}"))).sum::<f64>();
            let hits = l2(["write_cache_hit", "r0_read_cache_hit"]);
            let misses = l2(["write_cache_miss_allocate", "r0_read_cache_miss_allocate"]);
            near(hits / (hits + misses), t.l2_hit_ratio, "hits");
            // Each vector instruction is of one type.
            let kinds = ["fp32", "fp16", "int32", "int16", "misc"].map(|kind| format!("{prefix}vec_{kind}_ratio"));
            let of_kinds: f64 = kinds.iter().map(|kind| sum("ArithmeticUtilization", kind)).sum();
            assert!((of_kinds - sum("ArithmeticUtilization", &format!("{prefix}vec_ratio"))).abs() < 1e-4);
            near(sum("OpBasicInfo", "Task Duration(us)"), t.task_us, "duration");
            // What is not modelled is no number.
            for column in ["vec_bank_cflt_ratio", "vec_mte_cflt_ratio"] {
                let rows = table(tables, "ResourceConflictRatio").1;
                assert!(rows.iter().all(|row| row[&format!("{prefix}{column}")] == "NA"));
            }
        });
    }
}

/// What the scalar unit reads and writes in global memory, no copy brings to the UB or from it.
#[test]
fn accesses_of_the_scalar_unit_are_no_copies() {
    let soc = soc("Ascend910B1");
    let text = "cores 1\ntensor x: f32[1024] in\ntensor z: f32[1024] out\nub b: 32\nload b[0], x[0] bytes 32\n\
                set_flag mte2 mte3 0\nwait_flag mte2 mte3 0\nstore z[0], b[0] bytes 32\nfor i in 0..1000 {\n\
                let v = read.f32 x[4*i] assume 0..10\nwrite.f32 z[4*i], v\n}\n";
    let program = text::parse(text, &soc).unwrap().0;
    with_tables_of(&soc, &program, |tables, run| {
        let number = |name: &str, column: &str| table(tables, name).1[0][column].parse::<f64>().unwrap();
        near(1024.0 * number("Memory", "GM_to_UB_datas(KB)"), 32.0, "loaded");
        near(1024.0 * number("Memory", "UB_to_GM_datas(KB)"), 32.0, "stored");
        assert!(number("PipeUtilization", "aiv_mte3_active_bw(GB/s)") < 1.0);
        assert_eq!((run.timing.gm_read_bytes, run.timing.gm_write_bytes), (4032, 4032));
        let copies = |bound: &str| run.timing.roofline.limits.iter().find(|limit| limit.by.name() == bound).unwrap().us;
        assert!(copies("mte2") < 0.001 && copies("mte3") < 0.001, "{:?}", run.timing.roofline);
    });
}

/// A product, and the prefix of its columns.
fn soc_of(name: &str) -> (Soc, Option<&'static str>) {
    let soc = soc(name);
    let prefix = if Lanes::of(&soc).are_separate() { "aiv_" } else { "aic_" };
    (soc, Some(prefix))
}

#[test]
fn a_core_adds_to_what_its_elements_are() {
    with_tables(&soc("Ascend910B1"), "add_double_buffer.tile", |tables, run| {
        let rows = table(tables, "ArithmeticUtilization").1;
        assert_eq!(rows.len(), run.cores.len());
        for row in rows {
            // 4 tiles of 4096 elements of f16.
            assert_eq!(row["aiv_vec_fops"].parse::<f64>().unwrap(), 4.0 * 4096.0);
            assert_eq!(row["aiv_vec_fp16_ratio"], row["aiv_vec_ratio"]);
        }
        let places = table(tables, "PipeUtilization").1;
        let places: BTreeSet<_> =
            places.iter().map(|row| (row["block_id"].clone(), row["sub_block_id"].clone())).collect();
        assert_eq!(places.len(), run.cores.len());
    });
}

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
            "s" | "f" => flows.entry(event["id"].as_u64().unwrap()).or_default().push((ph, ts())),
            other => panic!("{other}"),
        }
    }
    assert!(open.values().all(Vec::is_empty));
    for (id, ends) in flows {
        let [(s, from), (f, to)] = ends.as_slice() else { panic!("{id} has {ends:?}") };
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
